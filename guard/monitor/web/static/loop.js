import { announce, badge, buttons, find, listen, machine, make, set, words } from "./common.js";
import { plots } from "./plots.js";

const name = decodeURIComponent(location.pathname.split("/").pop());
const path = `/api/loops/${encodeURIComponent(name)}`;
const gate = machine();
const controls = buttons(find("loop-buttons"), path, [
  ["pause", "Pause loop", "The iteration at work ends first; then the loop waits until it is resumed."],
  ["resume", "Resume loop", "What holds this loop is lifted."],
  ["manual", "Set manual", "Each iteration waits until it is let through."],
  ["auto", "Set automatic", "Iterations follow each other again."],
  ["once", "Run one iteration", ""],
]);
let status = "";
let may = false;
let sensible = {};

function show(loop) {
  set(find("name"), loop.name);
  document.title = `${loop.name}: ${words(loop.status)} – guard`;
  badge(find("status"), words(loop.status) + (loop.late ? ", late" : ""), loop.late ? "bad" : loop.meaning);
  set(find("why"), loop.why);
  set(find("mode"), loop.mode || "–");
  const person = find("person");
  person.hidden = !loop.person;
  if (loop.person) person.replaceChildren("Waits for you: ", make("code", {}, loop.person));
  if (status && status !== loop.status) announce(`${loop.name}: ${words(loop.status)}, ${loop.why}`);
  status = loop.status;
  rows(loop.rows);
  sensible = loop.controls;
  const manual = sensible.auto;
  for (const verb of ["manual", "auto", "once"]) {
    const hidden = verb === "manual" ? manual : !manual;
    const button = find("loop-buttons").querySelector(`[data-verb=${verb}]`);
    if (button.hidden !== hidden) button.hidden = hidden;
  }
}

function rows(found) {
  const list = find("rows");
  const pairs = [];
  for (const [label, text, meaning] of found) {
    if (label === "loop" || label === "you") continue;
    pairs.push([label.replace(":", ""), text, meaning]);
  }
  while (list.children.length > pairs.length) list.lastChild.remove();
  pairs.forEach(([label, text, meaning], at) => {
    const row = list.children[at] || list.appendChild(make("div", {}, make("dt"), make("dd")));
    set(row.firstChild, label || "state");
    set(row.lastChild, text);
    row.lastChild.className = meaning;
  });
}

function draw(points) {
  find("no-plots").hidden = points.length > 0;
  find("numbers").hidden = points.length === 0;
  find("plots").replaceChildren(...(points.length ? plots(points) : []));
  const keys = ["n", "outcome", "state", "score", "passed", "failed", "lines", "calls", "calls_left", "duration_s"];
  const made = points.toReversed().map((point) =>
    make("tr", {}, ...keys.map((key, at) => make(at ? "td" : "th", at ? {} : { scope: "row" }, String(point[key] ?? "–")))),
  );
  find("numbers").querySelector("tbody").replaceChildren(...made);
}

listen(`${path}/events`, {
  loop(values) {
    if ("may" in values) may = values.may;
    if ("loop" in values) show(values.loop);
    if ("gate" in values) gate.last = values.gate;
    if (gate.last) gate(gate.last, may);
    controls(sensible, may);
    if ("plots" in values) draw(values.plots);
    if ("output" in values) {
      const output = find("output");
      const follows = output.scrollHeight - output.scrollTop - output.clientHeight < 40;
      set(output, values.output || "Nothing yet.");
      if (follows) output.scrollTop = output.scrollHeight;
    }
  },
});
