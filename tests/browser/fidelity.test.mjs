// The ledger: the tables of FIDELITY.md in the page, filtered, in the three views.

import { VIEWS, assert, assertAccessible, assertFits, open, pageTest, screenshot, typeByKey } from "./lib.mjs";

for (const { view, viewport, dark } of VIEWS) {
  pageTest(`the ledger, ${view}`, { viewport, dark }, async (page) => {
    await open(page, "#/fidelity");
    await page.getByRole("heading", { name: "Matches", exact: true }).waitFor();
    await assertFits(page, "the ledger");
    await assertAccessible(page, "the ledger");
    await screenshot(page, `fidelity-${view}`);
    await typeByKey(page, page.locator("#fidelity-filter"), "statistic");
    await page.getByRole("heading", { name: "Targets", exact: true }).waitFor({ state: "detached" });
    assert.match(await page.locator("tbody").first().innerText(), /statistic/);
  });
}
