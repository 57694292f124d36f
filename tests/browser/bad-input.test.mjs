// Bad input, one by one: each says what is wrong and where, and what was typed is still there.

import { NARROW, WIDE, assert, assertAccessible, follow, open, pageTest, paste, screenshot } from "./lib.mjs";

const GOOD = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n";
const PACKET = "tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0";

const fields = (page) => ({ rules: page.locator("#rules-text"), line: page.locator("#packet-line") });
const press = (page) => page.getByRole("button", { name: "Trace", exact: true }).click();

/** Fills, traces, and gives what the page says is wrong. */
async function refused(page, rules, packet, where) {
  await open(page, "#/trace");
  const { rules: text, line } = fields(page);
  if (rules !== null) await text.fill(rules);
  await line.fill(packet);
  await press(page);
  const problem = page.locator(where);
  await problem.waitFor();
  if (rules !== null) assert.equal(await text.inputValue(), rules, "the ruleset is still there");
  assert.equal(await line.inputValue(), packet, "the packet is still there");
  return problem.innerText();
}

pageTest("an empty paste", {}, async (page) => {
  const says = await refused(page, "", PACKET, "#rules-problems");
  assert.match(says, /empty|no rules|nothing|paste/i);
  await assertAccessible(page, "a problem");
});

pageTest("an address with a typo", { viewport: NARROW }, async (page) => {
  const says = await refused(page, GOOD, "tcp 10.1.0.2222:40000 > 10.96.0.1:80 in eth0", "#packet-problems");
  assert.match(says, /10\.1\.0\.2222/);
  await screenshot(page, "bad-address-narrow", { fullPage: true });
});

pageTest("a port of 70000", { viewport: WIDE }, async (page) => {
  const says = await refused(page, GOOD, "tcp 10.1.0.2:40000 > 10.96.0.1:70000 in eth0", "#packet-problems");
  assert.match(says, /70000/);
  assert.match(says, /65535/);
});

pageTest("one bad line of 20,000", {}, async (page) => {
  await open(page, "#/trace");
  const lines = Array.from({ length: 20_000 }, (_, index) =>
    `-A FORWARD -s 10.${index >> 16}.${(index >> 8) & 255}.${index & 255}/32 -j DROP`);
  lines[12_344] = "-A FORWARD -p tcp -m tcp --dport 70000 -j DROP";
  await paste(page, fields(page).rules, `*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n${lines.join("\n")}\nCOMMIT\n`);
  await fields(page).line.fill(PACKET);
  await press(page);
  const problem = page.locator(".rules .problem").first();
  await problem.waitFor();
  const says = await problem.innerText();
  // Four lines stand before the first rule.
  assert.match(says, /Line 12,?349/);
  assert.match(says, /70000/);
  assert.equal(await fields(page).line.inputValue(), PACKET);
  await screenshot(page, "bad-line-of-20000");
});

pageTest("a binary file", {}, async (page) => {
  await open(page, "#/trace");
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 37) % 256));
  await page.locator("input[type=file]").setInputFiles({ name: "picture.png", mimeType: "image/png", buffer: bytes });
  await fields(page).line.fill(PACKET);
  await press(page);
  const problem = page.locator("#rules-problems");
  await problem.waitFor();
  assert.match(await problem.innerText(), /text|binary|byte/i);
  await page.getByText("picture.png").waitFor();
  assert.equal(await fields(page).line.inputValue(), PACKET);
});

pageTest("a paste of 50 MB", {}, async (page) => {
  await open(page, "#/trace");
  await fields(page).line.fill(PACKET);
  // Made in the page: sending it there would measure the debugger.
  await fields(page).rules.evaluate((field) => {
    const data = new DataTransfer();
    data.setData("text/plain", "-A INPUT -s 10.0.0.1/32 -j DROP -m comment --comment x\n".repeat(950_000));
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  });
  const problem = page.locator("#rules-problems");
  await problem.waitFor();
  assert.match(await problem.innerText(), /MB/);
  assert.equal(await fields(page).line.inputValue(), PACKET);
  await screenshot(page, "bad-50-mb");
});

pageTest("a link cut in half", {}, async (page) => {
  await open(page, "#/trace");
  await page.getByRole("button", { name: "Docker host", exact: true }).click();
  await page.locator(".verdict-line").waitFor();
  await page.getByRole("button", { name: "Make a link" }).click();
  await page.waitForURL(/#\/s\//);
  const link = page.url();
  const state = link.indexOf("#/s/") + 4;
  await follow(page, link.slice(0, state + Math.floor((link.length - state) / 2)));
  const problem = page.locator("#link-problems");
  await problem.waitFor();
  assert.match(await problem.innerText(), /link/i);
  // What the half still holds is on the page.
  assert.notEqual(await fields(page).line.inputValue(), "");
  await screenshot(page, "bad-link");
});
