// A kube-proxy node's ruleset of any size, as chainwalk-portable's dump generator writes it: the nat table for ClusterIP
// Services, 62 rules a Service.

const ENDPOINTS = 20;

/** The first packet of a connection to one of the Services, from 0. */
export function serviceAt(number, sport = 40000) {
  return `tcp 10.0.0.2:${sport} > 10.96.${((number + 10) >> 8) & 255}.${(number + 10) & 255}:80 in eth0`;
}

/** Builds the dump in the page and pastes it there: 30 MB through the debugger would measure the debugger. */
export async function pasteDump(page, services) {
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
  }, [services, ENDPOINTS]);
}
