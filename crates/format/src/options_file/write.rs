//! Writing an OPTIONS file.

use super::value::escape;
use super::{ColumnFamilySection, EXTENSION_MARK, OptionsFile, RocksDbVersion, Section, Statement};
use ferrock_base::{Error, Result};
use std::fmt::Write;

/// The first lines: comments for users, which readers skip.
const HEADER: &str = "# RocksDB option file, written by Ferrock.\n#\n# Comment lines with \"ferrock:\" are options that RocksDB does not have.\n#\n\n";

impl OptionsFile {
    /// The file as text, in the layout RocksDB gives it. Its bytes are those of [`ferrock_base::byte_text::to_bytes`].
    ///
    /// # Errors
    /// `InvalidArgument` for a name or value that would not be read back as it is: a line break, or an unescaped `#`.
    pub fn format(&self) -> Result<String> {
        format(self)
    }
}

fn format(file: &OptionsFile) -> Result<String> {
    let mut out = String::from(HEADER);
    let version = file.version.and_then(|version| version.rocksdb_version).unwrap_or(RocksDbVersion::CURRENT);
    let format_version = file.version.and_then(|version| version.options_file_version).unwrap_or((1, 1));
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "[Version]\n  rocksdb_version={version}\n  options_file_version={}.{}\n\n[DBOptions]\n",
        format_version.0, format_version.1
    );
    section(&mut out, &file.db)?;
    for family in &file.column_families {
        family.text()?.append_to(&mut out, &family.name);
    }
    Ok(out)
}

/// The sections of a column family as text, but for the name: families with equal options have equal texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FamilyText {
    options: String,
    /// The factory and its options.
    table: Option<(String, String)>,
}

impl FamilyText {
    /// Appends the sections of the family of this name to a file.
    pub fn append_to(&self, out: &mut String, name: &str) {
        let name = escape(name);
        let _ = write!(out, "\n[CFOptions \"{name}\"]\n");
        out.push_str(&self.options);
        if let Some((factory, options)) = &self.table {
            let _ = writeln!(out, "[TableOptions/{factory} \"{name}\"]");
            out.push_str(options);
        }
    }
}

impl ColumnFamilySection {
    /// The text of the sections. Those of a file with all families one behind another follow the text of a file without
    /// any.
    ///
    /// # Errors
    /// As [`OptionsFile::format`].
    ///
    /// ```
    /// use ferrock_format::options_file::{ColumnFamilySection, OptionsFile, Section};
    ///
    /// let mut options = Section::new();
    /// options.push("num_levels", "7");
    /// let family = ColumnFamilySection { name: "users".to_owned(), options, table: None };
    /// let mut text = OptionsFile::default().format()?;
    /// family.text()?.append_to(&mut text, "users");
    /// let whole = OptionsFile { column_families: vec![family], ..OptionsFile::default() };
    /// assert_eq!(text, whole.format()?);
    /// # Ok::<(), ferrock_base::Error>(())
    /// ```
    pub fn text(&self) -> Result<FamilyText> {
        let mut options = String::new();
        section(&mut options, &self.options)?;
        let table = match &self.table {
            None => None,
            Some(table) => {
                check(&table.factory)?;
                let mut options = String::new();
                section(&mut options, &table.options)?;
                Some((table.factory.clone(), options))
            }
        };
        Ok(FamilyText { options, table })
    }
}

fn section(out: &mut String, section: &Section) -> Result<()> {
    for Statement { name, value, .. } in &section.statements {
        check(name)?;
        check(value)?;
        let _ = writeln!(out, "  {name}={value}");
    }
    for Statement { name, value, .. } in &section.extensions {
        check(name)?;
        check(value)?;
        let _ = writeln!(out, "  # {EXTENSION_MARK} {name}={value}");
    }
    // RocksDB ends a section with a line of its indentation.
    out.push_str("  \n");
    Ok(())
}

/// Refuses text that would not be read back unchanged.
fn check(text: &str) -> Result<()> {
    let bytes = text.as_bytes();
    let is_bad = |(index, &byte): (usize, &u8)| match byte {
        b'\n' | b'\r' => true,
        b'#' => index == 0 || bytes[index - 1] != b'\\',
        _ => false,
    };
    if bytes.iter().enumerate().any(is_bad) {
        return Err(Error::invalid_argument(format!("{text:?} must be escaped to be written to an OPTIONS file")));
    }
    Ok(())
}
