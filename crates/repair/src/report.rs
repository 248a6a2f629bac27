//! What an examination tells.

use crate::subject::Present;
use ferrock_base::{Error, FileNumber};
use ferrock_format::file_name::FileKind;
use std::fmt;
use std::path::PathBuf;

/// The use that the database has for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// The database needs it.
    Needed,
    /// The database does not need it: an open removes it.
    Unneeded,
    /// The MANIFEST, which would tell, is damaged or missing.
    Unknown,
}

impl Use {
    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Unneeded => "unneeded",
            Self::Unknown => "unknown",
        }
    }
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// The database needs a file that is not there.
    Missing,
    /// Its size is not the recorded one.
    WrongSize,
    /// It is a sound file, but of another database, or another file of this one.
    Foreign,
    /// Bytes differ from those that were written.
    Damaged,
    /// Bytes differ from those that were written, and nothing refers to them.
    DamagedGarbage,
    /// The log ends inside a record, as after a crash.
    TornEnd,
    /// Keys are not in order, or are not those that the MANIFEST records.
    WrongKeys,
    /// Entries refer to blobs that are not there or are damaged.
    BrokenReferences,
    /// It cannot be read.
    Unreadable,
    /// It has a feature that this build cannot judge.
    NotSupported,
}

impl Problem {
    /// The name in reports for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::WrongSize => "wrong-size",
            Self::Foreign => "foreign",
            Self::Damaged => "damaged",
            Self::DamagedGarbage => "damaged-garbage",
            Self::TornEnd => "torn-end",
            Self::WrongKeys => "wrong-keys",
            Self::BrokenReferences => "broken-references",
            Self::Unreadable => "unreadable",
            Self::NotSupported => "not-supported",
        }
    }

    /// False for what an ordinary crash leaves, and for what nothing refers to.
    #[must_use]
    pub fn is_damage(self) -> bool {
        !matches!(self, Self::TornEnd | Self::DamagedGarbage)
    }

    /// The problem that an error of a read means.
    pub(crate) fn of(error: &Error) -> Self {
        use ferrock_base::ErrorKind as Kind;
        match error.kind() {
            Kind::NotSupported | Kind::InvalidArgument => Self::NotSupported,
            Kind::Io | Kind::NoSpace => Self::Unreadable,
            _ => Self::Damaged,
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub problem: Problem,
    /// Byte offset in the file, where one is known.
    pub offset: Option<u64>,
    /// What was found, in words.
    pub message: String,
}

impl Finding {
    pub(crate) fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self { problem, offset: None, message: message.into() }
    }

    pub(crate) fn at(problem: Problem, offset: u64, message: impl Into<String>) -> Self {
        Self { problem, offset: Some(offset), message: message.into() }
    }

    pub(crate) fn of(error: &Error) -> Self {
        Self { problem: Problem::of(error), offset: error.offset(), message: error.message().to_owned() }
    }
}

/// User keys that something concerns, as closely as that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyRange {
    /// Name of the column family; `None` where that is not known: it may be any.
    pub family: Option<String>,
    /// No key is smaller; `None` where none is known.
    pub from: Option<Vec<u8>>,
    /// No key is larger; `None` where none is known.
    pub to: Option<Vec<u8>>,
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = |key: &Option<Vec<u8>>, open: &str| match key {
            Some(key) => format!("\"{}\"", key.escape_ascii()),
            None => open.to_owned(),
        };
        let family = self.family.as_deref().unwrap_or("(any family)");
        write!(f, "{family}: {} to {}", key(&self.from, "the first key"), key(&self.to, "the last key"))
    }
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub kind: FileKind,
    /// Its number; 0 for kinds without.
    pub number: FileNumber,
    /// Its size in bytes; `None` when it is missing.
    pub size_bytes: Option<u64>,
    /// The use that the database has for it.
    pub used: Use,
    /// Name of its column family, where it belongs to one that is known.
    pub family: Option<String>,
    /// Its level, where the MANIFEST says so.
    pub level: Option<u32>,
    /// Entries (of a table or log) or records (of a blob file) that are intact.
    pub intact_entries: u64,
    /// What is wrong with it; empty: nothing is.
    pub findings: Vec<Finding>,
}

impl FileReport {
    /// True when something is wrong that no crash leaves, in what the database may need.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.used != Use::Unneeded && self.findings.iter().any(|finding| finding.problem.is_damage())
    }
}

/// What a way to mend the database would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedy {
    /// It leads to a database that opens. Where it does not, nothing is kept, lost or named beside the reason.
    pub is_possible: bool,
    /// Why it does not, or what it does.
    pub note: String,
    /// Entries that it keeps, counting versions, deletions and range deletions.
    pub entries_kept: u64,
    /// Entries that are known to be lost; of a block or a file that cannot be read nothing is counted.
    pub entries_lost: u64,
    /// Where something is lost: rows in no range stay as they are. Older versions of these keys may become visible
    /// again; where damaged files stay, reads of these keys may fail. `None` as a family stands for all families.
    pub lost: Vec<KeyRange>,
}

/// What an examination found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The database's own directory.
    pub directory: PathBuf,
    /// Identity of the database, where one is known.
    pub db_id: Option<String>,
    /// Names of the column families, in the order of their ids.
    pub families: Vec<String>,
    /// Every file of the database, and those that it misses.
    pub files: Vec<FileReport>,
    /// What is wrong with the database as a whole.
    pub findings: Vec<Finding>,
    /// [`Repair`](crate::Repair).
    pub repair: Remedy,
    /// An open with `wal_recovery_mode=kPointInTimeRecovery`, the default: logs count up to their first damage, and
    /// damaged files stay as they are.
    pub point_in_time: Remedy,
    /// [`Surgery::remove_table`](crate::Surgery::remove_table), or `ldb unsafe_remove_sst_file`, of every table that is
    /// missing or damaged, and then an open as above: the whole tables are lost.
    pub remove_tables: Remedy,
    /// An open with `best_efforts_recovery`: for each family the newest state whose files are all there in the recorded
    /// size, without any log. Tables that cannot be opened fail it; other damage stays.
    pub best_efforts: Remedy,
}

impl Report {
    /// True when something is wrong that no crash leaves.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|finding| finding.problem.is_damage()) || self.files.iter().any(FileReport::is_damaged)
    }

    /// The report of the file of this name.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&FileReport> {
        self.files.iter().find(|file| file.path.file_name().is_some_and(|own| own == name))
    }
}

/// The report of a file that is there, and in which nothing was found yet.
pub(crate) fn file_report(present: &Present, kind: FileKind, number: FileNumber, used: Use) -> FileReport {
    FileReport {
        path: present.path.clone(),
        kind,
        number,
        size_bytes: Some(present.size_bytes),
        used,
        family: None,
        level: None,
        intact_entries: 0,
        findings: Vec::new(),
    }
}

/// The report of a file that the database needs.
pub(crate) fn missing_report(path: PathBuf, kind: FileKind, number: FileNumber) -> FileReport {
    let present = Present { path, size_bytes: 0 };
    let finding = Finding::new(Problem::Missing, "the file is missing");
    FileReport { size_bytes: None, findings: vec![finding], ..file_report(&present, kind, number, Use::Needed) }
}
