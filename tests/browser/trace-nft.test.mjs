// Trace with nftables and IPVS: a pasted listing, its maps, refusals in nft's words, servers and their scheduler.

import {
  NARROW, VIEWS, assert, assertAccessible, assertFits, open, pageTest, pressByKey, screenshot, typeByKey,
} from "./lib.mjs";

const verdict = (page) => page.locator(".verdict-line");
const says = (page) => page.locator(".transport-says");

const RULESET = `table inet fw {
\tmap ports {
\t\ttype inet_service : verdict
\t\telements = { 22 : drop, 80 : jump web, 8443 : accept }
\t}

\tchain input {
\t\ttype filter hook input priority filter; policy drop;
\t\tct state established,related accept
\t\tiif "lo" accept
\t\ttcp dport vmap @ports
\t\tlog prefix "closed: " reject
\t}

\tchain web {
\t\tip saddr { 192.0.2.0/24, 198.51.100.0/24 } counter packets 0 bytes 0 accept comment "customers"
\t}
}
table ip nat {
\tchain prerouting {
\t\ttype nat hook prerouting priority dstnat; policy accept;
\t\tiifname "eth0" tcp dport 8000 redirect to :80
\t}
}
`;
const PACKET = "tcp 198.51.100.24:40000 > 203.0.113.20:8000 in eth0";

/** Steps forward with the keyboard until the sentence fits. */
async function stepTo(page, pattern) {
  for (let step = 0; step < 40; step += 1) {
    if (pattern.test(await says(page).innerText())) return;
    await page.keyboard.press("Enter");
  }
  assert.fail(`no step says ${pattern}; the last one: ${await says(page).innerText()}`);
}

for (const { view, viewport, dark } of VIEWS) {
  pageTest(`an nft listing, by keyboard alone, ${view}`, { viewport, dark }, async (page) => {
    await open(page, "#/trace");
    await typeByKey(page, page.locator("#rules-text"), RULESET);
    await typeByKey(page, page.locator("#packet-line"), PACKET);
    await pressByKey(page, page.getByRole("button", { name: "Trace", exact: true }));
    await verdict(page).waitFor();
    assert.match(await verdict(page).innerText(), /delivered[^]*5 rules walked/);

    // To the verdict map: its key, and the element that holds it.
    await pressByKey(page, page.getByRole("button", { name: "Step", exact: true }));
    await stepTo(page, /Rule 3 of input matches: jump to web/);
    const row = page.locator(".rule-current");
    await row.waitFor();
    assert.match(await row.innerText(), /tcp dport vmap @ports/);
    assert.match(await page.locator(".why").innerText(), /80[^]*@ports[^]*80 : jump web/);
    await assertAccessible(page, "a look-up");
    await assertFits(page, "a look-up");
    await screenshot(page, `trace-nft-lookup-${view}`, { fullPage: true });

    // The rule that decides, in the chain below.
    await stepTo(page, /Rule 1 of web matches: accept/);
    await page.locator(".crumbs", { hasText: "web" }).waitFor();
    assert.match(await page.locator(".why").innerText(), /198\.51\.100\.0-198\.51\.100\.255[^]*1 packet/);
    await screenshot(page, `trace-nft-rule-${view}`, { fullPage: true });
  });
}

pageTest("nft's refusal stands at its place, and nothing is lost", { viewport: NARROW }, async (page) => {
  await open(page, "#/trace");
  const wrong = RULESET.replace("policy drop", "policy dorp");
  await typeByKey(page, page.locator("#rules-text"), wrong);
  await typeByKey(page, page.locator("#packet-line"), PACKET);
  await pressByKey(page, page.getByRole("button", { name: "Trace", exact: true }));
  const problem = page.locator("#rules-problems .problem").first();
  await problem.waitFor();
  assert.match(await problem.innerText(), /Line 8, column 50\.[^]*syntax error/i);
  assert.equal(await problem.locator("mark").innerText(), "dorp");
  assert.equal(await page.locator("#rules-text").inputValue(), wrong);
  await assertAccessible(page, "a refusal");
  await screenshot(page, "trace-nft-refusal-narrow", { fullPage: true });
});

pageTest("what nft does not emulate is shown in place", {}, async (page) => {
  await open(page, "#/trace");
  await page.locator("#rules-text").fill(RULESET.replace('iif "lo" accept', "meta cgroup 7 drop"));
  await page.locator("#packet-line").fill(PACKET);
  await page.getByRole("button", { name: "Trace", exact: true }).click();
  await verdict(page).waitFor();
  assert.match(await verdict(page).innerText(), /uncertain/);
  assert.match(await page.locator(".not-emulated-list").innerText(), /not emulated: meta cgroup[^]*first at line 10/);
  assert.match(await page.locator(".uncertain").innerText(), /meta cgroup in rule 2 of inet fw input/);
});

for (const { view, viewport, dark } of VIEWS) {
  pageTest(`servers of ipvsadm -Ln, the scheduler's choice, ${view}`, { viewport, dark }, async (page) => {
    await open(page, "#/trace");
    await typeByKey(page, page.locator("#rules-text"), `# ipvsadm -Ln
IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
TCP  203.0.113.20:8000 wrr
  -> 10.0.0.2:80                  Masq    1      0          0
  -> 10.0.0.3:80                  Masq    3      2          0
`);
    await typeByKey(page, page.locator("#packet-line"), PACKET);
    await pressByKey(page, page.getByRole("button", { name: "Trace", exact: true }));
    await verdict(page).waitFor();
    assert.match(await verdict(page).innerText(), /10\.0\.0\.3:80/);
    await pressByKey(page, page.getByRole("button", { name: "Step", exact: true }));
    await stepTo(page, /scheduler wrr chooses 10\.0\.0\.3:80/);
    const chosen = page.locator(".candidates tr", { hasText: "✓ chosen" });
    assert.match(await chosen.innerText(), /10\.0\.0\.3:80\s+3/);
    await assertAccessible(page, "the scheduler's choice");
    await assertFits(page, "the scheduler's choice");
    await screenshot(page, `trace-ipvs-${view}`, { fullPage: true });
  });
}

pageTest("a chain of 20,000 nft rules stays windowed", {}, async (page) => {
  await open(page, "#/trace");
  const rules = Array.from({ length: 20_000 }, (_, at) => `\t\tip saddr 10.${at >> 16}.${(at >> 8) & 255}.${at & 255} drop\n`).join("");
  await page.locator("#rules-text").evaluate((field, text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, `table ip fw {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n${rules}\t}\n}\n`);
  await page.locator("#packet-line").fill(PACKET);
  await page.getByRole("button", { name: "Trace", exact: true }).click();
  await verdict(page).waitFor();
  assert.match(await verdict(page).innerText(), /20,000 rules walked/);
  await page.getByRole("button", { name: "Next hook", exact: true }).click();
  await page.getByRole("slider", { name: "Step" }).press("End");
  for (let back = 0; back < 12 && !(await page.locator(".rules-list").isVisible()); back += 1) {
    await page.getByRole("slider", { name: "Step" }).press("ArrowLeft");
  }
  assert.ok((await page.locator(".rules-list .rule").count()) < 120, "only the rows on screen are in the document");
});
