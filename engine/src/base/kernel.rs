//! The kernel version a node imitates, as the replay contract names it.

use std::fmt;
use std::str::FromStr;

/// Kernels whose differences the engine knows. Ordered: a later release compares greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelVersion {
    V5_10,
    V6_1,
    V6_12,
    /// The judge of the conformance tests, and the default.
    #[default]
    V6_18,
    V7_2,
}

impl KernelVersion {
    pub const ALL: [Self; 5] = [Self::V5_10, Self::V6_1, Self::V6_12, Self::V6_18, Self::V7_2];

    pub const fn name(self) -> &'static str {
        match self {
            Self::V5_10 => "5.10",
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
            Self::V6_18 => "6.18",
            Self::V7_2 => "7.2",
        }
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for KernelVersion {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|v| v.name() == text)
            .ok_or_else(|| format!("kernel version {text:?} is not one of 5.10, 6.1, 6.12, 6.18, 7.2"))
    }
}
