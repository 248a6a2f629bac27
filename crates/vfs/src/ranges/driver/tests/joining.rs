//! Reads that share requests: the requests, the bytes that each read gets, and the reads that are left when some leave.
//!
//! The ring is full when the reads begin, so that all of them wait for one place in it.

use super::*;
use crate::ranges::pool::PoolLimits;
use crate::ranges::ring::MAX_PIECES;
use crate::{ClassSnapshot, IoSnapshot};
use ferrock_base::ErrorKind;
use ferrock_base::clock::ManualClock;
use ferrock_base::thread::StdSpawner;

pub(super) const RING: usize = 256;
/// The requests that keep the ring full read from this offset on.
const BUSY_FROM: u64 = 1 << 30;
const CLASS: ReadClass = ReadClass::Data;
pub(super) const IO_ERROR: i32 = 5;

/// A driver with the maximum of requests in flight.
pub(super) struct Full {
    pub(super) kernel: Arc<Kernel>,
    pool: BufferPool,
    clock: Arc<ManualClock>,
    owned: OwnedDriver,
    file: Arc<()>,
    busy: Vec<DriverTicket>,
    before: IoSnapshot,
}

impl Full {
    pub(super) fn new() -> Self {
        let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
        let clock = Arc::new(ManualClock::new(1_000_000));
        let owned = driver_with_clock(&kernel, &pool, StdSpawner::shared(), Arc::clone(&clock) as Arc<dyn Clock>);
        let file = file();
        let before = IoSnapshot::default();
        let mut full = Self { kernel, pool, clock, owned, file, busy: Vec::new(), before };
        full.fill_up();
        full.before = full.owned.0.counters.snapshot();
        full
    }

    /// Fills the ring again.
    fn fill_up(&mut self) {
        for _ in self.kernel.submitted()..RING {
            self.busy.push(self.start(BUSY_FROM + self.busy.len() as u64 * 1000, 8));
        }
        wait_until(|| self.kernel.submitted() == RING);
    }

    fn spec(&self, start: u64, length: u64) -> ReadSpec {
        spec(&self.file, start, length)
    }

    fn start(&self, start: u64, length: u64) -> DriverTicket {
        self.owned.0.start(self.spec(start, length)).unwrap()
    }

    pub(super) fn start_as(&self, start: u64, length: u64, change: impl FnOnce(&mut ReadContext)) -> DriverTicket {
        let mut spec = self.spec(start, length);
        change(&mut spec.context);
        spec.label.class = spec.context.class;
        self.owned.0.start(spec).unwrap()
    }

    /// Completes so many requests, and returns those that the driver makes instead.
    fn make_room(&self, count: usize) -> Vec<(u64, usize)> {
        (0..count).for_each(|_| assert!(self.kernel.perform_at(0, Manner::Whole)));
        wait_until(|| self.kernel.submitted() == RING);
        self.requests()
    }

    /// The requests in the ring other than those that keep it full.
    fn requests(&self) -> Vec<(u64, usize)> {
        let queues = self.kernel.queues.lock();
        let requests = queues.submitted.iter().filter(|target| target.offset < BUSY_FROM);
        requests.map(|target| (target.offset, target.length)).collect()
    }

    /// Performs the youngest requests, the oldest of them first, and no others.
    fn perform(&self, manners: &[Manner]) {
        let first = self.kernel.submitted() - manners.len();
        manners.iter().for_each(|&manner| assert!(self.kernel.perform_at(first, manner)));
    }

    fn cancelled(&self) -> usize {
        self.kernel.queues.lock().cancelled.iter().filter(|&&target| target < (RING * 2 * MAX_PIECES) as u64).count()
    }

    /// The counts since the ring became full.
    pub(super) fn counted(&self) -> ClassSnapshot {
        self.owned.0.counters.snapshot().class(CLASS).since(self.before.class(CLASS))
    }

    /// Ends all reads, and checks that all memory was returned.
    pub(super) fn finish(self) {
        let Self { kernel, pool, owned, file, busy, .. } = self;
        drop(owned);
        while kernel.perform_at(0, Manner::Whole) {}
        (0..).zip(&busy).for_each(|(n, read)| assert_complete(read, BUSY_FROM + n * 1000, 8));
        drop(busy);
        wait_until(|| pool.usage().in_use_bytes == 0 && Arc::strong_count(&file) == 1);
    }
}

#[test]
fn reads_of_one_block_are_one_request() {
    let full = Full::new();
    let in_use = full.pool.usage().in_use_bytes;
    let reads: Vec<_> = (0..10).map(|_| full.start(5000, 4000)).collect();
    assert_eq!(full.pool.usage().in_use_bytes, in_use, "waiting reads have no memory");
    assert_eq!(full.make_room(1), [(5000, 4000)]);
    let expected = ClassSnapshot { requests: 1, asked_bytes: 40_000, device_bytes: 4000 };
    assert_eq!(full.counted(), expected);
    let calls = full.owned.0.counters.snapshot().read_requests;
    full.perform(&[Manner::Whole]);
    reads.iter().for_each(|read| assert_complete(read, 5000, 4000));
    assert_eq!(full.owned.0.counters.snapshot().read_requests - calls, 1);
    drop(reads);
    full.finish();
}

#[test]
fn memory_is_free_with_the_last_view_of_it() {
    let full = Full::new();
    let reads = [(0, 3000), (3000, 3000), (1000, 10)].map(|(start, length)| full.start(start, length));
    assert_eq!(full.make_room(1), [(0, 6000)]);
    let in_use = full.pool.usage().in_use_bytes;
    full.perform(&[Manner::Whole]);
    let [first, second, third] = reads.map(|read| match outcome(&read) {
        Outcome::Complete(came) => came,
        _ => panic!("it did not complete"),
    });
    assert!(first.is_shared() && second.is_shared() && third.is_shared());
    let view = second.slice(3500, 10).unwrap();
    drop((first, second, third));
    assert_eq!(full.pool.usage().in_use_bytes, in_use, "one buffer for all");
    assert_eq!(view.bytes(), (3500..3510).map(byte_at).collect::<Vec<_>>());
    drop(view);
    // The thread lets its own view go after it woke the readers.
    wait_until(|| full.pool.usage().in_use_bytes == in_use - 8192);
    full.finish();
}

#[test]
fn neighbours_are_one_request_and_others_are_not() {
    let full = Full::new();
    let gap = |context: &mut ReadContext| context.gap_bytes = 100;
    let other = file();
    let reads = [
        full.start_as(10_000, 1000, gap),
        full.start(11_100, 1000),
        full.start(8900, 1000),
        // Both one byte too far away: they touch each other.
        full.start(12_201, 1000),
        full.start(13_201, 99),
    ];
    let of_other = full.owned.0.start(spec(&other, 10_000, 1000)).unwrap();
    assert_eq!(full.make_room(3), [(8900, 3200), (12_201, 1099), (10_000, 1000)]);
    let expected = ClassSnapshot { requests: 3, asked_bytes: 3000 + 1099 + 1000, device_bytes: 3200 + 1099 + 1000 };
    assert_eq!(full.counted(), expected);
    full.perform(&[Manner::Whole; 3]);
    let places = [(10_000, 1000), (11_100, 1000), (8900, 1000), (12_201, 1000), (13_201, 99)];
    places.iter().zip(&reads).for_each(|(&(start, length), read)| assert_complete(read, start, length));
    assert_complete(&of_other, 10_000, 1000);
    drop((reads, of_other));
    full.finish();
}

#[test]
fn the_oldest_goes_first_and_says_how_long_a_request_is() {
    let full = Full::new();
    let short = |context: &mut ReadContext| context.max_request_bytes = 2000;
    let reads: Vec<_> = [7000, 3000, 2000, 8000, 9000, 1000].map(|start| full.start_as(start, 1000, short)).into();
    let expected = [(7000, 2000), (2000, 2000), (9000, 1000), (1000, 1000)];
    assert_eq!(full.make_room(4), expected, "in the order of their oldest, and not longer");
    full.perform(&[Manner::Whole; 4]);
    [7000, 3000, 2000, 8000, 9000, 1000]
        .iter()
        .zip(&reads)
        .for_each(|(&start, read)| assert_complete(read, start, 1000));
    drop(reads);
    full.finish();
}

#[test]
fn one_that_is_dropped_takes_nothing_from_the_others() {
    let mut full = Full::new();
    let mut reads: Vec<_> = [(0, 100), (100, 100), (200, 100), (100, 100)].map(|(at, n)| full.start(at, n)).into();
    // Dropped while it waits: its bytes are not read.
    drop(reads.remove(2));
    assert_eq!(full.make_room(1), [(0, 200)]);
    // Dropped in flight.
    drop(reads.remove(0));
    drop(reads.remove(0));
    assert_eq!(full.cancelled(), 0, "one read still waits");
    full.perform(&[Manner::Whole]);
    assert_complete(&reads[0], 100, 100);
    drop(reads);
    // The last of them abandons the request.
    full.fill_up();
    let (first, second) = (full.start(0, 100), full.start(0, 100));
    full.make_room(1);
    drop(first);
    assert_eq!(full.cancelled(), 0);
    drop(second);
    assert_eq!(full.cancelled(), 1);
    full.finish();
}

#[test]
fn time_is_over_for_one_of_two() {
    let full = Full::new();
    let patient = full.start(0, 100);
    let hasty = full.owned.0.start(ReadSpec { end_us: 2_000_000, ..full.spec(0, 100) }).unwrap();
    let both_hasty =
        [50, 60].map(|at| full.owned.0.start(ReadSpec { end_us: 3_000_000, ..full.spec(at << 10, 100) }).unwrap());
    full.make_room(3);
    full.clock.advance(Duration::from_secs(1));
    assert!(matches!(outcome(&hasty), Outcome::Late));
    assert_eq!(full.cancelled(), 0);
    full.clock.advance(Duration::from_secs(1));
    assert!(both_hasty.iter().all(|read| matches!(outcome(read), Outcome::Late)));
    wait_until(|| full.cancelled() == 2);
    assert!(patient.poll(&Context::from_waker(Waker::noop())).is_pending());
    full.perform(&[Manner::Whole; 3]);
    assert_complete(&patient, 0, 100);
    drop((patient, hasty, both_hasty));
    full.finish();
}

#[test]
fn an_error_is_told_to_those_whose_bytes_it_concerns() {
    let mut full = Full::new();
    let reads = [(0, 100), (100, 100), (200, 100)].map(|(start, length)| full.start(start, length));
    assert_eq!(full.make_room(1), [(0, 300)]);
    full.perform(&[Manner::Error(IO_ERROR)]);
    // Each is read by a request of its own; a read that begins now does not join them.
    assert_eq!(full.make_room(2), [(0, 100), (100, 100), (200, 100)]);
    full.perform(&[Manner::Error(IO_ERROR), Manner::Whole, Manner::Error(IO_ERROR)]);
    assert!(matches!(outcome(&reads[0]), Outcome::WithoutRing));
    assert_complete(&reads[1], 100, 100);
    assert!(matches!(outcome(&reads[2]), Outcome::WithoutRing));
    assert_eq!(full.counted().requests, 4);
    // All bytes are bad: all reads fail.
    full.fill_up();
    let same = [(0, 100), (0, 100)].map(|(start, length)| full.start(start, length));
    full.make_room(1);
    full.perform(&[Manner::Error(IO_ERROR)]);
    assert_eq!(full.make_room(1), [(0, 100); 2]);
    full.perform(&[Manner::Error(IO_ERROR); 2]);
    assert!(same.iter().all(|read| matches!(outcome(read), Outcome::WithoutRing)));
    drop((reads, same));
    full.finish();
}

#[test]
fn what_a_short_read_brought_is_used() {
    let full = Full::new();
    let reads = [(0, 100), (100, 100), (200, 100)].map(|(start, length)| full.start(start, length));
    full.make_room(1);
    full.perform(&[Manner::Short(250)]);
    assert_complete(&reads[0], 0, 100);
    assert_complete(&reads[1], 100, 100);
    assert_eq!(full.make_room(0), [(200, 100)]);
    full.perform(&[Manner::Short(99)]);
    assert!(matches!(outcome(&reads[2]), Outcome::WithoutRing), "what is wrong with it is found out otherwise");
    drop(reads);
    full.finish();
}

#[test]
fn without_memory_for_all_there_may_be_some_for_one() {
    let full = Full::new();
    let in_use_bytes = full.pool.usage().in_use_bytes;
    // Room for one small buffer; the first to complete gives back another.
    full.pool.set_limits(PoolLimits { total_bytes: in_use_bytes, ..PoolLimits::default() });
    let reads = [0, 4096, 8192].map(|start| full.start(start, 4096));
    let Full { busy, .. } = &full;
    assert!(full.kernel.perform_at(0, Manner::Whole));
    assert_complete(&busy[0], BUSY_FROM, 8);
    // The thread looks again when something completes.
    assert!(full.kernel.perform_at(0, Manner::Whole));
    wait_until(|| full.requests() == [(0, 4096)]);
    assert!(full.pool.usage().in_use_bytes <= in_use_bytes);
    full.pool.set_limits(PoolLimits::default());
    assert!(full.kernel.perform_at(0, Manner::Whole));
    // The other two share a request, but for a driver that looked while the limit changed: it found no memory for both,
    // and then some for one.
    wait_until(|| full.requests().iter().map(|&(_, length)| length).sum::<usize>() == 3 * 4096);
    let requests = full.requests();
    assert!([&[(0, 4096), (4096, 8192)][..], &[(0, 4096), (4096, 4096), (8192, 4096)]].contains(&&requests[..]));
    full.perform(&vec![Manner::Whole; requests.len()]);
    [0, 4096, 8192].iter().zip(&reads).for_each(|(&start, read)| assert_complete(read, start, 4096));
    drop(reads);
    let mut full = full;
    full.busy.clear();
    full.finish();
    // No memory is in use that could be returned: the read is refused.
    let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
    pool.set_limits(PoolLimits { total_bytes: 4096, ..PoolLimits::default() });
    let owned = driver(&kernel, &pool, StdSpawner::shared());
    let read = owned.0.start(spec(&file(), 0, 5000)).unwrap();
    assert!(matches!(outcome(&read), Outcome::Refused(error) if error.kind() == ErrorKind::MemoryLimit));
}

#[test]
fn only_reads_of_final_bytes_join_what_is_in_flight() {
    let mut full = Full::new();
    let is_final = |context: &mut ReadContext| context.is_final = true;
    let first = full.start(1000, 1000);
    assert_eq!(full.make_room(1), [(1000, 1000)]);
    let joined = [(1000, 1000), (1500, 10)].map(|(start, length)| full.start_as(start, length, is_final));
    let own = [full.start(1000, 1000), full.start_as(1999, 2, is_final)];
    assert_eq!(full.make_room(1), [(1000, 1000), (1000, 1001)], "one read that may not join, and one of more bytes");
    let expected = ClassSnapshot { requests: 2, asked_bytes: 2000 + 1010 + 2, device_bytes: 2001 };
    assert_eq!(full.counted(), expected);
    // The read that began it may be dropped.
    drop(first);
    assert_eq!(full.cancelled(), 0);
    full.perform(&[Manner::Whole; 2]);
    assert_complete(&joined[0], 1000, 1000);
    assert_complete(&joined[1], 1500, 10);
    assert_complete(&own[0], 1000, 1000);
    assert_complete(&own[1], 1999, 2);
    drop((joined, own));
    // An abandoned request serves no read.
    full.fill_up();
    let given_up = full.start(1000, 1000);
    full.make_room(1);
    drop(given_up);
    let read = full.start_as(1000, 1000, is_final);
    assert_eq!(full.make_room(1), [(1000, 1000); 2]);
    full.perform(&[Manner::Error(125), Manner::Whole]);
    assert_complete(&read, 1000, 1000);
    drop(read);
    full.finish();
}

#[test]
fn requests_are_labelled_as_their_oldest() {
    let full = Full::new();
    let reads = [ReadClass::Index, CLASS].map(|class| full.start_as(0, 100, |context| context.class = class));
    full.make_room(1);
    let counted = full.owned.0.counters.snapshot();
    let label = ReadLabel { class: ReadClass::Index, asked_bytes: 200 };
    let expected = ClassSnapshot { requests: 1, asked_bytes: label.asked_bytes, device_bytes: 100 };
    assert_eq!((counted.class(label.class), full.counted()), (expected, ClassSnapshot::default()));
    full.perform(&[Manner::Whole]);
    drop(reads);
    full.finish();
}
