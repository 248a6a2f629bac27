//! OPTIONS files: the settings a database was opened with, as text.
//!
//! ```text
//! file      = line*                                       one construct a line
//! line      = blank | comment | section | statement
//! comment   = '#' to the end of the line, unless '\' precedes it
//! section   = '[' title ( '"' argument '"' )? ']'
//! statement = name '=' value                              the first '=' divides, both sides are trimmed
//!
//! sections    Version ?   DBOptions   CFOptions "name" +   TableOptions/<factory> "name" ?
//! ```
//!
//! Invariants: exactly one `DBOptions`; the first `CFOptions` is `default`; no family twice; the table options of a
//! family come after its `CFOptions`. A name given twice in a section counts the first time.
//!
//! Options are not interpreted here: names and values stay text, unknown ones included, in the order of the file.
//! [`value`] has the encodings that values share. A line `# ferrock: name=value` is a comment to RocksDB and an option
//! to Ferrock: it holds a setting that RocksDB would refuse to load.
//!
//! Opening a database never needs the file; tools and `load_latest_options` do.

mod names;
mod parse;
#[cfg(test)]
mod tests;
pub mod value;
mod write;

pub use names::{OptionScope, canonical_name, is_deprecated};
pub use write::FamilyText;

use ferrock_base::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Start of a comment line with a Ferrock option, after the `#`.
const EXTENSION_MARK: &str = "ferrock:";

/// A release of RocksDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RocksDbVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl RocksDbVersion {
    /// The release whose option names and defaults are written.
    pub const CURRENT: Self = Self { major: 11, minor: 8, patch: 1 };
}

impl fmt::Display for RocksDbVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for RocksDbVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = version_numbers(text)?;
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
        Ok(Self { major: at(0), minor: at(1), patch: at(2) })
    }
}

/// Parses `a`, `a.b` or `a.b.c`.
fn version_numbers(text: &str) -> Result<Vec<u32>> {
    let numbers: Option<Vec<u32>> = text
        .split('.')
        .map(|part| if part.bytes().all(|byte| byte.is_ascii_digit()) { part.parse().ok() } else { None })
        .collect();
    numbers
        .filter(|numbers| numbers.len() <= 3)
        .ok_or_else(|| Error::invalid_argument(format!("{text:?} is not a version number (a.b.c)")))
}

/// The section `Version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The release that wrote the file, if recorded.
    pub rocksdb_version: Option<RocksDbVersion>,
    /// Version of the file format, major and minor, if recorded.
    pub options_file_version: Option<(u32, u32)>,
}

/// An option: name and value as they are in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its name.
    pub name: String,
    /// Its value, trimmed and otherwise untouched.
    pub value: String,
    /// The line it is on, from 1; 0 when it comes from no file.
    pub line: usize,
}

/// The options of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Options of RocksDB, in order.
    pub statements: Vec<Statement>,
    /// Ferrock's options, in order (lines `# ferrock: name=value`).
    pub extensions: Vec<Statement>,
}

impl Section {
    /// A section without options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an option of RocksDB.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.statements.push(Statement { name: name.into(), value: value.into(), line: 0 });
    }

    /// Adds a Ferrock option.
    pub fn push_extension(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.extensions.push(Statement { name: name.into(), value: value.into(), line: 0 });
    }

    /// The value of an option of RocksDB. Of several with the name, the first counts.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.statements.iter().find(|statement| statement.name == name).map(|statement| statement.value.as_str())
    }

    /// The value of a Ferrock option.
    #[must_use]
    pub fn get_extension(&self, name: &str) -> Option<&str> {
        self.extensions.iter().find(|statement| statement.name == name).map(|statement| statement.value.as_str())
    }
}

/// The table options of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSection {
    /// Name of the table factory: `BlockBasedTable`, for instance.
    pub factory: String,
    /// Its options.
    pub options: Section,
}

/// The sections of a column family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFamilySection {
    /// Name of the family.
    pub name: String,
    /// Its options.
    pub options: Section,
    /// Its table options. `None` means defaults.
    pub table: Option<TableSection>,
}

/// An OPTIONS file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionsFile {
    /// The program that wrote the file; optional.
    pub version: Option<Version>,
    /// Options of the database.
    pub db: Section,
    /// Families in order; the first is `default`.
    pub column_families: Vec<ColumnFamilySection>,
}

impl OptionsFile {
    /// The section of a family.
    #[must_use]
    pub fn column_family(&self, name: &str) -> Option<&ColumnFamilySection> {
        self.column_families.iter().find(|family| family.name == name)
    }

    /// True when unknown options may be ignored. `ignore_unknown_options` alone does not do: a file that claims to come
    /// from a release not newer than `running` should hold nothing unknown, so it is damaged.
    #[must_use]
    pub fn may_ignore_unknown_options(&self, ignore_unknown_options: bool, running: RocksDbVersion) -> bool {
        let written_by = self.version.and_then(|version| version.rocksdb_version);
        ignore_unknown_options && written_by.is_none_or(|version| version > running)
    }
}
