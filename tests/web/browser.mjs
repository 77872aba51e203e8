// Drives the page in a real Chromium and prints what was seen, as JSON.
// node browser.mjs CONFIG: {modules, chromium, profile, link, base, loop, person, shots}
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";

const config = JSON.parse(readFileSync(process.argv[2], "utf8"));
const load = createRequire(`${config.modules}/`);
const { chromium } = load("playwright-core");
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
const run = promisify(execFile);
const FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const seen = { violations: [], axe: [], errors: [], took: {} };

const browser = await chromium.launchPersistentContext(config.profile, {
  executablePath: config.chromium,
  headless: true,
  args: FLAGS.split(" "),
  viewport: { width: 1180, height: 900 },
  bypassCSP: false,
});
const page = await browser.newPage();
page.on("console", (message) => {
  if (/Content Security Policy|Trusted/.test(message.text())) seen.violations.push(message.text());
  else if (message.type() === "error") seen.errors.push(message.text());
});
page.on("pageerror", (error) => seen.errors.push(String(error)));

const person = (...words) => run(config.person[0], [...config.person.slice(1), ...words]).then((found) => found.stdout);
async function within(name, done) {
  const begun = Date.now();
  await done();
  seen.took[name] = Date.now() - begun;
}
const text = (selector, wanted) => page.waitForFunction(([at, what]) => document.querySelector(at)?.textContent.includes(what), [selector, wanted], { timeout: 10000, polling: 20 });
async function check(name) {
  const other = await browser.newCDPSession(page); // scripts of the driver stand outside of the page's policy
  await other.send("Page.enable");
  await other.send("Runtime.enable");
  const { frameTree } = await other.send("Page.getFrameTree");
  const { executionContextId } = await other.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  const evaluate = (expression) => other.send("Runtime.evaluate", { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true });
  await evaluate(axe);
  const { result } = await evaluate("axe.run().then((found) => found.violations.map((each) => [each.id, each.impact, each.nodes.map((node) => node.target.join(' ') + ' ' + (node.any[0]?.message || ''))]))");
  for (const [id, impact, nodes] of result.value || [["axe", "broken", []]]) seen.axe.push([name, id, impact, nodes]);
}
async function shoot(name, options = {}) {
  if (config.shots) await page.screenshot({ path: `${config.shots}/${name}.png`, ...options });
}
async function press(button, field) {
  await page.getByRole("button", { name: button, exact: true }).first().focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  if (field) await page.keyboard.type(field);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "hidden" });
}

await page.goto(config.base);
seen.without = await page.textContent("h1");
await check("sign-in");
await page.goto(config.base + "#nonsense");
await text("#said", "link was used already");
await page.goto(config.link);
await text("h1", "Loops of this machine");
await text("#connection", "live");
await page.waitForSelector(".loops tbody tr");
seen.cookie = (await browser.cookies())[0];
seen.readable = await page.evaluate(() => document.cookie);
seen.rows = await page.$$eval(".loops tbody tr", (rows) => rows.map((row) => row.innerText));
await check("overview");
await shoot("monitor-web-light");
await page.emulateMedia({ colorScheme: "dark" });
await check("overview, dark");
await shoot("monitor-web-dark");
await page.setViewportSize({ width: 360, height: 740 });
seen.wide = await page.evaluate(() => document.documentElement.scrollWidth);
await page.emulateMedia({ colorScheme: "light" });
await check("overview, phone");
await shoot("monitor-web-phone");
await page.setViewportSize({ width: 1180, height: 900 });

await press("Pause machine", "lunch");
await within("machine paused by the page", () => page.waitForFunction(() => /paused|draining/.test(document.querySelector("#gate").textContent), null, { timeout: 10000, polling: 20 }));
seen.gate = await person("loop", "status", "--json", "--all");
await check("machine paused");
await within("machine resumed by the command line", async () => {
  await person("loop", "resume", "--system");
  const begun = Date.now();
  await text("#gate", "running");
  seen.took["machine resumed, seen"] = Date.now() - begun;
});
await page.getByRole("link", { name: config.loop, exact: true }).click();
await text("h1", config.loop);
await page.waitForSelector("#plots svg");
await check("loop");
await shoot("monitor-web-loop", { fullPage: true });
await page.emulateMedia({ colorScheme: "dark" });
await check("loop, dark");
await shoot("monitor-web-loop-dark", { fullPage: true });
await page.emulateMedia({ colorScheme: "light" });
await page.setViewportSize({ width: 360, height: 740 });
seen.narrow = await page.evaluate(() => document.documentElement.scrollWidth);
await check("loop, phone");
await shoot("monitor-web-loop-phone");
await page.setViewportSize({ width: 1180, height: 900 });
await press("Pause loop", "from the page");
await within("loop paused by the page", () => text("#why", "from the page"));
seen.paused = await person("loop", "status", config.loop, "--json");
await person("loop", "resume", config.loop);
await within("loop resumed by the command line, seen", () => page.waitForFunction(() => !document.querySelector("#why").textContent.includes("from the page"), null, { polling: 20 }));
await press("Set manual");
await within("manual by the page", () => text("#mode", "manual"));
seen.manual = await person("loop", "status", config.loop, "--json");
await person("loop", "mode", config.loop, "auto");
await within("auto by the command line, seen", () => text("#mode", "auto"));
if (config.grave) {
  await page.getByRole("link", { name: "All loops" }).click();
  await page.getByRole("link", { name: config.grave, exact: true }).click();
  await text("h1", config.grave);
  await page.waitForFunction(() => document.querySelector("[data-verb=resume]").getAttribute("aria-disabled") === "false");
  await press("Resume loop");
  await page.getByText("type the letters").waitFor();
  const letters = (await page.textContent("dialog label")).match(/Type ([a-z]{4}) /)[1];
  await check("letters");
  await page.keyboard.type(letters);
  await page.keyboard.press("Enter");
  await text("#answer", "probe");
  seen.grave = await page.textContent("#answer");
}
const foreign = await browser.newPage();
await foreign.goto("data:text/html,<title>foreign</title>");
seen.foreign = await foreign.evaluate(async (base) => {
  const found = [];
  for (const [path, method] of [["api/gate", "POST"], ["api/session", "GET"], ["metrics", "GET"]]) {
    await fetch(base + path, { method, credentials: "include", body: method === "POST" ? "{}" : undefined }).then((answer) => found.push(answer.status), () => found.push("refused"));
  }
  return found;
}, config.base);
seen.title = await page.title();
await browser.close();
console.log(JSON.stringify(seen));
