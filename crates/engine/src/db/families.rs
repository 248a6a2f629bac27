//! Creating, dropping and listing column families.

use super::{DbCore, wakeups};
use crate::column_family::{ColumnFamily, ColumnFamilyData, FamilyMap};
use crate::db::cleanup;
use crate::db::direct_writes;
use crate::db::flush;
use crate::db::options_file;
use crate::db::switch_memtable;
use crate::db::write;
use crate::events::Event;
use crate::family_texts;
use crate::jobs::background_error::Reason;
use crate::jobs::{LogChange, Places};
use crate::options::{ColumnFamilyOptions, DbOptions};
use ferrock_base::byte_text::canonical;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::options_file::value::parse_struct;
use ferrock_format::version_edit::NewFile;
use ferrock_options::{ColumnFamilyHandleInfo, combinations, db_path, dump, memory_budget_bytes, notes_of};
use ferrock_tree::places::create_table_directories;
use std::sync::Arc;

/// See [`Db::create_column_family`].
pub(crate) fn create_column_family(
    core: &Arc<DbCore>,
    name: &str,
    options: ColumnFamilyOptions,
) -> Result<ColumnFamily> {
    create_column_family_by(core, name, options, |name, options| create_family(core, name, options))
}

/// Creates a family with options that a caller gives: `create` makes it durable and known.
pub(super) fn create_column_family_by(
    core: &Arc<DbCore>,
    name: &str,
    options: ColumnFamilyOptions,
    create: impl FnOnce(&str, ColumnFamilyOptions) -> Result<Arc<ColumnFamilyData>>,
) -> Result<ColumnFamily> {
    let (family, are_default) = create_unwritten(core, name, options, create)?;
    options_file::families_changed(core, are_default)?;
    wakeups::settle(core);
    Ok(family)
}

/// See [`Db::create_column_families`].
pub(crate) fn create_column_families(
    core: &Arc<DbCore>,
    families: Vec<(String, ColumnFamilyOptions)>,
) -> Result<Vec<ColumnFamily>> {
    let (mut created, mut may_wait) = (Vec::with_capacity(families.len()), true);
    let result = families.into_iter().try_for_each(|(name, options)| {
        let create = |name: &str, options| create_family(core, name, options);
        let (family, are_default) = create_unwritten(core, &name, options, create)?;
        may_wait &= are_default;
        created.push(family);
        options_file::wait_for_more(core);
        Ok(())
    });
    if !created.is_empty() {
        // Also behind one that could not be created: those before it stay.
        let written = options_file::families_changed(core, may_wait);
        wakeups::settle(core);
        return result.and(written.map(drop)).map(|()| created);
    }
    result.map(|()| created)
}

/// Creates a family that no OPTIONS file has yet; and whether its options are the defaults.
fn create_unwritten(
    core: &Arc<DbCore>,
    name: &str,
    options: ColumnFamilyOptions,
    create: impl FnOnce(&str, ColumnFamilyOptions) -> Result<Arc<ColumnFamilyData>>,
) -> Result<(ColumnFamily, bool)> {
    core.jobs.check_open()?;
    let problems: Vec<String> = options.violations().iter().map(ToString::to_string).collect();
    if !problems.is_empty() {
        return Err(Error::invalid_argument(problems.join("; ")));
    }
    combinations::check_family(&core.options.load(), &options)?;
    if let Some(first) = options.unsupported().first() {
        return Err(Error::not_supported(format!("column family {name}: {first}")));
    }
    db_path::check("cf_paths", &options.cf_paths)?;
    let name = &canonical(name);
    let are_default = family_texts::are_default(&options);
    let families = [(name.clone(), options)];
    let mut notes = notes_of(&DbOptions::default(), &families);
    let [(_, mut options)] = families;
    let place = format!("column family {name}");
    notes.extend(options.settle_in(&core.options.load()).iter().map(|adjustment| format!("{place}: {adjustment}")));
    let header = dump::family_lines(name, &options);
    let data = create(name, options).inspect_err(|_| core.events.tell_collected())?;
    options_file::note_change(core);
    core.events.log().header_once(&header);
    replace_option_notes(core, &place, &[""], notes);
    Ok((ColumnFamily { data }, are_default))
}

/// See [`Db::drop_column_family`].
pub(crate) fn drop_column_family(core: &Arc<DbCore>, family: &ColumnFamily) -> Result<()> {
    if core.jobs.is_read_only() && family.id() == 0 {
        return Err(Error::invalid_argument("Can't drop default column family: and the database is open read-only"));
    }
    core.jobs.check_open()?;
    core.events.tell(|| {
        let (column_family_id, column_family) = (family.id(), family.name().to_owned());
        Event::ColumnFamilyHandleDeletionStarted(ColumnFamilyHandleInfo { column_family_id, column_family })
    });
    drop_family(core, &family.data).inspect_err(|_| core.events.tell_collected())?;
    replace_option_notes(core, &format!("column family {}", family.name()), &[""], Vec::new());
    options_file::note_change(core);
    let written = options_file::families_changed(core, true);
    let has_files = {
        let version = Arc::clone(&family.data.super_version.load().version);
        version.num_files() > 0 || !version.blob_files().is_empty()
    };
    if matches!(written, Ok(true)) || (has_files && !options_file::is_awaited(core)) {
        cleanup::delete_obsolete_files(core);
    } else if has_files {
        // By the thread that writes the OPTIONS file. A clean-up looks at all families: one for each of thousands that
        // are dropped would take time with the square of their number.
        core.files.owe_cleanup();
    }
    written.map(drop)
}

/// See [`Db::set_options_cf`].
pub(crate) fn set_options_cf(core: &Arc<DbCore>, family: &ColumnFamily, changes: &[(&str, &str)]) -> Result<()> {
    core.jobs.check_open()?;
    check_not_empty(changes)?;
    // Before the options are read: of two changes at once, the second builds on the first.
    let installs = core.installs.lock();
    // RocksDB says this whatever the change is.
    if family.data.is_dropped() {
        return Err(Error::new(ErrorKind::ColumnFamilyDropped, family.name().to_owned()));
    }
    let before = family.data.options.load_full();
    let mut options = (*before).clone();
    let mut problems = Vec::new();
    for (name, value) in changes {
        match options.set_mutable(name, value) {
            Err(error) if error.kind() == ErrorKind::NotSupported => return Err(error),
            Err(error) => problems.push(error.message().to_owned()),
            Ok(()) => {}
        }
    }
    problems.extend(options.violations().iter().map(ToString::to_string));
    if !problems.is_empty() {
        return Err(Error::invalid_argument(problems.join("; ")));
    }
    combinations::check_family(&core.options.load(), &options)?;
    // What an OPTIONS file asked for stays; only what is new here is refused.
    let known = before.unsupported();
    if let Some(first) = options.unsupported().iter().find(|value| !known.contains(value)) {
        return Err(Error::not_supported(format!("column family {}: {first}", family.name())));
    }
    let place = format!("column family {}", family.name());
    let mut notes = Vec::new();
    notes.extend(options.settle_in(&core.options.load()).iter().map(|adjustment| format!("{place}: {adjustment}")));
    // Fixed while the database is open: without blob files it rests.
    options.settings.enable_blob_direct_write = before.enable_blob_direct_write;
    let named = [(family.name().to_owned(), options)];
    notes.extend(notes_of(&DbOptions::default(), &named));
    let [(_, options)] = named;
    let options = Arc::new(options);
    core.versions.set_options(family.id(), Arc::clone(&options))?;
    replace_option_notes(core, &place, &changed_names(changes), notes);
    family.data.table_cache.set_mutable(core.mutable_table_cache_params(&options));
    family.data.options.store(Arc::clone(&options));
    if before.kept_times_secs() != options.kept_times_secs() {
        configure_seqno_times(core);
    }
    // The limit of the logs may be another one.
    core.writes.ask_for_room();
    if !core.jobs.install(family.id(), core.versions.current(family.id())) {
        return Err(Error::new(ErrorKind::ColumnFamilyDropped, family.name().to_owned()));
    }
    core.jobs.schedule();
    wakeups::settle(core);
    drop(installs);
    options_file::write_options_file(core)
}

/// See [`Db::set_db_options`].
pub(crate) fn set_db_options(core: &Arc<DbCore>, changes: &[(&str, &str)]) -> Result<()> {
    core.jobs.check_open()?;
    check_not_empty(changes)?;
    let installs = core.installs.lock();
    let mut options = (*core.options.load_full()).clone();
    let mut problems = Vec::new();
    // Of an option that is none, or fixed, the kind is RocksDB's.
    let mut kind = ErrorKind::InvalidArgument;
    let mut budget_bytes = None;
    for (name, value) in changes {
        if *name == "memory_budget" {
            budget_bytes = Some(memory_budget_bytes(value)?);
            continue;
        }
        match options.set_mutable(name, value) {
            Err(error) if error.kind() == ErrorKind::NotSupported => return Err(error),
            Err(error) => {
                if error.kind() == ErrorKind::NotFound {
                    kind = ErrorKind::NotFound;
                }
                problems.push(error.message().to_owned());
            }
            Ok(()) => {}
        }
    }
    let budget = options.components.memory_budget.clone();
    if budget_bytes.is_some_and(|bytes| bytes == 0 || budget.is_none()) {
        problems.push(
            "memory_budget begins and ends with an open; while a database is open it changes its size".to_owned(),
        );
    }
    problems.extend(options.violations().iter().map(ToString::to_string));
    if !problems.is_empty() {
        return Err(Error::new(kind, problems.join("; ")));
    }
    combinations::check_db(&options)?;
    for data in core.families.load().iter() {
        combinations::check_family(&options, &data.options.load())?;
    }
    if let (Some(budget), Some(bytes)) = (budget, budget_bytes) {
        budget.set_bytes(bytes);
    }
    let mut notes: Vec<String> = options.adjust().iter().map(|adjustment| format!("database: {adjustment}")).collect();
    notes.extend(notes_of(&options, &[]));
    replace_option_notes(core, "database", &changed_names(changes), notes);
    core.writes.controller().set_max_rate(options.delayed_write_rate);
    let before = core.options.load_full();
    if options.max_open_files != before.max_open_files {
        core.files.set_max_open_files(options.max_open_files);
    }
    let is_log_written_otherwise = options.wal_bytes_per_sync != before.wal_bytes_per_sync
        || (options.wal_bytes_per_sync > 0 && options.strict_bytes_per_sync != before.strict_bytes_per_sync);
    core.writes.logs().set_bytes_per_sync(options.wal_bytes_per_sync, options.strict_bytes_per_sync);
    core.metrics.history().bound(options.stats_history_buffer_size);
    let options = Arc::new(options);
    core.versions.set_db_options(Arc::clone(&options));
    let places = Places::of(&core.options.load());
    core.options.store(options);
    // The limit of the logs may be another one.
    core.writes.ask_for_room();
    core.jobs.raise_pools(places);
    core.jobs.schedule();
    wakeups::settle(core);
    drop(installs);
    if is_log_written_otherwise {
        write::exclusively(core, || switch_memtable::switch_memtables(core, &[]))??;
    }
    options_file::write_options_file(core)
}

/// A call that changes nothing is refused, as by RocksDB.
fn check_not_empty(changes: &[(&str, &str)]) -> Result<()> {
    match changes {
        [] => Err(Error::invalid_argument("empty input: name an option and its value")),
        _ => Ok(()),
    }
}

/// The names of options that a call changes, those in the braces of a nested text too.
fn changed_names<'a>(changes: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    let nested = changes.iter().filter_map(|(_, value)| parse_struct(value).ok()).flatten();
    changes.iter().copied().chain(nested).map(|(name, _)| name).collect()
}

/// Forgets what was noted of options whose names begin like one of `names`, in `place`, and notes and logs what is
/// new.
fn replace_option_notes(core: &DbCore, place: &str, names: &[&str], notes: Vec<String>) {
    for note in core.options.notes().replace(place, names, notes) {
        core.events.log().warn(|| format!("options: {note}"));
    }
}

/// Makes a family durable, then known. No writer waits for the MANIFEST: until the family is known nothing can be
/// written to it, so every log from the current one on is right as its first.
pub(crate) fn create_family(
    core: &Arc<DbCore>,
    name: &str,
    options: ColumnFamilyOptions,
) -> Result<Arc<ColumnFamilyData>> {
    create_family_of(core, name, options, Vec::new(), || {})
}

/// As [`create_family`], with tables that lie in its directory: after a crash it has all of them, or is not there.
/// `hand_over` is called when the MANIFEST has them, or may have them.
pub(super) fn create_family_of(
    core: &Arc<DbCore>,
    name: &str,
    options: ColumnFamilyOptions,
    tables: Vec<NewFile>,
    hand_over: impl FnOnce(),
) -> Result<Arc<ColumnFamilyData>> {
    let options = Arc::new(options);
    let _open = core.jobs.hold_open()?;
    create_table_directories(&*core.env.file_system, core.files.database(), &options.cf_paths)?;
    if tables.is_empty() {
        let id = make_family_durable(core, name, &options, tables)?;
        // Alone in the write queue: families come and go between two groups of writes.
        return write::exclusively(core, || begin_family(core, name, options, id))?;
    }
    // The MANIFEST says the newest number of the tables, and recovery would take a hole in the logs below it for what
    // was never logged: what was written before is durable first, most of it before writers are held.
    sync_logs(core)?;
    // No write comes between the record and the numbers: its own would be smaller than the newest that the MANIFEST
    // tells, and a follower would take it for one that it has seen.
    write::exclusively(core, || {
        sync_logs(core)?;
        let newest = tables.iter().map(|table| table.largest_seqno).max().unwrap_or_default();
        let made = make_family_durable(core, name, &options, tables);
        let may_be_there = made.is_ok() || core.versions.is_uncertain();
        if may_be_there {
            hand_over();
        }
        // Before it is known: no write gets a number that its tables have, and readers see all of them.
        if may_be_there && newest > core.writes.publisher().given() {
            core.writes.publisher().skip(newest);
        }
        begin_family(core, name, options, made?)
    })?
}

fn sync_logs(core: &DbCore) -> Result<()> {
    core.sync_logs().inspect_err(|error| core.jobs.set_error(Reason::Write, error))
}

fn make_family_durable(
    core: &DbCore,
    name: &str,
    options: &Arc<ColumnFamilyOptions>,
    tables: Vec<NewFile>,
) -> Result<u32> {
    let _installs = core.installs.lock();
    let log_number = core.writes.logs().current_number();
    check_manifest(core, core.versions.create_column_family_of(name, Arc::clone(options), log_number, tables))
}

/// Makes a family that the MANIFEST has known to readers and writers. The caller leads the writers.
fn begin_family(
    core: &Arc<DbCore>,
    name: &str,
    options: Arc<ColumnFamilyOptions>,
    id: u32,
) -> Result<Arc<ColumnFamilyData>> {
    let version = core.versions.current(id).ok_or_else(|| Error::corruption("a new column family is gone"))?;
    let table_cache = core.new_table_cache(id, &options);
    let memory = switch_memtable::memory_tracker(core);
    let blob_cache = core.new_blob_cache(&options);
    let direct = core.direct_place(id, &table_cache);
    let name = name.to_owned();
    let data = ColumnFamilyData::new(id, name, options, version, table_cache, blob_cache, memory, direct);
    core.jobs.add_family(Arc::clone(&data), core.writes.logs().current_number(), core.visible());
    let preserves_times = data.options.load().kept_times_secs() > 0;
    change_families(core, |families| families.insert(Arc::clone(&data)));
    if preserves_times {
        configure_seqno_times(core);
    }
    Ok(data)
}

/// Refuses writes to a family, makes its end durable, then forgets it. No writer waits for the MANIFEST. A drop that
/// fails gives the family back, so until then a write that ignores missing families is refused, too.
fn drop_family(core: &Arc<DbCore>, data: &Arc<ColumnFamilyData>) -> Result<()> {
    if data.id == 0 {
        return Err(Error::invalid_argument("Can't drop default column family: a database always has it"));
    }
    let _open = core.jobs.hold_open()?;
    write::exclusively(core, || {
        if core.families.load().get(data.id).is_none() {
            return Err(Error::invalid_argument(format!("Column family already dropped! It is {}", data.name)));
        }
        change_families(core, |families| families.begin_drop(data.id));
        Ok(())
    })??;
    let dropped = make_drop_durable(core, data);
    let back = dropped.is_err().then(|| Arc::clone(data));
    write::exclusively(core, || change_families(core, |families| families.end_drop(data.id, back)))?;
    if data.options.load().kept_times_secs() > 0 {
        configure_seqno_times(core);
    }
    dropped
}

/// Samples the times of sequence numbers as the families that are there now ask for.
pub(super) fn configure_seqno_times(core: &DbCore) {
    let families = core.families.load();
    let preserved = families.iter().map(|data| data.options.load().kept_times_secs());
    core.seqno_times.configure(preserved, core.visible(), &*core.env.clock);
}

fn make_drop_durable(core: &DbCore, data: &ColumnFamilyData) -> Result<()> {
    let installs = core.installs.lock();
    // The family may be the one that holds back the logs.
    let release = flush::log_release(core, Some(LogChange::Drop { id: data.id }));
    check_manifest(core, core.versions.drop_column_family(data.id, release))?;
    core.jobs.remove_family(data.id);
    direct_writes::abandon(data);
    core.writes.ask_for_room();
    let released = core.writes.logs().release_before(core.versions.min_log_number_to_keep());
    drop(installs);
    flush::delete_logs(core, &released);
    Ok(())
}

/// Changes which families there are. The caller leads the write queue.
fn change_families(core: &DbCore, change: impl FnOnce(&mut FamilyMap)) {
    let mut families = (**core.families.load()).clone();
    change(&mut families);
    core.families.store(Arc::new(families));
}

/// Passes on the outcome of a change of the MANIFEST. When its record could not be written, writes stop: a crash may
/// leave the change or not, and what is acknowledged must not depend on that. No write to the family comes in between:
/// it is not known.
fn check_manifest<T>(core: &DbCore, outcome: Result<T>) -> Result<T> {
    outcome.inspect_err(|error| {
        if core.versions.is_uncertain() {
            core.jobs.set_error(Reason::Manifest, error);
        }
    })
}
