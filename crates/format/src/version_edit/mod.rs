//! `VersionEdit`: one record of a MANIFEST, a change to the set of live files.
//!
//! ```text
//! record = { varint32 tag, body }*              any order; a writer keeps the order of `encode`
//!
//!    1 comparator           lps name              100 new file 2        as 7, then two varint64 sequence numbers
//!    2 log number           varint64              102 new file 3        as 100, with varint32 path id after number
//!    3 next file number     varint64              103 new file 4        below
//!    4 last sequence        varint64              200 column family     varint32
//!    5 compact cursor       varint32 level, lps   201 column family add lps name
//!    6 deleted file         varint32 level,       202 column family drop
//!                           varint64 number       203 max column family varint32
//!    7 new file             level, number, size,  300 in atomic group   varint32 entries that follow
//!                           lps smallest, largest 400 / 401             blob file addition / garbage, inline
//!    9 previous log number  varint64              8193 db id            lps
//!   10 min log to keep      varint64              8194 / 8195           as 400 / 401, read only
//! 8196 / 8197               WAL addition / deletion, inline, read only
//! 8198 full history ts low  lps                   8199 / 8200           WAL addition / deletion, in an lps
//! 8201 persist timestamps   lps of one byte       8202 subcompaction progress, lps
//! 8203 size of the last compacted MANIFEST, lps of varint64
//!
//! new file 4 = varint32 level | varint64 number | varint64 size | lps smallest | lps largest
//!              | varint64 smallest seqno | varint64 largest seqno | { varint32 custom tag, lps field }* | varint32 1
//! ```
//!
//! A reader skips an unknown tag with bit 0x2000 (an lps follows) and an unknown custom tag without bit 0x40;
//! others are corruption: the writer meant something that must not be ignored.
//!
//! Edits are only encoded and decoded here; `ferrock-tree` applies them to versions.

mod atomic_group;
mod decode;
mod encode;
mod file_metadata;
#[cfg(test)]
mod tests;

pub use atomic_group::AtomicGroupBuffer;
pub use ferrock_base::file_checksum::FileChecksum;
pub use file_metadata::{BlobFileAddition, BlobFileGarbage, DeletedFile, NewFile, WalAddition};

use ferrock_base::{FileNumber, SequenceNumber};

/// Tags of fields. The numbers are on disk and frozen; a retired one keeps its slot.
mod tag {
    pub const COMPARATOR: u32 = 1;
    pub const LOG_NUMBER: u32 = 2;
    pub const NEXT_FILE_NUMBER: u32 = 3;
    pub const LAST_SEQUENCE: u32 = 4;
    pub const COMPACT_CURSOR: u32 = 5;
    pub const DELETED_FILE: u32 = 6;
    pub const NEW_FILE: u32 = 7;
    pub const PREV_LOG_NUMBER: u32 = 9;
    pub const MIN_LOG_NUMBER_TO_KEEP: u32 = 10;
    pub const NEW_FILE_2: u32 = 100;
    pub const NEW_FILE_3: u32 = 102;
    pub const NEW_FILE_4: u32 = 103;
    pub const COLUMN_FAMILY: u32 = 200;
    pub const COLUMN_FAMILY_ADD: u32 = 201;
    pub const COLUMN_FAMILY_DROP: u32 = 202;
    pub const MAX_COLUMN_FAMILY: u32 = 203;
    pub const IN_ATOMIC_GROUP: u32 = 300;
    pub const BLOB_FILE_ADDITION: u32 = 400;
    pub const BLOB_FILE_GARBAGE: u32 = 401;
    /// Bit of a tag whose body is an lps that a reader may skip.
    pub const IGNORABLE_MASK: u32 = 1 << 13;
    pub const DB_ID: u32 = 8193;
    pub const BLOB_FILE_ADDITION_OLD: u32 = 8194;
    pub const BLOB_FILE_GARBAGE_OLD: u32 = 8195;
    pub const WAL_ADDITION_OLD: u32 = 8196;
    pub const WAL_DELETION_OLD: u32 = 8197;
    pub const FULL_HISTORY_TS_LOW: u32 = 8198;
    pub const WAL_ADDITION: u32 = 8199;
    pub const WAL_DELETION: u32 = 8200;
    pub const PERSIST_USER_DEFINED_TIMESTAMPS: u32 = 8201;
    pub const SUBCOMPACTION_PROGRESS: u32 = 8202;
    pub const LAST_COMPACTED_MANIFEST_FILE_SIZE: u32 = 8203;
}

/// Custom tags of a new file. The numbers are on disk and frozen.
mod custom_tag {
    pub const TERMINATE: u32 = 1;
    pub const NEEDS_COMPACTION: u32 = 2;
    pub const MIN_LOG_NUMBER_TO_KEEP: u32 = 3;
    pub const OLDEST_BLOB_FILE_NUMBER: u32 = 4;
    pub const OLDEST_ANCESTER_TIME: u32 = 5;
    pub const FILE_CREATION_TIME: u32 = 6;
    pub const FILE_CHECKSUM: u32 = 7;
    pub const FILE_CHECKSUM_FUNCTION: u32 = 8;
    pub const TEMPERATURE: u32 = 9;
    pub const MIN_TIMESTAMP: u32 = 10;
    pub const MAX_TIMESTAMP: u32 = 11;
    pub const UNIQUE_ID: u32 = 12;
    pub const EPOCH_NUMBER: u32 = 13;
    pub const COMPENSATED_RANGE_DELETION_SIZE: u32 = 14;
    pub const TAIL_SIZE: u32 = 15;
    pub const USER_DEFINED_TIMESTAMPS_PERSISTED: u32 = 16;
    pub const FILE_OPEN_METADATA: u32 = 17;
    /// Bit of a tag that a reader must know.
    pub const NOT_IGNORABLE_MASK: u32 = 0x40;
    pub const PATH_ID: u32 = 65;
}

/// Largest path id: a file system path is chosen by two bits of a packed file descriptor in RocksDB.
const MAX_PATH_ID: u32 = 3;

/// Whether an edit adds or drops its column family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnFamilyChange {
    /// The family comes into being, with this name.
    Add(String),
    /// The family is dropped.
    Drop,
}

/// One record of a MANIFEST. Absent fields are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// Identity of the database.
    pub db_id: Option<String>,
    /// Name of the family's comparator.
    pub comparator: Option<String>,
    /// WALs with smaller numbers hold nothing the family has not flushed.
    pub log_number: Option<FileNumber>,
    /// A retired field; writers say 0.
    pub prev_log_number: Option<FileNumber>,
    /// The next file number to be given out.
    pub next_file_number: Option<FileNumber>,
    /// The highest column family id ever used.
    pub max_column_family: Option<u32>,
    /// WALs with smaller numbers are not needed by any family.
    pub min_log_number_to_keep: Option<FileNumber>,
    /// The last sequence number used.
    pub last_sequence: Option<SequenceNumber>,
    /// Position at which round-robin compaction of a level continues: level and internal key.
    pub compact_cursors: Vec<(u32, Vec<u8>)>,
    /// Files that leave. Applied before `new_files`.
    pub deleted_files: Vec<DeletedFile>,
    /// Files that join.
    pub new_files: Vec<NewFile>,
    /// Blob files that join.
    pub blob_file_additions: Vec<BlobFileAddition>,
    /// Blobs that became garbage.
    pub blob_file_garbages: Vec<BlobFileGarbage>,
    /// WALs to be tracked.
    pub wal_additions: Vec<WalAddition>,
    /// WALs with smaller numbers are gone.
    pub wal_deletion: Option<FileNumber>,
    /// The family the edit is for; 0 = the default one.
    pub column_family: u32,
    /// Whether the family comes or goes.
    pub column_family_change: Option<ColumnFamilyChange>,
    /// The edit is part of an atomic group, with so many more to follow.
    pub remaining_in_group: Option<u32>,
    /// User-defined timestamps below this one may be gone.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// Whether the family's files keep user-defined timestamps. Goes with `comparator`; absent = true.
    pub persist_user_defined_timestamps: Option<bool>,
    /// State of a resumable remote compaction, undecoded. Never in a MANIFEST.
    pub subcompaction_progress: Option<Vec<u8>>,
    /// Size of the MANIFEST when it was last rewritten.
    pub last_compacted_manifest_file_size_bytes: Option<u64>,
}

impl VersionEdit {
    /// An edit that changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An edit of family `column_family`.
    #[must_use]
    pub fn for_column_family(column_family: u32) -> Self {
        Self { column_family, ..Self::default() }
    }

    /// Notes that `number` leaves `level`.
    pub fn delete_file(&mut self, level: u32, number: FileNumber) {
        self.deleted_files.push(DeletedFile { level, number });
    }

    /// True for an edit that tracks WALs. RocksDB applies such an edit to its set of WALs and takes its scalar fields,
    /// but not its files: an edit must not have both.
    #[must_use]
    pub fn is_wal_manipulation(&self) -> bool {
        !self.wal_additions.is_empty() || self.wal_deletion.is_some()
    }

    /// True for an edit that adds or drops a family.
    #[must_use]
    pub fn is_column_family_manipulation(&self) -> bool {
        self.column_family_change.is_some()
    }
}
