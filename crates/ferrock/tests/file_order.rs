//! The order of file operations, from the creation of a database to its end, as a golden trace: a directory that is not
//! synced any more, or a file that goes before it may, is a difference of one line.
//!
//! `UPDATE_EXPECT=1 cargo test -p ferrock --test file_order` rewrites the trace; read the difference before it is
//! committed. Sizes are left out, equal lines in a row are one, and messages (LOG) do not count.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test reads and writes its expectation")]

use ferrock::{ColumnFamilyOptions, Db, DbOptions, FlushOptions, WriteOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/file_order.txt");

struct Trace {
    file_system: MemoryFileSystem,
    text: String,
}

impl Trace {
    fn step<R>(&mut self, title: &str, work: impl FnOnce() -> R) -> R {
        self.file_system.set_tracing(true);
        let result = work();
        self.text.push_str(&format!("# {title}\n"));
        let mut last = String::new();
        for line in self.file_system.trace() {
            let mut words: Vec<&str> = line.split(' ').collect();
            if words.iter().any(|word| word.starts_with("LOG")) && !words.contains(&"lock") {
                continue;
            }
            if words[0] == "append" || words[0] == "truncate" {
                words.truncate(2);
            }
            let line = words.join(" ");
            if line != last {
                self.text.push_str(&format!("{line}\n"));
            }
            last = line;
        }
        self.text.push('\n');
        result
    }
}

fn options(file_system: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_background_jobs = 1;
    options.components.file_system = Some(Arc::new(file_system.clone()));
    options
}

/// Nothing runs but what the test asks for.
fn open(options: DbOptions) -> Db {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    Db::open_cf("/data/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

#[test]
fn files_change_in_this_order() {
    let file_system = MemoryFileSystem::new();
    file_system.create_dir_all(Path::new("/data")).unwrap();
    file_system.sync_dir(Path::new("/")).unwrap();
    let mut trace = Trace { file_system: file_system.clone(), text: String::new() };
    let put = |db: &Db, key: &[u8], options: &WriteOptions| {
        db.put_cf(&db.default_column_family().unwrap(), key, b"value", options).unwrap();
    };
    let flush = |db: &Db| {
        db.flush_cf(&db.default_column_family().unwrap(), &FlushOptions::default()).unwrap();
        db.wait_for_background_work().unwrap();
    };
    let (synced, unsynced) = (WriteOptions::synced(), WriteOptions::default());

    let db = trace.step("create", || open(options(&file_system)));
    trace.step("put without sync", || put(&db, b"a", &unsynced));
    trace.step("put with sync", || put(&db, b"b", &synced));
    trace.step("another put with sync", || put(&db, b"c", &synced));
    trace.step("flush", || flush(&db));
    put(&db, b"a", &unsynced);
    trace.step("compaction", || {
        flush(&db);
        db.compact_range(None, None).unwrap();
    });
    let family = trace
        .step("create a column family", || db.create_column_family("family", ColumnFamilyOptions::default()).unwrap());
    db.put_cf(&family, b"k", b"v", &unsynced).unwrap();
    put(&db, b"d", &unsynced);
    trace.step("flush one of two families: the log of the other must be durable first", || flush(&db));
    trace.step("put with sync in a new log", || put(&db, b"e", &synced));
    trace.step("drop the column family", || db.drop_column_family(&family).unwrap());
    drop(family);
    trace.step("close", || db.close().unwrap());

    let mut small_manifest = options(&file_system);
    small_manifest.max_manifest_file_size = 1;
    small_manifest.max_manifest_space_amp_pct = 0;
    let db = trace.step("open again, with what is in the log", || open(small_manifest));
    put(&db, b"f", &unsynced);
    trace.step("flush with a full MANIFEST", || {
        flush(&db);
    });
    trace.step("close", || db.close().unwrap());

    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(EXPECTED, &trace.text).unwrap();
    }
    let expected = std::fs::read_to_string(EXPECTED).unwrap_or_default();
    for (number, (found, wanted)) in trace.text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, wanted, "line {} of {EXPECTED}", number + 1);
    }
    assert_eq!(trace.text.lines().count(), expected.lines().count(), "lines of {EXPECTED}");
}
