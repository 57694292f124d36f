//! Rows about a connection table with a million entries: putting them in, finding one, what they weigh.

use std::any::Any;
use std::net::IpAddr;

use chainwalk_engine::base::Rng;
use chainwalk_engine::packet::TcpFlags;
use chainwalk_engine::trace::Level;

use super::{BATCH, Node, Work, client, tcp};
use crate::dump::Dump;

pub(super) const MILLION: u32 = 1_000_000;

/// A Service with one pod; every connection is translated to it.
const ONE_POD: Dump = Dump { services: 1, endpoints: 1 };

/// A node that takes a million connections, which a default one does not.
fn node() -> Node {
    let mut node = Node::new(ONE_POD);
    for (name, value) in [("nf_conntrack_max", 2 * MILLION), ("nf_conntrack_buckets", MILLION)] {
        let name = format!("net.netfilter.{name}");
        node.netns.set_sysctl(&name, &value.to_string()).expect("a known name");
    }
    node
}

impl Node {
    /// The SYN of a connection of its own, through the whole path.
    fn connect(&mut self, number: u32) {
        let service = (IpAddr::from(Dump::cluster_ip(0)), 80);
        self.receive(tcp(client(number), service, TcpFlags::SYN, 1_000, 0), self.clients, Level::Off);
    }

    fn with_a_million() -> Self {
        let mut node = node();
        (0..MILLION).for_each(|number| node.connect(number));
        assert_eq!(node.netns.ct.count(), MILLION);
        node
    }
}

pub(super) fn insert() -> Work {
    Box::new(|| Box::new(Node::with_a_million()))
}

pub(super) fn look_up() -> Work {
    let mut node = Node::with_a_million();
    let mut rng = Rng::named(1, "look-up");
    Box::new(move || {
        // A SYN sent again: it finds its entry and is forwarded as before.
        (0..BATCH).for_each(|_| node.connect(rng.below(MILLION)));
        Box::new(())
    })
}

/// Bytes of memory for a million connections, as `in_use` sees the program's before and after.
pub fn million(in_use: impl Fn() -> u64) -> u64 {
    let node = node();
    let before = in_use();
    drop(node);
    let full: Box<dyn Any> = Box::new(Node::with_a_million());
    let after = in_use();
    drop(full);
    after.saturating_sub(before)
}
