//! The tables of a column family in a directory, for another database to begin a family with.
//!
//! ```text
//! flush the family --> hold files --> list --> EXPORT.tmp/NNNNNN.sst, links or copies --rename--> EXPORT/
//!                                      |
//!                                      +--> metadata: levels, boundaries, sequence numbers, epochs
//! ```
//!
//! Invariants: those of a [checkpoint](crate::checkpoint), but that the directory opens as nothing. Only tables are in
//! it; what the MANIFEST knew of them is in the [metadata](ExportImportFilesMetadata), which the caller keeps.

use crate::checkpoint::{Checkpoint, begin_unfinished, end_unfinished};
use ferrock_base::{Error, Result};
use ferrock_engine::{
    ColumnFamily, ExportImportFilesMetadata, ExportedFile, FileKind, FlushOptions, LiveFileStorageInfo,
};
use ferrock_format::file_name;
use std::path::Path;

impl Checkpoint<'_> {
    /// Exports a family: links or copies of its tables in `directory`, which must not exist, and what
    /// [`create_column_family_with_import`](ferrock_engine::Db::create_column_family_with_import) has to know of them.
    /// The family is flushed first; it has everything that was acknowledged before. RocksDB's `ExportColumnFamily` and
    /// `CreateColumnFamilyWithImport` do the same.
    ///
    /// # Errors
    /// Those of [`create`](Self::create); `NotSupported` when a table refers to blob files, which are not exported.
    ///
    /// ```
    /// use ferrock::backup::Checkpoint;
    /// use ferrock::{ColumnFamilyOptions, ImportColumnFamilyOptions};
    ///
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let exported = directory.path().join("exported");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let open = |name| ferrock::Db::open(directory.path().join(name), options.clone());
    /// let (from, to) = (open("from")?, open("to")?);
    /// from.put(b"key", b"value")?;
    /// let metadata = Checkpoint::new(&from).export_column_family(&from.default_column_family()?, &exported)?;
    /// let (options, import) = (ColumnFamilyOptions::default(), ImportColumnFamilyOptions { move_files: true });
    /// let family = to.create_column_family_with_import("copy", options, &import, &[metadata])?;
    /// assert_eq!(to.get_cf(&family, &Default::default(), b"key")?.as_deref(), Some(&b"value"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn export_column_family(
        mut self,
        family: &ColumnFamily,
        directory: impl AsRef<Path>,
    ) -> Result<ExportImportFilesMetadata> {
        export_column_family(&mut self, family, directory.as_ref())
    }
}

fn export_column_family(
    checkpoint: &mut Checkpoint<'_>,
    family: &ColumnFamily,
    directory: &Path,
) -> Result<ExportImportFilesMetadata> {
    let db = checkpoint.db;
    let files = db.file_system();
    let unfinished = begin_unfinished(&*files, directory)?;
    db.flush_cf(family, &FlushOptions::default())?;
    let hold = db.hold_files()?;
    let mut exported = db.column_family_files(family)?;
    if let Some(file) = exported.iter().find(|file| file.oldest_blob_file.is_some()) {
        let what = "the table refers to values in blob files, which are not exported: compact the family without \
                    enable_blob_files first, or make a checkpoint of the database";
        return Err(Error::not_supported(what).in_file(&file.path));
    }
    let list = exported.iter().map(to_copy).collect::<Result<Vec<_>>>()?;
    files.create_dir_all(&unfinished)?;
    let filled = checkpoint.fill(&*files, &list, &unfinished);
    drop(hold);
    end_unfinished(&*files, &unfinished, directory, filled)?;
    for (file, listed) in exported.iter_mut().zip(list) {
        file.path = directory.join(listed.relative_filename);
    }
    Ok(ExportImportFilesMetadata { comparator_name: family.comparator().name().to_owned(), files: exported })
}

/// A table as a copy of a database lists it.
fn to_copy(file: &ExportedFile) -> Result<LiveFileStorageInfo> {
    let name = file.path.file_name().and_then(|name| name.to_str());
    let parsed = name.and_then(file_name::parse).filter(|parsed| parsed.kind == FileKind::Table);
    let (Some(name), Some(parsed), Some(parent)) = (name, parsed, file.path.parent()) else {
        return Err(Error::corruption("a table of the database has no name of one").in_file(&file.path));
    };
    let (file_checksum_func_name, file_checksum) =
        file.checksum.clone().map(|checksum| (checksum.function_name, checksum.value)).unwrap_or_default();
    Ok(LiveFileStorageInfo {
        relative_filename: name.to_owned(),
        directory: parent.to_path_buf(),
        file_number: parsed.number,
        kind: FileKind::Table,
        size_bytes: file.size_bytes,
        trim_to_size: false,
        is_final: true,
        replacement_contents: None,
        temperature: file.temperature,
        file_checksum,
        file_checksum_func_name,
    })
}
