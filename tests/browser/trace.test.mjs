// Trace: a ruleset and a packet in, the way through the node out; by keyboard, narrow and dark, under a sub-path.

import {
  NARROW, SUB_PATH, VIEWS, assert, assertAccessible, assertFits, follow, open, pageTest, pressByKey, screenshot, tabTo, typeByKey,
} from "./lib.mjs";

const SAMPLES = [
  "kube-proxy node", "Docker host", "plain server", "IPv6 firewall", "kube-proxy, nftables", "nft firewall", "kube-proxy, IPVS",
];

// On a narrow screen one half of the page is shown at a time.
const verdict = (page) => page.locator(".verdict-line");

const RULES = `*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -i lan0 -p tcp -m tcp --dport 8080 -j ACCEPT
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.2.0.2:8080
COMMIT
`;
const PACKET = "tcp 10.1.0.2:40000 > 10.96.0.1:80 in lan0";

for (const [index, sample] of SAMPLES.entries()) {
  for (const { view, viewport, dark } of VIEWS) {
    pageTest(`the sample ${sample}, ${view}`, { viewport, dark }, async (page) => {
      await open(page, "#/trace");
      await pressByKey(page, page.getByRole("button", { name: sample, exact: true }));
      await verdict(page).waitFor();
      await assertFits(page, sample);
      await assertAccessible(page, sample);
      await screenshot(page, `trace-${index + 1}-${view}`, { fullPage: true });
    });
  }
}

pageTest("a connection, by keyboard alone, narrow", { viewport: NARROW }, async (page) => {
  await open(page, "#/trace");
  await typeByKey(page, page.locator("#rules-text"), RULES);
  await typeByKey(page, page.locator("#packet-line"), PACKET);
  await pressByKey(page, page.getByRole("button", { name: "Trace", exact: true }));
  await verdict(page).waitFor();
  assert.match(await verdict(page).innerText(), /10\.2\.0\.2/);

  const says = page.locator(".transport-says");
  const first = await says.innerText();
  await pressByKey(page, page.getByRole("button", { name: "Step", exact: true }));
  assert.notEqual(await says.innerText(), first, "a step says something else");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  assert.equal(await says.innerText(), first, "back is where it was");
  await pressByKey(page, page.getByRole("button", { name: "Next rewrite", exact: true }));
  assert.match(await says.innerText(), /10\.2\.0\.2/);
  await pressByKey(page, page.getByRole("button", { name: "Next hook", exact: true }));
  await tabTo(page, page.getByRole("slider", { name: "Step" }));
  await page.keyboard.press("End");
  const [step, last] = (await page.locator(".transport-count").innerText()).split(" / ");
  assert.equal(step, last, "the slider's end is the last step");
  await assertAccessible(page, "the last step");

  // The reply finds the connection: the nat rules are not asked again.
  await pressByKey(page, page.getByRole("button", { name: "Send the reply" }));
  await page.getByRole("button", { name: /^2 reply/ }).waitFor();
  assert.match(await page.locator(".see").innerText(), /ESTABLISHED/i);
  await pressByKey(page, page.getByRole("button", { name: "Send it again" }));
  await page.getByRole("button", { name: /^3 again/ }).waitFor();
  await assertFits(page, "three packets");
  await screenshot(page, "trace-connection-narrow", { fullPage: true });
});

pageTest("a link carries the whole state, also under a sub-path", { base: SUB_PATH }, async (page) => {
  await open(page, "#/trace");
  await page.getByRole("button", { name: "kube-proxy node", exact: true }).click();
  await verdict(page).waitFor();
  await page.getByRole("button", { name: "Next rewrite", exact: true }).click();
  const before = { verdict: await verdict(page).innerText(), step: await page.locator(".transport-count").innerText() };
  await page.getByRole("button", { name: "Make a link" }).click();
  await page.waitForURL(/#\/s\//);
  const link = page.url();
  assert.ok(link.startsWith(SUB_PATH), link);
  await follow(page, link);
  await verdict(page).waitFor();
  await page.locator(".transport-count", { hasText: before.step }).waitFor();
  assert.equal(await verdict(page).innerText(), before.verdict);
});

const MANIFESTS = `kind: Service
apiVersion: v1
metadata: {name: web, namespace: shop}
spec:
  clusterIP: 10.96.10.20
  ports: [{port: 80}]
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: "", port: 8080}]
endpoints:
- {addresses: [10.244.1.10], nodeName: node-a}
- {addresses: [10.244.2.7], nodeName: node-b}
`;

pageTest("manifests become the ruleset of a node, by keyboard", { viewport: NARROW }, async (page) => {
  await open(page, "#/trace");
  await typeByKey(page, page.locator("#rules-text"), MANIFESTS);
  await pressByKey(page, page.getByRole("button", { name: "Trace", exact: true }));
  await page.getByText("These are Kubernetes objects").waitFor();
  await assertAccessible(page, "the offer");
  await assertFits(page, "the offer");
  await screenshot(page, "trace-offer-narrow", { fullPage: true });
  await pressByKey(page, page.getByRole("button", { name: "Run kube-proxy and trace" }));
  await verdict(page).waitFor();
  assert.match(await verdict(page).innerText(), /10\.244\./);
  await pressByKey(page, page.getByRole("button", { name: "Describe", exact: true }));
  await pressByKey(page, page.getByRole("button", { name: "Put back what I had" }));
  assert.equal(await page.locator("#rules-text").inputValue(), MANIFESTS);
});

pageTest("manifests become what a node holds in each mode of kube-proxy", {}, async (page) => {
  await open(page, "#/trace");
  for (const [mode, holds] of [["iptables", "KUBE-SVC-"], ["nftables", "table ip kube-proxy"], ["IPVS", "-A -t 10.96.10.20:80"]]) {
    await page.locator("#rules-text").fill(MANIFESTS);
    await page.getByRole("button", { name: "Trace", exact: true }).click();
    await page.locator("#offer-mode").selectOption(mode);
    await page.getByRole("button", { name: "Run kube-proxy and trace" }).click();
    await page.waitForFunction((holds) => document.querySelector("#rules-text").value.includes(holds), holds);
    await page.getByText("These are Kubernetes objects").waitFor({ state: "detached" });
    await verdict(page).waitFor();
    assert.match(await verdict(page).innerText(), /10\.244\./);
  }
});

pageTest("sets stand beside the tables", {}, async (page) => {
  await open(page, "#/trace");
  const rules = RULES.replace("-A FORWARD -i lan0", "-A FORWARD -i lan0 -m set --match-set friends src");
  await page.locator("#rules-text").fill(`create friends hash:ip family inet\nadd friends 10.1.0.2\n${rules}`);
  await page.locator("#packet-line").fill(PACKET);
  await page.getByRole("button", { name: "Trace", exact: true }).click();
  await verdict(page).waitFor();
  assert.match(await verdict(page).innerText(), /10\.2\.0\.2/);
});
