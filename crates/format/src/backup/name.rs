//! Names below a backup directory, always with `/` between their parts.
//!
//! ```text
//! private/<backup>/<name in the database>
//! shared/<number>.sst
//! shared_checksum/<number>_<crc32c of the file, decimal>_<bytes>.sst | .blob    any file
//! shared_checksum/<number>_s<id of the run that wrote it>[_<bytes>].sst         tables that have one
//! ```
//!
//! A text names a file only as one of these; so nothing that a damaged or foreign text says leads out of the
//! directory.

use crate::file_name::{self, FileKind, FileName};

/// Where the descriptions of backups are.
pub const META_DIRECTORY: &str = "meta";
/// Where each backup has a directory of files that it shares with none.
pub const PRIVATE_DIRECTORY: &str = "private";
/// Where tables and blob files are that are told apart by their numbers alone.
pub const SHARED_DIRECTORY: &str = "shared";
/// Where tables and blob files are that are told apart by number and identity.
pub const SHARED_CHECKSUM_DIRECTORY: &str = "shared_checksum";

/// Where a file of a backup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackupPlace {
    /// In the directory of one backup.
    Private(u32),
    /// In `shared`.
    Shared,
    /// In `shared_checksum`.
    SharedChecksum,
}

/// A parsed name of a file of a backup.
///
/// ```
/// use ferrock_format::backup::{BackupFileName, BackupPlace};
/// let name = BackupFileName::parse("shared_checksum/000012_sF331XSPWCU7TM1MP1CJZ_1286.sst").unwrap();
/// assert_eq!((name.place, &name.in_database[..]), (BackupPlace::SharedChecksum, "000012.sst"));
/// assert_eq!(BackupFileName::parse("shared/../000012.sst"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFileName {
    /// Where it is.
    pub place: BackupPlace,
    /// Its name in the directory of a database.
    pub in_database: String,
    /// What that name says.
    pub file: FileName,
}

impl BackupFileName {
    /// Parses a name; `None` when no backup has such a file.
    #[must_use]
    pub fn parse(relative: &str) -> Option<Self> {
        let (directory, name) = relative.split_once('/')?;
        let (place, in_database) = match directory {
            PRIVATE_DIRECTORY => {
                let (id, name) = name.split_once('/')?;
                (BackupPlace::Private(backup_id_of(id)?), name.to_owned())
            }
            SHARED_DIRECTORY => (BackupPlace::Shared, name.to_owned()),
            SHARED_CHECKSUM_DIRECTORY => (BackupPlace::SharedChecksum, without_identity(name)?),
            _ => return None,
        };
        let file = file_name::parse(&in_database)?;
        let is_data = matches!(file.kind, FileKind::Table | FileKind::Blob);
        if place.is_shared() && !is_data || !may_be_copied(file.kind) {
            return None;
        }
        Some(Self { place, in_database, file })
    }
}

impl BackupPlace {
    /// True where several backups may name the file.
    #[must_use]
    pub fn is_shared(self) -> bool {
        !matches!(self, Self::Private(_))
    }
}

/// Kinds of files that make a database, and that are made for nothing else.
fn may_be_copied(kind: FileKind) -> bool {
    matches!(
        kind,
        FileKind::Table
            | FileKind::Blob
            | FileKind::Log
            | FileKind::Manifest
            | FileKind::Options
            | FileKind::Current
            | FileKind::Identity
    )
}

/// `000012_<identity>.sst` without the identity.
fn without_identity(name: &str) -> Option<String> {
    let (number, rest) = name.split_once('_')?;
    let (identity, extension) = rest.rsplit_once('.')?;
    let is_plain = !identity.is_empty() && identity.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_plain.then(|| format!("{number}.{extension}"))
}

/// The backup that a file of `meta` or a directory of `private` belongs to: numbers from 1 on, written as RocksDB
/// writes them.
#[must_use]
pub fn backup_id_of(name: &str) -> Option<u32> {
    let id = name.parse::<u32>().ok().filter(|id| *id > 0)?;
    (id.to_string() == name).then_some(id)
}

/// The directory, below `private`, of a backup's own files.
#[must_use]
pub fn private_directory(id: u32) -> String {
    format!("{PRIVATE_DIRECTORY}/{id}")
}

/// The name in `shared_checksum` of a file with this checksum and size. Names without a dot stay as they are.
#[must_use]
pub fn name_with_checksum(in_database: &str, crc32c: u32, size_bytes: u64) -> String {
    with_identity(in_database, &format!("{crc32c}_{size_bytes}"))
}

/// The name in `shared_checksum` of a table that the run `run_id` of a database wrote.
#[must_use]
pub fn name_with_run(in_database: &str, run_id: &str, size_bytes: Option<u64>) -> String {
    match size_bytes {
        Some(size) => with_identity(in_database, &format!("s{run_id}_{size}")),
        None => with_identity(in_database, &format!("s{run_id}")),
    }
}

fn with_identity(in_database: &str, identity: &str) -> String {
    match in_database.rsplit_once('.') {
        Some((number, extension)) => format!("{number}_{identity}.{extension}"),
        None => in_database.to_owned(),
    }
}

/// The name of a file while it is written.
#[must_use]
pub fn unfinished(name: &str) -> String {
    format!(".{name}.tmp")
}

/// True for the name of a file that was being written.
#[must_use]
pub fn is_unfinished(name: &str) -> bool {
    name.len() > 5 && name.starts_with('.') && name.ends_with(".tmp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::FileNumber;

    #[test]
    fn names_that_rocksdb_wrote() {
        for (text, place, in_database, kind, number) in [
            ("private/1/CURRENT", BackupPlace::Private(1), "CURRENT", FileKind::Current, 0),
            ("private/12/000008.log", BackupPlace::Private(12), "000008.log", FileKind::Log, 8),
            ("private/1/000009.sst", BackupPlace::Private(1), "000009.sst", FileKind::Table, 9),
            ("shared/000009.sst", BackupPlace::Shared, "000009.sst", FileKind::Table, 9),
            (
                "shared_checksum/000009_sF331XSPWCU7TM1MP1CJZ_2484.sst",
                BackupPlace::SharedChecksum,
                "000009.sst",
                FileKind::Table,
                9,
            ),
            (
                "shared_checksum/000009_sF331XSPWCU7TM1MP1CJZ.sst",
                BackupPlace::SharedChecksum,
                "000009.sst",
                FileKind::Table,
                9,
            ),
            (
                "shared_checksum/000010_1240311344_17062.blob",
                BackupPlace::SharedChecksum,
                "000010.blob",
                FileKind::Blob,
                10,
            ),
        ] {
            let file = FileName { kind, number: FileNumber(number) };
            let expected = BackupFileName { place, in_database: in_database.to_owned(), file };
            assert_eq!(BackupFileName::parse(text), Some(expected), "{text}");
        }
        assert_eq!(name_with_checksum("000010.blob", 1_240_311_344, 17062), "000010_1240311344_17062.blob");
        let run = "F331XSPWCU7TM1MP1CJZ";
        assert_eq!(name_with_run("000009.sst", run, Some(2484)), "000009_sF331XSPWCU7TM1MP1CJZ_2484.sst");
        assert_eq!(name_with_run("000009.sst", run, None), "000009_sF331XSPWCU7TM1MP1CJZ.sst");
    }

    #[test]
    fn names_that_no_backup_has() {
        for text in [
            "",
            "CURRENT",
            "/CURRENT",
            "meta/1",
            "private/0/CURRENT",
            "private/01/CURRENT",
            "private/x/CURRENT",
            "private/1/../CURRENT",
            "private/1/LOCK",
            "private/1/notes.txt",
            "private/1/000008.dbtmp",
            "private/4294967296/CURRENT",
            "shared/CURRENT",
            "shared/000009_1_2.sst",
            "shared/../private/1/000009.sst",
            "shared_checksum/000009.sst",
            "shared_checksum/000009_.sst",
            "shared_checksum/000009_s/../x.sst",
            "shared_checksum/../000009_1_2.sst",
            "shared_checksum/000009_1_2.log",
        ] {
            assert_eq!(BackupFileName::parse(text), None, "{text}");
        }
        assert!(is_unfinished(".7.tmp") && is_unfinished(&unfinished("000009_1_2.sst")));
        assert!(!is_unfinished("7.tmp") && !is_unfinished(".tmp") && !is_unfinished(".7"));
        assert_eq!(
            (backup_id_of("7"), backup_id_of("0"), backup_id_of("+7"), backup_id_of("")),
            (Some(7), None, None, None)
        );
    }
}
