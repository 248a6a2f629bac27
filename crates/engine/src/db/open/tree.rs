//! Opening the tables alone, beside a process that writes: for a compaction whose outputs go elsewhere.

use super::{ColumnFamilyDescriptor, DbCore, Opener, WalDirFrom, file_system_of, latest_options};
use crate::info_log::InfoLog;
use crate::options::{DbOptions, LoadedOptions};
use ferrock_base::{Comparator, FileNumber, Result};
use ferrock_format::file_name;
use ferrock_options::{load_file, load_latest};
use ferrock_tree::version::version_set::{RecoverMode, read_current};
use ferrock_vfs::FileSystem;
use std::path::Path;
use std::sync::Arc;

/// How often an open begins, at most.
const ATTEMPTS: usize = 10;

/// Opens the families that `adjust` leaves, with the OPTIONS file of a number, or the newest, and the components and
/// `db_paths` of `base`. `comparator_of` gives the comparator of a family from the two names in the MANIFEST. No log is
/// read, and no file is written.
pub(crate) fn open_tree(
    path: &Path,
    options_file: FileNumber,
    base: &DbOptions,
    comparator_of: impl Fn(&str, &str) -> Result<Comparator>,
    adjust: impl Fn(&mut DbOptions, &mut Vec<ColumnFamilyDescriptor>) -> Result<()>,
) -> Result<Arc<DbCore>> {
    super::best_efforts::refuse(base.best_efforts_recovery)?;
    let file_system = file_system_of(base)?;
    let open = || {
        let load = |files: &dyn FileSystem, directory: &Path| numbered_or_latest(files, directory, options_file);
        let (mut options, mut families, notes) = latest_options(path, base.clone(), load, &comparator_of)?;
        adjust(&mut options, &mut families)?;
        let opener = Opener::new(path, options, families, notes, WalDirFrom::OptionsFile)?;
        let (components, files) = (&opener.options.components, Arc::clone(&opener.file_system));
        let info_log = InfoLog::without_file(files, components.clock(), components.info_log.clone());
        let versions = opener.recover_versions(&opener.families_to_open(), RecoverMode::ReadOnly)?;
        Ok(opener.assemble(versions, path.to_path_buf(), info_log, None, true))
    };
    let mut attempt = 0;
    loop {
        attempt += 1;
        let before = read_current(&*file_system, path);
        let opened = open();
        let after = read_current(&*file_system, path);
        let is_unchanged = matches!((&before, &after), (Ok(before), Ok(after)) if before == after);
        match opened {
            // The file that CURRENT named was removed while it was read.
            Err(_) if !is_unchanged && attempt < ATTEMPTS => {}
            outcome => return outcome,
        }
    }
}

/// The file of the number, or where it was replaced meanwhile, the newest.
fn numbered_or_latest(files: &dyn FileSystem, directory: &Path, number: FileNumber) -> Result<Option<LoadedOptions>> {
    match load_file(files, &directory.join(file_name::options(number))) {
        Ok(loaded) => Ok(Some(loaded)),
        Err(_) => load_latest(files, directory),
    }
}
