//! Version edits as RocksDB prints them.

use crate::text::digits;
use ferrock_base::Temperature;
use ferrock_base::internal_key::{trailer, user_key};
use ferrock_format::unique_id::UniqueId;
use ferrock_format::version_edit::{BlobFileAddition, ColumnFamilyChange, NewFile, VersionEdit};

/// Lossless for text, and one byte a byte for the rest.
pub(super) type Bytes = Vec<u8>;

/// `'key' seq:N, type:T`.
pub(super) fn internal_key(key: &[u8], is_hex: bool) -> Bytes {
    let trailer = trailer(key);
    let shown = if is_hex { digits(user_key(key)).into_bytes() } else { user_key(key).to_vec() };
    let tail = format!("' seq:{}, type:{}", trailer >> 8, trailer & 0xFF);
    [b"'", &shown[..], tail.as_bytes()].concat()
}

fn line(out: &mut Bytes, text: &str) {
    out.extend_from_slice(b"\n  ");
    out.extend_from_slice(text.as_bytes());
}

/// An edit, over several lines.
pub(super) fn edit(edit: &VersionEdit, is_hex: bool) -> Bytes {
    let mut out = b"VersionEdit {".to_vec();
    if let Some(db_id) = &edit.db_id {
        line(&mut out, &format!("DB ID: {db_id}"));
    }
    if let Some(comparator) = &edit.comparator {
        line(&mut out, &format!("Comparator: {comparator}"));
    }
    if let Some(persisted) = edit.persist_user_defined_timestamps {
        line(&mut out, &format!("PersistUserDefinedTimestamps: {persisted}"));
    }
    let numbers = [
        ("LogNumber", edit.log_number.map(|number| number.0)),
        ("PrevLogNumber", edit.prev_log_number.map(|number| number.0)),
        ("NextFileNumber", edit.next_file_number.map(|number| number.0)),
        ("MaxColumnFamily", edit.max_column_family.map(u64::from)),
        ("MinLogNumberToKeep", edit.min_log_number_to_keep.map(|number| number.0)),
        ("LastSeq", edit.last_sequence.map(|sequence| sequence.0)),
    ];
    for (name, number) in numbers.into_iter().filter_map(|(name, number)| Some((name, number?))) {
        line(&mut out, &format!("{name}: {number}"));
    }
    for (level, key) in &edit.compact_cursors {
        line(&mut out, &format!("CompactCursor: {level} "));
        out.extend_from_slice(&internal_key(key, is_hex));
    }
    for file in &edit.deleted_files {
        line(&mut out, &format!("DeleteFile: {} {}", file.level, file.number.0));
    }
    edit.new_files.iter().for_each(|file| new_file(&mut out, file, is_hex));
    for file in &edit.blob_file_additions {
        line(&mut out, &format!("BlobFileAddition: {}", blob_file(file)));
    }
    for file in &edit.blob_file_garbages {
        let text = format!(
            "BlobFileGarbage: blob_file_number: {} garbage_blob_count: {} garbage_blob_bytes: {}",
            file.number.0, file.garbage_blob_count, file.garbage_blob_bytes
        );
        line(&mut out, &text);
    }
    for wal in &edit.wal_additions {
        let size = wal.synced_size_bytes.map(|size| format!(" synced_size_in_bytes: {size}")).unwrap_or_default();
        line(&mut out, &format!("WalAddition: log_number: {}{size}", wal.log_number.0));
    }
    if let Some(number) = edit.wal_deletion {
        line(&mut out, &format!("WalDeletion: log_number: {}", number.0));
    }
    line(&mut out, &format!("ColumnFamily: {}", edit.column_family));
    match &edit.column_family_change {
        Some(ColumnFamilyChange::Add(name)) => line(&mut out, &format!("ColumnFamilyAdd: {name}")),
        Some(ColumnFamilyChange::Drop) => line(&mut out, "ColumnFamilyDrop"),
        None => {}
    }
    if let Some(remaining) = edit.remaining_in_group {
        line(&mut out, &format!("AtomicGroup: {remaining} entries remains"));
    }
    if let Some(timestamp) = &edit.full_history_ts_low {
        line(&mut out, &format!("FullHistoryTsLow: {}", digits(timestamp)));
    }
    out.extend_from_slice(b"\n}\n");
    out
}

fn new_file(out: &mut Bytes, file: &NewFile, is_hex: bool) {
    line(out, &format!("AddFile: {} {} {} ", file.level, file.number.0, file.size_bytes));
    out.extend_from_slice(&internal_key(&file.smallest, is_hex));
    out.extend_from_slice(b" .. ");
    out.extend_from_slice(&internal_key(&file.largest, is_hex));
    let mut text = String::new();
    if let Some(number) = file.oldest_blob_file_number {
        text.push_str(&format!(" blob_file:{}", number.0));
    }
    let (function, value) = match &file.checksum {
        Some(checksum) => (&checksum.function_name[..], digits(&checksum.value)),
        None => ("Unknown", String::new()),
    };
    text.push_str(&format!(
        " oldest_ancester_time:{} file_creation_time:{}",
        file.oldest_ancester_time_secs, file.file_creation_time_secs
    ));
    if let Some(epoch) = file.epoch_number {
        text.push_str(&format!(" epoch_number:{epoch}"));
    }
    text.push_str(&format!(" file_checksum:{value} file_checksum_func_name: {function}"));
    if file.temperature != Temperature::Unknown {
        text.push_str(&format!(" temperature: {}", file.temperature as u8));
    }
    if let Some([first, second]) = file.unique_id {
        let public = UniqueId { words: [first, second, 0] }.to_public().to_human_string();
        text.push_str(&format!(" unique_id(internal): {{{first},{second}}} public_unique_id: {public}"));
    }
    if file.tail_size_bytes > 0 {
        text.push_str(&format!(" tail size: {}", file.tail_size_bytes));
    }
    if !file.user_defined_timestamps_persisted {
        text.push_str(" User-defined timestamps persisted: false");
    }
    out.extend_from_slice(text.as_bytes());
}

/// A blob file without its garbage.
pub(super) fn blob_file(file: &BlobFileAddition) -> String {
    format!(
        "blob_file_number: {} total_blob_count: {} total_blob_bytes: {} checksum_method: {} checksum_value: {}",
        file.number.0,
        file.total_blob_count,
        file.total_blob_bytes,
        file.checksum_method,
        digits(&file.checksum_value)
    )
}
