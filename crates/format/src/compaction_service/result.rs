//! The result: which tables were written, or why none were.

use super::blobs::BlobResult;
use super::text::{Fields, for_each_field, hex, items, parse, parse_flag, parse_hex, parse_name, without_version};
use crate::properties::TableProperties;
use crate::version_edit::FileChecksum;
use ferrock_base::Temperature;
use ferrock_base::byte_text::to_bytes;
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber};

/// What became of a compaction in another process.
#[derive(Clone, Debug, Default)]
pub struct CompactionServiceResult {
    /// Why it failed; `None` if it succeeded.
    pub error: Option<Error>,
    /// The tables, in the order of their keys.
    pub output_files: Vec<CompactionServiceOutputFile>,
    /// The level that they are to join.
    pub output_level: u32,
    /// The directory that they are in.
    pub output_path: String,
    /// Bytes that the worker read.
    pub bytes_read: u64,
    /// Bytes that the worker wrote.
    pub bytes_written: u64,
    /// Counts.
    pub stats: CompactionServiceStats,
    /// A number that stands for the bytes of the input, so that the result of another job is noticed; `None` where the
    /// worker is not Ferrock.
    pub job_digest: Option<u64>,
    /// What was done with blob files; `None` where the job has none, or the worker does not say.
    pub blobs: Option<BlobResult>,
}

/// Counts of a compaction in another process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionServiceStats {
    /// Microseconds that it took.
    pub elapsed_us: u64,
    /// Entries that its inputs gave, without range tombstones.
    pub num_input_records: u64,
    /// False when entries were passed over unread, so that `num_input_records` is less than the inputs hold.
    pub has_accurate_num_input_records: bool,
    /// Tables read.
    pub num_input_files: u64,
    /// Entries of the outputs, range tombstones included.
    pub num_output_records: u64,
    /// Bytes of the inputs.
    pub total_input_bytes: u64,
    /// Bytes of the outputs.
    pub total_output_bytes: u64,
}

/// A table that a worker wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactionServiceOutputFile {
    /// Its name in the directory of the outputs.
    pub file_name: String,
    /// Its size; 0: not said.
    pub size_bytes: u64,
    /// Smallest sequence number.
    pub smallest_seqno: SequenceNumber,
    /// Largest sequence number.
    pub largest_seqno: SequenceNumber,
    /// First internal key, range tombstones included.
    pub smallest: Vec<u8>,
    /// Last internal key, range tombstones included.
    pub largest: Vec<u8>,
    /// Unix time of the oldest data that went into it; 0 = unknown.
    pub oldest_ancester_time_secs: u64,
    /// Unix time at which it was made; 0 = unknown.
    pub file_creation_time_secs: u64,
    /// Its epoch number.
    pub epoch_number: u64,
    /// Checksum of the whole file.
    pub checksum: Option<FileChecksum>,
    /// It asks to be compacted soon.
    pub needs_compaction: bool,
    /// Its unique id; `[0, 0]`: none.
    pub unique_id: [u64; 2],
    /// How hot it is.
    pub temperature: Temperature,
    /// It is for the level above the output level, which only RocksDB's workers write.
    pub is_proximal_level_output: bool,
    /// Entries, range tombstones included, as its properties say.
    pub num_entries: u64,
    /// Offset behind its data blocks, as its properties say; 0: not said.
    pub tail_start_offset: u64,
    /// Estimated size of what its range tombstones delete.
    pub compensated_range_deletion_size_bytes: u64,
    /// Smallest user-defined timestamp; empty: none.
    pub min_timestamp: Vec<u8>,
    /// Largest user-defined timestamp; empty: none.
    pub max_timestamp: Vec<u8>,
}

/// Codes of RocksDB's `Status`, by kind; with the subcodes that make two kinds of one code.
const CODES: &[(ErrorKind, u8, u8)] = &[
    (ErrorKind::NotFound, 1, 0),
    (ErrorKind::Corruption, 2, 0),
    (ErrorKind::NotSupported, 3, 0),
    (ErrorKind::InvalidArgument, 4, 0),
    (ErrorKind::NoSpace, 5, 4),
    (ErrorKind::Io, 5, 0),
    (ErrorKind::MergeInProgress, 6, 0),
    (ErrorKind::Incomplete, 7, 0),
    (ErrorKind::ShutdownInProgress, 8, 0),
    (ErrorKind::TimedOut, 9, 0),
    (ErrorKind::MemoryLimit, 10, 7),
    (ErrorKind::Aborted, 10, 0),
    (ErrorKind::Busy, 11, 0),
    (ErrorKind::TryAgain, 13, 0),
    (ErrorKind::ColumnFamilyDropped, 15, 0),
];

/// Names that every result has.
const REQUIRED: &[&str] = &["status", "output_files", "output_level", "output_path", "stats"];

impl CompactionServiceResult {
    /// The result of a compaction that failed.
    #[must_use]
    pub fn failed(error: Error) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    /// The bytes for the database.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = Fields::default();
        fields.put_struct("status", status_fields(self.error.as_ref()));
        let files: Vec<String> = self.output_files.iter().map(|file| file.fields().braced()).collect();
        fields.put("output_files", if files.is_empty() { String::new() } else { format!("{{{}}}", files.join(":")) });
        fields.put("output_level", self.output_level);
        fields.put_bytes("output_path", &to_bytes(&self.output_path));
        fields.put("bytes_read", self.bytes_read);
        fields.put("bytes_written", self.bytes_written);
        fields.put_struct("stats", self.stats.fields(self.output_files.len()));
        if let Some(digest) = self.job_digest {
            fields.put("ferrock_job_digest", digest);
        }
        if let Some(blobs) = &self.blobs {
            fields.put_struct("ferrock_blobs", blobs.fields());
        }
        fields.versioned()
    }

    /// # Errors
    /// `InvalidArgument` for bytes that are no such text, `NotSupported` for another version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut result = Self::default();
        let mut found = Vec::new();
        for_each_field(without_version(bytes, "CompactionServiceResult")?, |name, value| {
            match name {
                "status" => result.error = status_from(value)?,
                "output_files" => {
                    let files = items(value)?.into_iter().map(CompactionServiceOutputFile::from_text);
                    result.output_files = files.collect::<Result<_>>()?;
                }
                "output_level" => result.output_level = parse(name, value)?,
                "output_path" => result.output_path = parse_name(name, value)?,
                "bytes_read" => result.bytes_read = parse(name, value)?,
                "bytes_written" => result.bytes_written = parse(name, value)?,
                "stats" => result.stats = CompactionServiceStats::from_text(value)?,
                "ferrock_job_digest" => result.job_digest = Some(parse(name, value)?),
                "ferrock_blobs" => result.blobs = Some(BlobResult::from_text(value)?),
                _ => {}
            }
            if !(value.is_empty() && ["status", "stats"].contains(&name)) {
                found.push(name);
            }
            Ok(())
        })?;
        // A text that was cut must not pass for the success of a job without outputs.
        if let Some(missing) = REQUIRED.iter().find(|name| !found.contains(name)) {
            return Err(Error::invalid_argument(format!("CompactionServiceResult: {missing} is missing")));
        }
        Ok(result)
    }
}

fn status_fields(error: Option<&Error>) -> Fields {
    let known = error.and_then(|error| CODES.iter().find(|(kind, ..)| *kind == error.kind()));
    // What has no code of RocksDB's is an error all the same.
    let (code, subcode) =
        known.map_or((if error.is_some() { 10 } else { 0 }, 0), |(_, code, subcode)| (*code, *subcode));
    let mut fields = Fields::default();
    fields.put("code", code);
    fields.put("subcode", subcode);
    fields.put("severity", 0);
    fields.put_bytes("message", &to_bytes(error.map_or("", Error::message)));
    fields
}

fn status_from(text: &str) -> Result<Option<Error>> {
    let (mut code, mut subcode, mut message) = (0u8, 0u8, String::new());
    for_each_field(text, |name, value| {
        match name {
            "code" => code = parse(name, value)?,
            "subcode" => subcode = parse(name, value)?,
            "message" => message = parse_name(name, value)?,
            _ => {}
        }
        Ok(())
    })?;
    if code == 0 {
        return Ok(None);
    }
    let exact = CODES.iter().find(|known| (known.1, known.2) == (code, subcode));
    let known = exact.or_else(|| CODES.iter().find(|known| (known.1, known.2) == (code, 0)));
    Ok(Some(Error::new(known.map_or(ErrorKind::Aborted, |known| known.0), message)))
}

impl CompactionServiceStats {
    fn fields(&self, num_output_files: usize) -> Fields {
        let mut fields = Fields::default();
        fields.put("elapsed_micros", self.elapsed_us);
        fields.put("has_accurate_num_input_records", self.has_accurate_num_input_records);
        fields.put("num_input_records", self.num_input_records);
        fields.put("num_input_files", self.num_input_files);
        fields.put("num_output_records", self.num_output_records);
        fields.put("num_output_files", num_output_files);
        fields.put("is_remote_compaction", true);
        fields.put("total_input_bytes", self.total_input_bytes);
        fields.put("total_output_bytes", self.total_output_bytes);
        fields
    }

    fn from_text(text: &str) -> Result<Self> {
        let mut stats = Self::default();
        for_each_field(text, |name, value| {
            match name {
                "elapsed_micros" => stats.elapsed_us = parse(name, value)?,
                "has_accurate_num_input_records" => stats.has_accurate_num_input_records = parse_flag(name, value)?,
                "num_input_records" => stats.num_input_records = parse(name, value)?,
                "num_input_files" => stats.num_input_files = parse(name, value)?,
                "num_output_records" => stats.num_output_records = parse(name, value)?,
                "total_input_bytes" => stats.total_input_bytes = parse(name, value)?,
                "total_output_bytes" => stats.total_output_bytes = parse(name, value)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(stats)
    }
}

impl CompactionServiceOutputFile {
    /// What the properties of the table say of it.
    pub fn set_properties(&mut self, properties: &TableProperties) {
        self.num_entries = properties.num_entries;
        self.tail_start_offset = properties.tail_start_offset.unwrap_or(0);
    }

    fn fields(&self) -> Fields {
        let mut fields = Fields::default();
        fields.put_bytes("file_name", &to_bytes(&self.file_name));
        fields.put("file_size", self.size_bytes);
        fields.put("smallest_seqno", self.smallest_seqno.0);
        fields.put("largest_seqno", self.largest_seqno.0);
        fields.put_bytes("smallest_internal_key", &self.smallest);
        fields.put_bytes("largest_internal_key", &self.largest);
        fields.put("oldest_ancester_time", self.oldest_ancester_time_secs);
        fields.put("file_creation_time", self.file_creation_time_secs);
        fields.put("epoch_number", self.epoch_number);
        let (function, value) = match &self.checksum {
            Some(checksum) => (&checksum.function_name[..], &checksum.value[..]),
            None => ("Unknown", &[][..]),
        };
        fields.put_bytes("file_checksum", value);
        fields.put_bytes("file_checksum_func_name", &to_bytes(function));
        fields.put("paranoid_hash", 0);
        fields.put("marked_for_compaction", self.needs_compaction);
        fields.put("unique_id", format_args!("{}:{}", self.unique_id[0], self.unique_id[1]));
        fields.put_struct("table_properties", self.property_fields());
        fields.put("is_proximal_level_output", self.is_proximal_level_output);
        fields.put("file_temperature", self.temperature.option_name());
        fields.put("ferrock_compensated_range_deletion_size", self.compensated_range_deletion_size_bytes);
        fields.put_bytes("ferrock_min_timestamp", &self.min_timestamp);
        fields.put_bytes("ferrock_max_timestamp", &self.max_timestamp);
        fields
    }

    fn property_fields(&self) -> Fields {
        let mut fields = Fields::default();
        fields.put("num_entries", self.num_entries);
        fields.put("tail_start_offset", self.tail_start_offset);
        fields
    }

    fn from_text(text: &str) -> Result<Self> {
        let mut file = Self::default();
        let mut checksum = FileChecksum { function_name: String::new(), value: Vec::new() };
        for_each_field(text, |name, value| {
            match name {
                "file_name" => file.file_name = parse_name(name, value)?,
                "file_size" => file.size_bytes = parse(name, value)?,
                "smallest_seqno" => file.smallest_seqno = SequenceNumber(parse(name, value)?),
                "largest_seqno" => file.largest_seqno = SequenceNumber(parse(name, value)?),
                "smallest_internal_key" => file.smallest = parse_hex(name, value)?,
                "largest_internal_key" => file.largest = parse_hex(name, value)?,
                "oldest_ancester_time" => file.oldest_ancester_time_secs = parse(name, value)?,
                "file_creation_time" => file.file_creation_time_secs = parse(name, value)?,
                "epoch_number" => file.epoch_number = parse(name, value)?,
                "file_checksum" => checksum.value = parse_hex(name, value)?,
                "file_checksum_func_name" => checksum.function_name = parse_name(name, value)?,
                "marked_for_compaction" => file.needs_compaction = parse_flag(name, value)?,
                "unique_id" => {
                    let halves =
                        items(value)?.into_iter().map(|half| parse(name, half)).collect::<Result<Vec<u64>>>()?;
                    file.unique_id = halves.try_into().map_err(|_| {
                        Error::invalid_argument(format!("unique_id={value:?}: two numbers are expected"))
                    })?;
                }
                "table_properties" => file.take_properties(value)?,
                "is_proximal_level_output" => file.is_proximal_level_output = parse_flag(name, value)?,
                "file_temperature" => file.temperature = Temperature::from_option_name(value).unwrap_or_default(),
                "ferrock_compensated_range_deletion_size" => {
                    file.compensated_range_deletion_size_bytes = parse(name, value)?;
                }
                "ferrock_min_timestamp" => file.min_timestamp = parse_hex(name, value)?,
                "ferrock_max_timestamp" => file.max_timestamp = parse_hex(name, value)?,
                _ => {}
            }
            Ok(())
        })?;
        file.checksum = (!checksum.value.is_empty()).then_some(checksum);
        Ok(file)
    }

    fn take_properties(&mut self, text: &str) -> Result<()> {
        for_each_field(text, |name, value| {
            match name {
                "num_entries" => self.num_entries = parse(name, value)?,
                "tail_start_offset" => self.tail_start_offset = parse(name, value)?,
                _ => {}
            }
            Ok(())
        })
    }
}

/// For messages: the first bytes of a key.
impl std::fmt::Display for CompactionServiceOutputFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} bytes [{} .. {}]", self.file_name, self.size_bytes, hex(&self.smallest), hex(&self.largest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> CompactionServiceOutputFile {
        CompactionServiceOutputFile {
            file_name: name.to_owned(),
            size_bytes: 1000,
            smallest_seqno: SequenceNumber(3),
            largest_seqno: SequenceNumber(9),
            smallest: b"a:;{}\0\x01\x03\0\0\0\0\0\0".to_vec(),
            largest: b"z\x01\x03\0\0\0\0\0\0".to_vec(),
            oldest_ancester_time_secs: 5,
            file_creation_time_secs: 6,
            epoch_number: 7,
            checksum: Some(FileChecksum { function_name: "FileChecksumCrc32c".to_owned(), value: vec![1, 2] }),
            needs_compaction: true,
            unique_id: [1, u64::MAX],
            temperature: Temperature::Cold,
            is_proximal_level_output: true,
            num_entries: 10,
            tail_start_offset: 900,
            compensated_range_deletion_size_bytes: 4,
            min_timestamp: vec![1],
            max_timestamp: vec![2],
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for count in 0..3 {
            let result = CompactionServiceResult {
                output_files: (0..count).map(|number| file(&format!("{number:06}.sst"))).collect(),
                output_level: 6,
                output_path: "/out;put={".to_owned(),
                bytes_read: 1,
                bytes_written: 2,
                stats: CompactionServiceStats {
                    num_input_records: 3,
                    has_accurate_num_input_records: true,
                    ..CompactionServiceStats::default()
                },
                job_digest: Some(u64::MAX),
                ..CompactionServiceResult::default()
            };
            let again = CompactionServiceResult::decode(&result.encode()).unwrap();
            assert!(again.error.is_none());
            assert_eq!((&again.output_files, again.stats), (&result.output_files, result.stats));
            assert_eq!((&again.output_path, again.job_digest), (&result.output_path, result.job_digest));
            assert_eq!((again.output_level, again.bytes_read, again.bytes_written), (6, 1, 2));
        }
    }

    #[test]
    fn errors_keep_their_kind() {
        for (kind, ..) in CODES {
            let failed = CompactionServiceResult::failed(Error::new(*kind, "why; {it} failed"));
            let error = CompactionServiceResult::decode(&failed.encode()).unwrap().error.unwrap();
            assert_eq!((error.kind(), error.message()), (*kind, "why; {it} failed"));
        }
        // A code of a later release is an error, too.
        let text =
            b"\x01\0\0\0status={code=99;subcode=1;severity=2;message=;};output_files=;output_level=0;output_path=;\
                     stats={elapsed_micros=1;};";
        assert!(CompactionServiceResult::decode(text).unwrap().error.is_some());
    }

    #[test]
    fn a_result_that_was_cut_is_refused() {
        let result = CompactionServiceResult { output_files: vec![file("000001.sst")], ..Default::default() };
        let bytes = result.encode();
        CompactionServiceResult::decode(&bytes).unwrap();
        for end in 0..bytes.len() - 1 {
            CompactionServiceResult::decode(&bytes[..end]).unwrap_err();
        }
    }
}
