//! The texts of values, and the version before them.

use crate::options_file::value::parse_struct;
use ferrock_base::{Error, Result};
use std::fmt::{Display, Write as _};
use std::str::FromStr;

const VERSION: u32 = 1;

/// Writes names and values.
#[derive(Debug, Default)]
pub(super) struct Fields(String);

impl Fields {
    pub(super) fn put(&mut self, name: &str, value: impl Display) {
        // Writing into a string does not fail.
        let _ = write!(self.0, "{name}={value};");
    }

    pub(super) fn put_bytes(&mut self, name: &str, bytes: &[u8]) {
        self.put(name, hex(bytes));
    }

    pub(super) fn put_struct(&mut self, name: &str, fields: Self) {
        self.put(name, fields.braced());
    }

    pub(super) fn braced(self) -> String {
        format!("{{{}}}", self.0)
    }

    /// The text behind its version.
    pub(super) fn versioned(self) -> Vec<u8> {
        let mut bytes = VERSION.to_le_bytes().to_vec();
        bytes.extend(self.0.into_bytes());
        bytes
    }
}

/// The text behind the version.
pub(super) fn without_version<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    let Some((version, text)) = bytes.split_first_chunk::<4>().filter(|(_, text)| !text.is_empty()) else {
        return Err(Error::invalid_argument(format!("Invalid {what} string: {} bytes", bytes.len())));
    };
    match u32::from_le_bytes(*version) {
        VERSION => {
            std::str::from_utf8(text).map_err(|error| Error::invalid_argument(format!("{what}: not a text: {error}")))
        }
        other => Err(Error::not_supported(format!("{what} of version {other}; this build reads version {VERSION}"))),
    }
}

/// Calls `take` with each name and value.
pub(super) fn for_each_field<'a>(text: &'a str, mut take: impl FnMut(&'a str, &'a str) -> Result<()>) -> Result<()> {
    parse_struct(text)?.into_iter().try_for_each(|(name, value)| take(name, value))
}

pub(super) fn parse<T: FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| Error::invalid_argument(format!("{name}={value:?}: not a value of this field")))
}

/// Booleans are `true` and `false`, or 1 and 0.
pub(super) fn parse_flag(name: &str, value: &str) -> Result<bool> {
    match value {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => parse(name, value),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02X}");
    }
    text
}

pub(super) fn parse_hex(name: &str, text: &str) -> Result<Vec<u8>> {
    let wrong = || Error::invalid_argument(format!("{name}={text:?}: not hexadecimal"));
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).ok_or_else(wrong);
    if !text.len().is_multiple_of(2) {
        return Err(wrong());
    }
    text.as_bytes().chunks_exact(2).map(|pair| Ok(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// Text that was written as bytes, as a name of the tree.
pub(super) fn parse_name(name: &str, value: &str) -> Result<String> {
    Ok(ferrock_base::byte_text::from_bytes(&parse_hex(name, value)?).into_owned())
}

/// Items with ':' between, those of braces as a whole and without them.
pub(super) fn items(list: &str) -> Result<Vec<&str>> {
    let mut list = list.trim();
    // One item in braces of its own is not a list in braces.
    if let Some(inside) = list.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
        && (inside.starts_with('{') || !inside.contains('='))
    {
        list = inside;
    }
    let (mut found, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (index, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Err(Error::invalid_argument("Mismatched curly braces in a list")),
            b'}' => depth -= 1,
            b':' if depth == 0 => {
                found.push(list[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(Error::invalid_argument("Mismatched curly braces in a list"));
    }
    found.push(list[start..].trim());
    found.retain(|item| !item.is_empty());
    Ok(found)
}
