//! Files of sorted rows, and many of them as one order.
//!
//! ```text
//! row = crc32c of the rest: 4 bytes | key bytes: 4 | value bytes: 4 | key | value        little-endian
//! ```
//!
//! Invariants:
//! - Within a run keys ascend. Of equal keys in several runs, that of the last one counts.
//! - A run is removed when it has been read, or merged into another one.

use super::memory::{Held, Memory};
use super::work::WorkDirectory;
use crate::failure::{Failure, Result};
use ferrock::Comparator;
use ferrock_base::checksum::{crc32c, crc32c_extend};
use ferrock_vfs::{SequentialFile, SequentialOptions, WritableFile, WritableOptions};
use std::path::PathBuf;

const HEADER_BYTES: usize = 12;
/// Of a buffer of a run, at least and at most.
const LEAST_BUFFER_BYTES: usize = 8 << 10;
const MOST_BUFFER_BYTES: usize = 1 << 20;
/// Runs that are open at once, at most.
const MOST_RUNS: usize = 256;

/// A file of sorted rows.
#[derive(Debug)]
pub(super) struct Run {
    path: PathBuf,
    pub(super) bytes: u64,
    /// Of its longest row.
    row_bytes: usize,
}

/// Writes a run.
pub(super) struct RunWriter<'a> {
    path: PathBuf,
    file: Box<dyn WritableFile>,
    buffer: Vec<u8>,
    full: usize,
    bytes: u64,
    row_bytes: usize,
    held: Held<'a>,
}

impl<'a> RunWriter<'a> {
    pub(super) fn create(work: &WorkDirectory, memory: &'a Memory) -> Result<Self> {
        let path = work.new_run();
        let file = work.files.create_writable(&path, &WritableOptions::default())?;
        let full = (memory.eighths(1) / 8).clamp(LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES);
        let buffer = Vec::with_capacity(full);
        let held = memory.hold(full);
        Ok(Self { path, file, buffer, full, bytes: 0, row_bytes: 0, held })
    }

    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let lengths = [(key.len() as u32).to_le_bytes(), (value.len() as u32).to_le_bytes()].concat();
        self.row_bytes = self.row_bytes.max(HEADER_BYTES + key.len() + value.len());
        let checksum = crc32c_extend(crc32c_extend(crc32c(&lengths), key), value);
        if self.buffer.len() + HEADER_BYTES > self.full {
            self.flush()?;
        }
        self.buffer.extend_from_slice(&checksum.to_le_bytes());
        self.buffer.extend_from_slice(&lengths);
        for part in [key, value] {
            if self.buffer.len() + part.len() > self.full {
                self.flush()?;
            }
            // What is longer than a buffer goes past it.
            if part.len() > self.full {
                self.file.append(part)?;
                self.bytes += part.len() as u64;
            } else {
                self.buffer.extend_from_slice(part);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.append(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Run> {
        self.flush()?;
        self.file.close()?;
        self.held.set(0);
        Ok(Run { path: self.path, bytes: self.bytes, row_bytes: self.row_bytes })
    }
}

/// Reads a run: stands on a row, or behind the last.
struct RunReader<'a> {
    path: PathBuf,
    file: Box<dyn SequentialFile>,
    buffer: Vec<u8>,
    /// The row that it stands on begins here.
    at: usize,
    end: usize,
    key_bytes: usize,
    value_bytes: usize,
    held: Held<'a>,
}

impl<'a> RunReader<'a> {
    /// Stands before the first row.
    fn open(work: &WorkDirectory, memory: &'a Memory, run: Run, buffer_bytes: usize) -> Result<Self> {
        let file = work.files.open_sequential(&run.path, &SequentialOptions::default())?;
        let held = memory.hold(buffer_bytes);
        let buffer = vec![0; buffer_bytes];
        Ok(Self { path: run.path, file, buffer, at: 0, end: 0, key_bytes: 0, value_bytes: 0, held })
    }

    fn key(&self) -> &[u8] {
        &self.buffer[self.at + HEADER_BYTES..][..self.key_bytes]
    }

    fn value(&self) -> &[u8] {
        &self.buffer[self.at + HEADER_BYTES + self.key_bytes..][..self.value_bytes]
    }

    /// Goes to the next row; false behind the last.
    fn advance(&mut self, is_first: bool) -> Result<bool> {
        if !is_first {
            self.at += HEADER_BYTES + self.key_bytes + self.value_bytes;
        }
        if !self.has(HEADER_BYTES)? {
            return if self.at == self.end { Ok(false) } else { Err(self.damaged()) };
        }
        let number = |at: usize| {
            let bytes = self.buffer[self.at + at..].first_chunk::<4>().copied().unwrap_or_default();
            u32::from_le_bytes(bytes)
        };
        let checksum = number(0);
        (self.key_bytes, self.value_bytes) = (number(4) as usize, number(8) as usize);
        if !self.has(HEADER_BYTES + self.key_bytes + self.value_bytes)? {
            return Err(self.damaged());
        }
        let rest = &self.buffer[self.at + 4..self.at + HEADER_BYTES + self.key_bytes + self.value_bytes];
        if crc32c(rest) == checksum { Ok(true) } else { Err(self.damaged()) }
    }

    /// Brings so many bytes from `at` on into the buffer; false where the file ends before.
    fn has(&mut self, bytes: usize) -> Result<bool> {
        if self.end - self.at >= bytes {
            return Ok(true);
        }
        self.buffer.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        while self.end < bytes {
            if self.end == self.buffer.len() {
                // Grows as bytes come: the length of a damaged row asks for nothing that is not there.
                let length = (self.buffer.len() * 2).min(bytes.max(self.buffer.len() + 1));
                self.buffer.resize(length, 0);
                self.held.set(length);
            }
            let read = self.file.read(&mut self.buffer[self.end..])?;
            if read == 0 {
                return Ok(false);
            }
            self.end += read;
        }
        Ok(true)
    }

    fn damaged(&self) -> Failure {
        Failure::NotDone(format!("{}: rows that were written are not what is read: import again", self.path.display()))
    }
}

/// Many runs as one order: every key once.
pub(super) struct Merge<'a> {
    work: &'a WorkDirectory,
    order: Comparator,
    readers: Vec<RunReader<'a>>,
    /// Indexes of readers that stand on a row: a heap, the next one first.
    heap: Vec<usize>,
    /// The first of the heap stands on a row that was given.
    is_given: bool,
    pub(super) duplicates: u64,
}

/// Merges runs, oldest first, in as many steps as memory asks for.
pub(super) fn merge_all<'a>(
    work: &'a WorkDirectory,
    memory: &'a Memory,
    order: &Comparator,
    mut runs: Vec<Run>,
) -> Result<Merge<'a>> {
    let share = memory.eighths(2);
    let row_bytes = runs.iter().map(|run| run.row_bytes).max().unwrap_or_default();
    let most = (share / LEAST_BUFFER_BYTES.max(row_bytes)).clamp(2, MOST_RUNS);
    let mut duplicates = 0;
    while runs.len() > most {
        let mut fewer = Vec::new();
        let mut rest = runs.into_iter().peekable();
        while rest.peek().is_some() {
            let group: Vec<Run> = rest.by_ref().take(most).collect();
            let mut merge = Merge::open(work, memory, order, group)?;
            let mut writer = RunWriter::create(work, memory)?;
            while let Some((key, value)) = merge.next()? {
                writer.add(key, value)?;
            }
            duplicates += merge.duplicates;
            merge.remove_runs()?;
            fewer.push(writer.finish()?);
        }
        runs = fewer;
    }
    let mut merge = Merge::open(work, memory, order, runs)?;
    merge.duplicates = duplicates;
    Ok(merge)
}

impl<'a> Merge<'a> {
    fn open(work: &'a WorkDirectory, memory: &'a Memory, order: &Comparator, runs: Vec<Run>) -> Result<Self> {
        let buffer_bytes = (memory.eighths(2) / runs.len().max(1)).clamp(LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES);
        let mut merge =
            Self { work, order: order.clone(), readers: Vec::new(), heap: Vec::new(), is_given: false, duplicates: 0 };
        for (index, run) in runs.into_iter().enumerate() {
            let mut reader = RunReader::open(work, memory, run, buffer_bytes)?;
            let has_row = reader.advance(true)?;
            merge.readers.push(reader);
            if has_row {
                merge.heap.push(index);
            }
        }
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sink(place);
        }
        Ok(merge)
    }

    /// The next row: of equal keys that of the last run.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.is_given {
            // Rows of older runs with the key that was given go first.
            while let Some(older) = self.heap.get(1..).and_then(|rest| self.equal_to_first(rest)) {
                self.duplicates += 1;
                self.step(older + 1)?;
            }
            self.step(0)?;
        }
        self.is_given = true;
        Ok(self.heap.first().map(|first| {
            let reader = &self.readers[*first];
            (reader.key(), reader.value())
        }))
    }

    /// Of the rest of the heap, one whose key is that of the first. It is a child of the first, or a child of one.
    fn equal_to_first(&self, rest: &[usize]) -> Option<usize> {
        let key = self.readers[self.heap[0]].key();
        let is_equal = |index: &usize| self.order.compare(self.readers[*index].key(), key).is_eq();
        rest.iter().take(2).position(is_equal)
    }

    /// Moves the reader at a place of the heap to its next row.
    fn step(&mut self, place: usize) -> Result<()> {
        if self.readers[self.heap[place]].advance(false)? {
            self.sink(place);
            return Ok(());
        }
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            // The last one of a heap is not before what was above the place, as all of it are below the first.
            self.sink(place);
        }
        Ok(())
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = [2 * place + 1, 2 * place + 2];
            let mut least = place;
            for child in children.into_iter().filter(|child| *child < self.heap.len()) {
                if self.is_before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == place {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        self.order.compare(self.readers[a].key(), self.readers[b].key()).then(b.cmp(&a)).is_lt()
    }

    fn remove_runs(self) -> Result<()> {
        for reader in &self.readers {
            self.work.files.remove_file(&reader.path)?;
        }
        Ok(())
    }
}
