//! What a profile changed.

use super::Profile;
use crate::differences::OptionDifference;
use std::fmt;

/// An option that a profile changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileChange {
    /// Where the option is, its name, and its texts before and after.
    pub difference: OptionDifference,
    /// Why the profile sets it.
    pub reason: &'static str,
}

/// What a profile changed: exactly the options whose values are others now. As a text it is a table.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
/// use ferrock::options::Profile;
/// let (mut db, mut families) = (ferrock::DbOptions::default(), vec![("default".to_owned(), Default::default())]);
/// let report = Profile::WriteHeavy.apply(&mut db, &mut families);
/// assert!(report.to_string().contains("kCompactionStyleUniversal"));
/// assert!(Profile::WriteHeavy.apply(&mut db, &mut families).changes.is_empty(), "nothing is left to change");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileReport {
    /// The profile.
    pub profile: Profile,
    /// Options that it changed: of the database, of each family with its tables, and components.
    pub changes: Vec<ProfileChange>,
}

/// What stands for an option that is not there.
const NOTHING: &str = "-";

impl ProfileChange {
    /// Section, name, value before, value after, reason.
    fn cells(&self) -> [String; 5] {
        let shown = |text: &Option<String>| match text.as_deref() {
            None | Some("") => NOTHING.to_owned(),
            Some(text) => text.to_owned(),
        };
        let OptionDifference { section, name, before, after } = &self.difference;
        [section.to_string(), name.clone(), shown(before), shown(after), self.reason.to_owned()]
    }
}

impl fmt::Display for ProfileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.profile, self.profile.purpose())?;
        if self.changes.is_empty() {
            return writeln!(f, "Every option has the value already that the profile sets.");
        }
        let header = ["where", "option", "before", "after", "reason"].map(ToOwned::to_owned);
        let rows: Vec<[String; 5]> =
            std::iter::once(header).chain(self.changes.iter().map(ProfileChange::cells)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3].map(width);
        for row in &rows {
            for (cell, width) in row.iter().zip(widths) {
                write!(f, "{cell:width$}  ")?;
            }
            writeln!(f, "{}", row[4])?;
        }
        Ok(())
    }
}
