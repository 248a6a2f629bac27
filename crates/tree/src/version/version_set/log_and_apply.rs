//! Makes a change of the tree durable, then current.

use super::families::dropped;
use super::family::Family;
use super::manifest_writer::ManifestWriter;
use super::snapshot_records::snapshot_records;
use super::{GoneTable, Manifest, VersionSet, current, number_group};
use crate::version::{Version, VersionBuilder};
use ferrock_base::{Error, FileNumber, Result, SequenceNumber};
use ferrock_format::file_name;
use ferrock_format::version_edit::{ColumnFamilyChange, VersionEdit};
use ferrock_options::ColumnFamilyOptions;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that RocksDB counts for the record that holds the size itself.
const SIZE_RECORD_ALLOWANCE_BYTES: u64 = 15;

impl VersionSet {
    /// Appends `edits` to the MANIFEST, syncs it, and makes the resulting versions current. One edit is one record;
    /// a crash may keep the first of several and lose the rest.
    ///
    /// The scalars that every record carries (next file number, last sequence, previous log) are filled in.
    ///
    /// # Errors
    /// An edit that does not fit the tree is refused before anything is written. When writing fails, nothing becomes
    /// current, the files of the change stay alive, and the next change begins a new MANIFEST.
    pub fn log_and_apply(&self, edits: Vec<VersionEdit>) -> Result<()> {
        self.log_and_apply_change(edits, None)
    }

    /// As [`log_and_apply`](Self::log_and_apply), with all edits or none surviving a crash. Families must not be added
    /// or dropped this way.
    ///
    /// # Errors
    /// `InvalidArgument` for an edit that adds or drops a family; those of [`log_and_apply`](Self::log_and_apply).
    pub fn log_and_apply_atomic(&self, mut edits: Vec<VersionEdit>) -> Result<()> {
        if edits.iter().any(VersionEdit::is_column_family_manipulation) {
            return Err(Error::invalid_argument("a column family cannot be added or dropped in an atomic group"));
        }
        number_group(&mut edits)?;
        self.log_and_apply_change(edits, None)
    }

    pub(super) fn log_and_apply_change(&self, mut edits: Vec<VersionEdit>, added_family: Option<Family>) -> Result<()> {
        if self.is_read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let mut manifest = self.manifest.lock();
        let versions = self.build_versions(&edits, added_family.as_ref())?;
        let gone = self.tables_that_go(&edits);
        let last_sequence = self.complete_edits(&mut edits);
        if let Err(error) = self.write(&mut manifest, &mut edits) {
            manifest.writer = None;
            let mut state = self.state.lock();
            state.is_uncertain = true;
            for edit in &edits {
                state.uncertain_files.extend(edit.new_files.iter().map(|file| file.number));
                state.uncertain_files.extend(edit.blob_file_additions.iter().map(|file| file.number));
            }
            return Err(error.context("the MANIFEST could not be written"));
        }
        // Not before the record is durable: a later record must not vouch for sequence numbers that this one lost.
        self.advance_last_sequence(last_sequence);
        self.install(&edits, versions, added_family, gone);
        Ok(())
    }

    /// The versions that the edits lead to, by family. The state lock is held only to fetch the current ones.
    fn build_versions(&self, edits: &[VersionEdit], added: Option<&Family>) -> Result<BTreeMap<u32, Arc<Version>>> {
        let mut builders: BTreeMap<u32, (Arc<ColumnFamilyOptions>, VersionBuilder)> = BTreeMap::new();
        for edit in edits.iter().filter(|edit| !matches!(edit.column_family_change, Some(ColumnFamilyChange::Add(_)))) {
            let id = edit.column_family;
            let added = added.filter(|family| family.id == id).map(Family::view);
            let family = added.or_else(|| self.family(id)).ok_or_else(|| dropped(id))?;
            if !changes_tree(edit) {
                continue;
            }
            if edit.is_wal_manipulation() {
                return Err(Error::invalid_argument("an edit must not change both files and tracked WALs"));
            }
            let new_builder = || (Arc::clone(&family.options), VersionBuilder::new(Arc::clone(&family.current)));
            builders.entry(id).or_insert_with(new_builder).1.apply(edit)?;
        }
        let mut versions = BTreeMap::new();
        for (id, (options, builder)) in builders {
            versions.insert(id, Arc::new(builder.build(&options)?));
        }
        self.charge_files(versions.values());
        Ok(versions)
    }

    /// Fills in what every record carries. Returns the last sequence number that the edits lead to.
    ///
    /// A database that tracks WALs must learn that they are gone before they are: RocksDB refuses one whose MANIFEST
    /// lists a WAL that is not there. RocksDB takes from a record that says so nothing but the scalars of the whole
    /// database, so it is a record of its own. It comes last: the records before it are whole without it, because the
    /// WALs are removed only when all of them are durable.
    pub(super) fn complete_edits(&self, edits: &mut Vec<VersionEdit>) -> SequenceNumber {
        let (has_tracked_wals, kept_from) = {
            let state = self.state.lock();
            (!state.tracked_wals.is_empty(), state.min_log_number_to_keep)
        };
        for edit in edits.iter_mut() {
            // Readers of a MANIFEST take the last record of a value.
            edit.min_log_number_to_keep = edit.min_log_number_to_keep.map(|number| number.max(kept_from));
            // A WAL that was synced while a flush made it needless is gone by now, or about to go.
            edit.wal_additions.retain(|wal| wal.log_number >= kept_from);
        }
        let gone = edits.iter().filter_map(|edit| edit.min_log_number_to_keep).max();
        let has_tracked_wals = has_tracked_wals || edits.iter().any(|edit| !edit.wal_additions.is_empty());
        if has_tracked_wals && gone.is_some() {
            edits.push(VersionEdit { min_log_number_to_keep: gone, wal_deletion: gone, ..VersionEdit::default() });
        }
        let mut last_sequence = self.last_sequence();
        for edit in edits {
            let newest = edit.new_files.iter().map(|file| file.largest_seqno).max();
            last_sequence = last_sequence.max(newest.max(edit.last_sequence).unwrap_or_default());
            edit.last_sequence = Some(last_sequence);
            edit.prev_log_number = Some(FileNumber(0));
        }
        last_sequence
    }

    fn write(&self, manifest: &mut Manifest, edits: &mut [VersionEdit]) -> Result<()> {
        let limit = self.size_limit_bytes(manifest.last_compacted_size_bytes);
        match manifest.writer.as_mut().filter(|writer| writer.size_bytes() < limit) {
            Some(writer) => {
                let mut framed = Vec::new();
                self.encode_change(writer, edits, &mut framed);
                writer.append_and_sync(&framed)
            }
            None => self.write_new_manifest(manifest, edits),
        }
    }

    fn encode_change(&self, writer: &mut ManifestWriter, edits: &mut [VersionEdit], framed: &mut Vec<u8>) {
        for edit in edits {
            edit.next_file_number = Some(self.next_file_number());
            writer.encode(&edit.encode(), framed);
        }
    }

    /// Bytes from which on a MANIFEST is replaced: the configured size, or a multiple of what it began with, so that a
    /// large tree does not rewrite its MANIFEST with every change.
    fn size_limit_bytes(&self, last_compacted_size_bytes: u64) -> u64 {
        let options = self.options.load();
        let percent = u64::try_from(options.max_manifest_space_amp_pct).unwrap_or(0).saturating_add(100);
        let grown = u128::from(last_compacted_size_bytes) * u128::from(percent) / 100;
        options.max_manifest_file_size.max(u64::try_from(grown).unwrap_or(u64::MAX))
    }

    pub(super) fn write_new_manifest(&self, manifest: &mut Manifest, edits: &mut [VersionEdit]) -> Result<()> {
        manifest.writer = None;
        let number = self.new_file_number();
        let (records, max_column_family) = {
            let mut state = self.state.lock();
            state.begun_manifests.insert(number);
            let records = snapshot_records(&state, self.options.load().write_dbid_to_manifest, self.last_sequence());
            (records, state.max_column_family)
        };
        if let Some(first) = edits.first_mut().filter(|_| max_column_family > 0) {
            first.max_column_family = Some(max_column_family);
        }
        let path = self.db_path.join(file_name::manifest(number));
        let options = self.options.load();
        let temperature = options.metadata_write_temperature;
        let reserved_bytes = if options.allow_fallocate { options.manifest_preallocation_size as u64 } else { 0 };
        let mut writer = ManifestWriter::create(&*self.file_system, &path, temperature, reserved_bytes)?;
        let mut framed = Vec::new();
        for record in &records {
            writer.encode(&record.encode(), &mut framed);
        }
        let compacted_size = framed.len() as u64 + SIZE_RECORD_ALLOWANCE_BYTES;
        let size_record =
            VersionEdit { last_compacted_manifest_file_size_bytes: Some(compacted_size), ..VersionEdit::default() };
        writer.encode(&size_record.encode(), &mut framed);
        self.encode_change(&mut writer, edits, &mut framed);
        writer.append_and_sync(&framed)?;
        current::write_current(&*self.file_system, &self.db_path, number, temperature)?;
        manifest.writer = Some(writer);
        manifest.last_compacted_size_bytes = compacted_size;
        let mut state = self.state.lock();
        state.manifest_number = number;
        // The new MANIFEST holds the whole state; records of the lost one no longer matter.
        state.uncertain_files.clear();
        state.is_uncertain = false;
        Ok(())
    }

    fn install(
        &self,
        edits: &[VersionEdit],
        mut versions: BTreeMap<u32, Arc<Version>>,
        mut added_family: Option<Family>,
        gone: Vec<GoneTable>,
    ) {
        let mut state = self.state.lock();
        state.gone_tables.extend(gone);
        for edit in edits {
            state.apply_scalars(edit);
            let id = edit.column_family;
            match &edit.column_family_change {
                Some(ColumnFamilyChange::Add(_)) => {
                    let Some(family) = added_family.take() else { continue };
                    state.track(id, &family.current);
                    state.families.insert(id, family);
                    continue;
                }
                Some(ColumnFamilyChange::Drop) => {
                    state.families.remove(&id);
                    continue;
                }
                None => {}
            }
            let Some(family) = state.families.get_mut(&id) else { continue };
            family.log_number = family.log_number.max(edit.log_number.unwrap_or_default());
            family.raise_epoch_number(edit.new_files.iter().filter_map(|file| file.epoch_number).max());
            if let Some(timestamp) = &edit.full_history_ts_low {
                family.full_history_ts_low = Some(timestamp.clone());
            }
            if let Some(version) = versions.remove(&id) {
                family.current = Arc::clone(&version);
                state.track(id, &version);
            }
        }
    }
}

fn changes_tree(edit: &VersionEdit) -> bool {
    !edit.deleted_files.is_empty()
        || !edit.new_files.is_empty()
        || !edit.compact_cursors.is_empty()
        || !edit.blob_file_additions.is_empty()
        || !edit.blob_file_garbages.is_empty()
}
