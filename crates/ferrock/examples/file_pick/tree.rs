//! A synthetic tree: levels that cover the key space, cut at random keys.

use ferrock::internals::{Version, VersionBuilder};
use ferrock::options::ColumnFamilySettings;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::random::Random;
use ferrock_base::{FileNumber, InternalComparator, Result, SequenceNumber, ValueType};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use std::sync::Arc;

const KEYS: u64 = 50_000_000;

/// The files of each level.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) levels: Vec<Vec<NewFile>>,
}

/// A key as db_bench makes them: 20 bytes, the number first.
pub(crate) fn key(number: u64) -> [u8; 20] {
    let mut key = [b'0'; 20];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

pub(crate) fn random_key(random: &mut Random) -> [u8; 20] {
    key(random.below(KEYS))
}

fn file(level: usize, number: u64, first: u64, last: u64) -> NewFile {
    NewFile {
        level: level as u32,
        number: FileNumber(number),
        size_bytes: 2 << 20,
        smallest: make_internal_key(&key(first), SequenceNumber(9), ValueType::Value),
        largest: make_internal_key(&key(last), SequenceNumber(1), ValueType::Value),
        epoch_number: Some(number),
        ..NewFile::default()
    }
}

impl Tree {
    /// `counts[i]` files on level `i`.
    pub(crate) fn new(counts: &[u64]) -> Self {
        let mut random = Random::new(7);
        let mut number = counts.iter().sum::<u64>();
        let mut level = |(level, &count): (usize, &u64)| -> Vec<NewFile> {
            let mut cuts: Vec<u64> = (0..count).map(|_| random.below(KEYS)).collect();
            cuts.sort_unstable();
            cuts.dedup();
            let mut next_number = || {
                number -= 1;
                number + 1
            };
            match level {
                0 => cuts.iter().map(|cut| file(0, next_number(), cut / 9, KEYS - cut / 9)).collect(),
                _ => {
                    let ends = cuts.iter().skip(1).map(|cut| cut - 1).chain([KEYS]);
                    cuts.iter().zip(ends).map(|(&first, last)| file(level, next_number(), first, last)).collect()
                }
            }
        };
        Self { levels: counts.iter().enumerate().map(&mut level).collect() }
    }

    pub(crate) fn version(&self) -> Result<Arc<Version>> {
        let settings = ColumnFamilySettings::default();
        let empty = Arc::new(Version::empty(InternalComparator::default(), &settings));
        let new_files = self.levels.iter().flatten().cloned().collect();
        apply(&empty, &VersionEdit { new_files, ..VersionEdit::default() })
    }

    /// What a compaction of a file into the next level does: the file and those under it go, others come.
    pub(crate) fn compaction(&self, level: usize) -> VersionEdit {
        let mut edit = VersionEdit::default();
        let Some(file) = self.levels[level].get(self.levels[level].len() / 2) else { return edit };
        edit.deleted_files.push(DeletedFile { level: level as u32, number: file.number });
        let overlapping = self.levels[level + 1]
            .iter()
            .filter(|lower| lower.largest[..20] >= file.smallest[..20] && lower.smallest[..20] <= file.largest[..20]);
        let mut number = 1 << 40;
        for lower in overlapping {
            edit.deleted_files.push(DeletedFile { level: level as u32 + 1, number: lower.number });
            number += 1;
            edit.new_files.push(NewFile { number: FileNumber(number), ..lower.clone() });
        }
        edit
    }
}

pub(crate) fn apply(base: &Arc<Version>, edit: &VersionEdit) -> Result<Arc<Version>> {
    let mut builder = VersionBuilder::new(Arc::clone(base));
    builder.apply(edit)?;
    Ok(Arc::new(builder.build(&ColumnFamilySettings::default())?))
}
