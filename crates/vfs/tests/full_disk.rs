//! A full disk: nothing that was synced is lost, every byte that fits is used, the error says what to do.
//!
//! On a small tmpfs where one can be mounted (as root, as in CI), and by fault injection everywhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use common::pattern;
use ferrock_base::ErrorKind;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, OperationKind, PosixFileSystem, Trigger, WritableOptions,
    read_file, write_file_synced,
};
use parking_lot::Mutex;

const DISK_BYTES: usize = 2 << 20;
const RECORD_BYTES: usize = 1500;

fn all_ways() -> Vec<WritableOptions> {
    let base = WritableOptions { buffer_bytes: 0, ..Default::default() };
    vec![
        base,
        WritableOptions { buffer_bytes: 4096, preallocate_bytes: 1 << 20, ..base },
        WritableOptions { mapped_append: true, ..base },
        WritableOptions { mapped_append: true, preallocate_bytes: 300_000, ..base },
        WritableOptions { mapped_append: true, preallocate_bytes: 16 << 20, ..base },
    ]
}

/// Fills the disk by one file; `relieve` frees space again.
fn fill(file_system: &dyn FileSystem, dir: &Path, options: &WritableOptions, relieve: impl Fn()) {
    let kept = dir.join("CURRENT");
    write_file_synced(file_system, &kept, b"MANIFEST-000001\n").unwrap();
    let path = dir.join("000004.log");
    let contents = pattern(2 * DISK_BYTES, 9);
    let mut file = file_system.create_writable(&path, options).unwrap();
    let mut at = 0;
    let mut flushed = 0;
    let error = loop {
        let outcome = file.append(&contents[at..at + RECORD_BYTES]).and_then(|()| file.flush());
        match outcome {
            Ok(()) => at += RECORD_BYTES,
            Err(error) => break error,
        }
        flushed = at;
        assert!(at + RECORD_BYTES <= contents.len(), "{options:?}: the disk never fills");
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{options:?}: {error}");
    assert!(error.to_string().contains("free space") && error.to_string().contains("000004.log"), "{error}");
    assert!(file.append(b"more").is_err(), "{options:?}: the failure sticks");
    drop(file);
    let left = read_file(file_system, &path).unwrap();
    assert!(left.len() >= flushed, "{options:?}: {} of {flushed} flushed bytes are left", left.len());
    assert!(left == contents[..left.len()], "{options:?}");
    assert_eq!(read_file(file_system, &kept).unwrap(), b"MANIFEST-000001\n");
    file_system.remove_file(&path).unwrap();
    relieve();
    write_file_synced(file_system, &path, &contents[..DISK_BYTES / 2]).unwrap();
    file_system.remove_file(&path).unwrap();
}

#[test]
fn an_injected_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    for options in all_ways() {
        let file_system = FaultInjectionFileSystem::new(Arc::new(PosixFileSystem::new()));
        let rule = FaultRule::new(OperationKind::Append, "*.log", Fault::ShortWrite { kept_bytes: 700 });
        file_system.add_rule(rule.when(Trigger::Nth(600)));
        let rule = FaultRule::new(OperationKind::Append, "*.log", Fault::NoSpace);
        file_system.add_rule(rule.when(Trigger::From(600)));
        fill(&file_system, dir.path(), &options, || file_system.clear_rules());
    }
}

/// A process that another test starts holds copies of our descriptors until it runs `mount`, and so the space of files
/// that we removed: the tests that start processes or measure space take turns.
static TURN: Mutex<()> = Mutex::new(());

struct Mounted(PathBuf);

impl Mounted {
    fn tmpfs(dir: &Path) -> Option<Self> {
        let size = format!("size={DISK_BYTES}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "ferrock-test"]).arg(dir).output().ok()?;
        mount.status.success().then(|| Self(dir.to_path_buf()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{} stays mounted", self.0.display());
    }
}

#[test]
fn a_really_full_disk() {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let Some(mounted) = Mounted::tmpfs(dir.path()) else {
        println!("no tmpfs can be mounted here; a_size_limit_ends_appends_cleanly and an_injected_full_disk stand in");
        return;
    };
    let file_system = PosixFileSystem::new();
    assert!(file_system.free_space(&mounted.0).unwrap() <= DISK_BYTES as u64);
    for options in all_ways() {
        fill(&file_system, &mounted.0, &options, || {});
    }
}

#[test]
fn a_read_only_mount_is_recognised() {
    let _turn = TURN.lock();
    let dir = tempfile::tempdir().unwrap();
    let Some(mounted) = Mounted::tmpfs(dir.path()) else {
        println!("no tmpfs can be mounted here; the in-memory file system's read-only test stands in");
        return;
    };
    let file_system = PosixFileSystem::new();
    write_file_synced(&file_system, &mounted.0.join("f"), b"x").unwrap();
    assert!(!file_system.is_read_only(&mounted.0).unwrap());
    let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(&mounted.0).status().unwrap();
    assert!(remount.success());
    assert!(file_system.is_read_only(&mounted.0).unwrap());
    let error = write_file_synced(&file_system, &mounted.0.join("g"), b"x").unwrap_err();
    assert!(error.to_string().contains("open read-only"), "{error}");
    assert_eq!(read_file(&file_system, &mounted.0.join("f")).unwrap(), b"x");
}
