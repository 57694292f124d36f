// The two engines: a page begins with the one for iptables, and the one with every data plane takes over where it is
// needed, without anybody losing what they did.

import { SUB_PATH, assert, open, pageTest } from "./lib.mjs";

/** Names of the engines that the page has fetched so far, in order. */
function fetched(page) {
  const names = [];
  page.on("request", (request) => {
    const name = /engine\/(.*)_bg\.wasm/.exec(request.url())?.[1];
    if (name) names.push(name);
  });
  return names;
}

const verdict = (page) => page.locator(".verdict-line");

for (const [where, base] of [["at the root", undefined], ["under a sub-path", SUB_PATH]]) {
  pageTest(`a connection goes on with the larger engine, ${where}`, { base }, async (page) => {
    const engines = fetched(page);
    await open(page, "#/trace");
    await page.getByRole("button", { name: "kube-proxy node", exact: true }).click();
    await verdict(page).waitFor();
    const first = await verdict(page).innerText();
    assert.deepEqual(engines, ["chainwalk-worker"], "iptables needs no more");

    await page.goto("./#/planes");
    await page.locator(".compare .outcome").first().waitFor();
    assert.deepEqual(engines, ["chainwalk-worker", "chainwalk-worker-planes"]);

    // The reply finds a connection only if the new engine has heard the ruleset and the first packet.
    await page.goto("./#/trace");
    await verdict(page).waitFor();
    assert.equal(await verdict(page).innerText(), first);
    await page.getByRole("button", { name: "Send the reply" }).click();
    await page.getByRole("button", { name: /^2 reply/ }).waitFor();
    assert.match(await page.locator(".see").innerText(), /ESTABLISHED/i);
    assert.equal(engines.length, 2, "it stays");
  });
}

/** Opens a lesson and lets all its scenarios run. */
async function takeAll(page, id) {
  await open(page, `#/lesson/${id}`);
  await page.getByRole("button", { name: "Open all of it without questions" }).click();
  await page.getByRole("heading", { name: "Sources" }).waitFor();
  await page.getByText("The engine is running it").first().waitFor({ state: "detached", timeout: 60_000 });
}

pageTest("lessons about iptables run on the small engine, the others on the larger one", {}, async (page) => {
  const engines = fetched(page);
  await takeAll(page, "the-service-that-does-not-exist");
  await takeAll(page, "chain-probabilities");
  assert.deepEqual([...new Set(engines)], ["chainwalk-worker"]);
  await takeAll(page, "ipvs-hash-and-schedulers");
  assert.ok(engines.includes("chainwalk-worker-planes"), engines.join());
});
