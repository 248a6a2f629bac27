//! Performs operations on a database and on its model, and compares.

use crate::choices;
use crate::files::{Files, Straits};
use crate::filters::{Asked, RemoveDoomed};
use crate::keys;
use crate::model::{FamilyModel, Filter, Merge};
use crate::operations::{Case, Change, Mutation, NewFamily, Operation};
use crate::orders::{Order, take_stray};
use crate::reads::{Held, compare_all, show};
use crate::values::{columns, make_value};
use crate::watchdog::Watchdog;
use crate::workers::InProcess;
use ferrock::options::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactionServiceJobStatus, CompactionStyle, DbPath,
    FileTemperatureAge, IoPriority, MemTableFactory, MergeOperator, PrefixExtractor, TableFactory, Temperature,
};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, ReadOptions, Snapshot,
    WriteBatch, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What went wrong, in words.
pub type Check = Result<(), String>;

/// The database, where its files are in memory.
const PATH: &str = "/db";
const MAX_FAMILIES: usize = 5;
const MAX_SNAPSHOTS: usize = 6;
/// A value that merges made longer than this is put anew instead.
const MAX_MERGED_BYTES: usize = 4000;

/// Whether background work is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    Settled,
    Busy,
}

/// What was done.
#[derive(Default)]
pub struct ModelStats {
    pub cases: u64,
    pub operations: u64,
    pub mutations: u64,
    pub keys_read: u64,
    pub iterator_steps: u64,
    pub flushes: u64,
    pub compactions: u64,
    pub opens: u64,
    pub jobs: u64,
    pub remote: u64,
    pub remote_refused: u64,
}

impl ModelStats {
    pub fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.operations += other.operations;
        self.mutations += other.mutations;
        self.keys_read += other.keys_read;
        self.iterator_steps += other.iterator_steps;
        self.flushes += other.flushes;
        self.compactions += other.compactions;
        self.opens += other.opens;
        self.jobs += other.jobs;
        self.remote += other.remote;
        self.remote_refused += other.remote_refused;
    }
}

impl fmt::Display for ModelStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} operations in {} databases: {} keys written, {} read, {} iterator steps, {} opens, \
             {} flushes and {} compactions by hand, {} background jobs, {} compactions elsewhere and {} refused",
            self.operations,
            self.cases,
            self.mutations,
            self.keys_read,
            self.iterator_steps,
            self.opens,
            self.flushes,
            self.compactions,
            self.jobs,
            self.remote,
            self.remote_refused,
        )
    }
}

/// Starts threads and counts them: a new one means that background work began.
#[derive(Debug, Default)]
struct CountingSpawner(AtomicU64);

impl Spawner for CountingSpawner {
    fn spawn(&self, name: &str, job: Job) -> ferrock::Result<Box<dyn Join>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        StdSpawner.spawn(name, job)
    }
}

pub struct Family {
    pub name: String,
    pub handle: ColumnFamily,
    pub model: Arc<FamilyModel>,
    pub prefix_extractor: Option<PrefixExtractor>,
    shape: NewFamily,
}

pub struct Taken {
    pub snapshot: Snapshot,
    pub models: Vec<(u32, Arc<FamilyModel>)>,
}

/// A database beside its model.
pub struct Database<'a> {
    files: Files,
    pub straits: Straits,
    db: Option<Db>,
    pub families: Vec<Family>,
    pub snapshots: Vec<Taken>,
    pub held: Vec<Held>,
    pub key_space: u16,
    pub stats: &'a mut ModelStats,
    families_made: usize,
    pub pace: Pace,
    layout: Layout,
    spawner: Arc<CountingSpawner>,
    jobs_seen: u64,
    /// Something was written that is in no log.
    has_unlogged: bool,
    is_flush_atomic: bool,
    /// The database takes only memtables that many threads may write to.
    writes_concurrently: bool,
    has_memory_budget: bool,
    /// Records of the log stay in the process until they are flushed by hand.
    keeps_log_back: bool,
    opens_later: bool,
    asked: Asked,
    /// Runs compactions, where these run elsewhere.
    service: Option<Arc<InProcess>>,
}

/// One record of a batch.
enum Write {
    Put(Vec<u8>, Vec<u8>),
    /// With other columns beside the value.
    PutEntity(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    SingleDelete(Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

pub fn explain<T>(result: ferrock::Result<T>, what: &str) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}

/// An error when a comparator was given a key that its family cannot have.
fn no_stray() -> Check {
    let stray = take_stray();
    stray.map_or(Ok(()), |key| Err(format!("a comparator for keys of eight bytes was asked about {}", show(&key))))
}

impl<'a> Database<'a> {
    /// Performs a whole case.
    pub fn run(case: &Case, pace: Pace, stats: &'a mut ModelStats, watchdog: &Watchdog) -> Check {
        stats.cases += 1;
        let files = Files::new(case.files);
        let mut database = Database {
            straits: files.straits(),
            files,
            db: None,
            families: Vec::new(),
            snapshots: Vec::new(),
            held: Vec::new(),
            key_space: case.key_space,
            stats,
            families_made: 0,
            pace,
            layout: Layout::of(case.layout),
            spawner: Arc::default(),
            jobs_seen: 0,
            has_unlogged: false,
            is_flush_atomic: false,
            writes_concurrently: false,
            keeps_log_back: false,
            has_memory_budget: false,
            opens_later: false,
            asked: Asked::default(),
            service: None,
        };
        database.create(case)?;
        for (index, operation) in case.operations.iter().enumerate() {
            database.stats.operations += 1;
            let result = database.perform(operation).and_then(|()| database.settle());
            watchdog.tick();
            let result = result.and_then(|()| no_stray());
            result.map_err(|error| format!("operation {index} {operation:?}: {error}"))?;
        }
        let result = database.finish().and_then(|()| no_stray());
        database.count_remote();
        database.stats.jobs += database.spawner.0.load(Ordering::Relaxed);
        result.map_err(|error| format!("at the end: {error}"))
    }

    pub fn db(&self) -> &Db {
        self.db.as_ref().expect("the database is open between operations")
    }

    pub fn family_index(&self, family: u8) -> usize {
        usize::from(family) % self.families.len()
    }

    fn database_options(&mut self, choices: &[&'static str]) -> DbOptions {
        let choices: Vec<&str> = choices.iter().copied().filter(|choice| self.files.take(choice)).collect();
        let mut options = choices::database_options(&choices);
        self.keeps_log_back = options.manual_wal_flush;
        self.straits.cache = choices::famine_bytes(&choices).zip(options.components.block_cache.clone());
        self.layout.apply(&mut options);
        self.writes_concurrently = options.allow_concurrent_memtable_write;
        self.is_flush_atomic = options.atomic_flush;
        self.opens_later = options.open_files_async;
        self.has_memory_budget = options.components.memory_budget.is_some();
        options.components.file_system = Some(self.files.file_system());
        options.components.spawner = Some(Arc::clone(&self.spawner) as Arc<dyn Spawner>);
        self.count_remote();
        let service = |conducts| InProcess::with_paths(self.files.file_system(), conducts, options.db_paths.clone());
        self.service = choices::conducts(&choices).map(service);
        options.components.compaction_service = self.service.clone().map(|service| service as _);
        options
    }

    /// The options of a family, which the workers of its compactions hear of.
    fn family_options(&self, name: &str, shape: &NewFamily) -> ColumnFamilyOptions {
        let options = self.family_options_of(shape);
        if let Some(service) = &self.service {
            service.set_family(name, &options);
        }
        options
    }

    /// Adds up what the service did until now.
    fn count_remote(&mut self) {
        for (_, status) in self.service.take().iter().flat_map(|service| service.ended()) {
            let is_installed = status == CompactionServiceJobStatus::Success;
            *(if is_installed { &mut self.stats.remote } else { &mut self.stats.remote_refused }) += 1;
        }
    }

    fn family_options_of(&self, shape: &NewFamily) -> ColumnFamilyOptions {
        let mut options = family_options(shape, &self.asked);
        if self.writes_concurrently && !options.memtable_factory.allows_concurrent_writes() {
            options.memtable_factory = MemTableFactory::default();
        }
        options.inplace_update_support &= !self.writes_concurrently;
        options.enable_blob_direct_write &= !self.writes_concurrently;
        options.table.no_block_cache &= !self.has_memory_budget;
        options.blob_cache = options.blob_cache.filter(|_| !self.has_memory_budget);
        // A queue is in one directory, and open before it is used.
        if (self.layout.has_db_paths || self.opens_later) && options.compaction_style == CompactionStyle::Fifo {
            options.compaction_style = CompactionStyle::None;
            options.settings.compaction_options_fifo.file_temperature_age_thresholds.clear();
        }
        options
    }

    fn create(&mut self, case: &Case) -> Check {
        self.stats.opens += 1;
        let mut options = self.database_options(&case.database);
        options.create_missing_column_families = true;
        let mut descriptors = Vec::new();
        for (index, shape) in case.families.iter().enumerate() {
            let name = if index == 0 { "default".to_owned() } else { family_name(index) };
            let options = self.family_options(&name, shape);
            descriptors.push((name, options));
        }
        if descriptors.is_empty() {
            return Err("a case has at least one family".to_owned());
        }
        self.families_made = descriptors.len();
        let (db, handles) = explain(Db::open_cf(self.files.path(), options, descriptors.clone()), "creating")?;
        self.db = Some(db);
        for ((handle, shape), (name, options)) in handles.into_iter().zip(&case.families).zip(descriptors) {
            self.families.push(new_family(name, handle, shape, &options));
        }
        Ok(())
    }

    /// Lets background work end, where the pace asks for it.
    fn settle(&mut self) -> Check {
        if self.pace == Pace::Busy {
            return Ok(());
        }
        let has_worked = self.wait_for_jobs()?;
        if !has_worked {
            return Ok(());
        }
        // The release of a snapshot makes compactions due and begins none; the end of a pause does.
        explain(self.db().pause_background_work(), "pausing")?;
        explain(self.db().continue_background_work(), "going on")?;
        self.wait_for_jobs()?;
        self.check_at_rest()
    }

    /// Waits until no thread begins any more; true when one did since the last call.
    fn wait_for_jobs(&mut self) -> Result<bool, String> {
        let mut has_worked = false;
        loop {
            let jobs = self.spawner.0.load(Ordering::Relaxed);
            if jobs == self.jobs_seen {
                return Ok(has_worked);
            }
            (self.jobs_seen, has_worked) = (jobs, true);
            explain(self.db().wait_for_background_work(), "waiting")?;
        }
    }

    fn perform(&mut self, operation: &Operation) -> Check {
        match operation {
            Operation::Write { mutation, sync, disable_wal } => self.write_one(mutation, *sync, *disable_wal),
            Operation::Batch { mutations, sync } => self.write_batch(mutations, *sync),
            Operation::Get { family, snapshot, target, way } => self.get(*family, *snapshot, target, *way),
            Operation::MultiGet { family, snapshot, targets, way } => self.multi_get(*family, *snapshot, targets, *way),
            Operation::CountLookups { family, snapshot, targets } => self.count_lookups(*family, *snapshot, targets),
            Operation::ScanAsync(scan) => self.scan_async(scan),
            Operation::MultiScan(scan) => self.multi_scan(scan),
            Operation::Sweep(sweep) => self.sweep(sweep),
            Operation::Walk(walk) => self.walk(walk),
            Operation::Scan { family, snapshot, backward } => self.scan(*family, *snapshot, *backward),
            Operation::TakeSnapshot => self.take_snapshot(),
            Operation::DropSnapshot(which) => {
                if !self.snapshots.is_empty() {
                    let which = usize::from(*which) % self.snapshots.len();
                    self.snapshots.swap_remove(which);
                }
                Ok(())
            }
            Operation::HoldIterator(walk) => self.hold_iterator(walk),
            Operation::StepHeld { which, steps } => {
                let count = self.held.len().max(1);
                self.stats.iterator_steps += steps.len() as u64;
                self.held.get_mut(usize::from(*which) % count).map_or(Ok(()), |held| held.step(steps))
            }
            Operation::Flush { family, wait } => {
                self.stats.flushes += 1;
                let handle = self.families[self.family_index(*family)].handle.clone();
                explain(self.db().flush_cf(&handle, &FlushOptions { wait: *wait, ..FlushOptions::default() }), "flush")
            }
            Operation::Compact { family, from, to, force, change_level } => {
                self.compact(*family, *from, *to, *force, *change_level)
            }
            Operation::DropFiles { family, key, length } => self.drop_files(*family, *key, *length),
            Operation::SuggestCompaction { family, from, to } => self.suggest(*family, *from, *to),
            Operation::CompactFiles(named) => self.compact_files(named),
            Operation::Wait => explain(self.db().wait_for_background_work(), "waiting"),
            Operation::SyncWal => explain(self.db().sync_wal(), "sync_wal"),
            Operation::SetOptions { family, choices } => self.set_options(*family, choices),
            Operation::CreateFamily(shape) => self.create_family(shape),
            Operation::DropFamily(family) => self.drop_family(*family),
            Operation::Reopen { close, database, family_choices } => {
                self.reopen(*close, database, family_choices.as_deref())
            }
            Operation::Kill { database } => self.kill(database),
            Operation::VerifyChecksum => explain(self.db().verify_checksum(), "verify_checksum"),
        }
    }

    /// Decides what a mutation does now, and does it to the model.
    fn plan(&mut self, mutation: &Mutation) -> (usize, Option<Write>) {
        let index = self.family_index(mutation.family);
        let key_index = usize::from(mutation.key % self.key_space);
        let order = self.families[index].model.order;
        let key = order.key(key_index).to_vec();
        let has_plain_tables = self.families[index].handle.options().table_factory != TableFactory::BlockBased;
        if matches!(mutation.change, Change::DeleteRange(_)) && has_plain_tables {
            return (index, None);
        }
        let model = Arc::make_mut(&mut self.families[index].model);
        let existing = model.get(&key).map(<[u8]>::len);
        if let Change::DeleteRange(length) = mutation.change {
            let to = (key_index + usize::from(length)) % usize::from(self.key_space);
            let (mut begin, mut end) = (key, order.key(to).to_vec());
            if model.order.compare(&begin, &end).is_gt() {
                std::mem::swap(&mut begin, &mut end);
            }
            model.delete_range(&begin, &end);
            return (index, Some(Write::DeleteRange(begin, end)));
        }
        // Other keys may be equal to this one there, and be deleted otherwise.
        if keys::is_single_delete(key_index) && order != Order::Folding {
            if existing.is_some() {
                model.delete(&key);
                return (index, Some(Write::SingleDelete(key)));
            }
            let Change::Put { seed, size } = mutation.change else { return (index, None) };
            let value = make_value(model.merge, seed, size);
            model.put(&key, &value);
            return (index, Some(Write::Put(key, value)));
        }
        let write = match mutation.change {
            // A filter is not asked of entities, so it would not remove a doomed one.
            Change::Put { seed, size } if seed % 8 == 3 && !has_plain_tables && !keys::is_doomed(&key) => {
                Write::PutEntity(key, make_value(model.merge, seed, size))
            }
            Change::Put { seed, size } => Write::Put(key, make_value(model.merge, seed, size)),
            Change::Delete => Write::Delete(key),
            // Merged over a value that a filter removed or has not removed yet, it could be either.
            Change::Merge(number)
                if model.merge == Merge::None || existing.unwrap_or(0) > MAX_MERGED_BYTES || model.is_doomed(&key) =>
            {
                Write::Put(key, make_value(model.merge, number as u16, 8))
            }
            Change::Merge(number) => {
                let operand = match model.merge {
                    Merge::Add => u64::from(number).to_le_bytes().to_vec(),
                    _ => (number % 100_000).to_string().into_bytes(),
                };
                Write::Merge(key, operand)
            }
            Change::DeleteRange(_) => unreachable!("handled above"),
        };
        match &write {
            Write::Put(key, value) | Write::PutEntity(key, value) => model.put(key, value),
            Write::Delete(key) | Write::SingleDelete(key) => model.delete(key),
            Write::Merge(key, operand) => model.merge(key, operand),
            Write::DeleteRange(..) => {}
        }
        (index, Some(write))
    }

    pub fn write_one(&mut self, mutation: &Mutation, sync: bool, disable_wal: bool) -> Check {
        self.stats.mutations += 1;
        let (index, Some(write)) = self.plan(mutation) else { return Ok(()) };
        let rate_limiter_priority = self.write_priority(disable_wal);
        let options =
            WriteOptions { sync: sync && !disable_wal, disable_wal, rate_limiter_priority, ..WriteOptions::default() };
        self.has_unlogged |= disable_wal;
        let (db, family) = (self.db(), &self.families[index].handle);
        let result = match write {
            Write::Put(key, value) => db.put_cf(family, &key, &value, &options),
            Write::PutEntity(key, value) => {
                let mut batch = WriteBatch::new();
                explain(batch.put_entity_cf(family.id(), &key, &columns(&value)), "batch")?;
                db.write(batch, &options)
            }
            Write::Delete(key) => db.delete_cf(family, &key, &options),
            Write::SingleDelete(key) => db.single_delete_cf(family, &key, &options),
            Write::Merge(key, operand) => db.merge_cf(family, &key, &operand, &options),
            Write::DeleteRange(begin, end) => db.delete_range_cf(family, &begin, &end, &options),
        };
        explain(result, "write")
    }

    /// Every second write waits for the limiter, if there is one, where it may.
    fn write_priority(&self, disable_wal: bool) -> Option<IoPriority> {
        (!disable_wal && !self.keeps_log_back && self.stats.mutations.is_multiple_of(2)).then_some(IoPriority::User)
    }

    fn write_batch(&mut self, mutations: &[Mutation], sync: bool) -> Check {
        self.stats.mutations += mutations.len() as u64;
        let mut batch = WriteBatch::new();
        for mutation in mutations {
            let (index, Some(write)) = self.plan(mutation) else { continue };
            let id = self.families[index].handle.id();
            let added = match write {
                Write::Put(key, value) => batch.put_cf(id, &key, &value),
                Write::PutEntity(key, value) => batch.put_entity_cf(id, &key, &columns(&value)),
                Write::Delete(key) => batch.delete_cf(id, &key),
                Write::SingleDelete(key) => batch.single_delete_cf(id, &key),
                Write::Merge(key, operand) => batch.merge_cf(id, &key, &operand),
                Write::DeleteRange(begin, end) => batch.delete_range_cf(id, &begin, &end),
            };
            explain(added, "batch")?;
        }
        let rate_limiter_priority = self.write_priority(false);
        let options = WriteOptions { sync, rate_limiter_priority, ..WriteOptions::default() };
        explain(self.db().write(batch, &options), "write of a batch")
    }

    fn take_snapshot(&mut self) -> Check {
        if self.snapshots.len() >= MAX_SNAPSHOTS {
            self.snapshots.remove(0);
        }
        let snapshot = self.db().snapshot();
        let models = self.families.iter().map(|family| (family.handle.id(), Arc::clone(&family.model))).collect();
        self.snapshots.push(Taken { snapshot, models });
        Ok(())
    }

    fn compact(&mut self, family: u8, from: Option<u16>, to: Option<u16>, force: u8, change_level: bool) -> Check {
        self.stats.compactions += 1;
        let index = self.family_index(family);
        let key_number = from.unwrap_or(0);
        let order = self.families[index].model.order;
        let key = |number: u16| order.key(usize::from(number % self.key_space));
        let (mut from, mut to) = (from.map(key), to.map(key));
        if let (Some(begin), Some(end)) = (from, to)
            && order.compare(begin, end).is_gt()
        {
            (from, to) = (to, from);
        }
        let is_queue = self.families[index].handle.options().compaction_style == CompactionStyle::Fifo;
        let options = CompactRangeOptions {
            change_level: change_level && !is_queue,
            target_level: None,
            bottommost_level_compaction: match force {
                0 => BottommostLevelCompaction::Skip,
                1 => BottommostLevelCompaction::IfHaveCompactionFilter,
                2 => BottommostLevelCompaction::Force,
                _ => BottommostLevelCompaction::ForceOptimized,
            },
            exclusive_manual_compaction: force.is_multiple_of(2),
            target_path_id: self.layout.target_path_id(key_number),
            blob_garbage_collection_policy: match key_number % 3 {
                0 => BlobGarbageCollectionPolicy::Force,
                1 => BlobGarbageCollectionPolicy::Disable,
                _ => BlobGarbageCollectionPolicy::UseDefault,
            },
            blob_garbage_collection_age_cutoff: key_number.is_multiple_of(2).then_some(1.0),
            max_subcompactions: u32::from(key_number % 5),
            canceled: None,
            allow_write_stall: key_number.is_multiple_of(4),
        };
        self.asked.lock().expect("not poisoned").clear();
        explain(self.db().compact_range_cf(&self.families[index].handle, from, to, &options), "compact_range")?;
        // `Force` alone filters again what this compaction wrote. With other jobs under way a newer version may come
        // between.
        let is_once = options.bottommost_level_compaction != BottommostLevelCompaction::Force;
        if is_once && self.pace == Pace::Settled { self.check_filtered_once() } else { Ok(()) }
    }

    /// One of the directories of tables.
    pub fn target_path_id(&self, seed: u16) -> u32 {
        self.layout.target_path_id(seed)
    }

    /// No key was filtered on the way into a level and then once more in it.
    fn check_filtered_once(&self) -> Check {
        let mut written = BTreeSet::new();
        for (context, key) in self.asked.lock().expect("not poisoned").iter() {
            let level = (context.column_family_id, context.output_level, key);
            if context.input_level != context.output_level {
                written.insert(level);
            } else if written.contains(&level) {
                return Err(format!("{} was filtered twice on level {}", show(key), context.output_level));
            }
        }
        Ok(())
    }

    fn set_options(&mut self, family: u8, choices: &[&'static str]) -> Check {
        let index = self.family_index(family);
        let own = &mut self.families[index];
        let handle = own.handle.clone();
        let mut changes: Vec<(&str, &str)> = vec![("level0_stop_writes_trigger", "36")];
        for (name, value) in choices.iter().filter_map(|choice| choice.split_once('=')) {
            if name == "prefix_extractor" {
                // Keys of one prefix must be neighbours.
                if own.model.order == Order::LengthFirst {
                    continue;
                }
                own.prefix_extractor = explain(PrefixExtractor::built_in(value), "prefix_extractor")?;
            }
            changes.push((name, value));
        }
        explain(self.db().set_options_cf(&handle, &changes), "set_options")
    }

    fn create_family(&mut self, shape: &NewFamily) -> Check {
        if self.families.len() >= MAX_FAMILIES {
            return Ok(());
        }
        // Names come back: what an earlier family of the name left must stay gone.
        let name = family_name(self.families_made % 7);
        if self.families.iter().any(|family| family.name == name) {
            self.families_made += 1;
            let again = self.db().create_column_family(&name, self.family_options_of(shape));
            return if again.is_err() { Ok(()) } else { Err(format!("{name} was created twice")) };
        }
        self.families_made += 1;
        let options = self.family_options(&name, shape);
        let handle = explain(self.db().create_column_family(&name, options.clone()), "create_column_family")?;
        self.families.push(new_family(name, handle, shape, &options));
        Ok(())
    }

    fn drop_family(&mut self, family: u8) -> Check {
        let index = self.family_index(family);
        if index == 0 {
            return Ok(());
        }
        let dropped = self.families.remove(index);
        explain(self.db().drop_column_family(&dropped.handle), "drop_column_family")?;
        if self.db().put_cf(&dropped.handle, b"key", b"value", &WriteOptions::default()).is_ok() {
            return Err(format!("a write into {} was taken after its drop", dropped.name));
        }
        // The handle goes on reading what the family had.
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iter = self.db().iter_cf(&dropped.handle, &options);
        compare_all(&mut iter, &dropped.model, false)
            .map_err(|error| format!("{} after its drop: {error}", dropped.name))
    }

    fn reopen(&mut self, close: bool, database: &[&'static str], family_choices: Option<&[&'static str]>) -> Check {
        self.snapshots.clear();
        let db = self.db.take().expect("open between operations");
        if close {
            explain(db.close(), "close")?;
        } else {
            drop(db);
        }
        // Iterators live longer than the database.
        let mut held = std::mem::take(&mut self.held);
        for held in &mut held {
            held.step(&[true, false, false]).map_err(|error| format!("after closing: {error}"))?;
        }
        drop(held);
        self.has_unlogged = false;
        self.open(database, family_choices)
    }

    fn kill(&mut self, database: &[&'static str]) -> Check {
        self.snapshots.clear();
        self.held.clear();
        if std::mem::take(&mut self.has_unlogged) {
            // With `atomic_flush` that of one family is one of all.
            let mut handles: Vec<_> = self.families.iter().map(|family| family.handle.clone()).collect();
            handles.truncate(if self.is_flush_atomic { 1 } else { handles.len() });
            let at_once =
                FlushOptions { force_atomic_flush: !handles.len().is_multiple_of(3), ..FlushOptions::default() };
            explain(self.db().flush_cfs(&handles, &at_once), "flush")?;
        }
        explain(self.db().flush_wal(false), "flush_wal")?;
        let Some(left) = self.files.after_kill() else { return self.reopen(false, database, None) };
        // The old one ends on the old files.
        self.db = None;
        self.straits = left.straits();
        self.files = left;
        self.open(database, None)
    }

    fn open(&mut self, database: &[&'static str], family_choices: Option<&[&'static str]>) -> Check {
        self.stats.opens += 1;
        let mut options = self.database_options(database);
        options.create_if_missing = false;
        for family in &mut self.families {
            if let Some(choices) = family_choices {
                family.shape.choices = choices.to_vec();
            }
        }
        let listed = explain(Db::list_column_families(self.files.path(), &options), "list_column_families")?;
        let known: BTreeSet<&str> = self.families.iter().map(|family| &family.name[..]).collect();
        if listed.iter().map(|name| &name[..]).collect::<BTreeSet<_>>() != known || listed.len() != known.len() {
            return Err(format!("families {listed:?}, expected {known:?}"));
        }
        let descriptors: Vec<(String, ColumnFamilyOptions)> = self
            .families
            .iter()
            .map(|family| (family.name.clone(), self.family_options(&family.name, &family.shape)))
            .collect();
        // A handle of the database that was closed keeps its tables open.
        let models: Vec<_> = self.families.drain(..).map(|family| (family.model, family.shape)).collect();
        self.files.wait_until_closed();
        let (db, handles) = explain(Db::open_cf(self.files.path(), options, descriptors.clone()), "open")?;
        self.db = Some(db);
        for (((model, shape), handle), (name, options)) in models.into_iter().zip(handles).zip(descriptors) {
            self.families.push(Family { model, ..new_family(name, handle, &shape, &options) });
        }
        self.scan_all()
    }

    /// Nothing runs, and nothing is due.
    fn check_at_rest(&self) -> Check {
        for family in &self.families {
            if self.db().int_property_cf(&family.handle, "compaction-pending") == Some(1) {
                return Err(format!("{}: a compaction is due, and none begins", family.name));
            }
        }
        Ok(())
    }

    fn scan_all(&mut self) -> Check {
        (0..self.families.len()).try_for_each(|family| self.scan(family as u8, None, family % 2 == 1))
    }

    /// Nothing of what the filters remove outlives a compaction of everything.
    fn check_filters(&self) -> Check {
        for family in self.families.iter().filter(|family| family.model.filter != Filter::None) {
            if family.handle.options().compaction_style == CompactionStyle::Fifo {
                // Nothing compacts all of a queue.
                continue;
            }
            let options = CompactRangeOptions {
                bottommost_level_compaction: BottommostLevelCompaction::Force,
                exclusive_manual_compaction: true,
                ..CompactRangeOptions::default()
            };
            explain(self.db().compact_range_cf(&family.handle, None, None, &options), "compact_range")?;
            let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
            let mut iter = self.db().iter_cf(&family.handle, &options);
            iter.seek_to_first();
            while iter.valid() {
                if family.model.is_doomed(iter.key()) {
                    return Err(format!("{}: the filter left {}", family.name, show(iter.key())));
                }
                iter.next();
            }
            explain(iter.status(), "scan")?;
        }
        Ok(())
    }

    /// Everything once more, from the outside: read-only, with the options of the directory, and no file left behind.
    fn finish(&mut self) -> Check {
        self.scan_all()?;
        self.reopen(true, &[], None)?;
        explain(self.db().wait_for_background_work(), "waiting")?;
        explain(self.db().verify_checksum(), "verify_checksum")?;
        self.check_filters()?;
        // Tables that a reader still held when they were replaced go with the next open.
        self.reopen(true, &[], Some(&["disable_auto_compactions=true"]))?;
        explain(self.db.take().expect("open").close(), "close")?;
        if self.families.iter().any(|family| family.shape.order.is_custom()) {
            return Ok(());
        }
        let options = self.database_options(&[]);
        let without_handle = |family: Family| (family.name, family.model, family.prefix_extractor, family.shape);
        let before: Vec<_> = self.families.drain(..).map(without_handle).collect();
        self.files.wait_until_closed();
        let (db, handles) = explain(Db::open_read_only(self.files.path(), options, None), "open_read_only")?;
        for (name, model, prefix_extractor, shape) in before {
            let handle = handles.iter().find(|handle| handle.name() == name).cloned();
            let handle = handle.ok_or_else(|| format!("{name} is not there"))?;
            self.families.push(Family { name, handle, model, prefix_extractor, shape });
        }
        let live: BTreeSet<u64> = db.live_files().iter().map(|file| file.number.0).collect();
        self.db = Some(db);
        self.scan_all()?;
        let mut listing = Vec::new();
        for directory in self.layout.directories_of_tables() {
            let directory = match *directory {
                PATH => self.files.path(),
                other => Path::new(other).to_path_buf(),
            };
            listing.extend(self.files.file_system().children(&directory).unwrap_or_default());
        }
        let tables: BTreeSet<u64> = listing.iter().filter_map(|name| name.strip_suffix(".sst")?.parse().ok()).collect();
        if tables == live { Ok(()) } else { Err(format!("tables {tables:?} in the directory, {live:?} in the tree")) }
    }
}

/// Which directories a case uses; all its opens use the same.
#[derive(Clone, Copy)]
struct Layout {
    has_wal_dir: bool,
    has_db_paths: bool,
}

impl Layout {
    fn of(bits: u8) -> Self {
        Self { has_wal_dir: bits & 1 != 0, has_db_paths: bits & 2 != 0 }
    }

    fn apply(self, options: &mut DbOptions) {
        if self.has_wal_dir {
            options.wal_dir = "/logs".to_owned();
        }
        if self.has_db_paths {
            options.db_paths =
                vec![DbPath::new("/tables/a", 100_000), DbPath::new("/tables/b", 0), DbPath::new("/tables/c", 0)];
        }
    }

    fn target_path_id(self, seed: u16) -> u32 {
        if self.has_db_paths { u32::from(seed % 3) } else { 0 }
    }

    fn directories_of_tables(self) -> &'static [&'static str] {
        &[PATH, "/tables/a", "/tables/b", "/tables/c"]
    }
}

/// Names are of any bytes: some are no UTF-8, some have what an OPTIONS file escapes.
fn family_name(index: usize) -> String {
    format!("{}{index}", ["family", "fam\u{10FFFF}ily ", "fa:mi#ly\\\"\u{10FFC3}"][index % 3])
}

/// Appends, but merges no operands without the value.
struct AppendWhole(StringAppend);

impl MergeOperator for AppendWhole {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn options_id(&self) -> String {
        self.0.options_id()
    }
    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        self.0.full_merge(key, existing, operands, out)
    }
}

fn family_options(shape: &NewFamily, asked: &Asked) -> ColumnFamilyOptions {
    let mut options = choices::family_options(&shape.choices, shape.order);
    options.num_levels = shape.num_levels;
    if shape.num_levels == 1 && options.compaction_style == CompactionStyle::Fifo {
        // Every table of a flush changes its temperature, by a merge or by a copy.
        options.settings.compaction_options_fifo.file_temperature_age_thresholds =
            vec![FileTemperatureAge { temperature: Temperature::Cold, age: 0 }];
    }
    // Levels need two of them, and what once lay on the second cannot be opened with one.
    if shape.num_levels == 1 && options.compaction_style == CompactionStyle::Level {
        options.compaction_style = CompactionStyle::None;
    }
    options.merge_operator = match shape.merge {
        Merge::None => None,
        Merge::Add => Some(Arc::new(ferrock_base::merge::UInt64Add)),
        // In every other shape operands stay apart until there is all of the value.
        Merge::Append if shape.num_levels % 2 == 0 => Some(Arc::new(AppendWhole(StringAppend::new(",")))),
        Merge::Append => Some(Arc::new(StringAppend::new(","))),
    };
    let asked_by_flushes = matches!(shape.filter, Filter::Everywhere | Filter::MadeEverywhere);
    let filter = Arc::new(RemoveDoomed { asked_by_flushes, asked: Arc::clone(asked) });
    match shape.filter {
        Filter::None => {}
        Filter::Compactions | Filter::Everywhere => options.compaction_filter = Some(filter),
        Filter::Made | Filter::MadeEverywhere => options.compaction_filter_factory = Some(filter),
    }
    options
}

fn new_family(name: String, handle: ColumnFamily, shape: &NewFamily, options: &ColumnFamilyOptions) -> Family {
    Family {
        name,
        handle,
        model: Arc::new(FamilyModel::new(shape.order, shape.merge, shape.filter)),
        prefix_extractor: options.prefix_extractor.clone(),
        shape: shape.clone(),
    }
}
