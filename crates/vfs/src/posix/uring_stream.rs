//! Streams of reads through io_uring.
//!
//! Direct reads go to aligned memory of the pool and are handed out as slices of it, without bounce buffers.
//!
//! The kernel writes to a slot's buffer until its completion arrives. So a slot is freed only then, and dropping a
//! stream waits for all completions; nothing is submitted after a ring has failed.

use std::collections::VecDeque;
use std::sync::Arc;

use ferrock_base::Result;
use io_uring::{IoUring, opcode, types};

use super::read::{device_bytes, is_addressable};
use super::uring::{MAX_FRUITLESS_SUBMITS, MAX_READ_BYTES, QUEUE_DEPTH, RingPool, is_transient};
use crate::file_system::RandomAccessFile;
use crate::ranges::{PooledMemory, ReadClass, ReadContext, ReadLabel, ReadLayer, Watch, start_watch};
use crate::read_stream::{AddedRead, ReadStream};

/// Most bytes in flight of one stream, unless a single read is larger.
const MAX_IN_FLIGHT_BYTES: usize = 32 << 20;

/// A read in flight.
struct StreamRead {
    read: AddedRead,
    fd: i32,
    /// File offset of the buffer.
    start: u64,
    /// Bytes to read into it.
    span: usize,
    /// The length of a read that did not reach the end of the file is a multiple of this.
    unit: usize,
    memory: PooledMemory,
    filled: usize,
    /// The ring failed the read, which must be repeated without it.
    has_failed: bool,
}

impl StreamRead {
    /// A slot for a read, if the pool has memory for it.
    fn new(read: &AddedRead, fd: i32, layer: &ReadLayer) -> Result<Self> {
        let alignment = read.file.direct_alignment();
        let unit = alignment.unwrap_or(1);
        let lead = (read.offset % unit as u64) as usize;
        let span = (lead + read.length).next_multiple_of(unit);
        let memory = layer.take_memory(span)?;
        let label = ReadLabel::whole(read.class, read.length);
        layer.counters().device_request(label, device_bytes(read.offset, read.length, alignment));
        let AddedRead { ref file, offset, length, class, tag } = *read;
        let read = AddedRead { file: Arc::clone(file), offset, length, class, tag };
        Ok(Self { read, fd, start: offset - lead as u64, span, unit, memory, filled: 0, has_failed: false })
    }

    fn entry(&mut self, number: usize) -> io_uring::squeue::Entry {
        let offset = self.start + self.filled as u64;
        let rest = &mut self.memory.bytes_mut()[self.filled..self.span];
        let length = rest.len().min(MAX_READ_BYTES) as u32;
        opcode::Read::new(types::Fd(self.fd), rest.as_mut_ptr(), length).offset(offset).build().user_data(number as u64)
    }

    /// Handles a completion; true if the rest must be submitted again.
    fn needs_resubmission(&mut self, result: i32) -> bool {
        let Ok(count) = usize::try_from(result) else {
            self.has_failed = true;
            return false;
        };
        self.filled += count;
        count > 0 && count.is_multiple_of(self.unit) && self.filled < self.span
    }

    /// The requested bytes among those that were read.
    fn bytes(&self) -> &[u8] {
        let lead = (self.read.offset - self.start) as usize;
        let end = self.filled.min(lead + self.read.length);
        &self.memory.bytes()[lead.min(end)..end]
    }
}

/// A stream with a ring of its own.
pub(super) struct RingStream<'f> {
    rings: &'f RingPool,
    layer: &'f ReadLayer,
    context: ReadContext,
    /// The time limit of the reads, started by the first `add`.
    watch: Option<Result<Watch<'f>>>,
    /// Created by the first `start` or `take`; `None` if io_uring is unavailable.
    ring: Option<IoUring>,
    /// The ring failed, or none could be created: reads that have not begun are performed without it.
    is_broken: bool,
    added: VecDeque<AddedRead>,
    slots: Vec<Option<StreamRead>>,
    free: Vec<usize>,
    /// Slots whose rest must be submitted again.
    again: Vec<usize>,
    /// Entries that the kernel has not taken yet, and below those that it has taken and not completed.
    queued: usize,
    in_flight: usize,
    in_flight_bytes: usize,
    fruitless: u32,
}

impl<'f> RingStream<'f> {
    pub(super) fn new(rings: &'f RingPool, layer: &'f ReadLayer, context: &ReadContext) -> Self {
        Self {
            rings,
            layer,
            context: *context,
            watch: None,
            ring: None,
            is_broken: false,
            added: VecDeque::new(),
            slots: Vec::new(),
            free: Vec::new(),
            again: Vec::new(),
            queued: 0,
            in_flight: 0,
            in_flight_bytes: 0,
            fruitless: 0,
        }
    }

    /// Fills the submission queue with reads.
    fn fill_queue(&mut self) {
        if self.ring.is_none() && !self.is_broken {
            self.ring = self.rings.take().ok();
            self.is_broken = self.ring.is_none();
        }
        while !self.is_broken && self.queued + self.in_flight < QUEUE_DEPTH as usize {
            let Some(number) = self.again.pop().or_else(|| self.begin_next()) else { return };
            if !self.push(number) {
                self.again.push(number);
                return;
            }
            self.queued += 1;
        }
    }

    /// A slot for the next added read that the ring can perform and has room for.
    fn begin_next(&mut self) -> Option<usize> {
        let next = self.added.front()?;
        let fd = next.file.raw_fd().filter(|_| is_addressable(next.offset, next.length) && next.length > 0)?;
        if self.in_flight_bytes > 0 && self.in_flight_bytes + next.length > MAX_IN_FLIGHT_BYTES {
            return None;
        }
        // Without memory the read waits until others return theirs; if there are none, it is performed without the
        // ring, and fails there.
        let slot = StreamRead::new(next, fd, self.layer).ok()?;
        self.added.pop_front();
        self.in_flight_bytes += slot.span;
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[number] = Some(slot);
        Some(number)
    }

    fn push(&mut self, number: usize) -> bool {
        let (Some(ring), Some(slot)) = (&mut self.ring, &mut self.slots[number]) else { return false };
        let entry = slot.entry(number);
        // SAFETY: the entry's buffer belongs to the slot, on the heap. The slot is freed only when its completion has
        // arrived, and until then nothing in this process reads or writes the buffer; `drop` waits for every completion
        // before the slots and the ring go. The descriptor belongs to a file that the slot shares.
        unsafe { ring.submission().push(&entry) }.is_ok()
    }

    /// Hands the queue to the kernel and waits for `wanted` completions.
    fn enter(&mut self, wanted: usize) {
        let Some(ring) = &mut self.ring else { return };
        if self.is_broken {
            // Completions still arrive without further calls.
            std::thread::yield_now();
            return;
        }
        self.layer.counters().ring_calls(1);
        match ring.submitter().submit_and_wait(wanted) {
            Ok(count) => {
                self.in_flight += count;
                self.queued -= count.min(self.queued);
                self.fruitless = 0;
            }
            Err(error) if is_transient(&error) && (self.in_flight > 0 || self.fruitless < MAX_FRUITLESS_SUBMITS) => {
                self.fruitless += 1;
            }
            // Reads that the kernel has not taken are performed without the ring.
            Err(_) => self.is_broken = true,
        }
    }

    /// Adds the slots whose reads have completed to `done`.
    fn reap(&mut self, done: &mut Vec<usize>) {
        let Some(ring) = &mut self.ring else { return };
        for completion in ring.completion() {
            self.in_flight = self.in_flight.saturating_sub(1);
            let number = completion.user_data() as usize;
            let Some(Some(slot)) = self.slots.get_mut(number) else { continue };
            if slot.needs_resubmission(completion.result()) {
                self.again.push(number);
            } else {
                done.push(number);
            }
        }
    }

    fn hand_out(&mut self, number: usize, on_read: &mut dyn FnMut(usize, Result<&[u8]>)) {
        let Some(slot) = self.slots[number].take() else { return };
        self.free.push(number);
        self.in_flight_bytes -= slot.span;
        let read = &slot.read;
        if let Some(Ok(watch)) = &self.watch
            && let Err(late) = watch.check()
        {
            return on_read(read.tag, Err(late.in_file(read.file.path()).at_offset(read.offset)));
        }
        if slot.has_failed {
            let StreamRead { read, memory, .. } = slot;
            drop(memory);
            return read.perform(&self.context, on_read);
        }
        self.layer.counters().read(slot.bytes().len() as u64, 0);
        on_read(read.tag, Ok(slot.bytes()));
    }

    /// Takes a read that a broken ring had and did not perform, when nothing is in flight.
    fn abandoned(&mut self) -> Option<AddedRead> {
        let number = self.slots.iter().position(Option::is_some)?;
        let slot = self.slots[number].take()?;
        self.in_flight_bytes -= slot.span;
        Some(slot.read)
    }
}

impl ReadStream for RingStream<'_> {
    fn add(&mut self, file: &Arc<dyn RandomAccessFile>, offset: u64, length: usize, class: ReadClass, tag: usize) {
        self.layer.counters().streamed(self.watch.is_none());
        let (layer, context) = (self.layer, self.context);
        let watch = self.watch.get_or_insert_with(|| start_watch(Some(layer), &context));
        // Reads performed without a ring check the time themselves.
        self.is_broken |= watch.is_err();
        self.added.push_back(AddedRead { file: Arc::clone(file), offset, length, class, tag });
    }

    fn start(&mut self) {
        self.fill_queue();
        if self.queued > 0 {
            self.enter(0);
        }
    }

    fn take(&mut self, on_read: &mut dyn FnMut(usize, Result<&[u8]>)) -> bool {
        let mut done = Vec::new();
        loop {
            self.fill_queue();
            self.reap(&mut done);
            if !done.is_empty() {
                if self.queued > 0 {
                    self.enter(0);
                }
                done.drain(..).for_each(|number| self.hand_out(number, on_read));
                return true;
            }
            if self.in_flight > 0 || self.queued > 0 && !self.is_broken {
                // Waits for half of them: that takes few system calls, and the caller can work while the rest is in
                // flight.
                let wanted = (self.in_flight + self.queued).div_ceil(2);
                self.enter(wanted);
                continue;
            }
            // Nothing is in flight: the remaining reads cannot use the ring.
            let Some(read) = self.abandoned().or_else(|| self.added.pop_front()) else { return false };
            read.perform(&self.context, on_read);
            return true;
        }
    }
}

impl Drop for RingStream<'_> {
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_flight > 0 {
            // Submits queued entries, too, and counts them.
            self.enter(1);
            self.reap(&mut done);
        }
        // Entries that are still queued were never submitted; they go with their ring.
        let is_clean = self.queued == 0 && !self.is_broken;
        if let Some(ring) = self.ring.take().filter(|_| is_clean) {
            self.rings.give_back(ring);
        }
    }
}
