//! A cell: one workload on one engine, in a process of its own.
//!
//! ```text
//! open -> warm up (all rows, checked) -> timed part -> settle (flush, compactions) -> check of all rows -> close
//!                                        |<---- CPU time, bytes written ---------->|
//! ```
//!
//! What the engine puts off is waited for, and is charged to CPU and bytes, not to the operations.

use super::arguments::{CellArguments, Column};
use super::data::{Model, key, loaded_generation};
use super::fault::Faulty;
use super::target::{Target, open_by_c, open_natively};
use super::trouble::{Outcome, Trouble};
use super::usage::{Usage, now_ns, peak_resident_bytes};
use super::worker::{Measured, Shared, Worker};
use super::workload::{Start, Work, Workload};
use crate::permutation::Permutation;
use ferrock_base::clock::SystemClock;
use ferrock_c_library::Functions;
use ferrock_console::failure::{Failure, Result};
use ferrock_vfs::default_file_system;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Puts a second of the writer beside readers.
const WRITES_BESIDE: u64 = 20_000;
/// A warm-up or a check of all rows is not ended by the clock.
const NO_LIMIT: u64 = u64::MAX;

/// Runs a cell and prints one JSON object.
///
/// # Errors
/// `Data` when a value is wrong, `NotDone` when the engine refuses.
pub fn run_cell(arguments: &CellArguments) -> Result<()> {
    let workload = Workload::named(&arguments.workload)
        .ok_or_else(|| Failure::Usage(format!("there is no workload `{}`", arguments.workload)))?;
    let result = Cell { arguments, workload }.run().map_err(|trouble| match trouble {
        Trouble::Wrong(message) => Failure::Data(message),
        Trouble::NotDone(message) => Failure::NotDone(message),
    })?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{result}").and_then(|()| out.flush())?;
    Ok(())
}

struct Cell<'a> {
    arguments: &'a CellArguments,
    workload: Workload,
}

impl Cell<'_> {
    fn open(&self) -> Outcome<Box<dyn Target>> {
        let (directory, options) = (&self.arguments.directory, self.arguments.shape.options());
        let target = match self.arguments.column {
            Column::Native => open_natively(directory, &options)?,
            Column::Rocksdb | Column::Ferrock => {
                let library = self.arguments.library.as_deref();
                let library = library.ok_or_else(|| Trouble::NotDone("no library is named".to_owned()))?;
                let functions = Functions::load(library).map_err(Trouble::NotDone)?;
                open_by_c(functions, directory, &options)?
            }
        };
        Ok(match self.arguments.fault {
            Some(fault) => Box::new(Faulty::new(target, fault)),
            None => target,
        })
    }

    fn run(&self) -> Outcome<Value> {
        let shape = &self.arguments.shape;
        let (num, work) = (shape.num, self.workload.work);
        let operations = self.workload.operations(num);
        let model = match (self.workload.start, work) {
            (Start::Empty, _) => Model::new(0, num, shape.value_size),
            // More than the five in a hundred that are inserts.
            (_, Work::Ycsb(_)) => Model::new(num, operations / 8 + 64 * shape.threads, shape.value_size),
            _ => Model::new(num, 0, shape.value_size),
        };
        let target = self.open()?;
        if work == Work::Load {
            return self.load(&*target, &model).map(|()| json!({}));
        }
        if self.workload.start != Start::Empty {
            self.all_rows(&*target, &model)?;
        }
        let before = Usage::now();
        let (measured, target) = match work {
            Work::Compact => (self.compact(&*target)?, target),
            Work::Reopen => self.reopen(target, &model, operations)?,
            _ => (self.timed(&*target, &model, operations)?, target),
        };
        let (timed, peak) = (Usage::now(), peak_resident_bytes());
        let settling = now_ns();
        if self.workload.start != Start::Base {
            target.flush()?;
            target.wait()?;
        }
        let (settle_ns, used) = (now_ns() - settling, Usage::now().since(&before));
        if self.workload.start != Start::Base {
            self.all_rows(&*target, &model)?;
        }
        drop(target);
        let count = measured.operations.max(1) as f64;
        let spent = measured.engine_ns.max(1) as f64 / self.threads() as f64;
        let samples = measured.latency.count() as f64;
        // Of fewer samples than one beyond it, a percentile says nothing.
        let percentile = |percent: f64| {
            let is_told = samples * (100.0 - percent) >= 99.9;
            is_told.then(|| measured.latency.percentile(percent) / 1e3)
        };
        Ok(json!({
            "operations": measured.operations,
            "operations_per_second": count * 1e9 / spent,
            "engine_seconds": spent / 1e9,
            "engine_us_per_operation": measured.engine_ns as f64 / 1e3 / count,
            "p50_us": percentile(50.0),
            "p90_us": percentile(90.0),
            "p99_us": percentile(99.0),
            "p999_us": percentile(99.9),
            "max_us": measured.latency.max() as f64 / 1e3,
            "cpu_us_per_operation": used.cpu_ns as f64 / 1e3 / count,
            "peak_memory_bytes": peak,
            "read_bytes": used.read_bytes,
            "written_bytes": used.written_bytes,
            "disk_bytes": disk_bytes(&self.arguments.directory)?,
            "settle_seconds": settle_ns as f64 / 1e9,
            "other_cpus": timed.since(&before).other_cpus,
        }))
    }

    /// Threads whose calls are counted.
    fn threads(&self) -> u64 {
        if matches!(self.workload.work, Work::Compact | Work::Reopen) { 1 } else { self.arguments.shape.threads }
    }

    /// The loaded database: every key in random order, compacted, then a twentieth of them again in two tables.
    fn load(&self, target: &dyn Target, model: &Model) -> Outcome<()> {
        let shape = &self.arguments.shape;
        let shared = self.shared(target, model, 1, NO_LIMIT);
        let mut worker = Worker::new(&shared, 0, shape.seed);
        let permutation = Permutation::new(shape.num, shape.seed);
        worker.fill((0..shape.num).map(|place| permutation.at(place)), false)?;
        target.flush()?;
        target.compact()?;
        let half = shape.num / 2;
        for part in [0..half, half..shape.num] {
            worker.fill(part.filter(|number| loaded_generation(*number) == 2), false)?;
            target.flush()?;
        }
        target.wait()?;
        self.all_rows(target, model)
    }

    fn shared<'a>(&self, target: &'a dyn Target, model: &'a Model, threads: u64, deadline_ns: u64) -> Shared<'a> {
        let num = self.arguments.shape.num;
        Shared { target, model, num, threads, deadline_ns, stop: AtomicBool::new(false) }
    }

    /// Reads and checks every row.
    fn all_rows(&self, target: &dyn Target, model: &Model) -> Outcome<()> {
        let shared = self.shared(target, model, 1, NO_LIMIT);
        Worker::new(&shared, 0, 0).full_scan(NO_LIMIT, false)
    }

    fn deadline_ns(&self) -> u64 {
        now_ns() + (self.arguments.shape.seconds * 1e9) as u64
    }

    /// The timed part of all workloads but two, on as many threads as are asked for.
    fn timed(&self, target: &dyn Target, model: &Model, operations: u64) -> Outcome<Measured> {
        let (shape, work) = (&self.arguments.shape, self.workload.work);
        let shared = self.shared(target, model, shape.threads, self.deadline_ns());
        let permutation = Permutation::new(shape.num, shape.seed);
        let count = operations.div_ceil(shape.threads);
        let seed = shape.seed.wrapping_add(u64::from(self.arguments.round) << 48);
        let run = |index: u64| {
            let mut worker = Worker::new(&shared, index, seed);
            let part = index * count..((index + 1) * count).min(operations);
            let done = match work {
                Work::FillSeq => worker.fill(part, false),
                Work::FillRandom => worker.fill(part.map(|place| permutation.at(place)), false),
                Work::FillSync => worker.fill(part.map(|place| permutation.at(place)), true),
                Work::ReadSeq | Work::ReadReverse => worker.run(work, count * 4),
                _ => worker.run(work, count),
            };
            if done.is_err() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            done.map(|()| worker.measured)
        };
        let beside = || {
            let clock = SystemClock::shared();
            let sleep = |microseconds: u64| clock.sleep(Duration::from_micros(microseconds));
            Worker::new(&shared, shape.threads, seed).write_beside(WRITES_BESIDE, &sleep)
        };
        let mut all = Measured::new();
        let (results, written) = std::thread::scope(|scope| {
            let writer = (work == Work::ReadWhileWriting).then(|| scope.spawn(beside));
            let threads: Vec<_> = (0..shape.threads).map(|index| scope.spawn(move || run(index))).collect();
            let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            shared.stop.store(true, Ordering::Relaxed);
            (results, writer.map(|writer| writer.join()))
        });
        let panicked = |_| Trouble::NotDone("a thread of the driver panicked".to_owned());
        for result in results {
            all.merge(&result.map_err(panicked)??);
        }
        written.transpose().map_err(panicked)?.transpose()?;
        Ok(all)
    }

    /// One compaction; its operations are keys.
    fn compact(&self, target: &dyn Target) -> Outcome<Measured> {
        let start = now_ns();
        target.compact()?;
        let mut measured = Measured::new();
        measured.add(now_ns() - start, self.arguments.shape.num);
        Ok(measured)
    }

    /// Puts a key, closes and opens, again and again.
    fn reopen(&self, target: Box<dyn Target>, model: &Model, operations: u64) -> Outcome<(Measured, Box<dyn Target>)> {
        let (mut measured, mut target, mut value) = (Measured::new(), target, Vec::new());
        let deadline_ns = self.deadline_ns();
        for number in 0..operations.min(self.arguments.shape.num) {
            if now_ns() >= deadline_ns {
                break;
            }
            model.next_value(number, &mut value);
            let start = now_ns();
            target.put(&key(number), &value, false)?;
            drop(target);
            target = self.open()?;
            measured.add(now_ns() - start, 1);
            model.wrote(number);
        }
        Ok((measured, target))
    }
}

/// Bytes of the files of a closed database, without its log of information.
fn disk_bytes(directory: &Path) -> Outcome<u64> {
    let file_system = default_file_system();
    let names = file_system.children(directory)?;
    let files = names.iter().filter(|name| !name.starts_with("LOG"));
    files.map(|name| Ok(file_system.file_size(&directory.join(name))?)).sum()
}
