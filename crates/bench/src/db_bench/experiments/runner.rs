//! Runs an experiment: loads the databases, opens the arms of a point together, and runs them in rounds.
//!
//! All arms of a point are open at once, each with a cache of its own, and run alternately; every second round goes
//! backward. So changes on the machine affect all arms alike, and arms are compared round by round.

use super::measure::{Sample, measure};
use super::plan::{Arm, Cell, Definition, Outcome, Point, Row, Scale, set};
use crate::benchmarks::{Benchmark, Planned, parse_list};
use crate::failure::{Failure, Result};
use crate::flags::{Setting, Values};
use crate::options;
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;
use ferrock::options::BottommostLevelCompaction;
use ferrock::{CompactRangeOptions, Db};
use std::collections::{BTreeMap, BTreeSet};

/// A cell is no shorter than this, however small the scale.
const SHORTEST_CELL_SECONDS: f64 = 0.05;

pub(super) struct Runner<'a> {
    pub(super) definition: &'static Definition,
    pub(super) values: &'a Values,
    pub(super) settings: &'a Settings,
    pub(super) output: Output,
    loaded: BTreeSet<String>,
    outcome: Outcome,
}

struct OpenArm<'a> {
    arm: &'a Arm,
    session: Session,
}

fn benchmark(name: &str) -> Result<&'static Benchmark> {
    let plan = parse_list(name).map_err(Failure::Usage)?;
    plan.first().map(|Planned { benchmark, .. }| *benchmark).ok_or_else(|| Failure::Usage(format!("{name:?}")))
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        definition: &'static Definition,
        values: &'a Values,
        settings: &'a Settings,
        output: Output,
    ) -> Self {
        Self { definition, values, settings, output, loaded: BTreeSet::new(), outcome: Outcome::default() }
    }

    /// Rounds of every point.
    pub(super) fn rounds(&self) -> u32 {
        if self.settings.rounds > 0 { self.settings.rounds } else { self.definition.rounds }
    }

    /// Microseconds of a cell.
    fn cell_us(&self) -> u64 {
        if self.values.is_given("duration") && self.settings.duration_us > 0 {
            return self.settings.duration_us;
        }
        let seconds = (self.definition.seconds * self.settings.scale.min(1.0)).max(SHORTEST_CELL_SECONDS);
        (seconds * 1e6) as u64
    }

    /// Seconds of a cell.
    pub(super) fn cell_seconds(&self) -> f64 {
        self.cell_us() as f64 * 1e-6
    }

    pub(super) fn run(mut self) -> Result<(Self, Outcome)> {
        for point in (self.definition.points)(Scale(self.settings.scale)) {
            self.load(&point)?;
            let point = self.with_cache(point)?;
            self.run_point(&point)?;
        }
        let outcome = std::mem::take(&mut self.outcome);
        Ok((self, outcome))
    }

    /// The values of an arm's command line.
    fn arm_values(&self, arm: &Arm) -> Result<Values> {
        let mut defaults: Vec<Setting> = (self.definition.defaults)(Scale(self.settings.scale));
        defaults.retain(|(name, _)| !arm.flags.iter().any(|(own, _)| own == name));
        let mut own = arm.flags.clone();
        own.push(("db", self.settings.directory.join(&arm.data).display().to_string()));
        self.values.between(&defaults, &own).map_err(Failure::Usage)
    }

    fn session(&self, arm: &Arm) -> Result<(Session, Values)> {
        let values = self.arm_values(arm)?;
        let settings = Settings::new(&values).map_err(Failure::Usage)?;
        let mut engine = options::build(&values).map_err(Failure::Usage)?;
        engine.db.create_if_missing = true;
        engine.db.components.file_system = Some(ferrock_vfs::default_file_system());
        Ok((Session::new(settings, engine, self.output), values))
    }

    /// Fills the databases that were not filled yet.
    fn load(&mut self, point: &Point) -> Result<()> {
        for arm in &point.arms {
            if !self.loaded.insert(arm.data.clone()) {
                continue;
            }
            let directory = self.settings.directory.join(&arm.data);
            let (mut session, values) = self.session(arm)?;
            // A file beside the database records the flags of the load, once that is complete.
            let marker = self.settings.directory.join(format!("{}.loaded", arm.data));
            let files = ferrock_vfs::default_file_system();
            let command = values.command_line();
            if self.settings.use_existing_db
                && ferrock_vfs::read_file(&*files, &marker).is_ok_and(|text| text == command.as_bytes())
            {
                self.output.note(&format!("{}: as it is", directory.display()));
                continue;
            }
            if files.exists(&marker)? {
                files.remove_file(&marker)?;
            }
            self.output.note(&format!("{}: loading", directory.display()));
            for planned in parse_list(values.text("benchmarks")).map_err(Failure::Usage)? {
                let stats = session.run_once(planned.benchmark, 0)?;
                self.output.note(&format!("  {}", stats.line(planned.benchmark.name)));
            }
            session.close()?;
            ferrock_vfs::write_file_synced(&*files, &marker, command.as_bytes())?;
        }
        Ok(())
    }

    /// Sizes the caches by the data.
    fn with_cache(&self, mut point: Point) -> Result<Point> {
        let Some(first) = point.arms.first().filter(|_| point.arms.iter().any(|arm| arm.cache_percent.is_some()))
        else {
            return Ok(point);
        };
        let (mut session, _) = self.session(first)?;
        session.open()?;
        let facts = super::facts::of(session.database()?)?;
        session.close()?;
        let data_bytes = facts.get("uncompressed_data_bytes").copied().unwrap_or(0.0);
        for arm in &mut point.arms {
            if let Some(percent) = arm.cache_percent {
                arm.flags.push(set("cache_size", (data_bytes * percent / 100.0) as u64));
            }
        }
        Ok(point)
    }

    fn run_point(&mut self, point: &Point) -> Result<()> {
        let cell_us = self.cell_us();
        let mut arms = Vec::new();
        for arm in &point.arms {
            let (mut session, values) = self.session(arm)?;
            session.open()?;
            self.outcome.commands.push((point.name.clone(), arm.name.clone(), values.command_line()));
            self.warm_up(point, arm, &mut session)?;
            session.settings_mut().duration_us = cell_us;
            arms.push(OpenArm { arm, session });
        }
        let mut samples: BTreeMap<(usize, usize), Vec<Sample>> = BTreeMap::new();
        for round in 0..self.rounds() {
            if round > 0 && self.definition.changes_data {
                self.begin_again(point, &mut arms)?;
            }
            for (cell_index, cell) in point.cells.iter().enumerate() {
                let mut order: Vec<usize> = (0..arms.len()).collect();
                if round % 2 == 1 {
                    order.reverse();
                }
                for index in order {
                    // Background work of one arm must not slow another one.
                    for open in &mut arms {
                        open.session.database()?.wait_for_background_work()?;
                    }
                    let sample = self.run_cell(point, *cell, &mut arms[index], round)?;
                    samples.entry((cell_index, index)).or_default().push(sample);
                }
            }
        }
        self.collect(point, arms, &samples)
    }

    /// Brings databases that a round changed back to where the first round began: compacted and warm. Otherwise a round
    /// would measure the effects of the rounds before it.
    fn begin_again(&self, point: &Point, arms: &mut [OpenArm<'_>]) -> Result<()> {
        for open in arms {
            rewrite(open.session.database()?)?;
            self.warm_up(point, open.arm, &mut open.session)?;
            open.session.settings_mut().duration_us = self.cell_us();
        }
        Ok(())
    }

    fn warm_up(&self, point: &Point, arm: &Arm, session: &mut Session) -> Result<()> {
        let times = if arm.is_rewritten { 2 } else { 1 };
        for time in 0..times {
            if time > 0 {
                self.output.note(&format!("{}, {}: rewriting", point.name, arm.name));
                rewrite(session.database()?)?;
            }
            for (index, warm_up) in point.warm_up.iter().enumerate() {
                session.settings_mut().duration_us = (self.cell_us() as f64 * warm_up.share) as u64;
                // Other keys than the rounds', which have small numbers.
                session.run_once(benchmark(warm_up.benchmark)?, u32::MAX / 2 - index as u32)?;
            }
        }
        Ok(())
    }

    fn run_cell(&self, point: &Point, cell: Cell, open: &mut OpenArm<'_>, round: u32) -> Result<Sample> {
        open.session.settings_mut().threads = cell.threads;
        let sample = measure(&mut open.session, benchmark(cell.benchmark)?, round)?;
        self.output.note(&format!(
            "{}, {}, round {} of {}, {}: {:.0} op/s",
            point.name,
            cell.name(),
            round + 1,
            self.rounds(),
            open.arm.name,
            sample.operations as f64 / sample.seconds
        ));
        Ok(sample)
    }

    fn collect(
        &mut self,
        point: &Point,
        mut arms: Vec<OpenArm<'_>>,
        samples: &BTreeMap<(usize, usize), Vec<Sample>>,
    ) -> Result<()> {
        let mut facts = Vec::new();
        for open in &mut arms {
            for name in self.definition.finally {
                let stats = open.session.run_once(benchmark(name)?, 0)?;
                self.output.note(&format!("{}, {}: {}", point.name, open.arm.name, stats.line(name)));
            }
            facts.push(super::facts::of(open.session.database()?)?);
        }
        let table_bytes = |facts: &BTreeMap<&str, f64>| facts.get("table_bytes").copied().unwrap_or(0.0);
        let reference_bytes = facts.first().map_or(1.0, table_bytes).max(1.0);
        for facts in &mut facts {
            facts.insert("space_percent", (table_bytes(facts) / reference_bytes - 1.0) * 100.0);
        }
        for (cell_index, cell) in point.cells.iter().enumerate() {
            let rates = |index: usize| -> Vec<f64> {
                let samples = samples.get(&(cell_index, index)).into_iter().flatten();
                samples.map(|sample| sample.operations as f64 / sample.seconds).collect()
            };
            let reference = rates(0);
            for (index, open) in arms.iter().enumerate() {
                let ratios = rates(index).iter().zip(&reference).map(|(own, first)| own / first.max(1e-9)).collect();
                self.outcome.rows.push(Row {
                    point: point.name.clone(),
                    x: point.x,
                    cell: *cell,
                    arm: open.arm.name.clone(),
                    samples: samples.get(&(cell_index, index)).cloned().unwrap_or_default(),
                    ratios,
                    facts: facts[index].clone(),
                });
            }
        }
        for open in arms {
            open.session.close()?;
        }
        Ok(())
    }
}

/// Writes every table anew.
fn rewrite(db: &Db) -> Result<()> {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    Ok(db.compact_range_cf(&db.default_column_family()?, None, None, &options)?)
}
