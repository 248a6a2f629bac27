//! Reading an edit.

use super::{
    BlobFileAddition, BlobFileGarbage, ColumnFamilyChange, DeletedFile, FileChecksum, MAX_PATH_ID, NewFile,
    VersionEdit, WalAddition, custom_tag, tag,
};
use ferrock_base::Temperature;
use ferrock_base::byte_text::from_bytes;
use ferrock_base::coding::Cursor;
use ferrock_base::{Error, FileNumber, Result, SequenceNumber};

impl VersionEdit {
    /// Decodes a MANIFEST record. Every version of every field is accepted, in any order.
    ///
    /// # Errors
    /// `Corruption`, with the offset in the record, when a field is malformed or its tag is unknown and must not be
    /// ignored. `NotSupported` for a name that is not UTF-8, but for that of a column family,
    /// which may be of any bytes.
    pub fn decode(record: &[u8]) -> Result<Self> {
        let mut edit = Self::default();
        let mut cursor = Cursor::new(record);
        while !cursor.is_empty() {
            let start = cursor.position() as u64;
            let tag = cursor.varint32("tag of a VersionEdit field")?;
            edit.decode_field(tag, &mut cursor)
                .map_err(|error| error.context(&format!("VersionEdit field {tag}")).at_offset(start))?;
        }
        Ok(edit)
    }

    fn decode_field(&mut self, tag: u32, cursor: &mut Cursor<'_>) -> Result<()> {
        match tag {
            tag::COMPARATOR => self.comparator = Some(text(cursor, "comparator name")?),
            tag::LOG_NUMBER => self.log_number = Some(file_number(cursor)?),
            tag::PREV_LOG_NUMBER => self.prev_log_number = Some(file_number(cursor)?),
            tag::NEXT_FILE_NUMBER => self.next_file_number = Some(file_number(cursor)?),
            tag::LAST_SEQUENCE => self.last_sequence = Some(sequence(cursor)?),
            tag::MIN_LOG_NUMBER_TO_KEEP => self.min_log_number_to_keep = Some(file_number(cursor)?),
            tag::MAX_COLUMN_FAMILY => self.max_column_family = Some(cursor.varint32("column family id")?),
            tag::COMPACT_CURSOR => {
                let level = cursor.varint32("level")?;
                self.compact_cursors.push((level, internal_key(cursor, "compaction cursor")?));
            }
            tag::DELETED_FILE => {
                let level = cursor.varint32("level")?;
                self.deleted_files.push(DeletedFile { level, number: file_number(cursor)? });
            }
            tag::NEW_FILE | tag::NEW_FILE_2 | tag::NEW_FILE_3 | tag::NEW_FILE_4 => {
                let file = self.decode_new_file(tag, cursor)?;
                self.new_files.push(file);
            }
            tag::COLUMN_FAMILY => self.column_family = cursor.varint32("column family id")?,
            tag::COLUMN_FAMILY_ADD => {
                self.column_family_change = Some(ColumnFamilyChange::Add(
                    from_bytes(cursor.length_prefixed("column family name")?).into_owned(),
                ));
            }
            tag::COLUMN_FAMILY_DROP => self.column_family_change = Some(ColumnFamilyChange::Drop),
            tag::IN_ATOMIC_GROUP => self.remaining_in_group = Some(cursor.varint32("remaining entries")?),
            tag::BLOB_FILE_ADDITION | tag::BLOB_FILE_ADDITION_OLD => {
                self.blob_file_additions.push(decode_blob_addition(cursor)?);
            }
            tag::BLOB_FILE_GARBAGE | tag::BLOB_FILE_GARBAGE_OLD => {
                self.blob_file_garbages.push(decode_blob_garbage(cursor)?);
            }
            tag::DB_ID => self.db_id = Some(text(cursor, "database id")?),
            tag::WAL_ADDITION_OLD => self.wal_additions.push(decode_wal_addition(cursor)?),
            tag::WAL_DELETION_OLD => self.wal_deletion = Some(file_number(cursor)?),
            tag::WAL_ADDITION => {
                self.wal_additions.push(nested(cursor, "WAL addition", decode_wal_addition)?);
            }
            tag::WAL_DELETION => self.wal_deletion = Some(nested(cursor, "WAL deletion", file_number)?),
            tag::FULL_HISTORY_TS_LOW => {
                let timestamp = cursor.length_prefixed("timestamp")?;
                if timestamp.is_empty() {
                    return Err(Error::corruption("empty timestamp"));
                }
                self.full_history_ts_low = Some(timestamp.to_vec());
            }
            tag::PERSIST_USER_DEFINED_TIMESTAMPS => {
                let [flag] = cursor.length_prefixed("flag")? else {
                    return Err(Error::corruption("flag is not one byte"));
                };
                self.persist_user_defined_timestamps = Some(*flag != 0);
            }
            tag::SUBCOMPACTION_PROGRESS => {
                self.subcompaction_progress = Some(cursor.length_prefixed("subcompaction progress")?.to_vec());
            }
            tag::LAST_COMPACTED_MANIFEST_FILE_SIZE => {
                let size = nested(cursor, "MANIFEST size", |field| field.varint64("MANIFEST size"))?;
                self.last_compacted_manifest_file_size_bytes = Some(size);
            }
            _ if tag & tag::IGNORABLE_MASK != 0 => {
                cursor.length_prefixed("ignorable field")?;
            }
            _ => return Err(Error::corruption("unknown tag")),
        }
        Ok(())
    }

    fn decode_new_file(&mut self, tag: u32, cursor: &mut Cursor<'_>) -> Result<NewFile> {
        let mut file = NewFile { level: cursor.varint32("level")?, number: file_number(cursor)?, ..NewFile::default() };
        if tag == tag::NEW_FILE_3 {
            file.path_id = path_id(cursor.varint32("path id")?)?;
        }
        file.size_bytes = cursor.varint64("file size")?;
        file.smallest = internal_key(cursor, "smallest key")?;
        file.largest = internal_key(cursor, "largest key")?;
        if tag != tag::NEW_FILE {
            file.smallest_seqno = sequence(cursor)?;
            file.largest_seqno = sequence(cursor)?;
        }
        if tag == tag::NEW_FILE_4 {
            loop {
                let custom = cursor.varint32("custom tag")?;
                if custom == custom_tag::TERMINATE {
                    break;
                }
                let field = cursor.length_prefixed("custom field")?;
                self.decode_custom_field(&mut file, custom, field)
                    .map_err(|error| error.context(&format!("custom field {custom} of file {}", file.number)))
                    .map_err(|error| error.offset_by((cursor.position() - field.len()) as u64))?;
            }
        }
        Ok(file)
    }

    fn decode_custom_field(&mut self, file: &mut NewFile, custom: u32, field: &[u8]) -> Result<()> {
        let number = || whole(field, |cursor| cursor.varint64("number"));
        match custom {
            custom_tag::NEEDS_COMPACTION => file.needs_compaction = one_byte(field)? == 1,
            custom_tag::MIN_LOG_NUMBER_TO_KEEP => {
                let number = whole(field, |cursor| cursor.fixed64("log number"))?;
                self.min_log_number_to_keep = Some(FileNumber(number));
            }
            custom_tag::OLDEST_BLOB_FILE_NUMBER => file.oldest_blob_file_number = Some(FileNumber(number()?)),
            custom_tag::OLDEST_ANCESTER_TIME => file.oldest_ancester_time_secs = number()?,
            custom_tag::FILE_CREATION_TIME => file.file_creation_time_secs = number()?,
            custom_tag::EPOCH_NUMBER => file.epoch_number = Some(number()?),
            custom_tag::FILE_CHECKSUM => checksum_of(file).value = field.to_vec(),
            custom_tag::FILE_CHECKSUM_FUNCTION => {
                checksum_of(file).function_name = utf8(field, "checksum function name")?;
            }
            custom_tag::TEMPERATURE => file.temperature = Temperature::from_u8(one_byte(field)?),
            custom_tag::MIN_TIMESTAMP => file.min_timestamp = field.to_vec(),
            custom_tag::MAX_TIMESTAMP => file.max_timestamp = field.to_vec(),
            custom_tag::UNIQUE_ID => {
                file.unique_id =
                    Some(whole(field, |cursor| Ok([cursor.fixed64("unique id")?, cursor.fixed64("unique id")?]))?);
            }
            custom_tag::COMPENSATED_RANGE_DELETION_SIZE => file.compensated_range_deletion_size_bytes = number()?,
            custom_tag::TAIL_SIZE => file.tail_size_bytes = number()?,
            custom_tag::USER_DEFINED_TIMESTAMPS_PERSISTED => {
                file.user_defined_timestamps_persisted = one_byte(field)? != 0;
            }
            custom_tag::FILE_OPEN_METADATA => file.file_open_metadata = field.to_vec(),
            custom_tag::PATH_ID => file.path_id = path_id(u32::from(one_byte(field)?))?,
            _ if custom & custom_tag::NOT_IGNORABLE_MASK != 0 => return Err(Error::corruption("unknown custom tag")),
            _ => {}
        }
        Ok(())
    }
}

fn file_number(cursor: &mut Cursor<'_>) -> Result<FileNumber> {
    Ok(FileNumber(cursor.varint64("file number")?))
}

fn sequence(cursor: &mut Cursor<'_>) -> Result<SequenceNumber> {
    Ok(SequenceNumber(cursor.varint64("sequence number")?))
}

fn utf8(bytes: &[u8], field: &str) -> Result<String> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::not_supported(format!("{field} is not UTF-8")))?;
    Ok(text.to_owned())
}

fn text(cursor: &mut Cursor<'_>, field: &str) -> Result<String> {
    utf8(cursor.length_prefixed(field)?, field)
}

fn internal_key(cursor: &mut Cursor<'_>, field: &str) -> Result<Vec<u8>> {
    let key = cursor.length_prefixed(field)?;
    if key.len() < 8 {
        return Err(Error::corruption(format!("{field} of {} bytes has no trailer", key.len())));
    }
    Ok(key.to_vec())
}

fn path_id(id: u32) -> Result<u32> {
    if id > MAX_PATH_ID {
        return Err(Error::corruption(format!("path id {id}, the largest is {MAX_PATH_ID}")));
    }
    Ok(id)
}

fn one_byte(field: &[u8]) -> Result<u8> {
    match field {
        [byte] => Ok(*byte),
        _ => Err(Error::corruption(format!("field of {} bytes instead of one", field.len()))),
    }
}

/// Decodes a field that `decode` must use up.
fn whole<T>(field: &[u8], decode: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
    let mut cursor = Cursor::new(field);
    let value = decode(&mut cursor)?;
    if !cursor.is_empty() {
        return Err(Error::corruption(format!("{} bytes after the field's value", cursor.rest().len())));
    }
    Ok(value)
}

/// Decodes the content of a length-prefixed string.
fn nested<T>(cursor: &mut Cursor<'_>, name: &str, decode: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
    let field = cursor.length_prefixed(name)?;
    whole(field, decode).map_err(|error| error.offset_by((cursor.position() - field.len()) as u64))
}

/// The checksum of a file whose two fields come one by one.
fn checksum_of(file: &mut NewFile) -> &mut FileChecksum {
    file.checksum.get_or_insert_with(|| FileChecksum { function_name: String::new(), value: Vec::new() })
}

fn decode_blob_addition(cursor: &mut Cursor<'_>) -> Result<BlobFileAddition> {
    let addition = BlobFileAddition {
        number: file_number(cursor)?,
        total_blob_count: cursor.varint64("blob count")?,
        total_blob_bytes: cursor.varint64("blob bytes")?,
        checksum_method: text(cursor, "checksum method")?,
        checksum_value: cursor.length_prefixed("checksum value")?.to_vec(),
    };
    skip_custom_fields(cursor)?;
    Ok(addition)
}

fn decode_blob_garbage(cursor: &mut Cursor<'_>) -> Result<BlobFileGarbage> {
    let garbage = BlobFileGarbage {
        number: file_number(cursor)?,
        garbage_blob_count: cursor.varint64("garbage count")?,
        garbage_blob_bytes: cursor.varint64("garbage bytes")?,
    };
    skip_custom_fields(cursor)?;
    Ok(garbage)
}

/// Custom fields of a blob edit: none is defined so far.
fn skip_custom_fields(cursor: &mut Cursor<'_>) -> Result<()> {
    loop {
        let custom = cursor.varint32("custom tag")?;
        if custom == 0 {
            return Ok(());
        }
        if custom & custom_tag::NOT_IGNORABLE_MASK != 0 {
            return Err(Error::corruption(format!("unknown custom tag {custom}")));
        }
        cursor.length_prefixed("custom field")?;
    }
}

fn decode_wal_addition(cursor: &mut Cursor<'_>) -> Result<WalAddition> {
    let mut addition = WalAddition { log_number: file_number(cursor)?, synced_size_bytes: None };
    loop {
        match cursor.varint32("WAL tag")? {
            1 => return Ok(addition),
            2 => addition.synced_size_bytes = Some(cursor.varint64("synced size")?),
            unknown => return Err(Error::corruption(format!("unknown WAL tag {unknown}"))),
        }
    }
}
