// Drives the site in Chromium, for the tests beside this file.
//
// Owns: opening pages, watching each page for anything that must never happen, the helpers for
// keyboard, accessibility and screenshots. Does not own what a page should show: that is in the *.test.mjs files.
//
// `cargo xtask test browser` sets the variables below; the server is xtask's own, with the headers of a careful host.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { launch, require, setting } from "./chromium.mjs";

/** The site at the root of its host. */
export const ROOT = setting("CHAINWALK_URL");
/** The same files under a sub-path of another host. */
export const SUB_PATH = setting("CHAINWALK_SUB_URL");
const SCREENSHOTS = setting("CHAINWALK_SCREENSHOTS");

const AXE_SOURCE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const WIDE = { width: 1280, height: 800 };
export const NARROW = { width: 390, height: 844 };

/** How long a page may take to show what a test waits for. */
const PATIENCE_MS = 20_000;

let browser;
after(async () => { await browser?.close(); });

/**
 * A test with a page of its own. It fails when the page logs an error, breaks the policy, asks another origin or
 * misses a file, whatever else the test looks at.
 *
 * `options`: `base` (ROOT or SUB_PATH), `viewport`, `dark`; and where they are the point of the test, `expectedErrors`
 * (patterns of console errors) and `expectedStatuses` (of answers).
 */
export function pageTest(name, options, body) {
  test(name, { timeout: 180_000 }, async () => {
    browser ??= await launch();
    const context = await browser.newContext({
      baseURL: options.base ?? ROOT,
      viewport: options.viewport ?? WIDE,
      colorScheme: options.dark ? "dark" : "light",
      reducedMotion: "reduce",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      const problems = watch(page, new URL(options.base ?? ROOT).origin, options);
      await body(page);
      assert.deepEqual(problems, [], "the page did something it must never do");
    } finally {
      await context.close();
    }
  });
}

/** Collects what must never happen on a page. */
function watch(page, origin, { expectedErrors = [], expectedStatuses = [] }) {
  const problems = [];
  const expected = (text) => expectedErrors.some((pattern) => pattern.test(text));
  page.on("console", (message) => {
    // Chromium reports a refused script, style or connection here as well.
    if (message.type() === "error" && !expected(message.text())) problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`uncaught: ${error.message}`));
  page.on("crash", () => problems.push("the page crashed"));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (!["data:", "blob:"].includes(url.protocol) && url.origin !== origin) problems.push(`left the origin: ${url}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400 && !expectedStatuses.includes(response.status())) problems.push(`${response.status()}: ${response.url()}`);
  });
  return problems;
}

/** Opens a route such as `#/trace` and waits until the page has started. */
export async function open(page, route = "") {
  await page.goto(`./${route}`);
  await page.locator("#boot").waitFor({ state: "detached" });
}

/** Loads an address of the same site as a new page does: nothing of the page before is left. */
export async function follow(page, url) {
  // Not by way of about:blank: an icon still under way would be asked for in its name, which Chromium refuses aloud.
  await page.evaluate((address) => history.replaceState(null, "", address), url);
  await page.reload();
}

/** Fails on anything axe-core finds. */
export async function assertAccessible(page, where) {
  // Evaluated by the debugger, which the content security policy does not bind; a script tag would be refused.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE_SOURCE);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}\n    ${node.html}\n    ${node.failureSummary?.replaceAll("\n", " ")}`));
  assert.deepEqual(found, [], `axe-core on ${where}`);
}

/** Fails when the page is wider than its window: no sideways scrolling of the whole page. */
export async function assertFits(page, where) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${where} is ${content} px wide in a window of ${window} px`);
}

/** A picture for a person to look at, in target/screenshots. */
export async function screenshot(page, name, options = {}) {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), animations: "disabled", ...options });
}

/** The three views that every page is looked at in. */
export const VIEWS = [
  { view: "wide", viewport: WIDE, dark: false },
  { view: "narrow", viewport: NARROW, dark: false },
  { view: "dark", viewport: WIDE, dark: true },
];

/** Moves the focus with the Tab key until it is on the element, as a person without a mouse does. */
export async function tabTo(page, locator, { limit = 250, back = false } = {}) {
  await locator.first().waitFor();
  for (let count = 0; count <= limit; count += 1) {
    const reached = await locator.evaluateAll((elements) => elements.includes(document.activeElement));
    if (reached) {
      await assertFocusShows(page);
      return;
    }
    await page.keyboard.press(back ? "Shift+Tab" : "Tab");
  }
  assert.fail(`${limit} times Tab did not reach ${locator}`);
}

/** Tabs to a control and presses it. */
export async function pressByKey(page, locator, key = "Enter") {
  await tabTo(page, locator);
  await page.keyboard.press(key);
}

/** Tabs to a field, replaces what it holds, and types. */
export async function typeByKey(page, locator, text) {
  await tabTo(page, locator);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}

/** The focused element has to be inside the window and marked. */
async function assertFocusShows(page) {
  const state = await page.evaluate(() => {
    const element = document.activeElement;
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    return {
      name: element.outerHTML.slice(0, 120),
      inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
      marked: style.outlineStyle !== "none" || style.boxShadow !== "none",
    };
  });
  assert.ok(state.inside, `the focus is outside the window: ${state.name}`);
  assert.ok(state.marked, `the focus is not marked: ${state.name}`);
}

/** Sets a field's value at once, as a paste does; typing 50 MB would test the keyboard. */
export async function paste(page, locator, text) {
  await locator.evaluate((field, value) => {
    field.focus();
    const data = new DataTransfer();
    data.setData("text/plain", value);
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    if (field.dispatchEvent(event)) {
      field.value = value;
      field.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
    }
  }, text);
}

export { assert };
