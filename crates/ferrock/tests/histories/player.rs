//! Plays a history on a database in memory.

use crate::choices;
use crate::orders::Order;
use crate::{Opening, OptionSet};
use ferrock::options::MemTableFactory;
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, Iter, ReadOptions, Snapshot,
    WriteBatch, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_script::history::{
    Change, EXTRA, PREFIX, Player, Row, Walked, columns, prefix_end, prefix_rows, scan_rows, walk_rows,
};
use ferrock_vfs::MemoryFileSystem;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tables that all players' databases dropped because they lay under a range deletion.
pub static RANGE_DELETED_TABLES: AtomicU64 = AtomicU64::new(0);

const NAMES: [&str; EXTRA + 1] = ["default", "second", "third"];

pub struct Ferrock {
    files: MemoryFileSystem,
    set: OptionSet,
    opens: usize,
    db: Option<Db>,
    families: Vec<ColumnFamily>,
    snapshots: BTreeMap<u32, Snapshot>,
    /// The last family is there.
    has_extra: bool,
}

fn said<T>(result: ferrock::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn options(opening: &Opening) -> (DbOptions, ColumnFamilyOptions) {
    // All of them: none is about a directory of the disk.
    let mut database = choices::database_options(&opening.database);
    database.create_missing_column_families = true;
    let mut family = choices::family_options(&opening.family, Order::Bytewise);
    family.merge_operator = Some(Arc::new(StringAppend::default()));
    if database.allow_concurrent_memtable_write {
        family.inplace_update_support = false;
        family.enable_blob_direct_write = false;
        if !family.memtable_factory.allows_concurrent_writes() {
            family.memtable_factory = MemTableFactory::default();
        }
    }
    if database.components.memory_budget.is_some() {
        family.table.no_block_cache = false;
        family.blob_cache = None;
    }
    (database, family)
}

impl Ferrock {
    pub fn create(set: &OptionSet) -> Result<Self, String> {
        let files = MemoryFileSystem::new();
        let (set, snapshots) = (set.clone(), BTreeMap::new());
        let mut player = Self { files, set, opens: 0, db: None, families: Vec::new(), snapshots, has_extra: false };
        player.open()?;
        Ok(player)
    }

    fn open(&mut self) -> Result<(), String> {
        self.opens += 1;
        let (mut database, family) = self.options();
        database.components.file_system = Some(Arc::new(self.files.clone()));
        let names = &NAMES[..if self.has_extra { NAMES.len() } else { EXTRA }];
        let descriptors = names.iter().map(|name| ((*name).to_owned(), family.clone())).collect();
        let (db, families) = said(Db::open_cf("/db", database, descriptors))?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    /// Those of the last open.
    fn options(&self) -> (DbOptions, ColumnFamilyOptions) {
        let default = Opening::default();
        options(self.set.0.get(self.opens - 1).or(self.set.0.last()).unwrap_or(&default))
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between steps")
    }

    /// Adds what the open database has counted.
    fn count(&self) {
        let text = self.db.as_ref().and_then(|db| db.property("ferrock.statistics")).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("range_deleted_tables=")?.parse().ok());
        RANGE_DELETED_TABLES.fetch_add(count.unwrap_or(0), Ordering::Relaxed);
    }

    fn read_options(&self, snapshot: Option<u32>) -> ReadOptions {
        let snapshot = snapshot.and_then(|number| self.snapshots.get(&number).cloned());
        ReadOptions { snapshot, ..ReadOptions::default() }
    }

    fn iter(&self, family: usize, options: &ReadOptions) -> Iter {
        self.db().iter_cf(&self.families[family], options)
    }
}

impl Drop for Ferrock {
    fn drop(&mut self) {
        self.count();
    }
}

/// An iterator as histories walk it.
struct Rows(Iter);

impl Walked for Rows {
    fn to_end(&mut self, is_backward: bool) {
        if is_backward { self.0.seek_to_last() } else { self.0.seek_to_first() }
    }

    fn seek(&mut self, target: &[u8], is_backward: bool) {
        if is_backward { self.0.seek_for_prev(target) } else { self.0.seek(target) }
    }

    fn step(&mut self, is_backward: bool) {
        if is_backward { self.0.prev() } else { self.0.next() }
    }

    fn row(&self) -> Option<Row> {
        self.0.valid().then(|| (self.0.key().to_vec(), self.0.value().to_vec()))
    }
}

impl Player for Ferrock {
    fn write(&mut self, changes: &[Change]) -> Result<(), String> {
        let mut batch = WriteBatch::new();
        let id = |family: &usize| self.families[*family].id();
        for change in changes {
            said(match change {
                Change::Put(family, key, value) => batch.put_cf(id(family), key.as_bytes(), &value.bytes()),
                Change::Entity(family, key, value) => {
                    batch.put_entity_cf(id(family), key.as_bytes(), &columns(&value.bytes()))
                }
                Change::Merge(family, key, value) => batch.merge_cf(id(family), key.as_bytes(), &value.bytes()),
                Change::Delete(family, key) => batch.delete_cf(id(family), key.as_bytes()),
                Change::SingleDelete(family, key) => batch.single_delete_cf(id(family), key.as_bytes()),
                Change::DeleteRange(family, begin, end) => {
                    batch.delete_range_cf(id(family), begin.as_bytes(), end.as_bytes())
                }
            })?;
        }
        said(self.db().write(batch, &WriteOptions::default()))
    }

    fn flush(&mut self, family: usize) -> Result<(), String> {
        said(self.db().flush_cf(&self.families[family], &FlushOptions::default()))?;
        // So that a failure repeats.
        said(self.db().wait_for_background_work())
    }

    fn compact(&mut self, family: usize, begin: Option<&str>, end: Option<&str>) -> Result<(), String> {
        let (begin, end) = (begin.map(str::as_bytes), end.map(str::as_bytes));
        let options = CompactRangeOptions::default();
        said(self.db().compact_range_cf(&self.families[family], begin, end, &options))?;
        said(self.db().wait_for_background_work())
    }

    fn snapshot(&mut self, number: u32) -> Result<(), String> {
        let snapshot = self.db().snapshot();
        self.snapshots.insert(number, snapshot);
        Ok(())
    }

    fn release(&mut self, number: u32) -> Result<(), String> {
        self.snapshots.remove(&number);
        Ok(())
    }

    fn get(&mut self, family: usize, key: &str, snapshot: Option<u32>) -> Result<Option<Vec<u8>>, String> {
        let found = self.db().get_cf(&self.families[family], &self.read_options(snapshot), key.as_bytes());
        said(found).map(|value| value.map(|value| value.to_vec()))
    }

    fn many(&mut self, family: usize, keys: &[&str], snapshot: Option<u32>) -> Result<Vec<Option<Vec<u8>>>, String> {
        let options = self.read_options(snapshot);
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let values = self.db().multi_get_cf(&self.families[family], &options, &keys);
        values.into_iter().map(|value| said(value).map(|value| value.map(|value| value.to_vec()))).collect()
    }

    fn scan(
        &mut self,
        family: usize,
        (lower, upper): (Option<&str>, Option<&str>),
        snapshot: Option<u32>,
        is_backward: bool,
    ) -> Result<Vec<Row>, String> {
        let bound = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        let options =
            ReadOptions { lower_bound: bound(lower), upper_bound: bound(upper), ..self.read_options(snapshot) };
        let mut iter = Rows(self.iter(family, &options));
        let rows = scan_rows(&mut iter, is_backward);
        said(iter.0.status()).map(|()| rows)
    }

    fn walk(
        &mut self,
        family: usize,
        target: &str,
        snapshot: Option<u32>,
        moves: &str,
        is_backward: bool,
    ) -> Result<Vec<Option<Row>>, String> {
        let mut iter = Rows(self.iter(family, &self.read_options(snapshot)));
        let rows = walk_rows(&mut iter, target, moves, is_backward);
        said(iter.0.status()).map(|()| rows)
    }

    fn across(&mut self, keys: &[(usize, &str)], snapshot: Option<u32>) -> Result<Vec<Option<Vec<u8>>>, String> {
        let options = self.read_options(snapshot);
        let keys: Vec<_> = keys.iter().map(|(family, key)| (&self.families[*family], key.as_bytes())).collect();
        let values = self.db().multi_get_families(&options, &keys);
        values.into_iter().map(|value| said(value).map(|value| value.map(|value| value.to_vec()))).collect()
    }

    /// Tailing iterators are of the C interface alone.
    fn tail(&mut self, family: usize, target: &str, moves: &str, _: bool) -> Result<Vec<Option<Row>>, String> {
        self.walk(family, target, None, moves, false)
    }

    fn prefix(
        &mut self,
        family: usize,
        target: &str,
        snapshot: Option<u32>,
        is_auto: bool,
    ) -> Result<Vec<Row>, String> {
        // Where an extractor has longer prefixes, an iterator of the start's prefix is to find fewer rows.
        let extractor = self.options().1.prefix_extractor;
        let is_short =
            extractor.is_none_or(|extractor| extractor.prefix(b"key").is_none_or(|found| found.len() <= PREFIX));
        let options = ReadOptions {
            total_order_seek: is_auto,
            auto_prefix_mode: is_auto,
            prefix_same_as_start: !is_auto && is_short,
            upper_bound: (is_auto || !is_short).then(|| prefix_end(target)),
            ..self.read_options(snapshot)
        };
        let mut iter = Rows(self.iter(family, &options));
        let rows = prefix_rows(&mut iter, target);
        said(iter.0.status()).map(|()| rows)
    }

    fn create(&mut self) -> Result<(), String> {
        let family = said(self.db().create_column_family(NAMES[EXTRA], self.options().1))?;
        self.families.push(family);
        self.has_extra = true;
        Ok(())
    }

    fn drop_extra(&mut self) -> Result<(), String> {
        self.has_extra = false;
        let family = self.families.pop().ok_or("there is no family")?;
        said(self.db().drop_column_family(&family))
    }

    fn set_option(&mut self, family: usize, name: &str, value: &str) -> Result<(), String> {
        said(self.db().set_options_cf(&self.families[family], &[(name, value)]))?;
        said(self.db().wait_for_background_work())
    }

    fn suggest(&mut self, family: usize, begin: Option<&str>, end: Option<&str>) -> Result<(), String> {
        let (begin, end) = (begin.map(str::as_bytes), end.map(str::as_bytes));
        said(self.db().suggest_compact_range_cf(&self.families[family], begin, end))?;
        said(self.db().wait_for_background_work())
    }

    fn delete_files(&mut self, family: usize, begin: &str, end: &str) -> Result<(), String> {
        let range = (Some(begin.as_bytes()), Some(end.as_bytes()));
        said(self.db().delete_files_in_ranges_cf(&self.families[family], &[range], true))
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.count();
        self.snapshots.clear();
        self.families.clear();
        said(self.db.take().map_or(Ok(()), Db::close))?;
        self.open()
    }
}
