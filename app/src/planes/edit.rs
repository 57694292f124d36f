//! Edits of manifests by form: lines are changed in place, so that comments, order and unknown fields stay.
//!
//! Owns the block style that `kubectl get -o yaml` prints and people write. A document in flow style is left to the
//! text field, and the edit says so. In the engine's worker only.

use chainwalk_engine::cluster::manifest::{self, Objects};
use chainwalk_engine::cluster::objects::SERVICE_NAME_LABEL;

use super::ask::Edit;

/// First node port that the form gives; the API server's range is 30000 to 32767.
const NODE_PORT_FIRST: u16 = 30_080;

/// Makes the edit in `text`.
///
/// # Errors
/// A sentence that says why the form cannot make it.
pub(super) fn apply(text: &str, edit: &Edit) -> Result<String, String> {
    let mut documents: Vec<Vec<String>> = split(text);
    match edit {
        Edit::Set { service, field, value } => {
            let at = find(&documents, |objects| is_service(objects, service))
                .ok_or_else(|| no_document("Service", service))?;
            set(&mut documents[at], "spec", field, value)?;
            if field == "type" && matches!(value.as_str(), "NodePort" | "LoadBalancer") {
                give_node_port(&mut documents[at], text);
            }
        }
        Edit::AddEndpoint { service, node } => {
            let at = slice_of(&documents, service)?;
            let address = free_address(text, node, &nodes(text));
            add_endpoint(&mut documents[at], &address, node)?;
        }
        Edit::RemoveEndpoint { service, address } => {
            let (at, item) = endpoint(&documents, service, address)?;
            documents[at].drain(item);
            let left = documents[at].iter().position(|line| line.trim_end() == "endpoints:");
            // A key without a value would read as null, which no list is.
            if let Some(key) = left
                && !documents[at].get(key + 1).is_some_and(|line| line.trim_start().starts_with('-'))
            {
                "endpoints: []".clone_into(&mut documents[at][key]);
            }
        }
        Edit::Ready { service, address, ready } => {
            let (at, item) = endpoint(&documents, service, address)?;
            set_ready(&mut documents[at], item, *ready);
        }
    }
    Ok(join(&documents))
}

fn split(text: &str) -> Vec<Vec<String>> {
    let mut documents = vec![Vec::new()];
    for line in text.lines() {
        if line.trim_end() == "---" {
            documents.push(Vec::new());
        } else if let Some(last) = documents.last_mut() {
            last.push(line.to_owned());
        }
    }
    documents
}

fn join(documents: &[Vec<String>]) -> String {
    let texts: Vec<String> =
        documents.iter().map(|lines| lines.iter().map(|line| format!("{line}\n")).collect()).collect();
    texts.join("---\n")
}

fn find(documents: &[Vec<String>], wanted: impl Fn(&Objects) -> bool) -> Option<usize> {
    documents
        .iter()
        .position(|lines| manifest::parse(&lines.join("\n")).is_ok_and(|objects| wanted(&objects)))
}

fn is_service(objects: &Objects, service: &str) -> bool {
    matches!(&objects.services[..], [only] if format!("{}/{}", only.metadata.namespace, only.metadata.name) == service)
}

fn slices<'a>(documents: &'a [Vec<String>], service: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_its = move |lines: &Vec<String>| {
        manifest::parse(&lines.join("\n")).is_ok_and(|objects| {
            matches!(&objects.slices[..], [only] if only.metadata.labels.get(SERVICE_NAME_LABEL)
                .is_some_and(|name| format!("{}/{name}", only.metadata.namespace) == service))
        })
    };
    documents.iter().enumerate().filter(move |(_, lines)| is_its(lines)).map(|(at, _)| at)
}

fn slice_of(documents: &[Vec<String>], service: &str) -> Result<usize, String> {
    slices(documents, service).next().ok_or_else(|| no_document("EndpointSlice", service))
}

fn no_document(kind: &str, service: &str) -> String {
    format!("The text has no {kind} of {service} in a document of its own: edit it as text.")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Sets `key` in the block `parent` at the left margin.
fn set(lines: &mut Vec<String>, parent: &str, key: &str, value: &str) -> Result<(), String> {
    let head = format!("{parent}:");
    let Some(at) = lines.iter().position(|line| line.trim_end() == head) else {
        return Err(format!("The document has no line \"{head}\": it is in flow style, edit it as text."));
    };
    let inside = lines[at + 1..]
        .iter()
        .take_while(|line| line.trim().is_empty() || line.starts_with([' ', '#', '-']))
        .count();
    let margin = lines.get(at + 1).map_or(2, |line| indent(line).max(1));
    let line = format!("{}{key}: {value}", " ".repeat(margin));
    let prefix = format!("{key}:");
    let old = (at + 1..=at + inside)
        .find(|&n| indent(&lines[n]) == margin && lines[n].trim_start().starts_with(&prefix));
    match old {
        Some(old) => lines[old] = line,
        None => lines.insert(at + 1, line),
    }
    Ok(())
}

/// Gives each port without one a node port that the text does not use.
fn give_node_port(lines: &mut Vec<String>, text: &str) {
    if lines.iter().any(|line| line.contains("nodePort:")) {
        return;
    }
    let mut next = NODE_PORT_FIRST;
    let mut at = 0;
    while at < lines.len() {
        let (line, margin) = (lines[at].trim_start().trim_start_matches("- ").to_owned(), indent(&lines[at]));
        if line.starts_with("port:") {
            while text.contains(&next.to_string()) {
                next += 1;
            }
            let margin = if lines[at].trim_start().starts_with("- ") { margin + 2 } else { margin };
            lines.insert(at + 1, format!("{}nodePort: {next}", " ".repeat(margin)));
            next += 1;
        }
        at += 1;
    }
}

/// Lines of the item of `endpoints` that holds `address`, and the document they are in.
fn endpoint(
    documents: &[Vec<String>],
    service: &str,
    address: &str,
) -> Result<(usize, std::ops::Range<usize>), String> {
    for at in slices(documents, service) {
        let lines = &documents[at];
        let Some(head) = lines.iter().position(|line| line.trim_end() == "endpoints:") else { continue };
        let Some(margin) = lines.get(head + 1).map(|line| indent(line)) else { continue };
        let is_item = |line: &String| indent(line) == margin && line.trim_start().starts_with('-');
        let mut from = head + 1;
        while from < lines.len() && is_item(&lines[from]) {
            let len = 1 + lines[from + 1..]
                .iter()
                .take_while(|line| indent(line) > margin || line.trim().is_empty())
                .count();
            let words = lines[from..from + len]
                .iter()
                .flat_map(|line| line.split(['[', ']', ',', ' ', '"', '\'', '{', '}']));
            if words.into_iter().any(|word| word == address) {
                return Ok((at, from..from + len));
            }
            from += len;
        }
    }
    Err(format!("{address} is not on a line of its own under \"endpoints:\": edit it as text."))
}

fn add_endpoint(lines: &mut Vec<String>, address: &str, node: &str) -> Result<(), String> {
    let Some(head) =
        lines.iter().position(|line| line.trim_end() == "endpoints:" || line.trim_end() == "endpoints: []")
    else {
        return Err("The EndpointSlice has no line \"endpoints:\": edit it as text.".to_owned());
    };
    "endpoints:".clone_into(&mut lines[head]);
    let margin =
        lines.get(head + 1).filter(|line| line.trim_start().starts_with('-')).map_or(2, |line| indent(line));
    let len = lines[head + 1..].iter().take_while(|line| indent(line) > 0 || line.starts_with('-')).count();
    let space = " ".repeat(margin);
    let item = [format!("{space}- addresses: ['{address}']"), format!("{space}  nodeName: {node}")];
    let at = head + 1 + len;
    lines.splice(at..at, item.map(|line| line.replace(['\''], if address.contains(':') { "'" } else { "" })));
    Ok(())
}

fn set_ready(lines: &mut Vec<String>, item: std::ops::Range<usize>, ready: bool) {
    let margin = indent(&lines[item.start]) + 2;
    let line = format!("{}conditions: {{ready: {ready}}}", " ".repeat(margin));
    match item.clone().find(|&at| lines[at].trim_start().starts_with("conditions:")) {
        Some(old) => {
            let nested = lines[old + 1..item.end].iter().take_while(|line| indent(line) > margin).count();
            lines.splice(old..=old + nested, (!ready).then_some(line));
        }
        None if !ready => lines.insert(item.end, line),
        None => {}
    }
}

fn nodes(text: &str) -> Vec<String> {
    let objects = manifest::parse(text).unwrap_or_default();
    objects.nodes.into_iter().map(|node| node.metadata.name).collect()
}

/// A pod address of the node's range that the text does not use.
fn free_address(text: &str, node: &str, nodes: &[String]) -> String {
    let third = nodes.iter().position(|name| name == node).unwrap_or(nodes.len()) + 1;
    let used =
        |address: &String| text.contains(&format!("{address}]")) || text.contains(&format!("{address}\n"));
    let mut hosts = (20..250).map(|host| format!("10.244.{third}.{host}"));
    hosts.find(|address| !used(address)).unwrap_or_else(|| format!("10.244.{third}.250"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planes::samples;

    const SERVICE: &str = "shop/web";

    fn edited(text: &str, edit: Edit) -> (String, Objects) {
        let text = apply(text, &edit).expect("the sample is in block style");
        let objects = manifest::parse(&text).expect("an edit leaves a manifest");
        (text, objects)
    }

    #[test]
    fn edits_change_their_lines_and_no_others() {
        for number in 0..samples::NAMES.len() {
            let text = samples::state(number).text;
            let service = || SERVICE.to_owned();
            let set = |field: &str, value: &str| Edit::Set {
                service: service(),
                field: field.to_owned(),
                value: value.to_owned(),
            };
            let (typed, objects) = edited(&text, set("type", "NodePort"));
            assert_ne!(objects.services[0].spec.ports[0].node_port, 0);
            let (back, _) = edited(&typed, set("type", "ClusterIP"));
            assert!(back.lines().count() >= text.lines().count());
            let (_, objects) = edited(&text, set("sessionAffinity", "ClientIP"));
            assert_eq!(format!("{:?}", objects.services[0].spec.session_affinity), "ClientIP");

            let before = manifest::parse(&text).expect("a sample").slices[0].endpoints.len();
            let (added, objects) =
                edited(&text, Edit::AddEndpoint { service: service(), node: "node-b".to_owned() });
            assert_eq!(objects.slices[0].endpoints.len(), before + 1);
            let address = objects.slices[0].endpoints[before].addresses[0].clone();
            let unready = Edit::Ready { service: service(), address: address.clone(), ready: false };
            let (unready, objects) = edited(&added, unready);
            assert_eq!(objects.slices[0].endpoints[before].conditions.ready, Some(false));
            let (ready, _) =
                edited(&unready, Edit::Ready { service: service(), address: address.clone(), ready: true });
            assert_eq!(ready, added);
            let (removed, _) = edited(&ready, Edit::RemoveEndpoint { service: service(), address });
            assert_eq!(removed, text);
        }
    }

    #[test]
    fn the_last_endpoint_leaves_an_empty_list() {
        let mut text = samples::state(0).text;
        for address in ["10.244.1.10", "10.244.2.7", "10.244.2.9"] {
            text = edited(
                &text,
                Edit::RemoveEndpoint { service: SERVICE.to_owned(), address: address.to_owned() },
            )
            .0;
        }
        assert!(text.ends_with("endpoints: []\n"), "{text}");
        edited(&text, Edit::AddEndpoint { service: SERVICE.to_owned(), node: "node-a".to_owned() });
    }

    #[test]
    fn what_the_form_cannot_edit_is_said() {
        let flow = "{kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.96.0.1}}\n";
        let set =
            Edit::Set { service: SERVICE.to_owned(), field: "type".to_owned(), value: "NodePort".to_owned() };
        assert!(apply(flow, &set).is_err_and(|why| why.contains("edit it as text")));
        assert!(apply("", &set).is_err());
    }
}
