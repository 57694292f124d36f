//! `nft list` without what only chance decides: the order of hashed elements, the time that elements have left.

/// The listing's lines; each set's elements sorted, one a line, without what is left of their time.
pub(super) fn normal(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        let Some((head, first)) = line.split_once("elements = {") else {
            out.push(line.to_string());
            continue;
        };
        let mut block = first.to_string();
        while !block.trim_end().ends_with('}') {
            let Some(next) = lines.next() else { break };
            block.push(' ');
            block += next.trim();
        }
        let block = block.trim().trim_end_matches('}').trim();
        let mut elements: Vec<String> = block.split(',').map(|element| lasting(element.trim())).collect();
        elements.sort();
        out.push(format!("{head}elements = {{"));
        out.extend(elements.into_iter().map(|element| format!("{head}\t{element}")));
    }
    out
}

/// An element without `expires 59s980ms`.
fn lasting(element: &str) -> String {
    let mut words = element.split_whitespace();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "expires" {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn elements_are_sorted_and_do_not_tell_the_time() {
        let text = "\tset s {\n\t\telements = { 10.1.0.3 expires 5s,\n\t\t\t     10.1.0.2 timeout 3s expires 2s }\n\t}\n";
        let wanted = ["\tset s {", "\t\telements = {", "\t\t\t10.1.0.2 timeout 3s", "\t\t\t10.1.0.3", "\t}"];
        assert_eq!(normal(text), wanted);
    }
}
