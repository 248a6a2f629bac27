//! Replays the edits of a MANIFEST from the first to the last.

use super::family::{Family, FamilyToOpen};
use super::manifest_reader::{ManifestReader, at};
use super::{DEFAULT_COLUMN_FAMILY, State};
use crate::version::VersionBuilder;
use ferrock_base::{Error, FileNumber, MAX_SEQUENCE_NUMBER, Result, SequenceNumber};
use ferrock_format::file_name::MAX_FILE_NUMBER;
use ferrock_format::version_edit::{ColumnFamilyChange, VersionEdit};
use ferrock_options::ColumnFamilyOptions;
use ferrock_vfs::FileSystem;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// The mode in which the database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoverMode {
    /// Every column family of the MANIFEST must be named.
    ReadWrite,
    /// Nothing is ever written, and families that are not named are passed over.
    ReadOnly,
}

/// Replays every edit of the MANIFEST at `path`; returns where the last record ends.
pub(super) fn replay_file(file_system: &dyn FileSystem, path: &Path, replay: &mut Replay) -> Result<u64> {
    let mut reader = ManifestReader::open(file_system, path)?;
    while let Some((offset, edits)) = reader.next_edits()? {
        edits.iter().try_for_each(|edit| apply_at(replay, edit, path, offset))?;
    }
    Ok(reader.last_record_end())
}

/// Replays an edit that the MANIFEST at `path` has at `offset`.
pub(super) fn apply_at(replay: &mut Replay, edit: &VersionEdit, path: &Path, offset: u64) -> Result<()> {
    replay.apply(edit).map_err(|error| {
        // Mismatched options are no corruption of the file.
        if error.is_corruption() { at(error, path, offset) } else { error.in_file(path) }
    })
}

/// Refuses to leave families of the MANIFEST closed.
pub(super) fn check_all_are_named(not_opened: &[&str]) -> Result<()> {
    if not_opened.is_empty() {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("Column families not opened: {}", not_opened.join(", "))))
}

/// A family as far as the MANIFEST was read.
#[derive(Clone, Debug)]
struct ReplayedFamily {
    name: String,
    comparator: Option<String>,
    log_number: FileNumber,
    full_history_ts_low: Option<Vec<u8>>,
    persist_user_defined_timestamps: Option<bool>,
    /// `None` for a family that is not being opened.
    tree: Option<(Arc<ColumnFamilyOptions>, VersionBuilder)>,
}

/// The state after the edits so far.
#[derive(Debug)]
pub(super) struct Replay {
    /// By id: a name may have belonged to several families.
    to_open: HashMap<u32, Arc<ColumnFamilyOptions>>,
    families: BTreeMap<u32, ReplayedFamily>,
    scalars: State,
    has_log_number: bool,
    next_file_number: Option<u64>,
    last_sequence: Option<SequenceNumber>,
    largest_log_number: u64,
}

/// The state after a whole MANIFEST.
#[derive(Debug)]
pub(super) struct ReplayedManifest {
    pub(super) state: State,
    pub(super) next_file_number: u64,
    pub(super) last_sequence: SequenceNumber,
}

impl Replay {
    /// Collects names and ids of the families.
    pub(super) fn of_names() -> Self {
        Self::by_id(HashMap::new())
    }

    /// Opens families; `names` has read the whole MANIFEST.
    pub(super) fn new(to_open: &[FamilyToOpen], names: &Self) -> Self {
        let wanted: HashMap<&str, _> = to_open.iter().map(|family| (&family.name[..], &family.options)).collect();
        let live = names.families.iter();
        Self::by_id(live.filter_map(|(&id, live)| Some((id, Arc::clone(wanted.get(&live.name[..])?)))).collect())
    }

    fn by_id(to_open: HashMap<u32, Arc<ColumnFamilyOptions>>) -> Self {
        let mut replay = Self {
            to_open,
            families: BTreeMap::new(),
            scalars: State::default(),
            has_log_number: false,
            next_file_number: None,
            last_sequence: None,
            largest_log_number: 0,
        };
        // The default family exists without being added.
        replay.add_family(0, DEFAULT_COLUMN_FAMILY.to_owned());
        replay
    }

    fn add_family(&mut self, id: u32, name: String) {
        let tree = self.to_open.get(&id).map(|options| {
            let family = Family::new(id, String::new(), Arc::clone(options), FileNumber(0));
            (Arc::clone(options), VersionBuilder::new(family.current))
        });
        let replayed = ReplayedFamily {
            name,
            comparator: None,
            log_number: FileNumber(0),
            full_history_ts_low: None,
            persist_user_defined_timestamps: None,
            tree,
        };
        self.families.insert(id, replayed);
    }

    pub(super) fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        let id = edit.column_family;
        match &edit.column_family_change {
            Some(ColumnFamilyChange::Add(name)) => {
                if name.is_empty() {
                    return Err(Error::corruption("a column family is added without a name"));
                }
                if self.families.contains_key(&id) {
                    return Err(Error::corruption(format!("column family {id} ({name}) is added twice")));
                }
                self.scalars.max_column_family = self.scalars.max_column_family.max(id);
                self.add_family(id, name.clone());
            }
            Some(ColumnFamilyChange::Drop) => {
                let dropped = if id == 0 { None } else { self.families.remove(&id) };
                dropped
                    .ok_or_else(|| Error::corruption(format!("column family {id} is dropped, but does not exist")))?;
            }
            None => {}
        }
        if edit.column_family_change != Some(ColumnFamilyChange::Drop) {
            let family = self
                .families
                .get_mut(&id)
                .ok_or_else(|| Error::corruption(format!("an edit for column family {id}, which does not exist")))?;
            family.apply(edit)?;
        }
        self.apply_scalars(edit)
    }

    fn apply_scalars(&mut self, edit: &VersionEdit) -> Result<()> {
        for (number, what) in [
            (edit.next_file_number, "next file number"),
            (edit.log_number, "log number"),
            (edit.prev_log_number, "previous log number"),
            (edit.min_log_number_to_keep, "minimum log number to keep"),
        ] {
            if let Some(number) = number.filter(|number| number.0 > MAX_FILE_NUMBER) {
                return Err(Error::corruption(format!("{what} {number} is not a file number")));
            }
        }
        if let Some(sequence) = edit.last_sequence {
            if sequence > MAX_SEQUENCE_NUMBER {
                return Err(Error::corruption(format!("last sequence {sequence} has more than 56 bits")));
            }
            self.last_sequence = self.last_sequence.max(Some(sequence));
        }
        if let Some(number) = edit.next_file_number {
            self.next_file_number = Some(number.0);
        }
        self.has_log_number |= edit.log_number.is_some();
        let logs = [edit.log_number, edit.prev_log_number].into_iter().flatten();
        self.largest_log_number = logs.fold(self.largest_log_number, |largest, number| largest.max(number.0));
        self.scalars.apply_scalars(edit);
        Ok(())
    }

    /// Id, name and comparator of every family.
    pub(super) fn family_names(&self) -> Vec<(u32, String, Option<String>)> {
        self.families.iter().map(|(&id, family)| (id, family.name.clone(), family.comparator.clone())).collect()
    }

    /// Names of the families that are not among `families`.
    pub(super) fn names_besides(&self, families: &[FamilyToOpen]) -> Vec<&str> {
        let names = self.families.values().map(|family| family.name.as_str());
        names.filter(|name| !families.iter().any(|family| family.name == *name)).collect()
    }

    /// Families that are in the MANIFEST and not to be opened.
    pub(super) fn not_opened(&self) -> Vec<&str> {
        let not_opened = self.families.values().filter(|family| family.tree.is_none());
        not_opened.map(|family| family.name.as_str()).collect()
    }

    /// Checks, at the end of the MANIFEST, that required records are present: next file number and last sequence
    /// number.
    pub(super) fn check_scalars(&self) -> Result<(u64, SequenceNumber)> {
        let missing = |what: &str| Error::corruption(format!("no {what} entry in MANIFEST"));
        let next_file_number = self.next_file_number.ok_or_else(|| missing("meta-nextfile"))?;
        let last_sequence = self.last_sequence.ok_or_else(|| missing("last-sequence-number"))?;
        if !self.has_log_number {
            return Err(missing("log_file_number"));
        }
        Ok((next_file_number, last_sequence))
    }

    /// Of all families, open or not, and of what is kept for transactions.
    pub(super) fn oldest_needed_log(&self) -> FileNumber {
        let of_all = self.families.values().map(|family| family.log_number).min().unwrap_or_default();
        self.scalars.min_log_number_to_keep.max(of_all)
    }

    pub(super) fn min_log_number_to_keep(&self) -> FileNumber {
        self.scalars.min_log_number_to_keep
    }

    /// Of all families, the largest log number.
    pub(super) fn newest_log_number(&self) -> FileNumber {
        self.families.values().map(|family| family.log_number).max().unwrap_or_default()
    }

    /// Checks, at the end of the MANIFEST, that required records are present and that every tree is consistent. Edits
    /// that come later can still be replayed.
    pub(super) fn finished(&self) -> Result<ReplayedManifest> {
        let (next_file_number, last_sequence) = self.check_scalars()?;
        let mut state = self.scalars.with_scalars_alone();
        for (&id, replayed) in &self.families {
            let log_number = replayed.log_number;
            let context = || format!("column family {}", replayed.name);
            match replayed.clone().finish(id).map_err(|error| error.context(&context()))? {
                Some(family) => {
                    state.track(id, &family.current);
                    state.families.insert(id, family);
                }
                None => {
                    let smallest = state.log_number_not_opened.map_or(log_number, |other| other.min(log_number));
                    state.log_number_not_opened = Some(smallest);
                }
            }
        }
        let next_file_number = next_file_number.max(self.largest_log_number) + 1;
        Ok(ReplayedManifest { state, next_file_number, last_sequence })
    }
}

impl ReplayedFamily {
    fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        if let Some(comparator) = &edit.comparator {
            if let Some((options, _)) = &self.tree
                && options.comparator.name() != comparator
            {
                return Err(Error::invalid_argument(format!(
                    "{}: does not match existing comparator {comparator} (column family {})",
                    options.comparator.name(),
                    self.name
                )));
            }
            self.comparator = Some(comparator.clone());
        }
        if let Some(number) = edit.log_number {
            self.log_number = self.log_number.max(number);
        }
        if let Some(timestamp) = &edit.full_history_ts_low {
            self.full_history_ts_low = Some(timestamp.clone());
        }
        if edit.persist_user_defined_timestamps.is_some() {
            self.persist_user_defined_timestamps = edit.persist_user_defined_timestamps;
        }
        match &mut self.tree {
            // Files in an edit that tracks WALs are ignored, as in RocksDB.
            Some((_, builder)) if !edit.is_wal_manipulation() => builder.apply(edit),
            _ => Ok(()),
        }
    }

    fn finish(self, id: u32) -> Result<Option<Family>> {
        let Some((options, builder)) = self.tree else { return Ok(None) };
        let version = builder.build_recovered(&options)?;
        let mut family = Family::new(id, self.name, options, self.log_number);
        family.current = Arc::new(version);
        family.full_history_ts_low = self.full_history_ts_low;
        family.persist_user_defined_timestamps = self.persist_user_defined_timestamps;
        family.raise_epoch_number(family.current.files().filter_map(|(_, file)| file.epoch_number).max());
        Ok(Some(family))
    }
}
