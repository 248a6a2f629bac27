//! Following a database that another process writes: the secondary instance.
//!
//! ```text
//! catch-up:  CURRENT and MANIFEST ---> tables, blob files ---> logs ------> view of all families, at once
//!               |    as they were      opened, those that      into new         |
//!               |                      were open stay so       memtables        |
//!               +--- the same as before: the logs are read into the memtables --+
//! ```
//!
//! - A view is a state that the writer had: tables and logs of one moment, read as [`read_only`](super::read_only)
//!   does, up to the first batch that is not whole or does not continue what is before it.
//! - A view is replaced as a whole, under a lock that reads of several families share. It never goes back.
//! - What a view needs is held open, so nothing that the writer removes is missed.
//! - Nothing is written to the directory of the database, and nothing in it is removed.
//! - A follower instance ([`follower`](super::follower)) has names of its own for the files, and reads no logs.
//!
//! The argument is in `docs/followers.md`.

use super::own_names::{ManifestStamp, OwnNames};
use super::views::{LEAST_ATTEMPTS, MOST_ATTEMPTS, PATIENCE_US, families_of, install};
use super::writers_tree::WritersTree;
use super::{ColumnFamilyDescriptor, DbCore, Opener, WalDirFrom, latest_options, logs};
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::db::open;
use crate::db::recovery::{LogRecovery, OpenLog, RecoveredLogs, RecoveringFamily, Tailing};
use crate::db::views::Views;
use crate::info_log::{InfoLog, InfoLogOptions};
use crate::options::{DbOptions, load_latest};
use crate::spans;
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber};
use ferrock_format::log::WalRecoveryMode;
use ferrock_tree::places::{create_directory, is_same};
use ferrock_tree::table_cache::open_all;
use ferrock_tree::version::VersionSet;
use ferrock_tree::version::version_set::{FamilyView, RecoverMode};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// How often a catch-up tries again to see what lies behind numbers that are in no log.
const ATTEMPTS_AT_GAP: usize = 10;

const CHANGES_TOO_FAST: &str = "the primary changes the database too fast for a secondary; try again";

/// What a catch-up knows of the files.
pub(super) struct Follower {
    pub(super) opener: Opener,
    /// Options of families that come are those of the OPTIONS file.
    pub(super) base: Option<DbOptions>,
    /// The MANIFEST that the tables of the views are from; `None` when the memtables are not to be added to.
    pub(super) manifest: Option<ManifestStamp>,
    /// Batches up to here are in the memtables or in tables. Of a follower instance: what the MANIFEST said.
    pub(super) held: SequenceNumber,
    /// What the writer has, as far as it was read.
    pub(super) tree: WritersTree,
    /// What `tree` had said of changes from outside when the tables of the views were read.
    pub(super) outside_changes: u64,
    /// Those of a follower instance.
    pub(super) names: Option<OwnNames>,
}

/// How an attempt ended.
pub(super) enum Attempt {
    Done,
    /// Views are good; behind numbers that are in no log there may be more.
    AtGap,
    /// Files changed meanwhile.
    Again,
}

/// The families and tables that logs are read for.
struct Tree<'a> {
    versions: &'a VersionSet,
    families: Vec<(FamilyView, Arc<ColumnFamilyData>)>,
    /// What the MANIFEST had said of changes from outside.
    outside_changes: u64,
    held: SequenceNumber,
    missing_is_error: bool,
}

/// See [`Db::open_as_secondary`](crate::Db::open_as_secondary).
pub(crate) fn open_as_secondary(
    path: &Path,
    secondary_path: &Path,
    options: DbOptions,
    families: Option<Vec<ColumnFamilyDescriptor>>,
) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    let _span = spans::open(path);
    super::best_efforts::refuse(options.best_efforts_recovery)?;
    let (mut opener, base) = opener_of(path, options, families)?;
    opener.adjust_for_secondary();
    if is_same(path, secondary_path) {
        return Err(Error::invalid_argument(format!(
            "{}: a secondary needs a directory of its own for its LOG, other than that of the primary",
            secondary_path.display()
        )));
    }
    if !opener.file_system.exists(secondary_path)? {
        create_directory(&*opener.file_system, secondary_path)?;
    }
    let info_log = opener.log_in(secondary_path, "secondary");
    open_views(opener, base, None, &info_log)
}

/// The opener of a database that another process writes, and the options of families that come, where `families` does
/// not bound them.
pub(super) fn opener_of(
    path: &Path,
    options: DbOptions,
    families: Option<Vec<ColumnFamilyDescriptor>>,
) -> Result<(Opener, Option<DbOptions>)> {
    let (base, from, (options, families, notes)) = match families {
        Some(families) => (None, WalDirFrom::Caller, (options, families, Vec::new())),
        None => {
            let found = latest_options(path, options.clone(), load_latest, super::built_in)?;
            (Some(options.clone()), super::wal_dir_from(&options), found)
        }
    };
    Ok((Opener::new(path, options, families, notes, from)?, base))
}

/// Opens the database, and gives it its first view.
pub(super) fn open_views(
    opener: Opener,
    base: Option<DbOptions>,
    own_names: Option<OwnNames>,
    info_log: &Arc<InfoLog>,
) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    let names: Vec<String> = opener.families.iter().map(|(name, _)| name.clone()).collect();
    let core = opener.clone().assemble_secondary(info_log).inspect_err(|error| {
        info_log.error(|| format!("open failed: {error}"));
    })?;
    let takes_all = base.is_some();
    let is_follower = own_names.is_some();
    let tree = WritersTree::new(&opener)?;
    let follower =
        Follower { opener, base, manifest: None, held: SequenceNumber(0), tree, outside_changes: 0, names: own_names };
    let _ = core.secondary.set(Views::new(follower, is_follower));
    catch_up(&core)?;
    let names = match takes_all {
        true => core.versions.families().into_iter().map(|family| family.name).collect(),
        false => names,
    };
    open::handles(core, names)
}

/// See [`Db::try_catch_up_with_primary`](crate::Db::try_catch_up_with_primary).
pub(crate) fn catch_up(core: &DbCore) -> Result<()> {
    let mut state = core.secondary.get().map(Views::follower);
    let follower = state.as_mut().and_then(|state| state.downcast_mut::<Follower>());
    let Some((follower, secondary)) = follower.zip(core.secondary.get()) else {
        let what = "only a database opened with open_as_secondary or open_as_follower catches up";
        return Err(Error::not_supported(what));
    };
    secondary.check_goes_on()?;
    let clock = &core.env.clock;
    let begin_us = clock.monotonic_us();
    let (mut failure, mut is_without_writer, mut gaps) = (None, false, 0);
    for attempt in 0..MOST_ATTEMPTS {
        let took_us = clock.monotonic_us().saturating_sub(begin_us);
        if attempt >= LEAST_ATTEMPTS && took_us > PATIENCE_US {
            break;
        }
        let before = follower.opener.manifest_in_use();
        let tried = match &before {
            Ok(before) => follower.attempt(core, secondary, *before, !is_without_writer),
            Err(error) => Err(error.clone()),
        };
        secondary.check_goes_on()?;
        match tried {
            Ok(Attempt::Done) => return Ok(()),
            Ok(Attempt::AtGap) => {
                gaps += 1;
                if gaps > ATTEMPTS_AT_GAP {
                    return Ok(());
                }
                failure = None;
            }
            Ok(Attempt::Again) => failure = None,
            Err(error) if error.kind() == ErrorKind::Busy => return Err(error),
            // The end of a log is being written.
            Err(error) if error.kind() == ErrorKind::TryAgain && attempt < LEAST_ATTEMPTS => {
                failure = Some(error);
            }
            Err(error) => match (before, follower.opener.manifest_in_use()) {
                // Without a writer a blob file that is missing is what a crash took.
                (Ok(before), Ok(after)) if before == after && error.is_not_found() && !is_without_writer => {
                    is_without_writer = true;
                }
                (Ok(before), Ok(after)) if before == after => return Err(error),
                // It is replaced right now, or there is none any more.
                (Err(_), Err(_)) if attempt >= LEAST_ATTEMPTS => return Err(error),
                _ => failure = Some(error),
            },
        }
    }
    Err(failure.map_or_else(|| Error::new(ErrorKind::Busy, CHANGES_TOO_FAST), |error| error.context(CHANGES_TOO_FAST)))
}

impl Opener {
    /// What a secondary cannot do otherwise, with a note of each.
    fn adjust_for_secondary(&mut self) {
        if self.options.max_open_files >= 0 {
            self.notes.push(format!(
                "database: max_open_files is -1 instead of {}: a secondary reads tables that the primary has removed",
                self.options.max_open_files
            ));
            self.options.max_open_files = -1;
        }
        for (name, family) in &mut self.families {
            // Readers of a view must not see what comes behind it.
            if std::mem::take(&mut family.inplace_update_support) {
                self.notes.push(format!("column family {name}: inplace_update_support is off in a secondary"));
            }
        }
    }

    /// The LOG in a directory of its own; `what` is opened.
    pub(super) fn log_in(&self, directory: &Path, what: &str) -> Arc<InfoLog> {
        let info_log = InfoLog::open(
            Arc::clone(&self.file_system),
            directory,
            self.options.components.clock(),
            InfoLogOptions {
                level: self.options.info_log_level,
                max_file_bytes: self.options.info_log_limit_bytes(),
                keep_files: self.options.keep_log_file_num,
            },
        );
        info_log.header(self.log_header());
        info_log.info(|| format!("opening as a {what} of {}", self.path.display()));
        self.notes.iter().for_each(|note| info_log.warn(|| format!("options: {note}")));
        info_log
    }

    /// A database without a view: the first catch-up gives it one.
    fn assemble_secondary(mut self, info_log: &Arc<InfoLog>) -> Result<Arc<DbCore>> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let before = self.manifest_in_use();
            let found = self.recover_versions(&self.families_to_open(), RecoverMode::ReadOnly).and_then(|versions| {
                let reads_logs = self.tables_in.is_none();
                let oldest = versions.oldest_needed_log();
                let logs = if reads_logs { self.find_logs(oldest, info_log)? } else { self.path.clone() };
                Ok((logs, versions))
            });
            match found {
                Ok((directory, versions)) => {
                    if !self.file_system.exists(&directory)? {
                        return Err(Error::invalid_argument("wal_dir not found").in_file(directory));
                    }
                    let core = self.assemble(versions, directory, Arc::clone(info_log), None, true);
                    if self.tables_in.is_none() {
                        core.reads.blob_source().set_unbounded();
                    }
                    return Ok(core);
                }
                Err(error) => {
                    let is_unchanged = matches!((before, self.manifest_in_use()), (Ok(a), Ok(b)) if a == b);
                    if is_unchanged || attempt >= LEAST_ATTEMPTS {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Takes in families that came since, with the options that the OPTIONS file has for them.
    /// False when some of them have to wait: the OPTIONS file does not have them yet, or a comparator is not built in.
    /// The others go on.
    pub(super) fn add_families(&mut self, base: &DbOptions, existing: &[String], info_log: &InfoLog) -> Result<bool> {
        let is_known = |name: &String| self.families.iter().any(|(known, _)| known == name);
        if existing.iter().all(is_known) {
            return Ok(true);
        }
        let listed: BTreeSet<String> = match load_latest(&*self.file_system, &self.path) {
            Ok(Some(loaded)) => loaded.column_families.into_iter().map(|(name, _)| name).collect(),
            Ok(None) => existing.iter().cloned().collect(),
            // The primary replaces it right now.
            Err(_) => BTreeSet::new(),
        };
        let found = latest_options(&self.path, base.clone(), load_latest, super::built_in);
        let (options, families, notes) = match found {
            Err(error) if error.kind() == ErrorKind::NotSupported => {
                info_log.warn(|| format!("families that came are not shown: {error}"));
                return Ok(false);
            }
            found => found?,
        };
        let mut now = Self::new(&self.path, options, families, notes, self.wal_dir_from)?;
        now.adjust_for_secondary();
        let known: BTreeSet<String> = self.families.iter().map(|(name, _)| name.clone()).collect();
        let is_complete = existing.iter().all(|name| known.contains(name) || listed.contains(name));
        let is_new = |(name, _): &ColumnFamilyDescriptor| !known.contains(name) && listed.contains(name);
        self.families.extend(now.families.into_iter().filter(is_new));
        Ok(is_complete)
    }
}

impl Follower {
    /// Reads what there is; `before` is the MANIFEST in use.
    fn attempt(
        &mut self,
        core: &DbCore,
        secondary: &Views,
        before: ManifestStamp,
        missing_is_error: bool,
    ) -> Result<Attempt> {
        if self.names.is_some() {
            self.read_tables(core, secondary, before)
        } else if self.manifest == Some(before) {
            self.read_on(core, secondary, before, missing_is_error)
        } else {
            self.read_anew(core, secondary, before, missing_is_error)
        }
    }

    /// The tables are as they were: reads what came to the logs into the memtables.
    fn read_on(
        &mut self,
        core: &DbCore,
        secondary: &Views,
        before: ManifestStamp,
        missing_is_error: bool,
    ) -> Result<Attempt> {
        let families = core.families.load();
        let views = core.versions.families().into_iter();
        let families = views.filter_map(|view| families.get(view.id).map(|data| (view, Arc::clone(data)))).collect();
        let (outside_changes, held) = (self.outside_changes, self.held);
        let tree = Tree { versions: &core.versions, families, outside_changes, held, missing_is_error };
        // When this ends early, a part of what came is in the memtables, where readers do not see it.
        self.manifest = None;
        let opened = self.tree.open_logs(&self.opener, core.files.places().log_directory())?;
        // Tables have what was in logs that are not needed any more.
        if self.tree.oldest_needed_log() != core.versions.oldest_needed_log() {
            return Ok(Attempt::Again);
        }
        let Some(read) = self.read_logs(core, &tree, opened)? else { return Ok(Attempt::Again) };
        let (end, held) = end_of(&read, &core.versions, core.visible());
        if !is_one_moment(&read, &tree) || end < core.visible() {
            return self.not_ahead(core, end, before);
        }
        let _views = secondary.replace();
        core.writes.publisher().raise(end);
        (self.manifest, self.held) = (Some(before), self.held.max(held));
        Ok(if read.stopped_at_gap { Attempt::AtGap } else { Attempt::Done })
    }

    /// Reads the MANIFEST and all that it needs, and gives readers views of it.
    fn read_anew(
        &mut self,
        core: &DbCore,
        secondary: &Views,
        before: ManifestStamp,
        missing_is_error: bool,
    ) -> Result<Attempt> {
        let has_all_families = self.take_in_families(core)?;
        let opened = self.tree.open_logs(&self.opener, core.files.places().log_directory())?;
        let outside_changes = self.tree.outside_changes();
        let fresh = self.fresh_versions(core, before)?;
        let families = families_of(core, &fresh);
        self.open_files(core, &fresh, &families, before)?;
        families.iter().for_each(|(_, data)| data.memtable.store(data.new_memtable()));
        self.manifest = None;
        let held = SequenceNumber(0);
        let tree = Tree { versions: &fresh, families, outside_changes, held, missing_is_error };
        let read = self.read_logs(core, &tree, opened);
        let is_good = |read: &RecoveredLogs| {
            let (end, _) = end_of(read, &fresh, core.visible());
            is_one_moment(read, &tree) && end >= core.visible()
        };
        let read = match read {
            Ok(Some(read)) if is_good(&read) => read,
            outcome => {
                for (_, data) in &tree.families {
                    data.memtable.store(Arc::clone(&data.super_version.load().memtable));
                }
                let Some(read) = outcome? else { return Ok(Attempt::Again) };
                let (end, _) = end_of(&read, &fresh, core.visible());
                return self.not_ahead(core, end, before);
            }
        };
        let (end, held) = end_of(&read, &fresh, core.visible());
        let views = tree.families;
        let _views = secondary.replace();
        check_no_snapshot(core)?;
        install(core, fresh, views, end);
        say_caught_up(core, end);
        // Families that wait are looked for again at the next catch-up.
        (self.manifest, self.held) = (has_all_families.then_some(before), held);
        self.outside_changes = outside_changes;
        Ok(if read.stopped_at_gap { Attempt::AtGap } else { Attempt::Done })
    }

    /// Looks for families that came; false when some of them have to wait.
    pub(super) fn take_in_families(&mut self, core: &DbCore) -> Result<bool> {
        check_no_snapshot(core)?;
        let Some(base) = &self.base else { return Ok(true) };
        self.tree.read()?;
        let known = self.opener.families.len();
        let has_all_families = self.opener.add_families(base, &self.tree.family_names(), core.events.log())?;
        if self.opener.families.len() != known {
            self.tree = WritersTree::new(&self.opener)?;
        }
        Ok(has_all_families)
    }

    /// The tree, as far as the MANIFEST was read.
    pub(super) fn fresh_versions(&self, core: &DbCore, before: ManifestStamp) -> Result<VersionSet> {
        let fresh = self.tree.versions(&self.opener)?;
        self.check_same_database(core, &fresh, before)?;
        fresh.take_open_tables(&core.versions);
        Ok(fresh)
    }

    /// Refuses what is another database by now, and logs that are elsewhere by now.
    fn check_same_database(&self, core: &DbCore, fresh: &VersionSet, before: ManifestStamp) -> Result<()> {
        let what = match (core.versions.db_id(), fresh.db_id()) {
            (Some(own), Some(now)) if own != now => "the directory has another database now: open the secondary anew",
            // Only an open begins a MANIFEST under another number, and may have another directory of logs.
            _ if self.names.is_some() || self.manifest.is_some_and(|(number, _)| number == before.0) => return Ok(()),
            _ => {
                let directory = self.opener.clone().find_logs(fresh.oldest_needed_log(), core.events.log())?;
                if is_same(&directory, core.files.places().log_directory()) {
                    return Ok(());
                }
                "the primary has another wal_dir now: open the secondary anew"
            }
        };
        Err(Error::invalid_argument(what).in_file(core.files.database()))
    }

    /// The files end before what readers have seen, or are not of one moment: for now, beside a writer, or for ever.
    fn not_ahead(&self, core: &DbCore, end: SequenceNumber, before: ManifestStamp) -> Result<Attempt> {
        if self.opener.manifest_in_use()? != before {
            return Ok(Attempt::Again);
        }
        Err(Error::new(
            ErrorKind::TryAgain,
            format!(
                "the files of the primary end at sequence number {end}, and this secondary was at {}: it stays there; \
                 where a later catch-up says so too, the primary lost writes: open the secondary anew",
                core.visible()
            ),
        )
        .in_file(core.files.database()))
    }

    /// Opens the tables and the blob files of a tree, so that they can be read whatever becomes of their names.
    pub(super) fn open_files(
        &self,
        core: &DbCore,
        fresh: &VersionSet,
        families: &[(FamilyView, Arc<ColumnFamilyData>)],
        before: ManifestStamp,
    ) -> Result<()> {
        let mut tables = Vec::new();
        for (view, data) in families {
            let closed = view.current.files().filter(|(_, file)| data.table_cache.get_if_open(file).is_none());
            tables.extend(closed.map(|(_, file)| (Arc::clone(&data.table_cache), Arc::clone(file))));
        }
        tables.truncate(core.files.open_tables().most_kept());
        let opened = open_all(&*core.env.spawner, open::opening_threads(core), tables);
        // What has a name of its own can be opened when it is needed.
        let blobs = if self.names.is_some() { Vec::new() } else { fresh.blob_files_now() };
        let opened = opened.and_then(|()| {
            blobs.into_iter().try_for_each(|(family, number)| core.reads.blob_source().open_whole(family, number))
        });
        match opened {
            Err(error) if self.opener.manifest_in_use().ok() == Some(before) => open::tolerate(core, error),
            outcome => outcome,
        }
    }

    /// `None` when the MANIFEST has said meanwhile what no log has, and when a log went while it was read.
    fn read_logs(&self, core: &DbCore, tree: &Tree<'_>, opened: Vec<OpenLog>) -> Result<Option<RecoveredLogs>> {
        let is_tree_complete = || self.tree.is_as_of(tree.outside_changes);
        let recovery = LogRecovery {
            mode: WalRecoveryMode::PointInTimeRecovery,
            paranoid: true,
            min_log_number: tree.versions.oldest_needed_log(),
            min_log_number_to_keep: tree.versions.min_log_number_to_keep(),
            tailing: Some(Tailing {
                held: tree.held,
                recorded: tree.versions.last_sequence().max(tree.versions.largest_in_tables()),
                is_tree_complete: &is_tree_complete,
            }),
            ..logs::log_recovery(core, tree.missing_is_error)
        };
        let mut families = BTreeMap::new();
        for (view, data) in &tree.families {
            let table_bytes = view.current.files().map(|(_, file)| file.size_bytes).sum();
            let family = RecoveringFamily { data: Arc::clone(data), log_number: view.log_number, table_bytes };
            families.insert(view.id, family);
        }
        let read = recovery.run(opened, &families, tree.versions.last_sequence(), |_| Ok(()))?;
        // Batches behind what came from outside are nothing without it.
        let is_whole = !self.tree.was_log_taken_away(&read) && is_tree_complete();
        Ok(is_whole.then_some(read))
    }
}

/// The sequence number of a view, and up to where its batches were read. Readers are at `visible`.
///
/// What a MANIFEST of RocksDB says may be ahead of its logs, with `manual_wal_flush`: batches come to them later. Not
/// so one of this crate, whose logs begin with a record that tells them apart.
fn end_of(read: &RecoveredLogs, versions: &VersionSet, visible: SequenceNumber) -> (SequenceNumber, SequenceNumber) {
    let held = read.last_sequence.unwrap_or_default().max(versions.largest_in_tables());
    let recorded = versions.last_sequence();
    let reached = if read.stopped_at.is_some() { read.reached.min(recorded) } else { recorded };
    let end = if read.announces_gaps { held.max(reached) } else { held };
    // Compactions drop deletions, and with them the newest number.
    (if visible <= reached { end.max(visible) } else { end }, held)
}

/// False when reading stopped before what the tables of some family have.
fn is_one_moment(read: &RecoveredLogs, tree: &Tree<'_>) -> bool {
    let Some(stopped_at) = read.stopped_at else { return true };
    let is_ahead = |view: &FamilyView| view.log_number > stopped_at && view.current.num_files() > 0;
    !tree.families.iter().any(|(view, _)| is_ahead(view)) && tree.versions.largest_in_tables() <= read.reached
}

/// A snapshot says a number, and the tables that come may not have what was there then.
pub(super) fn check_no_snapshot(core: &DbCore) -> Result<()> {
    match core.reads.snapshots().oldest() {
        None => Ok(()),
        Some(oldest) => Err(Error::new(
            ErrorKind::Busy,
            format!(
                "a snapshot at {oldest} is held, and the primary has changed its tables: release the snapshots of the \
                 secondary and catch up again; an iterator keeps its moment without one"
            ),
        )),
    }
}

pub(super) fn say_caught_up(core: &DbCore, end: SequenceNumber) {
    core.events.log().info(|| format!("caught up with sequence number {end}"));
}
