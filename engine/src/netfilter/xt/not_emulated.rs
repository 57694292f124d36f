//! What iptables has and the engine does not: kept verbatim, printed back, named wherever it matters.

use super::ext::{Parsed, save_string};

/// A match or target that is not emulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEmulated {
    /// As after `-m` or `-j`.
    pub name: Box<str>,
    /// Its options as they were written, quoting kept, without the leading space.
    pub text: Box<str>,
}

impl NotEmulated {
    /// An extension with an option that is not emulated, its options spelled canonically.
    pub fn of(name: &str, args: &Parsed<'_>) -> Self {
        let mut text = String::new();
        for opt in &args.opts {
            text.push_str(if opt.inverted { " ! " } else { " " });
            text.push_str(opt.name);
            for value in &opt.values {
                text.push(' ');
                if value.is_empty() || value.contains([' ', '\t', '"', '\'', '\\']) {
                    save_string(&mut text, value);
                } else {
                    text.push_str(value);
                }
            }
        }
        Self { name: name.into(), text: text.trim_start().into() }
    }

    pub fn save(&self, out: &mut String) {
        if !self.text.is_empty() {
            out.push(' ');
            out.push_str(&self.text);
        }
    }
}
