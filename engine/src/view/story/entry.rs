//! A line of `conntrack -L` as an [`EntryView`].

use crate::view::packet::{EntryView, end_point};

/// Reads the line that the engine prints. `confirmed` is not in the line.
pub fn entry_view(line: &str, confirmed: bool) -> EntryView {
    let mut view = EntryView { line: line.to_owned(), confirmed, ..EntryView::default() };
    let mut tuples = [Tuple::default(), Tuple::default()];
    let mut which = 0;
    for (at, word) in line.split_whitespace().enumerate() {
        if let Some(flag) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
            view.flags.push(flag.to_owned());
            continue;
        }
        match (at, word.split_once('=')) {
            (0, _) => word.clone_into(&mut view.proto),
            // The protocol's number.
            (1, _) => {}
            (_, None) => match word.parse() {
                Ok(seconds) => view.timeout_s = seconds,
                Err(_) => word.clone_into(&mut view.state),
            },
            (_, Some((key, value))) => {
                if key == "src" && !tuples[which].src.is_empty() {
                    which = 1;
                }
                tuples[which].set(key, value);
            }
        }
    }
    [view.original, view.reply] = tuples.map(Tuple::text);
    view
}

#[derive(Default)]
struct Tuple {
    src: String,
    dst: String,
    sport: Option<u16>,
    dport: Option<u16>,
    id: Option<String>,
}

impl Tuple {
    fn set(&mut self, key: &str, value: &str) {
        match key {
            "src" => value.clone_into(&mut self.src),
            "dst" => value.clone_into(&mut self.dst),
            "sport" => self.sport = value.parse().ok(),
            "dport" => self.dport = value.parse().ok(),
            "id" => self.id = Some(value.to_owned()),
            // Counters, marks, zones: in the line, not in the tuple.
            _ => {}
        }
    }

    fn text(self) -> String {
        if self.src.is_empty() {
            return String::new();
        }
        let id = self.id.map(|id| format!(" id {id}")).unwrap_or_default();
        format!("{} → {}{id}", end_point(&self.src, self.sport), end_point(&self.dst, self.dport))
    }
}

#[cfg(test)]
mod tests {
    use super::entry_view;

    #[test]
    fn the_columns_of_conntrack_are_read() {
        let line = "tcp      6 116 SYN_SENT src=10.1.0.2 dst=10.96.0.1 sport=40000 dport=80 [UNREPLIED] \
                    src=10.2.0.2 dst=10.1.0.2 sport=8080 dport=40000 mark=0 use=1";
        let view = entry_view(line, true);
        assert_eq!((view.proto.as_str(), view.state.as_str(), view.timeout_s), ("tcp", "SYN_SENT", 116));
        assert_eq!(view.original, "10.1.0.2:40000 → 10.96.0.1:80");
        assert_eq!(view.reply, "10.2.0.2:8080 → 10.1.0.2:40000");
        assert_eq!(view.flags, ["UNREPLIED"]);
    }

    #[test]
    fn protocols_without_ports_or_states_are_read() {
        let line = "icmpv6   58 29 src=fd00::1 dst=fd00::2 type=128 code=0 id=7 src=fd00::2 dst=fd00::1 type=129 code=0 id=7 use=1";
        let view = entry_view(line, false);
        assert_eq!((view.state.as_str(), view.timeout_s), ("", 29));
        assert_eq!(view.original, "fd00::1 → fd00::2 id 7");
    }
}
