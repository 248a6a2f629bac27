//! The files of a backup directory: their names, and the text that says what a backup is made of.
//!
//! ```text
//! meta/7                                           what backup 7 is made of: the only file that makes it one
//! meta/.7.tmp                                      the same, unfinished
//! private/7/CURRENT  MANIFEST-.. OPTIONS-..  *.log  files of backup 7 alone
//! shared_checksum/000012_s<id of the run>_1286.sst  tables and blob files, for every backup that names them
//! shared_checksum/.000012_s<..>_1286.sst.tmp        the same, unfinished
//! shared/000012.sst                                the same in an old way, which trusts numbers alone
//! ```
//!
//! RocksDB's `BackupEngine` has the same names and texts. `docs/backup.md` says what is done with them.

mod meta;
mod name;

pub use meta::{BackupMeta, BackupMetaFile, MAX_APP_METADATA_BYTES, NEWEST_SCHEMA};
pub use name::{
    BackupFileName, BackupPlace, META_DIRECTORY, PRIVATE_DIRECTORY, SHARED_CHECKSUM_DIRECTORY, SHARED_DIRECTORY,
    backup_id_of, is_unfinished, name_with_checksum, name_with_run, private_directory, unfinished,
};
