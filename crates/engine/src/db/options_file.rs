//! The OPTIONS file of an open database: written at open and whenever the families or
//! their options change.

use super::DbCore;
use crate::options::{ColumnFamilyOptions, to_file};
use ferrock_base::Result;
use ferrock_format::file_name;
use ferrock_vfs::write_file_atomically;

impl DbCore {
    /// Writes a new OPTIONS file: temporary name, sync, rename, directory sync.
    pub(crate) fn write_options_file(&self) -> Result<()> {
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
        let temp = self.path.join(file_name::options_temp(self.versions.new_file_number()));
        let path = self.path.join(file_name::options(self.versions.new_file_number()));
        write_file_atomically(&*self.file_system, &path, &temp, text.as_bytes())
    }
}
