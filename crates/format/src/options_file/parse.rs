//! Reading an OPTIONS file.

use super::value::unescape;
use super::{
    ColumnFamilySection, EXTENSION_MARK, OptionsFile, RocksDbVersion, Section, Statement, TableSection, Version,
    version_numbers,
};
use ferrock_base::byte_text::{canonical, from_bytes};
use ferrock_base::{Error, Result};

/// The section that the following statements belong to.
#[derive(Clone, Copy)]
enum CurrentSection {
    Nowhere,
    Version,
    Db,
    /// Index of the family.
    ColumnFamily(usize),
    /// Index of the family.
    Table(usize),
}

impl OptionsFile {
    /// Reads a file.
    ///
    /// # Errors
    /// `InvalidArgument` naming the line for what is not in the grammar or out of order; `Corruption` when `DBOptions`
    /// or the family `default` is missing.
    pub fn parse(content: &[u8]) -> Result<Self> {
        parse(content)
    }
}

fn parse(content: &[u8]) -> Result<OptionsFile> {
    // Names of column families are of any bytes.
    let text = from_bytes(content);
    let mut parser = Parser { file: OptionsFile::default(), seen_db: false, place: CurrentSection::Nowhere };
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        parser.line(line, number).map_err(|error| error.context(&format!("line {number} of OPTIONS file")))?;
    }
    if !parser.seen_db {
        return Err(Error::corruption("OPTIONS file without section DBOptions"));
    }
    if parser.file.column_families.is_empty() {
        return Err(Error::corruption("OPTIONS file without section CFOptions \"default\""));
    }
    Ok(parser.file)
}

struct Parser {
    file: OptionsFile,
    seen_db: bool,
    place: CurrentSection,
}

impl Parser {
    fn line(&mut self, line: &str, number: usize) -> Result<()> {
        if let Some(extension) = extension(line) {
            let statement = statement(extension, number)?;
            if let Some(section) = self.section() {
                section.extensions.push(statement);
            }
            return Ok(());
        }
        let line = without_comment(line).trim();
        if line.is_empty() {
            return Ok(());
        }
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return self.start_section(header);
        }
        let statement = statement(line, number)?;
        if let CurrentSection::Version = self.place {
            return self.version_statement(&statement);
        }
        if let Some(section) = self.section() {
            section.statements.push(statement);
        }
        Ok(())
    }

    /// The section that statements go to now.
    fn section(&mut self) -> Option<&mut Section> {
        match self.place {
            CurrentSection::Nowhere | CurrentSection::Version => None,
            CurrentSection::Db => Some(&mut self.file.db),
            CurrentSection::ColumnFamily(index) => {
                self.file.column_families.get_mut(index).map(|family| &mut family.options)
            }
            CurrentSection::Table(index) => {
                self.file.column_families.get_mut(index)?.table.as_mut().map(|table| &mut table.options)
            }
        }
    }

    fn start_section(&mut self, header: &str) -> Result<()> {
        let (title, argument) = split_header(header)?;
        if let Some(factory) = title.strip_prefix("TableOptions/") {
            return self.start_table(factory.trim(), &argument);
        }
        match title {
            "Version" => {
                if self.file.version.is_some() {
                    return Err(Error::invalid_argument("section Version appears twice"));
                }
                self.file.version = Some(Version { rocksdb_version: None, options_file_version: None });
                self.place = CurrentSection::Version;
            }
            "DBOptions" => {
                if self.seen_db {
                    return Err(Error::invalid_argument("section DBOptions appears twice"));
                }
                self.seen_db = true;
                self.place = CurrentSection::Db;
            }
            "CFOptions" => {
                if self.file.column_families.is_empty() && argument != "default" {
                    let found = format!("the first CFOptions must be \"default\", found {argument:?}");
                    return Err(Error::invalid_argument(found));
                }
                if self.file.column_family(&argument).is_some() {
                    return Err(Error::invalid_argument(format!("column family {argument:?} appears twice")));
                }
                self.place = CurrentSection::ColumnFamily(self.file.column_families.len());
                let family = ColumnFamilySection { name: argument, options: Section::new(), table: None };
                self.file.column_families.push(family);
            }
            _ => return Err(Error::invalid_argument(format!("Unknown section {title:?}"))),
        }
        Ok(())
    }

    fn start_table(&mut self, factory: &str, family_name: &str) -> Result<()> {
        let index = self.file.column_families.iter().position(|family| family.name == family_name);
        let family = index.and_then(|index| self.file.column_families.get_mut(index));
        let (Some(index), Some(family)) = (index, family) else {
            return Err(Error::invalid_argument(format!(
                "TableOptions of column family {family_name:?} come before its CFOptions"
            )));
        };
        if family.table.is_some() {
            return Err(Error::invalid_argument(format!("TableOptions of {family_name:?} appear twice")));
        }
        family.table = Some(TableSection { factory: factory.to_owned(), options: Section::new() });
        self.place = CurrentSection::Table(index);
        Ok(())
    }

    fn version_statement(&mut self, statement: &Statement) -> Result<()> {
        let Some(version) = &mut self.file.version else { return Ok(()) };
        match statement.name.as_str() {
            "rocksdb_version" => version.rocksdb_version = Some(statement.value.parse::<RocksDbVersion>()?),
            "options_file_version" => {
                let numbers = version_numbers(&statement.value)?;
                let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
                if at(0) < 1 {
                    return Err(Error::invalid_argument(format!("options_file_version {} < 1", statement.value)));
                }
                version.options_file_version = Some((at(0), at(1)));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The option in a `# ferrock:` comment line.
fn extension(line: &str) -> Option<&str> {
    line.trim().strip_prefix('#')?.trim_start().strip_prefix(EXTENSION_MARK)
}

/// Cuts a comment off.
fn without_comment(line: &str) -> &str {
    let starts = line
        .bytes()
        .enumerate()
        .find(|&(index, byte)| byte == b'#' && (index == 0 || line.as_bytes()[index - 1] != b'\\'));
    starts.map_or(line, |(index, _)| &line[..index])
}

fn statement(text: &str, line: usize) -> Result<Statement> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(Error::invalid_argument(format!("{:?} is not of the form name=value", text.trim())));
    };
    let name = name.trim();
    if name.is_empty() {
        return Err(Error::invalid_argument("a statement without a name before its '='"));
    }
    Ok(Statement { name: name.to_owned(), value: value.trim().to_owned(), line })
}

/// Title and unescaped argument of a section header.
fn split_header(header: &str) -> Result<(&str, String)> {
    let Some((title, rest)) = header.split_once('"') else {
        return Ok((header.trim(), String::new()));
    };
    match rest.trim_end().strip_suffix('"') {
        Some(argument) => Ok((title.trim(), canonical(&unescape(argument)))),
        None => Err(Error::invalid_argument(format!("section header [{header}] has no closing quote"))),
    }
}
