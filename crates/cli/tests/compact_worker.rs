//! `ferrock compact-worker` as the other process it is: over the files of a database that is open here, killed at
//! random moments, and compared with a database that compacts by itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::options::{BottommostLevelCompaction, CompactionService, Components};
use ferrock::{
    ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, JobDirectoryService, ReadOptions, Snapshot, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn worker(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrock"));
    command.arg("compact-worker").args(arguments).stdin(Stdio::null());
    command
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn open(path: &Path, service: Option<Arc<dyn CompactionService>>, has_blobs: bool) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_subcompactions = 2;
    options.components.compaction_service = service;
    let mut family = ColumnFamilyOptions::default();
    family.merge_operator = Some(Arc::new(StringAppend::new(",")));
    family.write_buffer_size = 64 << 10;
    family.target_file_size_base = 16 << 10;
    family.max_bytes_for_level_base = 64 << 10;
    family.level0_file_num_compaction_trigger = 2;
    family.enable_blob_files = has_blobs;
    family.min_blob_size = 20;
    family.blob_file_size = 20_000;
    family.enable_blob_garbage_collection = true;
    family.blob_garbage_collection_age_cutoff = 0.5;
    Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap().0
}

fn write(db: &Db, random: &mut Random, rounds: u64) -> Snapshot {
    let family = db.default_column_family().unwrap();
    for _ in 0..rounds {
        let at = random.next_u64() % 3000;
        let key = |number: u64| format!("key{number:05}").into_bytes();
        match random.next_u64() % 12 {
            0 | 1 => db.delete(&key(at)).unwrap(),
            2 => db.merge(&key(at), b"m").unwrap(),
            3 if at.is_multiple_of(10) => {
                db.delete_range_cf(&family, &key(at), &key(at + 40), &WriteOptions::default()).unwrap();
            }
            _ => db.put(&key(at), format!("{:080}", random.next_u64()).as_bytes()).unwrap(),
        }
    }
    db.snapshot()
}

fn contents(db: &Db, snapshot: Option<&Snapshot>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut iter = db.iter(&ReadOptions { snapshot: snapshot.cloned(), ..ReadOptions::default() });
    let mut all = BTreeMap::new();
    iter.seek_to_first();
    while iter.valid() {
        all.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    all
}

/// How many blob files lie in the directory.
fn blob_files(path: &Path) -> usize {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|extension| extension == "blob")).count()
}

fn compact(db: &Db) {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &options).unwrap();
}

fn statistic(db: &Db, name: &str) -> u64 {
    let lines = db.property("ferrock.statistics").unwrap_or_default();
    let found = lines.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
    found.unwrap_or_else(|| panic!("{name} in {lines:?}"))
}

/// Kills the worker again and again, at moments that follow from the seed.
fn kill_and_restart(db: &Path, jobs: &Path, seed: u64, is_over: &dyn Fn() -> bool) {
    let mut random = Random::new(seed);
    let start = || -> Child {
        worker(&["--db", text(db), "--jobs", text(jobs), "--poll-ms", "1"]).stdout(Stdio::null()).spawn().unwrap()
    };
    while !is_over() {
        let mut child = start();
        let life = Duration::from_millis(20 + random.next_u64() % 150);
        thread::sleep(life);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

fn compare_with_a_local_run(seed: u64, kills: bool, has_blobs: bool) {
    let directory = tempfile::tempdir().unwrap();
    let (path, own, jobs) = (directory.path().join("db"), directory.path().join("own"), directory.path().join("jobs"));
    let service = JobDirectoryService::new(&Components::default(), &jobs).unwrap();
    let service = service.with_poll_interval(Duration::from_millis(1)).with_timeout(Duration::from_secs(20));
    let (remote, local) = (open(&path, Some(Arc::new(service)), has_blobs), open(&own, None, has_blobs));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let over = || is_over.load(std::sync::atomic::Ordering::SeqCst);
    thread::scope(|scope| {
        let mut steady = None;
        if kills {
            scope.spawn(|| kill_and_restart(&path, &jobs, seed, &over));
        } else {
            steady = Some(worker(&["--db", text(&path), "--jobs", text(&jobs), "--poll-ms", "1"]).spawn().unwrap());
        }
        let (mut random, mut again) = (Random::new(seed), Random::new(seed));
        let mut snapshots = Vec::new();
        for round in 0..4 {
            snapshots.push((write(&remote, &mut random, 1500), write(&local, &mut again, 1500)));
            if round % 2 == 1 {
                compact(&remote);
                compact(&local);
                snapshots.truncate(2);
            }
            for (ours, theirs) in &snapshots {
                assert!(contents(&remote, Some(ours)) == contents(&local, Some(theirs)), "seed {seed} round {round}");
            }
        }
        remote.wait_for_background_work().unwrap();
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        if let Some(mut child) = steady {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    });
    assert!(contents(&remote, None) == contents(&local, None), "seed {seed}");
    remote.verify_checksum().unwrap();
    if !kills {
        assert!(statistic(&remote, "remote_compactions") > 0);
        assert_eq!(statistic(&remote, "remote_compactions_refused"), 0);
    }
    let expected = contents(&local, None);
    remote.close().unwrap();
    assert!(fs::read_dir(&jobs).unwrap().next().is_none(), "jobs are left");
    let tables = fs::read_dir(&path)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "sst"));
    let tables = tables.count();
    assert_eq!(blob_files(&path) > 0, has_blobs);
    let remote = open(&path, None, has_blobs);
    assert_eq!(remote.property("rocksdb.num-blob-files").unwrap(), blob_files(&path).to_string());
    assert!(contents(&remote, None) == expected);
    assert!(remote.live_files().len() <= tables);
}

#[test]
fn a_worker_in_another_process_leaves_what_a_local_run_leaves() {
    compare_with_a_local_run(1, false, false);
    compare_with_a_local_run(4, false, true);
}

#[test]
fn a_worker_may_be_killed_at_any_moment() {
    for (seed, has_blobs) in [(2, false), (3, true), (5, true)] {
        compare_with_a_local_run(seed, true, has_blobs);
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn one_job_can_be_given_as_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let (path, jobs) = (directory.path().join("db"), directory.path().join("jobs"));
    let service = JobDirectoryService::new(&Components::default(), &jobs).unwrap();
    let db = open(&path, Some(Arc::new(service.with_timeout(Duration::from_secs(60)))), false);
    write(&db, &mut Random::new(9), 500);
    db.flush().unwrap();
    let (input, output) = (directory.path().join("input"), directory.path().join("out"));
    thread::scope(|scope| {
        let compaction = scope.spawn(|| compact(&db));
        let job = loop {
            let job = fs::read_dir(&jobs).unwrap().next().map(|entry| entry.unwrap().path());
            if let Some(job) = job.filter(|job| job.join("input").exists()) {
                break job;
            }
            thread::sleep(Duration::from_millis(1));
        };
        fs::copy(job.join("input"), &input).unwrap();
        let arguments = ["--db", text(&path), "--job", text(&input), "--output", text(&output), "--json"];
        let done = worker(&arguments).output().unwrap();
        assert_eq!(code(&done), 0, "{done:?}");
        let report: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(report["error"], Value::Null);
        // Once more: the directory has tables.
        assert_eq!(code(&worker(&arguments).output().unwrap()), 2);
        fs::copy(output.join("result"), job.join("result")).ok();
        // The worker of the directory does what is left.
        while !compaction.is_finished() {
            assert_eq!(code(&worker(&["--db", text(&path), "--jobs", text(&jobs), "--once"]).output().unwrap()), 0);
        }
        compaction.join().unwrap();
    });
    // What is no job, and what is no command line.
    fs::write(&input, b"nothing").unwrap();
    let out = directory.path().join("other");
    assert_eq!(
        code(&worker(&["--db", text(&path), "--job", text(&input), "--output", text(&out)]).output().unwrap()),
        2
    );
    assert_eq!(code(&worker(&["--db", text(&path)]).output().unwrap()), 64);
}
