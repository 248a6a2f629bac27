//! Opening for reading, also beside a process that writes.
//!
//! ```text
//! CURRENT -> MANIFEST -> tables -> logs -> CURRENT and MANIFEST again
//! ```
//!
//! The writer removes a log, or a table, once its MANIFEST says that nothing needs it. Where that happens between the
//! look at the MANIFEST and the look for the file, a table is missing, which is an error, or a log is, which can look
//! like the end of what was written. So the MANIFEST is looked at again at the end, and the open begins anew when a log
//! that it needed may be gone. A MANIFEST that grew alone is no reason: beside a busy writer that would never end.

use super::{DbCore, Opener};
use crate::column_family::ColumnFamily;
use crate::db::open;
use crate::info_log::InfoLog;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::file_name;
use ferrock_tree::version::version_set::{RecoverMode, read_current};
use std::sync::Arc;

/// How often an open begins, at most.
const ATTEMPTS: usize = 50;

impl Opener {
    pub(super) fn open_read_only(self) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
        let names: Vec<String> = self.families.iter().map(|(name, _)| name.clone()).collect();
        let mut failure = None;
        for _ in 0..ATTEMPTS {
            let before = self.manifest_in_use();
            let opened = self.clone().read_everything();
            let is_unchanged = matches!((before, self.manifest_in_use()), (Ok(before), Ok(after)) if before == after);
            match opened {
                Ok(core) if is_unchanged || self.has_its_logs(&core) => return open::handles(core, names),
                Err(error) if is_unchanged => return Err(error),
                opened => failure = opened.err(),
            }
        }
        let what = "another process changes the database too fast for a read-only open";
        Err(failure.map_or_else(|| Error::new(ErrorKind::Busy, what), |error| error.context(what)))
    }

    /// Number and size of the MANIFEST that counts.
    fn manifest_in_use(&self) -> Result<(FileNumber, u64)> {
        let number = read_current(&*self.file_system, &self.path)?;
        Ok((number, self.file_system.file_size(&self.path.join(file_name::manifest(number)))?))
    }

    /// True when the logs that an open read are still needed: then none of them was removed before it was read.
    fn has_its_logs(&self, core: &DbCore) -> bool {
        self.recover_versions(&self.families_to_open(), RecoverMode::ReadOnly)
            .is_ok_and(|now| now.oldest_needed_log() == core.versions.oldest_needed_log())
    }

    fn read_everything(mut self) -> Result<Arc<DbCore>> {
        let info_log = InfoLog::none(Arc::clone(&self.file_system), self.options.components.clock());
        let versions = self.recover_versions(&self.families_to_open(), RecoverMode::ReadOnly)?;
        let logs = self.find_logs(&versions, &info_log)?;
        if !self.file_system.exists(&logs)? {
            return Err(Error::invalid_argument("wal_dir not found").in_file(logs));
        }
        let core = self.assemble(versions, logs, info_log, None, true);
        open::open_tables(&core)?;
        let recovered = open::read_logs(&core, |_| Ok(()))?;
        if let Some(last) = recovered.last_sequence {
            core.writes.raise_visible(last);
        }
        Ok(core)
    }
}
