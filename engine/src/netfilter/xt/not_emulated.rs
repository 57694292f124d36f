//! What iptables has and the engine does not: kept verbatim, printed back, named wherever it matters.

/// A match or target that is not emulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEmulated {
    /// As after `-m` or `-j`.
    pub name: Box<str>,
    /// Its options as they were written, quoting kept, without the leading space.
    pub text: Box<str>,
}

impl NotEmulated {
    pub fn save(&self, out: &mut String) {
        if !self.text.is_empty() {
            out.push(' ');
            out.push_str(&self.text);
        }
    }
}
