//! Blocks that other threads pack and write, while the builder's own thread goes on with the next entries.
//!
//! ```text
//! add ... add | cut      the builder: block 9 is full
//!                 |
//!   waiting   [ 8 9 ]    packed in any order
//!   packing    6 7
//!   packed    [ 5 ]      in order: the keys go into filter and index, the block gets its place in the file
//!   writing    4         by one thread at a time, which has the sink
//! ```
//!
//! Each thread takes whatever there is to do: helpers all the time, the builder when [`Pipeline::push`] finds too much
//! on its way or [`Pipeline::drain`] wants all of it done. So the work is shared as it comes.
//!
//! Threads: `compression_opts.parallel_threads` asks for so many. Where it asks for one, a processor that has nothing
//! to do lends one more ([`is_time_to_ask`], [`TableBuilderParams::idle_cpus`]), until it has other things to do.
//!
//! Invariants: the table has the same bytes as with one thread, and tables end at the same keys: sizes are known
//! [at most](Pipeline::size_at_most) at any time and exactly once all is written, and the builder decides by the exact
//! ones. At most [`BLOCKS_PER_THREAD`] blocks a thread are in memory. The builder never waits for a thread that has not
//! begun, so a helper that never runs costs time only; and a lent one that makes it wait [`STRIKES`] times for longer
//! than a processor should take is sent away, since then the processor is not idle any more. Helpers end when the
//! builder does, and touch the file no more once the pipeline is dropped; one that panics makes an error of the table.
//!
//! Tried and lost: places that are guessed and corrected afterwards, as for dictionaries. Index partitions are cut by
//! the bytes of their entries, which the places are part of. Sizes estimated by the ratio of the blocks before: with
//! helpers tables ended at other keys than without. Measured by `ab --bench compact --num 390000 --cache_mb 16`, seven
//! pairs, beside one thread: helpers without compression, where there is only writing, 0.89 times as fast for 1.4 times
//! the CPU time; half as many blocks in memory, with a helper woken for four of them, LZ4 1.05 times as fast in place
//! of 1.30 and ZSTD 1.51 in place of 1.72.

use super::TableBuilderParams;
use super::cut_block::{BlockKeys, CutBlock};
use super::packing::Packer;
use super::sink::{BlockSink, Growth, SinkSize};
use crate::stored_blocks::StoredPayload;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::compression::CompressionType;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Blocks in memory for each thread, at most.
const BLOCKS_PER_THREAD: usize = 16;

/// Bytes in memory for each thread, of blocks and their keys, at most; but one block, however large its values are.
const BYTES_PER_THREAD: usize = 512 << 10;

/// A written block is kept to be filled again if it takes at most this much memory with its keys.
const MOST_SPARE_BYTES: usize = 64 << 10;

/// Threads for one table, at most.
const MOST_THREADS: u32 = 32;

/// Where the options ask for one thread, a table has so many blocks before another is started: to start and join a
/// thread takes about 100 microseconds.
pub(super) const FIRST_SHARED_BLOCK: u64 = 32;

/// Where no processor was idle, the builder looks again after so many blocks.
const BLOCKS_BETWEEN_TRIES: u64 = 256;

/// A builder that waits so long for a helper counts a strike: to pack and write a block takes tens of microseconds.
const LONG_WAIT: Duration = Duration::from_millis(2);

/// Strikes after which a lent helper is sent away.
const STRIKES: u32 = 3;

/// Whether a table of so many blocks is to look for a processor that may be lent.
pub(super) fn is_time_to_ask(blocks: u64) -> bool {
    blocks % BLOCKS_BETWEEN_TRIES == FIRST_SHARED_BLOCK
}

/// The blocks that are between being cut and being written, and the sink that they go into.
#[derive(Debug)]
pub(super) struct Pipeline {
    shared: Arc<Shared>,
    packer: Packer,
    growth: Growth,
    helpers: usize,
    next_number: u64,
    /// The size with all that was on its way when a block was pushed or all was written.
    most_size: SinkSize,
    /// The options do not ask for the helper.
    are_lent: bool,
    strikes: u32,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is something to do, or no more will come.
    work: Condvar,
    /// Something was done.
    done: Condvar,
    /// The pipeline is dropped: no more blocks are wanted in the file.
    is_dropped: AtomicBool,
}

#[derive(Debug)]
struct Queue {
    waiting: VecDeque<(u64, CutBlock)>,
    packed: BTreeMap<u64, CutBlock>,
    /// The block that is written next.
    next: u64,
    /// `None` while a thread writes, and for good after one panicked.
    sink: Option<Box<BlockSink>>,
    /// A thread has the sink.
    is_writing: bool,
    /// Of the sink, when it was put back.
    size: SinkSize,
    /// What the blocks on their way may add to it, at most.
    growth: u64,
    /// Of the blocks on their way and their keys.
    bytes: usize,
    /// Nothing is done after an error.
    error: Option<Error>,
    /// Blocks that were written, to be used again.
    spare: Vec<CutBlock>,
    /// Helpers end: the builder goes on without them, or has ended.
    are_helpers_dismissed: bool,
}

impl Pipeline {
    /// Whether blocks of such a table may be shared at all. Where a partition of keys ends in a block of its own,
    /// blocks are cut by what the index has by then.
    pub(super) fn is_possible(params: &TableBuilderParams) -> bool {
        params.spawner.is_some()
            && params.compression != CompressionType::NoCompression
            && !(params.options.partition_cut && params.prefix_extractor.is_some())
    }

    /// Takes the sink, and gives it back in the second place where there is no thread that would help.
    ///
    /// # Errors
    /// Those of [`Packer::new`].
    pub(super) fn new(
        params: &TableBuilderParams,
        dictionary: Option<&[u8]>,
        sink: Box<BlockSink>,
    ) -> Result<std::result::Result<Self, Box<BlockSink>>> {
        let Some(spawner) = params.spawner.as_ref().filter(|_| Self::is_possible(params)) else { return Ok(Err(sink)) };
        let Some(packer) = Packer::new(params, dictionary)? else { return Ok(Err(sink)) };
        let asked = params.compression_options.parallel_threads.min(MOST_THREADS);
        let (growth, most_size) = (Growth::of(&sink), sink.size());
        let shared = Arc::new(Shared::new(sink));
        let mut helpers = 0;
        for _ in 1..asked.max(2) {
            // Without a compressor of its own there is one helper less.
            let Ok(Some(packer)) = Packer::new(params, dictionary) else { break };
            let own = Arc::clone(&shared);
            // What a helper would do the builder does, if the system has no thread to give.
            let started = spawner.spawn("ferrock-compress", Box::new(move || help(&own, packer)));
            helpers += usize::from(started.is_ok());
        }
        if helpers == 0 {
            let sink = shared.queue.lock().sink.take();
            return sink.map(Err).ok_or_else(panicked);
        }
        Ok(Ok(Self { shared, packer, growth, helpers, next_number: 0, most_size, are_lent: asked < 2, strikes: 0 }))
    }

    /// Hands over a block that was cut, and the keys in it, which are empty afterwards. With a payload it is packed
    /// already.
    ///
    /// # Errors
    /// Those of packing and writing blocks before it; `Aborted` when a thread panicked.
    pub(super) fn push(&mut self, bytes: &[u8], keys: &mut BlockKeys, payload: Option<&StoredPayload>) -> Result<()> {
        let (most_blocks, most_bytes) = (self.threads() * BLOCKS_PER_THREAD, self.threads() * BYTES_PER_THREAD);
        self.work_until(most_blocks - 1, most_bytes.saturating_sub(bytes.len() + keys.bytes()))?;
        let growth = self.growth.of_block(bytes.len(), keys.len(), keys.longest());
        let mut queue = self.shared.queue.lock();
        let mut block = queue.spare.pop().unwrap_or_else(CutBlock::empty);
        block.fill(bytes, keys, growth);
        queue.growth += growth;
        queue.bytes += block.held_bytes();
        self.most_size = queue.most_size();
        if let Some(payload) = payload {
            block.set_payload(payload);
            queue.packed.insert(self.next_number, block);
        } else {
            queue.waiting.push_back((self.next_number, block));
        }
        let (waiting, bytes) = (queue.waiting.len(), queue.bytes);
        drop(queue);
        // A helper is woken for some blocks at once, as to wake it is not free.
        if waiting >= most_blocks * 3 / 8 || bytes >= most_bytes / 2 {
            self.shared.work.notify_one();
        }
        self.next_number += 1;
        Ok(())
    }

    /// Threads that pack blocks, the builder's among them.
    pub(super) fn threads(&self) -> usize {
        self.helpers + 1
    }

    /// True when the helper was sent away, so that the builder may as well do without the queue.
    pub(super) fn is_left_alone(&self) -> bool {
        self.strikes >= STRIKES
    }

    /// Writes all that is on its way; the size is exact then.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub(super) fn drain(&mut self) -> Result<()> {
        self.work_until(0, 0)?;
        self.most_size = self.shared.queue.lock().most_size();
        Ok(())
    }

    /// Works until no more than so many blocks and bytes are on their way.
    fn work_until(&mut self, most: usize, most_bytes: usize) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.queue.lock();
        loop {
            if let Some(error) = &queue.error {
                return Err(error.clone());
            }
            if self.next_number - queue.next <= most as u64 && queue.bytes <= most_bytes {
                return Ok(());
            }
            let (again, did) = shared.work_once(queue, &mut self.packer);
            queue = again;
            if !did && shared.done.wait_for(&mut queue, LONG_WAIT).timed_out() && self.are_lent {
                self.strikes += 1;
                queue.are_helpers_dismissed |= self.strikes >= STRIKES;
            }
        }
    }

    /// The size of the table with all that is on its way: no less.
    pub(super) fn size_at_most(&self) -> SinkSize {
        self.most_size
    }

    /// Bytes in the file.
    pub(super) fn written_bytes(&self) -> u64 {
        self.shared.queue.lock().size.file
    }

    /// The sink, with all that was pushed.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub(super) fn into_sink(mut self) -> Result<Box<BlockSink>> {
        self.drain()?;
        let sink = self.shared.queue.lock().sink.take();
        sink.ok_or_else(panicked)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.are_helpers_dismissed = true;
        queue.waiting.clear();
        queue.packed.clear();
        queue.spare.clear();
        self.shared.is_dropped.store(true, Ordering::Relaxed);
        self.shared.work.notify_all();
        // The file is the caller's then, to be deleted.
        while queue.is_writing {
            self.shared.done.wait(&mut queue);
        }
        queue.sink = None;
    }
}

impl Shared {
    fn new(sink: Box<BlockSink>) -> Self {
        let queue = Queue {
            waiting: VecDeque::new(),
            packed: BTreeMap::new(),
            next: 0,
            size: sink.size(),
            sink: Some(sink),
            is_writing: false,
            growth: 0,
            bytes: 0,
            error: None,
            spare: Vec::new(),
            are_helpers_dismissed: false,
        };
        Self {
            queue: Mutex::new(queue),
            work: Condvar::new(),
            done: Condvar::new(),
            is_dropped: AtomicBool::new(false),
        }
    }

    /// Writes what can be written, or packs a block. False when there is nothing to do for this thread.
    fn work_once<'a>(&'a self, mut queue: MutexGuard<'a, Queue>, packer: &mut Packer) -> (MutexGuard<'a, Queue>, bool) {
        if queue.error.is_some() {
            return (queue, false);
        }
        let next = queue.next;
        if queue.packed.contains_key(&next)
            && let Some(sink) = queue.sink.take()
        {
            let mut blocks = Vec::new();
            while let Some(block) = queue.packed.remove(&(next + blocks.len() as u64)) {
                blocks.push(block);
            }
            queue.is_writing = true;
            drop(queue);
            self.write(sink, blocks);
            return (self.queue.lock(), true);
        }
        let Some((number, block)) = queue.waiting.pop_front() else { return (queue, false) };
        drop(queue);
        self.pack(number, block, packer);
        (self.queue.lock(), true)
    }

    fn write(&self, sink: Box<BlockSink>, blocks: Vec<CutBlock>) {
        let mut claim = Claim { shared: self, is_writing: true, is_done: false };
        // Dropped before the claim where something panics.
        let mut sink = sink;
        let mut wanted = blocks.iter().take_while(|_| !self.is_dropped.load(Ordering::Relaxed));
        let written = wanted.try_for_each(|block| sink.write_packed(block));
        claim.is_done = true;
        let mut queue = self.queue.lock();
        queue.next += blocks.len() as u64;
        queue.growth -= blocks.iter().map(|block| block.growth).sum::<u64>();
        queue.size = sink.size();
        queue.sink = Some(sink);
        queue.is_writing = false;
        if let Err(error) = written {
            queue.fail(error);
        }
        queue.bytes -= blocks.iter().map(CutBlock::held_bytes).sum::<usize>();
        if !queue.are_helpers_dismissed {
            queue.spare.extend(blocks.into_iter().filter(|block| block.capacity() <= MOST_SPARE_BYTES));
        }
        drop(queue);
        self.done.notify_one();
    }

    fn pack(&self, number: u64, mut block: CutBlock, packer: &mut Packer) {
        let mut claim = Claim { shared: self, is_writing: false, is_done: false };
        let packed = packer.pack(&block.bytes, &mut block.compressed);
        claim.is_done = true;
        let mut queue = self.queue.lock();
        match packed {
            Ok(stored) => {
                block.stored = stored;
                queue.packed.insert(number, block);
            }
            Err(error) => queue.fail(error),
        }
        drop(queue);
        self.done.notify_one();
    }
}

impl Queue {
    fn most_size(&self) -> SinkSize {
        SinkSize { file: self.size.file + self.growth, ..self.size }
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }
}

/// What a helper does: whatever there is, until no more will come.
fn help(shared: &Shared, mut packer: Packer) {
    let mut queue = shared.queue.lock();
    while !queue.are_helpers_dismissed {
        let (again, did) = shared.work_once(queue, &mut packer);
        queue = again;
        if !did && !queue.are_helpers_dismissed {
            shared.work.wait(&mut queue);
        }
    }
}

/// Work that a thread has taken: if the thread panics, the table has an error.
struct Claim<'a> {
    shared: &'a Shared,
    /// It has the sink.
    is_writing: bool,
    is_done: bool,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            let mut queue = self.shared.queue.lock();
            queue.fail(panicked());
            queue.is_writing &= !self.is_writing;
            drop(queue);
            self.shared.done.notify_one();
        }
    }
}

fn panicked() -> Error {
    Error::new(ErrorKind::Aborted, "a thread that packed and wrote blocks of a table panicked")
}

#[cfg(test)]
mod tests;
