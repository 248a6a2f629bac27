//! One history with everything: what is told fits together.

use crate::common::threads::wait_until;
use crate::log_lines;
use crate::recorder::{Bench, Told, all};
use ferrock::{ColumnFamilyOptions, FlushOptions, WriteOptions};
use ferrock_vfs::{Fault, FaultRule, OperationKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

#[test]
fn a_history_is_told_in_order() {
    let mut bench = Bench::new();
    bench.options.max_bgerror_resume_count = i32::MAX;
    bench.options.bgerror_resume_retry_interval = 1000;
    bench.options.max_background_jobs = 4;
    bench.family.disable_auto_compactions = false;
    bench.family.write_buffer_size = 64 << 10;
    bench.family.target_file_size_base = 64 << 10;
    bench.family.level0_file_num_compaction_trigger = 2;
    bench.family.level0_slowdown_writes_trigger = 3;
    bench.family.enable_blob_files = true;
    bench.family.min_blob_size = 2000;
    bench.family.enable_blob_garbage_collection = true;
    bench.family.blob_garbage_collection_age_cutoff = 0.5;
    let db = bench.open();
    let other = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
    for round in 0..6_u32 {
        for number in 0..300_u32 {
            let length = if number % 40 == 0 { 3000 } else { 400 };
            db.put(&(number * 7 % 300 + round).to_be_bytes(), &vec![round as u8; length]).unwrap();
        }
        db.put_cf(&other, &round.to_be_bytes(), b"value", &WriteOptions::default()).unwrap();
    }
    db.flush_cf(&other, &FlushOptions::default()).unwrap();
    db.drop_column_family(&other).unwrap();
    drop(other);
    db.compact_range(None, None).unwrap();
    bench.faulty.add_rule(FaultRule::new(OperationKind::Append, "*.sst", Fault::NoSpace));
    db.put(b"key", b"value").unwrap();
    assert!(db.flush().is_err());
    bench.faulty.clear_rules();
    wait_until("writes are accepted again", || bench.recorder.count("RecoveryEnd") > 0);
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    check(&bench.recorder.told());
    log_lines::check_beside(&bench.recorder.told(), &log_lines::lines(&bench.faulty));
}

/// What holds of every history.
fn check(told: &[Told]) {
    let mut begun_flushes: BTreeMap<(u64, u32), usize> = BTreeMap::new();
    let mut compactions: BTreeMap<u64, (Vec<PathBuf>, bool, usize)> = BTreeMap::new();
    let mut open_files: BTreeSet<PathBuf> = BTreeSet::new();
    let mut created: BTreeSet<PathBuf> = BTreeSet::new();
    let mut sealed: BTreeMap<String, u64> = BTreeMap::new();
    let mut failed = 0;
    for (at, event) in told.iter().enumerate() {
        match event {
            Told::MemTableSealed(info) => *sealed.entry(info.column_family.clone()).or_default() += 1,
            Told::FlushBegin(info) => {
                assert!(sealed.contains_key(&info.column_family), "a flush at {at} of what was not sealed");
                assert!(begun_flushes.insert((info.job_id, info.column_family_id), at).is_none());
            }
            Told::FlushCompleted(info) => {
                begun_flushes.remove(&(info.job_id, info.column_family_id)).expect("a flush that did not begin");
                assert!(
                    info.file_number.is_none() || created.contains(&info.file_path),
                    "{}",
                    info.file_path.display()
                );
            }
            Told::CompactionBegin(info) => {
                assert!(compactions.insert(info.job_id, (info.input_files.clone(), false, 0)).is_none());
            }
            Told::SubcompactionBegin(info) => compactions.get_mut(&info.job_id).unwrap().2 += 1,
            Told::SubcompactionCompleted(info) => compactions.get_mut(&info.job_id).unwrap().2 -= 1,
            Told::CompactionPreCommit(info) => {
                let job = compactions.get_mut(&info.job_id).expect("a compaction that did not begin");
                assert_eq!((job.1, job.2), (false, 0));
                job.1 = true;
            }
            Told::CompactionCompleted(info) => {
                let (inputs, is_committed, _) = compactions.remove(&info.job_id).expect("it did not begin");
                assert_eq!(inputs, info.input_files);
                assert_eq!(is_committed, info.status.is_ok());
                assert!(info.output_files.iter().all(|path| created.contains(path)));
            }
            Told::TableFileCreationStarted(info) | Told::BlobFileCreationStarted(info) => {
                assert!(info.job_id > 0 && open_files.insert(info.file_path.clone()));
            }
            Told::TableFileCreated(info) => {
                assert!(open_files.remove(&info.file.file_path));
                failed += usize::from(info.status.is_err());
                if info.status.is_ok() {
                    created.insert(info.file.file_path.clone());
                }
            }
            Told::BlobFileCreated(info) => {
                assert!(open_files.remove(&info.file.file_path));
                created.insert(info.file.file_path.clone());
            }
            Told::TableFileDeleted(info) | Told::BlobFileDeleted(info) => {
                assert!(info.status.is_ok());
                assert!(!compactions.values().any(|(inputs, ..)| inputs.contains(&info.file_path)), "an input");
            }
            _ => {}
        }
    }
    assert!(compactions.is_empty() && open_files.is_empty(), "{compactions:?} {open_files:?}");
    assert!(begun_flushes.len() <= failed, "{failed} failed: {begun_flushes:?}");
    for (of, at_least) in [
        ("FlushCompleted", 3),
        ("CompactionCompleted", 2),
        ("BlobFileCreated", 2),
        ("BlobFileDeleted", 1),
        ("Stall", 1),
        ("HandleDeletionStarted", 1),
        ("BackgroundError", 1),
        ("RecoveryBegin", 1),
        ("RecoveryEnd", 1),
        ("ShutdownBegin", 1),
    ] {
        let count = told.iter().filter(|told| told.name() == of).count();
        assert!(count >= at_least, "{of}: {count}");
    }
    let completed = all!(told, CompactionCompleted);
    assert!(completed.iter().any(|info| !info.stats.is_manual_compaction), "none was automatic");
}
