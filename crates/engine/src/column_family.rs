//! A column family: its options, the memtable being written, and what readers pin.

use crate::metrics::levels::LevelCounts;
use crate::metrics::stalls::StallCounts;
use crate::options::ColumnFamilyOptions;
use crate::resting::{RestingIterators, RestingPlace};
use crate::super_version::SuperVersionCell;
use arc_swap::{ArcSwap, Guard};
use ferrock_base::byte_text::to_bytes;
use ferrock_base::merge::MergeOperator;
use ferrock_base::{Error, InternalComparator, Result};
use ferrock_memtable::{Companion, MemTable, MemTableOptions, MemoryTracker};
use ferrock_table::adaptive::HashIndexChoice;
use ferrock_tree::blob::{BlobCache, DirectBlobs, DirectPlace};
use ferrock_tree::counted_callbacks::counted_merges;
use ferrock_tree::table_cache::TableCache;
use ferrock_tree::version::Version;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// What a read pins: everything it may look into.
pub(crate) struct SuperVersion {
    /// Being written.
    pub(crate) memtable: Arc<MemTable>,
    /// Full, waiting for their flush; newest first.
    pub(crate) immutable: Vec<Arc<MemTable>>,
    /// The tables.
    pub(crate) version: Arc<Version>,
    /// The options of that moment.
    pub(crate) options: Arc<ColumnFamilyOptions>,
    /// Their merge operator, which counts where there are statistics.
    pub(crate) merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Iterators for those that are made next.
    pub(crate) resting: RestingIterators<Self>,
}

impl RestingPlace for SuperVersion {
    fn resting(&self) -> &RestingIterators<Self> {
        &self.resting
    }
    /// An iterator has the tombstones of the memtable that there were when it was made.
    fn is_fit_for_rest(&self) -> bool {
        self.memtable.num_range_deletes() == 0
    }
}

/// Counts changes of what readers see that no write makes: files that are taken in, and files that are taken away. What
/// scans have found out about deleted keys is not true any more then.
///
/// ```text
/// | how many began (48 bits) | how many are not over (16) |
/// ```
///
/// Changes overlap: files are taken away under no lock while others are taken in.
#[derive(Debug, Default)]
pub(crate) struct OutsideChanges(AtomicU64);

const UNDER_WAY_BITS: u32 = 16;

/// From before the change is installed until after it.
pub(crate) struct OutsideChange<'a>(&'a AtomicU64);

impl OutsideChanges {
    /// Begins a change.
    pub(crate) fn begin(&self) -> OutsideChange<'_> {
        self.0.fetch_add((1 << UNDER_WAY_BITS) + 1, Ordering::SeqCst);
        OutsideChange(&self.0)
    }

    /// How many changes there were; `None` during one.
    pub(crate) fn generation(&self) -> Option<u64> {
        let counts = self.0.load(Ordering::SeqCst);
        let under_way = counts % (1 << UNDER_WAY_BITS);
        (under_way == 0).then_some(counts >> UNDER_WAY_BITS)
    }
}

impl Drop for OutsideChange<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The options of a family as they are now.
pub(crate) struct FamilyOptions {
    current: ArcSwap<ColumnFamilyOptions>,
    /// Copies of what every write asks for: a load each, where those of the options take about fifty instructions.
    write_buffer_size: AtomicUsize,
    memtable_max_range_deletions: AtomicU32,
}

impl FamilyOptions {
    fn new(options: Arc<ColumnFamilyOptions>) -> Self {
        Self {
            write_buffer_size: AtomicUsize::new(options.write_buffer_size),
            memtable_max_range_deletions: AtomicU32::new(options.memtable_max_range_deletions),
            current: ArcSwap::new(options),
        }
    }

    /// The options, for a moment.
    #[inline]
    pub(crate) fn load(&self) -> Guard<Arc<ColumnFamilyOptions>> {
        self.current.load()
    }

    /// The options, to keep.
    pub(crate) fn load_full(&self) -> Arc<ColumnFamilyOptions> {
        self.current.load_full()
    }

    /// Replaces the options. One thread at a time: under the lock of installs.
    pub(crate) fn store(&self, options: Arc<ColumnFamilyOptions>) {
        self.write_buffer_size.store(options.write_buffer_size, Ordering::Relaxed);
        self.memtable_max_range_deletions.store(options.memtable_max_range_deletions, Ordering::Relaxed);
        self.current.store(options);
    }
}

/// The shared part of a column family.
pub(crate) struct ColumnFamilyData {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) comparator: InternalComparator,
    pub(crate) options: FamilyOptions,
    /// Opens the family's tables and keeps them open.
    pub(crate) table_cache: Arc<TableCache>,
    /// Keeps values of its blob files in memory.
    pub(crate) blob_cache: Option<Arc<BlobCache>>,
    /// Decides about hash indexes in data blocks.
    pub(crate) hash_index_choice: Arc<HashIndexChoice>,
    /// Told of the memory of memtables.
    memory_tracker: Option<Arc<dyn MemoryTracker>>,
    /// Where values are written at once, if the family was opened for that.
    direct: Option<DirectPlace>,
    /// Replaced by the leader of the writers, under the lock of the scheduler of jobs.
    pub(crate) memtable: ArcSwap<MemTable>,
    pub(crate) super_version: SuperVersionCell<SuperVersion>,
    pub(crate) is_dropped: AtomicBool,
    /// Changes of what readers see by other ways than writes.
    pub(crate) outside_changes: OutsideChanges,
    /// The memtable is full; the next leader switches it.
    pub(crate) is_memtable_full: AtomicBool,
    /// How often writers had to wait for this family.
    pub(crate) stalls: StallCounts,
    /// What its jobs read and wrote.
    pub(crate) jobs: LevelCounts,
}

impl ColumnFamilyData {
    pub(crate) fn new(
        id: u32,
        name: String,
        options: Arc<ColumnFamilyOptions>,
        version: Arc<Version>,
        table_cache: Arc<TableCache>,
        blob_cache: Option<Arc<BlobCache>>,
        memory_tracker: Option<Arc<dyn MemoryTracker>>,
        direct: Option<DirectPlace>,
    ) -> Arc<Self> {
        let comparator = InternalComparator::new(options.comparator.clone());
        let direct = direct.filter(|_| options.enable_blob_files && options.enable_blob_direct_write);
        let memtable = new_memtable(&options, memory_tracker.clone(), direct.clone());
        let super_version = Arc::new(SuperVersion {
            memtable: Arc::clone(&memtable),
            immutable: Vec::new(),
            version,
            merge_operator: counted_merges(options.merge_operator.as_ref(), table_cache.statistics()),
            options: Arc::clone(&options),
            resting: RestingIterators::default(),
        });
        Arc::new(Self {
            id,
            name,
            comparator,
            options: FamilyOptions::new(options),
            hash_index_choice: Arc::new(HashIndexChoice::new(Arc::clone(table_cache.read_stats()))),
            table_cache,
            blob_cache,
            memory_tracker,
            direct,
            memtable: ArcSwap::new(memtable),
            super_version: SuperVersionCell::new(super_version),
            is_dropped: AtomicBool::new(false),
            outside_changes: OutsideChanges::default(),
            is_memtable_full: AtomicBool::new(false),
            stalls: StallCounts::default(),
            jobs: LevelCounts::default(),
        })
    }

    /// An empty memtable as the options want it now.
    pub(crate) fn new_memtable(&self) -> Arc<MemTable> {
        new_memtable(&self.options.load(), self.memory_tracker.clone(), self.direct.clone())
    }

    /// True when values are written to blob files at once.
    pub(crate) fn writes_directly(&self) -> bool {
        self.direct.is_some()
    }

    /// The memtables whose values may be in blob files that no version has.
    pub(crate) fn direct_memtables(&self) -> Vec<Arc<MemTable>> {
        if self.direct.is_none() {
            return Vec::new();
        }
        let pinned = self.super_version.load();
        std::iter::once(&pinned.memtable).chain(&pinned.immutable).cloned().collect()
    }

    /// True when `memtable`, one of this family, wants to be flushed: for its bytes, its range deletions, or what scans
    /// pass over in it.
    pub(crate) fn is_full(&self, memtable: &MemTable) -> bool {
        let most_ranges = u64::from(self.options.memtable_max_range_deletions.load(Ordering::Relaxed));
        memtable.approximate_memory_bytes() >= self.options.write_buffer_size.load(Ordering::Relaxed)
            || (most_ranges > 0 && memtable.num_range_deletes() >= most_ranges)
            || memtable.is_flush_wanted()
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire)
    }
}

/// An empty memtable as the options want it.
fn new_memtable(
    options: &ColumnFamilyOptions,
    tracker: Option<Arc<dyn MemoryTracker>>,
    direct: Option<DirectPlace>,
) -> Arc<MemTable> {
    let prefix_bloom_bits = (options.write_buffer_size as f64 * options.memtable_prefix_bloom_size_ratio) as usize * 8;
    let in_place_locks = if options.inplace_update_support { options.inplace_update_num_locks } else { 0 };
    Arc::new(MemTable::new(MemTableOptions {
        comparator: InternalComparator::new(options.comparator.clone()),
        arena_block_bytes: options.arena_block_size,
        prefix_extractor: options.prefix_extractor.clone(),
        prefix_bloom_bits,
        whole_key_filtering: options.memtable_whole_key_filtering,
        tracker,
        kind: options.memtable_factory.kind(),
        huge_page_bytes: options.memtable_huge_page_size,
        hint_prefixes: options.memtable_insert_with_hint_prefix_extractor.0.clone(),
        in_place_locks,
        // The options allow up to eight.
        protection_bytes: options.memtable_protection_bytes_per_key as u8,
        verify_on_seek: options.memtable_verify_per_key_checksum_on_seek,
        check_order: options.paranoid_memory_checks,
        companion: direct.map(|place| -> Arc<dyn Companion> { Arc::new(DirectBlobs::new(place)) }),
    }))
}

/// Families whose ids differ in so many of the lowest bits are in one group of a [`FamilyMap`].
const GROUP_BITS: u32 = 7;

type FamilyGroup = HashMap<u32, Arc<ColumnFamilyData>>;

/// The live column families, by id and by name. Replaced as a whole when one is created or dropped: the new map shares
/// all groups but one with the old, so that a change of many thousand families copies few.
#[derive(Default, Clone)]
pub(crate) struct FamilyMap {
    by_id: HashMap<u32, Arc<FamilyGroup>>,
    len: usize,
    default: Option<Arc<ColumnFamilyData>>,
    /// Families whose end is being made durable.
    leaving: BTreeMap<u32, Arc<ColumnFamilyData>>,
    /// Some family writes over values in its memtable.
    has_in_place: bool,
    /// Some family has puts that are changes.
    has_callback: bool,
    /// Some family writes values to blob files at once.
    has_direct: bool,
    /// Grows with every change: what was checked against another generation must be checked again.
    generation: u64,
}

impl FamilyMap {
    pub(crate) fn insert(&mut self, data: Arc<ColumnFamilyData>) {
        self.generation += 1;
        if data.id == 0 {
            self.default = Some(Arc::clone(&data));
        }
        self.has_direct |= data.writes_directly();
        let options = data.options.load();
        self.has_in_place |= options.inplace_update_support;
        self.has_callback |= options.inplace_update_support && options.inplace_callback.is_some();
        drop(options);
        let group = Arc::make_mut(self.by_id.entry(data.id >> GROUP_BITS).or_default());
        self.len += usize::from(group.insert(data.id, data).is_none());
    }

    /// From now on the family takes no writes.
    pub(crate) fn begin_drop(&mut self, id: u32) {
        self.generation += 1;
        if let Some(group) = self.by_id.get_mut(&(id >> GROUP_BITS)).map(Arc::make_mut) {
            let data = group.remove(&id);
            self.len -= usize::from(data.is_some());
            self.leaving.extend(data.map(|data| (id, data)));
            if group.is_empty() {
                self.by_id.remove(&(id >> GROUP_BITS));
            }
        }
    }

    /// The family is gone, or it is back.
    pub(crate) fn end_drop(&mut self, id: u32, back: Option<Arc<ColumnFamilyData>>) {
        self.generation += 1;
        self.leaving.remove(&id);
        if let Some(data) = back {
            self.insert(data);
        }
    }

    /// True while the end of a family is being made durable: it takes no writes, and may come back.
    pub(crate) fn is_leaving(&self, id: u32) -> bool {
        self.leaving.contains_key(&id)
    }

    /// How many [`iter_with_leaving`](Self::iter_with_leaving) gives.
    pub(crate) fn len_with_leaving(&self) -> usize {
        self.len + self.leaving.len()
    }

    /// The families that are there, and those that may come back: records of the logs are of both.
    pub(crate) fn iter_with_leaving(&self) -> impl Iterator<Item = &Arc<ColumnFamilyData>> {
        self.iter().chain(self.leaving.values())
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&Arc<ColumnFamilyData>> {
        if id == 0 { self.default.as_ref() } else { self.get_other(id) }
    }

    #[inline(never)]
    fn get_other(&self, id: u32) -> Option<&Arc<ColumnFamilyData>> {
        self.by_id.get(&(id >> GROUP_BITS))?.get(&id)
    }

    /// The family that every database has.
    #[inline]
    pub(crate) fn default_family(&self) -> Result<&Arc<ColumnFamilyData>> {
        self.default.as_ref().ok_or_else(|| Error::corruption("the database has no default column family"))
    }

    pub(crate) fn has_in_place(&self) -> bool {
        self.has_in_place
    }

    pub(crate) fn has_callback(&self) -> bool {
        self.has_callback
    }

    pub(crate) fn has_direct(&self) -> bool {
        self.has_direct
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<ColumnFamilyData>> {
        self.iter().find(|data| data.name == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<ColumnFamilyData>> {
        self.by_id.values().flat_map(|group| group.values())
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// A handle of a column family. Cheap to clone; `'static` and `Send`; good as long as the database is open and the
/// family is not dropped.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # options.create_missing_column_families = true;
/// let families = ["default", "users"].map(|name| (name.to_owned(), ferrock::ColumnFamilyOptions::default()));
/// let (db, handles) = ferrock::Db::open_cf(directory.path(), options, families.to_vec())?;
/// db.put_cf(&handles[1], b"7", b"Ada", &ferrock::WriteOptions::default())?;
/// assert_eq!(handles[1].name(), "users");
/// # Ok::<(), ferrock::Error>(())
/// ```
#[derive(Clone)]
pub struct ColumnFamily {
    pub(crate) data: Arc<ColumnFamilyData>,
}

impl ColumnFamily {
    /// The number of the family, as batches and the MANIFEST have it. Never used again after a drop.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.data.id
    }

    /// The name given at creation. Of a name that is not UTF-8, the text that stands for it
    /// ([`byte_text`](crate::byte_text)).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.data.name
    }

    /// The bytes of the name, as the MANIFEST has them.
    #[must_use]
    pub fn name_bytes(&self) -> Cow<'_, [u8]> {
        to_bytes(&self.data.name)
    }

    /// The order of the keys.
    #[must_use]
    pub fn comparator(&self) -> &ferrock_base::Comparator {
        self.data.comparator.user()
    }

    /// The options as they are now, with every change that [`Db::set_options_cf`](crate::Db::set_options_cf) made.
    #[must_use]
    pub fn options(&self) -> Arc<ColumnFamilyOptions> {
        self.data.options.load_full()
    }
}

impl fmt::Debug for ColumnFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnFamily").field("id", &self.data.id).field("name", &self.data.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_generation_while_any_change_is_under_way() {
        let changes = OutsideChanges::default();
        let before = changes.generation().unwrap();
        let first = changes.begin();
        assert_eq!(changes.generation(), None);
        let second = changes.begin();
        assert_eq!(changes.generation(), None, "two are under way");
        drop(first);
        assert_eq!(changes.generation(), None);
        drop(second);
        let after = changes.generation().unwrap();
        assert_eq!(after, before + 2);
        drop(changes.begin());
        assert_eq!(changes.generation(), Some(after + 1));
    }
}
