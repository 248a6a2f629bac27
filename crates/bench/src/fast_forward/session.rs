//! A run: data sets, groups, cases, and their output.

use super::arguments::{Arguments, DataCache, Format, Io, Switch};
use super::check;
use super::dataset::{DataSet, Kind};
use super::engine::{ClassCounters, Database, Engine, Opening};
use super::groups::{Case, Group, Sequence, TABLE_COUNTS};
use super::layout::Layout;
use super::measure::{Run, Statistics, now, run};
use super::model::{Features, Model, Resident};
use super::outside::Outside;
use super::populate::provide;
use super::report::{self, Measured};
use crate::output::Output;
use ferrock_base::clock::SystemClock;
use ferrock_console::failure::{Failure, Result};
use ferrock_table::{PARTITION_CUT_PROPERTY, ROW_BOUNDS_PROPERTY};
use ferrock_vfs::{RandomAccessOptions, WritableOptions, default_file_system};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of the cache when only index and filters go there.
const METADATA_CACHE_BYTES: u64 = 256 << 20;
/// Bytes of a cache that holds everything: more than the data by this for what blocks cost beside their bytes.
const ROOM_FOR_ALL: u64 = 4;
/// Runs of a case besides the first one.
const LEAST_RUNS: f64 = 3.0;

pub(super) struct Session<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) engine: &'a dyn Engine,
    pub(super) output: Output,
    pub(super) root: PathBuf,
    /// The results for programs.
    pub(super) groups: Vec<Value>,
    pub(super) openings: Vec<Value>,
    /// Failures: a case that read too much, or whose counters differ from the system's.
    pub(super) objections: Vec<String>,
    /// Directories that this run has written already.
    written: Vec<PathBuf>,
}

/// An open data set.
struct Opened {
    directory: PathBuf,
    database: Box<dyn Database>,
    model: Option<Model>,
    resident: Resident,
    outside: Option<Outside>,
}

impl<'a> Session<'a> {
    pub(super) fn new(arguments: &'a Arguments, engine: &'a dyn Engine, root: PathBuf) -> Self {
        let output = Output::new(arguments.output_format == Format::Json);
        let (groups, openings, objections, written) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { arguments, engine, output, root, groups, openings, objections, written }
    }

    /// Runs all selected cases.
    pub(super) fn run(&mut self) -> Result<()> {
        let wanted = |kind: &Kind| match self.arguments.datasets.is_empty() {
            true => kind.is_default(),
            false => self.arguments.datasets.contains(kind),
        };
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(wanted).collect();
        let mut has_run = false;
        for kind in kinds {
            let groups: Vec<Group> = self.groups_on(kind);
            if !groups.is_empty() {
                self.run_on(kind, &groups)?;
                has_run = true;
            }
        }
        if has_run {
            return Ok(());
        }
        Err(Failure::Usage("none of these groups runs on any of these data sets; see --list".to_owned()))
    }

    fn groups_on(&self, kind: Kind) -> Vec<Group> {
        let wanted = |group: &Group| {
            let named = self.arguments.run_tests.contains(group);
            (named || self.arguments.run_tests.is_empty()) && group.runs_on(kind)
        };
        Group::ALL.into_iter().filter(wanted).collect()
    }

    fn run_on(&mut self, kind: Kind, groups: &[Group]) -> Result<()> {
        let arguments = self.arguments;
        let value_size = arguments.value_size as usize;
        let data = DataSet::new(kind, arguments.rows, value_size, arguments.unique_values, arguments.random_seed);
        let mut opened: Option<Opened> = None;
        for group in groups {
            if group.needs_cache() && !arguments.enable_cache {
                self.output.say(&format!("skipping: {} (needs --enable-cache)", group.name()))?;
                continue;
            }
            if *group == Group::FewRowsAtLevels {
                // Two openings of a database are one too many.
                if let Some(opened) = opened.take() {
                    opened.database.close()?;
                }
                for tables in TABLE_COUNTS {
                    let mut one = self.open(&data, tables)?;
                    self.run_group(*group, &data, &mut one, Some(tables))?;
                    one.database.close()?;
                }
                continue;
            }
            let mut current = match opened.take() {
                Some(opened) => opened,
                None => self.open(&data, arguments.levels)?,
            };
            self.run_group(*group, &data, &mut current, None)?;
            opened = Some(current);
        }
        if let Some(opened) = opened {
            opened.database.close()?;
        }
        Ok(())
    }

    fn open(&mut self, data: &DataSet, tables: u32) -> Result<Opened> {
        let arguments = self.arguments;
        let directory = super::populate::directory_of(&self.root, data.kind, tables);
        let is_new = arguments.populate && !self.written.contains(&directory);
        let directory = provide(&self.root, data, arguments, tables, is_new, self.output.bar())?;
        self.written.push(directory.clone());
        let data_bytes = u64::from(arguments.rows) * u64::from(arguments.value_size + 32);
        let (caches_data, bytes) = match arguments.data_cache {
            _ if arguments.enable_cache => (true, METADATA_CACHE_BYTES + ROOM_FOR_ALL * data_bytes),
            DataCache::Off => (false, METADATA_CACHE_BYTES),
            DataCache::Bytes(bytes) => (true, bytes),
        };
        let how = Opening {
            prefix_bytes: data.kind.prefix_bytes(),
            direct: arguments.io == Io::Direct,
            cache_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            caches_data,
        };
        let started = now();
        let database = self.engine.open(&directory, &how)?;
        let seconds = now() - started;
        let spent = database.counters()?.total;
        let files = table_files(&directory)?;
        self.output.say(&format!(
            "open: {} with {} tables: {} requests, {} KiB, {seconds:.6} s",
            directory.file_name().unwrap_or_default().to_string_lossy(),
            files.len(),
            spent.requests,
            spent.bytes / 1024
        ))?;
        self.openings.push(json!({
            "dataset": data.kind.name(), "rows dealt out to": tables, "tables": files.len(),
            "requests": spent.requests, "bytes": spent.bytes, "time (s)": seconds,
        }));
        let model = if arguments.extra || arguments.check_minimum { Some(self.model(data, &files)?) } else { None };
        let outside = match (arguments.verify_outside, database.request_interface()) {
            (true, Some(backend)) => Some(Outside::of(&backend, &directory)?),
            _ => None,
        };
        Ok(Opened { directory, database, model, resident: Resident::default(), outside })
    }

    fn model(&self, data: &DataSet, files: &[PathBuf]) -> Result<Model> {
        let arguments = self.arguments;
        let sector = match &arguments.sector {
            Some(sector) => sector.parse().unwrap_or(1),
            None if arguments.io == Io::Direct => match files.first() {
                Some(file) => device_unit(file)?,
                None => 1,
            },
            None => 1,
        };
        let mut tables = Vec::new();
        for file in files {
            self.output.working(&format!("look through {}", file.display()));
            tables.push(Layout::of(file)?);
        }
        self.output.working("");
        let names = |table: &Layout, property: &[u8]| table.own_properties.iter().any(|own| own == property);
        let has = |property: &[u8]| !tables.is_empty() && tables.iter().all(|table| names(table, property));
        let features = Features {
            sector,
            padding: arguments.pad_to_sector,
            caches_data: arguments.enable_cache || arguments.data_cache != DataCache::Off,
            row_filter: arguments.row_filter == Switch::On,
            row_bounds: has(ROW_BOUNDS_PROPERTY),
            partition_cut: has(PARTITION_CUT_PROPERTY),
            prefix_bytes: data.kind.prefix_bytes(),
        };
        Ok(Model { tables, features })
    }

    fn run_group(&mut self, group: Group, data: &DataSet, opened: &mut Opened, tables: Option<u32>) -> Result<()> {
        let arguments = self.arguments;
        let mut sequences = group.sequences(data, arguments.enable_cache);
        sequences.retain(|sequence| sequence.iter().all(|case| case.tables == tables));
        if !arguments.keep_cache_across_test_groups {
            self.clear(opened)?;
        }
        self.output.say(&format!("running: {} on dataset {}", group.name(), data.kind.name()))?;
        self.output.say(&format!("{}:", group.description()))?;
        let cases = sequences.iter().flatten();
        let words = cases.flat_map(|case| case.parameters.iter().map(String::as_str));
        let width = report::parameter_width(words.chain(group.parameters().iter().copied()));
        self.output.say(&report::header(group.parameters(), width, arguments.extra))?;
        let mut cases = Vec::new();
        for (number, sequence) in sequences.iter().enumerate() {
            // The group before has left its caches if it was to.
            if number > 0 && !arguments.keep_cache_across_test_cases {
                self.clear(opened)?;
            }
            for measured in self.run_sequence(group, sequence, data, opened)? {
                self.output.say(&report::row(&measured, width, arguments.extra))?;
                cases.push(report::json(group.parameters(), &measured, arguments.dump_all_results));
            }
        }
        self.groups.push(json!({
            "test_group_properties": {
                "name": group.name(), "dataset": data.kind.name(), "needs_cache": group.needs_cache(),
                "message": group.description(), "parameters": group.parameters(),
            },
            "cases": cases,
        }));
        Ok(())
    }

    fn clear(&self, opened: &mut Opened) -> Result<()> {
        opened.database.clear_cache()?;
        opened.resident = Resident::default();
        if self.arguments.drop_os_cache {
            let failed = |error: ferrock::Error| Failure::NotDone(format!("--drop-os-cache needs root: {error}"));
            let path = Path::new("/proc/sys/vm/drop_caches");
            let mut file = default_file_system().create_writable(path, &WritableOptions::default()).map_err(failed)?;
            file.append(b"1\n").and_then(|()| file.flush()).map_err(failed)?;
        }
        Ok(())
    }

    fn run_sequence(
        &mut self,
        group: Group,
        sequence: &Sequence,
        data: &DataSet,
        opened: &mut Opened,
    ) -> Result<Vec<Measured>> {
        let mut all: Vec<Measured> = sequence.iter().map(|_| Measured::default()).collect();
        let started = now();
        let (mut done, mut planned) = (0.0, 1.0);
        let mut differences: Vec<(&Case, String)> = Vec::new();
        while done < planned {
            for (case, measured) in sequence.iter().zip(&mut all) {
                let name = format!("{} {}", group.name(), case.parameters.join(" "));
                self.output.working(&name);
                let (minimum, allowed) = match &opened.model {
                    Some(model) => {
                        let (minimum, allowed) = model.run(&case.plan, data, &mut opened.resident);
                        (Some(minimum), Some(allowed))
                    }
                    None => (None, None),
                };
                let (run, difference) = self.run_once(&name, case, data, opened)?;
                if case.reads_nothing && run.counters.total.requests > 0 {
                    let requests = run.counters.total.requests;
                    return Err(Failure::Data(format!("{name}: {requests} requests instead of what is in the cache")));
                }
                if measured.runs.is_empty() {
                    *measured =
                        Measured {
                            parameters: case.parameters.clone(),
                            first: run,
                            minimum,
                            allowed,
                            is_within: opened.model.as_ref().zip(allowed).map(|(model, allowed)| {
                                check::is_within(&run.counters, &allowed, model.features.sector)
                            }),
                            ..Measured::default()
                        };
                    if measured.is_within == Some(false) && self.arguments.check_minimum {
                        let told = check::difference(&run.counters, &allowed.unwrap_or_default());
                        self.objections.push(format!("{name}: {told}"));
                    }
                }
                measured.runs.push(run);
                differences.extend(difference.map(|told| (case, told)));
            }
            done += 1.0;
            if done == 1.0 && self.arguments.test_case_duration > 0.0 {
                let first = (now() - started).max(1e-6);
                planned = 1.0 + (self.arguments.test_case_duration / first).floor().max(LEAST_RUNS);
            }
        }
        self.output.working("");
        for case in sequence {
            let of_case = || differences.iter().filter(|(other, _)| std::ptr::eq(*other, case));
            // Others use the device, too: it is enough that they once did not.
            let are_enough = match &opened.outside {
                Some(outside) if outside.sees_others() => of_case().count() as f64 >= done,
                _ => true,
            };
            self.objections.extend(of_case().take(1).filter(|_| are_enough).map(|(_, told)| told.clone()));
        }
        for measured in &mut all {
            measured.statistics = Statistics::of(&measured.runs);
        }
        Ok(all)
    }

    /// A run, and where its counters are not those of the system, what they are.
    fn run_once(&self, name: &str, case: &Case, data: &DataSet, opened: &Opened) -> Result<(Run, Option<String>)> {
        let database = &*opened.database;
        let before = opened.outside.as_ref().map(|outside| both_counters(outside, database)).transpose()?;
        let result = run(database, &case.plan, data);
        let run = result.map_err(|failure| match failure {
            Failure::Data(message) => Failure::Data(format!("{name} in {}: {message}", opened.directory.display())),
            other => other,
        })?;
        let mut difference = None;
        if let Some((outside, before)) = opened.outside.as_ref().zip(before) {
            let (seen, told) = settled_counters(outside, database, before)?;
            if seen != told {
                let of = |counters: ClassCounters| format!("{} requests, {} bytes", counters.requests, counters.bytes);
                let place = outside.name();
                difference = Some(format!("{name}: {} counted here, {} in {place}", of(told), of(seen)));
            }
        }
        database.after_run(&mut *case.plan.keys_read(data))?;
        Ok((run, difference))
    }
}

/// For how long each time counters that differ are looked at again, and how often at most.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
const LOOKS: u64 = 1000;
/// The same where what differs may be what others read.
const LOOKS_BESIDE_OTHERS: u64 = 20;

/// The counts of the system, and those of the engine.
fn both_counters(outside: &Outside, database: &dyn Database) -> Result<(ClassCounters, ClassCounters)> {
    Ok((outside.counters()?, database.counters()?.total))
}

/// What both have counted since `before`: once it is the same, or after a while. What was read ahead and given up may
/// still be on its way when a run ends; one of them then counts it before the other.
fn settled_counters(
    outside: &Outside,
    database: &dyn Database,
    before: (ClassCounters, ClassCounters),
) -> Result<(ClassCounters, ClassCounters)> {
    let most = if outside.sees_others() { LOOKS_BESIDE_OTHERS } else { LOOKS };
    let (clock, mut looks) = (SystemClock::shared(), 1);
    loop {
        let after = both_counters(outside, database)?;
        let (seen, told) = (outside.between(before.0, after.0, looks), after.1.since(before.1));
        if seen == told || looks > most {
            return Ok((seen, told));
        }
        looks += 1;
        clock.sleep(BETWEEN_LOOKS);
    }
}

/// The tables of a database, the newest first.
fn table_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut names = default_file_system().children(directory)?;
    names.retain(|name| name.ends_with(".sst"));
    names.sort();
    Ok(names.into_iter().rev().map(|name| directory.join(name)).collect())
}

/// The alignment of reads of a file.
fn device_unit(file: &Path) -> Result<u64> {
    let options = RandomAccessOptions { direct: true, ..RandomAccessOptions::default() };
    let file = default_file_system().open_random_access(file, &options)?;
    Ok(file.direct_alignment().map_or(1, |unit| unit as u64))
}
