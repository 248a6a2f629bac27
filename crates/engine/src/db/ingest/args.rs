//! What a caller gives.

use crate::column_family::ColumnFamily;
use crate::options::IngestExternalFileOptions;
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
}
