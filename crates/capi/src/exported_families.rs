//! Column families exported from and imported into databases.

use crate::checkpoint::rocksdb_checkpoint_t;
use crate::db::rocksdb_t;
use crate::family_handle::{family, rocksdb_column_family_handle_t};
use crate::handle::{borrow, give, take};
use crate::live_files::rocksdb_livefiles_t;
use crate::memory::{self, path};
use crate::options::rocksdb_options_t;
use ferrock::backup::Checkpoint;
use ferrock::{ExportImportFilesMetadata, ImportColumnFamilyOptions};
use std::ffi::{CStr, c_char, c_uchar};

/// What is told of an exported column family.
#[derive(Default)]
pub struct rocksdb_export_import_files_metadata_t {
    metadata: ExportImportFilesMetadata,
}

/// How the tables of an exported column family are taken.
#[derive(Default)]
pub struct rocksdb_import_column_family_options_t {
    options: ImportColumnFamilyOptions,
}

c_setters! {
    for rocksdb_import_column_family_options_t:
    /// Asks for second names of files instead of copies, and the first ones go.
    fn rocksdb_import_column_family_options_set_move_files(c_uchar) => options.move_files;
}

c_getters! {
    for rocksdb_import_column_family_options_t:
    /// Whether files get second names instead of copies, and the first ones go.
    fn rocksdb_import_column_family_options_get_move_files() -> c_uchar => options.move_files;
}

c_fallible! {
    /// Exports a family: its tables into a directory that does not exist, and what is to be known of them.
    fn rocksdb_checkpoint_export_column_family(
        checkpoint: *mut rocksdb_checkpoint_t,
        column_family: *mut rocksdb_column_family_handle_t,
        export_dir: *const c_char,
    ) -> *mut rocksdb_export_import_files_metadata_t {
        // SAFETY: the contract.
        let (checkpoint, family, directory) =
            unsafe { (borrow(checkpoint, "checkpoint")?, family(column_family)?, path(export_dir)?) };
        let metadata = Checkpoint::new(&checkpoint.open_db()?).export_column_family(family, directory)?;
        Ok(give(rocksdb_export_import_files_metadata_t { metadata }))
    }

    /// Creates a family of the tables of an exported one. The handle is the caller's.
    fn rocksdb_create_column_family_with_import(
        db: *mut rocksdb_t,
        column_family_options: *mut rocksdb_options_t,
        column_family_name: *const c_char,
        import_options: *mut rocksdb_import_column_family_options_t,
        metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut rocksdb_column_family_handle_t {
        // SAFETY: the contract.
        let (db, options, name, import, metadata) = unsafe {
            (
                borrow(db, "database")?,
                borrow(column_family_options, "options")?,
                memory::name(column_family_name, "column family's name")?,
                borrow(import_options, "import options")?,
                borrow(metadata, "metadata")?,
            )
        };
        let exports = std::slice::from_ref(&metadata.metadata);
        let options = options.family_to_open()?;
        let family = db.db.create_column_family_with_import(&name, options, &import.options, exports)?;
        Ok(give(rocksdb_column_family_handle_t { family }))
    }
}

c_functions! {
    /// RocksDB's defaults.
    fn rocksdb_import_column_family_options_create() -> *mut rocksdb_import_column_family_options_t {
        give(rocksdb_import_column_family_options_t::default())
    }

    /// Metadata that tell nothing yet.
    fn rocksdb_export_import_files_metadata_create() -> *mut rocksdb_export_import_files_metadata_t {
        give(rocksdb_export_import_files_metadata_t::default())
    }

    /// The name of the order of the keys, from `malloc`.
    fn rocksdb_export_import_files_metadata_get_db_comparator_name(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut c_char {
        // SAFETY: the contract.
        let metadata = unsafe { export_import_files_metadata.as_ref() };
        metadata.map_or(std::ptr::null_mut(), |metadata| memory::new_text(&metadata.metadata.comparator_name))
    }

    /// Says the name of the order of the keys.
    fn rocksdb_export_import_files_metadata_set_db_comparator_name(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t,
        argument1: *const c_char,
    ) {
        // SAFETY: the contract.
        if let Some(metadata) = unsafe { export_import_files_metadata.as_mut() }
            && !argument1.is_null()
        {
            // SAFETY: the contract.
            let name = unsafe { CStr::from_ptr(argument1) };
            metadata.metadata.comparator_name = name.to_string_lossy().into_owned();
        }
    }

    /// The tables, as a list of the caller's own.
    fn rocksdb_export_import_files_metadata_get_files(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut rocksdb_livefiles_t {
        // SAFETY: the contract.
        let metadata = unsafe { export_import_files_metadata.as_ref() };
        metadata.map_or(std::ptr::null_mut(), |metadata| give(rocksdb_livefiles_t::of_export(&metadata.metadata.files)))
    }

    /// Says the tables. The list is handed over.
    fn rocksdb_export_import_files_metadata_set_files(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t,
        livefiles: *mut rocksdb_livefiles_t,
    ) {
        // SAFETY: the contract.
        let (metadata, files) = unsafe { (export_import_files_metadata.as_mut(), take(livefiles)) };
        if let (Some(metadata), Some(files)) = (metadata, files) {
            metadata.metadata.files = files.to_export();
        }
    }
}

c_destructors! {
    /// Ends options.
    fn rocksdb_import_column_family_options_destroy(rocksdb_import_column_family_options_t);
    /// Ends metadata; the files stay.
    fn rocksdb_export_import_files_metadata_destroy(rocksdb_export_import_files_metadata_t);
}
