//! Reads manifests: YAML documents, JSON, and the lists that `kubectl get -o yaml` prints.
//!
//! Where a Service comes with Pods and without EndpointSlices, those are made as the cluster would make them
//! (`slices.rs`). Kinds other than those below are named in a note and left out; unknown fields are tolerated, as the API
//! server's clients do; wrong ones are reported with line and column.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Error;

use super::configuration::KubeProxyConfiguration;
use super::objects::{
    AddressType, Container, EndpointPort, EndpointSlice, EndpointSpec, Metadata, Node, NodeSpec, NodeStatus,
    Pod, PodSpec, PodStatus, Service, ServiceSpec, ServiceStatus,
};
use super::slices;
use crate::base::limits::MANIFEST_BYTES_MAX;

/// The objects of a text, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    pub services: Vec<Service>,
    pub slices: Vec<EndpointSlice>,
    pub nodes: Vec<Node>,
    pub pods: Vec<Pod>,
    /// Services whose EndpointSlices were made from Pods, as `namespace/name`.
    pub made_for: Vec<String>,
    /// The last one, if there are several.
    pub configuration: Option<KubeProxyConfiguration>,
    /// Kinds left out, each once.
    pub ignored: Vec<String>,
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// From 1.
    pub line: u64,
    /// From 1.
    pub column: u64,
    pub message: String,
}

/// Reads every document of `text`. The first mistake ends it: half a cluster would mislead.
pub fn parse(text: &str) -> Result<Objects, ManifestError> {
    parse_all([text]).map_err(|(_, error)| error)
}

/// Reads several texts as one. A mistake comes with the number of its text, from 0.
pub fn parse_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Objects, (usize, ManifestError)> {
    let mut objects = Objects::default();
    for (number, text) in texts.into_iter().enumerate() {
        objects.append(written(text).map_err(|error| (number, error))?);
    }
    slices::make(&mut objects);
    Ok(objects)
}

/// The objects that are written there.
fn written(text: &str) -> Result<Objects, ManifestError> {
    if text.len() > MANIFEST_BYTES_MAX {
        let message = format!("the text has {} bytes; the limit is {MANIFEST_BYTES_MAX}", text.len());
        return Err(ManifestError { line: 1, column: 1, message });
    }
    let mut objects = Objects::default();
    for (first_line, document) in documents(text) {
        let wrong = |error: Error| located(&error, first_line);
        let Some(sniffed) = serde_saphyr::from_str::<Option<Sniff>>(document).map_err(wrong)? else {
            continue;
        };
        match sniffed.kind.as_deref() {
            None => {
                let message = "no `kind`: not a Kubernetes object".to_owned();
                return Err(ManifestError { line: first_line, column: 1, message });
            }
            Some(kind) if kind.ends_with("List") => {
                let list: List = serde_saphyr::from_str(document).map_err(wrong)?;
                let hosts = matches!(kind, "NodeList" | "PodList")
                    || list.items.iter().any(|item| matches!(&*item.kind, "Node" | "Pod"));
                let hosts: HostList = if hosts {
                    serde_saphyr::from_str(document).map_err(wrong)?
                } else {
                    HostList::default()
                };
                let mut hosts = hosts.items.into_iter();
                for item in list.items {
                    let host = hosts.next();
                    // Items of a typed list may leave out their kind.
                    let kind = match &item.kind[..] {
                        "" => kind.trim_end_matches("List").to_owned(),
                        own => own.to_owned(),
                    };
                    objects.add(&kind, item, host);
                }
            }
            Some(kind @ ("Service" | "EndpointSlice" | "Node" | "Pod")) => {
                let item = serde_saphyr::from_str(document).map_err(wrong)?;
                let host: Option<Host> = match kind {
                    "Node" | "Pod" => Some(serde_saphyr::from_str(document).map_err(wrong)?),
                    _ => None,
                };
                objects.add(kind, item, host);
            }
            Some("KubeProxyConfiguration") => {
                objects.configuration = Some(serde_saphyr::from_str(document).map_err(wrong)?);
            }
            Some(kind) => objects.ignore(kind),
        }
    }
    Ok(objects)
}

/// Reads a text again and again, as a person edits it: only documents that changed are parsed anew.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// What each document of the last text said.
    known: BTreeMap<String, Objects>,
}

impl Reader {
    /// As [`parse`].
    ///
    /// # Errors
    /// The first mistake, with its place in the whole text.
    pub fn read(&mut self, text: &str) -> Result<Objects, ManifestError> {
        if text.len() > MANIFEST_BYTES_MAX {
            return parse(text);
        }
        let mut known = BTreeMap::new();
        let mut all = Objects::default();
        for (first_line, document) in documents(text) {
            let read = match self.known.get(document) {
                Some(objects) => objects.clone(),
                None => written(document)
                    .map_err(|error| ManifestError { line: error.line + first_line - 1, ..error })?,
            };
            all.append(read.clone());
            known.insert(document.to_owned(), read);
        }
        self.known = known;
        slices::make(&mut all);
        Ok(all)
    }
}

impl Objects {
    fn append(&mut self, mut more: Self) {
        self.services.append(&mut more.services);
        self.slices.append(&mut more.slices);
        self.nodes.append(&mut more.nodes);
        self.pods.append(&mut more.pods);
        self.configuration = more.configuration.or(self.configuration.take());
        more.ignored.iter().for_each(|kind| self.ignore(kind));
    }

    fn add(&mut self, kind: &str, item: Item, host: Option<Host>) {
        let host = host.unwrap_or_default();
        let mut metadata = item.metadata;
        if metadata.namespace.is_empty() && kind != "Node" {
            "default".clone_into(&mut metadata.namespace);
        }
        match kind {
            "Service" => {
                self.services.push(Service { metadata, spec: item.spec, status: item.status.service })
            }
            "EndpointSlice" => self.slices.push(EndpointSlice {
                metadata,
                address_type: item.address_type,
                ports: item.ports,
                endpoints: item.endpoints,
            }),
            "Node" => {
                let spec = NodeSpec { pod_cidrs: host.spec.pod_cidrs };
                self.nodes.push(Node { metadata, spec, status: item.status.node });
            }
            "Pod" => self.pods.push(Pod {
                metadata,
                deletion_timestamp: host.metadata.deletion_timestamp,
                spec: PodSpec { node_name: host.spec.node_name, containers: host.spec.containers },
                status: host.status,
            }),
            other => self.ignore(other),
        }
    }

    fn ignore(&mut self, kind: &str) {
        if !self.ignored.iter().any(|known| known == kind) {
            self.ignored.push(kind.to_owned());
        }
    }
}

/// The documents of a stream, each with the number of its first line.
fn documents(text: &str) -> Vec<(u64, &str)> {
    let mut found = Vec::new();
    let (mut start, mut first_line) = (0, 1);
    let mut offset = 0;
    for (number, line) in (1_u64..).zip(text.split_inclusive('\n')) {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            found.push((first_line, &text[start..offset]));
            (start, first_line) = (offset + line.len(), number + 1);
        }
        offset += line.len();
    }
    found.push((first_line, &text[start..]));
    found.retain(|(_, document)| !document.trim().is_empty());
    found
}

fn located(error: &Error, first_line: u64) -> ManifestError {
    let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
    let text = error.to_string();
    // The library draws the place below its message; the page and the command line show it in their own way.
    let message = text.lines().next().unwrap_or_default().to_owned();
    ManifestError { line: first_line + line.saturating_sub(1), column, message }
}

#[derive(Deserialize)]
struct Sniff {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    items: Vec<Item>,
}

/// The fields of Services, EndpointSlices and Nodes: their names do not collide, so one pass reads a mixed list and keeps places.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    spec: ServiceSpec,
    #[serde(default)]
    status: Status,
    #[serde(default)]
    address_type: AddressType,
    #[serde(default)]
    ports: Vec<EndpointPort>,
    #[serde(default)]
    endpoints: Vec<EndpointSpec>,
}

/// What more a Node or a Pod says, read in a pass of its own: one struct for the fields of all kinds would have to
/// buffer them, and mistakes would lose their places.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Host {
    metadata: HostMetadata,
    spec: HostSpec,
    status: PodStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HostMetadata {
    deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HostSpec {
    /// Of a Node.
    #[serde(rename = "podCIDRs")]
    pod_cidrs: Vec<String>,
    /// Of a Pod, as what follows.
    node_name: Option<String>,
    containers: Vec<Container>,
}

#[derive(Default, Deserialize)]
struct HostList {
    #[serde(default)]
    items: Vec<Host>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(flatten)]
    service: ServiceStatus,
    #[serde(flatten)]
    node: NodeStatus,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::{Protocol, SERVICE_NAME_LABEL};

    const WEB: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  uid: 7c0b
spec:
  clusterIP: 10.96.10.20
  ports:
  - name: http
    port: 80
    targetPort: http
    protocol: TCP
";

    #[test]
    fn several_documents_and_lists_are_read() {
        let text = format!(
            "{WEB}---\n# nothing here\n---\napiVersion: v1\nkind: List\nitems:\n- kind: EndpointSlice\n  metadata:\n    \
             name: web-1\n    labels: {{kubernetes.io/service-name: web}}\n  addressType: IPv4\n  ports: [{{name: \
             http, port: 8080}}]\n  endpoints:\n  - addresses: [10.244.1.10]\n- kind: ConfigMap\n  metadata: {{name: p}}\n"
        );
        let objects = parse(&text).expect("both documents are fine");
        assert_eq!(objects.services[0].spec.ports[0].port, 80);
        assert_eq!(objects.services[0].spec.ports[0].protocol, Protocol::Tcp);
        assert_eq!(objects.slices[0].metadata.labels[SERVICE_NAME_LABEL], "web");
        assert_eq!(objects.slices[0].metadata.namespace, "default");
        assert_eq!(objects.ignored, ["ConfigMap"]);
    }

    #[test]
    fn json_is_read() {
        let text = r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"clusterIP": "10.96.0.1"}}"#;
        assert_eq!(parse(text).expect("JSON is YAML").services[0].spec.cluster_ip, "10.96.0.1");
    }

    #[test]
    fn a_reader_gives_what_a_fresh_one_gives() {
        let mut reader = Reader::default();
        let two = format!("{WEB}---\n{}", WEB.replace("web", "api"));
        for text in
            [two.clone(), WEB.to_owned(), two.replace("port: 80", "port: 81"), String::new(), two.clone()]
        {
            assert_eq!(reader.read(&text), parse(&text));
        }
        let wrong = two.replacen("name: api", "name: [", 1);
        assert_eq!(reader.read(&wrong), parse(&wrong));
        assert_eq!(reader.read(&two), parse(&two));
    }

    #[test]
    fn nodes_keep_their_pod_networks_alone_and_in_lists() {
        let node = "kind: Node\nmetadata: {name: a}\nspec: {podCIDRs: [10.244.1.0/24]}\n";
        let list = "kind: List\nitems:\n- kind: Service\n  metadata: {name: s}\n- kind: Node\n  spec: {podCIDRs: [fd00::/64]}\n";
        let objects = parse(&format!("{node}---\n{list}")).expect("both are fine");
        let cidrs: Vec<_> = objects.nodes.iter().map(|node| node.spec.pod_cidrs.join(",")).collect();
        assert_eq!(cidrs, ["10.244.1.0/24", "fd00::/64"]);
    }

    #[test]
    fn a_configuration_is_read_and_its_mistakes_are_placed() {
        let text = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: ipvs\n\
                    clusterCIDR: 10.244.0.0/16\nipvs:\n  scheduler: mh\n  strictARP: true\n  tcpTimeout: 15m0s\n\
                    winkernel: {networkName: x}\n";
        let read = parse(text).expect("the configuration is fine").configuration.expect("one was given");
        assert_eq!((&*read.mode, &*read.ipvs.scheduler, read.ipvs.strict_arp), ("ipvs", "mh", true));
        assert_eq!(read.ipvs.tcp_timeout.as_secs(), 900);
        assert_eq!(refused(&text.replace("15m0s", "soon")).line, 8);
    }

    #[track_caller]
    fn refused(text: &str) -> ManifestError {
        parse(text).expect_err("the text is wrong")
    }

    #[test]
    fn mistakes_name_their_place() {
        let error = refused(&WEB.replace("port: 80", "port: 70000"));
        assert_eq!(error.line, 11, "{error:?}");
        let error = refused(&format!("{WEB}---\nkind: Service\nspec: {{ports: 5}}\n"));
        assert_eq!(error.line, 16, "{error:?}");
        assert_eq!(refused("a: b\n").message, "no `kind`: not a Kubernetes object");
        assert_eq!(refused("kind: [\n").line, 1);
    }

    #[test]
    fn hostile_texts_end_in_an_error() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n\
                    d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nkind: [*e,*e,*e,*e,*e,*e,*e]\n";
        refused(bomb);
        refused("kind: &a [*a]\n");
        refused(&"[".repeat(100_000));
        refused(&"[".repeat(MANIFEST_BYTES_MAX + 1));
        refused("kind: Service\u{0}\nspec: \u{1}");
    }
}
