//! Blob files in a job and in its result. RocksDB's texts have no place for them, so all of this has Ferrock's names.
//!
//! ```text
//! input    ferrock_details={..;blobs={first_number=12;numbers=4;collect_below=9;};}
//! result   ferrock_blobs={files={{number=12;count=3;bytes=900;}};read={{number=7;count=5;bytes=1500;}};}
//! ```
//!
//! A table refers to a blob file by number, so a worker cannot choose numbers that the database changes afterwards, as
//! it can those of tables: the database gives the numbers with the job.

use super::text::{Fields, for_each_field, items, parse};
use crate::version_edit::BlobFileAddition;
use ferrock_base::{Error, FileNumber, Result};

/// What a worker may do with blob files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobJob {
    /// First of the numbers that new blob files may have.
    pub first_number: FileNumber,
    /// How many numbers there are.
    pub numbers: u64,
    /// Values in blob files with smaller numbers are written anew; `None`: no value is.
    pub collect_below: Option<FileNumber>,
}

/// What a worker did with blob files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobResult {
    /// The files that it wrote, in the directory of the tables, under the names that their numbers give.
    pub files: Vec<BlobFileAddition>,
    /// References that the inputs had, by blob file.
    pub read: Vec<BlobReferences>,
}

/// References into one blob file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobReferences {
    /// The blob file.
    pub number: FileNumber,
    /// How many references.
    pub count: u64,
    /// Bytes of the records that they refer to.
    pub bytes: u64,
}

impl BlobJob {
    /// Whether a new blob file may have this number.
    #[must_use]
    pub fn has_number(&self, number: FileNumber) -> bool {
        number.0.checked_sub(self.first_number.0).is_some_and(|index| index < self.numbers)
    }

    pub(super) fn fields(&self) -> Fields {
        let mut fields = Fields::default();
        fields.put("first_number", self.first_number.0);
        fields.put("numbers", self.numbers);
        if let Some(below) = self.collect_below {
            fields.put("collect_below", below.0);
        }
        fields
    }

    pub(super) fn from_text(text: &str) -> Result<Self> {
        let mut job = Self::default();
        for_each_field(text, |name, value| {
            match name {
                "first_number" => job.first_number = FileNumber(parse(name, value)?),
                "numbers" => job.numbers = parse(name, value)?,
                "collect_below" => job.collect_below = Some(FileNumber(parse(name, value)?)),
                _ => {}
            }
            Ok(())
        })?;
        if job.first_number.0.checked_add(job.numbers).is_none() {
            return Err(Error::invalid_argument(format!("blobs={text:?}: numbers beyond the largest")));
        }
        Ok(job)
    }
}

impl BlobResult {
    pub(super) fn fields(&self) -> Fields {
        let files = self.files.iter().map(|file| (file.number, file.total_blob_count, file.total_blob_bytes));
        let read = self.read.iter().map(|read| (read.number, read.count, read.bytes));
        let mut fields = Fields::default();
        fields.put("files", list(files));
        fields.put("read", list(read));
        fields
    }

    pub(super) fn from_text(text: &str) -> Result<Self> {
        let (mut files, mut read) = (None, None);
        for_each_field(text, |name, value| {
            match name {
                "files" => files = Some(counts(value)?),
                "read" => read = Some(counts(value)?),
                _ => {}
            }
            Ok(())
        })?;
        // A text that was cut must not pass for one without garbage.
        let (Some(files), Some(read)) = (files, read) else {
            return Err(Error::invalid_argument(format!("ferrock_blobs={text:?}: files or read is missing")));
        };
        let addition = |counted: BlobReferences| BlobFileAddition {
            number: counted.number,
            total_blob_count: counted.count,
            total_blob_bytes: counted.bytes,
            ..BlobFileAddition::default()
        };
        Ok(Self { files: files.into_iter().map(addition).collect(), read })
    }
}

/// A list of structs, in braces.
fn list(counted: impl Iterator<Item = (FileNumber, u64, u64)>) -> String {
    let texts = counted.map(|(number, count, bytes)| {
        let mut fields = Fields::default();
        fields.put("number", number.0);
        fields.put("count", count);
        fields.put("bytes", bytes);
        fields.braced()
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { String::new() } else { format!("{{{}}}", texts.join(":")) }
}

fn counts(list: &str) -> Result<Vec<BlobReferences>> {
    items(list)?.into_iter().map(count).collect()
}

fn count(text: &str) -> Result<BlobReferences> {
    let mut counted = BlobReferences::default();
    for_each_field(text, |name, value| {
        match name {
            "number" => counted.number = FileNumber(parse(name, value)?),
            "count" => counted.count = parse(name, value)?,
            "bytes" => counted.bytes = parse(name, value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction_service::{CompactionServiceInput, CompactionServiceResult, JobDetails};

    #[test]
    fn numbers_are_those_that_were_given() {
        let job = BlobJob { first_number: FileNumber(5), numbers: 2, collect_below: None };
        let has = [4, 5, 6, 7, u64::MAX].map(|number| job.has_number(FileNumber(number)));
        assert_eq!(has, [false, true, true, false, false]);
        assert!(!BlobJob::default().has_number(FileNumber(0)));
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for blobs in [
            None,
            Some(BlobJob::default()),
            Some(BlobJob { first_number: FileNumber(12), numbers: 4, collect_below: Some(FileNumber(u64::MAX)) }),
        ] {
            let details = Some(JobDetails { blobs, ..JobDetails::default() });
            let input = CompactionServiceInput { details, ..CompactionServiceInput::default() };
            assert_eq!(CompactionServiceInput::decode(&input.encode()).unwrap(), input);
        }
        for count in 0..3u64 {
            let counted =
                |number: u64| BlobReferences { number: FileNumber(number), count: number * 2, bytes: u64::MAX };
            let read: Vec<_> = (0..count).map(counted).collect();
            let files = read.iter().map(|read| BlobFileAddition {
                number: read.number,
                total_blob_count: read.count,
                total_blob_bytes: read.bytes,
                ..BlobFileAddition::default()
            });
            let blobs = Some(BlobResult { files: files.collect(), read: read.clone() });
            let result = CompactionServiceResult { blobs, ..CompactionServiceResult::default() };
            assert_eq!(CompactionServiceResult::decode(&result.encode()).unwrap().blobs, result.blobs, "{count}");
        }
        let none = CompactionServiceResult::default();
        assert_eq!(CompactionServiceResult::decode(&none.encode()).unwrap().blobs, None);
    }

    #[test]
    fn what_is_no_such_text_is_refused() {
        for text in ["files=;", "read=;", "files={{number=x;}};read=;", "files={{number=1;};read=;", "x"] {
            BlobResult::from_text(text).unwrap_err();
        }
        for text in ["first_number=18446744073709551615;numbers=1;", "numbers=-1;", "collect_below=;"] {
            BlobJob::from_text(text).unwrap_err();
        }
    }
}
