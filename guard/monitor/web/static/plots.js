// Plots of the last iterations, drawn as SVG. Each has a text that says the same.
import { draw, make } from "./common.js";

const WIDTH = 480;
const HEIGHT = 150;
const LEFT = 34;
const BOTTOM = 18;
const TOP = 8;
const INNER = WIDTH - LEFT - 6;

const numbers = (points, key) => points.map((point) => point[key]);
const counted = (values) => values.filter((value) => typeof value === "number");

function scale(values) {
  const low = Math.min(0, ...values);
  const high = Math.max(1, ...values);
  return [low, high, (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low))];
}

const across = (at, count) => LEFT + (INNER * (at + 0.5)) / count;

function frame(points, low, high, y) {
  const found = [];
  for (const value of [...new Set([low, (low + high) / 2, high])]) {
    found.push(draw("line", { class: "grid", x1: LEFT, x2: WIDTH - 6, y1: y(value), y2: y(value) }));
    found.push(draw("text", { x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  const step = Math.max(1, Math.ceil(points.length / 8));
  points.forEach((point, at) => {
    if (at % step === 0) found.push(draw("text", { x: across(at, points.length), y: HEIGHT - 3, "text-anchor": "middle" }, String(point.n ?? "")));
  });
  return found;
}

function short(value) {
  return Math.abs(value) >= 10000 ? `${Math.round(value / 1000)}k` : String(Math.round(value * 10) / 10);
}

function figure(title, said, ...children) {
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${said}` }, ...children);
  return make("figure", { class: "card" }, make("figcaption", {}, make("strong", {}, title), ` ${said}`), svg);
}

function bars(title, points, keys, said) {
  const sums = points.map((point) => keys.reduce((sum, [key]) => sum + (point[key] || 0), 0));
  const [low, high, y] = scale(keys.length > 1 ? sums : counted(numbers(points, keys[0][0])));
  const width = Math.max(2, Math.min(22, INNER / points.length - 2));
  const found = [];
  points.forEach((point, at) => {
    let base = 0;
    for (const [key, kind] of keys) {
      const value = point[key];
      if (typeof value !== "number" || (value === 0 && keys.length > 1)) continue;
      const [from, to] = [y(base), y(base + value)];
      const tall = Math.max(1.5, Math.abs(from - to));
      const bar = draw("rect", {
        class: kind || (value < 0 ? "below" : "above"),
        x: across(at, points.length) - width / 2,
        y: Math.min(from, to),
        width,
        height: tall,
        rx: 1.5,
      });
      bar.append(draw("title", {}, `iteration ${point.n}: ${key} ${value}`));
      found.push(bar);
      base += value;
    }
  });
  return figure(title, said, ...frame(points, low, high, y), ...found);
}

function line(title, points, key, said) {
  const [low, high, y] = scale(counted(numbers(points, key)));
  const places = points.map((point, at) => [across(at, points.length), point[key], point.n]).filter(([, value]) => typeof value === "number");
  const dots = places.map(([x, value, n]) => {
    const dot = draw("circle", { class: "dot", cx: x, cy: y(value), r: 2.6 });
    dot.append(draw("title", {}, `iteration ${n}: ${value}`));
    return dot;
  });
  const path = places.map(([x, value], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y(value).toFixed(1)}`).join("");
  return figure(title, said, ...frame(points, low, high, y), draw("path", { class: "line", d: path }), ...dots);
}

function states(points) {
  const rows = ["OPEN", "HALF_OPEN", "CLOSED"];
  const y = (state) => TOP + 18 + rows.indexOf(state) * 42;
  const width = INNER / points.length;
  const lines = rows.map((state) => draw("line", { class: "grid", x1: LEFT, x2: WIDTH - 6, y1: y(state) + 5, y2: y(state) + 5 }));
  const found = rows.map((state) => draw("text", { x: 2, y: y(state) - 9 }, state.replace("_", " ").toLowerCase()));
  points.forEach((point, at) => {
    if (!rows.includes(point.state)) return;
    const box = draw("rect", { class: `state-${point.state.toLowerCase()}`, x: LEFT + at * width, y: y(point.state) - 4, width: Math.max(1.5, width - 1), height: 18, rx: 2 });
    box.append(draw("title", {}, `iteration ${point.n}: ${point.state}`));
    found.push(box);
  });
  return figure("Breaker", `now ${points.at(-1).state.toLowerCase()}`, ...lines, ...found);
}

export function plots(points) {
  const last = points.at(-1);
  const told = (value) => (typeof value === "number" ? String(value) : "none");
  const tests = points.some((point) => typeof point.passed === "number");
  const found = [
    bars("Progress score", points, [["score", ""]], `last ${told(last.score)}`),
    states(points),
    line("Output lines", points, "lines", `last ${told(last.lines)}`),
    line("Calls left this hour", points, "calls_left", `now ${told(last.calls_left)}`),
  ];
  if (tests) {
    const said = `last ${told(last.passed)} passed, ${told(last.failed)} failed`;
    found.splice(2, 0, bars("Tests", points, [["passed", "passed"], ["failed", "failed"]], said));
  }
  return found;
}
