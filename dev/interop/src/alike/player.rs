//! Plays a history through the C interface of the library that each open has.

use super::Case;
use super::set::{self, Set, Which};
use crate::c_engine::CEngine;
use crate::engine::{Cursor, Database, Engine, IterHow, OpenMode, Outcome, Record, WriteHow};
use ferrock_script::history::{Change, Player, Row, Step, Walked, play, scan_rows, walk_rows};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

struct Libraries {
    rocksdb: CEngine,
    ferrock: CEngine,
    directory: PathBuf,
    set: Set,
    opens: usize,
    db: Option<Box<dyn Database>>,
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
    let mut player = Libraries { rocksdb, ferrock, directory, set, opens: 0, db: None, snapshots, taken: 0 };
    player.open()?;
    for step in history.0 {
        // One by one, so that a process that ends leaves the answers before its end.
        let step: [Step; 1] = [step];
        for answer in play(&ferrock_script::history::History(step.to_vec()), &mut player) {
            println!("{}", json!({ "answer": answer }));
        }
    }
    player.close()?;
    Ok(json!({"done": true}))
}

impl Libraries {
    fn open(&mut self) -> Outcome<()> {
        let opening = self.set.opening(self.opens);
        let is_first = self.opens == 0;
        let engine = match opening.which {
            Which::RocksDb => &self.rocksdb,
            Which::Ferrock => &self.ferrock,
        };
        let mode = if is_first { OpenMode::Create } else { OpenMode::ReadWrite };
        self.db = Some(engine.open(&self.directory, mode, &opening.settings(is_first))?);
        self.opens += 1;
        Ok(())
    }

    fn close(&mut self) -> Outcome<()> {
        self.snapshots.clear();
        self.taken = 0;
        self.db.take().map_or(Ok(()), Database::close)
    }

    fn db(&mut self) -> Outcome<&mut (dyn Database + 'static)> {
        self.db.as_deref_mut().ok_or_else(|| "the database is closed".to_owned())
    }

    fn held(&self, snapshot: Option<u32>) -> Option<usize> {
        snapshot.and_then(|number| self.snapshots.get(&number).copied())
    }
}

fn record(change: &Change) -> Record {
    let bytes = |key: &str| key.as_bytes().to_vec();
    match change {
        Change::Put(family, key, value) => Record::Put(*family, bytes(key), value.bytes()),
        Change::Merge(family, key, value) => Record::Merge(*family, bytes(key), value.bytes()),
        Change::Delete(family, key) => Record::Delete(*family, bytes(key)),
        Change::SingleDelete(family, key) => Record::SingleDelete(*family, bytes(key)),
        Change::DeleteRange(family, begin, end) => Record::DeleteRange(*family, bytes(begin), bytes(end)),
    }
}

/// A cursor as histories walk it.
struct Rows<'a>(Box<dyn Cursor + 'a>);

impl Walked for Rows<'_> {
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

    fn reopen(&mut self) -> Outcome<()> {
        self.close()?;
        self.open()
    }
}
