//! The records that a new MANIFEST begins with: the whole state.
//!
//! ```text
//! DbId
//! WalAddition*                                        if WALs are tracked
//! WalDeletion(min log number to keep)                 empty while that is 0
//! per family   [ColumnFamilyAdd] Comparator PersistUserDefinedTimestamps
//!              files, cursors, blob files, LogNumber, [MinLogNumberToKeep] LastSequence
//! LastCompactedManifestFileSize
//! ```
//!
//! The change that made the new MANIFEST necessary follows.

use super::State;
use super::family::Family;
use ferrock_base::{FileNumber, SequenceNumber};
use ferrock_format::version_edit::{ColumnFamilyChange, VersionEdit, WalAddition};

/// The records up to the families' last, in order.
pub(super) fn snapshot_records(state: &State, writes_db_id: bool, last_sequence: SequenceNumber) -> Vec<VersionEdit> {
    let mut records = Vec::with_capacity(3 + 2 * state.families.len());
    if let Some(db_id) = state.db_id.as_ref().filter(|_| writes_db_id) {
        records.push(VersionEdit { db_id: Some(db_id.clone()), ..VersionEdit::default() });
    }
    if !state.tracked_wals.is_empty() {
        let wals = state.tracked_wals.iter();
        let wal_additions =
            wals.map(|(&log_number, &synced_size_bytes)| WalAddition { log_number, synced_size_bytes }).collect();
        records.push(VersionEdit { wal_additions, ..VersionEdit::default() });
    }
    let kept_from = Some(state.min_log_number_to_keep).filter(|&number| number > FileNumber(0));
    records.push(VersionEdit { wal_deletion: kept_from, ..VersionEdit::default() });
    for family in state.families.values() {
        records.push(identity_record(family));
        let mut record = state_record(family, last_sequence);
        record.min_log_number_to_keep = kept_from.filter(|_| family.id == 0);
        records.push(record);
    }
    records
}

fn identity_record(family: &Family) -> VersionEdit {
    VersionEdit {
        comparator: Some(family.options.comparator.name().to_owned()),
        persist_user_defined_timestamps: Some(family.persist_user_defined_timestamps.unwrap_or(true)),
        column_family_change: (family.id != 0).then(|| ColumnFamilyChange::Add(family.name.clone())),
        ..VersionEdit::for_column_family(family.id)
    }
}

fn state_record(family: &Family, last_sequence: SequenceNumber) -> VersionEdit {
    let version = &family.current;
    let cursors = version.compact_cursors().iter().enumerate();
    let blob_files = version.blob_files().values();
    VersionEdit {
        new_files: version.files().map(|(_, file)| file.recorded().clone()).collect(),
        compact_cursors: cursors.filter_map(|(level, key)| Some((level as u32, key.clone()?))).collect(),
        blob_file_additions: blob_files.clone().map(|blob_file| blob_file.addition.clone()).collect(),
        blob_file_garbages: blob_files.filter_map(|blob_file| blob_file.garbage()).collect(),
        log_number: Some(family.log_number),
        full_history_ts_low: family.full_history_ts_low.clone(),
        last_sequence: Some(last_sequence),
        ..VersionEdit::for_column_family(family.id)
    }
}
