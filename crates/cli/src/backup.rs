//! `ferrock backup`, `ferrock backups`, `ferrock restore`: directories of backups, over
//! `ferrock::backup::BackupEngine`.
//!
//! RocksDB's tools and libraries work on the same directories.

use crate::failure::{Failure, Outcome, Result};
use crate::output;
use clap::{Args, ValueEnum};
use ferrock::backup::{
    BackupEngine, BackupEngineOptions, BackupInfo, CopyProgress, CreateBackupOptions, ProgressCallback, RemovalReport,
    RestoreMode, RestoreOptions,
};
use ferrock::{Db, DbOptions, ErrorKind, options};
use ferrock_base::clock::Utc;
use ferrock_format::file_name;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const BACKUP_EXAMPLES: &str = "\
Examples:
  ferrock backup /var/lib/app/db /backups/app            add a backup; what the last one has is not copied again
  ferrock backup DB DIR --metadata 'before 2.0' --json   with a word about it, and a result for a program
  ferrock backup DB DIR --threads 8 --bytes-per-second 100000000
                                                         eight copies at once, 100 MB a second together

The database must not be open in another process: that one makes its backups itself, with ferrock::backup::BackupEngine
or rocksdb_backup_engine_create_new_backup. Opening it replays its logs. RocksDB reads the directory, and may have
made it.

Exit codes: 0 there is a backup more, 1 a file is damaged, 2 there is none, 64 the command line is wrong.";

const BACKUPS_EXAMPLES: &str = "\
Examples:
  ferrock backups DIR                 number, time, size and files of each backup
  ferrock backups DIR --verify        read every file and compare checksums
  ferrock backups DIR --verify --json the same, for a program
  ferrock backups DIR --purge 7       keep the newest seven that are good
  ferrock backups DIR --delete 3      remove one, good or damaged

Exit codes: 0 all is well, 1 a backup is damaged, 2 the work could not be done, 64 the command line is wrong.";

const RESTORE_EXAMPLES: &str = "\
Examples:
  ferrock restore DIR DB                         the newest good backup
  ferrock restore DIR DB --backup 3              one of them
  ferrock restore DIR DB --replace --keep run
                                                 over a database, whose tables stay where the backup has the same
  ferrock restore DIR DB --wal-dir /logs/db      its logs in another directory

A restore that is interrupted leaves a directory that does not open as a database; run it again.

Exit codes: 0 the database is there, 1 the backup is damaged, 2 the work could not be done, 64 the command line is
wrong.";

/// What copies have in common.
#[derive(Debug, Args)]
struct CopyArgs {
    /// Files that are copied at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Bytes a second that are written; 0: as many as possible.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    bytes_per_second: u64,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `ferrock backup`.
#[derive(Debug, Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(crate) struct BackupArgs {
    /// Directory of the database.
    db: PathBuf,
    /// Directory of backups; made when it does not exist.
    backup_dir: PathBuf,
    /// A text that is kept with the backup.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    metadata: String,
    /// Copy no logs: what they hold is flushed to tables first.
    #[arg(long)]
    no_logs: bool,
    #[command(flatten)]
    copy: CopyArgs,
}

/// Arguments of `ferrock backups`.
#[derive(Debug, Args)]
#[command(after_help = BACKUPS_EXAMPLES)]
pub(crate) struct BackupsArgs {
    /// Directory of backups.
    backup_dir: PathBuf,
    /// Read all files and compare their checksums.
    #[arg(long)]
    verify: bool,
    /// Remove the oldest good backups but for so many.
    #[arg(long, value_name = "KEEP")]
    purge: Option<u32>,
    /// Remove a backup; may be given more than once.
    #[arg(long, value_name = "ID", conflicts_with = "purge")]
    delete: Vec<u32>,
    /// Files that are read at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Which files of the database stay, where the backup has the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// None.
    #[default]
    Nothing,
    /// Tables of the same run of the database, number and size; their blocks are not read.
    Run,
    /// Tables and blob files with the same checksum; all of them are read.
    Checksum,
}

/// Arguments of `ferrock restore`.
#[derive(Debug, Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub(crate) struct RestoreArgs {
    /// Directory of backups. Nothing in it is changed.
    backup_dir: PathBuf,
    /// Directory of the database.
    db: PathBuf,
    /// The backup [default: the newest good one].
    #[arg(long, value_name = "ID")]
    backup: Option<u32>,
    /// Directory of the logs [default: that of the database].
    #[arg(long, value_name = "DIR")]
    wal_dir: Option<PathBuf>,
    /// Go on when there is a database: its files are removed.
    #[arg(long)]
    replace: bool,
    /// Which of its files stay.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "nothing")]
    keep: Keep,
    /// Keep its logs, for a backup that has none.
    #[arg(long)]
    keep_logs: bool,
    #[command(flatten)]
    copy: CopyArgs,
}

/// Damage is told apart from what could not be done.
pub(crate) fn failure(error: ferrock::Error) -> Failure {
    if error.is_corruption() { Failure::Data(error.to_string()) } else { Failure::Engine(error) }
}

fn engine_options(directory: &Path, copy: &CopyArgs) -> BackupEngineOptions {
    let mut options = BackupEngineOptions::new(directory);
    options.max_background_operations = copy.threads;
    options.backup_rate_limit = copy.bytes_per_second;
    options.restore_rate_limit = copy.bytes_per_second;
    options
}

/// A bar, on a terminal, and what moves it.
fn progress(what: &'static str) -> (ProgressBar, ProgressCallback) {
    let bar = output::byte_progress(what);
    let moved = bar.clone();
    let callback = move |progress: CopyProgress| {
        moved.set_length(progress.bytes);
        moved.set_position(progress.bytes_done);
    };
    (bar, Arc::new(callback))
}

/// Runs `ferrock backup`.
pub(crate) fn backup(args: &BackupArgs) -> Result<Outcome> {
    let (db, families) = open(&args.db)?;
    let mut options = engine_options(&args.backup_dir, &args.copy);
    options.backup_log_files = !args.no_logs;
    let engine = BackupEngine::open(options).map_err(failure)?;
    let (bar, callback) = progress("Backup");
    let create = CreateBackupOptions {
        app_metadata: args.metadata.clone().into_bytes(),
        progress: Some(callback),
        ..CreateBackupOptions::default()
    };
    let created = engine.create_backup(&db, &create);
    bar.finish_and_clear();
    let info = created.and_then(|id| engine.backup_info(id)).map_err(failure)?;
    drop(families);
    db.close().map_err(failure)?;
    if args.copy.json {
        output::say_json(&told(&info))?;
    } else {
        output::say(&format!(
            "Backup {} of {}: {} in {} files",
            info.backup_id,
            args.db.display(),
            output::bytes(info.size),
            info.number_files
        ))?;
    }
    Ok(Outcome::Good)
}

/// Opens a database with the options that its directory has.
pub(crate) fn open(path: &Path) -> Result<(Db, Vec<ferrock::ColumnFamily>)> {
    let files = ferrock_vfs::default_file_system();
    if !files.exists(&path.join(file_name::CURRENT))? {
        return Err(Failure::NotDone(format!("{}: there is no database", path.display())));
    }
    let mut base = DbOptions::default();
    // A file that cannot be read is reported by the open.
    if let Ok(Some(loaded)) = options::load_latest(&*files, path) {
        base.wal_recovery_mode = loaded.db.wal_recovery_mode;
    }
    Db::open_with_latest_options(path, base).map_err(failure)
}

fn told(info: &BackupInfo) -> Value {
    json!({
        "id": info.backup_id,
        "timestamp": info.timestamp,
        "sequence": info.sequence.0,
        "bytes": info.size,
        "files": info.number_files,
        "metadata": String::from_utf8_lossy(&info.app_metadata),
    })
}

/// What is wrong with a backup.
struct Damaged {
    id: u32,
    error: String,
}

/// Runs `ferrock backups`.
pub(crate) fn backups(args: &BackupsArgs) -> Result<Outcome> {
    let mut options = BackupEngineOptions::new(&args.backup_dir);
    options.max_background_operations = args.threads;
    let writes = args.purge.is_some() || !args.delete.is_empty();
    // An engine that writes makes the directory, and here it must be there.
    let reader = BackupEngine::open_read_only(options.clone()).map_err(no_backups)?;
    let engine = if writes { BackupEngine::open(options).map_err(failure)? } else { reader };
    let removed = if writes { Some(remove(&engine, args)?) } else { None };
    let infos = engine.backup_infos();
    let mut damaged: Vec<Damaged> =
        engine.corrupted_backups().into_iter().map(|(id, error)| Damaged { id, error }).collect();
    if args.verify {
        verify(&engine, &infos, &mut damaged)?;
    }
    damaged.sort_by_key(|backup| backup.id);
    if args.json {
        output::say_json(&json!({
            "backups": infos.iter().map(told).collect::<Vec<_>>(),
            "damaged": damaged.iter().map(|of| json!({"id": of.id, "error": of.error})).collect::<Vec<_>>(),
            "verified": args.verify,
            "removed": removed.as_ref().map(removal),
        }))?;
    } else {
        print(&infos, &damaged, removed.as_ref())?;
    }
    Ok(if damaged.is_empty() { Outcome::Good } else { Outcome::BadData })
}

fn no_backups(error: ferrock::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::NotDone(error.to_string()),
        _ => failure(error),
    }
}

fn remove(engine: &BackupEngine, args: &BackupsArgs) -> Result<RemovalReport> {
    if let Some(keep) = args.purge {
        return engine.purge_old_backups(keep).map_err(failure);
    }
    let mut all = RemovalReport::default();
    for id in &args.delete {
        let report = engine.delete_backup(*id).map_err(failure)?;
        all.backups.extend(report.backups);
        all.files += report.files;
        all.bytes += report.bytes;
        all.kept_for = report.kept_for;
    }
    Ok(all)
}

fn removal(report: &RemovalReport) -> Value {
    json!({
        "backups": report.backups, "files": report.files, "bytes": report.bytes, "kept_for": report.kept_for,
    })
}

fn verify(engine: &BackupEngine, infos: &[BackupInfo], damaged: &mut Vec<Damaged>) -> Result<()> {
    let bar = output::byte_progress("Verifying");
    bar.set_length(infos.iter().map(|info| info.size).sum());
    for info in infos {
        match engine.verify_backup(info.backup_id, true) {
            Ok(()) => {}
            Err(error) if error.is_corruption() || error.kind() == ErrorKind::NotFound => {
                damaged.push(Damaged { id: info.backup_id, error: error.to_string() });
            }
            Err(error) => return Err(failure(error)),
        }
        bar.inc(info.size);
    }
    bar.finish_and_clear();
    Ok(())
}

fn print(infos: &[BackupInfo], damaged: &[Damaged], removed: Option<&RemovalReport>) -> Result<()> {
    if let Some(report) = removed {
        let (count, files, bytes) = (report.backups.len(), report.files, output::bytes(report.bytes));
        output::note(&format!("Removed {count} backups, {files} files, {bytes}"));
        for id in &report.kept_for {
            output::note(&format!("Shared files stay because of backup {id}, whose description cannot be read"));
        }
    }
    if infos.is_empty() && damaged.is_empty() {
        return output::say("no backups");
    }
    let mut table = output::table(&["backup", "state", "made", "metadata", "files", "size"], 4);
    for info in infos {
        let is_damaged = damaged.iter().any(|damaged| damaged.id == info.backup_id);
        table.add_row([
            info.backup_id.to_string(),
            if is_damaged { "damaged" } else { "good" }.to_owned(),
            utc(info.timestamp),
            String::from_utf8_lossy(&info.app_metadata).escape_debug().to_string(),
            info.number_files.to_string(),
            output::bytes(info.size),
        ]);
    }
    output::say(&table.to_string())?;
    for damaged in damaged {
        output::complain(&format!("backup {}: {}", damaged.id, damaged.error));
    }
    Ok(())
}

/// Seconds since 1970 as a date and a time.
fn utc(seconds: i64) -> String {
    let Utc { year, month, day, hour, minute, second } = Utc::of_unix_seconds(seconds);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Runs `ferrock restore`.
pub(crate) fn restore(args: &RestoreArgs) -> Result<Outcome> {
    let engine = BackupEngine::open_read_only(engine_options(&args.backup_dir, &args.copy)).map_err(no_backups)?;
    let files = ferrock_vfs::default_file_system();
    if !args.replace && files.exists(&args.db.join(file_name::CURRENT))? {
        return Err(Failure::NotDone(format!(
            "{}: there is a database, which would be removed: add --replace, or restore to another directory",
            args.db.display()
        )));
    }
    let id = args.backup.map_or_else(|| engine.latest_backup_info().map(|info| info.backup_id), Ok).map_err(failure)?;
    let (bar, callback) = progress("Restore");
    let mode = match args.keep {
        Keep::Nothing => RestoreMode::PurgeAllFiles,
        Keep::Run => RestoreMode::KeepLatestDbSessionIdFiles,
        Keep::Checksum => RestoreMode::VerifyChecksum,
    };
    let options =
        RestoreOptions { keep_log_files: args.keep_logs, mode, progress: Some(callback), ..RestoreOptions::default() };
    let logs = args.wal_dir.as_deref().unwrap_or(&args.db);
    let restored = engine.restore_db_from_backup(id, &args.db, logs, &options);
    bar.finish_and_clear();
    restored.map_err(failure)?;
    let info = engine.backup_info(id).map_err(failure)?;
    if args.copy.json {
        output::say_json(&told(&info))?;
    } else {
        let (db, size) = (args.db.display(), output::bytes(info.size));
        output::say(&format!("Backup {id}, made {}, is in {db}: {size}", utc(info.timestamp)))?;
    }
    Ok(Outcome::Good)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn seconds_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_868_799, "2000-02-29 23:59:59 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_795_818_686, "2026-11-27 22:31:26 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
