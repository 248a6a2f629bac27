//! Plays a history through the C interface of the library that each open has.

use super::Case;
use super::set::{self, Set, Which};
use crate::c_engine::{CDatabase, CEngine};
use crate::engine::{Cursor, Database, IterHow, OpenMode, Outcome, Record, WriteHow};
use crate::settings::MEMTABLES;
use ferrock_script::history::{
    Change, EXTRA, Player, Playing, Row, Walked, prefix_end, prefix_rows, scan_rows, walk_rows,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

struct Libraries {
    rocksdb: CEngine,
    ferrock: CEngine,
    directory: PathBuf,
    set: Set,
    opens: usize,
    db: Option<CDatabase>,
    /// Options of each family, which OPTIONS files keep from one open to the next.
    families: [BTreeMap<String, String>; EXTRA + 1],
    /// Families that had blob files at some time.
    has_blobs: [bool; EXTRA + 1],
    /// Numbers of the history, and the database's own, which begin anew with every open.
    snapshots: BTreeMap<u32, usize>,
    taken: usize,
}

/// Plays the history of a file; every answer is a line of JSON on standard output.
pub fn play_case(case: &Case) -> Outcome<serde_json::Value> {
    let text = std::fs::read_to_string(&case.file).map_err(|error| format!("{}: {error}", case.file.display()))?;
    let (set, history) = set::parse(&text)?;
    let (rocksdb, ferrock) = (CEngine::load(&case.rocksdb)?, CEngine::load(&case.ferrock)?);
    let directory = case.directory.join("db");
    let snapshots = BTreeMap::new();
    let families = Default::default();
    let (has_blobs, opens, taken) = ([false; EXTRA + 1], 0, 0);
    let mut player =
        Libraries { rocksdb, ferrock, directory, set, opens, db: None, families, has_blobs, snapshots, taken };
    player.open()?;
    let mut playing = Playing::new(&mut player);
    for step in &history.0 {
        // One by one, so that a process that ends leaves the answers before its end.
        println!("{}", json!({ "answer": playing.answer(step) }));
    }
    player.close()?;
    Ok(json!({"done": true}))
}

impl Libraries {
    fn open(&mut self) -> Outcome<()> {
        let is_first = self.opens == 0;
        let mode = if is_first { OpenMode::Create } else { OpenMode::ReadWrite };
        let settings = self.set.opening(self.opens).settings(is_first);
        for (number, family) in settings.families.iter().enumerate() {
            family.family.iter().for_each(|(name, value)| self.keep(number, name, value));
        }
        self.opens += 1;
        self.db = Some(self.engine().open_database(&self.directory, mode, &settings)?);
        Ok(())
    }

    /// Notes an option of a family.
    fn keep(&mut self, family: usize, name: &str, value: &str) {
        self.families[family].insert(name.to_owned(), value.to_owned());
        self.has_blobs[family] |= (name, value) == ("enable_blob_files", "true");
    }

    /// An option of a family; nothing where it has the default.
    fn option(&self, family: usize, name: &str) -> &str {
        self.families[family].get(name).map_or("", |value| value)
    }

    /// That of the last open.
    fn which(&self) -> Which {
        self.set.opening(self.opens - 1).which
    }

    fn engine(&self) -> &CEngine {
        match self.which() {
            Which::RocksDb => &self.rocksdb,
            Which::Ferrock => &self.ferrock,
        }
    }

    fn close(&mut self) -> Outcome<()> {
        self.snapshots.clear();
        self.taken = 0;
        self.db.take().map_or(Ok(()), |db| Box::new(db).close())
    }

    fn db(&mut self) -> Outcome<&mut CDatabase> {
        self.db.as_mut().ok_or_else(|| "the database is closed".to_owned())
    }

    fn held(&self, snapshot: Option<u32>) -> Option<usize> {
        snapshot.and_then(|number| self.snapshots.get(&number).copied())
    }
}

fn record(change: &Change) -> Record {
    let bytes = |key: &str| key.as_bytes().to_vec();
    match change {
        Change::Put(family, key, value) => Record::Put(*family, bytes(key), value.bytes()),
        Change::Entity(family, key, value) => Record::PutEntity(*family, bytes(key), value.bytes()),
        Change::Merge(family, key, value) => Record::Merge(*family, bytes(key), value.bytes()),
        Change::Delete(family, key) => Record::Delete(*family, bytes(key)),
        Change::SingleDelete(family, key) => Record::SingleDelete(*family, bytes(key)),
        Change::DeleteRange(family, begin, end) => Record::DeleteRange(*family, bytes(begin), bytes(end)),
    }
}

/// A cursor as histories walk it.
struct Rows<C>(C);

impl<C: std::ops::DerefMut<Target: Cursor>> Walked for Rows<C> {
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

impl Player for Libraries {
    fn write(&mut self, changes: &[Change]) -> Outcome<()> {
        let batch: Vec<Record> = changes.iter().map(record).collect();
        if batch.iter().any(|record| matches!(record, Record::PutEntity(..))) {
            return self.db()?.write_bytes(&batch);
        }
        self.db()?.write(&batch, WriteHow::default())
    }

    fn flush(&mut self, family: usize) -> Outcome<()> {
        self.db()?.flush(family)
    }

    fn compact(&mut self, family: usize, begin: Option<&str>, end: Option<&str>) -> Outcome<()> {
        self.db()?.compact(family, begin.map(str::as_bytes), end.map(str::as_bytes), false)
    }

    fn snapshot(&mut self, number: u32) -> Outcome<()> {
        self.db()?.snapshot()?;
        self.snapshots.insert(number, self.taken);
        self.taken += 1;
        Ok(())
    }

    fn release(&mut self, number: u32) -> Outcome<()> {
        match self.snapshots.remove(&number) {
            Some(held) => self.db()?.release_snapshot(held),
            None => Ok(()),
        }
    }

    fn get(&mut self, family: usize, key: &str, snapshot: Option<u32>) -> Outcome<Option<Vec<u8>>> {
        let snapshot = self.held(snapshot);
        self.db()?.get(family, key.as_bytes(), snapshot)
    }

    fn many(&mut self, family: usize, keys: &[&str], snapshot: Option<u32>) -> Outcome<Vec<Option<Vec<u8>>>> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let snapshot = self.held(snapshot);
        self.db()?.multi_get(family, &keys, snapshot)
    }

    fn scan(
        &mut self,
        family: usize,
        (lower, upper): (Option<&str>, Option<&str>),
        snapshot: Option<u32>,
        is_backward: bool,
    ) -> Outcome<Vec<Row>> {
        let bound = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        let how = IterHow {
            snapshot: self.held(snapshot),
            lower: bound(lower),
            upper: bound(upper),
            prefix_same_as_start: false,
        };
        let mut cursor = Rows(self.db()?.iterate(family, &how)?);
        let rows = scan_rows(&mut cursor, is_backward);
        cursor.0.status().map(|()| rows)
    }

    fn walk(
        &mut self,
        family: usize,
        target: &str,
        snapshot: Option<u32>,
        moves: &str,
        is_backward: bool,
    ) -> Outcome<Vec<Option<Row>>> {
        let how = IterHow { snapshot: self.held(snapshot), ..IterHow::default() };
        let mut cursor = Rows(self.db()?.iterate(family, &how)?);
        let rows = walk_rows(&mut cursor, target, moves, is_backward);
        cursor.0.status().map(|()| rows)
    }

    fn across(&mut self, keys: &[(usize, &str)], snapshot: Option<u32>) -> Outcome<Vec<Option<Vec<u8>>>> {
        let keys: Vec<(usize, &[u8])> = keys.iter().map(|(family, key)| (*family, key.as_bytes())).collect();
        let snapshot = self.held(snapshot);
        self.db()?.get_across(&keys, snapshot)
    }

    /// RocksDB's tailing iterators know no range deletions: they say so of those that they meet when they are made or
    /// pass to new tables, and read on as if there were none where one comes into their memtable later. And over
    /// memtables of other kinds than the skip list they have a copy, so that they miss what is written later. Over blob
    /// files they end after a flush with "Invalid blob file number", or the process with them. Its ordinary iterators
    /// answer instead.
    fn tail(&mut self, family: usize, target: &str, moves: &str, has_ranges: bool) -> Outcome<Vec<Option<Row>>> {
        let memtable = self.option(family, "memtable_factory");
        let is_copied = !["", MEMTABLES[0]].contains(&memtable);
        if (has_ranges || is_copied || self.has_blobs[family]) && self.which() == Which::RocksDb {
            return self.walk(family, target, None, moves, false);
        }
        let mut cursor = Rows(self.db()?.tail(family)?);
        let rows = walk_rows(&mut cursor, target, moves, false);
        cursor.0.status().map(|()| rows)
    }

    /// With an extractor of longer prefixes `prefix_same_as_start` is to find fewer rows.
    fn prefix(&mut self, family: usize, target: &str, snapshot: Option<u32>, is_auto: bool) -> Outcome<Vec<Row>> {
        let extractor = self.option(family, "prefix_extractor");
        let is_longer = ["5", "4"].iter().any(|length| extractor.ends_with(length));
        let is_auto = is_auto || is_longer;
        let how = IterHow {
            snapshot: self.held(snapshot),
            lower: None,
            upper: is_auto.then(|| prefix_end(target)),
            prefix_same_as_start: !is_auto,
        };
        let db = self.db()?;
        let mut cursor = Rows(if is_auto { db.iterate_auto(family, &how)? } else { db.iterate(family, &how)? });
        let rows = prefix_rows(&mut cursor, target);
        cursor.0.status().map(|()| rows)
    }

    fn create(&mut self) -> Outcome<()> {
        let mut settings = self.set.opening(self.opens - 1).settings(true);
        let settings = settings.families.pop().ok_or("a set has no families")?;
        (self.families[EXTRA], self.has_blobs[EXTRA]) = (BTreeMap::new(), false);
        settings.family.iter().for_each(|(name, value)| self.keep(EXTRA, name, value));
        let mut db = self.db.take().ok_or("the database is closed")?;
        let created = self.engine().create_family(&mut db, &settings);
        self.db = Some(db);
        created
    }

    fn drop_extra(&mut self) -> Outcome<()> {
        self.db()?.drop_last_family()
    }

    fn set_option(&mut self, family: usize, name: &str, value: &str) -> Outcome<()> {
        self.keep(family, name, value);
        self.db()?.set_option(family, name, value)
    }

    fn suggest(&mut self, family: usize, begin: Option<&str>, end: Option<&str>) -> Outcome<()> {
        self.db()?.suggest_compact(family, begin.map(str::as_bytes), end.map(str::as_bytes))
    }

    fn delete_files(&mut self, family: usize, begin: &str, end: &str) -> Outcome<()> {
        self.db()?.delete_files(family, begin.as_bytes(), end.as_bytes())
    }

    fn reopen(&mut self) -> Outcome<()> {
        self.close()?;
        self.open()
    }
}
