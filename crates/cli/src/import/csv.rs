//! Rows of CSV files as RFC 4180 has them.
//!
//! ```text
//! row    = field *(delimiter field) (CRLF / LF / end)
//! field  = *byte without delimiter, quote, line end  /  quote *(byte / quote quote) quote
//! ```
//!
//! Invariants:
//! - Nothing is guessed: a quote within a field that does not begin with one, a byte behind a closing quote, and a row
//!   with another number of fields than the first line are damage. A line without a byte is none.
//! - A quote that nothing closes is an error of the file, also where damaged lines are passed over: everything behind
//!   it would go with it.
//!
//! No crate is used: those that are known take such damage as text.

use super::source::{Rows, Source, Step, Texts, decode_hex};
use crate::failure::{Failure, Result};

/// What is to be known of a file.
#[derive(Clone, Debug)]
pub(super) struct CsvOptions {
    pub(super) delimiter: u8,
    pub(super) has_header: bool,
    pub(super) key: Option<String>,
    pub(super) value: Option<String>,
    pub(super) texts: Texts,
}

/// The rows of a file.
pub(super) struct CsvRows {
    source: Source,
    delimiter: u8,
    texts: Texts,
    /// Fields of a row; `None` until the first one is read.
    fields: Option<usize>,
    key_field: usize,
    value_field: usize,
    field: Vec<u8>,
    /// The row begins with a carriage return that is no line end, and that was read already.
    begins_with_return: bool,
}

/// What ended a field.
enum End {
    Delimiter,
    Row,
    /// What is wrong, and in which line and column.
    Damage(u64, u64, &'static str),
}

impl CsvRows {
    pub(super) fn new(source: Source, options: &CsvOptions) -> Result<Self> {
        let number = |column: &Option<String>, default: usize| {
            column.as_ref().and_then(|text| text.parse().ok()).map_or(default, |number: usize| number - 1)
        };
        let mut rows = Self {
            source,
            delimiter: options.delimiter,
            texts: options.texts,
            fields: None,
            key_field: 0,
            value_field: 1,
            field: Vec::new(),
            begins_with_return: false,
        };
        if options.has_header {
            rows.read_header(options)?;
        } else {
            rows.key_field = number(&options.key, 0);
            rows.value_field = number(&options.value, 1);
        }
        if rows.key_field == rows.value_field {
            return Err(Failure::Usage("--key and --value name the same column".to_owned()));
        }
        Ok(rows)
    }

    fn read_header(&mut self, options: &CsvOptions) -> Result<()> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        if self.skip_empty_lines()? {
            return Ok(());
        }
        loop {
            let end = self.read_field()?;
            names.push(std::mem::take(&mut self.field));
            self.source.check_length(names.iter().map(|name| name.len() + 24).sum())?;
            match end {
                End::Delimiter => {}
                End::Row => break,
                End::Damage(line, column, what) => return Err(self.source.fatal(line, column, what)),
            }
        }
        let find = |column: &Option<String>, name: &str, default: usize| {
            let found = |name: &str| names.iter().position(|known| known == name.as_bytes());
            match column {
                Some(column) => found(column).ok_or_else(|| {
                    let known: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
                    Failure::Usage(format!(
                        "there is no column {column:?}; the first line has {} (--no-header: it is a row)",
                        known.join(", ")
                    ))
                }),
                None => Ok(found(name).unwrap_or(default)),
            }
        };
        self.key_field = find(&options.key, "key", 0)?;
        self.value_field = find(&options.value, "value", 1)?;
        self.fields = Some(names.len());
        Ok(())
    }

    /// True at the end of the file.
    fn skip_empty_lines(&mut self) -> Result<bool> {
        loop {
            match self.source.peek()? {
                None => return Ok(true),
                Some(b'\n') => _ = self.source.byte()?,
                Some(b'\r') => {
                    self.source.byte()?;
                    if !matches!(self.source.peek()?, Some(b'\n') | None) {
                        self.begins_with_return = true;
                        return Ok(false);
                    }
                }
                Some(_) => return Ok(false),
            }
        }
    }

    /// Reads a field, and what ends it.
    fn read_field(&mut self) -> Result<End> {
        self.field.clear();
        if std::mem::take(&mut self.begins_with_return) {
            self.field.push(b'\r');
        } else if self.source.peek()? == Some(b'"') {
            return self.read_quoted();
        }
        loop {
            let (line, column) = (self.source.line, self.source.column);
            match self.source.byte()? {
                Some(byte) if byte == self.delimiter => return Ok(End::Delimiter),
                None | Some(b'\n') => return Ok(End::Row),
                Some(b'\r') if matches!(self.source.peek()?, Some(b'\n') | None) => {
                    self.source.byte()?;
                    return Ok(End::Row);
                }
                Some(b'"') => {
                    self.source.skip_line()?;
                    return Ok(End::Damage(line, column, "a quote in a field that does not begin with one"));
                }
                Some(byte) => self.field.push(byte),
            }
            self.source.check_length(self.field.len())?;
        }
    }

    fn read_quoted(&mut self) -> Result<End> {
        let (line, column) = (self.source.line, self.source.column);
        self.source.byte()?;
        loop {
            match self.source.byte()? {
                None => return Err(self.source.fatal(line, column, "the quote that begins here is not closed")),
                Some(b'"') if self.source.peek()? == Some(b'"') => {
                    self.source.byte()?;
                    self.field.push(b'"');
                }
                Some(b'"') => break,
                Some(byte) => self.field.push(byte),
            }
            self.source.check_length(self.field.len())?;
        }
        let (line, column) = (self.source.line, self.source.column);
        match self.source.byte()? {
            Some(byte) if byte == self.delimiter => Ok(End::Delimiter),
            None | Some(b'\n') => Ok(End::Row),
            Some(b'\r') if matches!(self.source.peek()?, Some(b'\n') | None) => {
                self.source.byte()?;
                Ok(End::Row)
            }
            Some(_) => {
                self.source.skip_line()?;
                Ok(End::Damage(line, column, "a closing quote is followed by a delimiter or the end of the line"))
            }
        }
    }
}

impl Rows for CsvRows {
    fn next(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<Step> {
        if self.skip_empty_lines()? {
            return Ok(Step::End);
        }
        let line = self.source.line;
        let (mut key_column, mut value_column) = (1, 1);
        let mut fields = 0;
        loop {
            let column = self.source.column - u64::from(self.begins_with_return);
            let end = self.read_field()?;
            if fields == self.key_field {
                std::mem::swap(key, &mut self.field);
                key_column = column;
            } else if fields == self.value_field {
                std::mem::swap(value, &mut self.field);
                value_column = column;
            }
            fields += 1;
            match end {
                End::Delimiter => {}
                End::Row => break,
                End::Damage(line, column, what) => return Ok(self.source.bad(line, column, what)),
            }
        }
        if let Some(expected) = self.fields.filter(|expected| *expected != fields) {
            let what = format!("the row has {fields} fields, and the first line has {expected}");
            return Ok(self.source.bad(line, 1, what));
        }
        let last = self.key_field.max(self.value_field);
        if last >= fields {
            let what = format!("the row has {fields} fields, and field {} is to be taken", last + 1);
            return Ok(self.source.bad(line, 1, what));
        }
        // A first line that is damaged says nothing of the others.
        self.fields = Some(fields);
        if self.texts.is_key_hex && !decode_hex(key) {
            return Ok(self.source.bad(line, key_column, "the key is not hexadecimal"));
        }
        if self.texts.is_value_hex && !decode_hex(value) {
            return Ok(self.source.bad(line, value_column, "the value is not hexadecimal"));
        }
        Ok(Step::Row)
    }

    fn bytes(&self) -> u64 {
        self.source.bytes
    }
}
