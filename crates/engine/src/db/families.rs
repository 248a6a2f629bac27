//! Creating, dropping and listing column families.

use super::flush::LogChange;
use super::open::new_family_state;
use super::{Db, DbCore};
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::options::{ColumnFamilyOptions, DbOptions, WriteOptions};
use ferrock_base::byte_text::canonical;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::options_file::value::parse_struct;
use ferrock_options::{combinations, db_path, dump, notes_of};
use ferrock_tree::places::create_table_directories;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Db {
    /// Creates a column family, durably. A name of any bytes is given as the text that stands for it
    /// ([`byte_text`](crate::byte_text)).
    ///
    /// # Errors
    /// `Invalid argument` when it exists, its name is empty, or an option means nothing; `Not implemented` for a value
    /// that asks for what is not built. A number that is only out of its bounds is brought to the nearest good one,
    /// which [`option_notes`](Self::option_notes) tells.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let users = db.create_column_family("users", ferrock::ColumnFamilyOptions::default())?;
    /// let options = ferrock::WriteOptions::default();
    /// db.put_cf(&users, b"7", b"Ada", &options)?;
    /// assert!(db.get(b"7")?.is_none(), "the default family has keys of its own");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn create_column_family(&self, name: &str, options: ColumnFamilyOptions) -> Result<ColumnFamily> {
        let core = self.core();
        core.check_open()?;
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
        let families = [(name.clone(), options)];
        let mut notes = notes_of(&DbOptions::default(), &families);
        let [(_, mut options)] = families;
        let place = format!("column family {name}");
        notes.extend(options.settle_in(&core.options.load()).iter().map(|adjustment| format!("{place}: {adjustment}")));
        let header = dump::family_lines(name, &options);
        let data = core.create_family(name, options)?;
        core.events.log().header_once(&header);
        core.replace_option_notes(&place, &[""], notes);
        core.write_options_file()?;
        Ok(ColumnFamily { data })
    }

    /// Drops a column family, durably. Its tables go once no reader holds them; handles and iterators that exist keep
    /// reading what they have.
    ///
    /// # Errors
    /// `InvalidArgument` for the default family and for one that was dropped before; `NotSupported` when the database
    /// is read-only; `Io` when the MANIFEST cannot be written, after which writes are refused until
    /// [`resume`](Self::resume).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let users = db.create_column_family("users", ferrock::ColumnFamilyOptions::default())?;
    /// db.drop_column_family(&users)?;
    /// assert!(db.column_family("users").is_none());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn drop_column_family(&self, family: &ColumnFamily) -> Result<()> {
        let core = self.core();
        if core.is_read_only && family.id() == 0 {
            return Err(Error::invalid_argument(
                "Can't drop default column family: and the database is open read-only",
            ));
        }
        core.check_open()?;
        core.drop_family(&family.data)?;
        core.replace_option_notes(&format!("column family {}", family.name()), &[""], Vec::new());
        core.write_options_file()?;
        core.delete_obsolete_files();
        Ok(())
    }

    /// The handle of a column family that is open.
    #[must_use]
    pub fn column_family(&self, name: &str) -> Option<ColumnFamily> {
        let families = self.core().families.load();
        families.by_name(&canonical(name)).map(|data| ColumnFamily { data: Arc::clone(data) })
    }

    /// The default column family.
    ///
    /// # Errors
    /// Only when the database is damaged beyond opening; a database that is open has one.
    pub fn default_column_family(&self) -> Result<ColumnFamily> {
        self.core().default_family().map(|data| ColumnFamily { data })
    }

    /// Handles of all column families, in the order of their ids.
    #[must_use]
    pub fn column_families(&self) -> Vec<ColumnFamily> {
        let families = self.core().families.load();
        let mut all: Vec<ColumnFamily> = families.iter().map(|data| ColumnFamily { data: Arc::clone(data) }).collect();
        all.sort_by_key(ColumnFamily::id);
        all
    }

    /// Changes options that are mutable while the database is open, and writes a new OPTIONS file. What says how tables
    /// are read counts for those that are opened from then on. A number that is out of its bounds is brought to the
    /// nearest good one, which [`option_notes`](Self::option_notes) tells.
    ///
    /// # Errors
    /// `Invalid argument` names every option that does not exist, is fixed, or means nothing, `Not implemented` a
    /// value that asks for what is not built; then none changes.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let family = db.default_column_family()?;
    /// db.set_options_cf(&family, &[("write_buffer_size", "8388608")])?;
    /// assert!(db.set_options_cf(&family, &[("write_buffer_sise", "1")]).is_err());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn set_options_cf(&self, family: &ColumnFamily, changes: &[(&str, &str)]) -> Result<()> {
        let core = self.core();
        core.check_open()?;
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
        notes.extend(options.settle().iter().map(|adjustment| format!("{place}: {adjustment}")));
        let named = [(family.name().to_owned(), options)];
        notes.extend(notes_of(&DbOptions::default(), &named));
        let [(_, options)] = named;
        let options = Arc::new(options);
        core.versions.set_options(family.id(), Arc::clone(&options))?;
        core.replace_option_notes(&place, &changed_names(changes), notes);
        family.data.table_cache.set_mutable(core.mutable_table_cache_params(&options));
        family.data.options.store(options);
        // The limit of the logs may be another one.
        core.writes.ask_for_room();
        let mut state = core.state.lock();
        let Some(own) = state.families.get(&family.id()) else {
            return Err(Error::new(ErrorKind::ColumnFamilyDropped, family.name().to_owned()));
        };
        core.install_super_version(own, core.versions.current(family.id()));
        core.update_stall_condition(own, &family.data.options.load());
        core.schedule(&mut state);
        drop(state);
        drop(installs);
        core.write_options_file()
    }

    /// Changes options of the whole database that are mutable while it is open, and writes a new OPTIONS file. Bounds
    /// and errors are as for [`set_options_cf`](Self::set_options_cf).
    ///
    /// # Errors
    /// As for [`set_options_cf`](Self::set_options_cf), but `NotFound` when an option does not exist. Then none
    /// changes.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.set_db_options(&[("max_background_jobs", "4")])?;
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn set_db_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        let core = self.core();
        core.check_open()?;
        let installs = core.installs.lock();
        let mut options = (*core.options.load_full()).clone();
        let mut problems = Vec::new();
        // Of an option that is none, or fixed, the kind is RocksDB's.
        let mut kind = ErrorKind::InvalidArgument;
        for (name, value) in changes {
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
        problems.extend(options.violations().iter().map(ToString::to_string));
        if !problems.is_empty() {
            return Err(Error::new(kind, problems.join("; ")));
        }
        combinations::check_db(&options)?;
        let mut notes: Vec<String> =
            options.adjust().iter().map(|adjustment| format!("database: {adjustment}")).collect();
        notes.extend(notes_of(&options, &[]));
        core.replace_option_notes("database", &changed_names(changes), notes);
        core.events.log().set_level(options.info_log_level);
        core.writes.controller().set_max_rate(options.delayed_write_rate);
        let options = Arc::new(options);
        core.versions.set_db_options(Arc::clone(&options));
        core.options.store(options);
        // The limit of the logs may be another one.
        core.writes.ask_for_room();
        core.schedule(&mut core.state.lock());
        drop(installs);
        core.write_options_file()
    }

    /// Waits until no flush or compaction runs or is due.
    ///
    /// # Errors
    /// The background error that stands: call [`resume`](Self::resume) when its cause is gone, or reopen the database.
    pub fn wait_for_background_work(&self) -> Result<()> {
        self.core().wait_for_background_work()
    }

    /// Writes a batch durably: shorthand for [`write`](Self::write) with `sync`.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_synced(&self, batch: crate::WriteBatch) -> Result<()> {
        self.write(batch, &WriteOptions::synced())
    }
}

/// The names of options that a call changes, those in the braces of a nested text too.
fn changed_names<'a>(changes: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    let nested = changes.iter().filter_map(|(_, value)| parse_struct(value).ok()).flatten();
    changes.iter().copied().chain(nested).map(|(name, _)| name).collect()
}

impl DbCore {
    /// Forgets what was noted of options whose names begin like one of `names`, in `place`, and notes and logs what is
    /// new.
    fn replace_option_notes(&self, place: &str, names: &[&str], notes: Vec<String>) {
        for note in self.option_notes.replace(place, names, notes) {
            self.events.log().warn(|| format!("options: {note}"));
        }
    }

    pub(crate) fn create_family(
        self: &Arc<Self>,
        name: &str,
        options: ColumnFamilyOptions,
    ) -> Result<Arc<ColumnFamilyData>> {
        let options = Arc::new(options);
        create_table_directories(&*self.file_system, self.files.database(), &options.cf_paths)?;
        // Alone in the write queue, so that the log number named is that of the log in use.
        self.exclusively(|core| {
            let log_number = core.writes.logs().current_number();
            let created = core.versions.create_column_family(name, Arc::clone(&options), log_number);
            let id = core.check_manifest(created)?;
            let version = core.versions.current(id).ok_or_else(|| Error::corruption("a new column family is gone"))?;
            let data = {
                let table_cache = core.new_table_cache(id, &options);
                ColumnFamilyData::new(id, name.to_owned(), options, version, table_cache, core.memory_tracker())
            };
            let mut state = core.state.lock();
            state.families.insert(id, new_family_state(Arc::clone(&data), log_number));
            let mut families = (**core.families.load()).clone();
            families.insert(Arc::clone(&data));
            core.families.store(Arc::new(families));
            Ok(data)
        })?
    }

    fn drop_family(self: &Arc<Self>, data: &Arc<ColumnFamilyData>) -> Result<()> {
        self.exclusively(|core| {
            if data.is_dropped() {
                return Err(Error::invalid_argument(format!("Column family already dropped! It is {}", data.name)));
            }
            // The family may be the one that holds back the logs.
            let installs = core.installs.lock();
            let release = core.log_release(&core.state.lock(), Some(LogChange::Drop { id: data.id }));
            core.check_manifest(core.versions.drop_column_family(data.id, release))?;
            let mut state = core.state.lock();
            data.is_dropped.store(true, Ordering::Release);
            state.families.remove(&data.id);
            let mut families = (**core.families.load()).clone();
            families.remove(data.id);
            core.families.store(Arc::new(families));
            core.writes.controller().remove(data.id);
            core.writes.ask_for_room();
            core.changed.notify_all();
            let released = core.writes.logs().release_before(core.versions.min_log_number_to_keep());
            drop(state);
            drop(installs);
            core.delete_logs(&released);
            Ok(())
        })?
    }
}
