//! Each cause for which writers are held back, made to happen: the event, the line of the LOG, the properties and the
//! metrics that tell of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and have threads of their own"
)]

mod common;

use common::threads::{Waiting, wait_until};
use ferrock::metrics::WriterWaits;
use ferrock::options::WriteBufferManager;
use ferrock::{
    ColumnFamilyOptions, Db, DbOptions, EventListener, FlushOptions, WaitCause, WriteBatch, WriteOptions,
    WriteStallCondition, WriteStallInfo,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file};
use std::path::Path;
use std::sync::{Arc, Mutex};

const DIRECTORY: &str = "/db";
const AT_ONCE: FlushOptions = FlushOptions { wait: false, force_atomic_flush: false, allow_write_stall: true };

#[derive(Default)]
struct Heard(Mutex<Vec<WriteStallInfo>>);

impl EventListener for Heard {
    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        self.0.lock().unwrap().push(info.clone());
    }
}

struct Bench {
    memory: MemoryFileSystem,
    heard: Arc<Heard>,
    db: Db,
}

impl Bench {
    /// No job of compaction begins by itself.
    fn open(manager: Option<&Arc<WriteBufferManager>>) -> Self {
        let (memory, heard) = (MemoryFileSystem::new(), Arc::new(Heard::default()));
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.components.file_system = Some(Arc::new(memory.clone()) as Arc<dyn FileSystem>);
        options.components.listeners.push(Arc::clone(&heard) as Arc<dyn EventListener>);
        options.components.write_buffer_manager = manager.cloned();
        let mut family = ColumnFamilyOptions::default();
        family.disable_auto_compactions = true;
        family.level0_file_num_compaction_trigger = 2;
        let (db, _) = Db::open_cf(DIRECTORY, options, vec![("default".to_owned(), family)]).unwrap();
        Self { memory, heard, db }
    }

    fn set(&self, options: &[(&str, &str)]) {
        self.db.set_options_cf(&self.db.default_column_family().unwrap(), options).unwrap();
    }

    fn make_tables(&self, count: u8) {
        for number in 0..count {
            self.db.put(&[number], b"value").unwrap();
            self.db.put(b"of all", &[number]).unwrap();
            self.db.flush().unwrap();
        }
    }

    /// The steps of one cause, as they were told.
    fn steps(&self, column_family: &str, cause: WaitCause) -> Vec<(WriteStallCondition, WriteStallCondition)> {
        let heard = self.heard.0.lock().unwrap();
        assert!(heard.iter().all(|info| info.column_family == column_family && info.cause == cause), "{heard:?}");
        heard.iter().map(|info| (info.previous, info.current)).collect()
    }

    fn wait_for_steps(&self, column_family: &str, cause: WaitCause, steps: &[WriteStallCondition]) {
        let expected: Vec<_> = steps.windows(2).map(|pair| (pair[0], pair[1])).collect();
        wait_until("word of the stall", || self.steps(column_family, cause).len() >= expected.len());
        assert_eq!(self.steps(column_family, cause), expected);
    }

    #[track_caller]
    fn assert_logged(&self, lines: &[&str]) {
        let log = read_file(&self.memory, &Path::new(DIRECTORY).join("LOG")).unwrap();
        let log = String::from_utf8(log).unwrap();
        for line in lines {
            assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
        }
    }

    fn put_on_a_thread(&self) -> Waiting<()> {
        let db = self.db.clone();
        Waiting::begin("a writer that is stopped", move || db.put(b"behind the stop", b"value").unwrap())
    }

    fn waits(&self, cause: WaitCause) -> WriterWaits {
        *self.db.metrics().stalls.waits.iter().find(|waits| waits.cause == cause).unwrap()
    }

    fn count_of_family(&self, name: &str) -> u64 {
        self.db.map_property("cf-write-stall-stats").unwrap()[name].parse().unwrap()
    }

    fn condition(&self) -> WriteStallCondition {
        self.db.metrics().stalls.condition
    }
}

#[test]
fn memtables_that_wait_for_their_flush() {
    use WriteStallCondition::{Delayed, Normal, Stopped};
    let bench = Bench::open(None);
    bench.set(&[("max_write_buffer_number", "4")]);
    bench.db.pause_background_work().unwrap();
    let family = bench.db.default_column_family().unwrap();
    for round in 0..4_u8 {
        bench.db.put(&[round], b"value").unwrap();
        bench.db.flush_cf(&family, &AT_ONCE).unwrap();
    }
    bench.wait_for_steps("default", WaitCause::Memtables, &[Normal, Delayed, Stopped]);
    assert_eq!(bench.condition(), Stopped);
    let writer = bench.put_on_a_thread();
    bench.db.continue_background_work().unwrap();
    writer.join();
    bench.db.wait_for_background_work().unwrap();
    bench.wait_for_steps("default", WaitCause::Memtables, &[Normal, Delayed, Stopped, Normal]);
    bench.assert_logged(&[
        "[default] writes are delayed (were normal) for memtables: 3 memtables wait for their flush, \
         max_write_buffer_number is 4; writers share ",
        "[default] writes are stopped (were delayed) for memtables: 4 memtables wait for their flush, \
         max_write_buffer_number is 4\n",
        "[default] writes are normal (were stopped) for memtables: 0 memtables wait for their flush",
    ]);
    assert!(bench.count_of_family("memtable-limit-delays") > 0);
    assert!(bench.count_of_family("memtable-limit-stops") > 0);
    assert_eq!(bench.count_of_family("total-stops"), bench.count_of_family("memtable-limit-stops"));
    assert!(bench.db.metrics().families[0].stalls.memtable_stops > 0);
    let waits = bench.waits(WaitCause::Memtables);
    assert!(waits.stops == 1 && waits.stop_us > 0, "{waits:?}");
}

#[test]
fn files_in_level_0() {
    use WriteStallCondition::{Delayed, Normal, Stopped};
    let bench = Bench::open(None);
    bench.make_tables(4);
    bench.db.pause_background_work().unwrap();
    bench.set(&[
        ("disable_auto_compactions", "false"),
        ("level0_slowdown_writes_trigger", "3"),
        ("level0_stop_writes_trigger", "5"),
    ]);
    bench.wait_for_steps("default", WaitCause::Level0Files, &[Normal, Delayed]);
    bench.set(&[("level0_stop_writes_trigger", "4")]);
    bench.wait_for_steps("default", WaitCause::Level0Files, &[Normal, Delayed, Stopped]);
    let writer = bench.put_on_a_thread();
    bench.db.continue_background_work().unwrap();
    writer.join();
    bench.db.wait_for_background_work().unwrap();
    bench.wait_for_steps("default", WaitCause::Level0Files, &[Normal, Delayed, Stopped, Normal]);
    bench.assert_logged(&[
        "[default] writes are delayed (were normal) for level0_files: 4 files in level 0, \
         level0_slowdown_writes_trigger is 3, level0_stop_writes_trigger 5; writers share ",
        "[default] writes are stopped (were delayed) for level0_files: 4 files in level 0, \
         level0_slowdown_writes_trigger is 3, level0_stop_writes_trigger 4\n",
        "[default] writes are normal (were stopped) for level0_files: 0 files in level 0",
    ]);
    assert!(bench.count_of_family("l0-file-count-limit-delays") > 0);
    assert!(bench.count_of_family("l0-file-count-limit-stops") > 0);
    assert!(bench.db.metrics().families[0].stalls.level0_stops > 0);
    let waits = bench.waits(WaitCause::Level0Files);
    assert!(waits.stops == 1 && waits.stop_us > 0, "{waits:?}");
}

#[test]
fn bytes_that_wait_for_compactions() {
    use WriteStallCondition::{Delayed, Normal, Stopped};
    let bench = Bench::open(None);
    bench.make_tables(4);
    bench.db.pause_background_work().unwrap();
    bench.set(&[("disable_auto_compactions", "false"), ("soft_pending_compaction_bytes_limit", "1")]);
    bench.wait_for_steps("default", WaitCause::PendingCompactionBytes, &[Normal, Delayed]);
    bench.set(&[("hard_pending_compaction_bytes_limit", "2")]);
    bench.wait_for_steps("default", WaitCause::PendingCompactionBytes, &[Normal, Delayed, Stopped]);
    let pending = bench.db.property("estimate-pending-compaction-bytes").unwrap();
    let writer = bench.put_on_a_thread();
    bench.db.continue_background_work().unwrap();
    writer.join();
    bench.db.wait_for_background_work().unwrap();
    bench.wait_for_steps("default", WaitCause::PendingCompactionBytes, &[Normal, Delayed, Stopped, Normal]);
    bench.assert_logged(&[
        &format!(
            "[default] writes are stopped (were delayed) for pending_compaction_bytes: {pending} bytes wait for \
             compactions, soft_pending_compaction_bytes_limit is 1, hard_pending_compaction_bytes_limit 2\n"
        ),
        "[default] writes are delayed (were normal) for pending_compaction_bytes: ",
        "[default] writes are normal (were stopped) for pending_compaction_bytes: 0 bytes wait for compactions",
    ]);
    assert!(bench.count_of_family("pending-compaction-bytes-delays") > 0);
    assert!(bench.count_of_family("pending-compaction-bytes-stops") > 0);
    assert!(bench.db.metrics().families[0].stalls.pending_bytes_stops > 0);
    let waits = bench.waits(WaitCause::PendingCompactionBytes);
    assert!(waits.stops == 1 && waits.stop_us > 0, "{waits:?}");
}

#[test]
fn memory_of_all_memtables() {
    use WriteStallCondition::{Normal, Stopped};
    let manager = WriteBufferManager::new(1 << 20, None, true);
    let bench = Bench::open(Some(&manager));
    let cause = WaitCause::WriteBufferManager;
    let stops = || bench.db.map_property("db-write-stall-stats").unwrap()["write-buffer-manager-limit-stops"].clone();
    bench.db.pause_background_work().unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"large", &vec![b'x'; 2 << 20]).unwrap();
    bench.db.write(batch, &WriteOptions::default()).unwrap();
    assert_eq!(stops(), "0");
    // A refusal is no stop.
    let impatient = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    let refused = bench.db.put_cf(&bench.db.default_column_family().unwrap(), b"key", b"value", &impatient);
    refused.unwrap_err();
    assert_eq!((stops().as_str(), bench.steps("", cause).len()), ("0", 0));
    let held = manager.memory_usage();
    let writer = bench.put_on_a_thread();
    bench.wait_for_steps("", cause, &[Normal, Stopped]);
    assert_eq!(stops(), "1");
    bench.db.continue_background_work().unwrap();
    writer.join();
    bench.wait_for_steps("", cause, &[Normal, Stopped, Normal]);
    bench.assert_logged(&[
        &format!(
            " writes are stopped (were normal) for write_buffer_manager: memtables hold {held} bytes, the limit is \
             1048576\n"
        ),
        " writes are normal (were stopped) for write_buffer_manager: memtables hold ",
    ]);
    let text = bench.db.property("db-write-stall-stats").unwrap();
    assert_eq!(text, "Write Stall (count): write-buffer-manager-limit-stops: 1\n");
    assert_eq!(bench.db.metrics().stalls.memory_stops, 1);
    assert_eq!(bench.count_of_family("total-stops"), 0);
    let waits = bench.waits(cause);
    assert!(waits.stops == 1 && waits.stop_us > 0, "{waits:?}");
}
