//! The memtable: all entries written since the last flush, sorted.
//!
//! Point entries are in a [`MemTableRep`], range tombstones beside it. The bytes of an entry are in the arena of
//! [`Nodes`] and do not move, so keys and values are borrowed, never copied, as long as the memtable is alive. Only
//! finding an entry asks which structure there is; a position is read without it.

use crate::arena::Arena;
use crate::counters::{Counters, Writers};
use crate::deleted_runs::DeletedRuns;
use crate::filter::Filter;
use crate::hash::{BucketShape, HashLists};
use crate::in_place::ValueLocks;
use crate::options::{Companion, MemTableKind, MemTableOptions};
use crate::range_tombstones::RangeTombstones;
use crate::skiplist::{Checks, List, MAX_HEIGHT, Nodes, Place, Position, SkipList};
use crate::sorted::SortedEntries;
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use crate::tracker::TrackedMemory;
use crate::vector::Vector;
use ferrock_base::comparator::InternalComparator;
use ferrock_base::error::{Error, ErrorKind, Result};
use ferrock_base::internal_key::{LookupKey, TRAILER_SIZE, pack_trailer, trailer, user_key as user_key_of};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use std::any::Any;
use std::sync::Arc;

/// The structure that holds the point entries. Only this enum chooses between representations; a new one is a variant.
#[expect(clippy::large_enum_variant, reason = "a memtable has one, and the large one is the usual one")]
pub(crate) enum MemTableRep {
    /// Always sorted, and readable during writes.
    SkipList(SkipList),
    /// Sorted within the hash of a prefix.
    Hash(Box<HashLists>),
    /// In the order of arrival.
    Vector(Vector),
}

impl MemTableRep {
    fn new(nodes: &Nodes, options: &MemTableOptions) -> Self {
        let skip_list = || Self::SkipList(SkipList::new(nodes, options.hint_prefixes.clone()));
        // Equal keys of different bytes may have different prefixes, whose lists a lookup would all have to search.
        let by_bytes = !nodes.comparator().user().can_keys_with_different_bytes_be_equal();
        let hash = |bucket_count, shape| match &options.prefix_extractor {
            Some(extractor) if by_bytes => Self::Hash(Box::new(HashLists::new(extractor.clone(), bucket_count, shape))),
            _ => skip_list(),
        };
        match options.kind {
            MemTableKind::SkipList => skip_list(),
            MemTableKind::Vector => Self::Vector(Vector::new(nodes)),
            MemTableKind::HashSkipList { bucket_count, height, branching } => {
                let (height, branching) = (height.clamp(1, MAX_HEIGHT), branching.max(2));
                hash(bucket_count, BucketShape::SkipList { height, branching })
            }
            MemTableKind::HashLinkList { bucket_count, threshold } => {
                hash(bucket_count, BucketShape::LinkedList { threshold })
            }
        }
    }

    /// All entries that were added before the call; `None` for a structure that is always sorted.
    pub(crate) fn sorted(&self, nodes: &Nodes) -> Option<Arc<SortedEntries>> {
        match self {
            Self::SkipList(_) => None,
            Self::Hash(lists) => Some(lists.sorted(nodes)),
            Self::Vector(vector) => Some(vector.sorted(nodes)),
        }
    }

    /// Bytes beside the arena.
    fn index_bytes(&self) -> usize {
        match self {
            Self::SkipList(list) => list.hint_bytes(),
            Self::Hash(lists) => lists.index_bytes(),
            Self::Vector(vector) => vector.index_bytes(),
        }
    }
}

/// A memtable. Shared as `Arc<MemTable>`; all methods take `&self`.
///
/// ```
/// use ferrock_base::{LookupKey, SequenceNumber, ValueType};
/// use ferrock_memtable::{MemTable, MemTableOptions};
/// let table = MemTable::new(MemTableOptions::default());
/// table.add(SequenceNumber(1), ValueType::Value, b"key", b"old").unwrap();
/// table.add(SequenceNumber(2), ValueType::Value, b"key", b"new").unwrap();
/// let mut seen = Vec::new();
/// table
///     .get(&LookupKey::new(b"key", SequenceNumber(2)), |sequence, _, value| {
///         seen.push((sequence.0, value.to_vec()));
///         true
///     })
///     .unwrap();
/// assert_eq!(seen, [(2, b"new".to_vec()), (1, b"old".to_vec())]);
/// ```
pub struct MemTable {
    pub(crate) nodes: Nodes,
    pub(crate) rep: MemTableRep,
    range_tombstones: RangeTombstones,
    filter: Option<Filter>,
    counters: Counters,
    tracked: TrackedMemory,
    deleted_runs: DeletedRuns,
    /// A scan passed over so much of it that it should be flushed.
    is_flush_wanted: AtomicBool,
    /// When the first entry was written, in seconds since 1970; 0: not known.
    first_written_secs: AtomicU64,
    /// Held to read or write a value, if values are written over.
    pub(crate) value_locks: Option<ValueLocks>,
    /// There are neither a filter nor locks to look at before a search, nor checks in it.
    is_bare: bool,
    companion: Option<Arc<dyn Companion>>,
}

impl std::fmt::Debug for MemTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemTable")
            .field("entries", &self.num_entries())
            .field("range_deletes", &self.num_range_deletes())
            .field("memory_bytes", &self.approximate_memory_bytes())
            .finish_non_exhaustive()
    }
}

impl MemTable {
    /// An empty memtable.
    #[must_use]
    pub fn new(options: MemTableOptions) -> Self {
        let filter = Filter::new(&options);
        let is_counted = options.tracker.is_some();
        let arena = Arena::new(options.arena_block_bytes, options.huge_page_bytes, !is_counted);
        let sum_bytes = options.protection_bytes.min(8);
        // A lookup locks by the bytes of its own key.
        let by_bytes = !options.comparator.user().can_keys_with_different_bytes_be_equal();
        let in_place = options.in_place_locks > 0 && by_bytes && options.kind != MemTableKind::Vector;
        let checks = Checks {
            sum_bytes,
            sums_on_the_way: options.verify_on_seek,
            order: options.check_order,
            values_change: in_place,
        };
        let nodes = Nodes::new(options.comparator.clone(), arena, checks);
        Self {
            is_bare: filter.is_none() && !in_place && !checks.is_any(),
            value_locks: in_place.then(|| ValueLocks::new(options.in_place_locks)),
            filter,
            range_tombstones: RangeTombstones::new(nodes.comparator().user().clone()),
            deleted_runs: DeletedRuns::new(nodes.comparator().user().clone()),
            is_flush_wanted: AtomicBool::new(false),
            first_written_secs: AtomicU64::new(0),
            rep: MemTableRep::new(&nodes, &options),
            tracked: TrackedMemory::new(options.tracker),
            companion: options.companion,
            nodes,
            counters: Counters::new(),
        }
    }

    /// What the memtable was made with to be kept as long as it, if it is of this type.
    #[must_use]
    pub fn companion<C: Companion>(&self) -> Option<&C> {
        let companion: &dyn Any = &**self.companion.as_ref()?;
        companion.downcast_ref()
    }

    /// The order of the keys.
    #[must_use]
    pub fn comparator(&self) -> &InternalComparator {
        self.nodes.comparator()
    }

    /// Adds an entry; for one writer at a time. The list keeps a hint, so keys in ascending order are placed without a
    /// search. A [`RangeDeletion`](ValueType::RangeDeletion) has its start as key and its exclusive end as value.
    ///
    /// Overlapping calls are safe, but then the counts may be too low.
    ///
    /// # Errors
    /// `TryAgain` if exactly this key, sequence number and type was added before; `InvalidArgument` for a type that a
    /// memtable does not hold and for keys and values of 4 GiB and more. The memtable is unchanged then.
    #[inline]
    pub fn add(&self, sequence: SequenceNumber, value_type: ValueType, user_key: &[u8], value: &[u8]) -> Result<()> {
        self.add_as(Writers::One, sequence, value_type, user_key, value)
    }

    /// Adds an entry; for many writers at once. Otherwise as [`add`](Self::add).
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    #[inline]
    pub fn add_concurrent(
        &self,
        sequence: SequenceNumber,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.add_as(Writers::Many, sequence, value_type, user_key, value)
    }

    /// Adds a value; for one writer at a time. Where the newest entry of the key is a value that is as long or longer,
    /// newer than `kept`, and not deleted by a range tombstone, this value is written over it instead, under its
    /// sequence number, if the memtable was made for that. Otherwise as [`add`](Self::add). True where a value was
    /// written over.
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    pub fn add_in_place(
        &self,
        sequence: SequenceNumber,
        user_key: &[u8],
        value: &[u8],
        kept: SequenceNumber,
    ) -> Result<bool> {
        if let Some(locks) = &self.value_locks
            && let Some(position) = self.value_newer_than(kept, user_key, sequence)
        {
            let _writing = locks.of(user_key).write();
            // A new sum would be of a key that changed, too.
            self.nodes.check_entry(position)?;
            // SAFETY: in a memtable with locks every access to a value of this key holds this lock.
            if unsafe { self.nodes.overwrite_value(position, value) } {
                return Ok(true);
            }
        }
        self.add(sequence, ValueType::Value, user_key, value).map(|()| false)
    }

    /// True if [`add_in_place`](Self::add_in_place) may write over values.
    #[inline]
    #[must_use]
    pub fn writes_in_place(&self) -> bool {
        self.value_locks.is_some()
    }

    /// The newest entry of a key up to `sequence`, if it is a value, newer than `kept`, and not deleted.
    fn value_newer_than(&self, kept: SequenceNumber, user_key: &[u8], sequence: SequenceNumber) -> Option<Position> {
        let list = match &self.rep {
            MemTableRep::SkipList(list) => list.list(&self.nodes),
            MemTableRep::Hash(lists) => lists.list(&self.nodes, lists.bucket_of(user_key))?,
            MemTableRep::Vector(_) => return None,
        };
        let position = self.nodes.seek(list, LookupKey::new(user_key, sequence).internal_key());
        let found = self.nodes.key(position)?;
        let (packed, own) = (trailer(found), user_key_of(found) == user_key);
        let newest = SequenceNumber(packed >> 8);
        let is_value = packed as u8 == ValueType::Value as u8;
        let is_deleted = || self.max_covering_tombstone(user_key, sequence).is_some_and(|deleted| deleted > newest);
        (own && is_value && newest > kept && !is_deleted()).then_some(position)
    }

    #[inline]
    fn add_as(
        &self,
        writers: Writers,
        sequence: SequenceNumber,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        check_limits(sequence, user_key, value)?;
        if !value_type.is_point_entry() {
            return self.add_other(writers, sequence, value_type, user_key, value);
        }
        let packed = pack_trailer(sequence, value_type);
        if self.nodes.checks().sum_bytes > 0 {
            self.check_place_of(user_key, packed)?;
        }
        // Set before the key is linked: a reader that could find the key in the list also passes the filter.
        if let Some(filter) = &self.filter {
            filter.add(user_key);
        }
        let inserted = match &self.rep {
            MemTableRep::SkipList(list) if writers == Writers::One => list.insert(&self.nodes, user_key, packed, value),
            MemTableRep::SkipList(list) => list.insert_concurrent(&self.nodes, user_key, packed, value),
            MemTableRep::Hash(lists) => lists.insert(&self.nodes, user_key, packed, value),
            MemTableRep::Vector(vector) => {
                vector.insert(&self.nodes, user_key, packed, value);
                true
            }
        };
        if !inserted {
            return Err(duplicate(sequence, user_key));
        }
        let bytes = user_key.len() + TRAILER_SIZE + value.len();
        let is_deletion = value_type.is_point_tombstone();
        self.counters.record(sequence, is_deletion, bytes, writers);
        if !is_deletion {
            self.deleted_runs.note_value(user_key);
        }
        Ok(())
    }

    /// Compares the sums on both sides of where an entry goes: behind a damaged one it could be linked out of order,
    /// and hide others from searches that do not meet the damage. A vector compares when it is sorted.
    #[cold]
    fn check_place_of(&self, user_key: &[u8], packed: u64) -> Result<()> {
        let list = match &self.rep {
            MemTableRep::SkipList(list) => Some(list.list(&self.nodes)),
            MemTableRep::Hash(lists) => lists.list(&self.nodes, lists.bucket_of(user_key)),
            MemTableRep::Vector(_) => None,
        };
        let Some(list) = list else { return Ok(()) };
        let key = [user_key, &packed.to_le_bytes()].concat();
        self.nodes.find_checked(list, Place::AtOrAfter(&key)).map(drop)
    }

    #[cold]
    fn add_other(
        &self,
        writers: Writers,
        sequence: SequenceNumber,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if value_type != ValueType::RangeDeletion {
            return Err(Error::invalid_argument(format!("a memtable does not hold entries of type {value_type:?}")));
        }
        let bytes = user_key.len() + TRAILER_SIZE + value.len();
        self.counters.record(sequence, false, bytes, writers);
        self.range_tombstones.add(RangeTombstone { start: user_key.to_vec(), end: value.to_vec(), sequence });
        Ok(())
    }

    /// Calls `visit` with the entries of exactly this user key that the lookup may see, newest first, until it returns
    /// false. Does not allocate. Range tombstones are looked up separately:
    /// [`max_covering_tombstone`](Self::max_covering_tombstone).
    ///
    /// # Errors
    /// `Corruption` when an entry changed in memory, in a memtable that was made to look for that.
    #[inline(always)]
    pub fn get(&self, key: &LookupKey, visit: impl FnMut(SequenceNumber, ValueType, &[u8]) -> bool) -> Result<()> {
        match &self.rep {
            MemTableRep::SkipList(list) if self.is_bare => {
                self.visit_list(list.list(&self.nodes), key, visit);
                Ok(())
            }
            _ => self.get_guarded(key, visit),
        }
    }

    /// Out of the way of the usual memtable: a skip list without filter and locks.
    #[inline(never)]
    fn get_guarded(
        &self,
        key: &LookupKey,
        mut visit: impl FnMut(SequenceNumber, ValueType, &[u8]) -> bool,
    ) -> Result<()> {
        let user_key = key.user_key();
        if !self.may_contain(user_key) {
            return Ok(());
        }
        let _reading = self.value_locks.as_ref().map(|locks| locks.of(user_key).read());
        let list = match &self.rep {
            MemTableRep::SkipList(list) => Some(list.list(&self.nodes)),
            MemTableRep::Hash(lists) => lists.list(&self.nodes, lists.bucket_of(user_key)),
            MemTableRep::Vector(vector) => {
                let entries = vector.sorted(&self.nodes);
                let mut index = entries.count_before(&self.nodes, key.internal_key());
                if self.nodes.checks().is_any() {
                    entries.check_place(&self.nodes, index)?;
                }
                while self.visit_version(entries.get(index), user_key, &mut visit) {
                    index += 1;
                    self.nodes.check_entry(entries.get(index))?;
                }
                None
            }
        };
        match list {
            Some(list) if self.nodes.checks().is_any() => self.visit_list_checked(list, key, &mut visit)?,
            Some(list) => self.visit_list(list, key, visit),
            None => {}
        }
        Ok(())
    }

    fn visit_list_checked(
        &self,
        list: List<'_>,
        key: &LookupKey,
        visit: &mut impl FnMut(SequenceNumber, ValueType, &[u8]) -> bool,
    ) -> Result<()> {
        let mut position = self.nodes.find_checked(list, Place::AtOrAfter(key.internal_key()))?;
        loop {
            // An entry of the key: where values are written over, its lock is held.
            if self.nodes.key(position).is_some_and(|found| user_key_of(found) == key.user_key()) {
                self.nodes.check_entry(position)?;
            }
            if !self.visit_version(position, key.user_key(), visit) {
                return Ok(());
            }
            position = self.nodes.next_checked(position)?;
        }
    }

    #[inline(always)]
    fn visit_list(
        &self,
        list: List<'_>,
        key: &LookupKey,
        mut visit: impl FnMut(SequenceNumber, ValueType, &[u8]) -> bool,
    ) {
        let mut position = self.nodes.seek(list, key.internal_key());
        while self.visit_version(position, key.user_key(), &mut visit) {
            position = self.nodes.next(position);
        }
    }

    /// Calls `visit` with an entry if that is a version of `user_key`; false when it was the last one wanted.
    #[inline(always)]
    fn visit_version(
        &self,
        position: Position,
        user_key: &[u8],
        visit: &mut impl FnMut(SequenceNumber, ValueType, &[u8]) -> bool,
    ) -> bool {
        let Some(found) = self.nodes.key(position) else { return false };
        if !self.nodes.comparator().user().equal(user_key_of(found), user_key) {
            return false;
        }
        // Not before: that of another key may be written over at this moment, under a lock that the caller has not.
        let Some(value) = self.nodes.value(position) else { return false };
        let packed = trailer(found);
        // Only known types are added.
        let Some(value_type) = ValueType::from_u8(packed as u8) else { return false };
        visit(SequenceNumber(packed >> 8), value_type, value)
    }

    /// The newest range tombstone over `user_key` that a reader at `upper` sees. One load when there are no tombstones.
    #[inline]
    #[must_use]
    pub fn max_covering_tombstone(&self, user_key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber> {
        self.range_tombstones.max_covering(user_key, upper)
    }

    /// All range tombstones, fragmented; the result is cached until the next tombstone is added.
    #[must_use]
    pub fn range_tombstones(&self) -> Option<Arc<FragmentedRangeTombstones>> {
        self.range_tombstones.fragments()
    }

    /// Runs of deleted keys that scans of this memtable and all that is older have found.
    #[must_use]
    pub fn deleted_runs(&self) -> &DeletedRuns {
        &self.deleted_runs
    }

    /// True when an iterator that is placed shows what was inserted before, and going on, what is inserted before it
    /// comes there. Others go through a copy.
    #[must_use]
    pub fn iterates_in_place(&self) -> bool {
        matches!(self.rep, MemTableRep::SkipList(_))
    }

    /// Takes over the runs of deleted keys of the memtable that took writes before. No thread writes meanwhile.
    pub fn inherit_deleted_runs(&self, older: &Self) {
        self.deleted_runs.inherit(&older.deleted_runs);
    }

    /// Has the memtable flushed at the next write, however little is in it.
    pub fn want_flush(&self) {
        self.is_flush_wanted.store(true, Ordering::Relaxed);
    }

    /// Notes when entries were written, in seconds since 1970: of the first ones, behind which nothing is asked.
    #[inline]
    pub fn note_written(&self, unix_seconds: impl FnOnce() -> u64) {
        if self.first_written_secs.load(Ordering::Relaxed) == 0 {
            // Of two threads that write first the first one counts.
            let now = unix_seconds().max(1);
            let _ = self.first_written_secs.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// When the first entry was written, in seconds since 1970; `None`: there is none, or its time is not known.
    #[must_use]
    pub fn first_written_secs(&self) -> Option<u64> {
        Some(self.first_written_secs.load(Ordering::Relaxed)).filter(|seconds| *seconds > 0)
    }

    /// True after [`want_flush`](Self::want_flush).
    #[must_use]
    pub fn is_flush_wanted(&self) -> bool {
        self.is_flush_wanted.load(Ordering::Relaxed)
    }

    /// False if the memtable certainly has no entry of `user_key` (range tombstones aside).
    #[inline]
    #[must_use]
    pub fn may_contain(&self, user_key: &[u8]) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_contain(user_key))
    }

    /// What the filter says of a user key, for those that count; `None` without a filter.
    #[must_use]
    pub fn filter_answer(&self, user_key: &[u8]) -> Option<bool> {
        self.filter.as_ref().map(|filter| filter.may_contain(user_key))
    }

    /// The extractor of the prefixes in the filter.
    pub(crate) fn filtered_prefixes(&self) -> Option<&PrefixExtractor> {
        self.filter.as_ref()?.prefix_extractor.as_ref()
    }

    /// False if the memtable certainly has no key with the prefix of `user_key` (range tombstones aside).
    #[must_use]
    pub fn prefix_may_match(&self, user_key: &[u8]) -> bool {
        let Some(filter) = &self.filter else { return true };
        filter.prefix(user_key).is_none_or(|prefix| filter.bloom.may_contain(prefix))
    }

    /// Bytes in use: entries, towers, leftovers of full arena blocks, range tombstones, Bloom filter. Grows with every
    /// entry; flush thresholds are compared with it. Hash tables, locks and arrays that reads sorted are not
    /// counted.
    #[must_use]
    pub fn approximate_memory_bytes(&self) -> usize {
        self.nodes.arena().used_bytes() + self.beside_arena_bytes()
    }

    /// Bytes taken from the system: as [`approximate_memory_bytes`](Self::approximate_memory_bytes), with the free part
    /// of the current arena block, hash tables, locks and sorted arrays.
    #[must_use]
    pub fn allocated_memory_bytes(&self) -> usize {
        let locks = self.value_locks.as_ref().map_or(0, ValueLocks::memory_bytes);
        self.nodes.arena().allocated_bytes() + self.beside_arena_bytes() + self.rep.index_bytes() + locks
    }

    /// Reports to the tracker, if there is one, the memory allocated since the last report.
    pub fn report_memory(&self) {
        if self.tracked.is_wanted() {
            self.tracked.report(self.allocated_memory_bytes());
        }
    }

    /// Tells the tracker, if there is one, that no more entries will be added.
    pub fn retire(&self) {
        self.report_memory();
        self.tracked.retire();
    }

    fn beside_arena_bytes(&self) -> usize {
        let filter = self.filter.as_ref().map_or(0, |filter| filter.bloom.memory_bytes());
        self.range_tombstones.memory_bytes() + filter
    }

    /// Entries added, range tombstones included.
    #[must_use]
    pub fn num_entries(&self) -> u64 {
        self.counters.entries.load(Ordering::Relaxed)
    }

    /// Point tombstones added.
    #[must_use]
    pub fn num_deletes(&self) -> u64 {
        self.counters.deletes.load(Ordering::Relaxed)
    }

    /// Range tombstones added.
    #[must_use]
    pub fn num_range_deletes(&self) -> u64 {
        self.range_tombstones.count() as u64
    }

    /// Bytes of internal keys and values added.
    #[must_use]
    pub fn data_size_bytes(&self) -> u64 {
        self.counters.data_size_bytes.load(Ordering::Relaxed)
    }

    /// True if no entry was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.num_entries() == 0
    }

    /// The smallest sequence number added.
    #[must_use]
    pub fn smallest_sequence(&self) -> Option<SequenceNumber> {
        (!self.is_empty()).then(|| SequenceNumber(self.counters.smallest_sequence.load(Ordering::Relaxed)))
    }

    /// The largest sequence number added.
    #[must_use]
    pub fn largest_sequence(&self) -> Option<SequenceNumber> {
        (!self.is_empty()).then(|| SequenceNumber(self.counters.largest_sequence.load(Ordering::Relaxed)))
    }

    /// Turns over a bit of the key or the value of the newest entry of a key, as failing memory does; false if there is
    /// none. For tests, in which no other thread uses the memtable meanwhile.
    #[cfg(any(test, feature = "test-faults"))]
    #[doc(hidden)]
    pub fn turn_over_bit(&self, user_key: &[u8], bit: usize) -> bool {
        let target = LookupKey::new(user_key, MAX_SEQUENCE_NUMBER);
        let position = match &self.rep {
            MemTableRep::SkipList(list) => self.nodes.seek(list.list(&self.nodes), target.internal_key()),
            MemTableRep::Hash(lists) => {
                let list = lists.list(&self.nodes, lists.bucket_of(user_key));
                list.map_or_else(Position::default, |list| self.nodes.seek(list, target.internal_key()))
            }
            MemTableRep::Vector(vector) => {
                let entries = vector.sorted(&self.nodes);
                entries.get(entries.count_before(&self.nodes, target.internal_key()))
            }
        };
        // SAFETY: the caller sees to it that no other thread uses the memtable.
        unsafe { self.nodes.flip_bit(position, bit) }
    }

    /// Checks that every level of every list is a sorted part of the level below it.
    #[cfg(test)]
    pub(crate) fn check_towers(&self) {
        match &self.rep {
            MemTableRep::SkipList(list) => list.check_towers(&self.nodes),
            MemTableRep::Hash(lists) => lists.check_towers(&self.nodes),
            MemTableRep::Vector(_) => {}
        }
    }

    /// The approximate number of point entries in `[start, end)` (internal keys).
    #[must_use]
    pub fn approximate_entries_between(&self, start: &[u8], end: &[u8]) -> u64 {
        let nodes = &self.nodes;
        match &self.rep {
            MemTableRep::SkipList(list) => {
                let rank = |key| nodes.estimate_rank(list.list(nodes), key);
                let between = rank(end).saturating_sub(rank(start));
                between.min(self.num_entries().saturating_sub(self.num_range_deletes()))
            }
            rep => rep.sorted(nodes).map_or(0, |entries| {
                let rank = |key| entries.count_before(nodes, key);
                rank(end).saturating_sub(rank(start)) as u64
            }),
        }
    }

    /// The first point entry's internal key.
    #[must_use]
    pub fn smallest_key(&self) -> Option<&[u8]> {
        let position = match &self.rep {
            MemTableRep::SkipList(list) => self.nodes.first(list.list(&self.nodes)),
            rep => rep.sorted(&self.nodes)?.get(0),
        };
        self.nodes.key(position)
    }

    /// The last point entry's internal key.
    #[must_use]
    pub fn largest_key(&self) -> Option<&[u8]> {
        let position = match &self.rep {
            MemTableRep::SkipList(list) => self.nodes.last(list.list(&self.nodes)),
            rep => {
                let entries = rep.sorted(&self.nodes)?;
                entries.get(entries.len().wrapping_sub(1))
            }
        };
        self.nodes.key(position)
    }
}

#[inline]
fn check_limits(sequence: SequenceNumber, user_key: &[u8], value: &[u8]) -> Result<()> {
    const LONGEST_KEY: usize = u32::MAX as usize - TRAILER_SIZE;
    if user_key.len() <= LONGEST_KEY && value.len() <= u32::MAX as usize && sequence <= MAX_SEQUENCE_NUMBER {
        return Ok(());
    }
    Err(too_large(sequence, user_key.len(), value.len()))
}

#[cold]
fn too_large(sequence: SequenceNumber, key_length: usize, value_length: usize) -> Error {
    Error::invalid_argument(format!(
        "an entry of {key_length} bytes of key, {value_length} of value and sequence number {sequence} does not fit: \
         lengths are below 4 GiB, sequence numbers below 2^56"
    ))
}

#[cold]
fn duplicate(sequence: SequenceNumber, user_key: &[u8]) -> Error {
    let key = user_key[..user_key.len().min(64)].escape_ascii();
    Error::new(ErrorKind::TryAgain, format!("key {key} at sequence number {sequence} is in the memtable already"))
}
