//! `ferrock checkpoint`: the database as a directory that opens by itself, over `ferrock::backup::Checkpoint`.

use crate::backup::{failure, open};
use crate::failure::{Outcome, Result};
use crate::output;
use clap::Args;
use ferrock::backup::{Checkpoint, CopyProgress};
use ferrock_base::clock::SystemClock;
use ferrock_vfs::TokenBucket;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  ferrock checkpoint /var/lib/app/db /var/lib/app/before-2.0
                                  tables become hard links: it takes a moment, and no space until the two differ
  ferrock checkpoint DB /mnt/other/copy --bytes-per-second 100000000
                                  another device: every file is copied, 100 MB a second
  ferrock checkpoint DB DIR --copy --json
                                  copies, also on the same device; the result for a program

The database must not be open in another process: that one makes its checkpoints itself, with
ferrock::backup::Checkpoint or rocksdb_checkpoint_create. Opening it replays its logs. What was begun and not completed
is DIR.tmp, which the next attempt removes.

Exit codes: 0 the copy is there, 1 a file is damaged, 2 there is no copy, 64 the command line is wrong.";

/// Arguments of `ferrock checkpoint`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckpointArgs {
    /// Directory of the database.
    db: PathBuf,
    /// Directory of the copy; must not exist.
    directory: PathBuf,
    /// Copy every file, also where it could be a hard link.
    #[arg(long)]
    copy: bool,
    /// Bytes of logs from which on memtables are flushed first; smaller logs are copied.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    log_size_for_flush: u64,
    /// Bytes a second that are written; 0: as many as possible.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    bytes_per_second: u64,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs `ferrock checkpoint`.
pub(crate) fn run(args: &CheckpointArgs) -> Result<Outcome> {
    let (db, families) = open(&args.db)?;
    let bar = output::byte_progress("Checkpoint");
    let mut move_bar = |progress: CopyProgress| {
        bar.set_length(progress.bytes);
        bar.set_position(progress.bytes_done);
    };
    let mut checkpoint = Checkpoint::new(&db).log_size_for_flush(args.log_size_for_flush).hard_links(!args.copy);
    if args.bytes_per_second > 0 {
        let limiter = TokenBucket::new(args.bytes_per_second, Arc::new(SystemClock::default()));
        checkpoint = checkpoint.rate_limiter(Arc::new(limiter));
    }
    let created = checkpoint.progress(&mut move_bar).create(&args.directory);
    bar.finish_and_clear();
    let report = created.map_err(failure)?;
    drop(families);
    db.close().map_err(failure)?;
    if args.json {
        output::say_json(&json!({
            "sequence": report.sequence.0,
            "files_linked": report.files_linked,
            "bytes_linked": report.bytes_linked,
            "files_copied": report.files_copied,
            "bytes_copied": report.bytes_copied,
        }))?;
    } else {
        output::say(&format!(
            "{} is a copy of {}: {} files linked ({}), {} copied ({})",
            args.directory.display(),
            args.db.display(),
            report.files_linked,
            output::bytes(report.bytes_linked),
            report.files_copied,
            output::bytes(report.bytes_copied),
        ))?;
    }
    Ok(Outcome::Good)
}
