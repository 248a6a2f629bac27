//! Files from outside.

use super::Db;
use crate::column_family::ColumnFamily;
use crate::db::ingest::{self, ExportImportFilesMetadata, ExportedFile, IngestExternalFileArg};
use crate::options::{ColumnFamilyOptions, ImportColumnFamilyOptions, IngestExternalFileOptions};
use ferrock_base::Result;
use std::path::Path;

impl Db {
    /// Takes tables in that an [`SstFileWriter`](crate::SstFileWriter) wrote, into the default family. See
    /// [`ingest_external_files`](Self::ingest_external_files).
    ///
    /// # Errors
    /// Those of [`ingest_external_files`](Self::ingest_external_files).
    pub fn ingest_external_file(&self, files: &[impl AsRef<Path>], options: &IngestExternalFileOptions) -> Result<()> {
        self.ingest_external_file_cf(&self.default_column_family()?, files, options)
    }

    /// As [`ingest_external_file`](Self::ingest_external_file), into a family.
    ///
    /// # Errors
    /// Those of [`ingest_external_files`](Self::ingest_external_files).
    pub fn ingest_external_file_cf(
        &self,
        family: &ColumnFamily,
        files: &[impl AsRef<Path>],
        options: &IngestExternalFileOptions,
    ) -> Result<()> {
        let files = files.iter().map(|file| file.as_ref().to_path_buf()).collect();
        let (family, options, file_checksums) = (family.clone(), options.clone(), Vec::new());
        self.ingest_external_files(&[IngestExternalFileArg { family, files, options, file_checksums }])
    }

    /// Takes tables in, into one or several families at once: after a crash all of them are there, or none. Their keys
    /// are newer than all that was written before, and of files of one family that overlap, the later one is newer.
    /// When the call returns, they are durable. Files are found by the file system of the database.
    ///
    /// The files are copied, unless the options say that they are moved or linked. Writers wait while a sequence number
    /// is chosen and recorded, not while files are read, copied and synced. Where a memtable has a key of a file it is
    /// flushed first. A snapshot that is taken while a call runs may see its files appear, if none of them got a
    /// sequence number.
    ///
    /// # Errors
    /// Of a call that fails nothing is taken in. `InvalidArgument` when no file is named, one is named twice, a family
    /// comes twice or was dropped, a table is of another order, of another family, empty, or was ingested before,
    /// checksums are given for some of the files, or for a database without `file_checksum_gen_factory`, and when the
    /// options exclude what the call needs; `Corruption` for a file that is damaged, has not the checksum that was
    /// given, or is not of a writer, and whose entries have sequence numbers; `NotSupported` for a database that is
    /// read-only, a plain table, and what is not built; `TryAgain` when a file does not fit into the last level and has
    /// to; `Io` and `NoSpace` as they come; the background error that stands.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path().join("db"), options)?;
    /// use ferrock::{ColumnFamilyOptions, DbOptions, IngestExternalFileArg, SstFileWriter};
    ///
    /// let families = [db.default_column_family()?, db.create_column_family("users", ColumnFamilyOptions::default())?];
    /// let mut writer = SstFileWriter::new(&DbOptions::default(), ColumnFamilyOptions::default());
    /// let mut args = Vec::new();
    /// for family in &families {
    ///     let path = directory.path().join(family.name());
    ///     writer.open(&path)?;
    ///     writer.put(b"key", family.name().as_bytes())?;
    ///     writer.finish()?;
    ///     let (family, options) = (family.clone(), Default::default());
    ///     args.push(IngestExternalFileArg { family, files: vec![path], options, file_checksums: Vec::new() });
    /// }
    /// db.ingest_external_files(&args)?;
    /// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"default"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn ingest_external_files(&self, args: &[IngestExternalFileArg]) -> Result<()> {
        ingest::ingest(self.core(), args)
    }

    /// Creates a column family of the tables of one that was exported
    /// (`ferrock::backup::Checkpoint::export_column_family`), of this database, another one, or one of RocksDB. Tables
    /// keep their levels and their sequence numbers, and the database goes on with numbers behind theirs. Several
    /// exports make one family where their keys do not overlap, for example shards. After a crash the family is there
    /// with all its tables, or not at all. When the call returns, it is durable.
    ///
    /// Every table is read first. Other families are written to meanwhile.
    ///
    /// # Errors
    /// Of a call that fails nothing is there, and the files from outside are as they were. `InvalidArgument` for
    /// another comparator, no file, a file that is named twice or is empty, exports that overlap, a level that the
    /// options do not have, and for what [`create_column_family`](Self::create_column_family) refuses; `Corruption`
    /// for a file that is damaged or is not what the metadata say, and for files of a level that overlap;
    /// `NotSupported` for tables that refer to blob files, which no export has, and for plain tables; `Io` and
    /// `NoSpace` as they come.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path().join("db"), options)?;
    /// use ferrock::{ColumnFamilyOptions, ExportImportFilesMetadata, ImportColumnFamilyOptions};
    ///
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// // The files of a family where they lie; an export has links of them in a directory of its own.
    /// let family = db.default_column_family()?;
    /// let files = db.column_family_files(&family)?;
    /// let metadata = ExportImportFilesMetadata { comparator_name: family.comparator().name().to_owned(), files };
    /// let (options, import) = (ColumnFamilyOptions::default(), ImportColumnFamilyOptions::default());
    /// let twin = db.create_column_family_with_import("twin", options, &import, &[metadata])?;
    /// assert_eq!(db.get_cf(&twin, &Default::default(), b"key")?.as_deref(), Some(&b"value"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn create_column_family_with_import(
        &self,
        name: &str,
        options: ColumnFamilyOptions,
        import: &ImportColumnFamilyOptions,
        exports: &[ExportImportFilesMetadata],
    ) -> Result<ColumnFamily> {
        ingest::create_column_family_with_import(self.core(), name, options, import, exports)
    }

    /// The tables of a family as an export tells them, where they lie now. They stay as long as a
    /// [hold](Self::hold_files) from before the call does. What is only in memtables is not there: flush first.
    ///
    /// # Errors
    /// `Shutdown in progress` when the database is closed.
    pub fn column_family_files(&self, family: &ColumnFamily) -> Result<Vec<ExportedFile>> {
        self.core().jobs.check_open()?;
        Ok(ingest::exported_files(family))
    }
}
