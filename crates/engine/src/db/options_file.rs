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

/// Something that closing waits for, until it is dropped.
struct HoldsOpen<'a>(&'a DbCore);

impl Drop for HoldsOpen<'_> {
    fn drop(&mut self) {
        self.0.state.lock().running_manual -= 1;
        self.0.changed.notify_all();
    }
}

impl DbCore {
    /// Writes a new OPTIONS file: temporary name, sync, rename, directory sync.
    ///
    /// # Errors
    /// `Shutdown in progress` when the database is closed or closing.
    pub(crate) fn write_options_file(&self) -> Result<()> {
        let _open = self.hold_open()?;
        let _turn = self.options_file.lock();
        let mut views = self.versions.families();
        views.sort_by_key(|view| view.id);
        let families: Vec<(String, ColumnFamilyOptions)> = views
            .into_iter()
            .filter_map(|view| {
                let data = self.families.load().get(view.id).cloned()?;
                Some((view.name, (*data.options.load_full()).clone()))
            })
            .collect();
        let text = to_file(&self.options.load(), &families).format()?;
        let temp = self.files.database().join(file_name::options_temp(self.versions.new_file_number()));
        let path = self.files.database().join(file_name::options(self.versions.new_file_number()));
        write_file_atomically(&*self.file_system, &path, &temp, &to_bytes(&text))
    }

    fn hold_open(&self) -> Result<HoldsOpen<'_>> {
        // Closing sets its flag first and then waits for what it counts under this lock.
        let mut state = self.state.lock();
        self.closing_error()?;
        state.running_manual += 1;
        Ok(HoldsOpen(self))
    }
}
