//! Options of the write path that show when writers meet, or when flushes cannot keep up.

use crate::common::threads::{Gate, Waiting};
use crate::setup::{Setup, differs, differs_with, key, number, value};
use ferrock::{Db, ErrorKind, WriteOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Three writers wait while the log is busy. Returns how often the log was appended to.
fn three_writers_meet(setup: &Setup, db: &Db, value_bytes: usize) -> u64 {
    db.put(b"k", b"v").unwrap();
    let (count, is_first) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(true)));
    let gate = Gate::shut();
    let hook = {
        let (count, is_first, gate) = (Arc::clone(&count), Arc::clone(&is_first), Arc::clone(&gate));
        move |_: u64, line: &str| {
            if line.starts_with("append") && line.contains(".log") {
                count.fetch_add(1, Ordering::SeqCst);
                if is_first.swap(false, Ordering::SeqCst) {
                    gate.pass();
                }
            }
        }
    };
    setup.memory.set_operation_hook(Some(Arc::new(hook)));
    let put = |key: &[u8], value: Vec<u8>| {
        let (db, key) = (db.clone(), key.to_vec());
        Waiting::begin("a writer", move || db.put(&key, &value).unwrap())
    };
    let mut writers = vec![put(b"first", b"v".to_vec())];
    gate.wait_for(1);
    writers.extend((0..3u8).map(|number| put(&[number], vec![number; value_bytes])));
    gate.open();
    writers.into_iter().for_each(Waiting::join);
    setup.memory.set_operation_hook(None);
    for number in 0..3u8 {
        assert_eq!(db.get(&[number]).unwrap().unwrap().to_vec(), vec![number; value_bytes]);
    }
    count.load(Ordering::SeqCst)
}

/// They are written as one group, or one by one.
pub fn max_write_batch_group_size_bytes() {
    let appends = differs("max_write_batch_group_size_bytes", ["1", "1m"], |setup| {
        let db = setup.open();
        three_writers_meet(&setup, &db, 1)
    });
    assert!(appends[0] == 4 && appends[1] < 4, "{appends:?}");
}

/// The group is large enough to be inserted by its members, each its own part.
pub fn allow_concurrent_memtable_write() {
    let parallel = differs("allow_concurrent_memtable_write", ["true", "false"], |setup| {
        let db = setup.open();
        three_writers_meet(&setup, &db, 20_000);
        let statistics = db.property("ferrock.statistics").unwrap();
        statistics.lines().find_map(|line| line.strip_prefix("parallel_groups=")).unwrap().to_owned()
    });
    assert_eq!(parallel, ["1", "0"]);
}

/// Memtables that wait for a flush that cannot begin, when the next write is refused.
pub fn max_write_buffer_number() {
    let waiting = differs_with(
        "max_write_buffer_number",
        ["2", "6"],
        |setup| setup.set("write_buffer_size", "64k"),
        |setup| {
            let db = setup.open();
            let family = db.default_column_family().unwrap();
            let gate = setup.hold_creation_of_tables();
            let options = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
            let write = |number| db.put_cf(&family, key(number).as_bytes(), &value(number), &options);
            let refused = (0..20_000).find_map(|number| write(number).err()).unwrap();
            assert_eq!(refused.kind(), ErrorKind::Incomplete);
            let waiting = number(&db, "num-immutable-mem-table");
            gate.open();
            db.wait_for_background_work().unwrap();
            setup.memory.set_operation_hook(None);
            waiting
        },
    );
    assert!(waiting[0] <= 2 && waiting[1] >= 4, "{waiting:?}");
}

/// Entries that do not fit what is left of a block leave it unused: the larger the block, the less is lost.
pub fn arena_block_size() {
    let bytes = |setup: Setup| {
        let db = setup.open();
        for number in 0..400 {
            db.put(key(number).as_bytes(), &[7; 850]).unwrap();
        }
        number(&db, "cur-size-all-mem-tables")
    };
    let [small, large] = differs("arena_block_size", ["4096", "1m"], bytes);
    let data = 400 * (850 + key(0).len() as u64);
    assert!(large >= data && large < data * 11 / 10, "{data} bytes of data take {large}");
    // Four entries a block and a good seventh of each lost.
    assert!(small > large + data / 20, "{small} in small blocks, {large} in large ones");
    // The OPTIONS file says what 0 means.
    for (buffer, block) in [("64m", "1048576"), ("1m", "131072")] {
        let setup = Setup::new().set("arena_block_size", "0").set("write_buffer_size", buffer);
        drop(setup.open());
        let file = setup.files(|name| name.starts_with("OPTIONS-")).pop().unwrap();
        let text = String::from_utf8(setup.read(&file)).unwrap();
        assert!(text.contains(&format!("arena_block_size={block}\n")), "{buffer}: {text}");
    }
}
