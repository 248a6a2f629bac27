//! The MANIFEST's metadata of a table file and of a blob file.

use ferrock_base::file_checksum::FileChecksum;
use ferrock_base::{FileNumber, SequenceNumber, Temperature};

/// A table file that joins a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// The level it joins.
    pub level: u32,
    /// Its number.
    pub number: FileNumber,
    /// Index of its directory in `cf_paths` or `db_paths`, 0 to 3.
    pub path_id: u32,
    /// Its size.
    pub size_bytes: u64,
    /// First internal key, range tombstones included. Without its timestamp when
    /// [`user_defined_timestamps_persisted`](Self::user_defined_timestamps_persisted) is false.
    pub smallest: Vec<u8>,
    /// Last internal key, range tombstones included; exclusive when its trailer is the range tombstone sentinel.
    pub largest: Vec<u8>,
    /// Smallest sequence number in the file.
    pub smallest_seqno: SequenceNumber,
    /// Largest sequence number in the file.
    pub largest_seqno: SequenceNumber,
    /// The file asks to be compacted soon.
    pub needs_compaction: bool,
    /// Smallest blob file that the file refers to.
    pub oldest_blob_file_number: Option<FileNumber>,
    /// Unix time of the oldest data that went into the file; 0 = unknown.
    pub oldest_ancester_time_secs: u64,
    /// Unix time at which the file was made; 0 = unknown.
    pub file_creation_time_secs: u64,
    /// Orders the files of level 0; `None` in MANIFESTs of releases that had no epochs.
    pub epoch_number: Option<u64>,
    /// Checksum of the whole file.
    pub checksum: Option<FileChecksum>,
    /// How hot the file is.
    pub temperature: Temperature,
    /// Smallest user-defined timestamp in the file; empty = not recorded.
    pub min_timestamp: Vec<u8>,
    /// Largest user-defined timestamp in the file; empty = not recorded.
    pub max_timestamp: Vec<u8>,
    /// Internal unique id; must be that of the file.
    pub unique_id: Option<[u64; 2]>,
    /// Estimated size of the data that the file's range tombstones delete.
    pub compensated_range_deletion_size_bytes: u64,
    /// Bytes from the end of the data blocks to the end of the file; 0 = unknown. A readahead hint.
    pub tail_size_bytes: u64,
    /// False when timestamps were stripped from the file and from the boundaries.
    pub user_defined_timestamps_persisted: bool,
    /// Opaque bytes of a file system (`fast_sst_open`).
    pub file_open_metadata: Vec<u8>,
}

impl Default for NewFile {
    fn default() -> Self {
        Self {
            level: 0,
            number: FileNumber(0),
            path_id: 0,
            size_bytes: 0,
            smallest: Vec::new(),
            largest: Vec::new(),
            smallest_seqno: SequenceNumber(0),
            largest_seqno: SequenceNumber(0),
            needs_compaction: false,
            oldest_blob_file_number: None,
            oldest_ancester_time_secs: 0,
            file_creation_time_secs: 0,
            epoch_number: None,
            checksum: None,
            temperature: Temperature::Unknown,
            min_timestamp: Vec::new(),
            max_timestamp: Vec::new(),
            unique_id: None,
            compensated_range_deletion_size_bytes: 0,
            tail_size_bytes: 0,
            user_defined_timestamps_persisted: true,
            file_open_metadata: Vec::new(),
        }
    }
}

/// Trailer of an exclusive upper bound: the end of a range tombstone, little-endian `(2^56 - 1) << 8 | 0x0F`.
const RANGE_TOMBSTONE_SENTINEL: [u8; 8] = [0x0F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];

impl NewFile {
    /// The checksum of the whole file; `None` where none was recorded.
    #[must_use]
    pub fn recorded_checksum(&self) -> Option<FileChecksum> {
        self.checksum.as_ref().and_then(|sum| FileChecksum::recorded(&sum.function_name, &sum.value))
    }

    /// True when `largest` is an exclusive bound.
    #[must_use]
    pub fn largest_is_exclusive(&self) -> bool {
        self.largest.ends_with(&RANGE_TOMBSTONE_SENTINEL)
    }

    /// The boundaries as the engine compares them: with a timestamp of `timestamp_size_bytes` put back when the
    /// MANIFEST has them without. The smallest possible timestamp is all zeros; an exclusive largest key gets the
    /// largest one, so that it sorts before every version of its user key.
    #[must_use]
    pub fn boundaries_with_timestamp(&self, timestamp_size_bytes: usize) -> (Vec<u8>, Vec<u8>) {
        if self.user_defined_timestamps_persisted || timestamp_size_bytes == 0 {
            return (self.smallest.clone(), self.largest.clone());
        }
        let fill = if self.largest_is_exclusive() { 0xFF } else { 0 };
        (
            insert_timestamp(&self.smallest, timestamp_size_bytes, 0),
            insert_timestamp(&self.largest, timestamp_size_bytes, fill),
        )
    }

    /// Removes the timestamps from boundaries that have them, for a file without timestamps.
    pub fn strip_boundary_timestamps(&mut self, timestamp_size_bytes: usize) {
        for key in [&mut self.smallest, &mut self.largest] {
            if let Some(start) = key.len().checked_sub(8 + timestamp_size_bytes) {
                key.drain(start..start + timestamp_size_bytes);
            }
        }
        self.user_defined_timestamps_persisted = false;
    }
}

fn insert_timestamp(key: &[u8], size_bytes: usize, fill: u8) -> Vec<u8> {
    let (user_key, trailer) = key.split_at(key.len().saturating_sub(8));
    let mut out = Vec::with_capacity(key.len() + size_bytes);
    out.extend_from_slice(user_key);
    out.resize(user_key.len() + size_bytes, fill);
    out.extend_from_slice(trailer);
    out
}

/// A table file that leaves a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeletedFile {
    /// The level it is in.
    pub level: u32,
    /// Its number.
    pub number: FileNumber,
}

/// A blob file that joins the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFileAddition {
    /// Its number.
    pub number: FileNumber,
    /// Blobs in it.
    pub total_blob_count: u64,
    /// Bytes of its records: headers, keys and stored values.
    pub total_blob_bytes: u64,
    /// Name of the checksum function, empty = none.
    pub checksum_method: String,
    /// Its result.
    pub checksum_value: Vec<u8>,
}

impl BlobFileAddition {
    /// The checksum of the whole file; `None` where none was recorded.
    #[must_use]
    pub fn checksum(&self) -> Option<FileChecksum> {
        FileChecksum::recorded(&self.checksum_method, &self.checksum_value)
    }

    /// The file with another checksum, or with none.
    #[must_use]
    pub fn with_checksum(self, checksum: Option<FileChecksum>) -> Self {
        let FileChecksum { function_name, value } =
            checksum.unwrap_or(FileChecksum { function_name: String::new(), value: Vec::new() });
        Self { checksum_method: function_name, checksum_value: value, ..self }
    }
}

/// Blobs that became garbage. Increments: those of one file are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobFileGarbage {
    /// The blob file's number.
    pub number: FileNumber,
    /// Blobs without references.
    pub garbage_blob_count: u64,
    /// Bytes of their records.
    pub garbage_blob_bytes: u64,
}

/// A WAL that the MANIFEST tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalAddition {
    /// Its number.
    pub log_number: FileNumber,
    /// Bytes known to be synced; `None` when it was created only.
    pub synced_size_bytes: Option<u64>,
}
