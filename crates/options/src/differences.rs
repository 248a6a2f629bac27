//! Options that differ: from their defaults, or between two sets.
//!
//! ```text
//! options --> OPTIONS file --> sections: database, family NAME, family NAME: TABLE FACTORY
//!                                           |  name -> text; a comment line of Ferrock's replaces RocksDB's text
//!                                           v
//!         two of them, name by name --> OptionDifference { section, name, before, after }
//! ```
//!
//! What an OPTIONS file can hold is compared, in its texts, so every option of the tables and every component with a
//! name is, and caches, clocks and listeners are not. A name that a file leaves out has its default. Tables of
//! different factories have nothing in common: each option of the new one differs from nothing.

use crate::passthrough;
use crate::{ColumnFamilyOptions, ColumnFamilySettings, DbOptions, DbSettings, to_file};
use ferrock_base::option_table::OptionInfo;
use ferrock_format::options_file::{OptionsFile, Section};
use ferrock_table::options::TableFactory;
use ferrock_table::{BlockBasedTableOptions, PlainTableOptions};
use std::fmt;

/// A section of an OPTIONS file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionSection {
    /// Options of the database.
    Database,
    /// Options of the family of this name.
    Family(String),
    /// Options of the tables of a family.
    Table {
        /// Name of the family.
        family: String,
        /// Name of the table factory.
        factory: String,
    },
    /// What no OPTIONS file holds, such as a cache.
    Component,
}

impl fmt::Display for OptionSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => f.write_str("database"),
            Self::Family(name) => write!(f, "family {name}"),
            Self::Table { family, factory } => write!(f, "family {family}: {factory}"),
            Self::Component => f.write_str("component"),
        }
    }
}

/// An option with two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionDifference {
    /// Where it is.
    pub section: OptionSection,
    /// Its name in an OPTIONS file.
    pub name: String,
    /// Its text in the first set, or by default; `None` where the first set has no such option.
    pub before: Option<String>,
    /// Its text in the second set; `None` where that has no such option.
    pub after: Option<String>,
}

/// A section of the second set, and what differs in it, which may be nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionDifferences {
    /// The section.
    pub section: OptionSection,
    /// Options that differ, in the order of the file.
    pub options: Vec<OptionDifference>,
}

/// Options of a database and of its families, by name.
pub type OptionSet<'a> = (&'a DbOptions, &'a [(String, ColumnFamilyOptions)]);

/// Options that differ between two sets. Families are compared by name; one that the first set lacks is compared with
/// the defaults, and one that the second lacks is passed over.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
/// use ferrock::options::differences_between;
/// let before = ferrock::DbOptions::default();
/// let mut after = before.clone();
/// after.max_background_jobs = 8;
/// let differences = differences_between((&before, &[]), (&after, &[]));
/// assert_eq!(differences.len(), 1);
/// assert_eq!(differences[0].name, "max_background_jobs");
/// assert_eq!((differences[0].before.as_deref(), differences[0].after.as_deref()), (Some("2"), Some("8")));
/// ```
#[must_use]
pub fn differences_between(before: OptionSet<'_>, after: OptionSet<'_>) -> Vec<OptionDifference> {
    let of_before = |name: &str| {
        let family = before.1.iter().find(|(known, _)| known == name);
        family.map_or_else(ColumnFamilyOptions::default, |(_, options)| options.clone())
    };
    let families: Vec<_> = after.1.iter().map(|(name, _)| (name.clone(), of_before(name))).collect();
    let sections = compare(&to_file(before.0, &families), &to_file(after.0, after.1));
    sections.into_iter().flat_map(|section| section.options).collect()
}

/// Options that differ from their defaults, section by section; a section without any is listed, too.
///
/// Where a 0 stands for what follows from other options, an open family has that in its place, and it is no difference.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
/// let mut family = ferrock::ColumnFamilyOptions::default();
/// family.write_buffer_size = 1 << 20;
/// let families = vec![("default".to_owned(), family)];
/// let sections = ferrock::options::differences_from_defaults((&ferrock::DbOptions::default(), &families));
/// assert_eq!(sections[1].section.to_string(), "family default");
/// assert_eq!(sections[1].options[0].after.as_deref(), Some("1048576"));
/// ```
#[must_use]
pub fn differences_from_defaults(options: OptionSet<'_>) -> Vec<SectionDifferences> {
    let defaults: Vec<_> = options.1.iter().map(|(name, options)| (name.clone(), usual(options))).collect();
    compare(&to_file(&DbOptions::default(), &defaults), &to_file(options.0, options.1))
}

/// The defaults of a family, with what follows where the family has that in the place of a 0.
fn usual(options: &ColumnFamilyOptions) -> ColumnFamilyOptions {
    let mut follows = options.clone();
    follows.arena_block_size = 0;
    follows.max_compaction_bytes = 0;
    follows.settle();
    let mut usual = ColumnFamilyOptions::default();
    if options.arena_block_size != 0 {
        usual.arena_block_size = follows.arena_block_size;
    }
    if options.max_compaction_bytes != 0 {
        usual.max_compaction_bytes = follows.max_compaction_bytes;
    }
    usual
}

/// Both files have the same families in the same order.
fn compare(before: &OptionsFile, after: &OptionsFile) -> Vec<SectionDifferences> {
    let mut sections = vec![section(OptionSection::Database, Some(&before.db), &after.db)];
    for (before, after) in before.column_families.iter().zip(&after.column_families) {
        sections.push(section(OptionSection::Family(after.name.clone()), Some(&before.options), &after.options));
        if let Some(table) = &after.table {
            let before = before.table.as_ref().filter(|before| before.factory == table.factory);
            let title = OptionSection::Table { family: after.name.clone(), factory: table.factory.clone() };
            sections.push(section(title, before.map(|before| &before.options), &table.options));
        }
    }
    sections
}

fn section(title: OptionSection, before: Option<&Section>, after: &Section) -> SectionDifferences {
    let mut names: Vec<&str> = Vec::new();
    for section in [Some(after), before].into_iter().flatten() {
        for statement in section.statements.iter().chain(&section.extensions) {
            if !names.contains(&&statement.name[..]) {
                names.push(&statement.name);
            }
        }
    }
    let text = |section: Option<&Section>, name: &str| section.and_then(|section| text_of(section, &title, name));
    let rows = names.into_iter().map(|name| OptionDifference {
        section: title.clone(),
        name: name.to_owned(),
        before: text(before, name),
        after: text(Some(after), name),
    });
    let options = rows.filter(|row| row.before != row.after).collect();
    SectionDifferences { section: title, options }
}

/// The text of an option: Ferrock's own, or RocksDB's, or the default of one that the file leaves out.
fn text_of(section: &Section, title: &OptionSection, name: &str) -> Option<String> {
    let found = section.get_extension(name).or_else(|| section.get(name));
    found.map(ToOwned::to_owned).or_else(|| default_of(title, name))
}

fn default_of(section: &OptionSection, name: &str) -> Option<String> {
    let (table, kept): (&[OptionInfo], &[passthrough::DefaultText]) = match section {
        OptionSection::Database => (DbSettings::TABLE, passthrough::DB_OPTIONS),
        OptionSection::Family(_) => (ColumnFamilySettings::TABLE, passthrough::COLUMN_FAMILY_OPTIONS),
        OptionSection::Table { factory, .. } if factory == TableFactory::BlockBased.name() => {
            (BlockBasedTableOptions::TABLE, passthrough::TABLE_OPTIONS)
        }
        OptionSection::Table { .. } => (PlainTableOptions::TABLE, &[]),
        OptionSection::Component => (&[], &[]),
    };
    let info = table.iter().find(|info| info.name == name).map(|info| (info.default_text)());
    info.or_else(|| kept.iter().find(|(known, _)| *known == name).map(|(_, default)| (*default).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataBlockIndexType;
    use std::sync::Arc;

    fn one(family: ColumnFamilyOptions) -> Vec<(String, ColumnFamilyOptions)> {
        vec![("default".to_owned(), family)]
    }

    fn rows(before: ColumnFamilyOptions, after: ColumnFamilyOptions) -> Vec<(String, Option<String>, Option<String>)> {
        let db = DbOptions::default();
        let differences = differences_between((&db, &one(before)), (&db, &one(after)));
        differences.into_iter().map(|row| (row.name, row.before, row.after)).collect()
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn nothing_differs_from_itself_and_from_the_defaults() {
        let family = ColumnFamilyOptions::default();
        assert!(rows(family.clone(), family.clone()).is_empty());
        let sections = differences_from_defaults((&DbOptions::default(), &one(family)));
        assert_eq!(sections.len(), 3);
        assert!(sections.iter().all(|section| section.options.is_empty()));
    }

    #[test]
    fn every_option_that_is_set_is_told_once_with_both_texts() {
        for info in ColumnFamilySettings::TABLE.iter().filter(|info| ["i32", "u32", "u64"].contains(&info.type_name)) {
            let mut family = ColumnFamilyOptions::default();
            assert!(family.settings.set(info.name, "77").unwrap());
            let expected = vec![(info.name.to_owned(), Some((info.default_text)()), text("77"))];
            assert_eq!(rows(ColumnFamilyOptions::default(), family.clone()), expected);
            // The other way round, too, although a file leaves some of them out at their defaults.
            let expected = vec![(info.name.to_owned(), text("77"), Some((info.default_text)()))];
            assert_eq!(rows(family, ColumnFamilyOptions::default()), expected);
        }
    }

    #[test]
    fn own_texts_replace_those_for_rocksdb() {
        let mut family = ColumnFamilyOptions::default();
        family.table.data_block_index_type = DataBlockIndexType::Auto;
        let differences = rows(ColumnFamilyOptions::default(), family);
        assert_eq!(differences.len(), 1, "{differences:?}");
        assert_eq!(differences[0].1, text("kDataBlockBinarySearch"));
        assert_ne!(differences[0].2, differences[0].1);
    }

    #[test]
    fn tables_of_another_factory_have_nothing_in_common() {
        let plain = TableFactory::Plain(Arc::default());
        let family = ColumnFamilyOptions { table_factory: plain, ..ColumnFamilyOptions::default() };
        let differences = rows(ColumnFamilyOptions::default(), family);
        assert_eq!(differences[0].0, "table_factory");
        assert!(differences.len() > 1 && differences[1..].iter().all(|row| row.1.is_none()));
    }

    #[test]
    fn what_follows_from_other_options_is_no_difference() {
        let mut family = ColumnFamilyOptions::default();
        family.write_buffer_size = 1 << 20;
        family.settle();
        let sections = differences_from_defaults((&DbOptions::default(), &one(family.clone())));
        let names = |sections: &[SectionDifferences]| -> Vec<String> {
            sections.iter().flat_map(|section| &section.options).map(|row| row.name.clone()).collect()
        };
        assert_eq!(names(&sections), ["write_buffer_size"]);
        family.max_compaction_bytes += 1;
        let sections = differences_from_defaults((&DbOptions::default(), &one(family)));
        assert_eq!(names(&sections), ["write_buffer_size", "max_compaction_bytes"]);
    }

    #[test]
    fn families_are_compared_by_name() {
        let (db, mut changed) = (DbOptions::default(), ColumnFamilyOptions::default());
        changed.num_levels = 4;
        let before = vec![("a".to_owned(), changed.clone()), ("gone".to_owned(), ColumnFamilyOptions::default())];
        let after = vec![("new".to_owned(), changed.clone()), ("a".to_owned(), changed)];
        let differences = differences_between((&db, &before), (&db, &after));
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].section, OptionSection::Family("new".to_owned()));
    }
}
