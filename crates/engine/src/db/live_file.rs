//! What is told of the tables of a database: RocksDB's `LiveFileMetaData`.

use super::DbCore;
use crate::column_family::ColumnFamilyData;
use crate::options::Temperature;
use ferrock_base::{FileNumber, SequenceNumber};
use ferrock_format::file_name;
use ferrock_tree::version::FileMetadata;
use std::path::PathBuf;
use std::sync::Arc;

/// A live table, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// The column family.
    pub column_family: String,
    /// The level.
    pub level: usize,
    /// The number in its name.
    pub number: FileNumber,
    /// The directory that the file is in.
    pub directory: PathBuf,
    /// Bytes in the file.
    pub size_bytes: u64,
    /// Smallest user key.
    pub smallest_user_key: Vec<u8>,
    /// Largest user key.
    pub largest_user_key: Vec<u8>,
    /// Oldest sequence number.
    pub smallest_sequence: SequenceNumber,
    /// Newest sequence number.
    pub largest_sequence: SequenceNumber,
    /// Entries, deletions included; 0 where the table was not opened yet and cannot be.
    pub num_entries: u64,
    /// Those of them that delete a key or a range.
    pub num_deletions: u64,
    /// A compaction reads it now.
    pub being_compacted: bool,
    /// How often it is expected to be read.
    pub temperature: Temperature,
    /// The oldest blob file that it refers to; `None` for none.
    pub oldest_blob_file: Option<FileNumber>,
    /// Unix seconds when the oldest data in it was written first; 0 = unknown.
    pub oldest_ancestor_time_secs: u64,
    /// Unix seconds when the file was written; 0 = unknown.
    pub file_creation_time_secs: u64,
    /// The order of files of level 0, newest largest; `None` = unknown.
    pub epoch_number: Option<u64>,
    /// Checksum of the whole file, where one was recorded.
    pub file_checksum: Vec<u8>,
    /// What made the checksum.
    pub file_checksum_function_name: String,
}

impl LiveFile {
    /// The name of the file in its directory.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// let file = &db.live_files()[0];
    /// assert!(file.directory.join(file.name()).exists());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> String {
        file_name::table(self.number)
    }
}

/// See [`Db::live_files`](super::Db::live_files).
pub(super) fn live_files(core: &DbCore) -> Vec<LiveFile> {
    let families = core.families.load();
    let mut all: Vec<&Arc<ColumnFamilyData>> = families.iter().collect();
    all.sort_by_key(|data| data.id);
    let of_family = |data: &Arc<ColumnFamilyData>| {
        let pinned = data.super_version.load();
        let files = pinned.version.files();
        files.map(|(level, file)| live_file(data, level, file)).collect::<Vec<_>>()
    };
    all.into_iter().flat_map(of_family).collect()
}

fn live_file(data: &ColumnFamilyData, level: usize, file: &Arc<FileMetadata>) -> LiveFile {
    if file.statistics().is_none() {
        // Opening it learns them. What cannot be opened is told without.
        let _ = data.table_cache.get_ref(file);
    }
    let statistics = file.statistics().unwrap_or_default();
    let checksum = file.checksum.as_ref();
    LiveFile {
        column_family: data.name.clone(),
        level,
        number: file.number,
        directory: data.table_cache.paths().directory(file.path_id).to_path_buf(),
        size_bytes: file.size_bytes,
        smallest_user_key: file.smallest_user_key().to_vec(),
        largest_user_key: file.largest_user_key().to_vec(),
        smallest_sequence: file.smallest_seqno,
        largest_sequence: file.largest_seqno,
        num_entries: statistics.num_entries,
        num_deletions: statistics.num_deletions,
        being_compacted: file.is_being_compacted(),
        temperature: file.temperature,
        oldest_blob_file: file.oldest_blob_file_number,
        oldest_ancestor_time_secs: file.oldest_ancester_time_secs,
        file_creation_time_secs: file.file_creation_time_secs,
        epoch_number: file.epoch_number,
        file_checksum: checksum.map(|checksum| checksum.value.clone()).unwrap_or_default(),
        file_checksum_function_name: checksum.map(|checksum| checksum.function_name.clone()).unwrap_or_default(),
    }
}
