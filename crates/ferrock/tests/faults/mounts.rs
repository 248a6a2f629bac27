//! Real mounts, where they can be made (as root): a tmpfs that fills up, and one that is read-only. Fault injection and
//! the memory file system stand in elsewhere.

use crate::rig::Rig;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind, WriteBatch, WriteOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Mounted(PathBuf);

impl Mounted {
    fn tmpfs(directory: &Path, size_bytes: u64) -> Option<Self> {
        let size = format!("size={size_bytes}");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "ferrock-test"]).arg(directory).output().ok()?;
        mount.status.success().then(|| Self(directory.to_path_buf()))
    }

    fn remount(&self, how: &str) {
        let how = format!("remount,{how}");
        // A process started by another test may hold copies of descriptors for a moment.
        let is_done = (0..50).any(|attempt| {
            std::thread::sleep(std::time::Duration::from_millis(10 * u64::from(attempt > 0)));
            Command::new("mount").args(["-o", &how]).arg(&self.0).output().unwrap().status.success()
        });
        assert!(is_done, "{how}");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process started by another test may hold copies of descriptors for a moment.
        for _ in 0..50 {
            if Command::new("umount").arg(&self.0).output().is_ok_and(|done| done.status.success()) {
                return;
            }
            // Nothing tells when the other process has gone.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}

fn options() -> (DbOptions, Vec<(String, ColumnFamilyOptions)>) {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 256 << 10;
    family.compression = ferrock::options::CompressionType::NoCompression;
    (options, vec![("default".to_owned(), family)])
}

fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_really_full_disk_stops_writes_and_space_brings_them_back() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mounted) = Mounted::tmpfs(directory.path(), 6 << 20) else {
        println!("no tmpfs can be mounted here; the injected faults stand in");
        return;
    };
    let path = mounted.0.join("db");
    let ballast = mounted.0.join("ballast");
    std::fs::write(&ballast, vec![1; 3 << 20]).unwrap();
    let (mut options, families) = options();
    options.bgerror_resume_retry_interval = 10_000;
    let (db, _) = Db::open_cf(&path, options.clone(), families.clone()).unwrap();
    let mut acknowledged = BTreeMap::new();
    let put = |db: &Db, number: u32, acknowledged: &mut BTreeMap<Vec<u8>, Vec<u8>>| {
        let key = format!("key{number:06}").into_bytes();
        let value = number.to_le_bytes().repeat(250);
        let mut batch = WriteBatch::new();
        batch.put(&key, &value)?;
        db.write(batch, &WriteOptions { sync: number.is_multiple_of(16), ..WriteOptions::default() })?;
        acknowledged.insert(key, value);
        Ok::<(), ferrock::Error>(())
    };
    let verify = |db: &Db, acknowledged: &BTreeMap<Vec<u8>, Vec<u8>>, what: &str| {
        for (key, value) in acknowledged {
            assert!(db.get(key).unwrap().as_deref() == Some(&value[..]), "{what}: {} is lost", key.escape_ascii());
        }
    };
    let mut number = 0;
    let error = loop {
        number += 1;
        assert!(number < 20_000, "the disk never fills");
        if let Err(error) = put(&db, number, &mut acknowledged) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert!(error.to_string().contains("free space"), "{error}");
    assert!(acknowledged.len() > 500, "only {} keys fitted", acknowledged.len());
    verify(&db, &acknowledged, "full");
    std::fs::remove_file(&ballast).unwrap();
    // By itself, as the caller of the C interface needs it.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while let Err(error) = put(&db, 30_000, &mut acknowledged) {
        assert!(error.to_string().contains("accepted again when the cause is gone"), "{error}");
        assert!(std::time::Instant::now() < deadline, "{error}");
        std::thread::yield_now();
    }
    for number in 40_000..40_100 {
        put(&db, number, &mut acknowledged).unwrap();
    }
    db.flush().unwrap();
    verify(&db, &acknowledged, "resumed");
    db.close().unwrap();
    let (db, _) = Db::open_cf(&path, options, families).unwrap();
    verify(&db, &acknowledged, "reopened");
    drop(db);
}

#[test]
fn a_read_only_mount_is_read_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mounted) = Mounted::tmpfs(directory.path(), 16 << 20) else {
        println!("no tmpfs can be mounted here; the memory file system's read-only test stands in");
        return;
    };
    let path = mounted.0.join("db");
    let (options, families) = options();
    let (db, _) = Db::open_cf(&path, options.clone(), families.clone()).unwrap();
    db.put(b"flushed", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"in the log", b"2").unwrap();
    db.close().unwrap();
    let before = contents(&path);
    mounted.remount("ro");
    for families in [None, Some(families.clone())] {
        let (db, _) = Db::open_read_only(&path, DbOptions::default(), families).unwrap();
        assert_eq!(db.get(b"flushed").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(db.get(b"in the log").unwrap().as_deref(), Some(&b"2"[..]));
        let error = db.put(b"k", b"v").unwrap_err();
        assert!(error.to_string().contains("read-only"), "{error}");
        assert!(db.flush().is_err() && db.compact_range(None, None).is_err());
        db.verify_checksum().unwrap();
    }
    let error = Db::open_cf(&path, options, families).map(drop).unwrap_err();
    assert!(error.to_string().contains("open read-only"), "{error}");
    mounted.remount("rw");
    assert_eq!(contents(&path), before);
}

#[test]
fn open_read_only_writes_nothing() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 70);
    drop(db);
    let operations = rig.memory.operation_count();
    rig.memory.set_read_only(true);
    for families in [None, Some(Rig::families())] {
        let (db, _) = Db::open_read_only(crate::rig::DIRECTORY, rig.options.clone(), families).unwrap();
        rig.verify(&db, "read-only");
        assert_eq!(db.put(b"k", b"v").unwrap_err().kind(), ErrorKind::NotSupported);
        db.flush().unwrap_err();
        db.compact_range(None, None).unwrap_err();
        db.create_column_family("x", ColumnFamilyOptions::default()).unwrap_err();
        db.set_db_options(&[("max_background_jobs", "3")]).unwrap_err();
        db.close().unwrap();
    }
    assert_eq!(rig.memory.operation_count(), operations, "a read-only open changed something");
    rig.memory.set_read_only(false);
    rig.verify(&rig.open(), "read-write again");
}
