//! Tables from outside become files of the database.
//!
//! ```text
//! prepare.rs   read each table: its order, bounds, properties        no lock; writers and readers go on
//!              which files of the tree have no key in its range
//!              copy or link it, sync it, sync the directory; checksums.rs: the checksum of the whole file
//! commit.rs    a memtable with a key in a range? ---> flush, again   no lock while it is flushed
//!              ------------------------------------------------------------ writers are held from here
//!              sync the logs: what was written before is not lost where this is kept
//!              levels and sequence numbers (tree/src/ingestion.rs), marked against compactions
//!              one VersionEdit for each family, one atomic group
//!              readers get the new versions, then the number becomes visible
//!              ------------------------------------------------------------ to here
//! finish.rs    open the tables, count, tell listeners; remove what was moved
//! import.rs    the same for a family that was exported: it is created with its tables
//! ```
//!
//! Invariants:
//! - A file is whole and durable, and so is its name, before the MANIFEST names it.
//! - A call that fails leaves nothing: its numbers are pending until the MANIFEST may have them, and its files are
//!   removed. Where the MANIFEST could not be written the files stay, for the change may have reached the disk, and
//!   the database stops to accept writes.
//! - The files from outside are only read, but for `move_files`, which removes the names that the caller gave when the
//!   database has the files.
//! - Before a file of the database is a second name of one from outside, the MANIFEST says that its number is given.
//!   After a crash another file of this number would be written into the one from outside.
//! - While the level of a file is chosen and until readers have it, no write is given a number, no other change of the
//!   tree is installed, and no compaction begins that would write into its range of that level.
//! - A file that is ingested behind has number 0, lies in the last level, below all other files, and overlaps none
//!   there. No compaction works on that level, and none drops what would hide it.
//! - A file whose range has keys in the tree has a number larger than theirs, and lies above them. A file with number 0
//!   overlaps no key of the tree.

mod args;
mod checksums;
mod commit;
mod finish;
mod import;
mod prepare;
mod prepared_file;

pub use args::{ExportImportFilesMetadata, ExportedFile, IngestExternalFileArg};
pub(crate) use import::{create_column_family_with_import, exported_files};

use super::{DbCore, flush};
use crate::jobs::StoppedBy;
use crate::jobs::background_error::Reason;
use commit::{Attempt, Flushes};
use ferrock_base::{Error, Result};
use ferrock_options::FlushReason;
use ferrock_statistics::{Histogram, PerfMetric, PerfTimer};
use prepare::Prepared;
use std::sync::Arc;

/// So often a call looks for keys in memtables, and has these flushed while writers go on. Then it holds them
/// meanwhile, as they write into the range again and again.
const ROUNDS_WITH_WRITERS: usize = 3;

/// See [`Db::ingest_external_files`](crate::Db::ingest_external_files).
pub(crate) fn ingest(core: &Arc<DbCore>, args: &[IngestExternalFileArg]) -> Result<()> {
    let _timer = PerfTimer::begin(PerfMetric::FileIngestionNanos);
    core.jobs.check_open()?;
    check(core, args)?;
    let open = core.jobs.hold_open()?;
    let begun_us = core.env.clock.monotonic_us();
    let mut prepared = Prepared::new(core, args)?;
    let prepared_us = core.env.clock.monotonic_us();
    let result = commit_in_rounds(core, &mut prepared);
    core.events.tell_collected();
    let placed = result?;
    finish::finish(core, &prepared, &placed, begun_us);
    finish::log_events(core, &prepared, &placed);
    drop(prepared);
    if let Some(recorder) = core.metrics.recorder().filter(|recorder| recorder.is_timing()) {
        recorder.record(Histogram::IngestExternalFilePrepareTime, prepared_us.saturating_sub(begun_us));
        let run_us = core.env.clock.monotonic_us().saturating_sub(prepared_us);
        recorder.record(Histogram::IngestExternalFileRunTime, run_us);
    }
    core.jobs.schedule();
    drop(open);
    Ok(())
}

impl DbCore {
    /// True for a family whose last level is for files that are ingested behind.
    fn reserves_last_level(&self, family: &crate::ColumnFamily) -> bool {
        self.versions.current(family.id()).is_some_and(|version| version.reserves_last_level())
    }
}

fn commit_in_rounds(core: &DbCore, prepared: &mut Prepared<'_>) -> Result<commit::Placed> {
    // Most of what the logs hold is durable before writers are held.
    core.sync_logs().inspect_err(|error| core.jobs.set_error(Reason::Write, error))?;
    for round in 0.. {
        let flushes = if round < ROUNDS_WITH_WRITERS { Flushes::Outside } else { Flushes::WhileWritersAreHeld };
        match commit::attempt(core, prepared, flushes)? {
            Attempt::Done(placed) => return Ok(placed),
            Attempt::NeedsFlush(ids) => {
                let (stopped_by, reason) = (StoppedBy::Closing, FlushReason::ExternalFileIngestion);
                flush::flush_families(core, &ids, &flush::at_once(), stopped_by, reason)?;
            }
        }
    }
    Err(Error::invalid_argument("an ingestion found no moment"))
}

/// Refuses what no file has to be read for.
fn check(core: &DbCore, args: &[IngestExternalFileArg]) -> Result<()> {
    if args.is_empty() {
        return Err(Error::invalid_argument("ingestion arg list is empty"));
    }
    for (index, arg) in args.iter().enumerate() {
        let (name, options) = (arg.family.name(), &arg.options);
        let refuse = |what: &str| Err(Error::invalid_argument(format!("column family {name}: {what}")));
        if args[..index].iter().any(|other| other.family.id() == arg.family.id()) {
            return refuse("ingestion args have duplicate column families: give it once, with all its files");
        }
        if arg.files.is_empty() {
            return refuse("external_files is empty: name at least one file");
        }
        if args[0].options.fill_cache != options.fill_cache {
            return refuse("fill_cache should be the same across ingestion options");
        }
        if options.move_files && options.link_files {
            return refuse("`move_files` and `link_files` can not both be true: set one");
        }
        if options.ingest_behind && !core.reserves_last_level(&arg.family) {
            return refuse(
                "Can't ingest_behind file with cf_allow_ingest_behind=false: open the family with \
                 cf_allow_ingest_behind, and with universal compaction, from its first write on",
            );
        }
        if options.ingest_behind && options.allow_db_generated_files {
            return Err(Error::not_supported(format!(
                "column family {name}: ingest_behind does not work with allow_db_generated_files, whose files keep \
                 sequence numbers that may be newer than those above them: clear one of them"
            )));
        }
        if options.allow_db_generated_files && options.write_global_seqno {
            return Err(Error::not_supported(format!(
                "column family {name}: write_global_seqno does not work with allow_db_generated_files, whose files keep \
                 their sequence numbers: clear one of them"
            )));
        }
    }
    args.iter().try_for_each(|arg| checksums::check(core, arg))?;
    let paths = args.iter().flat_map(|arg| arg.files.iter().map(|path| (path.as_path(), arg.options.move_files)));
    prepare::check_paths(core, paths)
}
