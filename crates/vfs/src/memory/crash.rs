//! The state of a tree after a crash.
//!
//! A real disk may write unsynced changes in any order, keep some sectors of a write and lose others, and keep the new
//! size of a file without its new bytes (which then read as zeros). It may not lose synced changes. The policies go
//! from the kindest disk to the most hostile one.

use std::collections::HashMap;
use std::sync::Arc;

use ferrock_base::random::Random;

use super::node::{CrashView, DataChange, FileNode};
use super::tree::{DirId, Entries, Entry, ROOT, Tree};

/// What happens to changes that were not synced when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPolicy {
    /// All of them are lost.
    KeepNothingUnsynced,
    /// All of them are kept, as when only the process dies. Bytes in a writer's own buffer are lost.
    KeepAll,
    /// Each append, truncation, creation, link, rename and removal is kept or lost by the toss of a seeded coin. Bytes
    /// that were lost before bytes that were kept read as zeros.
    KeepSubset {
        /// Seed of all tosses.
        seed: u64,
    },
    /// Directory changes are kept up to some point, as by a journal. Of the unsynced part of each file, with a
    /// `granularity_bytes` of 1 everything up to some byte is kept; with a larger one every unit of that many bytes
    /// (aligned in the file, as sectors are) is kept or lost by itself, a lost one before the end reading as zeros.
    Torn {
        /// Seed of all tosses and cuts.
        seed: u64,
        /// Bytes that are kept or lost together: 1, or a sector's 512.
        granularity_bytes: u32,
    },
}

/// Decides what a crash keeps.
struct Coin(Random);

impl Coin {
    fn toss(&mut self) -> bool {
        self.0.one_in(2)
    }

    /// A number from 0 to `most`, both possible.
    fn up_to(&mut self, most: usize) -> usize {
        self.0.below(most as u64 + 1) as usize
    }
}

pub(super) fn after_crash(tree: &Tree, policy: CrashPolicy) -> Tree {
    let seed = match policy {
        CrashPolicy::KeepSubset { seed } | CrashPolicy::Torn { seed, .. } => seed,
        CrashPolicy::KeepNothingUnsynced | CrashPolicy::KeepAll => 0,
    };
    let mut coin = Coin(Random::new(seed));
    let mut survivors = Survivors { policy, maps: entries_after(tree, policy, &mut coin), coin, files: HashMap::new() };
    let mut left = Tree::default();
    survivors.copy_dir(ROOT, ROOT, &mut left);
    left.durable.clone_from(&left.entries);
    left
}

fn entries_after(tree: &Tree, policy: CrashPolicy, coin: &mut Coin) -> Vec<Entries> {
    if policy == CrashPolicy::KeepAll {
        return tree.entries.clone();
    }
    let mut maps = tree.durable.clone();
    let kept_up_to = coin.up_to(tree.pending.len());
    for (index, change) in tree.pending.iter().enumerate() {
        let kept = match policy {
            CrashPolicy::KeepNothingUnsynced | CrashPolicy::KeepAll => false,
            CrashPolicy::KeepSubset { .. } => coin.toss(),
            CrashPolicy::Torn { .. } => index < kept_up_to,
        };
        if kept {
            change.apply(&mut maps);
        }
    }
    maps
}

struct Survivors {
    policy: CrashPolicy,
    maps: Vec<Entries>,
    coin: Coin,
    /// Copied files by the address of the original, so that two names of one file stay two names of one file.
    files: HashMap<usize, Arc<FileNode>>,
}

impl Survivors {
    /// Copies the reachable entries in the order of names, which makes the tosses repeatable.
    fn copy_dir(&mut self, from: DirId, to: DirId, left: &mut Tree) {
        for (name, entry) in std::mem::take(&mut self.maps[from]) {
            let copy = match entry {
                Entry::File(node) => Entry::File(self.copy_file(&node)),
                Entry::Dir(child) => {
                    let made = left.entries.len();
                    left.entries.push(Entries::new());
                    self.copy_dir(child, made, left);
                    Entry::Dir(made)
                }
            };
            left.entries[to].insert(name, copy);
        }
    }

    fn copy_file(&mut self, node: &Arc<FileNode>) -> Arc<FileNode> {
        let address = Arc::as_ptr(node).addr();
        if let Some(copy) = self.files.get(&address) {
            return Arc::clone(copy);
        }
        let data = self.data_after(&node.crash_view());
        let copy = Arc::new(FileNode::durable(data, node.modified_unix_seconds()));
        self.files.insert(address, Arc::clone(&copy));
        copy
    }

    fn data_after(&mut self, file: &CrashView) -> Arc<Vec<u8>> {
        if file.pending.is_empty() {
            return Arc::clone(&file.data);
        }
        match self.policy {
            CrashPolicy::KeepNothingUnsynced => Arc::clone(&file.durable),
            CrashPolicy::KeepAll => Arc::clone(&file.data),
            CrashPolicy::KeepSubset { .. } => Arc::new(subset(file, &mut self.coin)),
            CrashPolicy::Torn { granularity_bytes, .. } => {
                Arc::new(torn(file, granularity_bytes.max(1) as usize, &mut self.coin))
            }
        }
    }
}

fn subset(file: &CrashView, coin: &mut Coin) -> Vec<u8> {
    let mut data = file.durable.to_vec();
    for change in &file.pending {
        if !coin.toss() {
            continue;
        }
        match change {
            DataChange::Append { offset, bytes } => overlay(&mut data, *offset as usize, file.bytes(bytes)),
            DataChange::Truncate(length) => data.resize(*length as usize, 0),
        }
    }
    data
}

fn overlay(data: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if data.len() < end {
        data.resize(end, 0);
    }
    data[offset..end].copy_from_slice(bytes);
}

/// Replays changes up to some point, then keeps a part of what was added beyond the durable bytes.
fn torn(file: &CrashView, unit: usize, coin: &mut Coin) -> Vec<u8> {
    let mut data = file.durable.to_vec();
    // The end of the certain bytes: durable ones that no kept truncation removed.
    let mut certain = data.len();
    let only_appends = file.pending.iter().all(|change| matches!(change, DataChange::Append { .. }));
    let kept = if only_appends { file.pending.len() } else { coin.up_to(file.pending.len()) };
    for change in &file.pending[..kept] {
        match change {
            DataChange::Append { offset, bytes } => overlay(&mut data, *offset as usize, file.bytes(bytes)),
            DataChange::Truncate(length) => {
                data.resize(*length as usize, 0);
                certain = certain.min(data.len());
            }
        }
    }
    if unit == 1 {
        data.truncate(certain + coin.up_to(data.len() - certain));
        return data;
    }
    let mut end = certain;
    let mut start = certain;
    while start < data.len() {
        let next = (start + 1).next_multiple_of(unit).min(data.len());
        if coin.toss() {
            end = next;
        } else {
            data[start..next].fill(0);
        }
        start = next;
    }
    // The size may have been written although the last bytes were not.
    if coin.toss() {
        data.truncate(end);
    }
    data
}
