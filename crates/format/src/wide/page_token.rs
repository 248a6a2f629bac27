//! Page tokens: the position at which a query continues.
//!
//! ```text
//! 01 | fixed64 query | varint32 range | lps key | fixed32 checksum     the checksum: masked CRC-32C of all before it
//! ```
//!
//! `query` is a hash of the query, by which a token of another table or another query is recognised; `key` is the key
//! of the last row shown, without the common prefix of the query's keys. A token holds no secret and proves nothing: a
//! user without access to a row must not be given a query that shows it.

use ferrock_base::checksum::{crc32c, mask_crc};
use ferrock_base::coding::{Cursor, put_fixed32, put_fixed64, put_length_prefixed, put_varint32, varint_len};
use ferrock_base::{Error, Result};

const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 4;

/// The position at which a query continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageToken {
    /// A hash of table and query.
    pub query: u64,
    /// The range of the last row.
    pub range: u32,
    /// The key of the last row, without the common prefix of the query's keys.
    pub key: Vec<u8>,
}

impl PageToken {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.key.len() + 24);
        out.push(VERSION);
        put_fixed64(&mut out, self.query);
        put_varint32(&mut out, self.range);
        put_length_prefixed(&mut out, &self.key);
        let checksum = mask_crc(crc32c(&out));
        put_fixed32(&mut out, checksum);
        out
    }

    /// A token from its bytes.
    ///
    /// # Errors
    /// `Invalid argument`: tokens come from outside.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let wrong = |what: &str| Error::invalid_argument(format!("page token: {what}"));
        match bytes.first() {
            Some(&VERSION) => {}
            Some(version) => {
                return Err(wrong(&format!("form {version}, known is {VERSION}; begin at the first page")));
            }
            None => return Err(wrong("it is empty; begin at the first page without one")),
        }
        let body_bytes = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or_else(|| wrong("it is cut short"))?;
        let (body, checksum) = bytes.split_at(body_bytes);
        if mask_crc(crc32c(body)).to_le_bytes() != checksum {
            return Err(wrong("the checksum is not that of its bytes: it is damaged or cut short"));
        }
        Self::decode_body(body).ok_or_else(|| wrong("its fields do not fill it"))
    }

    fn decode_body(body: &[u8]) -> Option<Self> {
        let mut input = Cursor::new(body);
        input.u8("form").ok()?;
        let query = input.fixed64("query").ok()?;
        let before = input.position();
        let range = input.varint32("range").ok()?;
        let is_short = input.position() - before == varint_len(u64::from(range));
        let before = input.position();
        let key = input.length_prefixed("key").ok()?;
        let is_short = is_short && input.position() - before == varint_len(key.len() as u64) + key.len();
        (is_short && input.is_empty()).then(|| Self { query, range, key: key.to_vec() })
    }
}
