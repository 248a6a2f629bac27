//! `checkpoint`; `backup` and `restore`, on a directory that RocksDB's BackupEngine reads and writes as well.

use crate::arguments::Request;
use crate::database::{directory, open_for_writing};
use crate::{Failure, Result};
use ferrock::backup::{BackupEngine, BackupEngineOptions, Checkpoint, CreateBackupOptions, RestoreOptions};
use std::io::Write;

pub(super) fn checkpoint(request: &Request, out: &mut dyn Write) -> Result<()> {
    let missing = || Failure::Usage("--checkpoint_dir: missing checkpoint directory".to_owned());
    let directory = request.get("checkpoint_dir").ok_or_else(missing)?;
    let opened = open_for_writing(request)?;
    Checkpoint::new(&opened.db).create(directory)?;
    drop(opened.family);
    opened.db.close()?;
    writeln!(out, "OK")?;
    Ok(())
}

pub(super) fn backup(request: &Request, out: &mut dyn Write) -> Result<()> {
    let options = engine_options(request)?;
    let opened = open_for_writing(request)?;
    writeln!(out, "open db OK")?;
    let engine = BackupEngine::open(options)?;
    writeln!(out, "open backup engine OK")?;
    engine.create_backup(&opened.db, &CreateBackupOptions::default())?;
    writeln!(out, "create new backup OK")?;
    drop(opened.family);
    opened.db.close()?;
    Ok(())
}

pub(super) fn restore(request: &Request, out: &mut dyn Write) -> Result<()> {
    let options = engine_options(request)?;
    let directory = directory(request)?;
    let engine = BackupEngine::open_read_only(options)?;
    writeln!(out, "open restore engine OK")?;
    engine.restore_db_from_latest_backup(&directory, &directory, &RestoreOptions::default())?;
    writeln!(out, "restore from backup OK")?;
    Ok(())
}

fn engine_options(request: &Request) -> Result<BackupEngineOptions> {
    let missing = || Failure::Usage("--backup_dir: missing backup directory".to_owned());
    let mut options = BackupEngineOptions::new(request.get("backup_dir").ok_or_else(missing)?);
    if let Some(threads) = request.number("num_threads")? {
        let wrong = |_| Failure::Usage(format!("--num_threads={threads}: it is from 1 to 1024"));
        options.max_background_operations = u32::try_from(threads).map_err(wrong)?;
    }
    options.validate().map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(options)
}
