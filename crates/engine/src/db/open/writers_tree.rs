//! The tree and the logs of a database that another process writes, as of one moment.
//!
//! ```text
//! MANIFEST (all) -> list of logs -> logs are opened -> MANIFEST (what came) -> versions -> tables
//!                        ^                                    |
//!                        +---- a family needs a log between --+
//! ```
//!
//! The writer removes a log once its MANIFEST says that nothing needs it. So the logs are opened first, and what the
//! MANIFEST says then is the tree: each log that this tree needs and that was there at the listing is open. One that
//! was listed and is gone is one that the tree does not need. One that came behind the listing has what was written
//! since the open began. It may be left out as long as no table has what is in it, or in a log behind it: where one
//! family has flushed such a log and another needs an older one, the logs are listed again, and that one is there,
//! because the writer keeps the older one and all behind it. What a log holds is read behind the tree.
//!
//! Tried and lost: to open the logs that the MANIFEST needs, and to look at the MANIFEST again behind it. Each flush
//! between the two was a reason to begin anew, and both looks read the whole MANIFEST: beside a writer that flushed
//! after every put, no open was good any more once the MANIFEST was long (`--test read_only_beside`).

use super::Opener;
use crate::db::recovery::{OpenLog, RecoveredLogs, log_numbers};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_tree::version::VersionSet;
use ferrock_tree::version::version_set::{FollowedManifest, RecoverMode};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// How often the logs are listed.
const MOST_LISTINGS: usize = 50;

/// The MANIFEST of a database that another process writes, and the logs that its tree needs.
pub(super) struct WritersTree {
    manifest: RefCell<FollowedManifest>,
}

impl WritersTree {
    /// Of the families that `opener` opens. Nothing is read yet.
    pub(super) fn new(opener: &Opener) -> Result<Self> {
        Ok(Self { manifest: RefCell::new(opener.followed_manifest()?) })
    }

    /// Reads what the MANIFEST has by now.
    pub(super) fn read(&self) -> Result<()> {
        self.manifest.borrow_mut().read()
    }

    /// Opens the logs, oldest first, and leaves the MANIFEST read up to a tree that needs no others.
    pub(super) fn open_logs(&self, opener: &Opener, directory: &Path) -> Result<Vec<OpenLog>> {
        let mut manifest = self.manifest.borrow_mut();
        manifest.read()?;
        let mut logs = OpenedLogs { opener, directory, open: BTreeMap::new(), known: manifest.newest_log_number() };
        let mut failure = None;
        for _ in 0..MOST_LISTINGS {
            let oldest = manifest.oldest_needed_log().min(manifest.min_log_number_to_keep());
            let (listed_all_below, outside_changes) = (logs.known, manifest.outside_changes());
            let gone = logs.open_from(oldest)?;
            manifest.read()?;
            let (oldest, newest) = (manifest.oldest_needed_log(), manifest.newest_log_number());
            let oldest_kept = oldest.min(manifest.min_log_number_to_keep());
            failure = gone.filter(|(gone, _)| *gone >= oldest_kept).map(|(_, error)| error);
            // What came from outside may be behind batches in a log that came behind the listing.
            if failure.is_some() || manifest.outside_changes() != outside_changes {
                continue;
            }
            // No table has what is in logs from `newest` on, and all below `known` are there by now.
            let is_complete = newest <= oldest
                || newest <= listed_all_below
                || (newest <= logs.known && logs.open_from(oldest_kept)?.is_none());
            if is_complete {
                return Ok(logs.open.split_off(&oldest_kept).into_values().collect());
            }
        }
        // A log that is listed and cannot be opened, ever.
        let what = "logs come and go too fast beside this open; try again";
        Err(failure.unwrap_or_else(|| Error::new(ErrorKind::TryAgain, what).in_file(directory)))
    }

    /// The tree, as far as the MANIFEST was read.
    pub(super) fn versions(&self, opener: &Opener) -> Result<VersionSet> {
        self.manifest.borrow().version_set(Arc::new(opener.options.clone()), RecoverMode::ReadOnly)
    }

    /// No log with a smaller number is needed.
    pub(super) fn oldest_needed_log(&self) -> FileNumber {
        self.manifest.borrow().oldest_needed_log()
    }

    /// True when reading stopped in a log that the writer needs no more: what was read of it is not to be relied upon,
    /// for a writer may use the file for another log, or cut it.
    pub(super) fn was_log_taken_away(&self, read: &RecoveredLogs) -> bool {
        let is_needless = |stopped_at: FileNumber| self.read().is_ok() && stopped_at < self.oldest_needed_log();
        read.stopped_at.is_some_and(is_needless)
    }

    /// Names of the families that the MANIFEST has, as far as it was read.
    pub(super) fn family_names(&self) -> Vec<String> {
        self.manifest.borrow().family_names()
    }

    /// What the MANIFEST has said so far of what no log has; to be compared.
    pub(super) fn outside_changes(&self) -> u64 {
        self.manifest.borrow().outside_changes()
    }

    /// True when the MANIFEST has said nothing of what no log has since there were so many `outside_changes`; false,
    /// too, where that cannot be told. With batches that came later and without those changes, a database would be in
    /// no state that the writer had.
    pub(super) fn is_as_of(&self, outside_changes: u64) -> bool {
        let mut manifest = self.manifest.borrow_mut();
        manifest.read().is_ok() && manifest.outside_changes() == outside_changes
    }
}

/// The logs that were there at some listing.
struct OpenedLogs<'a> {
    opener: &'a Opener,
    directory: &'a Path,
    open: BTreeMap<FileNumber, OpenLog>,
    /// A log with this number was made: each with a smaller one is there, or was. A listing has all that were there
    /// before it; of what is made while it goes on, it may have a later one and not an earlier.
    known: FileNumber,
}

impl OpenedLogs<'_> {
    /// Lists the logs, and opens those from `oldest` on that are not open. The last of those that were gone.
    fn open_from(&mut self, oldest: FileNumber) -> Result<Option<(FileNumber, Error)>> {
        let file_system = &*self.opener.file_system;
        let listed = log_numbers(file_system, self.directory)?;
        let mut gone = None;
        for &number in listed.iter().filter(|number| **number >= oldest) {
            if self.open.contains_key(&number) {
                continue;
            }
            match OpenLog::open(file_system, self.directory, number) {
                Ok(log) => drop(self.open.insert(number, log)),
                Err(error) if error.is_not_found() => gone = Some((number, error)),
                Err(error) => return Err(error),
            }
        }
        self.known = listed.into_iter().fold(self.known, FileNumber::max);
        Ok(gone)
    }
}
