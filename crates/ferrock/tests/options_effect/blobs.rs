//! Options of blob files.

use crate::Effect::{self, Elsewhere, Shown};
use crate::setup::{Setup, differs_with, flush_range, key, number, put, value};
use ferrock::options::{BlobGarbageCollectionPolicy, BottommostLevelCompaction};
use ferrock::{CompactRangeOptions, Db};
use ferrock_vfs::FileSystem;

pub const EFFECTS: &[(&str, Effect)] = &[
    ("enable_blob_files", Shown(enable_blob_files)),
    ("enable_blob_direct_write", Shown(enable_blob_direct_write)),
    ("blob_direct_write_partitions", Shown(blob_direct_write_partitions)),
    ("min_blob_size", Shown(min_blob_size)),
    ("blob_file_size", Shown(blob_file_size)),
    ("blob_compression_type", Shown(blob_compression_type)),
    ("blob_compression_opts", Shown(blob_compression_opts)),
    ("blob_file_starting_level", Shown(blob_file_starting_level)),
    ("enable_blob_garbage_collection", Shown(enable_blob_garbage_collection)),
    ("blob_garbage_collection_age_cutoff", Shown(age_cutoff)),
    ("blob_garbage_collection_force_threshold", Shown(force_threshold)),
    ("blob_compaction_readahead_size", Shown(blob_compaction_readahead_size)),
    (
        "prepopulate_blob_cache",
        Elsewhere("tests/blob_cache.rs", "what_a_flush_writes_is_in_the_cache_if_the_options_say_so"),
    ),
];

fn with_blobs(setup: Setup) -> Setup {
    setup.set("enable_blob_files", "true")
}

/// Blob files and their bytes after a flush of 100 values.
fn flushed(setup: &Setup) -> (u64, u64) {
    let db = setup.open();
    flush_range(&db, 0..100);
    for number in 0..100 {
        assert_eq!(&*db.get(key(number).as_bytes()).unwrap().unwrap(), value(number));
    }
    blobs(&db)
}

fn blobs(db: &Db) -> (u64, u64) {
    (number(db, "rocksdb.num-blob-files"), number(db, "rocksdb.total-blob-file-size"))
}

fn enable_blob_files() {
    let [(none, _), (one, bytes)] =
        differs_with("enable_blob_files", ["false", "true"], |setup| setup, |setup| flushed(&setup));
    let values: usize = (0..100).map(|number| value(number).len() + key(number).len() + 32).sum();
    assert_eq!((none, one, bytes), (0, 1, 62 + values as u64));
}

fn directly(setup: Setup) -> Setup {
    with_blobs(setup).set("allow_concurrent_memtable_write", "false")
}

/// Blob files before and after a flush of 100 values.
fn written(setup: &Setup) -> (usize, u64) {
    let db = setup.open();
    put(&db, 0..100);
    let before = setup.files(|name| name.ends_with(".blob")).len();
    db.flush().unwrap();
    (before, blobs(&db).0)
}

fn enable_blob_direct_write() {
    let files = differs_with("enable_blob_direct_write", ["false", "true"], directly, |setup| written(&setup));
    assert_eq!(files, [(0, 1), (1, 1)]);
}

fn blob_direct_write_partitions() {
    let prepare = |setup| directly(setup).set("enable_blob_direct_write", "true");
    let files = differs_with("blob_direct_write_partitions", ["1", "3"], prepare, |setup| written(&setup));
    assert_eq!(files, [(1, 1), (3, 3)]);
}

fn min_blob_size() {
    let files = differs_with("min_blob_size", ["100", "1000"], with_blobs, |setup| flushed(&setup).0);
    assert_eq!(files, [1, 0]);
}

fn blob_file_size() {
    let files = differs_with("blob_file_size", ["1", "1m"], with_blobs, |setup| flushed(&setup).0);
    assert_eq!(files, [100, 1]);
}

fn blob_compression_type() {
    let kinds = ["kNoCompression", "kLZ4Compression"];
    let [whole, less] = differs_with("blob_compression_type", kinds, with_blobs, |setup| flushed(&setup).1);
    assert!(less < whole * 9 / 10, "{less} of {whole}");
}

fn blob_compression_opts() {
    let levels = ["{level=1;}", "{level=9;}"];
    let prepare = |setup| with_blobs(setup).set("blob_compression_type", "kZlibCompression");
    let [fast, small] = differs_with("blob_compression_opts", levels, prepare, |setup| flushed(&setup).1);
    assert!(small < fast, "{small} of {fast}");
}

fn blob_file_starting_level() {
    let files = differs_with("blob_file_starting_level", ["0", "1"], with_blobs, |setup| {
        let db = setup.open();
        flush_range(&db, 0..100);
        let before = blobs(&db).0;
        // Overlapping, so that it is no move.
        flush_range(&db, 50..100);
        db.compact_range(None, None).unwrap();
        (before, blobs(&db).0)
    });
    assert_eq!(files, [(1, 2), (0, 1)]);
}

/// A database with four blob files of 25 values, each of which has 5 live ones.
fn with_garbage(setup: &Setup) -> Db {
    let db = setup.open();
    for first in (0..100).step_by(25) {
        flush_range(&db, first..first + 25);
    }
    for first in (0..100).step_by(25) {
        (first..first + 20).for_each(|number| db.delete(key(number).as_bytes()).unwrap());
    }
    db.flush().unwrap();
    db
}

fn compact(db: &Db, options: &CompactRangeOptions) {
    let family = db.default_column_family().unwrap();
    let options =
        CompactRangeOptions { bottommost_level_compaction: BottommostLevelCompaction::Force, ..options.clone() };
    db.compact_range_cf(&family, None, None, &options).unwrap();
    for number in 0..100 {
        let expected = (number % 25 >= 20).then(|| value(number));
        assert_eq!(db.get(key(number).as_bytes()).unwrap().as_deref(), expected.as_deref());
    }
}

/// Blob files and garbage after a compaction of [`with_garbage`].
fn collected(setup: &Setup, options: &CompactRangeOptions) -> (u64, bool) {
    let db = with_garbage(setup);
    compact(&db, options);
    (blobs(&db).0, number(&db, "rocksdb.live-blob-file-garbage-size") > 0)
}

fn enable_blob_garbage_collection() {
    let prepare = |setup| with_blobs(setup).set("blob_garbage_collection_age_cutoff", "1.0");
    let files = differs_with("enable_blob_garbage_collection", ["false", "true"], prepare, |setup| {
        collected(&setup, &CompactRangeOptions::default())
    });
    assert_eq!(files, [(4, true), (1, false)]);
}

fn age_cutoff() {
    let prepare = |setup| with_blobs(setup).set("enable_blob_garbage_collection", "true");
    let files = differs_with("blob_garbage_collection_age_cutoff", ["0.25", "0.75"], prepare, |setup| {
        collected(&setup, &CompactRangeOptions::default()).0
    });
    // What is collected goes into one new file, of each of the two compactions.
    assert_eq!(files[0], 4);
    assert!(files[1] < 4, "{files:?}");
}

fn force_threshold() {
    let prepare = |setup| {
        with_blobs(setup).set("enable_blob_garbage_collection", "true").set("blob_garbage_collection_age_cutoff", "0.5")
    };
    let files = differs_with("blob_garbage_collection_force_threshold", ["1.0", "0.5"], prepare, |setup| {
        let db = with_garbage(&setup);
        let keeps = BlobGarbageCollectionPolicy::Disable;
        let options = CompactRangeOptions { blob_garbage_collection_policy: keeps, ..CompactRangeOptions::default() };
        compact(&db, &options);
        assert_eq!(blobs(&db).0, 4);
        let family = db.default_column_family().unwrap();
        db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
        put(&db, 200..201);
        db.flush().unwrap();
        db.wait_for_background_work().unwrap();
        number(&db, "rocksdb.live-blob-file-garbage-size") > 0
    });
    assert_eq!(files, [true, false]);
}

/// Reads of a blob file that a compaction empties.
fn blob_compaction_readahead_size() {
    let prepare = |setup| {
        with_blobs(setup)
            .set("enable_blob_garbage_collection", "true")
            .set("blob_garbage_collection_age_cutoff", "1.0")
            .set("blob_file_starting_level", "0")
    };
    let reads = differs_with("blob_compaction_readahead_size", ["0", "64k"], prepare, |setup| {
        let db = setup.open();
        flush_range(&db, 0..100);
        // Overlapping, so that it is no move.
        flush_range(&db, 50..51);
        let requests = || setup.memory.counters().snapshot().read_requests;
        let before = requests();
        db.compact_range(None, None).unwrap();
        let read = requests() - before;
        for number in 0..100 {
            assert_eq!(&*db.get(key(number).as_bytes()).unwrap().unwrap(), value(number));
        }
        assert_eq!(blobs(&db).0, 1);
        read
    });
    // A read for each value, against one for all of them.
    assert!(reads[0] >= 90 + reads[1], "{reads:?}");
}

pub fn policy() {
    use BlobGarbageCollectionPolicy::{Disable, Force, UseDefault};
    let collected = |enabled: &str, blob_garbage_collection_policy| {
        let setup = with_blobs(Setup::new())
            .set("enable_blob_garbage_collection", enabled)
            .set("blob_garbage_collection_age_cutoff", "1.0");
        collected(&setup, &CompactRangeOptions { blob_garbage_collection_policy, ..CompactRangeOptions::default() }).0
    };
    assert_eq!([Force, Disable, UseDefault].map(|policy| collected("false", policy)), [1, 4, 4]);
    assert_eq!([Force, Disable, UseDefault].map(|policy| collected("true", policy)), [1, 4, 1]);
}

pub fn cutoff_by_hand() {
    let collected = |cutoff| {
        let setup = with_blobs(Setup::new()).set("blob_garbage_collection_age_cutoff", "0.0");
        let options = CompactRangeOptions {
            blob_garbage_collection_policy: BlobGarbageCollectionPolicy::Force,
            blob_garbage_collection_age_cutoff: cutoff,
            ..CompactRangeOptions::default()
        };
        collected(&setup, &options).0
    };
    assert_eq!([None, Some(0.0), Some(1.0), Some(-1.0), Some(1.5)].map(collected), [4, 4, 1, 4, 4]);
}
