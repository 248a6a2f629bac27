//! A compaction copies blocks that nothing interleaves as they are stored, and readers see what they saw before.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{Contents, contents};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, Snapshot, WriteOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::sync::Arc;

/// Numbers that keys have.
const KEYS: u64 = 3000;

fn open(files: &MemoryFileSystem, text: &str) -> Db {
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let common = "create_if_missing=true;merge_operator=stringappend;disable_auto_compactions=true;\
        target_file_size_base=2000000;";
    ferrock::options::apply_text(&mut options, &mut family, &format!("{common}{text}")).unwrap();
    options.components.file_system = Some(Arc::new(files.clone()) as Arc<dyn FileSystem>);
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

/// A value of which half compresses; every fourth is longer than a block.
fn value(random: &mut Random) -> Vec<u8> {
    let bytes = if random.below(4) == 0 { 6000 } else { random.below(200) };
    (0..bytes).map(|at| if at % 64 < 32 { random.below(256) as u8 } else { b'v' }).collect()
}

fn counter(db: &Db, name: &str) -> u64 {
    let statistics = db.property("ferrock.statistics").unwrap();
    statistics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap().parse().unwrap()
}

fn at(snapshot: &Snapshot) -> ReadOptions {
    ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() }
}

/// Some writes of every kind.
fn write_some(db: &Db, random: &mut Random, writes: u64) {
    let family = db.default_column_family().unwrap();
    for _ in 0..writes {
        let number = random.below(KEYS);
        match random.below(20) {
            0..3 => db.delete(&key(number)).unwrap(),
            3..5 => db.merge(&key(number), &value(random)).unwrap(),
            5 => {
                let end = key(number + random.below(10));
                db.delete_range_cf(&family, &key(number), &end, &WriteOptions::default()).unwrap();
            }
            _ => db.put(&key(number), &value(random)).unwrap(),
        }
    }
}

#[test]
fn readers_see_what_was_written() {
    let styles = ["kCompactionStyleLevel", "kCompactionStyleUniversal"];
    for (seed, compression) in (0u64..).zip(["kLZ4Compression", "kZSTD", "kSnappyCompression", "kLZ4HCCompression"]) {
        for style in styles {
            let text = format!(
                "compression={compression};compaction_style={style};max_subcompactions={};\
                 block_based_table_factory={{verify_compression={}}}",
                1 + seed % 2,
                seed < 2
            );
            let files = MemoryFileSystem::new();
            let db = open(&files, &text);
            let mut random = Random::new(seed);
            let mut snapshots: Vec<(Snapshot, Contents)> = Vec::new();
            let what = format!("{compression}, {style}");
            for round in 0..6 {
                write_some(&db, &mut random, if round == 0 { 4 * KEYS } else { 60 });
                if random.below(2) == 0 {
                    snapshots.push((db.snapshot(), contents(&db, &ReadOptions::default())));
                }
                db.flush().unwrap();
                let before = contents(&db, &ReadOptions::default());
                db.compact_range(None, None).unwrap();
                assert_eq!(contents(&db, &ReadOptions::default()), before, "{what}, round {round}");
                for (snapshot, seen) in &snapshots {
                    assert_eq!(&contents(&db, &at(snapshot)), seen, "{what}, round {round}");
                }
                if random.below(3) == 0 {
                    snapshots.pop();
                }
            }
            let (blocks, bytes) = (counter(&db, "compaction_copied_blocks"), counter(&db, "compaction_copied_bytes"));
            assert!(blocks > 1000 && bytes > 100 * blocks, "{what}: {blocks} blocks, {bytes} bytes");
            db.verify_checksum().unwrap();
            let last = contents(&db, &ReadOptions::default());
            drop(snapshots);
            db.close().unwrap();
            let db = open(&files, &text);
            assert_eq!(contents(&db, &ReadOptions::default()), last, "{what}");
        }
    }
}

#[test]
fn nothing_is_copied_where_nothing_is_compressed() {
    let files = MemoryFileSystem::new();
    let db = open(&files, "compression=kNoCompression");
    let mut random = Random::new(1);
    for _ in 0..2 {
        write_some(&db, &mut random, KEYS);
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
    }
    assert_eq!(counter(&db, "compaction_copied_blocks"), 0);
}

#[test]
fn the_log_says_how_much_was_copied() {
    let files = MemoryFileSystem::new();
    let db = open(&files, "compression=kLZ4Compression");
    let mut random = Random::new(1);
    // The second round is the first to rewrite: sequence numbers become 0.
    for writes in [2 * KEYS, 20, 20] {
        write_some(&db, &mut random, writes);
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
    }
    let blocks = counter(&db, "compaction_copied_blocks");
    assert!(blocks > 100, "{blocks}");
    let log = ferrock_vfs::read_file(&files, "/db/LOG".as_ref()).unwrap();
    let log = String::from_utf8_lossy(&log);
    let counts = log.lines().filter_map(|line| {
        let (before, _) = line.split_once(" copied blocks, ")?;
        before.rsplit_once(" bytes, ")?.1.split_once(" of them in ")?.1.parse::<u64>().ok()
    });
    assert_eq!(counts.sum::<u64>(), blocks, "{log}");
}
