//! [`Index`]: the chained hash table that finds entries by tuple and by source.
//!
//! Nodes are small numbers handed in by the owner; links live in one vector, so a lookup allocates nothing
//! and a copy of the table is a copy of three vectors. Buckets are ranges of the hash's top bits, so the
//! kernel's own (coarser or finer) buckets can be told from the same hash, whatever size this table has.

const NONE: u32 = u32::MAX;
const BITS_MIN: u32 = 4;

#[derive(Clone, Debug)]
pub(super) struct Index {
    /// First node of each bucket; a power of two of them.
    heads: Vec<u32>,
    bits: u32,
    links: Vec<Link>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    linked: bool,
    hash: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self { heads: vec![NONE; 1 << BITS_MIN], bits: BITS_MIN, links: Vec::new(), len: 0 }
    }
}

impl Index {
    const fn bucket(&self, hash: u64) -> usize {
        (hash >> (64 - self.bits)) as usize
    }

    /// Puts `node` at the head of its chain, as `hlist_add_head` does.
    pub(super) fn insert(&mut self, node: u32, hash: u64) {
        let at = node as usize;
        if self.links.len() <= at {
            self.links.resize(at + 1, Link { next: NONE, linked: false, hash: 0 });
        }
        debug_assert!(!self.links[at].linked, "a node is linked once");
        if self.len >= self.heads.len() {
            self.grow();
        }
        let bucket = self.bucket(hash);
        self.links[at] = Link { next: self.heads[bucket], linked: true, hash };
        self.heads[bucket] = node;
        self.len += 1;
    }

    /// Takes `node` out; nothing happens if it is not in.
    pub(super) fn remove(&mut self, node: u32) {
        let Some(link) = self.links.get(node as usize).copied().filter(|l| l.linked) else { return };
        let bucket = self.bucket(link.hash);
        let mut at = self.heads[bucket];
        if at == node {
            self.heads[bucket] = link.next;
        } else {
            while at != NONE {
                let next = self.links[at as usize].next;
                if next == node {
                    self.links[at as usize].next = link.next;
                    break;
                }
                at = next;
            }
        }
        self.links[node as usize].linked = false;
        self.len -= 1;
    }

    /// The nodes with exactly this hash, newest first.
    pub(super) fn with_hash(&self, hash: u64) -> impl Iterator<Item = u32> {
        self.chain(self.bucket(hash)).filter(move |node| self.links[*node as usize].hash == hash)
    }

    /// The nodes that share bucket `number` of a table with `buckets` buckets, as the kernel numbers them.
    pub(super) fn kernel_bucket(&self, number: u32, buckets: u32) -> impl Iterator<Item = u32> {
        // reciprocal_scale(hash, buckets) == number holds for hashes from `low` on, below the next bucket's.
        let low = ((u64::from(number) << 32).div_ceil(u64::from(buckets.max(1)))) << 32;
        let high = match ((u64::from(number) + 1) << 32).div_ceil(u64::from(buckets.max(1))) {
            past if past > u64::from(u32::MAX) => u64::MAX,
            next => (next << 32) - 1,
        };
        (self.bucket(low)..=self.bucket(high))
            .flat_map(|bucket| self.chain(bucket))
            .filter(move |node| (low..=high).contains(&self.links[*node as usize].hash))
    }

    fn chain(&self, bucket: usize) -> impl Iterator<Item = u32> {
        let first = Some(self.heads[bucket]).filter(|n| *n != NONE);
        std::iter::successors(first, |node| Some(self.links[*node as usize].next).filter(|n| *n != NONE))
    }

    /// Doubles the buckets; each chain splits in two and keeps its order.
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.heads);
        self.bits += 1;
        self.heads = vec![NONE; old.len() * 2];
        for (bucket, head) in old.into_iter().enumerate() {
            let mut tails = [NONE; 2];
            let mut at = head;
            while at != NONE {
                let Link { next, hash, .. } = self.links[at as usize];
                let half = self.bucket(hash) - bucket * 2;
                match tails[half] {
                    NONE => self.heads[bucket * 2 + half] = at,
                    tail => self.links[tail as usize].next = at,
                }
                tails[half] = at;
                self.links[at as usize].next = NONE;
                at = next;
            }
        }
    }
}

/// Bucket of a kernel table with `buckets` buckets (`reciprocal_scale`).
pub(super) const fn kernel_bucket_of(hash: u64, buckets: u32) -> u32 {
    (((hash >> 32) * buckets as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Rng;

    #[test]
    fn growth_keeps_every_node_and_the_order_of_each_chain() {
        let mut index = Index::default();
        let mut rng = Rng::new(5);
        let hashes: Vec<u64> = (0..500).map(|_| rng.next_u64()).collect();
        for (node, hash) in hashes.iter().enumerate() {
            index.insert(node as u32, *hash);
        }
        // Two more nodes with one hash: the newest comes first.
        index.insert(500, hashes[3]);
        for (node, hash) in hashes.iter().enumerate().skip(4) {
            assert_eq!(index.with_hash(*hash).collect::<Vec<_>>(), [node as u32]);
        }
        assert_eq!(index.with_hash(hashes[3]).collect::<Vec<_>>(), [500, 3]);
        index.remove(500);
        index.remove(500);
        assert_eq!(index.with_hash(hashes[3]).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_kernel_bucket_holds_the_hashes_that_scale_to_it() {
        let mut index = Index::default();
        let mut rng = Rng::new(9);
        let hashes: Vec<u64> = (0..2000).map(|_| rng.next_u64()).collect();
        for (node, hash) in hashes.iter().enumerate() {
            index.insert(node as u32, *hash);
        }
        for buckets in [1, 7, 64, 1024, 262_144] {
            let mut seen = 0;
            for number in 0..buckets {
                for node in index.kernel_bucket(number, buckets) {
                    assert_eq!(kernel_bucket_of(hashes[node as usize], buckets), number);
                    seen += 1;
                }
            }
            assert_eq!(seen, hashes.len());
        }
    }
}
