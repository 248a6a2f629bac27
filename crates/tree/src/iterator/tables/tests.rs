//! Levels whose files are tables of two kinds: gets and scans show the same as a map.

use super::*;
use crate::iterator::{DbIterator, DbIteratorOptions, MergingIterator};
use crate::read::ReadView;
use crate::read::get::GetContext;
use crate::table_cache::{MutableTableCacheParams, OpenTables, TableCacheParams};
use crate::version::VersionBuilder;
use ferrock_base::internal_key::{LookupKey, make_internal_key, user_key};
use ferrock_base::{Comparator, FileNumber, InternalIterator, SequenceNumber, ValueType};
use ferrock_format::file_name;
use ferrock_format::version_edit::{NewFile, VersionEdit};
use ferrock_options::ColumnFamilySettings;
use ferrock_table::entries_table::EntriesTable;
use ferrock_table::{BlockTableBuilder, Table, TableBuilderParams, ValuePin};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Rows of one file.
const PER_FILE: usize = 4;

/// `None` is a deletion.
type Rows = BTreeMap<u8, Option<u8>>;

fn key(row: u8) -> Vec<u8> {
    vec![b'k', row]
}

struct Tree {
    cache: Arc<TableCache>,
    version: Arc<Version>,
}

impl Tree {
    /// Level 1 is newer than level 2. Of file `n`, bit `n` of `kinds` is set when it is a table of entries.
    fn new(levels: &[Rows; 2], kinds: u64) -> Self {
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        file_system.create_dir_all(Path::new("/db")).unwrap();
        let settings = ColumnFamilySettings::default();
        let mut edit = VersionEdit::default();
        for (level, rows) in (1u32..).zip(levels) {
            let rows: Vec<_> = rows.iter().collect();
            for rows in rows.chunks(PER_FILE) {
                let number = edit.new_files.len() as u64 + 1;
                let sequence = SequenceNumber(u64::from(10 - level));
                let entries: Vec<(Vec<u8>, Vec<u8>)> = rows
                    .iter()
                    .map(|(row, value)| {
                        let kind = if value.is_some() { ValueType::Value } else { ValueType::Deletion };
                        (make_internal_key(&key(**row), sequence, kind), value.iter().copied().collect())
                    })
                    .collect();
                let is_of_entries = kinds >> (number % 64) & 1 == 1;
                edit.new_files.push(NewFile {
                    level,
                    number: FileNumber(number),
                    size_bytes: write(&*file_system, number, &entries, is_of_entries),
                    smallest: entries[0].0.clone(),
                    largest: entries[entries.len() - 1].0.clone(),
                    smallest_seqno: sequence,
                    largest_seqno: sequence,
                    epoch_number: Some(number),
                    ..NewFile::default()
                });
            }
        }
        let mut builder = VersionBuilder::new(Arc::new(Version::empty(InternalComparator::default(), &settings)));
        builder.apply(&edit).unwrap();
        let cache = TableCache::new(TableCacheParams {
            file_system,
            paths: PathBuf::from("/db").into(),
            comparator: InternalComparator::default(),
            mutable: MutableTableCacheParams {
                table_options: Arc::default(),
                max_pinned_l0_file_size: u64::MAX,
                block_cache: None,
                prefix_extractor: None,
                plain_options: Arc::default(),
                protects_blocks: false,
            },
            cache_usage: Default::default(),
            bloom_locality: 0,
            file_options: RandomAccessOptions::default(),
            are_compactions_direct: false,
            verify_unique_id: true,
            open_tables: Arc::new(OpenTables::new(-1, None)),
            read_limiter: None,
            read_stats: Arc::default(),
            num_levels: 7,
            statistics: None,
        });
        Self { cache: Arc::new(cache), version: Arc::new(builder.build(&settings).unwrap()) }
    }

    fn get(&self, row: u8) -> Option<Vec<u8>> {
        let key = key(row);
        let lookup = LookupKey::new(&key, SequenceNumber(100));
        let mut context = GetContext::<ValuePin>::new(&key, ReadView::UpTo(SequenceNumber(100)), None);
        let mut candidates = self.version.candidates_of(&lookup);
        let candidates = candidates.find();
        while let Some(file) = context.next_file(candidates) {
            let table = self.cache.get_ref(file).unwrap();
            table
                .get(&TableReadOptions::default(), &lookup, &mut |entry, value, source| {
                    context.add(entry.sequence, entry.value_type, value, || Some(source.pin()))
                })
                .unwrap();
        }
        let value = context.finish().unwrap();
        assert!(value.as_ref().is_none_or(|value| value.is_pinned()), "a value of a table is not copied");
        value.map(|value| value.into_vec())
    }

    fn scan(&self, lower: u8, upper: u8, is_planned: bool) -> DbIterator<Child, ()> {
        let mut options = DbIteratorOptions::new(Comparator::Bytewise, ReadView::UpTo(SequenceNumber(100)));
        (options.lower_bound, options.upper_bound) = (Some(key(lower)), Some(key(upper)));
        let bounds = Arc::new(ScanBounds::new(options.lower_bound.clone(), options.upper_bound.clone()));
        let runs = self.version.file_runs(bounds.lower(), bounds.upper());
        let children = (1..=2).map(|level| {
            let (cache, run) = (Arc::clone(&self.cache), runs.in_level(level));
            let (read, bounds) = (TableReadOptions::default(), Arc::clone(&bounds));
            ChildIterator::Level(table_level_iterator(cache, (&self.version, level), run, read, bounds))
        });
        let merging = MergingIterator::new(InternalComparator::default(), children.collect());
        DbIterator::new(if is_planned { merging.deferring_reads() } else { merging }, options, ())
    }
}

/// Writes a table and returns its size.
fn write(file_system: &dyn FileSystem, number: u64, entries: &[(Vec<u8>, Vec<u8>)], is_of_entries: bool) -> u64 {
    let path = Path::new("/db").join(file_name::table(FileNumber(number)));
    let file = file_system.create_writable(&path, &WritableOptions::default()).unwrap();
    if is_of_entries {
        return EntriesTable::write(file, entries).unwrap();
    }
    let mut builder = BlockTableBuilder::new(TableBuilderParams::new(InternalComparator::default()), file).unwrap();
    for (key, value) in entries {
        builder.add(key, value).unwrap();
    }
    builder.finish().unwrap().file_size
}

fn rows() -> impl Strategy<Value = Rows> {
    prop::collection::btree_map(0u8..60, prop::option::weighted(0.8, any::<u8>()), 0..40)
}

proptest! {
    #[test]
    fn tables_of_two_kinds_serve_gets_and_scans(
        levels in [rows(), rows()],
        kinds in any::<u64>(),
        (lower, upper) in (0u8..60, 0u8..60),
        is_planned in any::<bool>(),
    ) {
        let tree = Tree::new(&levels, kinds);
        let mut expected = levels[1].clone();
        expected.extend(&levels[0]);
        for row in 0..60 {
            prop_assert_eq!(tree.get(row), expected.get(&row).copied().flatten().map(|value| vec![value]));
        }
        let live = expected.iter().filter_map(|(row, value)| Some((*row, (*value)?)));
        let live: Vec<_> = live.filter(|(row, _)| (lower..upper.max(lower)).contains(row)).collect();
        let mut iter = tree.scan(lower, upper.max(lower), is_planned);
        let mut shown = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            shown.push((iter.key()[1], iter.value()[0]));
            iter.next();
        }
        iter.status().unwrap();
        prop_assert_eq!(&shown, &live);
        shown.clear();
        iter.seek_to_last();
        while iter.valid() {
            shown.push((iter.key()[1], iter.value()[0]));
            iter.prev();
        }
        iter.status().unwrap();
        shown.reverse();
        prop_assert_eq!(shown, live);
    }
}

#[test]
fn the_kind_of_a_table_is_read_from_its_file() {
    let rows: Rows = (0..8).map(|row| (row, Some(row))).collect();
    let tree = Tree::new(&[rows, Rows::new()], 1 << 2);
    let table = |index: usize| tree.cache.get(&tree.version.level(1)[index]).unwrap();
    assert!(matches!(table(0), Table::Block(_)));
    assert!(matches!(table(1), Table::Entries(_)));
    let largest = &tree.version.level(1)[1].largest;
    assert_eq!(user_key(largest), key(7));
    assert_eq!(table(1).properties().num_entries, 4);
}

/// Placements on a deletion and steps to one are counted, where the iterator counts at all.
#[test]
fn iterators_count_deletions_that_they_meet() {
    let rows: Rows = [(1, None), (2, Some(7))].into_iter().collect();
    let tree = Tree::new(&[rows, Rows::new()], 0);
    let counted = |counts_reads: bool, read: &dyn Fn(&mut TableLevelIterator)| {
        let (cache, source, bounds) = (Arc::clone(&tree.cache), (&tree.version, 1), Arc::default());
        let mut iter =
            table_level_iterator(cache, source, 0..1, TableReadOptions::default(), bounds).counting_reads(counts_reads);
        let before = tree.version.level(1)[0].collapsible_reads();
        read(&mut iter);
        tree.version.level(1)[0].collapsible_reads() - before
    };
    let seek = |row: u8| {
        let target = make_internal_key(&key(row), SequenceNumber(100), ValueType::FOR_SEEK);
        move |iter: &mut TableLevelIterator| (0..8 * 1024).for_each(|_| iter.seek(&target))
    };
    let steps = |iter: &mut TableLevelIterator| {
        iter.seek_to_last();
        (0..1 << 18).for_each(|_| {
            iter.prev();
            iter.next();
        });
    };
    assert_eq!([counted(false, &seek(1)), counted(false, &steps), counted(true, &seek(2))], [0; 3]);
    let placed = counted(true, &seek(1));
    assert!((3 * 1024..20 * 1024).contains(&placed) && placed % 1024 == 0, "{placed}");
    // Half of the steps end at the deletion, and of these one of 65,536 is taken.
    let stepped = counted(true, &steps);
    assert!((1..=16).contains(&(stepped / 1024)), "{stepped}");
}
