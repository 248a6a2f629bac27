//! Reads records one after the other and puts their keys together.

use super::record::{Record, RecordForm, bad};
use crate::block::KeyBuffer;
use ferrock_base::Result;
use ferrock_base::internal_key::TRAILER_SIZE;
use std::ops::Range;

/// A place among records. The bytes of the records are an argument of every call: always the same ones.
#[derive(Clone, Debug, Default)]
pub struct RecordCursor {
    form: RecordForm,
    /// The internal key; empty before the first record was read.
    key: KeyBuffer,
    prefix_length: Option<usize>,
    start: usize,
    is_full: bool,
    value: Range<usize>,
}

impl RecordCursor {
    /// A cursor that stands nowhere: the next record is the first one.
    #[must_use]
    pub fn new(form: RecordForm) -> Self {
        Self { form, ..Self::default() }
    }

    /// Makes the record at `start` the next one. It must be one whose key is stored in full.
    pub fn jump(&mut self, start: usize) {
        self.key.clear();
        self.prefix_length = None;
        self.value = start..start;
    }

    /// Reads the next record of `data`; false at its end, where the cursor stays as it is.
    ///
    /// # Errors
    /// `Corruption` as of [`RecordForm::decode`], and for a key that takes more from the one before it than that has.
    #[inline]
    pub fn read(&mut self, data: &[u8]) -> Result<bool> {
        let start = self.value.end;
        if start >= data.len() {
            return if start == data.len() { Ok(false) } else { Err(bad("behind the last record", start)) };
        }
        let record = self.form.decode(data, start, &mut self.prefix_length)?;
        self.take(data, &record)?;
        Ok(true)
    }

    #[inline]
    fn take(&mut self, data: &[u8], record: &Record) -> Result<()> {
        let known = self.key.as_slice().len().saturating_sub(TRAILER_SIZE);
        if record.shared > known {
            return Err(bad("the key takes more from the one before it than that has", record.start));
        }
        if record.has_trailer {
            self.key.replace_tail(record.shared, &data[record.key.start..record.key.end + TRAILER_SIZE]);
        } else {
            self.key.replace_tail(record.shared, &data[record.key.clone()]);
            self.key.replace_tail(record.shared + record.key.len(), &record.trailer.to_le_bytes());
        }
        (self.start, self.is_full, self.value) = (record.start, record.is_full, record.value.clone());
        Ok(())
    }

    /// The internal key of the record that was read.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.key.as_slice()
    }

    /// Where its value lies.
    #[inline]
    #[must_use]
    pub fn value(&self) -> Range<usize> {
        self.value.clone()
    }

    /// Where the record begins.
    #[inline]
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Where the next record begins.
    #[inline]
    #[must_use]
    pub fn end(&self) -> usize {
        self.value.end
    }

    /// True if the key of the record is stored in full: a place to jump to.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }
}
