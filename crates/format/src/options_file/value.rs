//! Encodings that option values share: escapes, structs, object ids.
//!
//! ```text
//! string   '\\' '\#' '\:' '\n' '\r' stand for the character after the backslash (line feed, carriage return)
//! list     item ':' item ...
//! struct   '{' name '=' value ';' ... '}'       a value with ';' in it has braces of its own
//! object   'nullptr' | id | id ':' parameter | '{' 'id' '=' id ';' property '=' value ';' ... '}'
//! ```
//!
//! Numbers and booleans are in [`mod@ferrock_base::option_table`].

use ferrock_base::{Error, Result};
use std::fmt;

/// The text of an absent object.
pub const NULL_OBJECT: &str = "nullptr";

/// Puts a backslash before special characters.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '#' | ':' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(character),
        }
    }
    out
}

/// Removes the backslashes. A backslash at the very end stays.
#[must_use]
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

/// Joins the items of a list.
#[must_use]
pub fn format_list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(":")
}

/// The items of a list, trimmed. Empty text is an empty list.
pub fn parse_list(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    text.split(':').map(str::trim).take(if text.is_empty() { 0 } else { usize::MAX })
}

/// Parses a struct into names and values, in order. The outer braces and the last `;` may be missing. Braces around a
/// value are taken off, so that the value of a nested struct can be given to this function again.
///
/// # Errors
/// `InvalidArgument` for a part without `=` and for braces that do not match.
pub fn parse_struct(text: &str) -> Result<Vec<(&str, &str)>> {
    let mut rest = without_braces(text.trim())?.trim();
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (name, tail) = rest
            .split_once('=')
            .filter(|(name, _)| !name.contains([';', '{', '}']) && !name.trim().is_empty())
            .ok_or_else(|| {
                Error::invalid_argument(format!(
                    "Mismatched key value pair, '=' expected: {rest:?} is not of the form name=value;"
                ))
            })?;
        let tail = tail.trim_start();
        let (value, after) = if tail.starts_with('{') {
            let end = matching_brace(tail)?;
            let after = tail[end + 1..].trim_start();
            if !(after.is_empty() || after.starts_with(';')) {
                return Err(Error::invalid_argument(format!("text after the closing brace in {tail:?}")));
            }
            (tail[1..end].trim(), after.strip_prefix(';').unwrap_or(""))
        } else {
            let (value, after) = tail.split_once(';').unwrap_or((tail, ""));
            (value.trim(), after)
        };
        fields.push((name.trim(), value));
        rest = after.trim();
    }
    Ok(fields)
}

/// Formats a struct.
#[must_use]
pub fn format_struct<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::from("{");
    for (name, value) in fields {
        let needs_braces = value.contains(';') && without_braces(value).is_ok_and(|inside| inside == value)
            || value.starts_with('{') && matching_brace(value).is_err();
        let (open, close) = if needs_braces { ("{", "}") } else { ("", "") };
        out.extend([name, "=", open, value, close, ";"]);
    }
    out.push('}');
    out
}

/// Takes off braces that enclose the whole text.
fn without_braces(text: &str) -> Result<&str> {
    if !text.starts_with('{') {
        return Ok(text);
    }
    let end = matching_brace(text)?;
    Ok(if end + 1 == text.len() { &text[1..end] } else { text })
}

/// Where the brace closes that `text` starts with.
fn matching_brace(text: &str) -> Result<usize> {
    let mut depth = 0usize;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Ok(index),
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Err(Error::invalid_argument(format!("Mismatched curly braces for nested options: {text:?} has no closing brace")))
}

/// A pluggable object: merge operator, filter policy, table factory and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectId {
    /// Its id, with whatever parameters are part of it (`bloomfilter:10:false`).
    pub id: String,
    /// Its properties, unescaped, in order.
    pub properties: Vec<(String, String)>,
}

impl ObjectId {
    /// An object without properties.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), properties: Vec::new() }
    }

    /// Adds a property.
    #[must_use]
    pub fn with_property(mut self, name: &str, value: &str) -> Self {
        self.properties.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Reads an object; `None` for `nullptr` and for nothing at all.
    ///
    /// # Errors
    /// `InvalidArgument` when the text has properties but no id.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        let text = text.trim();
        if text.is_empty() || text == NULL_OBJECT {
            return Ok(None);
        }
        if !text.starts_with('{') && !text.contains('=') {
            return Ok(Some(Self::new(text)));
        }
        let fields = parse_struct(text)?;
        let Some(&(_, id)) = fields.iter().find(|(name, _)| *name == "id") else {
            return Err(Error::invalid_argument(format!("{text:?} names no object id")));
        };
        if id.is_empty() || id == NULL_OBJECT {
            return Ok(None);
        }
        let properties = fields.iter().filter(|(name, _)| *name != "id");
        let properties = properties.map(|&(name, value)| (name.to_owned(), unescape(value))).collect();
        Ok(Some(Self { id: id.to_owned(), properties }))
    }

    /// The part of the id before the first `:`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.id.split_once(':').map_or(&self.id, |(name, _)| name)
    }

    /// The parts of the id after the first `:`.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.id.split(':').skip(1)
    }

    /// The value of a property.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.properties.is_empty() {
            return f.write_str(&self.id);
        }
        let escaped: Vec<_> = self.properties.iter().map(|(name, value)| (name.as_str(), escape(value))).collect();
        let fields = escaped.iter().map(|(name, value)| (*name, value.as_str()));
        f.write_str(&format_struct([("id", self.id.as_str())].into_iter().chain(fields)))
    }
}
