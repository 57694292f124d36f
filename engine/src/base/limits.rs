//! Every cap of the engine, with its reason.

/// Longest ruleset text read, in bytes. A 210,000-rule kube-proxy dump is about 40 MB.
pub const RULESET_BYTES_MAX: usize = 64 << 20;

/// Deepest chain of jumps. iptables-legacy sizes its stack by the number of user chains; the engine needs some
/// bound against a ruleset edited into nonsense, and real ones stay below 20.
pub const JUMP_DEPTH_MAX: usize = 4096;

/// Rules one packet may evaluate in one table before the engine gives up on it. A loop cannot be loaded, so
/// only exponential jump graphs reach this.
pub const RULES_PER_WALK_MAX: u64 = 50_000_000;

/// Times one packet may cross the node's own stack again (loopback, re-route) before it counts as a loop.
pub const PASSES_PER_PACKET_MAX: u32 = 16;

/// Longest comment of iptables (`XT_MAX_COMMENT_LEN` less the terminator).
pub const COMMENT_LEN_MAX: usize = 255;

/// Longest chain name that iptables-legacy accepts (`XT_EXTENSION_MAXNAMELEN` 29 less the terminator).
pub const CHAIN_NAME_LEN_MAX: usize = 28;

/// Worlds explored when parts that are not emulated leave a packet's fate open.
pub const WORLDS_MAX: usize = 16;

/// Messages about one text. A reader who sees this many looks at the first ones.
pub const DIAGS_MAX: usize = 200;

/// Longest manifest text read, in bytes. 5,000 Services with 100,000 endpoints are about 20 MB of YAML.
pub const MANIFEST_BYTES_MAX: usize = 32 << 20;
