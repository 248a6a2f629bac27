//! Merge operators: how operands written by `merge` combine with the existing value.
//!
//! RocksDB's built-in operators are here under their names, because OPTIONS files
//! and table properties refer to them by name.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Combines merge operands. Results must depend only on the arguments, since reads, flushes and compactions fold the
/// same operands at different times.
pub trait MergeOperator: Send + Sync {
    /// Stored in OPTIONS and table properties.
    fn name(&self) -> &str;

    /// The form in an OPTIONS file, with the properties of the operator.
    fn options_id(&self) -> String {
        self.name().to_owned()
    }

    /// Folds `operands` (oldest first) over `existing` (`None` when there is no value) into `out`, which is empty.
    /// `false` means that the operands cannot be combined: the read fails with a merge error.
    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool;

    /// Folds two or more operands (oldest first) into one operand. `false` keeps them as they are.
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let _ = (key, operands, out);
        false
    }

    /// True if [`partial_merge`](Self::partial_merge) is also called with single operands.
    fn allow_single_operand(&self) -> bool {
        false
    }
}

impl fmt::Debug for dyn MergeOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.options_id())
    }
}

/// `UInt64AddOperator`: little-endian u64 addition modulo 2^64. A value or operand of another length counts as 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct UInt64Add;

fn read_u64(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl MergeOperator for UInt64Add {
    fn name(&self) -> &str {
        "UInt64AddOperator"
    }
    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let sum =
            operands.iter().fold(existing.map_or(0, read_u64), |sum, operand| sum.wrapping_add(read_u64(operand)));
        out.extend_from_slice(&sum.to_le_bytes());
        true
    }
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        self.full_merge(key, None, operands, out)
    }
}

/// `StringAppendOperator`: values joined by a delimiter.
#[derive(Clone, Debug)]
pub struct StringAppend {
    delimiter: Vec<u8>,
}

impl Default for StringAppend {
    fn default() -> Self {
        Self { delimiter: b",".to_vec() }
    }
}

impl StringAppend {
    /// Joins with `delimiter`, which may be empty.
    #[must_use]
    pub fn new(delimiter: impl Into<Vec<u8>>) -> Self {
        Self { delimiter: delimiter.into() }
    }
}

impl MergeOperator for StringAppend {
    fn name(&self) -> &str {
        "StringAppendOperator"
    }
    fn options_id(&self) -> String {
        format!("{{id=StringAppendOperator;delimiter={};}}", String::from_utf8_lossy(&self.delimiter))
    }
    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        for (index, part) in existing.iter().chain(operands).enumerate() {
            if index > 0 {
                out.extend_from_slice(&self.delimiter);
            }
            out.extend_from_slice(part);
        }
        true
    }
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        self.full_merge(key, None, operands, out)
    }
}

/// `MaxOperator`: the bytewise largest of all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Max;

impl MergeOperator for Max {
    fn name(&self) -> &str {
        "MaxOperator"
    }
    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        if let Some(largest) = existing.iter().chain(operands).max() {
            out.extend_from_slice(largest);
        }
        true
    }
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        self.full_merge(key, None, operands, out)
    }
}

/// `PutOperator`: the newest operand wins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Put;

impl MergeOperator for Put {
    fn name(&self) -> &str {
        "PutOperator"
    }
    fn full_merge(&self, _key: &[u8], _existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let Some(newest) = operands.last() else { return false };
        out.extend_from_slice(newest);
        true
    }
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        self.full_merge(key, None, operands, out)
    }
}

/// The built-in operator that an OPTIONS file or a command line names: an id or alias, with properties if it has any
/// (`stringappend`, `{id=StringAppendOperator;delimiter=|;}`). `nullptr` and the empty string are no operator.
///
/// # Errors
/// `NotSupported` for an operator that is not built in: open with an implementation of that name.
pub fn built_in(text: &str) -> Result<Option<Arc<dyn MergeOperator>>> {
    let text = text.trim();
    // A text nested in another one arrives here without its braces.
    let body = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let (id, properties) = match body.or_else(|| text.starts_with("id=").then_some(text)) {
        None => (text, None),
        Some(body) => {
            let (head, rest) = body.split_once(';').unwrap_or((body, ""));
            (head.trim().strip_prefix("id=").unwrap_or(head.trim()), Some(rest))
        }
    };
    // The delimiter may itself be `;`, so it is everything up to the last one.
    let delimiter = properties.and_then(|rest| rest.trim_start().strip_prefix("delimiter="));
    let delimiter = delimiter.map(|value| value.strip_suffix(';').unwrap_or(value));
    Ok(match id {
        "" | "nullptr" => None,
        "UInt64AddOperator" | "uint64add" => Some(Arc::new(UInt64Add)),
        "StringAppendOperator" | "stringappend" | "StringAppendTESTOperator" | "stringappendtest" => {
            Some(Arc::new(delimiter.map_or_else(StringAppend::default, |text| StringAppend::new(text.as_bytes()))))
        }
        "MaxOperator" | "max" => Some(Arc::new(Max)),
        "PutOperator" | "put" | "put_v1" => Some(Arc::new(Put)),
        _ => {
            return Err(Error::not_supported(format!(
                "merge operator {id} is not built in: open with one of that name"
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(operator: &str, existing: Option<&[u8]>, operands: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(built_in(operator).unwrap().unwrap().full_merge(b"k", existing, operands, &mut out));
        out
    }

    #[test]
    fn built_in_operators() {
        assert_eq!(fold("uint64add", Some(&5u64.to_le_bytes()), &[&7u64.to_le_bytes(), b"odd"]), 12u64.to_le_bytes());
        assert_eq!(fold("stringappend", Some(b"p"), &[b"a", b"b"]), b"p,a,b");
        assert_eq!(fold("stringappend", Some(b""), &[b"x"]), b",x");
        assert_eq!(fold("stringappend", None, &[b"x", b""]), b"x,");
        assert_eq!(fold("{id=StringAppendOperator;delimiter=|;}", None, &[b"x", b"y"]), b"x|y");
        assert_eq!(fold("id=StringAppendOperator;delimiter=|;", None, &[b"x", b"y"]), b"x|y");
        assert_eq!(fold("{id=StringAppendOperator;delimiter=;;}", None, &[b"x", b"y"]), b"x;y");
        assert_eq!(fold("max", Some(b"b"), &[b"a", b"c", b"b"]), b"c");
        assert_eq!(fold("put", Some(b"b"), &[b"a", b"c"]), b"c");
        assert!(built_in("nullptr").unwrap().is_none());
        assert!(built_in("sortlist").is_err());
    }

    #[test]
    fn an_operator_survives_its_options_text() {
        for id in ["UInt64AddOperator", "{id=StringAppendOperator;delimiter=--;}", "MaxOperator", "PutOperator"] {
            assert_eq!(built_in(id).unwrap().unwrap().options_id(), id);
        }
    }
}
