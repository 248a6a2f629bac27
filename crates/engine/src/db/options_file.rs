//! The OPTIONS file of an open database: written at open and whenever the families or
//! their options change.
//!
//! It is written on the thread of the caller, and another handle may close the database meanwhile. Closing waits for a
//! file that is being written, and none is begun after it: the directory may be another opener's then.

use super::DbCore;
use crate::options::{ColumnFamilyOptions, to_file};
use ferrock_base::Result;
use ferrock_base::byte_text::to_bytes;
use ferrock_format::file_name;
use ferrock_vfs::write_file_atomically;

/// Writes a new OPTIONS file: temporary name, sync, rename, directory sync.
///
/// # Errors
/// `Shutdown in progress` when the database is closed or closing.
pub(crate) fn write_options_file(core: &DbCore) -> Result<()> {
    let _open = core.jobs.hold_open()?;
    let _turn = core.options.begin_file();
    let mut views = core.versions.families();
    views.sort_by_key(|view| view.id);
    let families: Vec<(String, ColumnFamilyOptions)> = views
        .into_iter()
        .filter_map(|view| {
            let data = core.families.load().get(view.id).cloned()?;
            Some((view.name, (*data.options.load_full()).clone()))
        })
        .collect();
    let text = to_file(&core.options.load(), &families).format()?;
    let temp = core.files.database().join(file_name::options_temp(core.versions.new_file_number()));
    let name = file_name::options(core.versions.new_file_number());
    let path = core.files.database().join(&name);
    write_file_atomically(&*core.env.file_system, &path, &temp, &to_bytes(&text))?;
    core.files.note_file(core.files.database(), name);
    Ok(())
}
