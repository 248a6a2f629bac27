//! Ferrock through its Rust interface.

use crate::engine::{
    Cursor, Database, Engine, FAMILIES, IterHow, OpenMode, Outcome, Record, WriteHow, columns, table_directories,
};
use crate::remote::LocalWorkers;
use crate::settings::{FamilySettings, Settings, TableKind};
use ferrock::options::{
    BottommostLevelCompaction, CompactionService, DbPath, FilterPolicy, LoadedOptions, PlainTableOptions,
    PrefixExtractor, TableFactory,
};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Comparator, Db, DbOptions, FlushOptions, ReadOptions,
    Snapshot, WriteBatch, WriteOptions, options,
};
use ferrock_base::merge;
use std::path::Path;
use std::sync::Arc;

/// Ferrock, in this process.
pub struct FerrockEngine;

fn text(error: ferrock::Error) -> String {
    error.to_string()
}

impl Engine for FerrockEngine {
    fn open(&self, directory: &Path, mode: OpenMode, settings: &Settings) -> Outcome<Box<dyn Database>> {
        let loaded = match mode {
            OpenMode::Create => LoadedOptions {
                column_families: FAMILIES.map(|name| (name.to_owned(), ColumnFamilyOptions::default())).to_vec(),
                ..LoadedOptions::default()
            },
            OpenMode::ReadWrite | OpenMode::ReadOnly => latest_options(directory)?,
        };
        let LoadedOptions { mut db, mut column_families, .. } = loaded;
        apply_db(&mut db, settings)?;
        db.db_paths = table_directories(directory).into_iter().map(|(path, bytes)| DbPath::new(path, bytes)).collect();
        for (name, options) in &mut column_families {
            let number = FAMILIES.iter().position(|family| family == name);
            if let Some(settings) = number.and_then(|number| settings.families.get(number)) {
                apply_family(options, settings)?;
            }
        }
        let workers = (mode != OpenMode::ReadOnly && has_workers(settings))
            .then(|| Arc::new(LocalWorkers::new(db.db_paths.clone())));
        db.components.compaction_service = workers.clone().map(|workers| workers as Arc<dyn CompactionService>);
        let opened = match mode {
            OpenMode::ReadOnly => Db::open_read_only(directory, db, Some(column_families)),
            OpenMode::Create | OpenMode::ReadWrite => Db::open_cf(directory, db, column_families),
        };
        let (db, families) = opened.map_err(text)?;
        Ok(Box::new(FerrockDatabase { db, families, snapshots: Vec::new(), workers }))
    }
}

impl FerrockEngine {
    /// A follower of the database in `directory`, with a directory of its own.
    pub fn open_follower(&self, directory: &Path, own: &Path) -> Outcome<FerrockDatabase> {
        let mut options = DbOptions::default();
        options.follower_refresh_catchup_period_ms = 20;
        let (db, families) = Db::open_as_follower(own, directory, options, None).map_err(text)?;
        Ok(FerrockDatabase { db, families, snapshots: Vec::new(), workers: None })
    }
}

/// Whether compactions are done by workers: with half of all settings, told by their texts, so that a history that was
/// drawn stays what it is.
fn has_workers(settings: &Settings) -> bool {
    let families = settings.families.iter().flat_map(|family| &family.family);
    let texts = settings.db.iter().chain(families).flat_map(|(name, value)| name.bytes().chain(value.bytes()));
    texts.fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte))) >> 3 & 1 == 1
}

fn latest_options(directory: &Path) -> Outcome<LoadedOptions> {
    let file_system = ferrock_vfs::default_file_system();
    let loaded = options::load_latest(&*file_system, directory).map_err(text)?;
    let loaded = loaded.ok_or("there is no OPTIONS file")?;
    match loaded.notes.iter().find(|note| note.contains("the default is used")) {
        Some(note) => Err(format!("the OPTIONS file is not understood: {note}")),
        None => Ok(loaded),
    }
}

fn apply_db(options: &mut DbOptions, settings: &Settings) -> Outcome<()> {
    for (name, value) in &settings.db {
        if !options.settings.set(name, value).map_err(text)? {
            return Err(format!("there is no database option {name}"));
        }
    }
    Ok(())
}

fn apply_family(options: &mut ColumnFamilyOptions, settings: &FamilySettings) -> Outcome<()> {
    for (name, value) in &settings.family {
        match name.as_str() {
            "comparator" => options.comparator = Comparator::built_in(value).map_err(text)?,
            "merge_operator" => options.merge_operator = merge::built_in(value).map_err(text)?,
            "prefix_extractor" => options.prefix_extractor = PrefixExtractor::built_in(value).map_err(text)?,
            _ if options.settings.set(name, value).map_err(text)? => {}
            _ => return Err(format!("there is no column family option {name}")),
        }
    }
    options.table_factory = match settings.kind {
        TableKind::Block => TableFactory::BlockBased,
        TableKind::Plain => {
            let mut plain = PlainTableOptions::clone(&options.table_factory.plain_options());
            for (name, value) in &settings.table {
                if !plain.set(name, value).map_err(text)? {
                    return Err(format!("there is no option {name} of plain tables"));
                }
            }
            TableFactory::Plain(Arc::new(plain))
        }
    };
    let of_blocks = if settings.kind == TableKind::Block { &settings.table[..] } else { &[] };
    for (name, value) in of_blocks {
        if name == "filter_policy" {
            options.filter_policy = FilterPolicy::parse(value).map_err(text)?;
        } else if !options.table.set(name, value).map_err(text)? {
            return Err(format!("there is no table option {name}"));
        }
    }
    Ok(())
}

/// An open database.
pub struct FerrockDatabase {
    db: Db,
    families: Vec<ColumnFamily>,
    snapshots: Vec<Option<Snapshot>>,
    /// They run compactions.
    workers: Option<Arc<LocalWorkers>>,
}

impl FerrockDatabase {
    /// Of a follower: takes in what was flushed meanwhile.
    pub fn catch_up(&self) -> Outcome<()> {
        self.db.try_catch_up_with_primary().map_err(text)
    }

    /// What workers failed at, or the database refused of what they wrote.
    fn check_workers(&self) -> Outcome<()> {
        let Some(workers) = &self.workers else { return Ok(()) };
        if let Some(failure) = workers.failures().first() {
            return Err(format!("a worker of a compaction failed: {failure}"));
        }
        let statistics = self.db.property("ferrock.statistics").unwrap_or_default();
        match statistics.lines().any(|line| line == "remote_compactions_refused=0") {
            true => Ok(()),
            false => Err("what a worker wrote was refused; the LOG says why".to_owned()),
        }
    }

    fn snapshot_of(&self, number: Option<usize>) -> Option<Snapshot> {
        number.and_then(|number| self.snapshots.get(number).cloned().flatten())
    }
}

impl Database for FerrockDatabase {
    fn families(&self) -> usize {
        self.families.len()
    }

    fn family(&self, name: &str) -> Option<usize> {
        self.families.iter().position(|family| family.name() == name)
    }

    fn write(&mut self, batch: &[Record], how: WriteHow) -> Outcome<()> {
        let mut records = WriteBatch::new();
        for record in batch {
            let id = |family: &usize| self.families[*family].id();
            match record {
                Record::Put(family, key, value) => records.put_cf(id(family), key, value),
                Record::PutEntity(family, key, value) => records.put_entity_cf(id(family), key, &columns(value)),
                Record::Merge(family, key, operand) => records.merge_cf(id(family), key, operand),
                Record::Delete(family, key) => records.delete_cf(id(family), key),
                Record::SingleDelete(family, key) => records.single_delete_cf(id(family), key),
                Record::DeleteRange(family, begin, end) => records.delete_range_cf(id(family), begin, end),
            }
            .map_err(text)?;
        }
        let options = WriteOptions { sync: how.sync, disable_wal: how.disable_wal, ..WriteOptions::default() };
        self.db.write(records, &options).map_err(text)
    }

    fn flush(&mut self, family: usize) -> Outcome<()> {
        self.db.flush_cf(&self.families[family], &FlushOptions::default()).map_err(text)
    }

    fn compact(&mut self, family: usize, begin: Option<&[u8]>, end: Option<&[u8]>, force: bool) -> Outcome<()> {
        let bottommost_level_compaction =
            if force { BottommostLevelCompaction::Force } else { BottommostLevelCompaction::default() };
        let options = CompactRangeOptions { bottommost_level_compaction, ..CompactRangeOptions::default() };
        self.db.compact_range_cf(&self.families[family], begin, end, &options).map_err(text)
    }

    fn flush_wal(&mut self) -> Outcome<()> {
        self.db.flush_wal(false).map_err(text)
    }

    fn snapshot(&mut self) -> Outcome<()> {
        self.snapshots.push(Some(self.db.snapshot()));
        Ok(())
    }

    fn release_snapshot(&mut self, number: usize) -> Outcome<()> {
        self.snapshots[number] = None;
        Ok(())
    }

    fn get(&self, family: usize, key: &[u8], snapshot: Option<usize>) -> Outcome<Option<Vec<u8>>> {
        let options = ReadOptions { snapshot: self.snapshot_of(snapshot), ..ReadOptions::default() };
        let value = self.db.get_cf(&self.families[family], &options, key).map_err(text)?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn multi_get(&self, family: usize, keys: &[&[u8]], snapshot: Option<usize>) -> Outcome<Vec<Option<Vec<u8>>>> {
        let options = ReadOptions { snapshot: self.snapshot_of(snapshot), ..ReadOptions::default() };
        let values = self.db.multi_get_cf(&self.families[family], &options, keys);
        values.into_iter().map(|value| Ok(value.map_err(text)?.map(|value| value.to_vec()))).collect()
    }

    fn iterate(&self, family: usize, how: &IterHow) -> Outcome<Box<dyn Cursor + '_>> {
        let options = ReadOptions {
            snapshot: self.snapshot_of(how.snapshot),
            lower_bound: how.lower.clone(),
            upper_bound: how.upper.clone(),
            total_order_seek: !how.prefix_same_as_start,
            prefix_same_as_start: how.prefix_same_as_start,
            ..ReadOptions::default()
        };
        Ok(Box::new(FerrockCursor(self.db.iter_cf(&self.families[family], &options))))
    }

    fn verify_checksum(&self) -> Outcome<bool> {
        self.db.verify_checksum().map_err(text).map(|()| true)
    }

    fn property(&self, family: usize, name: &str) -> Outcome<String> {
        let value = self.db.property_cf(&self.families[family], name);
        value.ok_or_else(|| format!("there is no property {name}"))
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        self.check_workers()?;
        let Self { db, families, snapshots, .. } = *self;
        drop((families, snapshots));
        db.close().map_err(text)
    }
}

struct FerrockCursor(ferrock::Iter);

impl Cursor for FerrockCursor {
    fn seek_to_first(&mut self) {
        self.0.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.0.seek_to_last();
    }
    fn seek(&mut self, key: &[u8]) {
        self.0.seek(key);
    }
    fn seek_for_prev(&mut self, key: &[u8]) {
        self.0.seek_for_prev(key);
    }
    fn next(&mut self) {
        self.0.next();
    }
    fn prev(&mut self) {
        self.0.prev();
    }
    fn valid(&self) -> bool {
        self.0.valid()
    }
    fn key(&self) -> &[u8] {
        self.0.key()
    }
    fn value(&self) -> &[u8] {
        self.0.value()
    }
    fn status(&self) -> Outcome<()> {
        self.0.status().map_err(text)
    }
}
