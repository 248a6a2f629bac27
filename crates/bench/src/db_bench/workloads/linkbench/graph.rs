//! The graph: which links a node has at the beginning, and which node an operation is about. Nothing is kept of it;
//! all follows from the number of nodes.

use super::distribution::out_degree;
use super::rows::{LINK_TYPES, node_id};
use crate::failure::Result;
use ferrock::{Db, ReadOptions};
use ferrock_base::hash::hash128;
use ferrock_base::random::Random;
use ferrock_bench::permutation::Permutation;
use ferrock_bench::zipf::{Zipf, unit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Seeds of the permutations: from a rank by links, or by use, to a node.
const BY_LINKS: u64 = 11;
const BY_READS: u64 = 12;
const BY_WRITES: u64 = 13;
const BY_NODE_READS: u64 = 14;
const BY_NODE_UPDATES: u64 = 15;

/// Share of link reads and of link writes that go by use alone; the others prefer nodes with many links.
const UNCORRELATED_READS: f64 = 0.995;
const UNCORRELATED_WRITES: f64 = 0.95;
/// A node has links to at most this part of all nodes, however small the graph.
const MOST_LINKS_PART: u64 = 10;
const STRIPES: usize = 256;

#[derive(Debug)]
struct Access {
    zipf: Zipf,
    nodes: Permutation,
}

impl Access {
    fn new(nodes: u64, shape: f64, seed: u64) -> Self {
        Self { zipf: Zipf::new(nodes, shape), nodes: Permutation::new(nodes, seed) }
    }

    /// A node, the one of the first rank most often.
    fn next(&self, random: &mut Random) -> u64 {
        self.nodes.at(self.zipf.next(random))
    }
}

/// The graph, as the threads share it.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Nodes at the beginning.
    nodes: u64,
    /// The id of the next node that is added.
    next_node: AtomicU64,
    by_links: Permutation,
    link_reads: Access,
    link_writes: Access,
    node_reads: Access,
    node_updates: Access,
    stripes: Vec<Mutex<()>>,
}

impl Graph {
    /// A graph of so many nodes at the beginning, as it is now in the database.
    pub(crate) fn new(nodes: u64, db: &Db) -> Result<Self> {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_for_prev(b"n\xff\xff\xff\xff\xff\xff\xff\xff");
        let last = if iter.valid() { node_id(iter.key()) } else { None };
        iter.status()?;
        Ok(Self {
            nodes,
            next_node: AtomicU64::new(last.map_or(nodes, |last| last + 1).max(nodes)),
            by_links: Permutation::new(nodes, BY_LINKS),
            // The shapes are LinkBench's.
            link_reads: Access::new(nodes, 0.8, BY_READS),
            link_writes: Access::new(nodes, 0.741, BY_WRITES),
            node_reads: Access::new(nodes, 0.625, BY_NODE_READS),
            node_updates: Access::new(nodes, 0.606, BY_NODE_UPDATES),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
        })
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Links of one type that a node has at the beginning; two of them may be the same.
    pub(super) fn links(&self, id1: u64, link_type: u64) -> u64 {
        let rank = self.by_links.number_at(id1);
        let share = 1.0 - (rank as f64 + 0.5) / self.nodes as f64;
        let all = out_degree(share).min(self.nodes / MOST_LINKS_PART);
        (all + LINK_TYPES - 1 - link_type) / LINK_TYPES
    }

    /// Where one of them goes.
    pub(super) fn target(&self, id1: u64, link_type: u64, index: u64) -> u64 {
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&id1.to_le_bytes());
        seed[8..].copy_from_slice(&index.to_le_bytes());
        hash128(&seed, link_type).0 % self.nodes
    }

    /// A target for an operation: with that probability one of the links of the beginning.
    pub(super) fn some_target(&self, id1: u64, link_type: u64, exists: f64, random: &mut Random) -> u64 {
        let links = self.links(id1, link_type);
        if links > 0 && unit(random) < exists {
            self.target(id1, link_type, random.below(links))
        } else {
            random.below(self.nodes)
        }
    }

    /// The node whose links an operation reads.
    pub(super) fn link_read(&self, random: &mut Random) -> u64 {
        self.blend(&self.link_reads, UNCORRELATED_READS, random)
    }

    /// The node whose links an operation changes.
    pub(super) fn link_write(&self, random: &mut Random) -> u64 {
        self.blend(&self.link_writes, UNCORRELATED_WRITES, random)
    }

    fn blend(&self, access: &Access, uncorrelated: f64, random: &mut Random) -> u64 {
        if unit(random) < uncorrelated { access.next(random) } else { self.by_links.at(access.zipf.next(random)) }
    }

    pub(super) fn node_read(&self, random: &mut Random) -> u64 {
        self.node_reads.next(random)
    }

    pub(super) fn node_update(&self, random: &mut Random) -> u64 {
        self.node_updates.next(random)
    }

    pub(super) fn new_node(&self) -> u64 {
        self.next_node.fetch_add(1, Ordering::Relaxed)
    }

    /// Locks the row set of a node for a change: link and count change together.
    pub(super) fn lock(&self, id: u64) -> MutexGuard<'_, ()> {
        let stripe = (hash128(&id.to_le_bytes(), 0).0 % STRIPES as u64) as usize;
        // It guards no data of its own.
        self.stripes[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
