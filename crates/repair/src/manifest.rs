//! The tree that a MANIFEST describes, up to its first damage.
//!
//! Edits are applied as they are, without the checks of the engine: what they contradict is found in the files.

use ferrock_base::{Error, FileNumber, Result, SequenceNumber};
use ferrock_format::version_edit::{BlobFileAddition, ColumnFamilyChange, NewFile, VersionEdit};
use ferrock_tree::version::version_set::ManifestReader;
use ferrock_vfs::FileSystem;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A blob file of the tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blob {
    pub(crate) addition: BlobFileAddition,
    pub(crate) garbage_count: u64,
}

/// A column family of the tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Family {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) comparator: String,
    pub(crate) persist_user_defined_timestamps: Option<bool>,
    pub(crate) full_history_ts_low: Option<Vec<u8>>,
    /// Logs with smaller numbers have nothing that is not in its tables.
    pub(crate) log_number: FileNumber,
    pub(crate) tables: BTreeMap<FileNumber, NewFile>,
    pub(crate) blobs: BTreeMap<FileNumber, Blob>,
}

impl Family {
    pub(crate) fn new(id: u32, name: &str) -> Self {
        Self { id, name: name.to_owned(), ..Self::default() }
    }

    /// Blob files that have something that is no garbage, and those that only tables name.
    pub(crate) fn needed_blobs(&self) -> BTreeSet<FileNumber> {
        let recorded = self.blobs.iter().filter(|(_, blob)| blob.garbage_count < blob.addition.total_blob_count);
        let named = self.tables.values().filter_map(|table| table.oldest_blob_file_number);
        recorded.map(|(number, _)| *number).chain(named).collect()
    }
}

/// A state of the database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) families: BTreeMap<u32, Family>,
    pub(crate) dropped: BTreeSet<u32>,
    /// Tables that left.
    pub(crate) deleted: BTreeSet<FileNumber>,
    pub(crate) next_file_number: u64,
    pub(crate) last_sequence: SequenceNumber,
    pub(crate) min_log_number: FileNumber,
    pub(crate) max_column_family: u32,
    pub(crate) db_id: Option<String>,
    pub(crate) tracked_logs: BTreeMap<FileNumber, Option<u64>>,
}

/// What was read of a MANIFEST.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) tree: Tree,
    /// The damage that ended the reading.
    pub(crate) error: Option<Error>,
    /// Edits that were read.
    pub(crate) edits: u64,
}

impl Manifest {
    /// Reads a MANIFEST; damage is in the result.
    pub(crate) fn read(files: &dyn FileSystem, path: &Path) -> Self {
        let mut manifest = Self::default();
        manifest.tree.families.insert(0, Family::new(0, "default"));
        if let Err(error) = manifest.read_edits(files, path) {
            manifest.error = Some(error);
        }
        manifest
    }

    fn read_edits(&mut self, files: &dyn FileSystem, path: &Path) -> Result<()> {
        let mut reader = ManifestReader::open(files, path)?;
        while let Some((offset, edits)) = reader.next_edits()? {
            for edit in &edits {
                self.edits += 1;
                self.tree.apply(edit).map_err(|error| error.at_offset(offset))?;
            }
        }
        Ok(())
    }

    /// True when the MANIFEST is whole: what it does not name is not needed.
    pub(crate) fn is_sound(&self) -> bool {
        self.error.is_none() && self.edits > 0
    }
}

impl Tree {
    fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        if let Some(id) = &edit.db_id {
            self.db_id = Some(id.clone());
        }
        self.next_file_number = self.next_file_number.max(edit.next_file_number.map_or(0, |number| number.0));
        self.last_sequence = self.last_sequence.max(edit.last_sequence.unwrap_or_default());
        self.min_log_number = self.min_log_number.max(edit.min_log_number_to_keep.unwrap_or_default());
        self.max_column_family = self.max_column_family.max(edit.max_column_family.unwrap_or(0));
        for log in &edit.wal_additions {
            self.tracked_logs.insert(log.log_number, log.synced_size_bytes);
        }
        if let Some(number) = edit.wal_deletion {
            self.tracked_logs = self.tracked_logs.split_off(&number);
        }
        let id = edit.column_family;
        match &edit.column_family_change {
            Some(ColumnFamilyChange::Add(name)) => {
                self.max_column_family = self.max_column_family.max(id);
                self.families.insert(id, Family::new(id, name));
            }
            Some(ColumnFamilyChange::Drop) => {
                self.dropped.insert(id);
                if let Some(family) = self.families.remove(&id) {
                    self.deleted.extend(family.tables.into_keys());
                }
                return Ok(());
            }
            None => {}
        }
        let Some(family) = self.families.get_mut(&id) else {
            let has_files = !edit.new_files.is_empty() || !edit.blob_file_additions.is_empty();
            let is_known = self.dropped.contains(&id) || !has_files;
            return if is_known {
                Ok(())
            } else {
                Err(Error::corruption(format!("an edit of family {id}, never added")))
            };
        };
        if let Some(comparator) = &edit.comparator {
            family.comparator.clone_from(comparator);
        }
        family.persist_user_defined_timestamps =
            edit.persist_user_defined_timestamps.or(family.persist_user_defined_timestamps);
        if edit.full_history_ts_low.is_some() {
            family.full_history_ts_low.clone_from(&edit.full_history_ts_low);
        }
        family.log_number = family.log_number.max(edit.log_number.unwrap_or_default());
        for table in &edit.deleted_files {
            family.tables.remove(&table.number);
            self.deleted.insert(table.number);
        }
        for table in &edit.new_files {
            self.deleted.remove(&table.number);
            family.tables.insert(table.number, table.clone());
        }
        for addition in &edit.blob_file_additions {
            family.blobs.insert(addition.number, Blob { addition: addition.clone(), garbage_count: 0 });
        }
        for garbage in &edit.blob_file_garbages {
            if let Some(blob) = family.blobs.get_mut(&garbage.number) {
                blob.garbage_count = blob.garbage_count.saturating_add(garbage.garbage_blob_count);
            }
        }
        Ok(())
    }

    /// The smallest number of a log that is needed.
    pub(crate) fn first_needed_log(&self) -> FileNumber {
        let smallest = self.families.values().map(|family| family.log_number).min().unwrap_or_default();
        smallest.max(self.min_log_number)
    }

    /// Needed files: table -> its family and record.
    pub(crate) fn tables(&self) -> BTreeMap<FileNumber, (u32, &NewFile)> {
        let families = self.families.values();
        families.flat_map(|family| family.tables.iter().map(|(number, table)| (*number, (family.id, table)))).collect()
    }
}
