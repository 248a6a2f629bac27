//! An iterator over a plain table.
//!
//! Forward it reads record after record. Backward it reads the records from the last place to begin at up to where it
//! stands, keeps them (`Run`) and goes through them from their end.

use super::bytes::PlainPin;
use super::table::PlainTable;
use ferrock_base::{Error, InternalIterator, Result};
use ferrock_format::plain_table::RecordCursor;
use std::ops::Range;
use std::sync::Arc;

/// Moves over the entries of a plain table, in both directions.
#[derive(Debug)]
pub struct PlainTableIter {
    table: Arc<PlainTable>,
    /// Stands on the current record, or on the last one of the run.
    cursor: RecordCursor,
    is_valid: bool,
    run: Run,
    /// The current record of the run; `None`: the cursor's.
    in_run: Option<usize>,
    error: Option<Error>,
}

/// Records that were read to go back over them.
#[derive(Debug, Default)]
struct Run {
    /// Internal keys, one behind the other.
    keys: Vec<u8>,
    records: Vec<RunRecord>,
}

#[derive(Clone, Debug)]
struct RunRecord {
    start: usize,
    key: Range<usize>,
    value: Range<usize>,
}

impl PlainTable {
    pub(crate) fn iter(self: &Arc<Self>) -> PlainTableIter {
        PlainTableIter::new(Arc::clone(self))
    }

    pub(crate) fn approximate_offset_of(self: &Arc<Self>, internal_key: &[u8]) -> Result<u64> {
        let mut iter = self.iter();
        iter.seek(internal_key);
        iter.status()?;
        Ok(iter.offset() as u64)
    }

    pub(crate) fn approximate_size_between(self: &Arc<Self>, begin: &[u8], end: &[u8]) -> Result<u64> {
        Ok(self.approximate_offset_of(end)?.saturating_sub(self.approximate_offset_of(begin)?))
    }
}

impl PlainTableIter {
    pub(super) fn new(table: Arc<PlainTable>) -> Self {
        let cursor = RecordCursor::new(table.form);
        Self { table, cursor, is_valid: false, run: Run::default(), in_run: None, error: None }
    }

    fn record(&self) -> Option<&RunRecord> {
        self.run.records.get(self.in_run?)
    }

    fn value_place(&self) -> Range<usize> {
        match self.record() {
            _ if !self.is_valid => 0..0,
            Some(record) => record.value.clone(),
            None => self.cursor.value(),
        }
    }

    pub(crate) fn value_pin(&self) -> Option<PlainPin> {
        self.is_valid.then(|| PlainPin { bytes: Arc::clone(&self.table.bytes), place: self.value_place() })
    }

    /// Where the current record begins; the end of all records when not positioned.
    pub(super) fn offset(&self) -> usize {
        match self.record() {
            _ if !self.is_valid => self.table.data_end,
            Some(record) => record.start,
            None => self.cursor.start(),
        }
    }

    /// Begins a seek.
    fn reset(&mut self) {
        (self.is_valid, self.in_run, self.error) = (false, None, None);
    }

    fn settle(&mut self, outcome: Result<bool>) {
        match outcome {
            Ok(is_valid) => self.is_valid = is_valid,
            Err(error) => {
                self.is_valid = false;
                self.error = Some(error.in_file(self.table.file_path()));
            }
        }
    }

    fn read_from(&mut self, target: &[u8]) -> Result<bool> {
        self.cursor.jump(self.table.start_for(target)?);
        while self.cursor.read(self.table.data())? {
            if self.table.comparator.compare(self.cursor.key(), target).is_ge() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to the record that ends at `end`.
    fn read_until(&mut self, end: usize) -> Result<bool> {
        self.in_run = None;
        if end == 0 {
            return Ok(false);
        }
        let (table, run) = (&*self.table, &mut self.run);
        run.keys.clear();
        run.records.clear();
        self.cursor.jump(table.starts()?.before(end)?);
        while self.cursor.read(table.data())? {
            let key_start = run.keys.len();
            run.keys.extend_from_slice(self.cursor.key());
            let key = key_start..run.keys.len();
            run.records.push(RunRecord { start: self.cursor.start(), key, value: self.cursor.value() });
            if self.cursor.end() >= end {
                break;
            }
        }
        if self.cursor.end() != end {
            return Err(Error::corruption("the index names no record of those before it").at_offset(end as u64));
        }
        self.in_run = run.records.len().checked_sub(1);
        Ok(self.in_run.is_some())
    }
}

impl InternalIterator for PlainTableIter {
    #[inline]
    fn valid(&self) -> bool {
        self.is_valid
    }

    #[inline]
    fn key(&self) -> &[u8] {
        match self.record() {
            _ if !self.is_valid => &[],
            Some(record) => self.run.keys.get(record.key.clone()).unwrap_or(&[]),
            None => self.cursor.key(),
        }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.table.data().get(self.value_place()).unwrap_or(&[])
    }

    fn seek_to_first(&mut self) {
        self.reset();
        self.cursor.jump(0);
        let outcome = self.cursor.read(self.table.data());
        self.settle(outcome);
    }

    fn seek_to_last(&mut self) {
        self.reset();
        let outcome = self.read_until(self.table.data_end);
        self.settle(outcome);
    }

    fn seek(&mut self, target: &[u8]) {
        self.reset();
        let outcome = self.read_from(target);
        self.settle(outcome);
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.seek(target);
        if self.error.is_some() {
            return;
        }
        if !self.is_valid {
            self.seek_to_last();
        } else if self.table.comparator.compare(self.key(), target).is_gt() {
            self.prev();
        }
    }

    #[inline]
    fn next(&mut self) {
        if !self.is_valid {
            return;
        }
        if let Some(position) = self.in_run {
            if position + 1 < self.run.records.len() {
                self.in_run = Some(position + 1);
                return;
            }
            // The cursor stands on the last record of the run.
            self.in_run = None;
        }
        let outcome = self.cursor.read(self.table.data());
        self.settle(outcome);
    }

    fn prev(&mut self) {
        if !self.is_valid {
            return;
        }
        if let Some(before) = self.in_run.and_then(|position| position.checked_sub(1)) {
            self.in_run = Some(before);
            return;
        }
        let outcome = self.read_until(self.offset());
        self.settle(outcome);
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}
