// Starts Chromium, for the tests and the benchmarks beside this file.
//
// Owns: what `cargo xtask` says in the environment, the driver's packages, the flags, and the clocks that a busy
// machine does not bend: what threads of the pages computed.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const setting = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this by \`cargo xtask test browser\` or \`cargo xtask bench\``);
  return value;
};

// The packages live in a cache outside the clone, so plain `import` cannot find them.
export const require = createRequire(join(setting("CHAINWALK_NODE_MODULES"), "x.js"));
const { chromium } = require("playwright-core");

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

/** A browser of one's own. */
export const launch = () => chromium.launch({ executablePath: setting("CHAINWALK_CHROMIUM"), args: FLAGS });

/**
 * A task of the main thread that computes longer stands still before a person, in milliseconds: far above the budget
 * of 50, which `cargo xtask bench` measures, so that a busy machine alone fails no test.
 */
export const FROZEN_MS = 200;

/** The thread of a worker, as Linux knows it. */
export const WORKER = "DedicatedWorker";

/** Milliseconds that threads of this name have computed in the browser's pages. */
export function computed(thread) {
  const read = (path) => {
    // A page or a thread may end meanwhile.
    try { return readFileSync(path, "utf8"); } catch { return ""; }
  };
  const list = (path) => {
    try { return readdirSync(path); } catch { return []; }
  };
  const pages = list("/proc").filter((pid) => read(`/proc/${pid}/cmdline`).includes("--type=renderer"));
  const threads = pages.flatMap((pid) => list(`/proc/${pid}/task`).map((tid) => `/proc/${pid}/task/${tid}`));
  const ours = threads.filter((path) => read(`${path}/comm`).startsWith(thread));
  return ours.reduce((sum, path) => sum + Number(read(`${path}/schedstat`).split(" ")[0]) / 1e6, 0);
}

/**
 * The longest task of the page's main thread while `body` runs, in milliseconds that it computed; and what `body` gave.
 * Where the browser tells only how long a task took, that.
 */
export async function longestTask(browser, page, body) {
  await browser.startTracing(page, { categories: ["toplevel", "__metadata"] });
  const value = await body();
  await page.waitForTimeout(200);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const names = traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const mains = new Set(names.map(({ pid, tid }) => `${pid} ${tid}`));
  const tasks = traceEvents.filter(({ name, ph, pid, tid }) => name.endsWith("RunTask") && ph === "X" && mains.has(`${pid} ${tid}`));
  if (tasks.length === 0) throw new Error("the browser's trace names no task");
  return [tasks.reduce((longest, { dur, tdur }) => Math.max(longest, (tdur ?? dur) / 1000), 0), value];
}
