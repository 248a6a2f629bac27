//! A tree of virtual files: a real `Version` of real `FileMetadata`, and beside it what each file would hold.

use crate::merge::{Contents, boundary_key};
use ferrock_base::{FileNumber, InternalComparator, Result, SequenceNumber};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_options::ColumnFamilyOptions;
use ferrock_tree::compaction::choice::{CompactionChoice, CompactionKind};
use ferrock_tree::version::{Version, VersionBuilder};
use std::collections::HashMap;
use std::sync::Arc;

/// A tree without data.
#[derive(Debug)]
pub(crate) struct VirtualTree {
    pub(crate) version: Arc<Version>,
    contents: HashMap<FileNumber, Contents>,
    next_number: u64,
    /// Puts so far, which are sequence numbers.
    pub(crate) sequence: u64,
}

/// A file to be added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewContents {
    pub(crate) contents: Contents,
    pub(crate) size_bytes: u64,
}

impl VirtualTree {
    pub(crate) fn new(family: &ColumnFamilyOptions) -> Self {
        let version = Arc::new(Version::empty(InternalComparator::default(), family));
        Self { version, contents: HashMap::new(), next_number: 1, sequence: 1 }
    }

    /// What a file holds.
    pub(crate) fn contents(&self, number: FileNumber) -> Contents {
        self.contents.get(&number).copied().unwrap_or_default()
    }

    /// Bytes of all files.
    pub(crate) fn size_bytes(&self) -> u64 {
        (0..self.version.num_levels()).map(|level| self.version.level_size_bytes(level)).sum()
    }

    /// Adds the table of a memtable.
    pub(crate) fn add_flushed(
        &mut self,
        file: NewContents,
        puts: u64,
        now: u64,
        family: &ColumnFamilyOptions,
    ) -> Result<()> {
        let (first, last) = (self.sequence, self.sequence + puts.max(1) - 1);
        self.sequence = last + 1;
        let number = self.next();
        let recorded = NewFile {
            smallest_seqno: SequenceNumber(first),
            largest_seqno: SequenceNumber(last),
            epoch_number: Some(number.0),
            oldest_ancester_time_secs: now,
            ..recorded(number, 0, &file, now)
        };
        self.contents.insert(number, file.contents);
        self.apply(&VersionEdit { new_files: vec![recorded], ..VersionEdit::default() }, family)
    }

    /// Puts the outputs of a compaction in the place of its inputs.
    pub(crate) fn finish(
        &mut self,
        choice: &CompactionChoice,
        outputs: &[NewContents],
        now: u64,
        family: &ColumnFamilyOptions,
    ) -> Result<()> {
        let stays = |level: usize| choice.kind == CompactionKind::Move && level == choice.output_level;
        let gone = || choice.input_files().filter(|(level, _)| !stays(*level));
        let mut edit = VersionEdit {
            deleted_files: gone()
                .map(|(level, file)| DeletedFile { level: level as u32, number: file.number })
                .collect(),
            ..VersionEdit::default()
        };
        edit.compact_cursors
            .extend(choice.next_compact_cursor.iter().map(|cursor| (choice.start_level as u32, cursor.clone())));
        let level = choice.output_level as u32;
        if choice.kind == CompactionKind::Move {
            edit.new_files.extend(gone().map(|(_, file)| NewFile { level, ..file.recorded().clone() }));
        } else {
            let files = || choice.input_files().map(|(_, file)| file);
            for file in files() {
                self.contents.remove(&file.number);
            }
            let smallest = files().map(|file| file.smallest_seqno).min().unwrap_or_default();
            let largest = files().map(|file| file.largest_seqno).max().unwrap_or_default();
            let born = files().map(|file| file.oldest_ancester_time_secs).filter(|&time| time > 0).min().unwrap_or(now);
            for output in outputs {
                let number = self.next();
                self.contents.insert(number, output.contents);
                edit.new_files.push(NewFile {
                    smallest_seqno: smallest,
                    largest_seqno: largest,
                    epoch_number: choice.epoch_number,
                    oldest_ancester_time_secs: born,
                    ..recorded(number, level, output, now)
                });
            }
        }
        self.apply(&edit, family)
    }

    fn next(&mut self) -> FileNumber {
        self.next_number += 1;
        FileNumber(self.next_number)
    }

    fn apply(&mut self, edit: &VersionEdit, family: &ColumnFamilyOptions) -> Result<()> {
        let mut builder = VersionBuilder::new(Arc::clone(&self.version));
        builder.apply(edit)?;
        self.version = Arc::new(builder.build(family)?);
        Ok(())
    }
}

fn recorded(number: FileNumber, level: u32, file: &NewContents, now: u64) -> NewFile {
    NewFile {
        level,
        number,
        size_bytes: file.size_bytes,
        smallest: boundary_key(file.contents.begin),
        largest: boundary_key(file.contents.end - 1),
        file_creation_time_secs: now,
        unique_id: Some([number.0, u64::from(level) + 1]),
        tail_size_bytes: 1,
        ..NewFile::default()
    }
}
