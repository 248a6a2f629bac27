//! The properties that say how a plain table is read.
//!
//! ```text
//! rocksdb.plain.table.encoding.type        u32: 0 plain, 1 prefix; absent is 0
//! rocksdb.plain.table.bloom.version        `1`, with an index in the file
//! rocksdb.plain.table.bloom.numblocks      varint32: lines of the stored filter, 0 none
//! rocksdb.fixed.key.length                 of user keys, 0 if each record says it
//! rocksdb.data.size                        end of the records
//! rocksdb.prefix.extractor.name            of the extractor of index and filter
//! ```

use super::record::{PlainEncoding, RecordForm};
use crate::properties::TableProperties;
use ferrock_base::coding::{get_varint32, put_varint32};
use ferrock_base::{Error, Result};

/// Property of the encoding of keys.
const ENCODING: &[u8] = b"rocksdb.plain.table.encoding.type";
/// Property that a stored filter comes with.
const BLOOM_VERSION: &[u8] = b"rocksdb.plain.table.bloom.version";
/// Property of the lines of a stored filter.
const BLOOM_LINES: &[u8] = b"rocksdb.plain.table.bloom.numblocks";

/// How a plain table is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainProperties {
    /// How its records are stored.
    pub form: RecordForm,
    /// Lines of the stored filter.
    pub bloom_lines: u32,
    /// Name of the prefix extractor; `None` for a table without, and for those of old releases.
    pub prefix_extractor: Option<String>,
}

impl PlainProperties {
    /// Takes them out of all properties.
    ///
    /// # Errors
    /// `Corruption` for an encoding that is no number or a length that no key has; `NotSupported` for an encoding that
    /// no release writes.
    pub fn from_table(properties: &TableProperties) -> Result<Self> {
        let encoding = match properties.user_collected.get(ENCODING) {
            None => PlainEncoding::Plain,
            Some(value) => {
                let number = value.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
                let number = number.ok_or_else(|| Error::corruption("plain table: its encoding is no number"))?;
                PlainEncoding::from_number(number)?
            }
        };
        let fixed_key_length = u32::try_from(properties.fixed_key_length)
            .map_err(|_| Error::corruption(format!("plain table: keys of {} bytes", properties.fixed_key_length)))?;
        let lines = properties.user_collected.get(BLOOM_LINES).and_then(|value| get_varint32(value));
        let name = &properties.prefix_extractor_name;
        Ok(Self {
            form: RecordForm { encoding, fixed_key_length },
            bloom_lines: lines.map_or(0, |(lines, _)| lines),
            prefix_extractor: (!matches!(name.as_str(), "" | "nullptr")).then(|| name.clone()),
        })
    }

    /// Adds them to the properties of a new table. `stored_index` is `None` without an index in the file, and else has
    /// the lines of the filter that is stored with it.
    pub fn add_to(properties: &mut TableProperties, form: RecordForm, stored_index: Option<Option<u32>>) {
        let number = form.encoding as u32;
        properties.fixed_key_length = form.fixed_key_length.into();
        properties.format_version = number.into();
        properties.user_collected.insert(ENCODING.to_vec(), number.to_le_bytes().to_vec());
        let Some(bloom) = stored_index else { return };
        properties.user_collected.insert(BLOOM_VERSION.to_vec(), b"1".to_vec());
        if let Some(lines) = bloom {
            let mut value = Vec::new();
            put_varint32(&mut value, lines);
            properties.user_collected.insert(BLOOM_LINES.to_vec(), value);
        }
    }
}
