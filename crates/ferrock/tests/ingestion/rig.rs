//! Files of random entries, and what they do to a sorted map.

use crate::common::Contents;
use ferrock::{ColumnFamilyOptions, DbOptions, SstFileWriter};
use ferrock_base::random::Random;
use std::collections::BTreeMap;
use std::path::Path;

/// Keys of a history: few, so that files, memtables and tables meet.
pub const KEYS: u64 = 60;

pub fn key(number: u64) -> Vec<u8> {
    format!("key{number:03}").into_bytes()
}

/// An entry of a file.
#[derive(Clone, Debug)]
pub enum Entry {
    Put(Vec<u8>),
    Merge(Vec<u8>),
    Delete,
    Entity(Vec<u8>),
}

/// What a file has.
#[derive(Clone, Debug, Default)]
pub struct TestFile {
    pub entries: BTreeMap<Vec<u8>, Entry>,
    pub deleted: Vec<(Vec<u8>, Vec<u8>)>,
}

impl TestFile {
    /// Entries with keys from a part of the key space, sometimes a wide one; at least one entry or range deletion.
    pub fn random(random: &mut Random, tag: &str) -> Self {
        let begin = random.below(KEYS);
        let width = if random.one_in(3) { 1 + random.below(KEYS) } else { 1 + random.below(8) };
        let mut file = Self::default();
        for number in begin..(begin + width).min(KEYS) {
            let value = format!("{tag}.{number}").into_bytes();
            let entry = match random.below(12) {
                0..=5 => Entry::Put(value),
                6 | 7 => Entry::Merge(value),
                8 => Entry::Delete,
                9 => Entry::Entity(value),
                _ => continue,
            };
            file.entries.insert(key(number), entry);
        }
        if random.one_in(3) || file.entries.is_empty() {
            for _ in 0..=random.below(2) {
                let from = random.below(KEYS);
                file.deleted.push((key(from), key(from + 1 + random.below(10))));
            }
        }
        file
    }

    /// Writes the file; the options have the comparator.
    pub fn write(&self, path: &Path, db: &DbOptions, options: &ColumnFamilyOptions) {
        let mut writer = SstFileWriter::new(db, options.clone());
        writer.open(path).unwrap();
        for (begin, end) in &self.deleted {
            writer.delete_range(begin, end).unwrap();
        }
        for (key, entry) in &self.entries {
            match entry {
                Entry::Put(value) => writer.put(key, value),
                Entry::Merge(operand) => writer.merge(key, operand),
                Entry::Delete => writer.delete(key),
                Entry::Entity(value) => writer.put_entity(key, &[(b"other", b"x"), (b"", value)]),
            }
            .unwrap();
        }
        let info = writer.finish().unwrap();
        assert_eq!(info.num_entries, self.entries.len() as u64);
        assert_eq!(info.num_range_del_entries, self.deleted.len() as u64);
    }

    /// What the file does to what is there: it deletes ranges, and its entries come behind.
    pub fn apply(&self, contents: &mut Contents) {
        for (begin, end) in &self.deleted {
            contents.retain(|key, _| key < begin || key >= end);
        }
        for (key, entry) in &self.entries {
            match entry {
                Entry::Put(value) | Entry::Entity(value) => drop(contents.insert(key.clone(), value.clone())),
                Entry::Delete => drop(contents.remove(key)),
                Entry::Merge(operand) => merge(contents, key, operand),
            }
        }
    }
}

/// Appends behind a comma, as the merge operator of these tests does.
pub fn merge(contents: &mut Contents, key: &[u8], operand: &[u8]) {
    match contents.get_mut(key) {
        Some(value) => {
            value.push(b',');
            value.extend(operand);
        }
        None => drop(contents.insert(key.to_vec(), operand.to_vec())),
    }
}
