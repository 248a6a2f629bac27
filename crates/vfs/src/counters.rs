//! Counts of every request and every byte, kept by relaxed atomics.
//!
//! Reads are counted once per request of the caller (`read_requests`) and once per system call (`read_calls`), so that
//! batching and bounce buffers show; and once per request to the device, by [`ReadClass`]. Writes are counted per
//! [`WritePurpose`] in the same way.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::io_stats::{IoMetric, count_bytes};
use crate::options::WritePurpose;
use crate::ranges::{ReadClass, ReadLabel};

#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    #[inline]
    fn add(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
struct PurposeCounters {
    append_requests: Counter,
    append_bytes: Counter,
    write_calls: Counter,
    write_bytes: Counter,
    mapped_bytes: Counter,
    syncs: Counter,
    files_created: Counter,
}

#[derive(Debug, Default)]
struct ClassCounters {
    requests: Counter,
    asked_bytes: Counter,
    device_bytes: Counter,
}

/// The counts of all requests to a file system so far.
#[derive(Debug, Default)]
pub struct IoCounters {
    classes: [ClassCounters; 4],
    windows_waited: Counter,
    windows_discarded: Counter,
    discarded_bytes: Counter,
    read_requests: Counter,
    read_bytes: Counter,
    read_calls: Counter,
    mapped_read_requests: Counter,
    mapped_read_bytes: Counter,
    batches: Counter,
    batch_requests: Counter,
    opens: Counter,
    removes: Counter,
    renames: Counter,
    links: Counter,
    truncates: Counter,
    dir_syncs: Counter,
    dir_lists: Counter,
    metadata: Counter,
    purposes: [PurposeCounters; 4],
}

impl IoCounters {
    pub(crate) fn read(&self, bytes: u64, calls: u64) {
        self.reads_of_ring(1, bytes);
        self.read_calls.add(calls);
    }

    /// Counts reads whose system calls are counted by [`ring_calls`](Self::ring_calls).
    pub(crate) fn reads_of_ring(&self, reads: u64, bytes: u64) {
        self.read_requests.add(reads);
        self.read_bytes.add(bytes);
        count_bytes(IoMetric::BytesRead, bytes);
    }

    /// Counts a request that goes to the device, or to the page cache before it.
    #[inline]
    pub(crate) fn device_request(&self, label: ReadLabel, device_bytes: u64) {
        let counters = &self.classes[label.class.index()];
        counters.requests.add(1);
        counters.asked_bytes.add(label.asked_bytes);
        counters.device_bytes.add(device_bytes);
    }

    /// Counts a read that shares a request which was counted before.
    pub(crate) fn joined(&self, label: ReadLabel) {
        self.classes[label.class.index()].asked_bytes.add(label.asked_bytes);
    }

    /// Counts a read started ahead for which a thread waited, or which it had to perform itself.
    pub fn window_waited(&self) {
        self.windows_waited.add(1);
    }

    /// Counts bytes that were read ahead, or about to be, and were thrown away unused.
    pub fn window_discarded(&self, bytes: u64) {
        self.windows_discarded.add(1);
        self.discarded_bytes.add(bytes);
    }

    /// Counts system calls of a batch whose requests were counted without calls.
    pub(crate) fn ring_calls(&self, calls: u64) {
        self.read_calls.add(calls);
    }

    pub(crate) fn mapped_read(&self, bytes: u64) {
        self.mapped_read_requests.add(1);
        self.mapped_read_bytes.add(bytes);
    }

    /// Counts requests of a stream; the first ones count the stream as a batch.
    pub(crate) fn streamed(&self, is_first: bool, requests: u64) {
        self.batches.add(u64::from(is_first));
        self.batch_requests.add(requests);
    }

    pub(crate) fn open(&self) {
        self.opens.add(1);
    }

    pub(crate) fn remove(&self) {
        self.removes.add(1);
    }

    pub(crate) fn rename(&self) {
        self.renames.add(1);
    }

    pub(crate) fn link(&self) {
        self.links.add(1);
    }

    pub(crate) fn truncate(&self) {
        self.truncates.add(1);
    }

    pub(crate) fn dir_sync(&self) {
        self.dir_syncs.add(1);
    }

    pub(crate) fn dir_list(&self) {
        self.dir_lists.add(1);
    }

    pub(crate) fn metadata(&self) {
        self.metadata.add(1);
    }

    pub(crate) fn create(&self, purpose: WritePurpose) {
        self.purposes[purpose.index()].files_created.add(1);
    }

    #[inline]
    pub(crate) fn append(&self, purpose: WritePurpose, bytes: u64) {
        let counters = &self.purposes[purpose.index()];
        counters.append_requests.add(1);
        counters.append_bytes.add(bytes);
    }

    pub(crate) fn write(&self, purpose: WritePurpose, bytes: u64) {
        let counters = &self.purposes[purpose.index()];
        counters.write_calls.add(1);
        counters.write_bytes.add(bytes);
        count_bytes(IoMetric::BytesWritten, bytes);
    }

    #[inline]
    pub(crate) fn mapped_write(&self, purpose: WritePurpose, bytes: u64) {
        self.purposes[purpose.index()].mapped_bytes.add(bytes);
        count_bytes(IoMetric::BytesWritten, bytes);
    }

    pub(crate) fn sync(&self, purpose: WritePurpose) {
        self.purposes[purpose.index()].syncs.add(1);
    }

    /// Returns the current values. Counters change while they are read, so sums may be off by requests in flight.
    #[must_use]
    pub fn snapshot(&self) -> IoSnapshot {
        IoSnapshot {
            classes: std::array::from_fn(|index| {
                let counters = &self.classes[index];
                ClassSnapshot {
                    requests: counters.requests.get(),
                    asked_bytes: counters.asked_bytes.get(),
                    device_bytes: counters.device_bytes.get(),
                }
            }),
            windows_waited: self.windows_waited.get(),
            windows_discarded: self.windows_discarded.get(),
            discarded_bytes: self.discarded_bytes.get(),
            read_requests: self.read_requests.get(),
            read_bytes: self.read_bytes.get(),
            read_calls: self.read_calls.get(),
            mapped_read_requests: self.mapped_read_requests.get(),
            mapped_read_bytes: self.mapped_read_bytes.get(),
            batches: self.batches.get(),
            batch_requests: self.batch_requests.get(),
            opens: self.opens.get(),
            removes: self.removes.get(),
            renames: self.renames.get(),
            links: self.links.get(),
            truncates: self.truncates.get(),
            dir_syncs: self.dir_syncs.get(),
            dir_lists: self.dir_lists.get(),
            metadata: self.metadata.get(),
            purposes: std::array::from_fn(|index| {
                let counters = &self.purposes[index];
                PurposeSnapshot {
                    append_requests: counters.append_requests.get(),
                    append_bytes: counters.append_bytes.get(),
                    write_calls: counters.write_calls.get(),
                    write_bytes: counters.write_bytes.get(),
                    mapped_bytes: counters.mapped_bytes.get(),
                    syncs: counters.syncs.get(),
                    files_created: counters.files_created.get(),
                }
            }),
        }
    }
}

/// Values of [`IoCounters`] at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoSnapshot {
    /// Reads asked for, sequential ones and members of batches included; reads served from a mapping are not.
    pub read_requests: u64,
    /// Bytes those reads returned.
    pub read_bytes: u64,
    /// System calls (or ring submissions) they took.
    pub read_calls: u64,
    /// Ranges handed out of, or copied from, a mapping.
    pub mapped_read_requests: u64,
    /// Bytes of those ranges.
    pub mapped_read_bytes: u64,
    /// Streams of reads, those that `read_ranges` makes among them.
    pub batches: u64,
    /// Requests in those batches and streams.
    pub batch_requests: u64,
    /// Files opened for reading.
    pub opens: u64,
    /// Files and directories removed.
    pub removes: u64,
    /// Renames.
    pub renames: u64,
    /// Hard links.
    pub links: u64,
    /// Truncations by path.
    pub truncates: u64,
    /// Directory syncs.
    pub dir_syncs: u64,
    /// Directory listings.
    pub dir_lists: u64,
    /// Queries of size, existence, times and space.
    pub metadata: u64,
    /// Reads started ahead that were not complete when a thread waited for them.
    pub windows_waited: u64,
    /// Reads started ahead, and windows read, that were thrown away with unused bytes.
    pub windows_discarded: u64,
    /// Those bytes.
    pub discarded_bytes: u64,
    classes: [ClassSnapshot; 4],
    purposes: [PurposeSnapshot; 4],
}

impl IoSnapshot {
    /// The read counters of one class.
    #[must_use]
    pub fn class(&self, class: ReadClass) -> ClassSnapshot {
        self.classes[class.index()]
    }

    /// The read counters of all classes together.
    #[must_use]
    pub fn all_classes(&self) -> ClassSnapshot {
        self.classes.iter().fold(ClassSnapshot::default(), |sum, counters| ClassSnapshot {
            requests: sum.requests + counters.requests,
            asked_bytes: sum.asked_bytes + counters.asked_bytes,
            device_bytes: sum.device_bytes + counters.device_bytes,
        })
    }

    /// The counters of one purpose.
    #[must_use]
    pub fn purpose(&self, purpose: WritePurpose) -> PurposeSnapshot {
        self.purposes[purpose.index()]
    }

    /// Bytes appended for any purpose.
    #[must_use]
    pub fn append_bytes(&self) -> u64 {
        self.purposes.iter().map(|counters| counters.append_bytes).sum()
    }

    /// Syncs of files of any purpose.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.purposes.iter().map(|counters| counters.syncs).sum()
    }
}

/// Read counters of one [`ReadClass`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSnapshot {
    /// Requests sent, each member of a batch counted; coalesced ranges count as one request, split ranges as several.
    pub requests: u64,
    /// Bytes of them that were asked for.
    pub asked_bytes: u64,
    /// Bytes they spanned: after alignment to the unit of direct I/O, with the gaps between coalesced ranges.
    pub device_bytes: u64,
}

impl ClassSnapshot {
    /// What was added since an earlier snapshot.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            asked_bytes: self.asked_bytes - earlier.asked_bytes,
            device_bytes: self.device_bytes - earlier.device_bytes,
        }
    }
}

/// Write counters of one [`WritePurpose`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurposeSnapshot {
    /// Calls of `append`.
    pub append_requests: u64,
    /// Bytes of those calls.
    pub append_bytes: u64,
    /// System calls that wrote.
    pub write_calls: u64,
    /// Bytes they wrote, padding included.
    pub write_bytes: u64,
    /// Bytes stored through a mapping instead.
    pub mapped_bytes: u64,
    /// Syncs.
    pub syncs: u64,
    /// Files created or reopened for appending.
    pub files_created: u64,
}
