//! Random rulesets in the language of nftables, over what is emulated: base chains at every hook, regular chains, sets
//! and maps of each kind, elements that packets make, NAT.
//!
//! Left out is what only a clock or a draw decides: buckets that refill within the run, `numgen random`, `symhash`.

use super::matches::{PORTS, addresses, networks};
use super::{Family, Rng};

/// Where a rule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before connections are tracked.
    Raw,
    Prerouting,
    Input,
    Forward,
    Output,
    Postrouting,
    /// nat prerouting and output.
    NatDestination,
    /// nat postrouting and input.
    NatSource,
    /// A regular chain that filter chains call.
    Regular,
}

struct Writer<'r> {
    family: Family,
    inet: bool,
    /// What the rule at hand is about: `nft` refuses one about two protocols. None: any.
    about: Option<&'static str>,
    rng: &'r mut Rng,
}

/// `nft -f` text that replaces whatever is loaded.
pub(super) fn ruleset(family: Family, rng: &mut Rng) -> String {
    let inet = rng.one_in(3);
    let mut writer = Writer { family, inet, about: None, rng };
    let mut text = String::from("flush ruleset\n");
    for table in 0..1 + writer.rng.below(2) {
        text += &writer.table(table);
    }
    text
}

impl Writer<'_> {
    fn address(&mut self) -> &'static str {
        self.rng.pick::<&str>(addresses(self.family))
    }

    fn network(&mut self) -> &'static str {
        self.rng.pick::<&str>(&networks(self.family)[..4])
    }

    fn port(&mut self) -> u16 {
        *self.rng.pick(&PORTS)
    }

    fn ip(&self) -> &'static str {
        if self.family == Family::V4 { "ip" } else { "ip6" }
    }

    fn not(&mut self) -> &'static str {
        if self.rng.one_in(4) { "!= " } else { "" }
    }

    fn side(&mut self) -> &'static str {
        self.rng.pick::<&str>(&["saddr", "daddr"])
    }

    /// TCP or UDP, if the rule is about one of them.
    fn transport(&self) -> Option<&'static str> {
        self.about.filter(|about| matches!(*about, "tcp" | "udp"))
    }

    fn table(&mut self, number: u64) -> String {
        let ip = self.ip();
        let family = if self.inet { "inet" } else { ip };
        let addr = if self.family == Family::V4 { "ipv4_addr" } else { "ipv6_addr" };
        let mut text = format!("table {family} t{number} {{\n");
        text += " counter c0 { }\n counter c1 { }\n quota q0 { over 200 bytes }\n limit l0 { rate 1/day burst 3 packets }\n";
        let (one, other) = (self.address(), self.address());
        text += &format!(" set hosts {{ type {addr}; elements = {{ {one}{} }}; }}\n", self.more(one, other));
        text +=
            &format!(" set nets {{ type {addr}; flags interval; elements = {{ {} }}; }}\n", self.network());
        let port = self.port();
        text += &format!(" set pairs {{ type {addr} . inet_service; elements = {{ {one} . {port} }}; }}\n");
        text += &format!(
            " set ranges {{ type {addr} . inet_service; flags interval; elements = {{ {} . 50-5000 }}; }}\n",
            self.network()
        );
        text += &format!(" set counted {{ type {addr}; counter; elements = {{ {one} }}; }}\n");
        text += &format!(" set seen {{ type {addr}; size 100; flags dynamic; }}\n");
        text += &format!(" set limited {{ type {addr}; size 2; flags dynamic,timeout; timeout 1h; }}\n");
        text += &format!(
            " map marks {{ type {addr} : mark; elements = {{ {one} : 0x{:x} }}; }}\n",
            1 + self.rng.below(15)
        );
        let regular: Vec<String> = (0..self.rng.below(4)).map(|n| format!("u{n}")).collect();
        let targets: Vec<&str> = regular.iter().map(String::as_str).collect();
        let jump = match regular.last() {
            Some(last) => format!("goto {last}"),
            None => "continue".into(),
        };
        text += &format!(
            " map ports {{ type inet_service : verdict; elements = {{ {port} : {jump}{} }}; }}\n",
            if self.rng.one_in(3) { ", * : continue" } else { "" }
        );
        // The kernel wants a chain before what jumps to it.
        for at in (0..regular.len()).rev() {
            text += &format!(" chain {} {{\n", regular[at]);
            for _ in 0..self.rng.below(4) {
                text += &self.rule(Place::Regular, &targets[at + 1..]);
            }
            text += " }\n";
        }
        let hooks: [(&str, &str, &[i64], Place, u64); 9] = [
            ("pr", "filter hook prerouting", &[-300, -250], Place::Raw, 2),
            ("pm", "filter hook prerouting", &[-150, 0], Place::Prerouting, 3),
            ("in", "filter hook input", &[-150, 0, 0], Place::Input, 4),
            ("fo", "filter hook forward", &[-150, 0, 0], Place::Forward, 5),
            ("ou", "filter hook output", &[-150, 0, 0], Place::Output, 3),
            ("po", "filter hook postrouting", &[-150, 150], Place::Postrouting, 3),
            ("nd", "nat hook prerouting", &[-100, -50, 10], Place::NatDestination, 3),
            ("ns", "nat hook postrouting", &[100, 50, 110], Place::NatSource, 3),
            ("no", "nat hook output", &[-100], Place::NatDestination, 2),
        ];
        for (name, kind, priorities, place, most) in hooks {
            if self.rng.one_in(4) {
                continue;
            }
            let priority = *self.rng.pick(priorities);
            let may_drop = matches!(place, Place::Input | Place::Forward | Place::Output);
            let policy = if may_drop && self.rng.one_in(25) { "drop" } else { "accept" };
            text += &format!(" chain {name} {{\n  type {kind} priority {priority}; policy {policy};\n");
            let filters = !matches!(place, Place::NatDestination | Place::NatSource | Place::Raw);
            for _ in 0..=self.rng.below(most) {
                text += &self.rule(place, if filters { &targets } else { &[] });
            }
            text += " }\n";
        }
        text + "}\n"
    }

    fn more(&mut self, one: &str, other: &str) -> String {
        if one == other { String::new() } else { format!(", {other}") }
    }

    fn rule(&mut self, place: Place, callable: &[&str]) -> String {
        self.about = *self.rng.pick(&[None, Some("tcp"), Some("tcp"), Some("udp"), Some("icmp")]);
        let mut words = Vec::new();
        for _ in 0..self.rng.below(3) {
            let test = self.test(place);
            words.push(test);
        }
        if self.rng.one_in(2) {
            words.push("counter".into());
        }
        words.push(self.action(place, callable));
        let rule: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if rule.is_empty() { String::new() } else { format!("  {}\n", rule.join(" ")) }
    }

    fn test(&mut self, place: Place) -> String {
        let (ip, not, side) = (self.ip(), self.not(), self.side());
        let tracked = place != Place::Raw;
        let (transport, about) = (self.transport(), self.about);
        match self.rng.below(36) {
            0 => format!("{ip} {side} {not}{}", self.address()),
            1 => format!("{ip} {side} {not}{}", self.network()),
            2 => format!("{ip} {side} {not}@hosts"),
            3 => format!("{ip} {side} {not}@nets"),
            4 => transport.map_or(String::new(), |t| format!("{ip} {side} . {t} dport {not}@pairs")),
            5 if about.is_none() => format!("{ip} {side} . th dport {not}@ranges"),
            6 => format!("{ip} {side} @counted"),
            7 => format!("{ip} {side} @seen"),
            8 => {
                let (a, b) = (self.address(), self.address());
                format!("{ip} {side} {not}{{ {a}{} }}", self.more(a, b))
            }
            9 => {
                let port = self.port();
                transport.map_or(String::new(), |t| format!("{t} dport {not}{port}"))
            }
            10 => transport.map_or(String::new(), |t| format!("{t} sport {not}1024-65535")),
            11 if about.is_none() => format!("th dport {not}{}", self.port()),
            12 if about == Some("tcp") => format!(
                "tcp flags {}",
                self.rng.pick(&[
                    "syn",
                    "ack",
                    "syn,rst",
                    "!= syn",
                    "& (syn|ack) == syn",
                    "& (fin|rst) != 0x0",
                    "== ack"
                ])
            ),
            13 if about.is_none() => format!(
                "meta l4proto {not}{}",
                self.rng.pick(&["tcp", "udp", "{ tcp, udp }", "{ icmp, ipv6-icmp }"])
            ),
            14 => format!("meta length {}", self.rng.pick(&["< 60", "40-100", ">= 52", "!= 40"])),
            15 => format!(
                "meta mark {}",
                self.rng.pick(&["0x0", "!= 0x0", "& 0x3 == 0x1", "0x1-0x8", "{ 0x0, 0x2 }"])
            ),
            16 if tracked => format!(
                "ct state {}",
                self.rng.pick(&[
                    "new",
                    "established",
                    "established,related",
                    "invalid",
                    "!= new",
                    "new,untracked",
                    "{ new, established }"
                ])
            ),
            16 => "ct state invalid".into(),
            17 if tracked => format!("ct mark {}", self.rng.pick(&["0x0", "!= 0x0", "& 0x1 == 0x0"])),
            18 if tracked => format!("ct direction {}", self.rng.pick(&["original", "reply"])),
            19 if tracked => format!(
                "ct status {}",
                self.rng.pick(&["snat", "dnat", "seen-reply", "assured", "confirmed"])
            ),
            20 if tracked => format!("ct original {ip} {side} {not}{}", self.address()),
            21 if tracked => format!("ct reply {ip} {side} {not}{}", self.network()),
            22 => self.ttl(),
            23 => format!("{ip} dscp {not}{}", self.rng.pick(&["cs0", "ef", "cs1", "{ cs0, ef }"])),
            24 if about == Some("icmp") => self.icmp(),
            25 => format!(
                "iifname {not}{}",
                self.rng.pick(&["\"c0\"", "\"s0\"", "\"c*\"", "{ \"c0\", \"w0\" }"])
            ),
            26 => format!("oifname {not}{}", self.rng.pick(&["\"s0\"", "\"w0\"", "\"s*\""])),
            27 => format!(
                "fib {} type {not}{}",
                self.rng.pick::<&str>(&["saddr", "daddr"]),
                self.rng.pick(&["local", "unicast"])
            ),
            28 if matches!(place, Place::Prerouting | Place::Raw) => {
                format!("fib saddr . iif oif {}", self.rng.pick(&["exists", "missing"]))
            }
            29 if about == Some("tcp") => {
                format!("tcp option maxseg size {}", self.rng.pick(&["1460", "> 1000", "< 1000", "!= 1460"]))
            }
            30 => format!(
                "tcp option {} {}",
                self.rng.pick(&["maxseg", "window", "sack-perm"]),
                self.rng.pick(&["exists", "missing"])
            ),
            31 => {
                format!("jhash {ip} {side} mod 4 seed 0x{:x} {}", 1 + self.rng.below(200), self.rng.below(4))
            }
            32 => format!("numgen inc mod {} {}", 2 + self.rng.below(3), self.rng.below(2)),
            33 => format!(
                "limit rate {}1/day burst {} packets",
                if self.rng.one_in(2) { "over " } else { "" },
                1 + self.rng.below(4)
            ),
            34 => format!(
                "quota {}{} bytes",
                if self.rng.one_in(2) { "over " } else { "" },
                60 + self.rng.below(300)
            ),
            35 => self
                .rng
                .pick(&["limit name \"l0\"", "quota name \"q0\"", "counter name \"c0\"", "log prefix \"x \""])
                .to_string(),
            _ => String::new(),
        }
    }

    fn ttl(&mut self) -> String {
        let field = if self.family == Family::V4 { "ip ttl" } else { "ip6 hoplimit" };
        format!("{field} {}", self.rng.pick(&["64", "63", "< 5", "> 60", "!= 64"]))
    }

    fn icmp(&mut self) -> String {
        let proto = if self.family == Family::V4 { "icmp" } else { "icmpv6" };
        format!(
            "{proto} {}",
            self.rng.pick(&[
                "type echo-request",
                "type echo-reply",
                "type != echo-request",
                "type destination-unreachable",
                "type { echo-request, echo-reply }",
                "code 0"
            ])
        )
    }

    fn action(&mut self, place: Place, callable: &[&str]) -> String {
        let ip = self.ip();
        match place {
            Place::NatDestination => return self.destination(),
            Place::NatSource => return self.source(),
            Place::Raw if self.rng.one_in(3) => {
                return self
                    .rng
                    .pick(&["notrack", "ct zone set 1", "meta mark set 0x1", "return"])
                    .to_string();
            }
            _ => {}
        }
        let tracked = place != Place::Raw;
        match self.rng.below(22) {
            0 => "accept".into(),
            1 if self.rng.one_in(3) => "drop".into(),
            2 => "return".into(),
            3 | 4 if !callable.is_empty() => {
                format!("{} {}", self.rng.pick(&["jump", "goto"]), self.rng.pick(callable))
            }
            5 => format!("meta mark set 0x{:x}", self.rng.below(8)),
            6 => format!(
                "meta mark set meta mark {} 0x{:x}",
                self.rng.pick(&["|", "&", "^"]),
                1 + self.rng.below(7)
            ),
            7 if tracked => "ct mark set meta mark".into(),
            8 if tracked => "meta mark set ct mark".into(),
            9 if tracked => format!("ct mark set ct mark | 0x{:x}", 1 + self.rng.below(7)),
            10 => {
                let field = if self.family == Family::V4 { "ip ttl" } else { "ip6 hoplimit" };
                format!("{field} set {}", 2 + self.rng.below(60))
            }
            11 => format!("{ip} dscp set {}", self.rng.pick(&["cs0", "cs3", "ef"])),
            12 => format!("add @seen {{ {ip} saddr{} }}", self.rng.pick(&["", " counter"])),
            13 => format!(
                "update @limited {{ {ip} saddr limit rate over 1/day burst {} packets }} counter",
                1 + self.rng.below(3)
            ),
            14 => format!("delete @seen {{ {ip} saddr }}"),
            15 => format!("meta mark set {ip} saddr map @marks"),
            16 if matches!(place, Place::Input | Place::Forward | Place::Output) => self.vmap(callable),
            17 if matches!(place, Place::Input | Place::Forward | Place::Output) && self.rng.one_in(2) => {
                self.reject()
            }
            18 if self.about == Some("tcp") => "tcp option maxseg size set 900".into(),
            19 => "counter name \"c1\"".into(),
            // Behind a match of the protocol: there lies a checksum of ICMP, and of a timestamp reply it tells the time.
            20 if self.about != Some("icmp") => {
                let protocol = self.transport().unwrap_or("{ tcp, udp }");
                format!("meta l4proto {protocol} meta mark set jhash th sport . th dport mod 16 seed 0x5")
            }
            _ => String::new(),
        }
    }

    fn vmap(&mut self, callable: &[&str]) -> String {
        let jump = if callable.is_empty() { "accept".to_string() } else { format!("jump {}", callable[0]) };
        let port = self.port();
        match self.rng.below(4) {
            0 => match self.transport() {
                Some(transport) => format!("{transport} dport vmap @ports"),
                None => "accept".into(),
            },
            1 => format!("ct state vmap {{ new : {jump}, established : accept }}"),
            2 if self.about.is_none() => {
                format!("meta l4proto . th dport vmap {{ tcp . {port} : {jump}, udp . {port} : continue }}")
            }
            _ => format!("iifname vmap {{ \"c0\" : {jump}, \"s0\" : continue }}"),
        }
    }

    fn reject(&mut self) -> String {
        let kinds: &[&str] = match (self.inet, self.family) {
            (true, _) => &["", " with icmpx admin-prohibited", " with icmpx host-unreachable"],
            (false, Family::V4) => &["", " with icmp host-unreachable", " with icmp net-prohibited"],
            (false, Family::V6) => &["", " with icmpv6 no-route", " with icmpv6 admin-prohibited"],
        };
        if self.about == Some("tcp") && self.rng.one_in(3) {
            return "reject with tcp reset".into();
        }
        format!("reject{}", self.rng.pick(kinds))
    }

    fn destination(&mut self) -> String {
        let (to, other) =
            if self.family == Family::V4 { ("10.2.0.7", "10.2.0.8") } else { ("fd00:2::7", "fd00:2::8") };
        let ip = self.ip();
        let with = if self.inet { format!("dnat {ip} to") } else { "dnat to".into() };
        let bracket =
            |text: &str| if self.family == Family::V4 { text.to_string() } else { format!("[{text}]") };
        match self.rng.below(8) {
            0 | 1 => format!("{with} {to}"),
            2 if self.about == Some("tcp") => format!("tcp dport 80 {with} {}:8080", bracket(to)),
            3 if self.about == Some("udp") => format!("udp dport 53 {with} {}:5353", bracket(to)),
            4 => format!("{with} {to}-{other}"),
            5 => format!("{with} numgen inc mod 2 map {{ 0 : {to}, 1 : {other} }}"),
            6 if self.about == Some("tcp") => "tcp dport 80 redirect to :8080".into(),
            _ => "accept".into(),
        }
    }

    fn source(&mut self) -> String {
        let to = if self.family == Family::V4 { "10.2.0.1" } else { "fd00:2::1" };
        let ip = self.ip();
        let with = if self.inet { format!("snat {ip} to") } else { "snat to".into() };
        match self.rng.below(6) {
            0 | 1 => "masquerade".into(),
            2 | 3 => format!("{with} {to}"),
            4 if self.about == Some("tcp") => "tcp sport 1-65535 masquerade to :30000-31000".into(),
            _ => "accept".into(),
        }
    }
}
