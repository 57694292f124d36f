//! What of IPVS is exact, simplified, or not emulated: rows for `FIDELITY.md` and the app.

use super::sched::SPECS;

/// How faithful a part is, and by what evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Agrees with Linux 6.12 and 6.1 as asked in a virtual machine.
    Asked,
    /// Sequences derived by hand from the kernel's rules; a kernel cannot be asked or was not.
    HandDerived,
    Simplified(&'static str),
    NotEmulated(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub what: &'static str,
    pub standing: Standing,
}

/// Parts that the registry of schedulers does not list.
const PARTS: &[Row] = &[
    row("the command `ipvsadm`: options, errors, listings, `-S` and `-R`", Standing::Asked),
    row("services by address (TCP, UDP) and by mark, IPv4 and IPv6", Standing::Asked),
    row("services of any port, SCTP services", Standing::HandDerived),
    row("destinations: weight 0, upper threshold", Standing::Asked),
    row("destinations: lower threshold, removal and return", Standing::HandDerived),
    row(
        "TCP and UDP states and timeouts, active and inactive counts, one-packet scheduling",
        Standing::Asked,
    ),
    row("SCTP states and timeouts", Standing::HandDerived),
    row("persistence: templates, netmask", Standing::Asked),
    row(
        "persistence: templates that outlive their timeout, expire_quiescent_template",
        Standing::HandDerived,
    ),
    row("conntrack, conn_reuse_mode 0 and 1, sloppy_tcp, nat_icmp_send", Standing::Asked),
    row("conn_reuse_mode 2, expire_nodest_conn, drop_packet, sloppy_sctp", Standing::HandDerived),
    row(
        "masquerading through the packet path, servers and clients on the node, ICMP errors",
        Standing::Asked,
    ),
    row("direct routing: the next hop", Standing::Asked),
    row(
        "tunnels",
        Standing::Simplified(
            "IPIP, and GRE without checksum; GUE and GRE with checksums are refused by name",
        ),
    ),
    row("timers", Standing::Simplified("to the nanosecond, where the kernel counts ticks of 4 ms")),
    row("counters and rates", Standing::Simplified("all are looked at on even seconds")),
    row(
        "order of `-Lc` and of `--nosort`",
        Standing::Simplified("the order of making; the kernel's is that of a random hash"),
    ),
    row("fragments where nothing tracks connections", Standing::NotEmulated("they pass IPVS by")),
    row("FTP helper, SIP persistence engine", Standing::NotEmulated("payloads are not read")),
    row("connection synchronisation (master, backup)", Standing::NotEmulated("one node has no peer")),
    row(
        "drop_entry, secure_tcp, schedule_icmp, cache_bypass",
        Standing::NotEmulated("setting them is refused"),
    ),
    row("AH and ESP", Standing::NotEmulated("they are never scheduled and pass")),
];

const fn row(what: &'static str, standing: Standing) -> Row {
    Row { what, standing }
}

/// Schedulers by name with what stands behind them, then the other parts.
pub fn rows() -> Vec<Row> {
    let schedulers = SPECS.iter().map(|spec| {
        let standing = match spec.name {
            "twos" => Standing::Simplified("the kernel's draws cannot be foreseen: they come from the seed"),
            "lblc" | "lblcr" => Standing::Simplified(
                "a table of more than 16,384 entries is not shrunk before a day has passed",
            ),
            _ => Standing::Asked,
        };
        Row { what: spec.name, standing }
    });
    schedulers.chain(PARTS.iter().copied()).collect()
}
