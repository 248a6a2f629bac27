//! Data blocks that are compressed by other threads: `compression_opts.parallel_threads`.
//!
//! ```text
//! add ... add | cut      the builder: block 7 is full
//!                 |
//!   waiting   [ 6 7 ]    packed in any order, by helpers and, when it would wait, by the builder
//!   packing    4 5
//!   packed    [ 3 ]      taken in order: 3 gets its place in the file, then its keys go into filter and index
//! ```
//!
//! Filter and index learn of a block when it is written, as without helpers, so they see the same calls in the same
//! order with the same places in the file, and the table has the same bytes. What they are told is kept with the block.
//! Nothing depends on how fast a helper is: a block is taken when a fixed number of later ones was cut, so the size
//! that the builder estimates, by which tables end, is the same in each run. (Without helpers it is another one, so
//! the tables of a compaction may end at other keys.)
//!
//! Invariants: at most [`BLOCKS_PER_THREAD`] blocks a thread are in memory. The builder never waits for a thread that
//! has not begun: what waits it packs itself, so a helper that never runs costs time only. Helpers hold nothing but the
//! queue; they end when the builder does, and one that panics makes an error of the block that it had.
//!
//! Tried and lost: places that are guessed and corrected afterwards, as for dictionaries. Index partitions are cut by
//! the bytes of their entries, which the places are part of.

use super::TableBuilderParams;
use super::packing::{Packer, Stored};
use super::partition_cut::BlockEnd;
use ferrock_base::{Error, ErrorKind, Result};
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Blocks in memory for each thread.
const BLOCKS_PER_THREAD: usize = 8;

/// Blocks that have to wait for a helper to be woken: a wake costs about as much as a third of a block.
const BLOCKS_FOR_A_HELPER: usize = 4;

/// Threads for one table, at most.
const MOST_THREADS: u32 = 32;

/// A block in the form it is stored in.
#[derive(Debug)]
pub(super) struct PackedBlock {
    pub(super) block: Vec<u8>,
    /// The compressed form, if that is what is stored.
    pub(super) compressed: Vec<u8>,
    pub(super) stored: Stored,
}

/// What filter and index have to be told of a block.
#[derive(Debug, Default)]
pub(super) struct BlockKeys {
    /// The internal keys, one behind the other.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The first key of the next block.
    pub(super) next: Option<Vec<u8>>,
    pub(super) end: BlockEnd,
}

impl BlockKeys {
    pub(super) fn push(&mut self, internal_key: &[u8]) {
        self.bytes.extend_from_slice(internal_key);
        self.ends.push(self.bytes.len());
    }

    /// The block ends before the key `next`.
    pub(super) fn ended(self, next: Option<&[u8]>, end: BlockEnd) -> Self {
        Self { next: next.map(<[u8]>::to_vec), end, ..self }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| self.bytes.get(start..end).unwrap_or_default())
    }
}

/// The blocks that are between being cut and being written.
#[derive(Debug)]
pub(super) struct Pipeline {
    shared: Arc<Shared>,
    packer: Packer,
    /// Of the blocks that were cut, in their order.
    keys: VecDeque<BlockKeys>,
    next_number: u64,
    depth: usize,
    waiting_bytes: u64,
    /// Bytes of the blocks that were taken, before and after.
    taken: (u64, u64),
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is a block to pack, or no more will come.
    work: Condvar,
    /// A block was packed.
    packed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(u64, Vec<u8>)>,
    packed: BTreeMap<u64, Result<PackedBlock>>,
    is_over: bool,
}

impl Pipeline {
    /// `None` where one thread is to do all of it, or there is no other.
    ///
    /// # Errors
    /// Those of [`Packer::new`].
    pub(super) fn new(params: &TableBuilderParams, dictionary: Option<&[u8]>) -> Result<Option<Self>> {
        let threads = params.compression_options.parallel_threads.min(MOST_THREADS);
        // Where a partition of keys ends in a block of its own, blocks are cut by what the index has by then.
        let is_wanted = threads > 1 && !(params.options.partition_cut && params.prefix_extractor.is_some());
        let Some(spawner) = params.spawner.as_ref().filter(|_| is_wanted) else { return Ok(None) };
        let Some(packer) = Packer::new(params, dictionary)? else { return Ok(None) };
        let shared = Arc::<Shared>::default();
        let mut helpers = 0;
        for _ in 1..threads {
            let Some(packer) = Packer::new(params, dictionary)? else { break };
            let own = Arc::clone(&shared);
            // What a helper would do the builder does, if the system has no thread to give.
            let started = spawner.spawn("ferrock-compress", Box::new(move || help(&own, packer)));
            helpers += usize::from(started.is_ok());
        }
        if helpers == 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            shared,
            packer,
            keys: VecDeque::new(),
            next_number: 0,
            depth: (helpers + 1) * BLOCKS_PER_THREAD,
            waiting_bytes: 0,
            taken: (0, 0),
        }))
    }

    /// Hands over a block that was cut.
    pub(super) fn push(&mut self, block: Vec<u8>, keys: BlockKeys) {
        self.waiting_bytes += block.len() as u64;
        self.keys.push_back(keys);
        let waiting = {
            let mut queue = self.shared.queue.lock();
            queue.waiting.push_back((self.next_number, block));
            queue.waiting.len()
        };
        if waiting >= BLOCKS_FOR_A_HELPER {
            self.shared.work.notify_one();
        }
        self.next_number += 1;
    }

    /// True when the oldest block is to be taken before another one is cut.
    pub(super) fn is_full(&self) -> bool {
        self.keys.len() >= self.depth
    }

    /// The oldest block, packed; `None` when there is none.
    ///
    /// # Errors
    /// Those of packing it, and `Aborted` when the thread that had it panicked.
    pub(super) fn take(&mut self) -> Result<Option<(PackedBlock, BlockKeys)>> {
        let number = self.next_number - self.keys.len() as u64;
        let Some(keys) = self.keys.pop_front() else { return Ok(None) };
        let packed = self.packed(number)?;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(packed.block.len() as u64);
        let stored = if packed.stored == Stored::Compressed { &packed.compressed } else { &packed.block };
        self.taken = (self.taken.0 + packed.block.len() as u64, self.taken.1 + stored.len() as u64);
        Ok(Some((packed, keys)))
    }

    fn packed(&mut self, number: u64) -> Result<PackedBlock> {
        let mut queue = self.shared.queue.lock();
        loop {
            if let Some(packed) = queue.packed.remove(&number) {
                return packed;
            }
            let Some((other, block)) = queue.waiting.pop_front() else {
                self.shared.packed.wait(&mut queue);
                continue;
            };
            drop(queue);
            let packed = pack(&mut self.packer, block);
            queue = self.shared.queue.lock();
            queue.packed.insert(other, packed);
        }
    }

    /// Roughly the bytes that the blocks will take which have no place yet: as many as those before them.
    pub(super) fn estimated_size(&self) -> u64 {
        let (before, after) = self.taken;
        if before == 0 { self.waiting_bytes } else { (self.waiting_bytes as f64 * after as f64 / before as f64) as u64 }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.is_over = true;
        queue.waiting.clear();
        self.shared.work.notify_all();
    }
}

fn pack(packer: &mut Packer, block: Vec<u8>) -> Result<PackedBlock> {
    let mut compressed = Vec::new();
    let stored = packer.pack(&block, &mut compressed)?;
    Ok(PackedBlock { block, compressed, stored })
}

/// What a helper does: it packs blocks until no more will come.
fn help(shared: &Shared, mut packer: Packer) {
    let mut queue = shared.queue.lock();
    loop {
        if queue.is_over {
            return;
        }
        let Some((number, block)) = queue.waiting.pop_front() else {
            shared.work.wait(&mut queue);
            continue;
        };
        drop(queue);
        let mut claim = Claim { shared, number, packed: None };
        claim.packed = Some(pack(&mut packer, block));
        drop(claim);
        queue = shared.queue.lock();
    }
}

/// A block that a helper has: whatever becomes of the helper, there is an outcome.
struct Claim<'a> {
    shared: &'a Shared,
    number: u64,
    packed: Option<Result<PackedBlock>>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let panicked = || Err(Error::new(ErrorKind::Aborted, "a thread that compressed a block of a table panicked"));
        let packed = self.packed.take().unwrap_or_else(panicked);
        self.shared.queue.lock().packed.insert(self.number, packed);
        self.shared.packed.notify_one();
    }
}

#[cfg(test)]
mod tests;
