// The site as a host serves it: it starts at any address, in any of the views, and stays within its policy.

import { ROOT, SUB_PATH, VIEWS, assert, assertAccessible, assertFits, open, pageTest, screenshot } from "./lib.mjs";

for (const { view, viewport, dark } of VIEWS) {
  pageTest(`the start page, ${view}`, { viewport, dark }, async (page) => {
    await open(page);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await assertFits(page, "the start page");
    await assertAccessible(page, "the start page");
    await screenshot(page, `start-${view}`);
  });
}

pageTest("the site starts under a sub-path", { base: SUB_PATH }, async (page) => {
  await open(page);
  await page.getByRole("heading", { level: 1 }).waitFor();
  assert.ok(page.url().startsWith(SUB_PATH));
});

pageTest("the policy comes with the page and is enforced", { expectedErrors: [/Content Security Policy/] }, async (page) => {
  const response = await page.goto(ROOT);
  const policy = response.headers()["content-security-policy"];
  assert.match(policy, /default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self';/);
  const stated = page.locator("meta[http-equiv=Content-Security-Policy]");
  assert.equal(await stated.getAttribute("content"), policy);
  const refused = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.inlineScriptRan = true";
    document.head.append(script);
    return !window.inlineScriptRan;
  });
  assert.ok(refused, "an inline script ran");
});

pageTest("a missing script is missing, never the page", { expectedErrors: [/404/] }, async (page) => {
  for (const name of ["missing.js", "engine/missing.wasm"]) {
    assert.equal((await page.request.get(new URL(name, ROOT).href)).status(), 404);
  }
});
