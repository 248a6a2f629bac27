//! `meta/N`: what backup N is made of.
//!
//! ```text
//! schema_version 2.1                                           from version 2 on
//! 1795818686                                                   seconds since 1970
//! 101                                                          sequence number, about
//! metadata 6170700A01                                          bytes of the program, where it gave any
//! <name> <value>                                               version 2: more fields, to be passed over
//! 6                                                            files that follow
//! shared_checksum/000009_s..._2484.sst crc32 3998301522        CRC32C, in decimal
//! shared_checksum/000010_..._17062.blob crc32 1240311344 size 17062 temp kCold    version 2: more fields
//! shared_checksum/000011_..._9.sst ni::excluded true           version 2: left out of the backup, not counted
//! // FOOTER                                                    version 2: before fields behind the files
//! <name> <value>
//! ```
//!
//! Every line ends in a newline. Fields whose names begin with `ni::` must not be passed over by a reader that does
//! not know them; all others may. Versions from 3 on are for readers yet to come, and are refused.
//!
//! Stricter than RocksDB, which reads what is there of a number: a last line without its newline is a file that was
//! cut, and a number with other characters is a damaged one.

use super::name::BackupFileName;
use ferrock_base::{Error, Result, SequenceNumber, Temperature};
use std::fmt::Write as _;

/// The newest version that is read and written.
pub const NEWEST_SCHEMA: u32 = 2;
/// Bytes that a program may add to a backup.
pub const MAX_APP_METADATA_BYTES: usize = 1 << 20;

const SCHEMA_PREFIX: &str = "schema_version ";
const SCHEMA_2: &str = "2.1";
const METADATA_FIELD: &str = "metadata";
const CHECKSUM_FIELD: &str = "crc32";
const SIZE_FIELD: &str = "size";
const TEMPERATURE_FIELD: &str = "temp";
const EXCLUDED_FIELD: &str = "ni::excluded";
const NOT_IGNORABLE: &str = "ni::";
const FOOTER: &str = "// FOOTER";

/// What a backup is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupMeta {
    /// When it was made, in seconds since 1970.
    pub unix_seconds: i64,
    /// The newest write of the database about that time.
    pub sequence: SequenceNumber,
    /// Bytes that the program added.
    pub app_metadata: Vec<u8>,
    /// Its files.
    pub files: Vec<BackupMetaFile>,
    /// Names, below the backup directory, of files that it needs and that were left out.
    pub excluded: Vec<String>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupMetaFile {
    /// Its name below the backup directory.
    pub name: String,
    /// CRC32C of its bytes, where it is known.
    pub crc32c: Option<u32>,
    /// Its size, where it is written down.
    pub size_bytes: Option<u64>,
    /// How often it is expected to be read.
    pub temperature: Temperature,
}

impl BackupMeta {
    /// The text of a version of the schema, 1 or 2.
    ///
    /// # Errors
    /// `InvalidArgument` for version 0, and where version 1 cannot say what there is to say: a file without checksum,
    /// a file that was left out; `NotSupported` for versions that are not known.
    pub fn encode(&self, schema_version: u32) -> Result<Vec<u8>> {
        check_schema(schema_version)?;
        if schema_version == 1 && !self.excluded.is_empty() {
            return Err(Error::invalid_argument("schema_version 1 has no files that are left out: it must be 2"));
        }
        let mut text = String::new();
        if schema_version > 1 {
            text += SCHEMA_PREFIX;
            text += SCHEMA_2;
            text.push('\n');
        }
        // Writing into a String does not fail.
        let _ = writeln!(text, "{}\n{}", self.unix_seconds.max(0), self.sequence);
        if !self.app_metadata.is_empty() {
            text += METADATA_FIELD;
            text.push(' ');
            for byte in &self.app_metadata {
                let _ = write!(text, "{byte:02X}");
            }
            text.push('\n');
        }
        let _ = writeln!(text, "{}", self.files.len());
        for file in &self.files {
            text += &file.name;
            match file.crc32c {
                Some(crc) => _ = write!(text, " {CHECKSUM_FIELD} {crc}"),
                None if schema_version > 1 => {}
                None => {
                    let what = format!("schema_version 1 has a checksum for each file: {} has none", file.name);
                    return Err(Error::invalid_argument(what));
                }
            }
            if schema_version > 1 && file.temperature != Temperature::Unknown {
                let _ = write!(text, " {TEMPERATURE_FIELD} {}", file.temperature.option_name());
            }
            text.push('\n');
        }
        for name in &self.excluded {
            let _ = writeln!(text, "{name} {EXCLUDED_FIELD} true");
        }
        Ok(text.into_bytes())
    }

    /// Reads a text.
    ///
    /// # Errors
    /// `Corruption`, with the offset of the line, for what no backup engine writes; `NotSupported` for a version or a
    /// field that this release does not know and must not pass over.
    pub fn decode(text: &[u8]) -> Result<Self> {
        let mut lines = Lines { text, at: 0 };
        let mut meta = Self::default();
        let mut first = lines.expect("the time")?;
        let mut version = 1;
        if let Some(text) = first.text.strip_prefix(SCHEMA_PREFIX) {
            if text != "2" && !text.starts_with("2.") {
                let what = format!(
                    "schema version {text} of a backup: this release reads 1 and 2; use the release that wrote it"
                );
                return Err(Error::not_supported(what).at_offset(first.offset));
            }
            version = 2;
            first = lines.expect("the time")?;
        }
        let seconds: u64 = first.number(first.text, "the time of the backup")?;
        meta.unix_seconds = i64::try_from(seconds).map_err(|_| first.wrong("the time is out of bounds"))?;
        let line = lines.expect("the sequence number")?;
        meta.sequence = SequenceNumber(line.number(line.text, "the sequence number")?);
        let count = meta.read_fields(&mut lines, version)?;
        meta.read_files(&mut lines, version, count)?;
        Ok(meta)
    }

    /// Reads fields up to the number of files.
    fn read_fields(&mut self, lines: &mut Lines, version: u32) -> Result<u64> {
        loop {
            let line = lines.expect("the number of files")?;
            if line.text.starts_with(|first: char| first.is_ascii_digit()) {
                return line.number(line.text, "the number of files");
            }
            let (name, value) = line.field()?;
            if name == METADATA_FIELD {
                self.app_metadata = bytes_of(value).ok_or_else(|| line.wrong("metadata is not hexadecimal"))?;
            } else if version < 2 {
                return Err(line.wrong("neither the number of files nor metadata"));
            } else {
                line.check_ignorable(name)?;
            }
        }
    }

    fn read_files(&mut self, lines: &mut Lines, version: u32, count: u64) -> Result<()> {
        while let Some(line) = lines.next()? {
            if version > 1 && line.text == FOOTER {
                while let Some(line) = lines.next()? {
                    let (name, _) = line.field()?;
                    line.check_ignorable(name)?;
                }
                break;
            }
            self.read_file(&line, version)?;
        }
        if self.files.len() as u64 != count {
            let what = format!("{count} files are announced and {} follow", self.files.len());
            return Err(Error::corruption(what).at_offset(lines.at as u64));
        }
        Ok(())
    }

    fn read_file(&mut self, line: &Line, version: u32) -> Result<()> {
        let mut words = line.text.split(' ');
        let name = words.next().unwrap_or_default();
        if BackupFileName::parse(name).is_none() {
            return Err(line.wrong(&format!("{name:?} is no name of a file of a backup")));
        }
        let mut file =
            BackupMetaFile { name: name.to_owned(), crc32c: None, size_bytes: None, temperature: Temperature::Unknown };
        let mut is_excluded = false;
        while let Some(field) = words.next() {
            let value = words.next().ok_or_else(|| line.wrong(&format!("{field} has no value")))?;
            match field {
                CHECKSUM_FIELD => file.crc32c = Some(line.number(value, "the checksum")?),
                _ if version < 2 => return Err(line.wrong("more than a checksum")),
                SIZE_FIELD => file.size_bytes = Some(line.number(value, "the size")?),
                // A temperature of a later release is a hint that is lost.
                TEMPERATURE_FIELD => file.temperature = Temperature::from_option_name(value).unwrap_or_default(),
                EXCLUDED_FIELD => is_excluded = line.truth(value)?,
                _ => line.check_ignorable(field)?,
            }
        }
        if version < 2 && file.crc32c.is_none() {
            return Err(line.wrong("a file without checksum"));
        }
        match is_excluded {
            true => self.excluded.push(file.name),
            false => self.files.push(file),
        }
        Ok(())
    }
}

/// Refuses versions that are not known.
fn check_schema(version: u32) -> Result<()> {
    match version {
        0 => Err(Error::invalid_argument("schema_version must be at least 1")),
        1..=NEWEST_SCHEMA => Ok(()),
        _ => Err(Error::not_supported(format!("schema_version {version}: only 1 and 2 are known"))),
    }
}

fn bytes_of(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits = hexadecimal.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| u8::try_from(value(pair[0])? << 4 | value(pair[1])?).ok();
    digits.chunks_exact(2).map(byte).collect()
}

struct Lines<'a> {
    text: &'a [u8],
    at: usize,
}

struct Line<'a> {
    text: &'a str,
    offset: u64,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<Option<Line<'a>>> {
        let offset = self.at as u64;
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let wrong = |what: &str| Error::corruption(what).at_offset(offset);
        let end = rest.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| wrong("the last line has no end: the file was cut"))?;
        let text = std::str::from_utf8(&rest[..end]).map_err(|_| wrong("a line is no text"))?;
        if text.is_empty() {
            return Err(wrong("an empty line"));
        }
        self.at += end + 1;
        Ok(Some(Line { text, offset }))
    }

    fn expect(&mut self, what: &str) -> Result<Line<'a>> {
        let at = self.at as u64;
        self.next()?.ok_or_else(|| Error::corruption(format!("the file ends before {what}")).at_offset(at))
    }
}

impl<'a> Line<'a> {
    fn wrong(&self, what: &str) -> Error {
        Error::corruption(what).at_offset(self.offset)
    }

    fn field(&self) -> Result<(&'a str, &'a str)> {
        self.text.split_once(' ').ok_or_else(|| self.wrong("a name without a value"))
    }

    fn number<T: std::str::FromStr + ToString>(&self, text: &str, what: &str) -> Result<T> {
        let number = text.parse::<T>().ok().filter(|number| number.to_string() == text);
        number.ok_or_else(|| self.wrong(&format!("{what} is no number: {text:?}")))
    }

    fn truth(&self, text: &str) -> Result<bool> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Error::not_supported(format!("{EXCLUDED_FIELD} {text}")).at_offset(self.offset)),
        }
    }

    fn check_ignorable(&self, field: &str) -> Result<()> {
        if field.starts_with(NOT_IGNORABLE) {
            let what = format!(
                "field {field} of a backup, which must not be passed over: use the release that wrote the backup"
            );
            return Err(Error::not_supported(what).at_offset(self.offset));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
