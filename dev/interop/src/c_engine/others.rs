//! What is done to a database that is closed, or that another opener writes: repairs and secondary instances.

use super::{CDatabase, CEngine};
use crate::engine::Outcome;
use crate::settings::Settings;
use ferrock_c_library::{Object, c_text};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;

impl CEngine {
    /// Repairs the closed database in `directory`.
    pub fn repair(&self, directory: &Path) -> Outcome<()> {
        let f = self.functions;
        let repair = f.repair_db.ok_or("the library repairs nothing")?;
        let (options, path) = (self.options(), c_text(directory.to_str().ok_or("the path is not UTF-8")?)?);
        // SAFETY: the options exist, and the path ends with a zero.
        f.checked(|error| unsafe { repair(options.object(), path.as_ptr(), error) })
    }

    /// Opens a second reader of the database in `directory`, with a directory of its own.
    pub fn open_secondary(&self, directory: &Path, own: &Path) -> Outcome<CDatabase> {
        let f = self.functions;
        let open = f.open_as_secondary_column_families.ok_or("the library has no secondary instances")?;
        let path = c_text(directory.to_str().ok_or("the path is not UTF-8")?)?;
        let own = c_text(own.to_str().ok_or("the path is not UTF-8")?)?;
        let open_files = [("max_open_files".to_owned(), "-1".to_owned())];
        let options = self.latest_options(&path, &Settings { db: open_files.into(), families: Vec::new() })?;
        let names: Vec<*const c_char> = options.names.iter().map(|name| name.as_ptr()).collect();
        let families: Vec<Object> = options.families.iter().map(|family| family.object()).collect();
        let mut handles: Vec<Object> = vec![null_mut(); names.len()];
        let (count, out) = (names.len() as c_int, handles.as_mut_ptr());
        // SAFETY: the three lists have `count` members and outlive the call, and the paths end with zeros.
        let db = f.checked(|error| unsafe {
            let (names, families) = (names.as_ptr(), families.as_ptr());
            open(options.db.object(), path.as_ptr(), own.as_ptr(), count, names, families, out, error)
        })?;
        Ok(CDatabase { functions: f, db, handles, names: options.names, snapshots: Vec::new(), tails: BTreeMap::new() })
    }
}

impl CDatabase {
    /// Of a secondary instance: takes in what was written meanwhile.
    pub fn catch_up(&self) -> Outcome<()> {
        let f = self.functions;
        let catch_up = f.try_catch_up_with_primary.ok_or("the library has no secondary instances")?;
        // SAFETY: the database exists.
        f.checked(|error| unsafe { catch_up(self.db, error) })
    }
}
