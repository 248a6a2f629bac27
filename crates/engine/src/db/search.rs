//! Looking a key up in what a SuperVersion has, source after source, as of one sequence number.

use super::DbCore;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::metrics::operations::{Watch, note_lookup};
use crate::options::{ReadOptions, ReadTier};
use crate::snapshot::Snapshot;
use ferrock_base::{Error, ErrorKind, LookupKey, Result};
use ferrock_memtable::MemTable;
use ferrock_statistics::{LevelMetric, PerfLaps, PerfMetric, PerfRecorder, PerfTimer, ThreadState};
use ferrock_table::{LookupCounts, LookupRecorder, NoCounts, TableReadOptions, ValuePin};
use ferrock_tree::blob::{BlobView, FetchBlob};
use ferrock_tree::iterator::range_tombstones::covering_sequence_in_file;
use ferrock_tree::read::{GetContext, PinnedValue, ReadView};
use ferrock_tree::table_cache::{TableCache, TableRef};
use ferrock_tree::version::Version;
use ferrock_vfs::{IoActivity, ReadClass, thread_cpu_ns};
use std::sync::Arc;

/// A value read: copied out of a memtable, or left where it is in a cached block and kept alive. `'static` and `Send`.
pub type PinnedSlice = PinnedValue<ValuePin>;

impl ReadOptions {
    /// Those for tables, which are read for some work.
    pub(crate) fn for_table(&self, activity: IoActivity) -> TableReadOptions {
        TableReadOptions {
            verify_checksums: self.verify_checksums,
            fill_cache: self.fill_cache,
            cache_data_blocks: self.cache_data_blocks,
            read_tier: self.read_tier,
            total_order_seek: self.total_order_seek && !self.auto_prefix_mode,
            readahead_bytes: self.readahead_size,
            io_gap_bytes: self.io_gap_bytes,
            deadline_us: u64::try_from(self.deadline.as_micros()).unwrap_or(u64::MAX),
            io_timeout: self.io_timeout,
            rate_limiter_priority: self.rate_limiter_priority,
            async_io: self.async_io,
            adaptive_readahead: self.adaptive_readahead,
            auto_readahead_size: self.auto_readahead_size,
            activity,
            pauses: false,
        }
    }
}

/// What a read with these options sees: its snapshot, or what is visible now.
pub(super) fn view_for(core: &DbCore, options: &ReadOptions) -> ReadView {
    ReadView::UpTo(options.snapshot.as_ref().map_or_else(|| core.visible(), Snapshot::sequence))
}

/// The value of a key.
pub(crate) fn get(
    core: &DbCore,
    data: &ColumnFamilyData,
    options: &ReadOptions,
    key: &[u8],
) -> Result<Option<PinnedSlice>> {
    let thread = ThreadState::current();
    if core.metrics.counts(thread) {
        return get_counted(core, data, options, key, thread);
    }
    look_up(core, data, options, key, (thread, None), |pinned, lookup, mut context| {
        if context.needs_tables()
            && let Err(error) = search_tables(data, pinned, lookup, options, &mut context, &NoCounts)
        {
            context.fail(error);
        }
        context.fetch_blob(|index| blob_view(core, data, &pinned.version, options).fetch(key, index));
        context.finish()
    })
}

/// As [`get`], where something counts.
fn get_counted(
    core: &DbCore,
    data: &ColumnFamilyData,
    options: &ReadOptions,
    key: &[u8],
    thread: ThreadState,
) -> Result<Option<PinnedSlice>> {
    let LookupRecorder { recorder, perf } = core.metrics.lookup_recorder(thread);
    match (recorder, perf) {
        (Some(recorder), None) => get_watched(core, data, options, key, thread, recorder),
        (recorder, perf) => get_watched(core, data, options, key, thread, LookupRecorder { recorder, perf }),
    }
}

#[inline(never)]
fn get_watched(
    core: &DbCore,
    data: &ColumnFamilyData,
    options: &ReadOptions,
    key: &[u8],
    thread: ThreadState,
    counts: impl LookupCounts,
) -> Result<Option<PinnedSlice>> {
    let watch = Watch::new(counts, &*core.env.clock);
    let perf = watch.counts().perf();
    let _processor = PerfTimer::of_processor(perf, PerfMetric::GetCpuNanos, thread_cpu_ns);
    look_up(core, data, options, key, (thread, perf), |pinned, lookup, mut context| {
        let asks_tables = context.needs_tables();
        if asks_tables {
            let _timer = PerfTimer::of(perf, PerfMetric::GetFromOutputFilesTime);
            if let Err(error) = search_tables(data, pinned, lookup, options, &mut context, watch.counts()) {
                context.fail(error);
            }
        }
        let _timer = PerfTimer::of(perf, PerfMetric::GetPostProcessTime);
        context.fetch_blob(|index| blob_view(core, data, &pinned.version, options).fetch(key, index));
        note_lookup(watch.counts(), &context, asks_tables);
        let found = context.finish();
        watch.end_get(&found);
        found
    })
}

/// Looks a key up in the memtables, as of now, and leaves the rest to `finish`.
#[inline(always)]
pub(super) fn look_up<R>(
    core: &DbCore,
    data: &ColumnFamilyData,
    options: &ReadOptions,
    key: &[u8],
    (thread, perf): (ThreadState, Option<PerfRecorder>),
    finish: impl FnOnce(&Arc<SuperVersion>, &LookupKey, GetContext<'_, ValuePin>) -> R,
) -> R {
    let thread = thread.ordinal();
    let mut laps = PerfLaps::of(perf);
    let pinned = data.super_version.pin(thread);
    let view = view_for(core, options);
    laps.lap(PerfMetric::GetSnapshotTime);
    let lookup = LookupKey::new(key, view.newest());
    let mut context = GetContext::new(key, view, pinned.merge_operator.as_deref());
    if search_memtables(&pinned, &lookup, &mut context, perf) {
        data.table_cache.read_stats().note_lookups(thread, 1);
    }
    finish(&pinned, &lookup, context)
}

#[inline]
pub(super) fn blob_view<'a>(
    core: &'a DbCore,
    data: &'a ColumnFamilyData,
    version: &'a Version,
    options: &ReadOptions,
) -> BlobView<'a> {
    BlobView {
        source: core.reads.blob_source(),
        version,
        column_family_id: data.id,
        cache: data.blob_cache.as_deref(),
        fill_cache: options.fill_cache && options.cache_data_blocks,
        verify_checksums: options.verify_checksums,
        read_tier: options.read_tier,
        context: options.for_table(IoActivity::Unknown).read_context(ReadClass::Other),
    }
}

/// Looks a key up in the memtables. True when tables are to be asked: such a lookup, and no other, is one that the
/// family counts, in whichever call it is ([`ReadStats`]), as the counts decide how tables are written.
#[inline(always)]
pub(super) fn search_memtables(
    pinned: &SuperVersion,
    lookup: &LookupKey,
    context: &mut GetContext<'_, ValuePin>,
    perf: Option<PerfRecorder>,
) -> bool {
    let mut laps = PerfLaps::of(perf);
    for memtable in std::iter::once(&pinned.memtable).chain(&pinned.immutable) {
        if let Some(perf) = perf {
            count_memtable(perf, memtable, lookup.user_key());
        }
        context.add_covering_tombstone(memtable.max_covering_tombstone(lookup.user_key(), context.newest()));
        let found =
            memtable.get(lookup, |sequence, value_type, value| context.add(sequence, value_type, value, || None));
        if let Err(error) = found {
            context.fail(error);
        }
        if context.is_done() {
            laps.lap(PerfMetric::GetFromMemtableTime);
            return false;
        }
    }
    let needs_tables = context.needs_tables();
    if needs_tables && pinned.options.counts_reads() {
        context.draw_sample();
    }
    laps.lap(PerfMetric::GetFromMemtableTime);
    needs_tables
}

/// Counts a memtable that is asked for a key, and the answer of its filter.
fn count_memtable(perf: PerfRecorder, memtable: &MemTable, user_key: &[u8]) {
    if memtable.is_empty() {
        return;
    }
    perf.add(PerfMetric::GetFromMemtableCount, 1);
    match memtable.filter_answer(user_key) {
        Some(true) => perf.add(PerfMetric::BloomMemtableHitCount, 1),
        Some(false) => perf.add(PerfMetric::BloomMemtableMissCount, 1),
        None => {}
    }
}

/// Looks a key up in the tables, after the memtables.
pub(super) fn search_tables(
    data: &ColumnFamilyData,
    pinned: &SuperVersion,
    lookup: &LookupKey,
    options: &ReadOptions,
    context: &mut GetContext<'_, ValuePin>,
    counts: &impl LookupCounts,
) -> Result<()> {
    let table_options = options.for_table(IoActivity::Get);
    let mut candidates = pinned.version.candidates_of(lookup);
    let candidates = candidates.find();
    while let Some(file) = context.next_file(candidates) {
        let table = PerfTimer::time_of(counts.perf(), PerfMetric::FindTableNanos, || {
            table_for_read(&data.table_cache, file, options, IoActivity::Get)
        })?;
        if let Some(tombstones) = table.range_tombstones() {
            let (smallest, largest, key) = (&file.smallest, &file.largest, lookup.user_key());
            let covering = covering_sequence_in_file(tombstones, smallest, largest, key, context.newest());
            context.add_covering_tombstone(covering);
        }
        let level = file.level as usize;
        PerfTimer::time_of_level(counts.perf(), level, LevelMetric::GetFromTableNanos, || {
            table.get_counted(&table_options, lookup, counts, &mut |entry, value, block| {
                context.add(entry.sequence, entry.value_type, value, || Some(block.pin()))
            })
        })?;
        context.note_searched(file);
    }
    Ok(())
}

/// The open table of a file. Where reads are not allowed, a table that is not open answers `Incomplete`.
pub(super) fn table_for_read<'a>(
    cache: &TableCache,
    file: &'a ferrock_tree::version::FileMetadata,
    options: &ReadOptions,
    activity: IoActivity,
) -> Result<TableRef<'a>> {
    if options.read_tier == ReadTier::BlockCacheOnly {
        let table = cache.get_if_open(file).map(TableRef::Shared);
        return table.ok_or_else(not_open);
    }
    cache.get_ref_for(file, activity)
}

#[cold]
pub(super) fn not_open() -> Error {
    Error::new(ErrorKind::Incomplete, "the table is not open and the read may not open it")
}

#[cfg(test)]
mod damage_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::options::DbOptions;
    use ferrock_vfs::MemoryFileSystem;
    use std::time::Duration;

    /// Hash indexes of tables are chosen by these counts.
    #[test]
    fn a_lookup_counts_when_it_comes_to_tables_whichever_call_it_is_in() {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
        let db = Db::open("/db", options).unwrap();
        for key in [b"a", b"b", b"c"] {
            db.put(key, b"in a table").unwrap();
        }
        db.flush().unwrap();
        db.put(b"a", b"in the memtable").unwrap();
        db.delete_range(b"b", b"c").unwrap();
        let (data, family) = (db.core().default_family().unwrap(), db.column_family("default").unwrap());
        let lookups = || data.table_cache.read_stats().counts().lookups;
        let options = ReadOptions::default();
        for (keys, expected) in [([b"a", b"b"], 0), ([b"a", b"c"], 1), ([b"c", b"d"], 2)] {
            let keys = keys.map(|key| &key[..]);
            let count = |read: &mut dyn FnMut()| {
                let before = lookups();
                read();
                lookups() - before
            };
            let counted = [
                count(&mut || keys.iter().for_each(|key| drop(db.get(key).unwrap()))),
                count(&mut || keys.iter().for_each(|key| drop(db.get_async(&options, key)))),
                count(&mut || drop(db.multi_get(&keys))),
                count(&mut || drop(db.multi_get_families(&options, &keys.map(|key| (&family, key))))),
                count(&mut || drop(db.multi_get_async(&options, &keys))),
            ];
            assert_eq!(counted, [expected; 5], "{keys:?}");
        }
    }

    /// Reads that a file had no value for, by every call that reads; none where the option is off, and of those that
    /// the file answered.
    #[test]
    fn files_count_reads_that_find_nothing_in_them() {
        const READS: usize = 8 * 1024;
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
        let db = Db::open("/db", options).unwrap();
        let family = db.column_family("default").unwrap();
        let options = ReadOptions::default();
        [b"a", b"e", b"g"].into_iter().for_each(|key| db.put(key, b"old").unwrap());
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        db.put(b"a", b"value").unwrap();
        db.delete(b"b").unwrap();
        db.put(b"g", b"value").unwrap();
        db.flush().unwrap();
        let counted = |read: &dyn Fn()| {
            let counts = || {
                let version = Arc::clone(&db.core().default_family().unwrap().super_version.load().version);
                version.files().map(|(level, file)| (level > 0, file.collapsible_reads())).collect::<Vec<_>>()
            };
            let before = counts();
            (0..READS).for_each(|_| read());
            counts().iter().zip(before).map(|((_, after), (_, before))| after - before).collect::<Vec<_>>()
        };
        let lookup = |key: &'static [u8]| -> [Vec<u64>; 4] {
            [
                counted(&|| drop(db.get(key))),
                counted(&|| drop(db.multi_get(&[key]))),
                counted(&|| drop(db.multi_get_families(&options, &[(&family, key)]))),
                counted(&|| drop(db.multi_get_async(&options, &[key]))),
            ]
        };
        assert!(lookup(b"b").iter().flatten().all(|reads| *reads == 0), "the option is off");
        db.set_options_cf(&family, &[("read_triggered_compaction_threshold", "1000000")]).unwrap();
        // About as many as there were, in steps of 1024: in the table of level 0 and in that below.
        let few_or_many = |reads: &[u64]| reads.iter().map(|reads| *reads >= 3 * 1024).collect::<Vec<_>>();
        for (key, expected) in [(&b"a"[..], [false, false]), (b"b", [true, false]), (b"e", [true, false])] {
            for reads in lookup(key) {
                assert_eq!(few_or_many(&reads), expected, "{key:?}: {reads:?}");
                assert!(reads.iter().all(|reads| *reads < 20 * 1024 && reads % 1024 == 0), "{reads:?}");
            }
        }
        // A key that no table has, within both.
        lookup(b"f").iter().for_each(|reads| assert_eq!(few_or_many(reads), [true, true]));
    }

    #[test]
    fn what_tables_read_by() {
        let table = ReadOptions::default().for_table(IoActivity::Unknown);
        assert_eq!(table, TableReadOptions::default());
        let options = ReadOptions {
            deadline: Duration::from_secs(2),
            io_timeout: Duration::from_millis(3),
            async_io: true,
            adaptive_readahead: true,
            auto_readahead_size: false,
            ..ReadOptions::default()
        };
        let table = options.for_table(IoActivity::Get);
        assert_eq!((table.deadline_us, table.io_timeout), (2_000_000, Duration::from_millis(3)));
        assert_eq!(table.read_context(ReadClass::Data).activity, IoActivity::Get);
        assert!(table.async_io && table.adaptive_readahead && !table.auto_readahead_size);
    }
}
