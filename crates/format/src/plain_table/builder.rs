//! Writes records.

use super::record::{FULL, INLINE_SIZE, PREFIX, PlainEncoding, RecordForm, SUFFIX, ZERO_TAIL, ZERO_TRAILER};
use ferrock_base::coding::put_varint32;
use ferrock_base::internal_key::{TRAILER_SIZE, trailer, user_key};
use ferrock_base::{Error, Result};

/// Encodes records in the order of their keys.
#[derive(Clone, Debug)]
pub struct RecordWriter {
    form: RecordForm,
    /// A run ends after so many keys.
    sparseness: usize,
    prefix: Vec<u8>,
    keys_of_run: usize,
}

impl RecordWriter {
    /// A writer whose runs end after `sparseness` keys, 0 as 1.
    #[must_use]
    pub fn new(form: RecordForm, sparseness: usize) -> Self {
        Self { form, sparseness: sparseness.max(1), prefix: Vec::new(), keys_of_run: 0 }
    }

    /// How the records are stored.
    #[must_use]
    pub fn form(&self) -> RecordForm {
        self.form
    }

    /// Appends a record to `out`. `prefix` is the first bytes of the user key; plain encoding does not look at it.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that has not the fixed length of plain encoding, and for a key or a value of 4 GiB.
    pub fn append(&mut self, out: &mut Vec<u8>, internal_key: &[u8], value: &[u8], prefix: &[u8]) -> Result<()> {
        let key = user_key(internal_key);
        let too_long = || Error::invalid_argument("plain table: a key or a value of 4 GiB");
        let length = u32::try_from(key.len()).map_err(|_| too_long())?;
        let value_length = u32::try_from(value.len()).map_err(|_| too_long())?;
        let fixed = self.form.fixed_key_length;
        let mut shared = 0;
        match self.form.encoding {
            PlainEncoding::Plain if fixed == length && fixed != 0 => {}
            PlainEncoding::Plain if fixed != 0 => {
                let message = format!("plain table: a key of {length} bytes where user_key_len is {fixed}");
                return Err(Error::invalid_argument(message));
            }
            PlainEncoding::Plain => put_varint32(out, length),
            PlainEncoding::Prefix => {
                if self.keys_of_run == 0 || self.keys_of_run.is_multiple_of(self.sparseness) || self.prefix != prefix {
                    self.keys_of_run = 1;
                    self.prefix.clear();
                    self.prefix.extend_from_slice(prefix);
                    put_size(out, FULL, length);
                } else {
                    self.keys_of_run += 1;
                    shared = prefix.len().min(key.len());
                    if self.keys_of_run == 2 {
                        put_size(out, PREFIX, shared as u32);
                    }
                    put_size(out, SUFFIX, length - shared as u32);
                }
            }
        }
        if trailer(internal_key) == ZERO_TRAILER {
            out.extend_from_slice(&internal_key[shared..internal_key.len() - TRAILER_SIZE]);
            out.push(ZERO_TAIL);
        } else {
            out.extend_from_slice(&internal_key[shared..]);
        }
        put_varint32(out, value_length);
        out.extend_from_slice(value);
        Ok(())
    }
}

fn put_size(out: &mut Vec<u8>, flag: u8, length: u32) {
    if length < INLINE_SIZE {
        out.push(flag << 6 | length as u8);
    } else {
        out.push(flag << 6 | INLINE_SIZE as u8);
        put_varint32(out, length - INLINE_SIZE);
    }
}
