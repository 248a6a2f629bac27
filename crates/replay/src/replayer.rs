//! Operations asked of a database again, at the times of the trace.
//!
//! ```text
//! trace --> calling thread: reads, waits until an operation is due --> bounded queue --> threads: ask the database
//!                                                            one thread: asks itself
//! ```
//!
//! With one thread operations come in the order of the trace. With several of them an operation may pass another one,
//! as it may have where it was traced.

use crate::reader::{TraceReader, TracedOperation};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::thread::{Spawner, StdSpawner};
use ferrock_base::{Error, Result};
use ferrock_engine::{ColumnFamily, Db, ReadOptions, WriteBatch, WriteOptions};
use ferrock_format::trace::{Operation, SeekDirection};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Operations that may be read ahead for each thread.
const QUEUE_PER_THREAD: usize = 64;

/// How a trace is replayed.
///
/// ```
/// use ferrock::replay::ReplayOptions;
/// let mut options = ReplayOptions::default();
/// options.fast_forward = f64::INFINITY; // without waiting
/// options.threads = 4;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOptions {
    /// Threads that ask the database; 0 and 1: the calling one.
    pub threads: usize,
    /// So many times as fast as it was traced; more than 0. `f64::INFINITY` waits for nothing.
    pub fast_forward: f64,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { threads: 1, fast_forward: 1.0 }
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Batches that were written.
    pub writes: u64,
    /// Keys that were read.
    pub gets: u64,
    /// Keys of these that were there.
    pub gets_found: u64,
    /// Seeks in both directions.
    pub seeks: u64,
    /// Seeks that came to a key.
    pub seeks_found: u64,
    /// Calls that read keys at once.
    pub multi_gets: u64,
    /// Keys that they read.
    pub multi_get_keys: u64,
    /// Whether the trace was ended by the program that wrote it; false where it stops in the middle.
    pub is_complete: bool,
}

impl ReplayReport {
    /// Operations of every kind.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.writes + self.gets + self.seeks + self.multi_gets
    }
}

/// Asks a database what a trace says.
///
/// The database needs column families with the ids that those of the traced one had: a checkpoint or a backup from
/// before the trace has them, and families that are created in the same order.
pub struct Replayer {
    reader: TraceReader,
    target: Arc<Target>,
    clock: Arc<dyn Clock>,
    spawner: Arc<dyn Spawner>,
    progress: Option<Box<dyn FnMut(u64) + Send>>,
}

impl std::fmt::Debug for Replayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replayer").field("trace", &self.reader.path()).finish_non_exhaustive()
    }
}

impl Replayer {
    /// Replays `reader`, from where it is, to the families that `db` has now.
    #[must_use]
    pub fn new(db: &Db, reader: TraceReader) -> Self {
        Self::with_families(db, db.column_families(), reader)
    }

    /// As [`new`](Self::new), but with these families alone. Batches are written whatever they are.
    #[must_use]
    pub fn with_families(db: &Db, families: Vec<ColumnFamily>, reader: TraceReader) -> Self {
        let families = families.into_iter().map(|family| (family.id(), family)).collect();
        Self {
            reader,
            target: Arc::new(Target { db: db.clone(), families, counts: Counts::default() }),
            clock: SystemClock::shared(),
            spawner: StdSpawner::shared(),
            progress: None,
        }
    }

    /// With another clock than the machine's, which `replay` sleeps by.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Tells `progress` of each operation that [`replay`](Self::replay) comes to: the bytes of the trace before it.
    #[must_use]
    pub fn with_progress(mut self, progress: impl FnMut(u64) + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// The trace.
    pub fn reader(&mut self) -> &mut TraceReader {
        &mut self.reader
    }

    /// When the trace began, in microseconds since the epoch.
    #[must_use]
    pub fn start_us(&self) -> u64 {
        self.reader.start_us()
    }

    /// Asks for one operation, without waiting.
    ///
    /// # Errors
    /// `InvalidArgument` for a family that the database does not have, naming its id; `Corruption` for a batch that is
    /// damaged; those of the operation. A key that is not there is none.
    pub fn execute(&self, operation: &TracedOperation) -> Result<()> {
        self.target.perform(operation.clone()).map_err(|error| error.in_file(self.reader.path()))
    }

    /// Asks for all operations that are left, each when as much time has passed since the call as had passed since the
    /// beginning of the trace, divided by [`fast_forward`](ReplayOptions::fast_forward).
    ///
    /// # Errors
    /// `InvalidArgument` for options out of their bounds; those of the trace and of [`execute`](Self::execute). The
    /// first one ends the replay: what comes behind it is not asked for, but for what other threads have begun.
    pub fn replay(&mut self, options: &ReplayOptions) -> Result<ReplayReport> {
        if options.fast_forward.is_nan() || options.fast_forward <= 0.0 {
            // RocksDB's message.
            return Err(Error::invalid_argument("Wrong fast forward speed!"));
        }
        self.target.counts.reset();
        let played = match options.threads {
            0 | 1 => {
                let target = Arc::clone(&self.target);
                self.each_when_due(options, |operation| target.perform(operation))
            }
            threads => self.replay_by(threads, options),
        };
        played.map_err(|error| error.in_file(self.reader.path()))?;
        Ok(ReplayReport { is_complete: self.reader.is_complete(), ..self.target.counts.report() })
    }

    fn each_when_due(
        &mut self,
        options: &ReplayOptions,
        mut perform: impl FnMut(TracedOperation) -> Result<()>,
    ) -> Result<()> {
        let begun_us = self.clock.monotonic_us();
        while let Some(operation) = self.reader.next_operation()? {
            let traced_us = operation.timestamp_us.saturating_sub(self.reader.start_us());
            let due_us = (traced_us as f64 / options.fast_forward) as u64;
            let passed_us = self.clock.monotonic_us() - begun_us;
            if due_us > passed_us {
                self.clock.sleep(Duration::from_micros(due_us - passed_us));
            }
            if let Some(progress) = &mut self.progress {
                progress(operation.offset);
            }
            perform(operation)?;
        }
        Ok(())
    }

    fn replay_by(&mut self, threads: usize, options: &ReplayOptions) -> Result<()> {
        let (sender, receiver) = sync_channel(QUEUE_PER_THREAD.saturating_mul(threads));
        let shared = Arc::new(Shared {
            queue: Mutex::new(receiver),
            failure: Mutex::default(),
            has_failed: AtomicBool::new(false),
        });
        let mut joins = Vec::new();
        let mut played = Ok(());
        for _ in 0..threads {
            let (shared, target) = (Arc::clone(&shared), Arc::clone(&self.target));
            match self.spawner.spawn("ferrock-replay", Box::new(move || shared.serve(&target))) {
                Ok(join) => joins.push(join),
                // Fewer threads do; none does not.
                Err(error) if joins.is_empty() => played = Err(error),
                Err(_) => break,
            }
        }
        if played.is_ok() {
            played = self.each_when_due(options, |operation| shared.give(&sender, operation));
        }
        drop(sender);
        for join in joins {
            played = played.and(join.join());
        }
        let failure = shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(played, Err)
    }
}

/// What the threads of a replay share.
struct Shared {
    queue: Mutex<Receiver<TracedOperation>>,
    failure: Mutex<Option<Error>>,
    has_failed: AtomicBool,
}

impl Shared {
    fn give(&self, sender: &SyncSender<TracedOperation>, operation: TracedOperation) -> Result<()> {
        let is_over = self.has_failed.load(Ordering::Relaxed) || sender.send(operation).is_err();
        // The failure itself stands in its place; this one only ends the reading.
        if is_over {
            Err(Error::new(ferrock_base::ErrorKind::Aborted, "a thread of the replay has failed"))
        } else {
            Ok(())
        }
    }

    fn serve(&self, target: &Target) {
        loop {
            let next = self.queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(operation) = next else { return };
            // The queue is emptied, so that the reading thread does not wait.
            if self.has_failed.load(Ordering::Relaxed) {
                continue;
            }
            if let Err(error) = target.perform(operation) {
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                self.has_failed.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The database that is asked.
struct Target {
    db: Db,
    families: HashMap<u32, ColumnFamily>,
    counts: Counts,
}

impl Target {
    fn family(&self, id: u32) -> Result<&ColumnFamily> {
        self.families.get(&id).ok_or_else(|| {
            Error::invalid_argument(format!(
                "the trace reads column family {id}, which is not among those of the replay: create the families in \
                 the order in which the traced database did"
            ))
        })
    }

    fn perform(&self, traced: TracedOperation) -> Result<()> {
        let offset = traced.offset;
        self.ask(traced.operation).map_err(|error| error.at_offset(offset))
    }

    fn ask(&self, operation: Operation) -> Result<()> {
        let (counts, options) = (&self.counts, ReadOptions::default());
        match operation {
            Operation::Write { batch } => {
                self.db.write(WriteBatch::from_data(batch)?, &WriteOptions::default())?;
                counts.writes.fetch_add(1, Ordering::Relaxed);
            }
            Operation::Get { family, key } => {
                let found = self.db.get_cf(self.family(family)?, &options, &key)?.is_some();
                counts.gets.fetch_add(1, Ordering::Relaxed);
                counts.gets_found.fetch_add(found.into(), Ordering::Relaxed);
            }
            Operation::Seek { direction, family, key, lower, upper } => {
                let options = ReadOptions { lower_bound: lower, upper_bound: upper, ..options };
                let mut iter = self.db.iter_cf(self.family(family)?, &options);
                match direction {
                    SeekDirection::Forward => iter.seek(&key),
                    SeekDirection::Backward => iter.seek_for_prev(&key),
                }
                iter.status()?;
                counts.seeks.fetch_add(1, Ordering::Relaxed);
                counts.seeks_found.fetch_add(iter.valid().into(), Ordering::Relaxed);
            }
            Operation::MultiGet { keys } => {
                let named = keys.iter().map(|(id, key)| Ok((self.family(*id)?, key.as_slice())));
                let named = named.collect::<Result<Vec<_>>>()?;
                self.db.multi_get_families(&options, &named).into_iter().try_for_each(|found| found.map(drop))?;
                counts.multi_gets.fetch_add(1, Ordering::Relaxed);
                counts.multi_get_keys.fetch_add(keys.len() as u64, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// What was asked for, by all threads.
#[derive(Default)]
struct Counts {
    writes: AtomicU64,
    gets: AtomicU64,
    gets_found: AtomicU64,
    seeks: AtomicU64,
    seeks_found: AtomicU64,
    multi_gets: AtomicU64,
    multi_get_keys: AtomicU64,
}

impl Counts {
    fn reset(&self) {
        let all = [&self.writes, &self.gets, &self.gets_found, &self.seeks, &self.seeks_found, &self.multi_gets];
        all.into_iter().chain([&self.multi_get_keys]).for_each(|count| count.store(0, Ordering::Relaxed));
    }

    fn report(&self) -> ReplayReport {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ReplayReport {
            writes: now(&self.writes),
            gets: now(&self.gets),
            gets_found: now(&self.gets_found),
            seeks: now(&self.seeks),
            seeks_found: now(&self.seeks_found),
            multi_gets: now(&self.multi_gets),
            multi_get_keys: now(&self.multi_get_keys),
            is_complete: false,
        }
    }
}
