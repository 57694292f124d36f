// A ruleset of 210,000 rules: read with progress, stopped on demand, shown and traced, while the page stays alive.

import { assert, open, pageTest, screenshot, watchLongTasks } from "./lib.mjs";

// As chainwalk-portable's dump generator: kube-proxy's nat table for ClusterIP Services, 62 rules a Service.
const SERVICES = 3_387;
const ENDPOINTS = 20;

/** Builds the dump in the page and pastes it there: 30 MB through the debugger would measure the debugger. */
async function pasteDump(page) {
  return page.locator("#rules-text").evaluate((field, [services, endpoints]) => {
    const name = (kind, number) => `KUBE-${kind}-${String(number).padStart(16, "0")}`;
    const address = (base, number) => `10.${base + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
    const chains = [];
    const rules = [
      '-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
      "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000",
    ];
    for (let service = 0; service < services; service += 1) {
      const [svc, ip] = [name("SVC", service), address(96, service + 10)];
      chains.push(`:${svc} - [0:0]`);
      rules.push(`-A KUBE-SERVICES -d ${ip}/32 -p tcp -m comment --comment "shop/web-${service}:http cluster IP" -m tcp --dport 80 -j ${svc}`);
      rules.push(`-A ${svc} ! -s 10.128.0.0/9 -d ${ip}/32 -p tcp -m comment --comment "shop/web-${service}:http cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ`);
      for (let endpoint = 0; endpoint < endpoints; endpoint += 1) {
        const [sep, pod] = [name("SEP", service * 1000 + endpoint), address(128, service * endpoints + endpoint)];
        const left = endpoints - endpoint;
        const draw = left > 1 ? ` -m statistic --mode random --probability ${(1 / left).toFixed(11)}` : "";
        chains.push(`:${sep} - [0:0]`);
        rules.push(`-A ${svc} -m comment --comment "shop/web-${service}:http -> ${pod}:8080"${draw} -j ${sep}`);
        rules.push(`-A ${sep} -s ${pod}/32 -m comment --comment "shop/web-${service}:http" -j KUBE-MARK-MASQ`);
        rules.push(`-A ${sep} -p tcp -m comment --comment "shop/web-${service}:http" -m tcp -j DNAT --to-destination ${pod}:8080`);
      }
    }
    const text = ["*nat", ":PREROUTING ACCEPT [0:0]", ":INPUT ACCEPT [0:0]", ":OUTPUT ACCEPT [0:0]", ":POSTROUTING ACCEPT [0:0]",
      ":KUBE-MARK-MASQ - [0:0]", ":KUBE-SERVICES - [0:0]", ...chains, ...rules, "COMMIT", ""].join("\n");
    const data = new DataTransfer();
    data.setData("text/plain", text);
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    return rules.length;
  }, [SERVICES, ENDPOINTS]);
}

const LAST_SERVICE = "tcp 10.0.0.2:40000 > 10.96.13.68:80 in eth0";

pageTest("210,000 rules are read, shown and traced", {}, async (page) => {
  const longTasks = await watchLongTasks(page);
  await open(page, "#/trace");
  const rules = await pasteDump(page);
  assert.ok(rules > 209_000, `${rules} rules`);
  await page.locator("#packet-line").fill(LAST_SERVICE);
  await page.waitForTimeout(500);
  await longTasks();
  const started = Date.now();
  await page.getByRole("button", { name: "Trace", exact: true }).click();
  await page.locator(".working").waitFor();
  await page.locator(".verdict-line").waitFor({ timeout: 120_000 });
  const took = Date.now() - started;
  const tasks = await longTasks();
  console.log(`# 210,000 rules: ${took} ms from Trace to verdict; main-thread tasks above 50 ms: ${tasks.join(", ") || "none"}`);
  assert.match(await page.locator(".verdict-line").innerText(), /rules? walked/);
  await screenshot(page, "large");

  const again = Date.now();
  await page.getByRole("button", { name: "Trace", exact: true }).click();
  await page.locator(".working").waitFor({ state: "detached" });
  console.log(`# the second trace of the loaded ruleset: ${Date.now() - again} ms`);
});

pageTest("reading can be stopped, and nothing typed is lost", {}, async (page) => {
  await open(page, "#/trace");
  await pasteDump(page);
  await page.locator("#packet-line").fill(LAST_SERVICE);
  await page.getByRole("button", { name: "Trace", exact: true }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator(".working").waitFor({ state: "detached" });
  assert.equal(await page.locator("#packet-line").inputValue(), LAST_SERVICE);
  assert.equal(await page.locator(".verdict-line").count(), 0);
  await page.getByText("Pasted text").waitFor();
});
