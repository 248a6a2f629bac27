//! Rows in any order become runs.
//!
//! Rows are gathered one behind the other, and when their share of memory is used up, their places are sorted and the
//! rows written as a run. Of rows with the same key only the last one is.

use super::memory::{Held, Memory};
use super::runs::{Run, RunWriter};
use super::work::WorkDirectory;
use crate::failure::{Failure, Result};
use ferrock::Comparator;

/// A row: where it begins, and how long its parts are.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    key_bytes: u32,
    value_bytes: u32,
}

/// Gathers and sorts rows.
pub(super) struct Sorter<'a> {
    work: &'a WorkDirectory,
    memory: &'a Memory,
    order: Comparator,
    rows: Vec<u8>,
    places: Vec<Place>,
    runs: Vec<Run>,
    duplicates: u64,
    _held: Held<'a>,
}

impl<'a> Sorter<'a> {
    pub(super) fn new(work: &'a WorkDirectory, memory: &'a Memory, order: Comparator) -> Self {
        let rows = Vec::with_capacity(memory.eighths(3));
        let places: Vec<Place> = Vec::with_capacity(memory.eighths(1) / size_of::<Place>());
        let held = memory.hold(rows.capacity() + places.capacity() * size_of::<Place>());
        Self { work, memory, order, rows, places, runs: Vec::new(), duplicates: 0, _held: held }
    }

    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let bytes = key.len() + value.len();
        if bytes > self.memory.longest_row_bytes() {
            return Err(Failure::Data(format!(
                "a row has {bytes} bytes, and --memory allows {} for one: raise it. Nothing was imported",
                self.memory.longest_row_bytes()
            )));
        }
        if self.rows.len() + bytes > self.rows.capacity() || self.places.len() == self.places.capacity() {
            self.write_run()?;
        }
        let (key_bytes, value_bytes) = (length(key)?, length(value)?);
        self.places.push(Place { at: self.rows.len(), key_bytes, value_bytes });
        self.rows.extend_from_slice(key);
        self.rows.extend_from_slice(value);
        Ok(())
    }

    /// The runs, oldest first, and how many rows had a key that came again in the same run.
    pub(super) fn finish(mut self) -> Result<(Vec<Run>, u64)> {
        self.write_run()?;
        Ok((std::mem::take(&mut self.runs), self.duplicates))
    }

    fn write_run(&mut self) -> Result<()> {
        if self.places.is_empty() {
            return Ok(());
        }
        let Self { rows, places, order, .. } = self;
        let key = |place: &Place| &rows[place.at..][..place.key_bytes as usize];
        // Of equal keys the later one lies behind the earlier one.
        // Where both lie at the same place the earlier one is empty, key and value.
        let place = |place: &Place| (place.at, place.value_bytes);
        places.sort_unstable_by(|a, b| order.compare(key(a), key(b)).then(place(a).cmp(&place(b))));
        let mut writer = RunWriter::create(self.work, self.memory)?;
        for (index, place) in places.iter().enumerate() {
            if places.get(index + 1).is_some_and(|next| order.compare(key(place), key(next)).is_eq()) {
                self.duplicates += 1;
                continue;
            }
            let value = &rows[place.at + place.key_bytes as usize..][..place.value_bytes as usize];
            writer.add(key(place), value)?;
        }
        self.runs.push(writer.finish()?);
        rows.clear();
        places.clear();
        Ok(())
    }
}

fn length(part: &[u8]) -> Result<u32> {
    u32::try_from(part.len()).map_err(|_| Failure::Data("a key or a value has 4 GiB or more".to_owned()))
}
