//! [`Stats`]: the counters of `conntrack -S`, with what each really counts.

/// Counters of one namespace, summed over its CPUs (`struct ip_conntrack_stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// NAT asked whether a reply tuple is taken, and it was.
    pub found: u64,
    /// No tuple could be built, or the tracker called the packet invalid. Not for packets it ignores.
    pub invalid: u64,
    /// Entries made from user space; ordinary traffic never counts here.
    pub insert: u64,
    /// Confirm could not hash the entry: a tuple was taken, the chain too long, or the entry dying.
    pub insert_failed: u64,
    /// Packets that conntrack itself dropped: table full, a clash lost, the tracker said drop.
    pub drop: u64,
    /// Entries evicted to make room in a full table.
    pub early_drop: u64,
    /// ICMP errors that belong to no known connection, or are malformed.
    pub error: u64,
    /// Lookups started over because the table moved beneath them: one CPU never sees that.
    pub search_restart: u64,
    /// Clashes at confirm that were settled without loss.
    pub clash_resolve: u64,
    /// Chains longer than the random limit in 50..79, at confirm.
    pub chaintoolong: u64,
}

impl Stats {
    /// Name and value in the order of `conntrack -S`.
    pub const fn fields(&self) -> [(&'static str, u64); 10] {
        [
            ("found", self.found),
            ("invalid", self.invalid),
            ("insert", self.insert),
            ("insert_failed", self.insert_failed),
            ("drop", self.drop),
            ("early_drop", self.early_drop),
            ("error", self.error),
            ("search_restart", self.search_restart),
            ("clash_resolve", self.clash_resolve),
            ("chaintoolong", self.chaintoolong),
        ]
    }
}
