//! Codecs: batches, logs and blocks, from words to bytes and back.

use crate::check;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::{Comparator, FileNumber, InternalComparator, SequenceNumber, ValueType};
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions, DataBlock, DataBlockCursor};
use ferrock_format::log::{HeaderFamily, LogEvent, LogReader, LogWriter, SliceSource, WalRecoveryMode};
use ferrock_format::write_batch::{Record, WriteBatch, WriteBatchRef};
use ferrock_script::argument;
use std::fmt::Write as _;

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// The records of a batch, in words.
pub fn records(batch: WriteBatchRef<'_>) -> Vec<String> {
    let in_words = |record: Record<'_>| match record {
        Record::LogData(data) => format!("log data of {} bytes", data.len()),
        record => match record.as_entry() {
            Some((family, kind, key, value)) => {
                let family = if family == 0 { String::new() } else { format!("cf {family} ") };
                format!("{family}{kind:?} {} {}", text(key), text(value)).trim_end().to_owned()
            }
            None => format!("{record:?}"),
        },
    };
    batch.iter().map(|record| record.map_or_else(|error| error.to_string(), in_words)).collect()
}

/// Words of a batch: `put K V`, `delete K`, `single_delete K`, `merge K V`, `delete_range A B`, `log_data X`, `save`,
/// `rollback`, `pop`, `noop`, `end_prepare X`, with `cf=N`; then `bytes N`: the first N bytes alone.
fn batch(case: &str) -> String {
    let mut batch = WriteBatch::new();
    batch.set_sequence(SequenceNumber(7));
    let mut out = String::new();
    let mut bytes = None;
    for line in case.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let family = argument(line, "cf").map_or(0, |id| id.parse().unwrap());
        let word = |index: usize| words.get(index).map(|word| word.as_bytes()).unwrap_or_default();
        let result = match words[0] {
            "put" => batch.put_cf(family, word(1), word(2)),
            "delete" => batch.delete_cf(family, word(1)),
            "single_delete" => batch.single_delete_cf(family, word(1)),
            "merge" => batch.merge_cf(family, word(1), word(2)),
            "delete_range" => batch.delete_range_cf(family, word(1), word(2)),
            "log_data" => batch.put_log_data(word(1)),
            "noop" => batch.mark_noop(),
            "end_prepare" => batch.mark_end_prepare(word(1)),
            "rollback" => batch.rollback_to_save_point(),
            "pop" => batch.pop_save_point(),
            "save" => {
                batch.set_save_point();
                Ok(())
            }
            "bytes" => {
                bytes = words[1].parse::<usize>().ok();
                Ok(())
            }
            _ => panic!("{line}: no such word"),
        };
        if let Err(error) = result {
            let _ = writeln!(out, "{line}: {error}");
        }
    }
    let data = &batch.data()[..bytes.unwrap_or(batch.data().len())];
    let _ = writeln!(out, "{}", data.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    match WriteBatchRef::new(data) {
        Ok(batch) => {
            let _ = writeln!(out, "@{} count {}", batch.sequence().0, batch.count());
            records(batch).iter().for_each(|record| out += &format!("{record}\n"));
        }
        Err(error) => out += &format!("{error}\n"),
    }
    out
}

/// `write N ...` records of so many bytes (`recyclable`: with the log's number); `flip AT`, `cut LENGTH`, `as=NUMBER`
/// read as another log. Then what each recovery mode reads.
fn log(case: &str) -> String {
    let mut bytes = Vec::new();
    let family = if case.contains("recyclable") { HeaderFamily::Recyclable } else { HeaderFamily::Legacy };
    let mut writer = LogWriter::new(FileNumber(4), family);
    let mut read_as = 4;
    for line in case.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| words[index].parse::<usize>().unwrap();
        match words[0] {
            "recyclable" => {}
            "write" => (1..words.len()).for_each(|index| {
                writer.encode_record(&[&vec![b'a' + index as u8; number(index)]], &mut bytes);
            }),
            "flip" => bytes[number(1)] ^= 1,
            "cut" => bytes.truncate(number(1)),
            "as" => read_as = number(1) as u64,
            _ => panic!("{line}: no such word"),
        }
    }
    let mut out = format!("{} bytes\n", bytes.len());
    for mode in WalRecoveryMode::ALL {
        let mut reader = LogReader::new(SliceSource(&bytes), FileNumber(read_as), mode);
        let (mut events, mut scratch) = (Vec::new(), Vec::new());
        loop {
            match reader.read_record(&mut scratch).unwrap() {
                LogEvent::Record { physical_offset, data } => events.push(format!("{}@{physical_offset}", data.len())),
                LogEvent::Corruption { offset, bytes_dropped, what } => {
                    events.push(format!("[{what} at {offset}, {bytes_dropped} bytes]"));
                }
                LogEvent::OldRecord { offset } => {
                    events.push(format!("[an older record at {offset}]"));
                    break;
                }
                LogEvent::End => break,
            }
        }
        let end = if reader.has_torn_end() { " torn" } else { "" };
        let _ = writeln!(out, "{}: {}{end}", mode.name(), events.join(" "));
    }
    out
}

/// `block K ...` keys, each `key` or `key@sequence`, `interval=N`, `hash`; then `seek K`, `seek_for_prev K`, `get K`.
fn block(data: &mut Option<DataBlock>, cursor: &mut DataBlockCursor, case: &str) -> String {
    let comparator = InternalComparator::new(Comparator::Bytewise);
    let internal = |word: &str| {
        let (key, sequence) = word.split_once('@').unwrap_or((word, "1"));
        make_internal_key(key.as_bytes(), SequenceNumber(sequence.parse().unwrap()), ValueType::Value)
    };
    let mut out = String::new();
    for line in case.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "block" {
            let interval = argument(line, "interval").map_or(16, |interval| interval.parse().unwrap());
            let options = BlockBuilderOptions { restart_interval: interval, ..BlockBuilderOptions::default() };
            let mut builder = BlockBuilder::new(options);
            if words.contains(&"hash") {
                builder = builder.with_hash_index(0.75);
            }
            for (index, word) in words[1..].iter().filter(|word| !word.contains('=') && **word != "hash").enumerate() {
                builder.add(&internal(word), format!("v{index}").as_bytes());
            }
            let bytes = builder.finish().to_vec();
            let block = DataBlock::new(bytes).unwrap();
            let _ = writeln!(out, "{} bytes", block.bytes().len());
            *data = Some(block);
            continue;
        }
        let block = data.as_ref().expect("a block");
        match words[0] {
            "seek" => cursor.seek(block, &comparator, &internal(words[1])),
            "seek_for_prev" => cursor.seek_for_prev(block, &comparator, &internal(words[1])),
            "get" => cursor.seek_for_get(block, &comparator, &internal(words[1])),
            "first" => cursor.seek_to_first(block),
            "last" => cursor.seek_to_last(block),
            "next" => cursor.next(block),
            "prev" => cursor.prev(block),
            _ => panic!("{line}: no such word"),
        }
        if cursor.valid() {
            let key = cursor.key(block);
            let (user_key, sequence) = (text(&key[..key.len() - 8]), ferrock_base::internal_key::trailer(key) >> 8);
            let _ = writeln!(out, "{user_key}@{sequence}={}", text(cursor.value(block)));
        } else {
            let _ = writeln!(out, ".{}", cursor.status().err().map(|error| format!(" {error}")).unwrap_or_default());
        }
    }
    out
}

#[test]
fn write_batch() {
    check("write_batch", batch);
}

#[test]
fn wal() {
    check("wal", log);
}

#[test]
fn block_search() {
    let (mut data, mut cursor) = (None, DataBlockCursor::new(None));
    check("block_search", |case| block(&mut data, &mut cursor, case));
}
