import { announce, badge, draw, find, listen, machine, make, set, words } from "./common.js";

const known = new Map();
const rows = new Map();
const gate = machine();
const body = find("loops").tBodies[0];
const LABELS = ["Loop", "State", "Why", "Iteration", "Calls", "Score"];

function spark(scores) {
  const width = 120;
  const height = 28;
  if (!scores.length) return make("span", { class: "faint" }, "–");
  const low = Math.min(0, ...scores);
  const span = Math.max(0, ...scores) - low || 1;
  const step = width / Math.max(scores.length, 12);
  const zero = height - ((0 - low) / span) * height;
  const bars = scores.map((value, at) => {
    const y = height - ((value - low) / span) * height;
    return draw("rect", {
      class: value < 0 ? "below" : "above",
      x: (at * step + 0.5).toFixed(1),
      y: Math.min(y, zero - 1).toFixed(1),
      width: (step - 1).toFixed(1),
      height: Math.max(1.5, Math.abs(zero - y)).toFixed(1),
    });
  });
  const label = `last scores: ${scores.slice(-6).join(", ")}`;
  return draw("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...bars);
}

function added(name) {
  const row = make("tr", {});
  const link = make("a", { href: `/loop/${encodeURIComponent(name)}` });
  const state = make("span", {});
  const cells = LABELS.map((label, at) =>
    make(at ? "td" : "th", at ? { "data-label": label } : { scope: "row", "data-label": label }),
  );
  for (const at of [3, 4]) cells[at].className = "number";
  cells[0].append(link, make("span", { class: "root" }));
  cells[1].append(state);
  row.append(...cells);
  rows.set(name, { row, link, state, cells });
  return rows.get(name);
}

function show(name, loop) {
  const { link, state, cells } = rows.get(name) || added(name);
  const before = known.get(name);
  known.set(name, loop);
  set(link, loop.name);
  set(cells[0].lastChild, loop.root || loop.loop);
  badge(state, words(loop.status) + (loop.late ? ", late" : ""), loop.late ? "bad" : loop.meaning);
  set(cells[2], loop.why);
  set(cells[3], loop.iteration);
  set(cells[4], loop.calls);
  if (!before || before.scores.join() !== loop.scores.join()) cells[5].replaceChildren(spark(loop.scores));
  if (before && before.status !== loop.status) announce(`${loop.name}: ${words(loop.status)}`);
}

function arrange(order) {
  for (const [name, { row }] of rows) {
    if (!order.includes(name)) {
      row.remove();
      rows.delete(name);
      known.delete(name);
    }
  }
  order.forEach((name, at) => {
    const { row } = rows.get(name) || {};
    if (row && body.children[at] !== row) body.insertBefore(row, body.children[at] || null);
  });
  find("none").hidden = order.length > 0;
  find("loops").hidden = order.length === 0;
}

function tiles(loops) {
  const counts = new Map();
  for (const loop of loops) counts.set(loop.status, { meaning: loop.meaning, count: (counts.get(loop.status)?.count || 0) + 1 });
  const made = [...counts].map(([status, { meaning, count }]) =>
    make("li", { class: `tile ${meaning || "plain"}` }, make("strong", {}, String(count)), ` ${words(status)}`),
  );
  find("tiles").replaceChildren(...made);
}

function waiting(loops) {
  const found = loops.filter((loop) => loop.person);
  find("waiting").hidden = !found.length;
  find("waiting-list").replaceChildren(
    ...found.map((loop) => make("li", {}, make("strong", {}, loop.name), ": ", make("code", {}, loop.person))),
  );
}

listen("/api/events", {
  machine(values) {
    gate(values.gate, values.may);
    for (const [name, loop] of Object.entries(values.loops)) show(name, loop);
    arrange(values.order);
    const loops = values.order.map((name) => known.get(name)).filter(Boolean);
    tiles(loops);
    waiting(loops);
    document.title = `guard: ${loops.length} loop${loops.length === 1 ? "" : "s"}`;
  },
});
