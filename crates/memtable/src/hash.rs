//! Entries in a hash table of sorted lists, by the prefixes of their keys: for reads within one prefix.
//!
//! ```text
//! hash(prefix) % bucket_count -> list of all entries of the prefixes with that remainder, sorted
//! bucket_count                -> list of the keys that have no prefix (out of the extractor's domain)
//! ```
//!
//! Two kinds share this: skip lists of a given height (`prefix_hash`), and linked lists that become skip lists
//! when they have more than `threshold` entries (`hash_linkedlist`). A linked list is a skip list of one level. When it
//! grows past the threshold it gets a head with all levels, and later nodes have towers of any height; the nodes it has
//! keep theirs. So a search in it costs at most `threshold` steps beside those of a skip list, and nothing is rebuilt.
//!
//! A lookup, and an iterator that is limited to a prefix, read one list without locks. An iterator over everything
//! takes all entries, sorted ([`SortedIndex`]): when entries were added since, that sorts the whole memtable. Writers
//! take turns: in RocksDB such a memtable has a single writer, and options that ask for more are refused.
//!
//! The table of heads is allocated with the first entry. Neither it nor the sorted array counts when the memtable's
//! size is compared with the write buffer: a table larger than that would make a flush of every write.

use crate::skiplist::{HeadSlot, List, MAX_HEIGHT, Nodes};
use crate::sorted::{SortedEntries, SortedIndex, State};
use crate::sync::{AtomicUsize, Mutex, Ordering};
use ferrock_base::hash::hash64;
use ferrock_base::prefix::PrefixExtractor;
use std::sync::{Arc, OnceLock};

/// What the lists are.
#[derive(Clone, Copy)]
pub(crate) enum BucketShape {
    /// Skip lists of so many levels; a node is on the next level with probability `1 / branching`.
    SkipList { height: usize, branching: u32 },
    /// Linked lists of up to `threshold` entries, then skip lists.
    LinkedList { threshold: usize },
}

/// The table.
struct Buckets {
    heads: Box<[HeadSlot]>,
    /// Entries of each list; only of linked lists. A list of more than the threshold has a head with all levels, which
    /// is stored before the count is.
    counts: Box<[AtomicUsize]>,
}

/// The lists.
pub(crate) struct HashLists {
    extractor: PrefixExtractor,
    shape: BucketShape,
    bucket_count: usize,
    buckets: OnceLock<Buckets>,
    /// Held by a writer.
    writing: Mutex<()>,
    /// Entries in all lists, counted after they were linked.
    inserted: AtomicUsize,
    sorted: SortedIndex,
}

impl HashLists {
    pub(crate) fn new(extractor: PrefixExtractor, bucket_count: usize, shape: BucketShape) -> Self {
        Self {
            extractor,
            shape,
            bucket_count: bucket_count.max(1),
            buckets: OnceLock::new(),
            writing: Mutex::new(()),
            inserted: AtomicUsize::new(0),
            sorted: SortedIndex::new(),
        }
    }

    pub(crate) fn extractor(&self) -> &PrefixExtractor {
        &self.extractor
    }

    /// Bytes of the table and of the sorted array.
    pub(crate) fn index_bytes(&self) -> usize {
        let table =
            self.buckets.get().map_or(0, |buckets| size_of_val(&*buckets.heads) + size_of_val(&*buckets.counts));
        table + self.sorted.memory_bytes()
    }

    /// The number of the list of keys with this prefix.
    #[inline]
    pub(crate) fn bucket_of_prefix(&self, prefix: Option<&[u8]>) -> usize {
        prefix.map_or(self.bucket_count, |prefix| (hash64(prefix) % self.bucket_count as u64) as usize)
    }

    /// The number of the list of this key.
    #[inline]
    pub(crate) fn bucket_of(&self, user_key: &[u8]) -> usize {
        self.bucket_of_prefix(self.extractor.prefix(user_key))
    }

    /// A list by its number; `None` if it has no entries.
    #[inline]
    pub(crate) fn list<'a>(&self, nodes: &'a Nodes, bucket: usize) -> Option<List<'a>> {
        let buckets = self.buckets.get()?;
        let levels = match self.shape {
            BucketShape::SkipList { height, .. } => height,
            BucketShape::LinkedList { threshold } => {
                linked_levels(buckets.counts[bucket].load(Ordering::Acquire), threshold)
            }
        };
        buckets.heads[bucket].list(nodes, levels)
    }

    /// False if the internal key already exists.
    pub(crate) fn insert(&self, nodes: &Nodes, user_key: &[u8], trailer: u64, value: &[u8]) -> bool {
        let bucket = self.bucket_of(user_key);
        let _writing = self.writing.lock();
        let buckets = self.buckets.get_or_init(|| self.new_table());
        let head = &buckets.heads[bucket];
        let entry = (user_key, trailer, value);
        let inserted = match self.shape {
            BucketShape::SkipList { height, branching } => {
                if head.is_empty() {
                    head.grow_to(nodes, height);
                }
                head.insert(nodes, (height, branching), entry)
            }
            BucketShape::LinkedList { threshold } => {
                let count = buckets.counts[bucket].load(Ordering::Relaxed) + 1;
                let levels = linked_levels(count, threshold);
                if count == 1 || count == threshold.saturating_add(1) {
                    head.grow_to(nodes, levels);
                }
                let inserted = head.insert(nodes, (levels, 4), entry);
                if inserted {
                    buckets.counts[bucket].store(count, Ordering::Release);
                }
                inserted
            }
        };
        if inserted {
            self.inserted.fetch_add(1, Ordering::Release);
        }
        inserted
    }

    fn new_table(&self) -> Buckets {
        let slots = self.bucket_count + 1;
        let counts = if matches!(self.shape, BucketShape::LinkedList { .. }) { slots } else { 0 };
        Buckets {
            heads: (0..slots).map(|_| HeadSlot::new()).collect(),
            counts: (0..counts).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    #[cfg(test)]
    pub(crate) fn check_towers(&self, nodes: &Nodes) {
        (0..=self.bucket_count).filter_map(|bucket| self.list(nodes, bucket)).for_each(|list| list.check_towers(nodes));
    }

    /// All entries that were added before the call.
    pub(crate) fn sorted(&self, nodes: &Nodes) -> Arc<SortedEntries> {
        self.sorted.up_to_date(
            |index| index.state.count == self.inserted.load(Ordering::Acquire),
            |_| {
                // Counted before the walk, which may find more.
                let count = self.inserted.load(Ordering::Acquire);
                let mut entries = Vec::with_capacity(count);
                for bucket in 0..=self.bucket_count {
                    let Some(list) = self.list(nodes, bucket) else { continue };
                    let mut position = nodes.first(list);
                    while position.is_some() {
                        entries.push(position);
                        position = nodes.next(position);
                    }
                }
                SortedEntries::sort(nodes, entries, State { count, ..State::default() })
            },
        )
    }
}

/// Levels that a linked list of so many entries certainly has.
#[inline]
fn linked_levels(count: usize, threshold: usize) -> usize {
    if count <= threshold { 1 } else { MAX_HEIGHT }
}
