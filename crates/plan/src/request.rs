//! What is asked, and the answer.

use crate::coverage::Popularity;
use crate::memory::{Memory, Opening};
use crate::reads::Reads;
use crate::scale::{Scale, Whole, whole};
use crate::simulation::{Order, Outcome, Phase, Rates, Setting, Simulation};
use crate::sizes::{Entry, Sizes, false_positive_rate, memtable_entries};
use ferrock_base::{Error, Result};
use ferrock_options::{ColumnFamilyOptions, CompactionStyle, DbOptions};

/// What is to be planned.
#[derive(Clone, Debug)]
pub struct Request {
    /// Keys that there are.
    pub keys: u64,
    /// Bytes of a key and of a value.
    pub entry: Entry,
    /// What is put, in order.
    pub phases: Vec<Phase>,
    /// Skew of random puts: the exponent of a zipf distribution, 0 if all keys are alike.
    pub zipf: f64,
    /// The database.
    pub db: DbOptions,
    /// The family.
    pub family: ColumnFamilyOptions,
    /// Share of bytes that compression leaves of data blocks; counts where the options compress.
    pub compression_ratio: f64,
    /// Bytes of the block cache.
    pub cache_bytes: u64,
    /// Speeds.
    pub rates: Rates,
    /// Files that are simulated at most; larger trees are scaled.
    pub most_files: u64,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bytes of keys and values that are there at the end.
    pub live_bytes: f64,
    /// Keys that are there at the end.
    pub live_keys: f64,
    /// Bytes of keys and values put.
    pub put_bytes: f64,
    /// Bytes of all tables.
    pub table_bytes: f64,
    /// All tables.
    pub files: f64,
    /// Bytes of all tables beside those that a full compaction would leave, at the end.
    pub space_amplification: f64,
    /// The most that it was after the first third.
    pub peak_space_amplification: f64,
    /// Write amplification, and the sorted runs.
    pub whole: Whole,
    /// What reads cost.
    pub reads: Reads,
    /// What is held in memory.
    pub memory: Memory,
    /// What an open costs.
    pub opening: Opening,
    /// How the simulation was smaller.
    pub scale: Scale,
    /// Share of the time in which writers were slowed down or stopped; with a rate of puts.
    pub stalled_share: f64,
    /// Bytes put a second, stalls included; with a rate of puts.
    pub sustained_put_bytes_per_sec: Option<f64>,
    /// The simulation.
    pub outcome: Outcome,
}

impl Request {
    /// Each of `keys` once in random order, settled, with the default options.
    #[must_use]
    pub fn new(keys: u64, entry: Entry) -> Self {
        Self {
            keys,
            entry,
            phases: vec![Phase { order: Order::Once, puts: keys }],
            zipf: 0.0,
            db: DbOptions::default(),
            family: ColumnFamilyOptions::default(),
            compression_ratio: 1.0,
            cache_bytes: 32 << 20,
            rates: Rates { put_bytes_per_sec: None, job_bytes_per_sec: 100e6 },
            most_files: 4000,
        }
    }

    /// Simulates. `progress` is told the share that is done, now and then.
    ///
    /// ```
    /// use ferrock_plan::{Entry, Request};
    /// let mut request = Request::new(200_000, Entry { key_size: 16, value_size: 100 });
    /// request.family.write_buffer_size = 1 << 20;
    /// request.family.max_bytes_for_level_base = 4 << 20;
    /// request.family.target_file_size_base = 1 << 20;
    /// let plan = request.run(&mut |_| ())?;
    /// assert!(plan.whole.write_amplification > 2.0 && plan.space_amplification < 1.5);
    /// # Ok::<(), ferrock_base::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for options that a database would be refused with, and for keys or sizes out of bounds.
    pub fn run(&self, progress: &mut dyn FnMut(f64)) -> Result<Plan> {
        self.check()?;
        let (mut db, mut family) = (self.db.clone(), self.family.clone());
        if let Some(violation) = family.violations().first() {
            return Err(Error::invalid_argument(format!(
                "option {} = {}: {}",
                violation.name, violation.value, violation.bound
            )));
        }
        db.adjust();
        family.settle_in(&db);
        let is_compressed = family.compression_for(6, 6, true).0 != ferrock_options::CompressionType::NoCompression;
        let ratio = if is_compressed { self.compression_ratio } else { 1.0 };
        let sizes = Sizes::new(self.entry, &family, ratio)?;
        let memtable_entries = memtable_entries(self.entry, &family)?;
        let all_puts: u64 = self.phases.iter().map(|phase| phase.puts).sum();
        let compacted_bytes = sizes.compacted_bytes(self.keys as f64, 1.0);
        let flushes = all_puts as f64 / memtable_entries as f64;
        let scale = Scale::of(&family, compacted_bytes, flushes, self.most_files);
        let scaled_family = scale.options(&family);
        let popularity = Popularity::zipf(self.keys, self.zipf);
        let phases = scale.phases(&self.phases);
        let setting = Setting {
            keys: (self.keys / scale.divisor).max(1),
            entry_bytes: self.entry.bytes(),
            memtable_entries,
            phases: &phases,
            popularity: &popularity,
            sizes: &sizes,
            db: &db,
            family: &scaled_family,
            rates: self.rates,
        };
        let outcome = Simulation::new(&setting).run(progress)?;
        self.answer(&db, &family, &sizes, scale, outcome)
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::invalid_argument(what.to_owned()));
        if self.keys == 0 || self.keys > 1 << 60 {
            return wrong("the number of keys must be from 1 to 2^60");
        }
        if self.entry.key_size == 0 || self.entry.key_size > 64 << 10 {
            return wrong("a key has 1 to 65536 bytes");
        }
        if self.entry.key_size < 8 && self.keys > 1 << (8 * self.entry.key_size) {
            return wrong("there are not so many different keys of that size: give more bytes to a key");
        }
        if self.entry.value_size > 64 << 20 {
            return wrong("values of more than 64 MiB are not planned");
        }
        if !(self.compression_ratio > 0.0 && self.compression_ratio <= 1.0) {
            return wrong("the compression ratio is the share of bytes that is left: above 0, and 1 at most");
        }
        if self.family.preclude_last_level_data_seconds > 0 {
            return wrong("preclude_last_level_data_seconds: what is planned has no ages; set it to 0");
        }
        if !(0.0..=5.0).contains(&self.zipf) {
            return wrong("the exponent of the zipf distribution must be from 0 to 5");
        }
        Ok(())
    }

    fn answer(
        &self,
        db: &DbOptions,
        family: &ColumnFamilyOptions,
        sizes: &Sizes,
        scale: Scale,
        outcome: Outcome,
    ) -> Result<Plan> {
        let whole = whole(&outcome, family, scale);
        let live_keys = outcome.live_share * self.keys as f64;
        let table_bytes: f64 = whole.runs.iter().map(|run| run.bytes).sum();
        let files = whole.runs.iter().map(|run| run.files).sum();
        // A queue drops what it put: there is nothing that a full compaction would leave.
        let kept: f64 = whole.runs.iter().map(|run| run.entries).sum();
        let is_queue = family.compaction_style == CompactionStyle::Fifo;
        let live_keys = if is_queue { live_keys.min(kept) } else { live_keys };
        let compacted = sizes.compacted_bytes(live_keys, outcome.live_share);
        let memory = Memory::of(&whole.runs, family, sizes, self.cache_bytes);
        let reads = Reads::of(&whole.runs, family, sizes, &memory, false_positive_rate(family)?);
        let opening = Opening::of(&whole.runs, db, self.entry);
        let totals = &outcome.totals;
        let has_rate = self.rates.put_bytes_per_sec.is_some();
        Ok(Plan {
            live_bytes: live_keys * self.entry.bytes() as f64,
            live_keys,
            put_bytes: totals.put_bytes * scale.divisor as f64,
            table_bytes,
            files,
            space_amplification: table_bytes / compacted.max(1.0),
            peak_space_amplification: outcome.peak_space,
            whole,
            reads,
            memory,
            opening,
            scale,
            stalled_share: if has_rate { totals.stalled_seconds / totals.seconds.max(1e-9) } else { 0.0 },
            sustained_put_bytes_per_sec: has_rate.then(|| totals.put_bytes / totals.seconds.max(1e-9)),
            outcome,
        })
    }
}
