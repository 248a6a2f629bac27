//! The reads that paused iterators need, as one set, and the two ways to make them.
//!
//! ```text
//! pending reads --add--> ReadSet --perform--> all bytes     a thread blocks: placements in rounds, many ranges
//!                               \-poll------> all bytes     a task is woken: scans as futures
//! all bytes --into_supplies--> one supply for each owner
//! ```
//!
//! A read that an iterator has already started is awaited, not made again. Dropping the set abandons what is in flight.

use ferrock_base::Result;
use ferrock_table::{PlannedRead, ScanRead};
use ferrock_vfs::{PendingRead, RangeRead, ReadBuffer, ReadContext, read_ranges};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Reads of several owners; `O` says whose a read is.
#[derive(Debug)]
pub struct ReadSet<O> {
    reads: Vec<NeededRead<O>>,
}

#[derive(Debug)]
struct NeededRead<O> {
    owner: O,
    read: ScanRead,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Missing,
    InFlight(PendingRead),
    Ready(Result<ReadBuffer>),
}

impl<O> Default for ReadSet<O> {
    fn default() -> Self {
        Self { reads: Vec::new() }
    }
}

impl<O> ReadSet<O> {
    /// Adds a read, which may be in flight already.
    pub fn add(&mut self, owner: O, read: ScanRead, started: Option<PendingRead>) {
        self.reads.push(NeededRead { owner, read, bytes: started.map_or(Bytes::Missing, Bytes::InFlight) });
    }

    /// True without reads.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// Bytes of all reads.
    #[must_use]
    pub fn length(&self) -> usize {
        self.reads.iter().map(|needed| needed.read.read.length()).sum()
    }

    /// Leaves the first reads, as many as have `bytes` together, but one at least. Returns the owners of the others.
    pub fn limit(&mut self, bytes: usize) -> Vec<O> {
        let mut total = 0;
        let fits = self.reads.iter().take_while(|needed| {
            total += needed.read.read.length();
            total <= bytes.max(needed.read.read.length())
        });
        let count = fits.count().max(1).min(self.reads.len());
        self.reads.split_off(count).into_iter().map(|needed| needed.owner).collect()
    }

    /// Makes the reads that are not in flight, as one batch, and waits for the others. `gap_bytes`: ranges that lie so
    /// near each other are read in one request; `None` as the reads say.
    pub fn perform(&mut self, gap_bytes: Option<u64>) {
        self.read_missing(gap_bytes);
        for NeededRead { bytes, .. } in &mut self.reads {
            if let Bytes::InFlight(_) = bytes
                && let Bytes::InFlight(in_flight) = std::mem::replace(bytes, Bytes::Missing)
            {
                *bytes = Bytes::Ready(in_flight.wait());
            }
        }
    }

    fn read_missing(&mut self, gap_bytes: Option<u64>) {
        let is_missing = |needed: &&mut NeededRead<O>| matches!(needed.bytes, Bytes::Missing);
        let mut missing: Vec<&mut NeededRead<O>> = self.reads.iter_mut().filter(is_missing).collect();
        let Some(first) = missing.first() else { return };
        let (file_system, context) = (first.read.file_system.clone(), first.read.context);
        let context = ReadContext { gap_bytes: gap_bytes.unwrap_or(context.gap_bytes), ..context };
        let range = |needed: &NeededRead<O>| {
            let ScanRead { read, file, .. } = &needed.read;
            (file.clone(), read.offset(), read.length(), read.class())
        };
        let ranges: Vec<_> = missing.iter().map(|needed| range(needed)).collect();
        let mut reads: Vec<RangeRead<'_>> = ranges
            .iter()
            .map(|(file, offset, length, class)| RangeRead::new(file, *offset, *length).of_class(*class))
            .collect();
        read_ranges(&*file_system, &mut reads, &context);
        for (needed, read) in missing.iter_mut().zip(reads) {
            needed.bytes = Bytes::Ready(read.result);
        }
    }

    /// Starts the reads that are not in flight, and polls all. True when all have their bytes; otherwise the waker of
    /// the context is called when one does.
    pub fn poll(&mut self, context: &mut Context<'_>) -> bool {
        for NeededRead { read, bytes, .. } in &mut self.reads {
            if let Bytes::Missing = bytes {
                *bytes = Bytes::InFlight(start(read));
            }
        }
        let mut are_ready = true;
        for NeededRead { bytes, .. } in &mut self.reads {
            if let Bytes::InFlight(in_flight) = bytes {
                match Pin::new(in_flight).poll(context) {
                    Poll::Ready(result) => *bytes = Bytes::Ready(result),
                    Poll::Pending => are_ready = false,
                }
            }
        }
        are_ready
    }

    /// The owner of each read, the read, and what it brought; reads that were not made are left out.
    pub fn into_supplies(self) -> impl Iterator<Item = (O, PlannedRead, Result<ReadBuffer>)> {
        self.reads.into_iter().filter_map(|NeededRead { owner, read, bytes }| match bytes {
            Bytes::Ready(bytes) => Some((owner, read.read, bytes)),
            Bytes::Missing | Bytes::InFlight(_) => None,
        })
    }
}

fn start(read: &ScanRead) -> PendingRead {
    let planned = &read.read;
    let context = ReadContext { class: planned.class(), is_polled: true, ..read.context };
    read.file_system.start_read(&read.file, planned.offset(), planned.length(), &context)
}
