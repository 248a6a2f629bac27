//! Reading, creating and dropping column families.

use super::family::{Family, FamilyView};
use super::{LogRelease, VersionSet, number_group};
use crate::version::Version;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::version_edit::{ColumnFamilyChange, NewFile, VersionEdit};
use ferrock_options::ColumnFamilyOptions;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl VersionSet {
    /// All families, by id.
    #[must_use]
    pub fn families(&self) -> Vec<FamilyView> {
        self.state.lock().families.values().map(Family::view).collect()
    }

    /// A family; `None` when it does not exist or was dropped.
    #[must_use]
    pub fn family(&self, id: u32) -> Option<FamilyView> {
        self.state.lock().families.get(&id).map(Family::view)
    }

    /// WALs with smaller numbers hold nothing that the family has not flushed.
    #[must_use]
    pub fn log_number(&self, id: u32) -> Option<FileNumber> {
        self.state.lock().families.get(&id).map(|family| family.log_number)
    }

    /// The tables of a family.
    #[must_use]
    pub fn current(&self, id: u32) -> Option<Arc<Version>> {
        self.state.lock().families.get(&id).map(|family| Arc::clone(&family.current))
    }

    /// The next age class for a flush or an ingested file. Compactions pass on the smallest of their inputs'.
    ///
    /// # Errors
    /// `ColumnFamilyDropped` for a family that does not exist any more.
    pub fn new_epoch_number(&self, id: u32) -> Result<u64> {
        let state = self.state.lock();
        let family = state.families.get(&id).ok_or_else(|| dropped(id))?;
        Ok(family.next_epoch_number.fetch_add(1, Ordering::Relaxed))
    }

    /// WALs with smaller numbers are needed by no family. A family that is not open counts: its WALs hold sequence
    /// numbers whose absence would look like a loss.
    #[must_use]
    pub fn oldest_needed_log(&self) -> FileNumber {
        let state = self.state.lock();
        let of_families = state.families.values().map(|family| family.log_number);
        let of_all = of_families.chain(state.log_number_not_opened).min().unwrap_or_default();
        state.min_log_number_to_keep.max(of_all)
    }

    /// Puts changed options in force. The family's version is made anew from the same files, because the targets of
    /// its levels depend on them.
    ///
    /// # Errors
    /// `ColumnFamilyDropped` for a family that does not exist any more.
    pub fn set_options(&self, id: u32, options: Arc<ColumnFamilyOptions>) -> Result<()> {
        // Waits for a running change, which would install a version made with the old options.
        let _changes = self.manifest.lock();
        let mut state = self.state.lock();
        let family = state.families.get_mut(&id).ok_or_else(|| dropped(id))?;
        let version = Arc::new(family.current.with_settings(&options));
        family.options = options;
        family.current = Arc::clone(&version);
        state.track(id, &version);
        Ok(())
    }

    /// Creates a family, durably. `log_number` is the WAL in use: no earlier one has data of it.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty name, one that is taken, and when all ids are used up; those of
    /// [`log_and_apply`](Self::log_and_apply).
    pub fn create_column_family(
        &self,
        name: &str,
        options: Arc<ColumnFamilyOptions>,
        log_number: FileNumber,
    ) -> Result<u32> {
        self.create_column_family_of(name, options, log_number, Vec::new())
    }

    /// As [`create_column_family`](Self::create_column_family), with tables: a crash leaves the family with all of
    /// them, or no family.
    ///
    /// # Errors
    /// Those of [`create_column_family`](Self::create_column_family); `Corruption` and `InvalidArgument` for tables
    /// that do not make a tree, before anything is written.
    pub fn create_column_family_of(
        &self,
        name: &str,
        options: Arc<ColumnFamilyOptions>,
        log_number: FileNumber,
        tables: Vec<NewFile>,
    ) -> Result<u32> {
        if name.is_empty() {
            return Err(Error::invalid_argument("Column family name cannot be the empty string"));
        }
        let id = {
            let mut state = self.state.lock();
            if state.families.values().any(|family| family.name == name) {
                return Err(Error::invalid_argument(format!("Column family already exists: {name}")));
            }
            let id = state.max_column_family.checked_add(1);
            let id = id.ok_or_else(|| Error::invalid_argument("all column family ids are used up"))?;
            // Reserved even if the write fails: ids are never given out twice.
            state.max_column_family = id;
            id
        };
        let edit = VersionEdit {
            comparator: Some(options.comparator.name().to_owned()),
            log_number: Some(log_number),
            persist_user_defined_timestamps: Some(true),
            column_family_change: Some(ColumnFamilyChange::Add(name.to_owned())),
            ..VersionEdit::for_column_family(id)
        };
        let family = Family::new(id, name.to_owned(), options, log_number);
        let mut edits = vec![edit];
        if !tables.is_empty() {
            // RocksDB reads no tables from a record that adds a family.
            edits.push(VersionEdit { new_files: tables, ..VersionEdit::for_column_family(id) });
            number_group(&mut edits)?;
        }
        self.log_and_apply_change(edits, Some(family))?;
        Ok(id)
    }

    /// Drops a family, durably. Its tables are deleted once no reader holds them. `release` is what no other family
    /// needs: a record of its own for that could be lost behind this one, and this one alone already lets the logs go
    /// that only the dropped family held back.
    ///
    /// # Errors
    /// `InvalidArgument` for the default family; those of [`log_and_apply`](Self::log_and_apply).
    pub fn drop_column_family(&self, id: u32, release: LogRelease) -> Result<()> {
        if id == 0 {
            return Err(Error::invalid_argument("Can't drop default column family: a database always has it"));
        }
        let mut edit = VersionEdit {
            column_family_change: Some(ColumnFamilyChange::Drop),
            max_column_family: Some(self.max_column_family()),
            ..VersionEdit::for_column_family(id)
        };
        release.add_to(&mut edit);
        self.log_and_apply(vec![edit])
    }
}

pub(super) fn dropped(id: u32) -> Error {
    Error::new(ErrorKind::ColumnFamilyDropped, format!("column family {id} does not exist"))
}
