//! The job: what to compact, from where to where.

use super::blobs::BlobJob;
use super::text::{Fields, for_each_field, hex, items, parse, parse_flag, parse_hex, parse_name, without_version};
use ferrock_base::byte_text::to_bytes;
use ferrock_base::{FileNumber, Result, SequenceNumber};

/// A compaction that another process is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionServiceInput {
    /// The column family.
    pub column_family: String,
    /// Versions of keys visible at these sequence numbers are kept.
    pub snapshots: Vec<SequenceNumber>,
    /// Names of the tables to read, of the start level first.
    pub input_files: Vec<String>,
    /// The level that the outputs will join.
    pub output_level: u32,
    /// Identity of the database; part of the unique ids of the outputs.
    pub db_id: String,
    /// First user key; `None`: from the first on.
    pub begin: Option<Vec<u8>>,
    /// User key behind the last; `None`: to the last.
    pub end: Option<Vec<u8>>,
    /// The OPTIONS file that describes how to write; 0: the newest.
    pub options_file_number: FileNumber,
    /// What only Ferrock says. A worker that does not find it works it out from the tree that it sees.
    pub details: Option<JobDetails>,
}

/// What the chooser of the compaction decided, beyond its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobDetails {
    /// The level that the compaction takes its first inputs from.
    pub start_level: u32,
    /// Why it was chosen, as the LOG says it.
    pub reason: String,
    /// A caller asked for it.
    pub is_manual: bool,
    /// No deeper level holds data of its range.
    pub is_bottommost: bool,
    /// The outputs are compressed as the options say; `false`: not at all.
    pub is_compressed: bool,
    /// Bytes after which an output is finished.
    pub max_output_file_size_bytes: u64,
    /// Bytes of inputs and of files below that one compaction should touch.
    pub max_compaction_bytes: u64,
    /// Epoch number of the outputs.
    pub epoch_number: u64,
    /// Names of the merge operator, the compaction filter and its factory, that the worker must have, too; empty: none.
    pub merge_operator: String,
    /// See `merge_operator`.
    pub compaction_filter: String,
    /// See `merge_operator`.
    pub compaction_filter_factory: String,
    /// What the worker may do with blob files; `None`: neither inputs nor outputs refer to any.
    pub blobs: Option<BlobJob>,
}

impl CompactionServiceInput {
    /// The bytes for the worker.
    ///
    /// ```
    /// use ferrock_format::compaction_service::CompactionServiceInput;
    /// let input = CompactionServiceInput { output_level: 6, ..CompactionServiceInput::default() };
    /// assert_eq!(CompactionServiceInput::decode(&input.encode())?, input);
    /// # Ok::<(), ferrock_base::Error>(())
    /// ```
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = Fields::default();
        let list = |texts: Vec<String>| texts.join(":");
        fields.put_bytes("cf_name", &to_bytes(&self.column_family));
        fields.put("snapshots", list(self.snapshots.iter().map(|number| number.0.to_string()).collect()));
        fields.put("input_files", list(self.input_files.iter().map(|name| hex(&to_bytes(name))).collect()));
        fields.put("output_level", self.output_level);
        fields.put_bytes("db_id", &to_bytes(&self.db_id));
        fields.put("has_begin", self.begin.is_some());
        fields.put_bytes("begin", self.begin.as_deref().unwrap_or_default());
        fields.put("has_end", self.end.is_some());
        fields.put_bytes("end", self.end.as_deref().unwrap_or_default());
        fields.put("options_file_number", self.options_file_number.0);
        if let Some(details) = &self.details {
            fields.put_struct("ferrock_details", details.fields());
        }
        fields.versioned()
    }

    /// # Errors
    /// `InvalidArgument` for bytes that are no such text, `NotSupported` for another version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut input = Self::default();
        let (mut has_begin, mut has_end) = (false, false);
        for_each_field(without_version(bytes, "CompactionServiceInput")?, |name, value| {
            match name {
                "cf_name" => input.column_family = parse_name(name, value)?,
                "snapshots" => {
                    let numbers = items(value)?.into_iter().map(|number| parse(name, number).map(SequenceNumber));
                    input.snapshots = numbers.collect::<Result<_>>()?;
                }
                "input_files" => {
                    input.input_files =
                        items(value)?.into_iter().map(|item| parse_name(name, item)).collect::<Result<_>>()?;
                }
                "output_level" => input.output_level = parse(name, value)?,
                "db_id" => input.db_id = parse_name(name, value)?,
                "has_begin" => has_begin = parse_flag(name, value)?,
                "begin" => input.begin = Some(parse_hex(name, value)?),
                "has_end" => has_end = parse_flag(name, value)?,
                "end" => input.end = Some(parse_hex(name, value)?),
                "options_file_number" => input.options_file_number = FileNumber(parse(name, value)?),
                "ferrock_details" => input.details = Some(JobDetails::from_text(value)?),
                _ => {}
            }
            Ok(())
        })?;
        // An empty key is a key.
        input.begin = has_begin.then(|| input.begin.unwrap_or_default());
        input.end = has_end.then(|| input.end.unwrap_or_default());
        Ok(input)
    }
}

impl JobDetails {
    fn fields(&self) -> Fields {
        let mut fields = Fields::default();
        fields.put("start_level", self.start_level);
        fields.put_bytes("reason", &to_bytes(&self.reason));
        fields.put("is_manual", self.is_manual);
        fields.put("is_bottommost", self.is_bottommost);
        fields.put("is_compressed", self.is_compressed);
        fields.put("max_output_file_size", self.max_output_file_size_bytes);
        fields.put("max_compaction_bytes", self.max_compaction_bytes);
        fields.put("epoch_number", self.epoch_number);
        fields.put_bytes("merge_operator", &to_bytes(&self.merge_operator));
        fields.put_bytes("compaction_filter", &to_bytes(&self.compaction_filter));
        fields.put_bytes("compaction_filter_factory", &to_bytes(&self.compaction_filter_factory));
        if let Some(blobs) = &self.blobs {
            fields.put_struct("blobs", blobs.fields());
        }
        fields
    }

    fn from_text(text: &str) -> Result<Self> {
        let mut details = Self::default();
        for_each_field(text, |name, value| {
            match name {
                "start_level" => details.start_level = parse(name, value)?,
                "reason" => details.reason = parse_name(name, value)?,
                "is_manual" => details.is_manual = parse_flag(name, value)?,
                "is_bottommost" => details.is_bottommost = parse_flag(name, value)?,
                "is_compressed" => details.is_compressed = parse_flag(name, value)?,
                "max_output_file_size" => details.max_output_file_size_bytes = parse(name, value)?,
                "max_compaction_bytes" => details.max_compaction_bytes = parse(name, value)?,
                "epoch_number" => details.epoch_number = parse(name, value)?,
                "merge_operator" => details.merge_operator = parse_name(name, value)?,
                "compaction_filter" => details.compaction_filter = parse_name(name, value)?,
                "compaction_filter_factory" => details.compaction_filter_factory = parse_name(name, value)?,
                "blobs" => details.blobs = Some(BlobJob::from_text(value)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> CompactionServiceInput {
        CompactionServiceInput {
            column_family: "a:b=c;{".to_owned(),
            snapshots: vec![SequenceNumber(7), SequenceNumber(12)],
            input_files: vec!["000012.sst".to_owned(), "000009.sst".to_owned()],
            output_level: 6,
            db_id: "id".to_owned(),
            begin: Some(Vec::new()),
            end: Some(vec![0xFF, 0]),
            options_file_number: FileNumber(5),
            details: Some(JobDetails { is_bottommost: true, reason: "Ttl".to_owned(), ..JobDetails::default() }),
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for details in [None, input().details] {
            let input = CompactionServiceInput { details, ..input() };
            assert_eq!(CompactionServiceInput::decode(&input.encode()).unwrap(), input);
        }
        let empty = CompactionServiceInput::default();
        assert_eq!(CompactionServiceInput::decode(&empty.encode()).unwrap(), empty);
    }

    #[test]
    fn the_text_is_that_of_rocksdb() {
        // As its serializer writes it: in no particular order, lists of one item and of none bare.
        let text = "\x01\0\0\0input_files=3030303031322E737374;cf_name=64656661756C74;snapshots=;output_level=1;\
                    end=;has_end=false;begin=6B;has_begin=true;db_id=6964;options_file_number=8;later={a=1;b={c=2;}};";
        let input = CompactionServiceInput::decode(text.as_bytes()).unwrap();
        assert_eq!((&input.column_family[..], &input.input_files[..]), ("default", &["000012.sst".to_owned()][..]));
        assert_eq!((input.begin.as_deref(), &input.end, input.snapshots.len()), (Some(&b"k"[..]), &None, 0));
        assert_eq!((input.output_level, input.options_file_number, &input.db_id[..]), (1, FileNumber(8), "id"));
        let own = without_version(&input.encode(), "").unwrap().to_owned();
        assert!(own.starts_with("cf_name=64656661756C74;snapshots=;input_files=3030303031322E737374;"), "{own}");
    }

    #[test]
    fn what_is_no_such_text_is_refused() {
        for bytes in [
            &b""[..],
            b"\x01\0\0\0",
            b"\x02\0\0\0a=1;",
            b"\x01\0\0\0nothing",
            b"\x01\0\0\0cf_name=6;",
            b"\x01\0\0\0cf_name=GG;",
            b"\x01\0\0\0output_level=-1;",
            b"\x01\0\0\0snapshots=1:x;",
            b"\x01\0\0\0snapshots={1:2;",
            b"\x01\0\0\0has_begin=maybe;",
            b"\x01\0\0\0cf_name=\xFF;",
        ] {
            CompactionServiceInput::decode(bytes).unwrap_err();
        }
    }
}
