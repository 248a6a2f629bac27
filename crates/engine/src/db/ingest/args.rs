//! What a caller gives.

use crate::column_family::ColumnFamily;
use crate::options::IngestExternalFileOptions;
use ferrock_base::file_checksum::FileChecksum;
use ferrock_base::{FileNumber, SequenceNumber, Temperature};
use std::path::PathBuf;

/// Files for one family. See [`Db::ingest_external_files`](crate::Db::ingest_external_files).
#[derive(Clone, Debug)]
pub struct IngestExternalFileArg {
    /// The family.
    pub family: ColumnFamily,
    /// Its new files, older ones first where they overlap.
    pub files: Vec<PathBuf>,
    /// How they are taken in.
    pub options: IngestExternalFileOptions,
    /// The checksums of the whole files, one for each, or none: `verify_file_checksum` says what is done with them.
    pub file_checksums: Vec<FileChecksum>,
}

/// What is told of an exported column family: RocksDB's `ExportImportFilesMetaData`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportImportFilesMetadata {
    /// The name of the order of its keys.
    pub comparator_name: String,
    /// Its tables.
    pub files: Vec<ExportedFile>,
}

/// A table of an exported column family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its level.
    pub level: usize,
    /// Its bytes; 0 where they are not known.
    pub size_bytes: u64,
    /// The internal key at which it begins, range deletions included: what the MANIFEST says, which may be less than
    /// what the file has. Empty where it is not known: then the file says it.
    pub smallest: Vec<u8>,
    /// The internal key at which it ends, as `smallest`.
    pub largest: Vec<u8>,
    /// Its oldest sequence number. The file says it, but for one that was ingested.
    pub smallest_sequence: SequenceNumber,
    /// Its newest sequence number. The file says it, but for one that was ingested.
    pub largest_sequence: SequenceNumber,
    /// The order of files of level 0, newest largest; `None` where it is not known: then sequence numbers say it.
    pub epoch_number: Option<u64>,
    /// The oldest blob file that it refers to; `None` for none.
    pub oldest_blob_file: Option<FileNumber>,
    /// How often it is expected to be read.
    pub temperature: Temperature,
    /// The checksum of the whole file; `None` where none was recorded. A database that makes checksums by the same
    /// function takes the file only if it has this one.
    pub checksum: Option<FileChecksum>,
}
