//! The process that plays a history. It is a process of its own because it kills itself where a turn ends so, because a
//! library that crashes must not take the rig with it, and because two releases of RocksDB do not live in one process.
//!
//! It says on standard output, as one JSON object a line, what it did: `{"turn":n,...}` after each, `{"kill":n}` before
//! it kills itself, `{"failure":...}`, and `{"done":true}` at the end.

use crate::c_engine::CEngine;
use crate::check::{Checker, Reads};
use crate::engine::{Database, Engine, FAMILIES, FIRST_TABLES, OpenMode, Outcome};
use crate::ferrock_engine::FerrockEngine;
use crate::history::{End, History, Player, Step, Turn};
use crate::model::Model;
use crate::random::Random;
use crate::remote::take_blob_files;
use crate::settings::{Release, Settings, TableKind};
use ferrock_format::options_file::OptionsFile;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What a worker is asked to do.
pub struct Job {
    pub release: Release,
    pub library: PathBuf,
    pub ferrock_library: Option<PathBuf>,
    pub seed: u64,
    pub directory: PathBuf,
    pub from_turn: usize,
}

struct Worker {
    job: Job,
    history: History,
    rocksdb: CEngine,
    ferrock: FerrockEngine,
    ferrock_library: Option<CEngine>,
    model: Model,
    /// Settings that were made in earlier turns and must be in every OPTIONS file from then on.
    expected: BTreeMap<(String, String), String>,
    prefixes: Vec<Option<usize>>,
    /// Which tables the families have.
    kinds: Vec<TableKind>,
    /// What tables took when a step measured them.
    table_bytes: u64,
}

/// Bytes of the tables in a directory and those below it.
fn table_bytes(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let of = |path: PathBuf| match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => table_bytes(&path),
        Ok(metadata) if path.extension().is_some_and(|extension| extension == "sst") => metadata.len(),
        _ => 0,
    };
    entries.map(|entry| of(entry.path())).sum()
}

/// How long an engine may take for what it does by itself, on a busy machine too.
const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_secs(60);

/// Waits until no family has compactions to do and the tables are bounded. An engine deletes what a compaction replaced
/// after it counts the compaction as done, so the directory is looked at again until then.
fn wait_until_bounded(db: &dyn Database, directory: &Path, bound: u64) -> Outcome<()> {
    let deadline = std::time::Instant::now() + LONGEST_WAIT;
    loop {
        let (mut is_busy, mut live) = (false, 0);
        for family in 0..FAMILIES.len() {
            // When nothing runs, nothing that is due begins or ends between the two.
            for name in ["rocksdb.num-running-compactions", "rocksdb.compaction-pending"] {
                is_busy |= db.property(family, name)? != "0";
            }
            let size = db.property(family, "rocksdb.live-sst-files-size")?;
            live += size.parse::<u64>().map_err(|error| format!("live-sst-files-size `{size}`: {error}"))?;
        }
        let now = table_bytes(directory);
        if !is_busy && now <= bound {
            return Ok(());
        }
        if !is_busy && live > bound {
            return Err(format!("live tables take {live} bytes of {bound}, and no compaction is due"));
        }
        if std::time::Instant::now() > deadline {
            let what = if is_busy { "compactions do not come to an end" } else { "obsolete tables stay" };
            return Err(format!("{what}: tables take {now} bytes of {bound}, live ones {live}"));
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn say(line: &serde_json::Value) {
    println!("{line}");
    // The next thing may be the end of the process.
    let _ = std::io::stdout().flush();
}

/// Plays turns until the end of the history, a kill, or a failure; true when all is well.
pub fn play(job: Job) -> Outcome<bool> {
    let history = History::new(job.release, job.seed);
    let model = Model::new(&history.fixed);
    let ferrock_library = job.ferrock_library.as_deref().map(CEngine::load).transpose()?;
    let mut worker = Worker {
        rocksdb: CEngine::load(&job.library)?,
        ferrock: FerrockEngine,
        ferrock_library,
        model,
        expected: BTreeMap::new(),
        prefixes: vec![None; FAMILIES.len()],
        kinds: vec![TableKind::Block; FAMILIES.len()],
        table_bytes: 0,
        history,
        job,
    };
    for number in 0..worker.history.turns.len() {
        let mut turn = worker.history.turns[number].clone();
        worker.place_files(number, &mut turn);
        worker.remember(&turn.settings);
        if number < worker.job.from_turn {
            worker.replay(&turn);
            continue;
        }
        if let Err((step, message)) = worker.turn(number, &turn) {
            let player = worker.player(number, &turn);
            say(&json!({"failure": {"turn": number, "player": player, "step": step, "message": message}}));
            return Ok(false);
        }
    }
    say(&json!({"done": true}));
    Ok(true)
}

/// A failure: the step, and what went wrong.
type StepOutcome<T> = Result<T, (String, String)>;

impl Worker {
    /// What an earlier process did.
    fn replay(&mut self, turn: &Turn) {
        for step in &turn.steps {
            if let Step::Write(batch, _) = step {
                self.model.apply(batch);
            }
        }
    }

    /// Logs, and tables of all families, lie in directories of their own in a family of seeds each.
    fn place_files(&self, number: usize, turn: &mut Turn) {
        if self.job.seed % 3 == 1 && !turn.is_read_only {
            let logs = self.job.directory.join("logs").to_string_lossy().into_owned();
            turn.settings.db.push(("wal_dir".to_owned(), logs));
        }
        if self.job.seed % 4 == 2 {
            if number == 0 {
                // The engines look for it.
                let _ = std::fs::create_dir_all(self.job.directory.join(FIRST_TABLES));
            }
            for family in &mut turn.settings.families {
                let dynamic = |(name, _): &&mut (String, String)| name == "level_compaction_dynamic_level_bytes";
                if let Some((_, value)) = family.family.iter_mut().find(dynamic) {
                    *value = "false".to_owned();
                }
            }
        }
    }

    fn remember(&mut self, settings: &Settings) {
        for (name, value) in &settings.db {
            self.expected.insert(("DBOptions".to_owned(), name.clone()), value.clone());
        }
        for (number, family) in settings.families.iter().enumerate() {
            let place = |kind: &str| format!("{kind} \"{}\"", FAMILIES[number]);
            for (name, value) in &family.family {
                if name == "prefix_extractor" {
                    let digits = value.rsplit_once('.').map(|(_, digits)| digits);
                    self.prefixes[number] = digits.and_then(|digits| digits.parse().ok());
                }
                self.expected.insert((place("CFOptions"), name.clone()), value.clone());
            }
            self.kinds[number] = family.kind;
            for kind in [TableKind::Block, TableKind::Plain] {
                let place = place(&format!("TableOptions/{}", kind.factory()));
                if kind == family.kind {
                    let texts = family.table.iter().map(|(name, value)| ((place.clone(), name.clone()), value.clone()));
                    self.expected.extend(texts);
                } else {
                    self.expected.retain(|(known, _), _| *known != place);
                }
            }
            let factory = (place("CFOptions"), "table_factory".to_owned());
            self.expected.insert(factory, family.kind.factory().to_owned());
        }
    }

    /// Whether Ferrock plays this turn through its library.
    fn uses_library(&self, number: usize) -> bool {
        self.ferrock_library.is_some() && (number / 2).is_multiple_of(2)
    }

    fn player(&self, number: usize, turn: &Turn) -> String {
        match turn.player {
            Player::Ferrock if self.uses_library(number) => "Ferrock's library".to_owned(),
            Player::Ferrock => "Ferrock".to_owned(),
            Player::RocksDb => format!("RocksDB {}", self.job.release.name()),
        }
    }

    fn engine(&self, number: usize, turn: &Turn) -> &dyn Engine {
        match (turn.player, &self.ferrock_library) {
            (Player::RocksDb, _) => &self.rocksdb,
            (Player::Ferrock, Some(library)) if self.uses_library(number) => library,
            (Player::Ferrock, _) => &self.ferrock,
        }
    }

    fn turn(&mut self, number: usize, turn: &Turn) -> StepOutcome<()> {
        let mode = match (number, turn.is_read_only) {
            (0, _) => OpenMode::Create,
            (_, true) => OpenMode::ReadOnly,
            (_, false) => OpenMode::ReadWrite,
        };
        let at_opening = |message| ("opening".to_owned(), message);
        let engine = self.engine(number, turn);
        let mut db = engine.open(&self.job.directory, mode, &turn.settings).map_err(at_opening)?;
        if mode != OpenMode::ReadOnly {
            self.check_options_file(&turn.settings).map_err(at_opening)?;
        }
        let mut comparisons = 0;
        let mut snapshots: Vec<Model> = Vec::new();
        for (at, step) in turn.steps.iter().enumerate() {
            let stepped = self.step(&mut *db, step, (number, at), &mut snapshots);
            comparisons += stepped.map_err(|message| (format!("{at}: {}", summary(step)), message))?;
        }
        let entries: usize = self.model.families.iter().map(|family| family.len()).sum();
        let end = if turn.end == End::Kill { "killed" } else { "closed" };
        say(&json!({"turn": number, "comparisons": comparisons, "entries": entries, "end": end,
                    "player": self.player(number, turn), "remote_blob_files": take_blob_files()}));
        if turn.end == End::Kill {
            say(&json!({"kill": number}));
            let killed = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            return Err(("killing".to_owned(), format!("the process survives its kill: {killed:?}")));
        }
        db.close().map_err(|message| ("closing".to_owned(), message))
    }

    fn step(
        &mut self,
        db: &mut dyn Database,
        step: &Step,
        (turn, at): (usize, usize),
        snapshots: &mut Vec<Model>,
    ) -> Outcome<u64> {
        match step {
            Step::Write(batch, how) => {
                db.write(batch, *how)?;
                self.model.apply(batch);
            }
            Step::Flush(family) => db.flush(*family)?,
            Step::Compact { family, begin, end, force } => {
                db.compact(*family, begin.as_deref(), end.as_deref(), *force)?;
            }
            Step::FlushWal => db.flush_wal()?,
            Step::Measure => self.table_bytes = table_bytes(&self.job.directory),
            Step::Bounded(beyond) => {
                let before = self.table_bytes;
                wait_until_bounded(db, &self.job.directory, 3 * before + beyond).map_err(|error| {
                    format!("{error}, after the same keys were written again to tables of {before}")
                })?;
            }
            Step::Snapshot => {
                db.snapshot()?;
                snapshots.push(self.model.clone());
            }
            Step::Release(number) => db.release_snapshot(*number)?,
            Step::CheckSnapshot(_) | Step::Probe | Step::Check => {
                let random = Random::new(self.job.seed ^ ((turn as u64) << 32) ^ ((at as u64) << 16));
                let shortest_key = self.history.fixed.shortest_key;
                let prefixes = self.prefixes.clone();
                let reads = self.reads(turn);
                let mut checker = Checker { db, random, comparisons: 0, shortest_key, prefixes, reads };
                match step {
                    Step::CheckSnapshot(number) => checker.snapshot(*number, &snapshots[*number])?,
                    Step::Probe => checker.probe(&self.model)?,
                    _ => {
                        checker.everything(&self.model)?;
                        // RocksDB's plain tables have none to verify.
                        if checker.reads.iter().all(|reads| *reads == Reads::All) {
                            db_checksums(checker.db)?;
                        }
                    }
                }
                return Ok(checker.comparisons);
            }
        }
        Ok(0)
    }

    /// What the player of a turn reads of each family.
    fn reads(&self, turn: usize) -> Vec<Reads> {
        let is_rocksdb = self.history.turns[turn].player == Player::RocksDb;
        let of_family = |(kind, prefix): (&TableKind, &Option<usize>)| match (kind, prefix) {
            (TableKind::Plain, None) if is_rocksdb => Reads::Forward,
            (TableKind::Plain, Some(_)) if is_rocksdb => Reads::WithinPrefix,
            // With operands and values that are overwritten in their place.
            _ if is_rocksdb && self.history.fixed.updates_in_place => Reads::Forward,
            _ => Reads::All,
        };
        self.kinds.iter().zip(&self.prefixes).map(of_family).collect()
    }

    /// The OPTIONS file that the engine has just written says what every earlier turn asked for.
    fn check_options_file(&self, own: &Settings) -> Outcome<()> {
        let path = newest_options_file(&self.job.directory)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = std::fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
        let file = OptionsFile::parse(&content).map_err(|error| format!("{name}: {error}"))?;
        let mut found: BTreeMap<(String, String), String> = BTreeMap::new();
        let mut add = |place: String, section: &ferrock_format::options_file::Section| {
            for statement in &section.statements {
                found.insert((place.clone(), statement.name.to_string()), statement.value.to_string());
            }
        };
        add("DBOptions".to_owned(), &file.db);
        for family in &file.column_families {
            add(format!("CFOptions \"{}\"", family.name), &family.options);
            if let Some(table) = &family.table {
                add(format!("TableOptions/{} \"{}\"", table.factory, family.name), &table.options);
            }
        }
        let mut wrong = Vec::new();
        for (key, wanted) in &self.expected {
            if is_free(&key.1, self.job.release) {
                continue;
            }
            let (place, option) = key;
            match found.get(key) {
                Some(value) if same_value(option, value, wanted) => {}
                Some(value) => wrong.push(format!("[{place}] {option} = {value}, wanted {wanted}")),
                // What is at its default may be left out, where older releases do not know the name.
                None if own.db.iter().any(|(name, _)| name == option) || is_newer(option) => {}
                // As a default Ferrock leaves it out: older releases read its OPTIONS files, too.
                None if option == "enable_blob_direct_write" && wanted == "false" => {}
                None => wrong.push(format!("[{place}] {option} is missing, wanted {wanted}")),
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{name}: {}", wrong.join("; "))) }
    }
}

fn db_checksums(db: &dyn Database) -> Outcome<()> {
    db.verify_checksum().map(drop).map_err(|error| format!("verify_checksum: {error}"))
}

/// Names that 7.8 does not know.
fn is_newer(option: &str) -> bool {
    matches!(option, "track_and_verify_wals")
}

/// Settings that an engine changes when it opens, by rules of RocksDB's own.
fn is_free(option: &str, release: Release) -> bool {
    // 7.8.3 writes its default into the file whatever was set.
    let is_lost = release == Release::Old && option == "write_dbid_to_manifest";
    is_lost
        || matches!(
            option,
            // Says how to open, not how to be.
            "create_if_missing" | "create_missing_column_families"
        // Less than `max_write_buffer_number`, and 1 with `atomic_flush`.
        | "min_write_buffer_number_to_merge"
        )
}

/// Filters and memtables have two spellings.
fn same_value(option: &str, value: &str, wanted: &str) -> bool {
    let plain = |text: &str| {
        let inner = text.strip_prefix("{id=").map(|rest| rest.split(';').next().unwrap_or("").to_owned());
        inner.unwrap_or_else(|| text.to_owned())
    };
    value == wanted
        || matches!(option, "filter_policy" | "memtable_factory") && plain(value) == plain(wanted)
        || ["compression_opts", "compaction_options_fifo", "compaction_options_universal"].contains(&option)
            && wanted.trim_matches(['{', '}']).split(';').all(|part| value.contains(part))
}

/// The path of the OPTIONS file with the largest number.
pub fn newest_options_file(directory: &Path) -> Outcome<PathBuf> {
    let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
    let numbered = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let number: u64 = name.strip_prefix("OPTIONS-")?.parse().ok()?;
        Some((number, entry.path()))
    });
    numbered.max().map(|(_, path)| path).ok_or_else(|| "there is no OPTIONS file".to_owned())
}

fn summary(step: &Step) -> String {
    match step {
        Step::Write(batch, how) => format!("write {} records, {how:?}", batch.len()),
        Step::Flush(family) => format!("flush {}", FAMILIES[*family]),
        Step::Compact { family, begin, end, force } => {
            let key = |key: &Option<Vec<u8>>| key.as_ref().map_or("-".to_owned(), |key| key.escape_ascii().to_string());
            format!("compact {} from {} to {}, force {force}", FAMILIES[*family], key(begin), key(end))
        }
        Step::FlushWal => "flush_wal".to_owned(),
        Step::Snapshot => "snapshot".to_owned(),
        Step::CheckSnapshot(number) => format!("check snapshot {number}"),
        Step::Release(number) => format!("release snapshot {number}"),
        Step::Measure => "measure tables".to_owned(),
        Step::Bounded(_) => "tables stay bounded".to_owned(),
        Step::Probe => "probe".to_owned(),
        Step::Check => "check".to_owned(),
    }
}
