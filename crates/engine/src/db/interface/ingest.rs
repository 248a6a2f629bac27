//! Files from outside.

use super::Db;
use crate::column_family::ColumnFamily;
use crate::db::ingest::{self, IngestExternalFileArg};
use crate::options::IngestExternalFileOptions;
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
        self.ingest_external_files(&[IngestExternalFileArg { family: family.clone(), files, options: options.clone() }])
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
    /// comes twice or was dropped, a table is of another order, of another family, empty, or was ingested before, and
    /// when the options exclude what the call needs; `Corruption` for a file that is damaged, or not of a writer, and
    /// whose entries have sequence numbers; `NotSupported` for a database that is read-only, a plain table, and what is
    /// not built; `TryAgain` when a file does not fit into the last level and has to; `Io` and `NoSpace` as they come;
    /// the background error that stands.
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
    ///     args.push(IngestExternalFileArg { family, files: vec![path], options });
    /// }
    /// db.ingest_external_files(&args)?;
    /// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"default"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn ingest_external_files(&self, args: &[IngestExternalFileArg]) -> Result<()> {
        ingest::ingest(self.core(), args)
    }
}
