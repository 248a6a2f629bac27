//! A database of tables at several levels, blob files, logs and families, and what it holds.

use super::common::{Contents, rows_of};
use ferrock::options::{CompressionType, FilterPolicy, IndexType, MergeOperator};
use ferrock::repair::{Examination, Repair, Report};
use ferrock::{
    ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteBatch, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub(crate) const PATH: &str = "/data/db";
/// Numbers of keys are below.
const KEYS: u64 = 120;
pub(crate) type World = BTreeMap<String, Contents>;

pub(crate) fn family(blobs: bool) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    let operator: Arc<dyn MergeOperator> = Arc::new(StringAppend::new(","));
    family.merge_operator = Some(operator);
    family.disable_auto_compactions = true;
    (family.enable_blob_files, family.min_blob_size) = (blobs, 60);
    family.table.block_size = 256;
    family
}

/// One family has filters and an index of a block each, one has both in partitions, and one has dictionaries.
fn options_of(name: &str) -> ColumnFamilyOptions {
    let mut family = family(name == "blobs");
    match name {
        "default" => family.filter_policy = FilterPolicy::bloom(10.0),
        "third" => {
            family.filter_policy = FilterPolicy::bloom(10.0);
            family.table.index_type = IndexType::TwoLevelIndexSearch;
            (family.table.partition_filters, family.table.metadata_block_size) = (true, 64);
        }
        _ => {
            family.compression = CompressionType::Zstd;
            family.compression_opts.0.max_dict_bytes = 512;
        }
    }
    family
}

pub(crate) fn db_options(files: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.components.file_system = Some(Arc::new(files.clone()));
    options
}

/// A database that was drawn, and what was written to it.
pub(crate) struct Drawn {
    pub(crate) files: MemoryFileSystem,
    pub(crate) world: World,
    /// By family and key: every value and every operand that the key ever had.
    pub(crate) written: Written,
}

pub(crate) type Written = BTreeMap<(String, Vec<u8>), BTreeSet<Vec<u8>>>;

/// A closed database of three families: tables at level 0 and the last, and two logs that hold something.
pub(crate) fn filled(seed: u64) -> (MemoryFileSystem, World) {
    let drawn = drawn(seed, Obsolete::Goes);
    (drawn.files, drawn.world)
}

/// What becomes of files that the database does not need any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Obsolete {
    Goes,
    /// As where the process ended before it removed them.
    Stays,
}

pub(crate) fn drawn(seed: u64, obsolete: Obsolete) -> Drawn {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    files.sync_dir(Path::new("/")).unwrap();
    let mut random = Random::new(seed);
    let mut options = db_options(&files);
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    options.avoid_flush_during_shutdown = true;
    options.avoid_flush_during_recovery = true;
    let names = ["default", "blobs", "third"];
    let families = names.map(|name| (name.to_owned(), options_of(name))).into();
    let (db, families) = Db::open_cf(PATH, options, families).unwrap();
    if obsolete == Obsolete::Stays {
        db.disable_file_deletions().unwrap();
    }
    let mut written = Written::new();
    for round in 0..5_u64 {
        for family in &families {
            for _ in 0..40 {
                let key = format!("key{:03}", random.below(KEYS)).into_bytes();
                let value = vec![b'a' + random.below(26) as u8; 1 + random.below(120) as usize];
                let write = WriteOptions::default();
                let operand = &value[..value.len().min(9)];
                let ever = written.entry((family.name().to_owned(), key.clone())).or_default();
                ever.extend([value.clone(), operand.to_vec()]);
                match random.below(12) {
                    0 => db.delete_cf(family, &key, &write).unwrap(),
                    1 | 2 => db.merge_cf(family, &key, operand, &write).unwrap(),
                    3 if round != 4 => {
                        let end = [&key[..], b"~"].concat();
                        db.delete_range_cf(family, &key, &end, &write).unwrap();
                    }
                    4 => {
                        let mut batch = WriteBatch::new();
                        batch.put_entity_cf(family.id(), &key, &[(b"", &value), (b"long", &value)]).unwrap();
                        db.write(batch, &write).unwrap();
                    }
                    _ => db.put_cf(family, &key, &value, &write).unwrap(),
                }
            }
        }
        if round < 3 {
            db.flush_cfs(&families, &FlushOptions::default()).unwrap();
        }
        if round == 1 {
            for family in &families {
                db.compact_range_cf(family, None, None, &CompactRangeOptions::default()).unwrap();
            }
        }
        // One family is flushed alone, so that a log is needed by the others only.
        if round == 3 {
            db.flush_cfs(&families[..1], &FlushOptions::default()).unwrap();
        }
    }
    db.sync_wal().unwrap();
    let world = contents(&db, &families);
    let as_it_lies = files.crash_clone(CrashPolicy::KeepAll);
    drop(families);
    drop(db);
    let files = if obsolete == Obsolete::Stays { as_it_lies } else { files };
    Drawn { files, world, written }
}

fn contents(db: &Db, families: &[ferrock::ColumnFamily]) -> World {
    let world = families.iter().map(|family| (family.name().to_owned(), rows(db, family)));
    world.collect()
}

/// What a scan finds, and a lookup of every key there may be as well.
fn rows(db: &Db, family: &ferrock::ColumnFamily) -> Contents {
    let rows = rows_of(db.iter_cf(family, &ReadOptions::default()));
    for number in 0..KEYS {
        let key = format!("key{number:03}").into_bytes();
        let found = db.get_cf(family, &ReadOptions::default(), &key).unwrap();
        assert_eq!(found.as_deref(), rows.get(&key).map(Vec::as_slice), "{}, {}", family.name(), key.escape_ascii());
    }
    rows
}

/// What a database holds that is opened without writing.
pub(crate) fn contents_at(files: &MemoryFileSystem, path: &str) -> ferrock::Result<World> {
    let options = db_options(files);
    let names = Db::list_column_families(path, &options)?;
    let families = names.into_iter().map(|name| (name.clone(), options_of(&name))).collect();
    let (db, families) = Db::open_read_only(path, options, Some(families))?;
    Ok(contents(&db, &families))
}

/// Opens for writing, writes, flushes, compacts, and reads again: what a repair made is a database like any other.
pub(crate) fn use_it(files: &MemoryFileSystem, path: &str) -> World {
    let options = db_options(files);
    let names = Db::list_column_families(path, &options).unwrap();
    let families = names.into_iter().map(|name| (name.clone(), options_of(&name))).collect();
    let (db, families) = Db::open_cf(path, options, families).unwrap();
    let before = contents(&db, &families);
    for family in &families {
        db.put_cf(family, b"written later", b"1", &WriteOptions::default()).unwrap();
        db.delete_cf(family, b"written later", &WriteOptions::default()).unwrap();
    }
    db.flush_cfs(&families, &FlushOptions::default()).unwrap();
    for family in &families {
        db.compact_range_cf(family, None, None, &CompactRangeOptions::default()).unwrap();
    }
    assert_same(&contents(&db, &families), &before, "a compaction changes nothing");
    before
}

/// Adds a family that is in the MANIFEST and in logs alone.
pub(crate) fn add_family_of_logs(files: &MemoryFileSystem) -> World {
    let (db, mut families) = Db::open_cf(PATH, db_options(files), descriptors()).unwrap();
    families.push(db.create_column_family("late", options_of("late")).unwrap());
    db.put_cf(&families[3], b"key", b"in a log", &WriteOptions { sync: true, ..WriteOptions::default() }).unwrap();
    contents(&db, &families)
}

pub(crate) fn descriptors() -> Vec<(String, ColumnFamilyOptions)> {
    ["default", "blobs", "third"].map(|name| (name.to_owned(), options_of(name))).into()
}

pub(crate) fn examine(files: &MemoryFileSystem) -> Report {
    Examination::new(db_options(files)).families(descriptors()).run(PATH).unwrap()
}

pub(crate) fn repair(files: &MemoryFileSystem) -> ferrock::Result<ferrock::repair::RepairReport> {
    Repair::new(db_options(files)).families(descriptors()).run(PATH)
}

/// Compares, and shows only what differs.
pub(crate) fn assert_same(found: &World, expected: &World, what: &str) {
    let families = found.keys().chain(expected.keys());
    let none = Contents::new();
    let text = |value: Option<&Vec<u8>>| value.map(|value| value.escape_ascii().to_string());
    for family in families {
        let (found, expected) = (found.get(family).unwrap_or(&none), expected.get(family).unwrap_or(&none));
        for key in found.keys().chain(expected.keys()) {
            let (found, expected) = (text(found.get(key)), text(expected.get(key)));
            assert_eq!(found, expected, "{what}: {family}, {}", key.escape_ascii());
        }
    }
    assert_eq!(found.len(), expected.len(), "{what}: families");
}
