//! Files that are copied, written or read for their checksums, by several threads.
//!
//! ```text
//! plan: [Transfer] --> a counter that threads take the next one from --> [Transferred], in the order of the plan
//!                                  |-- progress, told by one thread at a time
//!                                  `-- the first error: the others finish the file that they are at, and no more
//! ```
//!
//! The calling thread is one of the threads, so a machine that gives no other copies all the same.

use super::options::ProgressCallback;
use crate::copying::{CHUNK_BYTES, Copier, CopyProgress};
use ferrock_base::checksum::crc32c_extend;
use ferrock_base::sync::Mutex;
use ferrock_base::thread::{Join, Spawner};
use ferrock_base::{Error, Result, Temperature};
use ferrock_vfs::{FileSystem, IoKind, IoPriority, SequentialOptions, WritableOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One file.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) source: Source,
    /// Where it goes; `None`: it is only read.
    pub(super) target: Option<PathBuf>,
    /// A hint for the place of the target.
    pub(super) temperature: Temperature,
    /// What its checksum must be.
    pub(super) crc32c: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) enum Source {
    /// The first bytes of a file, or all of them.
    File { path: PathBuf, length_bytes: Option<u64> },
    /// These bytes.
    Contents(Vec<u8>),
}

/// What was transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Transferred {
    pub(super) size_bytes: u64,
    pub(super) crc32c: u32,
}

impl Transfer {
    /// A file that is read for its checksum.
    pub(super) fn read(path: PathBuf, length_bytes: Option<u64>) -> Self {
        let source = Source::File { path, length_bytes };
        Self { source, target: None, temperature: Temperature::Unknown, crc32c: None }
    }

    fn check(&self, done: Transferred) -> Result<Transferred> {
        match self.crc32c {
            Some(expected) if expected != done.crc32c => {
                let what = format!("the checksum is {:#010x} and must be {expected:#010x}", done.crc32c);
                let error = Error::corruption(what);
                Err(match &self.source {
                    Source::File { path, .. } => error.in_file(path),
                    Source::Contents(_) => error,
                })
            }
            _ => Ok(done),
        }
    }
}

/// Tells a callback how far a copy is.
pub(super) struct Meter {
    callback: ProgressCallback,
    interval_bytes: u64,
    /// What is done, and what of it was told.
    state: Mutex<(CopyProgress, u64)>,
}

impl Meter {
    pub(super) fn new(callback: &ProgressCallback, interval_bytes: u64, files: u64, bytes: u64) -> Self {
        let progress = CopyProgress { files, bytes, ..CopyProgress::default() };
        Self { callback: Arc::clone(callback), interval_bytes: interval_bytes.max(1), state: Mutex::new((progress, 0)) }
    }

    /// Counts bytes, and tells of them when the interval has passed.
    pub(super) fn add_bytes(&self, bytes: u64) {
        let mut state = self.state.lock();
        state.0.bytes_done += bytes;
        if state.0.bytes_done - state.1 >= self.interval_bytes {
            state.1 = state.0.bytes_done;
            (self.callback)(state.0);
        }
    }

    /// Counts a file whose bytes were counted. The last one is told of.
    pub(super) fn add_file(&self) {
        let mut state = self.state.lock();
        state.0.files_done += 1;
        if state.0.files_done == state.0.files {
            (self.callback)(state.0);
        }
    }
}

/// What threads that transfer share.
#[derive(Clone)]
pub(super) struct Transfers {
    pub(super) from: Arc<dyn FileSystem>,
    pub(super) to: Arc<dyn FileSystem>,
    pub(super) copier: Copier,
    pub(super) meter: Option<Arc<Meter>>,
    pub(super) threads: u32,
    pub(super) spawner: Arc<dyn Spawner>,
}

struct Run {
    transfers: Transfers,
    plan: Vec<Transfer>,
    next: AtomicUsize,
    has_failed: AtomicBool,
    results: Mutex<Vec<Option<Result<Transferred>>>>,
}

impl Transfers {
    /// Transfers everything, or fails with the error of the first file of the plan that has one. Targets that were
    /// begun are then left for the caller to remove.
    pub(super) fn run(&self, plan: Vec<Transfer>) -> Result<Vec<Transferred>> {
        let results = Mutex::new(plan.iter().map(|_| None).collect());
        let threads = (self.threads as usize).min(plan.len());
        let run = Arc::new(Run {
            transfers: self.clone(),
            plan,
            next: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            results,
        });
        let mut others: Vec<Box<dyn Join>> = Vec::new();
        for _ in 1..threads {
            let run = Arc::clone(&run);
            // Without another thread it takes longer.
            let Ok(thread) = self.spawner.spawn("ferrock-backup", Box::new(move || run.work())) else { break };
            others.push(thread);
        }
        run.work();
        others.into_iter().try_for_each(|thread| thread.join())?;
        let mut results = std::mem::take(&mut *run.results.lock());
        let done: Vec<Transferred> = results.iter_mut().filter_map(Option::take).collect::<Result<_>>()?;
        if done.len() != run.plan.len() {
            return Err(Error::new(ferrock_base::ErrorKind::Aborted, "files were left out of a copy"));
        }
        Ok(done)
    }

    fn transfer(&self, transfer: &Transfer) -> Result<Transferred> {
        self.copier.check()?;
        let done = match (&transfer.source, &transfer.target) {
            (Source::File { path, length_bytes }, Some(target)) => {
                self.copy(path, *length_bytes, target, transfer.temperature)?
            }
            (Source::File { path, length_bytes }, None) => self.read(path, *length_bytes)?,
            (Source::Contents(contents), target) => {
                if let Some(target) = target {
                    self.copier.write(&*self.to, target, contents)?;
                }
                self.count(contents.len() as u64);
                Transferred { size_bytes: contents.len() as u64, crc32c: crc32c_extend(0, contents) }
            }
        };
        if let Some(meter) = &self.meter {
            meter.add_file();
        }
        transfer.check(done)
    }

    fn copy(&self, from: &Path, length: Option<u64>, to: &Path, temperature: Temperature) -> Result<Transferred> {
        let options = WritableOptions { temperature, ..WritableOptions::default() };
        let mut crc32c = 0;
        let size_bytes = self.copier.copy((&*self.from, from), (&*self.to, to), length, &options, &mut |piece| {
            crc32c = crc32c_extend(crc32c, piece);
            self.count(piece.len() as u64);
        })?;
        Ok(Transferred { size_bytes, crc32c })
    }

    fn read(&self, path: &Path, length_bytes: Option<u64>) -> Result<Transferred> {
        let mut file = self.from.open_sequential(path, &SequentialOptions::default())?;
        let limiter = self.copier.rate_limiter.as_ref().filter(|limiter| limiter.limits(IoKind::Read));
        let chunk_bytes = if self.copier.chunk_bytes == 0 { CHUNK_BYTES } else { self.copier.chunk_bytes };
        let mut buffer = vec![0; chunk_bytes];
        let mut done = Transferred::default();
        loop {
            self.copier.check()?;
            let left = length_bytes.map_or(u64::MAX, |length| length - done.size_bytes);
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let read = if wanted == 0 { 0 } else { file.read(&mut buffer[..wanted])? };
            if read == 0 {
                break;
            }
            if let Some(limiter) = limiter {
                limiter.request(read as u64, IoPriority::Low);
            }
            done.size_bytes += read as u64;
            done.crc32c = crc32c_extend(done.crc32c, &buffer[..read]);
            self.count(read as u64);
        }
        if let Some(length) = length_bytes.filter(|length| *length != done.size_bytes) {
            let what = format!("{} bytes of {length}: the file is shorter than it has to be", done.size_bytes);
            return Err(Error::corruption(what).in_file(path));
        }
        Ok(done)
    }

    fn count(&self, bytes: u64) {
        if let Some(meter) = &self.meter {
            meter.add_bytes(bytes);
        }
    }
}

impl Run {
    /// Transfers what no other thread has taken.
    fn work(&self) {
        while !self.has_failed.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(transfer) = self.plan.get(index) else { return };
            let result = self.transfers.transfer(transfer);
            if result.is_err() {
                self.has_failed.store(true, Ordering::Relaxed);
            }
            if let Some(place) = self.results.lock().get_mut(index) {
                *place = Some(result);
            }
        }
    }
}
