// The lessons, as a reader takes them: by keyboard alone, on a phone, in the dark, without scripts, and again tomorrow.

import { WORKER, computed, longestTask } from "./chromium.mjs";
import {
  NARROW, ROOT, SUB_PATH, VIEWS, assert, assertAccessible, assertFits, open, pageTest, pressByKey, screenshot, tabTo,
  typeByKey,
} from "./lib.mjs";

const SERVICE = "the-service-that-does-not-exist";
const PROBABILITIES = "chain-probabilities";

/** Every lesson that is shipped, in reading order: the static list names them. */
const LESSONS = await (async () => {
  const list = await (await fetch(new URL("lessons/index.html", ROOT))).text();
  return [...list.matchAll(/<li><a href="([^"/]+)\/"/g)].map(([, id]) => id);
})();
assert.ok(LESSONS.length >= 3, `the list names the lessons: ${LESSONS}`);

/** Lets each report of progress take long to arrive, so that a run can be stopped by keyboard however fast it is. */
async function slowWorker(page) {
  await page.addInitScript(() => {
    const { Worker } = window;
    window.Worker = class extends Worker {
      addEventListener(kind, listener, options) {
        let line = Promise.resolve();
        this.over = false;
        const late = (event) => {
          // Progress is short. The order is kept.
          const wait = event.data.length < 40 ? 250 : 0;
          line = line.then(() => new Promise((next) => setTimeout(next, wait))).then(() => this.over || listener(event));
        };
        super.addEventListener(kind, kind === "message" ? late : listener, options);
      }
      terminate() {
        this.over = true;
        super.terminate();
      }
      removeEventListener() {
        this.over = true;
      }
    };
  });
}

const openQuestion = (page) => page.locator(".lesson-question:has(form):not(.lesson-task)").first();

/** Answers the open question by its first words, by keyboard: Tab to the group, arrows to the option, Enter. */
async function answer(page, words) {
  const question = openQuestion(page);
  const options = question.getByRole("radio");
  const wanted = question.getByRole("radio", { name: words });
  await tabTo(page, options.first());
  await page.keyboard.press("Space");
  for (let count = await options.count(); count > 0 && !(await wanted.isChecked()); count -= 1) {
    await page.keyboard.press("ArrowDown");
  }
  assert.ok(await wanted.isChecked(), `the arrows reach ${words}`);
  await pressByKey(page, question.getByRole("button", { name: /^(Run it|Check)$/ }));
}

const said = (page, id) => page.locator(`#answer-${id} .lesson-answer`);

/** Every question of the lesson, skipped. */
async function openAll(page) {
  await page.getByRole("button", { name: "Open all of it without questions" }).click();
  await page.getByRole("heading", { name: "Sources" }).waitFor();
}

for (const { view, viewport, dark } of VIEWS) {
  pageTest(`the list and all lessons, ${view}`, { viewport, dark }, async (page) => {
    await open(page);
    await page.getByRole("link", { name: "The Service that does not exist" }).waitFor();
    await screenshot(page, `lessons-${view}`);
    for (const id of LESSONS) {
      await open(page, `#/lesson/${id}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await assertFits(page, id);
      await assertAccessible(page, `${id} at its start`);
      await screenshot(page, `${id}-start-${view}`);
      await openAll(page);
      await page.getByText("The engine is running it").first().waitFor({ state: "detached", timeout: 60_000 });
      await assertFits(page, id);
      await assertAccessible(page, `${id}, all of it`);
      await screenshot(page, `${id}-all-${view}`, { fullPage: true });
    }
  });
}

pageTest("the first lesson by keyboard alone", {}, async (page) => {
  await open(page, `#/lesson/${SERVICE}`);
  await answer(page, /out of eth0 as it is/);
  const first = said(page, "what-leaves");
  await first.first().waitFor();
  assert.equal(await first.count(), 2, "the reader's answer stands beside the engine's");
  assert.match(await first.first().innerText(), /You said/);
  assert.match(await first.last().innerText(), /The engine says[^]*to another destination/);

  // The figure: step to the rewrite, look at the reply, go to a station.
  await pressByKey(page, page.getByRole("button", { name: "Go to the figure" }).or(page.getByRole("button", { name: "Show the figure" })).first());
  await pressByKey(page, page.getByRole("button", { name: "Next rewrite" }));
  await page.locator(".transport-says").getByText(/10\.244\.2\.11/).waitFor();
  await pressByKey(page, page.getByRole("button", { name: "Back to the text" }));

  await answer(page, /^None\. Something remembers/);
  assert.match(await said(page, "who-turns-back").innerText(), /the engine agrees/);
  await answer(page, /^One\.$/);
  await answer(page, /^Its own/);
  assert.match(await said(page, "self-call").last().innerText(), /10\.244\.1\.1/);
  await answer(page, /^No answer/);
  await answer(page, /^Nothing\. It goes on/);
  await page.getByRole("heading", { name: "The words worth saying in an interview" }).waitFor();

  // Tomorrow: the answers are still there.
  await page.reload();
  await said(page, "self-call").last().waitFor();
  await page.getByText("6 of 6 questions and tasks").waitFor();
});

pageTest("the second lesson by keyboard alone, its task included", {}, async (page) => {
  await open(page, `#/lesson/${PROBABILITIES}`);
  await answer(page, /^A third/);
  await page.getByText(/do not fit equal shares/).first().waitFor();
  const task = page.locator(".lesson-task");
  const second = task.getByRole("textbox").nth(1);
  await typeByKey(page, second, "1");
  await pressByKey(page, task.getByRole("button", { name: "Send the connections" }));
  await task.getByText(/The last pod gets nothing now/).waitFor();
  await typeByKey(page, second, "half");
  await task.getByText(/a probability is a number from 0 to 1/).waitFor();
  await typeByKey(page, second, "0.5");
  await pressByKey(page, task.getByRole("button", { name: "Send the connections" }));
  await task.getByText(/Each pod now gets a third/).waitFor();
  await answer(page, /^None\. What differs/);
  await answer(page, /^0\.33333333349/);
  await answer(page, /^Nearly all/);
  await answer(page, /^Between ten/);
  await answer(page, /^Half each/);
  await answer(page, /^This is what twelve/);
  await answer(page, /^Because a counter/);
  await page.getByText("9 of 9 questions and tasks").waitFor();
});

pageTest("a lesson on a phone shows one figure at a time", { viewport: NARROW }, async (page) => {
  await open(page, `#/lesson/${SERVICE}`);
  await answer(page, /^It sends a SYN onward/);
  await page.getByRole("group", { name: /^Figure: / }).waitFor();
  await openAll(page);
  await page.getByRole("button", { name: "Show the figure" }).first().click();
  assert.equal(await page.getByRole("group", { name: /^Figure: / }).count(), 1);
  await screenshot(page, "lesson-figure-narrow");
});

pageTest("100,000 connections in the worker do not freeze the page", {}, async (page) => {
  await open(page, `#/lesson/${PROBABILITIES}`);
  const before = computed(WORKER);
  const [task] = await longestTask(page.context().browser(), page, async () => {
    await answer(page, /^Twice as much/);
    await page.getByText(/do not fit equal shares/).first().waitFor();
  });
  console.log(`# 100,000 connections: the worker computed ${Math.round(computed(WORKER) - before)} ms; the longest task of the main thread, ${task.toFixed(1)} ms`);
  assert.ok(task <= 50, `a task of the main thread computed ${task} ms`);
});

pageTest("a long run shows how far it is, stops, and runs again", {}, async (page) => {
  await slowWorker(page);
  await open(page, `#/lesson/${PROBABILITIES}`);
  await answer(page, /^Twice as much/);
  await page.getByRole("progressbar", { name: "How far the engine is" }).waitFor();
  await pressByKey(page, page.getByRole("button", { name: "Stop" }));
  await page.getByText("Stopped before it was done").first().waitFor();
  await assertAccessible(page, "a stopped run");
  // The same button, with the focus still on it.
  await page.keyboard.press("Enter");
  await page.getByText(/do not fit equal shares/).first().waitFor({ timeout: 60_000 });
  await page.getByText("Stopped before it was done").waitFor({ state: "detached" });
});

pageTest("a lesson works under a sub-path", { base: SUB_PATH }, async (page) => {
  await open(page, `#/lesson/${SERVICE}`);
  await page.getByRole("heading", { level: 1, name: "The Service that does not exist" }).waitFor();
});

for (const id of LESSONS) {
  pageTest(`${id}: every question by keyboard alone, every figure as it was built`, {}, async (page) => {
    await open(page, `#/lesson/${id}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const answers = page.locator(".lesson-answer");
    for (let asked = 0; await openQuestion(page).count() > 0; asked += 1) {
      assert.ok(asked < 40, "the questions come to an end");
      const question = openQuestion(page);
      const [before, words] = [await answers.count(), await question.locator("label").first().innerText()];
      await tabTo(page, question.getByRole("radio").first());
      await page.keyboard.press("Space");
      await pressByKey(page, question.getByRole("button", { name: /^(Run it|Check)$/ }));
      await answers.nth(before).waitFor().catch(() => assert.fail(`no answer to the question with the option ${words}`));
    }
    await page.getByRole("heading", { name: "The words worth saying in an interview" }).waitFor();
    const figures = await page.locator("[data-figure]").evaluateAll((cards) => cards.map((card) => card.dataset.figure));
    for (const at of figures) {
      await page.locator(`[data-figure="${at}"] button`).click();
      await page.getByText("The engine is running it").waitFor({ state: "detached", timeout: 60_000 });
      await assertAccessible(page, `figure ${at} of ${id}`);
      await assertFits(page, `figure ${at} of ${id}`);
      await screenshot(page, `${id}-figure-${at}`);
    }
    assert.equal(await page.getByText("another digest").count(), 0, "each run gives the digest of the build");
  });

  pageTest(`the static page of ${id} reads without scripts, narrow`, { viewport: NARROW }, async (page) => {
    const response = await page.goto(new URL(`lessons/${id}/`, ROOT).href);
    assert.ok((await response.body()).length <= 60 * 1024, "the page is at most 60 KB");
    assert.equal(await page.locator("script").count(), 0);
    await assertAccessible(page, `the static page of ${id}`);
    await assertFits(page, `the static page of ${id}`);
    await page.getByRole("link", { name: "Open in the lab" }).click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    assert.match(page.url(), new RegExp(`#/lesson/${id}$`));
  });
}
