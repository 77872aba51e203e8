// What both pages share. Texts of agents become text nodes, nothing else.
export const SVG = "http://www.w3.org/2000/svg";
export const find = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function set(node, text) {
  const wanted = text === null || text === undefined ? "" : String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

export const words = (status) => status.replaceAll("_", " ");

export function badge(node, text, meaning) {
  set(node, text);
  const wanted = `badge ${meaning || "plain"}`;
  if (node.className !== wanted) node.className = wanted;
}

async function send(path, values) {
  const token = localStorage.getItem("guard-token") || "";
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Guard-Token": token },
    body: JSON.stringify(values),
  });
  return [answer.status, await answer.json().catch(() => ({ error: `the server answers ${answer.status}` }))];
}

// Asks before something is done; gives null, or what was typed. `letters` have to be typed again.
function ask(heading, text, letters) {
  const dialog = find("question");
  return new Promise((resolve) => {
    const field = make("input", { id: "field", type: "text", maxlength: letters ? "8" : "200", autocomplete: "off", spellcheck: "false" });
    const label = make("label", { for: "field" }, letters ? `Type ${letters} to go on` : "Reason (may be empty)");
    const go = make("button", { type: "button", class: "strong" }, heading);
    const leave = make("button", { type: "button" }, "Cancel");
    const end = (value) => {
      dialog.onclose = null;
      dialog.close();
      dialog.replaceChildren();
      resolve(value);
    };
    go.addEventListener("click", () => end(field.value));
    leave.addEventListener("click", () => end(null));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        end(field.value);
      }
    });
    dialog.onclose = () => end(null);
    dialog.replaceChildren(
      make("h2", { id: "question-heading" }, heading),
      make("p", {}, text),
      label,
      field,
      make("div", { class: "buttons" }, go, leave),
    );
    dialog.showModal();
    field.focus();
  });
}

export function tell(text, bad) {
  const answer = find("answer");
  answer.hidden = false;
  answer.className = bad ? "note bad" : "note good";
  set(answer, text);
}

async function order(path, verb, heading, question) {
  let reason = "";
  if (question) {
    reason = await ask(heading, question);
    if (reason === null) return;
  }
  tell("Sent …", false);
  try {
    let [status, said] = await send(path, { verb, reason });
    if (status === 428) {
      const letters = await ask(heading, said.error, said.letters);
      if (letters === null) {
        tell("Left as it was.", false);
        return;
      }
      [status, said] = await send(path, { verb, reason, letters });
    }
    if (status === 401) location.replace("/");
    tell(said.said || said.error || "Nothing was changed.", status !== 200);
  } catch (error) {
    tell(`The server does not answer; nothing is known of the order (${error.message}).`, true);
  }
}

// A row of buttons: [verb, label, question]. A button that makes no sense now stays reachable and says so.
export function buttons(place, path, rows) {
  const made = new Map();
  for (const [verb, label, question] of rows) {
    const button = make("button", { type: "button", "data-verb": verb }, label);
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") !== "true") order(path, verb, label, question);
    });
    made.set(verb, button);
    place.append(button);
  }
  return (sensible, may) => {
    for (const [verb, button] of made) {
      const off = !(may && sensible[verb]);
      if (button.getAttribute("aria-disabled") !== String(off)) button.setAttribute("aria-disabled", String(off));
    }
  };
}

export const MACHINE = [
  ["pause", "Pause machine", "No loop of this machine starts another iteration until it is resumed. Iterations at work end first."],
  ["resume", "Resume machine", "All loops that are not held themselves go on."],
];

export function machine() {
  const update = buttons(find("machine-buttons"), "/api/gate", MACHINE);
  return (gate, may) => {
    badge(find("gate"), `gate ${gate.state}`, gate.state === "running" ? "good" : "bad");
    const why = gate.state === "running" ? "loops may run" : `${gate.damaged || gate.reason || ""}${gate.actor ? `, by ${gate.actor}` : ""}`;
    set(find("gate-why"), why);
    update(gate.controls, may);
    const notice = find("notice");
    notice.hidden = may;
    if (!may) {
      set(
        notice,
        "View only: guard monitor does not run in the foreground of a person's terminal. Start it there, or use guard loop pause, resume and mode.",
      );
    }
  };
}

let said = "";
export function announce(text) {
  if (text !== said) set(find("announcement"), text);
  said = text;
}

// Listens to events; says when the connection is lost, and tries again by itself.
export function listen(path, handlers) {
  const connection = find("connection");
  const source = new EventSource(path);
  const seen = () => badge(connection, "live", "good");
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => {
      seen();
      handler(JSON.parse(event.data));
    });
  }
  source.addEventListener("beat", (event) => {
    seen();
    const moment = find("moment");
    const at = new Date(JSON.parse(event.data).t);
    moment.setAttribute("datetime", at.toISOString());
    set(moment, at.toLocaleTimeString());
  });
  source.addEventListener("error", () => {
    badge(connection, "connection lost", "bad");
    announce("Connection lost");
    if (source.readyState === EventSource.CLOSED) {
      fetch("/api/session").then((answer) => answer.status === 401 && location.replace("/"), () => {});
      setTimeout(() => listen(path, handlers), 3000);
    }
  });
}
