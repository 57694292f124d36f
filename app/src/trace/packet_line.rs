//! The packet as fields and as one line, kept in step.
//!
//! Owns: which word of the line stands in which field. Does NOT own what the words mean: the engine reads the
//! line (`chainwalk_engine::replay::line`) and says what is wrong with it. So nothing that was typed is lost:
//! whatever is no field goes to `rest`.

/// The words of a packet line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PacketFields {
    pub(super) proto: String,
    pub(super) src: String,
    pub(super) sport: String,
    pub(super) dst: String,
    pub(super) dport: String,
    /// Device, or `local` for a packet that a process on the node sends.
    pub(super) in_dev: String,
    /// Everything else: `flags SA`, `mark 0x1`, ...
    pub(super) rest: String,
}

impl PacketFields {
    /// Sorts the words of `line` into fields.
    pub(super) fn split(line: &str) -> Self {
        let mut fields = Self::default();
        let mut words = line.split_whitespace().peekable();
        if words.peek().is_some_and(|word| *word != ">") {
            fields.proto = words.next().unwrap_or_default().to_owned();
        }
        if words.peek().is_some_and(|word| *word != ">") {
            (fields.src, fields.sport) = split_end_point(words.next().unwrap_or_default());
        }
        if words.peek() == Some(&">") {
            words.next();
            (fields.dst, fields.dport) = split_end_point(words.next().unwrap_or_default());
        }
        let mut rest = Vec::new();
        while let Some(word) = words.next() {
            match word {
                "in" => words.next().unwrap_or_default().clone_into(&mut fields.in_dev),
                word => rest.push(word),
            }
        }
        fields.rest = rest.join(" ");
        fields
    }

    /// The line that `split` reads back.
    pub(super) fn join(&self) -> String {
        let mut words = Vec::new();
        let mut push = |word: &str| {
            if !word.is_empty() {
                words.push(word.to_owned());
            }
        };
        push(&self.proto);
        push(&join_end_point(&self.src, &self.sport));
        let to = join_end_point(&self.dst, &self.dport);
        if !to.is_empty() {
            push(">");
            push(&to);
        }
        if !self.in_dev.is_empty() {
            push("in");
            push(&self.in_dev);
        }
        push(&self.rest);
        words.join(" ")
    }

    /// True for protocols that have ports.
    pub(super) fn has_ports(&self) -> bool {
        matches!(self.proto.as_str(), "tcp" | "udp" | "sctp" | "")
    }
}

/// `10.0.0.1:80`, `[fd00::1]:80`, `10.0.0.1`, `fd00::1`.
fn split_end_point(word: &str) -> (String, String) {
    if let Some((address, rest)) = word.strip_prefix('[').and_then(|word| word.split_once(']')) {
        return (address.to_owned(), rest.strip_prefix(':').unwrap_or(rest).to_owned());
    }
    match word.split_once(':') {
        Some((address, port)) if !port.contains(':') => (address.to_owned(), port.to_owned()),
        _ => (word.to_owned(), String::new()),
    }
}

fn join_end_point(address: &str, port: &str) -> String {
    match (address.contains(':'), port.is_empty()) {
        (_, true) => address.to_owned(),
        (true, false) => format!("[{address}]:{port}"),
        (false, false) => format!("{address}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::PacketFields;

    #[test]
    fn lines_survive_their_fields() {
        for line in [
            "tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0",
            "udp [fd00::2]:5353 > [fd00::1]:53 in eth0",
            "icmp 10.1.0.2 > 10.96.0.1 in eth0 type 8",
            "tcp 10.1.0.2:40000 > 10.96.0.1:80 in local flags SA mark 0x4000",
            "tcp",
            "",
            "tcp fd00::2 > fd00::1",
        ] {
            assert_eq!(PacketFields::split(line).join(), line);
        }
    }

    #[test]
    fn fields_hold_what_the_line_says_even_when_it_is_wrong() {
        let fields = PacketFields::split("tcp 10.1.0.2222:40000 > 10.96.0.1:70000 in eth0");
        assert_eq!((fields.src.as_str(), fields.dport.as_str()), ("10.1.0.2222", "70000"));
        assert_eq!(fields.in_dev, "eth0");
    }
}
