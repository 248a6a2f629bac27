//! What an engine tells of its backups.

use super::catalog::Backup;
use ferrock_base::{SequenceNumber, Temperature};

/// A good backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupInfo {
    /// Its number, from 1 on.
    pub backup_id: u32,
    /// When it was made, in seconds since 1970.
    pub timestamp: i64,
    /// The backup has every write up to this one, and maybe later ones.
    pub sequence: SequenceNumber,
    /// Bytes of its files, also of those that it shares with others.
    pub size: u64,
    /// How many files it has.
    pub number_files: u32,
    /// What the program that made it added.
    pub app_metadata: Vec<u8>,
}

impl BackupInfo {
    pub(super) fn of(backup_id: u32, backup: &Backup) -> Self {
        Self {
            backup_id,
            timestamp: backup.meta.unix_seconds,
            sequence: backup.meta.sequence,
            size: backup.size_bytes(),
            number_files: u32::try_from(backup.meta.files.len()).unwrap_or(u32::MAX),
            app_metadata: backup.meta.app_metadata.clone(),
        }
    }
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFileInfo {
    /// Its name below the backup directory.
    pub relative_filename: String,
    /// Its size.
    pub size: u64,
    /// CRC32C of its bytes, where it is known.
    pub crc32c: Option<u32>,
    /// How often it is expected to be read.
    pub temperature: Temperature,
}

/// What was removed from a backup directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalReport {
    /// Backups that are gone.
    pub backups: Vec<u32>,
    /// Files that are gone, but for the descriptions of backups.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Backups whose descriptions cannot be read: because of them no shared file was removed. Delete them, if they are
    /// of no use, and the files go.
    pub kept_for: Vec<u32>,
}
