//! Writing an OPTIONS file.

use super::value::escape;
use super::{EXTENSION_MARK, OptionsFile, RocksDbVersion, Section, Statement};
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
        let name = escape(&family.name);
        let _ = write!(out, "\n[CFOptions \"{name}\"]\n");
        section(&mut out, &family.options)?;
        if let Some(table) = &family.table {
            check(&table.factory)?;
            let _ = writeln!(out, "[TableOptions/{} \"{name}\"]", table.factory);
            section(&mut out, &table.options)?;
        }
    }
    Ok(out)
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
