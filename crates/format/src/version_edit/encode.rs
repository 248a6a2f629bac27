//! Writing an edit.

use super::{BlobFileAddition, ColumnFamilyChange, NewFile, VersionEdit, WalAddition, custom_tag, tag};
use ferrock_base::Temperature;
use ferrock_base::byte_text::to_bytes;
use ferrock_base::coding::{put_fixed64, put_length_prefixed, put_varint32, put_varint64};

impl VersionEdit {
    /// The edit as a MANIFEST record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(&mut out);
        out
    }

    /// Appends the edit as a MANIFEST record, in the order in which RocksDB writes the fields.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        if let Some(db_id) = &self.db_id {
            put_bytes(out, tag::DB_ID, db_id.as_bytes());
        }
        if let Some(comparator) = &self.comparator {
            put_bytes(out, tag::COMPARATOR, comparator.as_bytes());
        }
        put_optional(out, tag::LOG_NUMBER, self.log_number.map(|number| number.0));
        put_optional(out, tag::PREV_LOG_NUMBER, self.prev_log_number.map(|number| number.0));
        put_optional(out, tag::NEXT_FILE_NUMBER, self.next_file_number.map(|number| number.0));
        put_optional(out, tag::MAX_COLUMN_FAMILY, self.max_column_family.map(u64::from));
        put_optional(out, tag::MIN_LOG_NUMBER_TO_KEEP, self.min_log_number_to_keep.map(|number| number.0));
        put_optional(out, tag::LAST_SEQUENCE, self.last_sequence.map(|sequence| sequence.0));
        self.encode_files(out);
        self.encode_wals(out);
        self.encode_column_family(out);
        if let Some(timestamp) = &self.full_history_ts_low {
            put_bytes(out, tag::FULL_HISTORY_TS_LOW, timestamp);
        }
        if let Some(persist) = self.persist_user_defined_timestamps {
            put_bytes(out, tag::PERSIST_USER_DEFINED_TIMESTAMPS, &[u8::from(persist)]);
        }
        if let Some(progress) = &self.subcompaction_progress {
            put_bytes(out, tag::SUBCOMPACTION_PROGRESS, progress);
        }
        if let Some(size) = self.last_compacted_manifest_file_size_bytes {
            put_nested(out, tag::LAST_COMPACTED_MANIFEST_FILE_SIZE, |field| put_varint64(field, size));
        }
    }

    fn encode_files(&self, out: &mut Vec<u8>) {
        for (level, key) in &self.compact_cursors {
            put_varint32(out, tag::COMPACT_CURSOR);
            put_varint32(out, *level);
            put_length_prefixed(out, key);
        }
        let mut deleted = self.deleted_files.clone();
        deleted.sort_unstable();
        for file in deleted {
            put_varint32(out, tag::DELETED_FILE);
            put_varint32(out, file.level);
            put_varint64(out, file.number.0);
        }
        // Releases without tag 10 take the number from a custom field of the first new file.
        let mut min_log_number_to_keep = self.min_log_number_to_keep.map(|number| number.0);
        for file in &self.new_files {
            encode_new_file(file, min_log_number_to_keep.take(), out);
        }
        for addition in &self.blob_file_additions {
            encode_blob_addition(addition, out);
        }
        for garbage in &self.blob_file_garbages {
            put_varint32(out, tag::BLOB_FILE_GARBAGE);
            put_varint64(out, garbage.number.0);
            put_varint64(out, garbage.garbage_blob_count);
            put_varint64(out, garbage.garbage_blob_bytes);
            put_varint32(out, 0);
        }
    }

    fn encode_wals(&self, out: &mut Vec<u8>) {
        for addition in &self.wal_additions {
            put_nested(out, tag::WAL_ADDITION, |field| encode_wal_addition(addition, field));
        }
        if let Some(number) = self.wal_deletion {
            put_nested(out, tag::WAL_DELETION, |field| put_varint64(field, number.0));
        }
    }

    fn encode_column_family(&self, out: &mut Vec<u8>) {
        if self.column_family != 0 {
            put_varint32(out, tag::COLUMN_FAMILY);
            put_varint32(out, self.column_family);
        }
        match &self.column_family_change {
            Some(ColumnFamilyChange::Add(name)) => put_bytes(out, tag::COLUMN_FAMILY_ADD, &to_bytes(name)),
            Some(ColumnFamilyChange::Drop) => put_varint32(out, tag::COLUMN_FAMILY_DROP),
            None => {}
        }
        put_optional(out, tag::IN_ATOMIC_GROUP, self.remaining_in_group.map(u64::from));
    }
}

fn put_optional(out: &mut Vec<u8>, tag: u32, value: Option<u64>) {
    if let Some(value) = value {
        put_varint32(out, tag);
        put_varint64(out, value);
    }
}

fn put_bytes(out: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    put_varint32(out, tag);
    put_length_prefixed(out, bytes);
}

/// A field whose body is wrapped in a length-prefixed string.
fn put_nested(out: &mut Vec<u8>, tag: u32, encode: impl FnOnce(&mut Vec<u8>)) {
    let mut field = Vec::new();
    encode(&mut field);
    put_bytes(out, tag, &field);
}

/// A custom field that is a varint64.
fn put_number(out: &mut Vec<u8>, tag: u32, value: u64) {
    put_nested(out, tag, |field| put_varint64(field, value));
}

fn encode_new_file(file: &NewFile, min_log_number_to_keep: Option<u64>, out: &mut Vec<u8>) {
    put_varint32(out, tag::NEW_FILE_4);
    put_varint32(out, file.level);
    put_varint64(out, file.number.0);
    put_varint64(out, file.size_bytes);
    put_length_prefixed(out, &file.smallest);
    put_length_prefixed(out, &file.largest);
    put_varint64(out, file.smallest_seqno.0);
    put_varint64(out, file.largest_seqno.0);
    encode_custom_fields(file, min_log_number_to_keep, out);
    put_varint32(out, custom_tag::TERMINATE);
}

fn encode_custom_fields(file: &NewFile, min_log_number_to_keep: Option<u64>, out: &mut Vec<u8>) {
    put_number(out, custom_tag::OLDEST_ANCESTER_TIME, file.oldest_ancester_time_secs);
    put_number(out, custom_tag::FILE_CREATION_TIME, file.file_creation_time_secs);
    if let Some(epoch) = file.epoch_number {
        put_number(out, custom_tag::EPOCH_NUMBER, epoch);
    }
    if let Some(checksum) = &file.checksum {
        put_bytes(out, custom_tag::FILE_CHECKSUM, &checksum.value);
        put_bytes(out, custom_tag::FILE_CHECKSUM_FUNCTION, checksum.function_name.as_bytes());
    }
    if file.path_id != 0 {
        put_bytes(out, custom_tag::PATH_ID, &[file.path_id as u8]);
    }
    if file.temperature != Temperature::Unknown {
        put_bytes(out, custom_tag::TEMPERATURE, &[file.temperature as u8]);
    }
    if file.needs_compaction {
        put_bytes(out, custom_tag::NEEDS_COMPACTION, &[1]);
    }
    if let Some(number) = min_log_number_to_keep {
        put_nested(out, custom_tag::MIN_LOG_NUMBER_TO_KEEP, |field| put_fixed64(field, number));
    }
    if let Some(number) = file.oldest_blob_file_number {
        put_number(out, custom_tag::OLDEST_BLOB_FILE_NUMBER, number.0);
    }
    if let Some([first, second]) = file.unique_id {
        put_nested(out, custom_tag::UNIQUE_ID, |field| {
            put_fixed64(field, first);
            put_fixed64(field, second);
        });
    }
    if file.compensated_range_deletion_size_bytes != 0 {
        put_number(out, custom_tag::COMPENSATED_RANGE_DELETION_SIZE, file.compensated_range_deletion_size_bytes);
    }
    if file.tail_size_bytes != 0 {
        put_number(out, custom_tag::TAIL_SIZE, file.tail_size_bytes);
    }
    if !file.user_defined_timestamps_persisted {
        put_bytes(out, custom_tag::USER_DEFINED_TIMESTAMPS_PERSISTED, &[0]);
    }
    for (tag, bytes) in [
        (custom_tag::MIN_TIMESTAMP, &file.min_timestamp),
        (custom_tag::MAX_TIMESTAMP, &file.max_timestamp),
        (custom_tag::FILE_OPEN_METADATA, &file.file_open_metadata),
    ] {
        if !bytes.is_empty() {
            put_bytes(out, tag, bytes);
        }
    }
}

fn encode_blob_addition(addition: &BlobFileAddition, out: &mut Vec<u8>) {
    put_varint32(out, tag::BLOB_FILE_ADDITION);
    put_varint64(out, addition.number.0);
    put_varint64(out, addition.total_blob_count);
    put_varint64(out, addition.total_blob_bytes);
    put_length_prefixed(out, addition.checksum_method.as_bytes());
    put_length_prefixed(out, &addition.checksum_value);
    put_varint32(out, 0);
}

fn encode_wal_addition(addition: &WalAddition, out: &mut Vec<u8>) {
    put_varint64(out, addition.log_number.0);
    if let Some(size) = addition.synced_size_bytes {
        put_varint32(out, 2);
        put_varint64(out, size);
    }
    put_varint32(out, 1);
}
