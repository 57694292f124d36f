//! What inputs are made from: the rulesets of the cases, dumps, public dumps where they are at hand.

use std::fs;
use std::path::Path;

use chainwalk_portable::dump::Dump;
use serde_json::Value;

/// Grammar of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// iptables-save and iptables-restore.
    Xt,
    /// The replay contract.
    Replay,
    /// The output of `ip addr` and `ip route`, in their forms.
    Ip,
    /// A packet in one line.
    Line,
    /// An IP packet in hexadecimal.
    Hex,
    /// Kubernetes objects in YAML.
    Manifest,
    /// Lines of `ipvsadm -R`.
    Ipvsadm,
    /// nftables, listings and commands.
    Nft,
}

const IP: [&str; 5] = [
    "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n    link/loopback \
     00:00:00:00:00:00 brd 00:00:00:00:00:00\n    inet 127.0.0.1/8 scope host lo\n       valid_lft forever \
     preferred_lft forever\n2: eth0@if7: <BROADCAST,MULTICAST,UP> mtu 1450 qdisc noqueue state UP\n    link/ether \
     02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff link-netnsid 0\n    inet 172.17.0.2/16 brd 172.17.255.255 scope \
     global eth0\n    inet6 fe80::42:acff:fe11:2/64 scope link\n",
    "lo               UNKNOWN        127.0.0.1/8 ::1/128\neth0@if7         UP             172.17.0.2/16 \n",
    "[{\"ifindex\":2,\"ifname\":\"eth0\",\"mtu\":1500,\"addr_info\":[{\"family\":\"inet\",\"local\":\"10.0.0.1\",\
     \"prefixlen\":24}]}]",
    "default via 172.17.0.1 dev eth0 proto dhcp metric 100\n10.244.1.0/24 dev cni0 proto kernel scope link src \
     10.244.1.1\nunreachable 10.9.0.0/16\nblackhole default metric 4294967295\n",
    "[{\"dst\":\"default\",\"gateway\":\"10.0.0.254\",\"dev\":\"eth0\",\"flags\":[]}]",
];
const LINES: [&str; 4] = [
    "tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0",
    "udp [fd00::1]:53 > [fd00::2]:1053 in eth0 ttl 3 mark 0x4000 len 100",
    "icmp 10.0.0.1 > 10.0.0.2 local",
    "tcp 10.1.0.2:1 > 10.2.0.2:2 in c0 flags SA seq 1 ack 2 win 3 mss 1460 wscale 7",
];
const HEX: [&str; 4] = [
    "45000034abcd4000400600000a0100020a600001 9c40 0050 000003e8 00000000 8002 faf0 0000 0000 020405b40101040201030307",
    "6000000000141140fd000000000000000000000000000001fd000000000000000000000000000002003504d20014000000112233445566778899aabb",
    "4500003800004000ff0100000a0000010a0000020303000000000000450000200000400040110000 0a0000020a0000010035003500080000",
    "600000000030 2c40fd000000000000000000000000000001fd000000000000000000000000000002060000010000000100500050000000000000000050020000",
];
const MANIFEST: [&str; 2] = [
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  clusterIP: 10.96.10.20\n  \
     sessionAffinity: ClientIP\n  ports:\n  - name: http\n    port: 80\n    nodePort: 30080\n---\n{\"kind\": \
     \"Node\", \"metadata\": {\"name\": \"a\"}}\n",
    "kind: List\nitems:\n- &s\n  kind: EndpointSlice\n  metadata: {name: a, labels: {kubernetes.io/service-name: \
     web}}\n  addressType: IPv4\n  ports: [{name: http, port: 8080}]\n  endpoints: [{addresses: [10.244.1.10], \
     conditions: {ready: true}}]\n- *s\n",
];

const IPVSADM: [&str; 3] = [
    "-A -t 10.96.0.1:80 -s rr -p 10800\n-a -t 10.96.0.1:80 -r 10.244.1.5:8080 -m -w 1\n-a -t 10.96.0.1:80 -r \
     10.244.2.5:8080 -m -w 0 -x 10 -y 5\n",
    "-A -u [fd00::1]:53 -s sh -b sh-port,sh-fallback -o -p 30 -M 64\n-a -u [fd00::1]:53 -r [fd00::2]:53 -i --tun-type gue \
     --tun-port 6080 --tun-csum\n-A -f 7 -6 -s mh\n-A --sctp-service 10.0.0.8:9\n",
    "ipvsadm --add-service --tcp-service=10.1:http --scheduler wrr --netmask 255.255.0.0 --persistent\n-E -t 10.1:80\n-Z\n-d -t \
     10.1:80 -r 10.2\n-D -t 10.1:80\n-C\n--set 10 20 30\n",
];

const NFT: [&str; 2] = [
    "define web = { 80, 443 }\nadd table inet t\nadd chain inet t c { type filter hook input priority filter - 5; policy \
     drop; }\nadd set inet t s { type ipv4_addr . inet_service; flags interval; }\nadd element inet t s { 10.0.0.0/8 . \
     80-90 }\nadd rule inet t c ip saddr . tcp dport @s counter accept\ninsert rule inet t c tcp dport $web drop\n",
    "table ip t {\n\tmap m {\n\t\ttype ipv4_addr : verdict\n\t\telements = { 1.1.1.1 : goto c, * : drop }\n\t}\n\tchain c \
     {\n\t\tip saddr vmap @m\n\t\tct state vmap { new : accept, invalid : drop } comment \"x\"\n\t\tnumgen random mod 3 vmap \
     { 0 : jump c, 1-2 : return }\n\t}\n}\nlist ruleset\n",
];

/// Texts by grammar.
#[derive(Debug, Default)]
pub struct Corpus {
    xt: Vec<String>,
    replay: Vec<String>,
    ip: Vec<String>,
    line: Vec<String>,
    hex: Vec<String>,
    manifest: Vec<String>,
    ipvsadm: Vec<String>,
    nft: Vec<String>,
}

impl Corpus {
    /// Reads `tests/cases` and, beside the clone, `shared/peer`; the latter may be absent.
    pub fn load() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let mut corpus = Self {
            ip: texts(&IP),
            line: texts(&LINES),
            hex: texts(&HEX),
            manifest: texts(&MANIFEST),
            ipvsadm: texts(&IPVSADM),
            nft: texts(&NFT),
            ..Self::default()
        };
        corpus.xt.push(Dump { services: 3, endpoints: 3 }.text());
        for text in files_under(&root.join("tests/cases"), "json") {
            corpus.add_case(&text);
        }
        for folder in ["iptables-save", "malformed"] {
            corpus.xt.extend(files_under(&root.join("../shared/peer/dumps").join(folder), "txt"));
        }
        corpus.nft.extend(files_under(&root.join("engine/src/text/nft/tests"), "nft"));
        corpus.nft.extend(files_under(&root.join("../shared/peer/dumps/nft"), "nft"));
        corpus
    }

    pub fn of(&self, kind: Kind) -> &[String] {
        match kind {
            Kind::Xt => &self.xt,
            Kind::Replay => &self.replay,
            Kind::Ip => &self.ip,
            Kind::Line => &self.line,
            Kind::Hex => &self.hex,
            Kind::Manifest => &self.manifest,
            Kind::Ipvsadm => &self.ipvsadm,
            Kind::Nft => &self.nft,
        }
    }

    fn add_case(&mut self, text: &str) {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return };
        let case = value.get("case").unwrap_or(&value);
        self.replay.push(case.to_string());
        for step in case["node"]["setup"].as_array().into_iter().flatten() {
            if let Some(stdin) = step["stdin"].as_str().filter(|stdin| stdin.starts_with('*')) {
                self.xt.push(stdin.to_owned());
            }
        }
    }
}

/// The texts of a folder and its subfolders, in the order of their paths; empty when it is not there.
fn files_under(folder: &Path, ending: &str) -> Vec<String> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .flat_map(|path| {
            if path.is_dir() {
                files_under(path, ending)
            } else if path.extension().is_some_and(|end| end == ending) {
                fs::read_to_string(path).into_iter().collect()
            } else {
                Vec::new()
            }
        })
        .collect()
}
