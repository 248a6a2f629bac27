//! Bytes of a file or of standard input, with lines and columns.

use crate::failure::{Failure, Result};
use ferrock_vfs::{FileSystem, SequentialFile, SequentialOptions};
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const BUFFER_BYTES: usize = 128 << 10;

/// How keys and values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) is_key_hex: bool,
    pub(super) is_value_hex: bool,
}

/// What a reader of rows came to.
#[derive(Debug)]
pub(super) enum Step {
    Row,
    Bad(BadLine),
    End,
}

/// A line that is damaged. The reader stands behind it.
#[derive(Debug)]
pub(super) struct BadLine {
    file: String,
    line: u64,
    /// In bytes, from 1 on.
    column: u64,
    what: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}, column {}: {}", self.file, self.line, self.column, self.what)
    }
}

/// Rows, one after the other.
pub(super) trait Rows {
    /// Puts the next row where it is told to.
    fn next(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<Step>;
    /// Bytes that were read.
    fn bytes(&self) -> u64;
}

enum Origin {
    File(Box<dyn SequentialFile>),
    Input(std::io::Stdin),
}

/// Where rows come from.
pub(super) struct Source {
    name: String,
    origin: Origin,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    /// Of the byte that is read next, both from 1 on.
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) bytes: u64,
    longest: usize,
}

impl Source {
    /// `longest` is how many bytes a row may have.
    pub(super) fn open(files: &Arc<dyn FileSystem>, path: &Path, longest: usize) -> Result<Self> {
        let is_input = path.as_os_str() == "-";
        let origin = match is_input {
            true => Origin::Input(std::io::stdin()),
            false => Origin::File(files.open_sequential(path, &SequentialOptions::default())?),
        };
        let name = if is_input { "standard input".to_owned() } else { path.display().to_string() };
        let buffer = vec![0; BUFFER_BYTES];
        let mut source = Self { name, origin, buffer, at: 0, end: 0, line: 1, column: 1, bytes: 0, longest };
        // A mark at the begin that says that the text is UTF-8.
        if source.fill()? && source.buffer[..source.end].starts_with(b"\xEF\xBB\xBF") {
            source.at = 3;
            source.bytes = 3;
        }
        Ok(source)
    }

    fn fill(&mut self) -> Result<bool> {
        self.at = 0;
        self.end = match &mut self.origin {
            Origin::File(file) => file.read(&mut self.buffer)?,
            Origin::Input(input) => loop {
                match input.lock().read(&mut self.buffer) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    read => break read.map_err(|error| Failure::Io("standard input", error))?,
                }
            },
        };
        Ok(self.end > 0)
    }

    /// The next byte.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<Option<u8>> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.at += 1;
            self.bytes += 1;
            self.column += 1;
            if byte == b'\n' {
                self.line += 1;
                self.column = 1;
            }
        }
        Ok(byte)
    }

    /// The next byte, which stays the next one.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<u8>> {
        if self.at == self.end && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// Passes over the rest of a line.
    pub(super) fn skip_line(&mut self) -> Result<()> {
        while self.byte()?.is_some_and(|byte| byte != b'\n') {}
        Ok(())
    }

    /// The next line without its end; false behind the last one.
    pub(super) fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        line.clear();
        if self.peek()?.is_none() {
            return Ok(false);
        }
        while self.at < self.end || self.fill()? {
            let rest = &self.buffer[self.at..self.end];
            let found = rest.iter().position(|byte| *byte == b'\n');
            let taken = found.map_or(rest.len(), |end| end + 1);
            line.extend_from_slice(&rest[..found.unwrap_or(rest.len())]);
            self.at += taken;
            self.bytes += taken as u64;
            self.column += taken as u64;
            self.check_length(line.len())?;
            if found.is_some() {
                self.line += 1;
                self.column = 1;
                break;
            }
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(true)
    }

    /// Refuses a row that memory has no place for: also what a quote begins that nothing ends.
    #[inline]
    pub(super) fn check_length(&self, bytes: usize) -> Result<()> {
        if bytes <= self.longest {
            return Ok(());
        }
        Err(Failure::Data(format!(
            "{}, line {}: a row, or a field in quotes, has more than {} bytes, which is what --memory allows for one: \
             raise it",
            self.name, self.line, self.longest
        )))
    }

    pub(super) fn bad(&self, line: u64, column: u64, what: impl Into<String>) -> Step {
        Step::Bad(BadLine { file: self.name.clone(), line, column, what: what.into() })
    }

    /// An error that no line can be passed over for.
    pub(super) fn fatal(&self, line: u64, column: u64, what: impl Into<String>) -> Failure {
        let bad = BadLine { file: self.name.clone(), line, column, what: what.into() };
        Failure::Data(format!("{bad}. Nothing was imported"))
    }
}

/// Puts hexadecimal digits in place as bytes; false when they are none.
pub(super) fn decode_hex(text: &mut Vec<u8>) -> bool {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    let decoded = std::str::from_utf8(digits).ok().and_then(crate::hex::decode);
    decoded.map(|bytes| *text = bytes).is_some()
}
