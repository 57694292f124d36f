// What `cargo xtask bench` measures in Chromium: the rows that run natively as well, in a worker; and what a person
// waits for on the page.
//
// Prints a line each, fields separated by tabs: `wasm NAME NANOSECONDS`, `memory BYTES`, `page NAME LIMIT_MS MS`.
// Times of the page are from the press to the frame in which the answer stands, medians of several. Others are times
// that a thread computed, so that a busy machine does not change them much.

import { WORKER, computed, launch, longestTask, setting } from "./chromium.mjs";
import { pasteDump, serviceAt } from "./dump.mjs";

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const say = (...fields) => console.log(fields.join("\t"));

/** A row is repeated until its samples are this long: what else a thread does is then little beside it. */
const SAMPLE_MS = 100;

/** The rows of chainwalk-portable, built for WebAssembly as the engine's worker is, in processor time of its thread. */
async function rows(browser) {
  const page = await browser.newPage();
  await page.goto(setting("CHAINWALK_ROWS_URL"));
  await page.evaluate(() => new Promise((ready, failed) => {
    window.worker = new Worker("worker.js", { type: "module" });
    worker.onerror = (event) => failed(new Error(event.message));
    worker.onmessage = ready;
  }));
  const ask = (question) => page.evaluate((question) => new Promise((answered) => {
    worker.onmessage = ({ data }) => answered(data);
    worker.postMessage(question);
  }), question);
  const run = async (times) => {
    const before = computed(WORKER);
    await ask(`run ${times}`);
    return (computed(WORKER) - before) / times;
  };
  // First, for the memory never shrinks: what rows freed would be used again and not be seen.
  say("memory", await ask("memory"));
  for (let number = 0; ; number += 1) {
    const [kind, what, operations, samples] = (await ask(`prepare ${number}`)).split("\t");
    if (kind === "end") break;
    const first = await run(1);
    const times = Math.ceil(SAMPLE_MS / Math.max(first, 0.01));
    // The first runs are slower: the browser still compiles.
    if (samples > 1) await run(times);
    const taken = samples > 1 ? [] : [first];
    while (taken.length < samples) taken.push(await run(times));
    say("wasm", what, Math.round((median(taken) * 1e6) / operations));
  }
  await page.close();
}

/** Presses a button and waits until the page shows what `until` (text of an expression) asks; milliseconds. */
async function press(page, button, until) {
  // The page may still be about to enable it.
  await page.getByRole("button", { name: button, exact: true }).and(page.locator(":enabled")).first().waitFor();
  return page.evaluate(async ([button, until]) => {
    const holds = new Function(`return ${until}`);
    const pressed = [...document.querySelectorAll("button")].find((found) => found.textContent.trim() === button);
    const frame = () => new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
    const seen = new Promise((next, failed) => {
      setTimeout(() => failed(new Error(`no answer to ${button}`)), 60_000);
      const observer = new MutationObserver(() => {
        if (!holds()) return;
        observer.disconnect();
        next();
      });
      observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    });
    const start = performance.now();
    pressed.click();
    await seen;
    await frame();
    return performance.now() - start;
  }, [button, until]);
}

/** A page of its own, with nothing kept from earlier ones. The policy forbids `new Function`; a benchmark may. */
async function fresh(browser, route) {
  const context = await browser.newContext({ baseURL: setting("CHAINWALK_URL"), reducedMotion: "reduce", bypassCSP: true });
  const page = await context.newPage();
  await page.goto(`./${route}`);
  await page.locator("#boot").waitFor({ state: "detached" });
  await page.waitForLoadState("networkidle");
  return page;
}

const VERDICT = '[...document.querySelectorAll(".verdict-line")].map((line) => line.textContent).join()';

/** The Trace page with `services` Services and a packet to the last of them. */
async function pasted(browser, services) {
  const page = await fresh(browser, "#/trace");
  await pasteDump(page, services);
  await page.locator("#packet-line").fill(serviceAt(services - 1));
  await page.waitForTimeout(500);
  return page;
}

async function traces(browser) {
  const services = 645;
  const page = await pasted(browser, services);
  await press(page, "Trace", VERDICT);
  const times = [];
  for (let sample = 0; sample < 15; sample += 1) {
    // Another Service each time, somewhere in the chain: the sentence names where it leads.
    await page.locator("#packet-line").fill(serviceAt((sample * 97 + 31) % services, 41_000 + sample));
    const before = await page.evaluate(VERDICT);
    times.push(await press(page, "Trace", `${VERDICT} !== ${JSON.stringify(before)}`));
  }
  await page.context().close();
  say("page", "Trace through 40,000 loaded rules, from the press to the answer", 100, median(times));
}

async function dump(browser) {
  const [tooks, tasks] = [[], []];
  for (let sample = 0; sample < 3; sample += 1) {
    const page = await pasted(browser, 3_387);
    const [task, took] = await longestTask(browser, page, () => press(page, "Trace", VERDICT));
    tooks.push(took);
    tasks.push(task);
    await page.context().close();
  }
  say("page", "210,000 rules pasted, from the press to the answer, wall time", "-", median(tooks));
  say("page", "  longest task of the main thread meanwhile", 50, median(tasks));
}

async function connections(browser) {
  const [tooks, works] = [[], []];
  for (let sample = 0; sample < 5; sample += 1) {
    const page = await fresh(browser, "#/lesson/chain-probabilities");
    await page.locator(".lesson-question").getByRole("radio").first().check();
    const before = computed(WORKER);
    tooks.push(await press(page, "Run it", 'document.body.textContent.includes("do not fit equal shares")'));
    works.push(computed(WORKER) - before);
    await page.context().close();
  }
  say("page", "100,000 connections of a lesson, in the worker, never run before", 500, median(works));
  say("page", "  from the press to the figure, wall time", "-", median(tooks));
}

const browser = await launch();
try {
  if (process.env.CHAINWALK_ROWS_URL) await rows(browser);
  if (process.env.CHAINWALK_URL) for (const measure of [connections, traces, dump]) await measure(browser);
} finally {
  await browser.close();
}
