//! Rows that are lines: JSON objects, and what `ldb dump` prints.

use super::source::{Rows, Source, Step, Texts, decode_hex};
use crate::failure::Result;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

const DELIMITER: &[u8] = b" ==> ";
/// The last line of a dump, with its number of keys.
const END_OF_DUMP: &[u8] = b"Keys in range: ";

/// What is to be known of JSON lines.
#[derive(Clone, Debug)]
pub(super) struct JsonOptions {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) texts: Texts,
}

/// A JSON object in each line.
pub(super) struct JsonRows {
    source: Source,
    options: JsonOptions,
    line: Vec<u8>,
}

impl JsonRows {
    pub(super) fn new(source: Source, options: &JsonOptions) -> Self {
        Self { source, options: options.clone(), line: Vec::new() }
    }
}

impl Rows for JsonRows {
    fn next(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<Step> {
        let mut number = self.source.line;
        loop {
            if !self.source.read_line(&mut self.line)? {
                return Ok(Step::End);
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
            number = self.source.line;
        }
        // Values stay as they are written: a number of more digits than a float has is a key of its own.
        let object: BTreeMap<String, Box<RawValue>> = match serde_json::from_slice(&self.line) {
            Ok(object) => object,
            Err(error) => {
                let column = error.column().max(1) as u64;
                return Ok(self.source.bad(number, column, format!("no JSON object: {error}")));
            }
        };
        let texts = self.options.texts;
        for (name, is_hex, out) in
            [(&self.options.key, texts.is_key_hex, key), (&self.options.value, texts.is_value_hex, value)]
        {
            *out = match object.get(name).map(|raw| raw.get()) {
                None | Some("null") => {
                    return Ok(self.source.bad(number, 1, format!("the object has no {name:?}, or it is null")));
                }
                Some(text) if text.starts_with('"') => match serde_json::from_str::<String>(text) {
                    Ok(text) => text.into_bytes(),
                    Err(error) => return Ok(self.source.bad(number, 1, format!("{name:?}: {error}"))),
                },
                Some(other) => other.as_bytes().to_vec(),
            };
            if is_hex && !decode_hex(out) {
                return Ok(self.source.bad(number, 1, format!("{name:?} is not hexadecimal")));
            }
        }
        Ok(Step::Row)
    }

    fn bytes(&self) -> u64 {
        self.source.bytes
    }
}

/// What `ldb dump` prints. A key with the delimiter in it, or a line end in a key or a value, needs `--hex`.
pub(super) struct DumpRows {
    source: Source,
    texts: Texts,
    line: Vec<u8>,
    rows: u64,
}

impl DumpRows {
    pub(super) fn new(source: Source, texts: Texts) -> Self {
        Self { source, texts, line: Vec::new(), rows: 0 }
    }
}

impl Rows for DumpRows {
    fn next(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<Step> {
        loop {
            let number = self.source.line;
            if !self.source.read_line(&mut self.line)? {
                // What comes through a pipe may have been cut.
                return match self.rows {
                    0 => Ok(Step::End),
                    _ => Err(self.source.fatal(number, 1, "the dump ends without its last line, \"Keys in range: N\"")),
                };
            }
            let line = &self.line[..];
            if let Some(at) = line.windows(DELIMITER.len()).position(|window| window == DELIMITER) {
                self.rows += 1;
                key.clear();
                key.extend_from_slice(&line[..at]);
                value.clear();
                value.extend_from_slice(&line[at + DELIMITER.len()..]);
                if self.texts.is_key_hex && !decode_hex(key) {
                    return Ok(self.source.bad(number, 1, "the key is not hexadecimal"));
                }
                if self.texts.is_value_hex && !decode_hex(value) {
                    let column = (at + DELIMITER.len() + 1) as u64;
                    return Ok(self.source.bad(number, column, "the value is not hexadecimal"));
                }
                return Ok(Step::Row);
            }
            if let Some(count) = line.strip_prefix(END_OF_DUMP) {
                let told = std::str::from_utf8(count).ok().and_then(|text| text.trim().parse::<u64>().ok());
                let rows = std::mem::take(&mut self.rows);
                if told == Some(rows) {
                    continue;
                }
                let what = format!("the dump has {rows} rows, and says that it has {}", count.escape_ascii());
                return Ok(self.source.bad(number, 1, what));
            }
            // What RocksDB's ldb may print among the rows.
            if line.is_empty() || line.starts_with(b"Created bg thread 0x") {
                continue;
            }
            return Ok(self.source.bad(number, 1, "the line has no \" ==> \" between a key and a value"));
        }
    }

    fn bytes(&self) -> u64 {
        self.source.bytes
    }
}
