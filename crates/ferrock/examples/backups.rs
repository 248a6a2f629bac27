//! Backups: incremental copies while a database is written to, and the way back.
//!
//!     cargo run --release -p ferrock --example backups

use ferrock::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
use ferrock::{Db, DbOptions, Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-backups");
    let (path, backups, restored) = (directory.join("db"), directory.join("backups"), directory.join("restored"));
    for database in [&path, &restored] {
        Db::destroy(database, &DbOptions::default())?;
    }
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(&path, options)?;

    let mut options = BackupEngineOptions::new(&backups);
    options.max_background_operations = 4;
    options.destroy_old_data = true;
    let engine = BackupEngine::open(options)?;

    // Each backup copies what the ones before do not have.
    for round in 0..3_u32 {
        for number in 0..10_000_u32 {
            db.put(&(round * 10_000 + number).to_be_bytes(), &[b'v'; 100])?;
        }
        db.flush()?;
        db.put(b"round", &round.to_be_bytes())?;
        let bytes = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&bytes);
        let create = CreateBackupOptions {
            app_metadata: format!("round {round}").into_bytes(),
            progress: Some(Arc::new(move |progress| seen.store(progress.bytes_done, Ordering::Relaxed))),
            ..CreateBackupOptions::default()
        };
        let id = engine.create_backup(&db, &create)?;
        let info = engine.backup_info(id)?;
        println!("backup {id}: {} files, {} bytes", info.number_files, bytes.load(Ordering::Relaxed));
    }

    // What is in the directory, and whether it is sound.
    for info in engine.backup_infos() {
        engine.verify_backup(info.backup_id, true)?;
        println!("backup {} ({}) is sound", info.backup_id, String::from_utf8_lossy(&info.app_metadata));
    }

    // Back to the second one, beside the database.
    engine.restore_db_from_backup(2, &restored, &restored, &RestoreOptions::default())?;
    let old = Db::open(&restored, DbOptions::default())?;
    if old.get(b"round")?.as_deref() != Some(&1_u32.to_be_bytes()[..]) {
        return Err(Error::new(ErrorKind::Corruption, "the second backup is of the second round"));
    }
    old.close()?;

    let report = engine.purge_old_backups(1)?;
    println!("removed {:?}: {} files, {} bytes", report.backups, report.files, report.bytes);
    db.close()
}
