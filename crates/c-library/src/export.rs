//! Column families exported from databases, and imported into them.

use crate::database::Database;
use crate::functions::c_text;
use crate::object::Owned;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

/// What is told of a table of an exported family, as far as it can be told to a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedTable {
    /// Where it is.
    pub path: PathBuf,
    /// Its level.
    pub level: i32,
    /// Its bytes.
    pub size_bytes: usize,
    /// Its oldest sequence number.
    pub smallest_sequence: u64,
    /// Its newest sequence number.
    pub largest_sequence: u64,
}

const MISSING: &str = "the library has no functions of exported families";

fn text_of(path: Option<&Path>) -> Result<CString, String> {
    let text = path.and_then(Path::to_str).ok_or("a path is not UTF-8, or has no directory")?;
    c_text(text)
}

impl Database {
    /// Exports the family to a directory that does not exist.
    ///
    /// # Errors
    /// The library's message; an older library has no such function.
    pub fn export(&self, directory: &Path) -> Result<Vec<ExportedTable>, String> {
        let f = self.functions;
        let make = f.checkpoint_object_create.zip(f.checkpoint_object_destroy).ok_or(MISSING)?;
        let export = f.checkpoint_export_column_family.ok_or(MISSING)?;
        let destroy = f.export_import_files_metadata_destroy.ok_or(MISSING)?;
        let get_files = f.export_import_files_metadata_get_files.ok_or(MISSING)?;
        let (count, destroy_files) = f.livefiles_count.zip(f.livefiles_destroy).ok_or(MISSING)?;
        let (name, parent) = f.livefiles_name.zip(f.livefiles_directory).ok_or(MISSING)?;
        let (level, size) = f.livefiles_level.zip(f.livefiles_size).ok_or(MISSING)?;
        let (smallest, largest) = f.livefiles_smallest_seqno.zip(f.livefiles_largest_seqno).ok_or(MISSING)?;
        let text = text_of(Some(directory))?;
        // SAFETY: the database lives.
        let checkpoint = f.checked(|error| unsafe { (make.0)(self.database.object(), error) })?;
        // SAFETY: the object is what the call above made.
        let checkpoint = unsafe { Owned::new(checkpoint, make.1) };
        let (family, its) = (self.family.object(), checkpoint.object());
        // SAFETY: object and family live, and the text ends with a zero.
        let metadata = f.checked(|error| unsafe { export(its, family, text.as_ptr(), error) })?;
        // SAFETY: both objects are what the calls made, and are ended by their functions alone.
        let metadata = unsafe { Owned::new(metadata, destroy) };
        // SAFETY: as above.
        let files = unsafe { Owned::new(get_files(metadata.object()), destroy_files) };
        let its = files.object();
        // SAFETY: the list lives.
        let count = unsafe { count(its) };
        let table = |index| {
            // SAFETY: the list lives, has so many members, and its texts end with a zero.
            let (name, parent) = unsafe { (CStr::from_ptr(name(its, index)), CStr::from_ptr(parent(its, index))) };
            let name = name.to_string_lossy();
            let path = Path::new(&*parent.to_string_lossy()).join(name.trim_start_matches('/'));
            // SAFETY: as above.
            unsafe {
                ExportedTable {
                    path,
                    level: level(its, index),
                    size_bytes: size(its, index),
                    smallest_sequence: smallest(its, index),
                    largest_sequence: largest(its, index),
                }
            }
        };
        Ok((0..count).map(table).collect())
    }

    /// Creates a family of exported tables, with the options of this database.
    ///
    /// # Errors
    /// The library's message; an older library has no such function.
    pub fn import(
        &self,
        name: &str,
        comparator: &str,
        tables: &[ExportedTable],
        move_files: bool,
    ) -> Result<(), String> {
        let f = self.functions;
        let import = f.create_column_family_with_import.ok_or(MISSING)?;
        let options = f.import_column_family_options_create.zip(f.import_column_family_options_destroy);
        let (create_options, destroy_options) = options.ok_or(MISSING)?;
        let set_move = f.import_column_family_options_set_move_files.ok_or(MISSING)?;
        let metadata = f.export_import_files_metadata_create.zip(f.export_import_files_metadata_destroy);
        let (create, destroy) = metadata.ok_or(MISSING)?;
        let set_comparator = f.export_import_files_metadata_set_db_comparator_name.ok_or(MISSING)?;
        let set_files = f.export_import_files_metadata_set_files.ok_or(MISSING)?;
        let (create_list, add) = f.livefiles_create.zip(f.livefiles_add).ok_or(MISSING)?;
        let (create_file, set_name) = f.livefile_create.zip(f.livefile_set_name).ok_or(MISSING)?;
        let (set_directory, set_level) = f.livefile_set_directory.zip(f.livefile_set_level).ok_or(MISSING)?;
        let set_size = f.livefile_set_size.ok_or(MISSING)?;
        let numbers = f.livefile_set_smallest_seqno.zip(f.livefile_set_largest_seqno);
        let (set_smallest, set_largest) = numbers.ok_or(MISSING)?;
        let (name, comparator) = (c_text(name)?, c_text(comparator)?);
        let mut texts = Vec::new();
        for table in tables {
            texts.push((text_of(table.path.file_name().map(Path::new))?, text_of(table.path.parent())?));
        }
        // SAFETY: each pair makes and ends objects of one kind. A table is handed over to the list, and the list to the
        // metadata. All texts end with a zero and live.
        let (options, metadata) = unsafe {
            let options = Owned::create(create_options, destroy_options);
            set_move(options.object(), move_files.into());
            let metadata = Owned::create(create, destroy);
            set_comparator(metadata.object(), comparator.as_ptr());
            let list = create_list();
            for (table, (name, directory)) in tables.iter().zip(&texts) {
                let file = create_file();
                set_name(file, name.as_ptr());
                set_directory(file, directory.as_ptr());
                set_level(file, table.level);
                set_size(file, table.size_bytes);
                set_smallest(file, table.smallest_sequence);
                set_largest(file, table.largest_sequence);
                add(list, file);
            }
            set_files(metadata.object(), list);
            (options, metadata)
        };
        // SAFETY: all objects live. The handle is ended once.
        f.checked(|error| unsafe {
            let (database, family) = (self.database.object(), self.options.object());
            let handle = import(database, family, name.as_ptr(), options.object(), metadata.object(), error);
            if !handle.is_null() {
                (f.column_family_handle_destroy)(handle);
            }
        })
    }
}
