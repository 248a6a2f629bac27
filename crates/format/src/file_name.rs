//! Names of the files of a database. Only its name tells a file's kind and number.
//!
//! ```text
//! CURRENT  IDENTITY  LOCK                  one each
//! LOG  LOG.old.<micros>                    information log; with db_log_dir <database path>_LOG...
//! %06d.log                                 WAL; archived ones in archive/
//! %06d.sst  %06d.ldb                       table; the second is what LevelDB wrote and is only read
//! %06d.blob                                blob file
//! MANIFEST-%06d  OPTIONS-%06d              version edits; options
//! %06d.dbtmp  OPTIONS-%06d.dbtmp           unfinished files, to be renamed
//! COMPACTION_PROGRESS-<time>[.dbtmp]       state of a resumable remote compaction
//! METADB-<n>                               retired
//! <name of a WAL, table or blob file>[<n>].trash    about to be removed, at a rate
//! ```
//!
//! Six digits are a minimum when writing; any number of digits is read. Names that are none of these belong to another
//! program and are left alone.

use ferrock_base::FileNumber;

/// Name of the file that points to the MANIFEST.
pub const CURRENT: &str = "CURRENT";
/// Name of the file with the database's identity.
pub const IDENTITY: &str = "IDENTITY";
/// Name of the file that is locked while the database is open.
pub const LOCK: &str = "LOCK";
/// Name of the information log in the database directory.
pub const INFO_LOG: &str = "LOG";
/// Directory, below that of the WALs, of archived WALs.
pub const ARCHIVE_DIRECTORY: &str = "archive";
/// What the name of a file ends in that is to be removed.
const TRASH_SUFFIX: &str = ".trash";
/// Largest file number: RocksDB packs a path id into the two bits above.
pub const MAX_FILE_NUMBER: u64 = (1 << 62) - 1;

/// The kind of a file in a database directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// WAL.
    Log,
    /// Table.
    Table,
    /// Blob file.
    Blob,
    /// Log of version edits.
    Manifest,
    /// Points to the MANIFEST.
    Current,
    /// Identity of the database.
    Identity,
    /// Locked while the database is open.
    Lock,
    /// Information log. The number is 0, or the time of an old one in microseconds.
    InfoLog,
    /// Options.
    Options,
    /// An unfinished OPTIONS file, to be renamed.
    OptionsTemp,
    /// Any other unfinished file, to be renamed.
    Temp,
    /// State of a resumable remote compaction. The number is a time.
    CompactionProgress,
    /// The same, unfinished.
    CompactionProgressTemp,
    /// Retired.
    MetaDb,
    /// A WAL, table or blob file that nothing needs and that is to be removed.
    Trash,
}

impl FileKind {
    /// True for the kinds whose number comes from the database's counter of files.
    #[must_use]
    pub fn uses_file_number(self) -> bool {
        matches!(
            self,
            Self::Log
                | Self::Table
                | Self::Blob
                | Self::Manifest
                | Self::Options
                | Self::OptionsTemp
                | Self::Temp
                | Self::Trash
        )
    }
}

/// A parsed file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName {
    /// The kind of the file.
    pub kind: FileKind,
    /// Its number, 0 for kinds without.
    pub number: FileNumber,
}

/// Parses a file name (without directory); `None` when it is not one of a database.
///
/// ```
/// use ferrock_base::FileNumber;
/// use ferrock_format::file_name::{FileKind, FileName, parse};
/// assert_eq!(parse("000012.sst"), Some(FileName { kind: FileKind::Table, number: FileNumber(12) }));
/// assert_eq!(parse("notes.txt"), None);
/// ```
#[must_use]
pub fn parse(name: &str) -> Option<FileName> {
    let (kind, number) = parse_parts(name)?;
    Some(FileName { kind, number: FileNumber(number) })
}

fn parse_parts(name: &str) -> Option<(FileKind, u64)> {
    match name {
        CURRENT => return Some((FileKind::Current, 0)),
        IDENTITY => return Some((FileKind::Identity, 0)),
        LOCK => return Some((FileKind::Lock, 0)),
        INFO_LOG => return Some((FileKind::InfoLog, 0)),
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("MANIFEST-") {
        return Some((FileKind::Manifest, file_number(rest)?));
    }
    if let Some(rest) = name.strip_prefix("OPTIONS-") {
        return match rest.strip_suffix(".dbtmp") {
            Some(rest) => Some((FileKind::OptionsTemp, file_number(rest)?)),
            None => Some((FileKind::Options, file_number(rest)?)),
        };
    }
    if let Some(rest) = name.strip_prefix("COMPACTION_PROGRESS-") {
        return match rest.strip_suffix(".dbtmp") {
            Some(rest) => Some((FileKind::CompactionProgressTemp, digits(rest)?)),
            None => Some((FileKind::CompactionProgress, digits(rest)?)),
        };
    }
    if let Some(rest) = name.strip_prefix("METADB-") {
        return Some((FileKind::MetaDb, digits(rest)?));
    }
    if let Some(rest) = name.strip_prefix("LOG.old.") {
        return Some((FileKind::InfoLog, digits(rest)?));
    }
    if let Some(name) = name.strip_suffix(TRASH_SUFFIX) {
        let (number, extension) = name.split_once('.')?;
        let is_removable = ["log", "sst", "ldb", "blob"]
            .iter()
            .any(|known| extension.strip_prefix(known).is_some_and(|attempt| attempt.is_empty() || is_digits(attempt)));
        return if is_removable { Some((FileKind::Trash, file_number(number)?)) } else { None };
    }
    let (number, extension) = name.split_once('.')?;
    let kind = match extension {
        "log" => FileKind::Log,
        "sst" | "ldb" => FileKind::Table,
        "blob" => FileKind::Blob,
        "dbtmp" => FileKind::Temp,
        _ => return None,
    };
    Some((kind, file_number(number)?))
}

fn file_number(text: &str) -> Option<u64> {
    digits(text).filter(|&number| number <= MAX_FILE_NUMBER)
}

fn digits(text: &str) -> Option<u64> {
    // `parse` alone would accept a sign.
    if is_digits(text) { text.parse().ok() } else { None }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Name that a file gets when it is to be removed; `attempt` tells it from other trash of the same name.
#[must_use]
pub fn trash(name: &str, attempt: Option<u64>) -> String {
    let attempt = attempt.map(|attempt| attempt.to_string()).unwrap_or_default();
    format!("{name}{attempt}{TRASH_SUFFIX}")
}

/// True for a name that [`trash`] makes.
#[must_use]
pub fn is_trash(name: &str) -> bool {
    name.ends_with(TRASH_SUFFIX)
}

/// Name of a WAL.
#[must_use]
pub fn log(number: FileNumber) -> String {
    format!("{:06}.log", number.0)
}

/// Name of a table.
#[must_use]
pub fn table(number: FileNumber) -> String {
    format!("{:06}.sst", number.0)
}

/// Name that LevelDB, and RocksDB long ago, gave a table. Tried when the other is not there.
#[must_use]
pub fn legacy_table(number: FileNumber) -> String {
    format!("{:06}.ldb", number.0)
}

/// Name of a blob file.
#[must_use]
pub fn blob(number: FileNumber) -> String {
    format!("{:06}.blob", number.0)
}

/// Name of a MANIFEST.
#[must_use]
pub fn manifest(number: FileNumber) -> String {
    format!("MANIFEST-{:06}", number.0)
}

/// Name of an OPTIONS file.
#[must_use]
pub fn options(number: FileNumber) -> String {
    format!("OPTIONS-{:06}", number.0)
}

/// Name of an unfinished OPTIONS file.
#[must_use]
pub fn options_temp(number: FileNumber) -> String {
    format!("OPTIONS-{:06}.dbtmp", number.0)
}

/// Name of an unfinished file. The next CURRENT has the number of its MANIFEST, the next IDENTITY has 0.
#[must_use]
pub fn temp(number: FileNumber) -> String {
    format!("{:06}.dbtmp", number.0)
}

/// Name of an information log that was moved out of the way.
#[must_use]
pub fn old_info_log(micros: u64) -> String {
    format!("LOG.old.{micros}")
}

/// Prefix of the names of information logs in a directory that several databases share (`db_log_dir`): the absolute
/// path of the database made into one word. Followed by `LOG` and `LOG.old.<micros>`.
#[must_use]
pub fn info_log_prefix(absolute_database_path: &str) -> String {
    let path = absolute_database_path.trim_start_matches('/');
    let word = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte),
        _ => '_',
    };
    path.bytes().map(word).chain(std::iter::once('_')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str) -> Option<(FileKind, u64)> {
        parse(name).map(|name| (name.kind, name.number.0))
    }

    #[test]
    fn names_are_told_apart() {
        for (name, kind, number) in [
            ("CURRENT", FileKind::Current, 0),
            ("IDENTITY", FileKind::Identity, 0),
            ("LOCK", FileKind::Lock, 0),
            ("LOG", FileKind::InfoLog, 0),
            ("LOG.old.1700000000123456", FileKind::InfoLog, 1_700_000_000_123_456),
            ("000004.log", FileKind::Log, 4),
            ("4.log", FileKind::Log, 4),
            ("12345678.sst", FileKind::Table, 12_345_678),
            ("000100.ldb", FileKind::Table, 100),
            ("000010.blob", FileKind::Blob, 10),
            ("MANIFEST-000005", FileKind::Manifest, 5),
            ("OPTIONS-000007", FileKind::Options, 7),
            ("OPTIONS-000006.dbtmp", FileKind::OptionsTemp, 6),
            ("000000.dbtmp", FileKind::Temp, 0),
            ("COMPACTION_PROGRESS-1700000000", FileKind::CompactionProgress, 1_700_000_000),
            ("COMPACTION_PROGRESS-17.dbtmp", FileKind::CompactionProgressTemp, 17),
            ("METADB-2", FileKind::MetaDb, 2),
            ("000012.sst.trash", FileKind::Trash, 12),
            ("000013.blob0.trash", FileKind::Trash, 13),
            ("000014.log17.trash", FileKind::Trash, 14),
            ("4611686018427387903.sst", FileKind::Table, MAX_FILE_NUMBER),
        ] {
            assert_eq!(parts(name), Some((kind, number)), "{name}");
        }
    }

    #[test]
    fn foreign_names_are_left_alone() {
        for name in [
            "",
            ".",
            "..",
            "foo",
            "foo.log",
            ".sst",
            "-1.sst",
            "+1.sst",
            "1.sst.bak",
            "000004.log.gz",
            "MANIFEST",
            "MANIFEST-",
            "MANIFEST-5x",
            "MANIFEST-000005.dbtmp",
            "OPTIONS-",
            "OPTIONS-1.tmp",
            "LOG.old",
            "LOG.old.",
            "LOGS",
            "4611686018427387904.sst",
            "99999999999999999999.sst",
            "archive",
            "CURRENT.bak",
            "notes.trash",
            "CURRENT.trash",
            "000012.sstx.trash",
            "000012.dbtmp.trash",
            ".trash",
            "１.sst",
        ] {
            assert_eq!(parts(name), None, "{name}");
        }
    }

    #[test]
    fn made_names_parse_back() {
        let number = FileNumber(1_234_567);
        for (name, kind) in [
            (log(number), FileKind::Log),
            (table(number), FileKind::Table),
            (legacy_table(number), FileKind::Table),
            (blob(number), FileKind::Blob),
            (manifest(number), FileKind::Manifest),
            (options(number), FileKind::Options),
            (options_temp(number), FileKind::OptionsTemp),
            (temp(number), FileKind::Temp),
            (old_info_log(number.0), FileKind::InfoLog),
        ] {
            assert_eq!(parse(&name), Some(FileName { kind, number }), "{name}");
        }
        assert_eq!(manifest(FileNumber(5)), "MANIFEST-000005");
    }

    #[test]
    fn shared_information_logs_are_named_after_the_path() {
        assert_eq!(info_log_prefix("/var/db/my db-1.x"), "var_db_my_db-1.x_");
    }
}
