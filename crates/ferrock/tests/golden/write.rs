//! Writing: a foreign database is opened with its own options, written to, flushed, compacted and reopened, and holds
//! what a model says the whole time.

use crate::archive::GoldenDatabase;
use crate::dump::{Direction, Entries, scan, sha256_of_entries, total_order};
use crate::expect::{list, text};
use crate::findings::Findings;
use crate::read::mode;
use ferrock::options::{BottommostLevelCompaction, TableFactory};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, WriteBatch, WriteOptions, options,
};
use std::collections::BTreeMap;
use std::path::Path;

pub fn check(database: &GoldenDatabase, findings: &mut Findings) {
    let unpacked = database.unpack_for_writing();
    let path = unpacked.path();
    let opened = open(database, &path);
    if !database.opens() {
        let kind = opened.map(|_| "OK").unwrap_or_else(|error| error.kind().name());
        findings.equal("open", &kind, &text(&database.expect["open"], "status"));
        return check_nothing_is_lost(database, &unpacked.files(), findings);
    }
    let Some((db, families)) = findings.ok("open for writing", opened) else { return };
    if list(&database.expect, "column_families").iter().any(|family| family["scan"]["status"] != "OK") {
        return check_damaged(&db, &families, findings);
    }
    let mut models = models(&db, &families, &path);
    for (model, wanted) in models.iter().zip(wanted_hashes(database, &families)) {
        findings.equal(&format!("{}: before writing", model.name), &sha256_of_entries(&model.dump()).as_str(), &wanted);
    }
    course(database, &path, db, families, &mut models, findings);
}

/// A failed open deletes nothing.
fn check_nothing_is_lost(database: &GoldenDatabase, after: &BTreeMap<String, Vec<u8>>, findings: &mut Findings) {
    for (name, content) in database.files() {
        findings.check(after.get(name) == Some(content), || format!("a failed open changed {name}"));
    }
}

fn open(database: &GoldenDatabase, path: &Path) -> ferrock::Result<(Db, Vec<ColumnFamily>)> {
    let mut base = DbOptions::default();
    base.wal_recovery_mode = mode(&database.expect);
    Db::open_with_latest_options(path, base)
}

fn wanted_hashes<'a>(database: &'a GoldenDatabase, families: &[ColumnFamily]) -> Vec<&'a str> {
    let of = |family: &ColumnFamily| {
        let all = list(&database.expect, "column_families");
        let wanted = all.iter().find(|wanted| text(wanted, "name") == family.name()).unwrap();
        text(&wanted["scan"], "sha256")
    };
    families.iter().map(of).collect()
}

fn course(
    database: &GoldenDatabase,
    path: &Path,
    mut db: Db,
    mut families: Vec<ColumnFamily>,
    models: &mut [Model],
    findings: &mut Findings,
) {
    for family in families.iter().filter(|_| database.name.contains("fifo")) {
        // With the limit that it came with, the queue would lose what the model keeps.
        db.set_options_cf(family, &[("compaction_options_fifo", "{max_table_files_size=1g}")]).unwrap();
    }
    let mut step = |what: &str, db: &Db, families: &[ColumnFamily], models: &[Model]| {
        families.iter().zip(models).for_each(|(family, model)| compare(what, db, family, model, findings));
    };
    for round in 0..2 {
        for (family, model) in families.iter().zip(models.iter_mut()) {
            write_round(&db, family, model, round).unwrap();
        }
        step("after writing", &db, &families, models);
        for family in &families {
            db.flush_cf(family, &ferrock::FlushOptions::default()).unwrap();
        }
        step("after the flush", &db, &families, models);
        for family in &families {
            let options = CompactRangeOptions {
                bottommost_level_compaction: BottommostLevelCompaction::Force,
                ..CompactRangeOptions::default()
            };
            db.compact_range_cf(family, None, None, &options).unwrap();
        }
        step("after the compaction", &db, &families, models);
        db.verify_checksum().unwrap();
        // What is written now stays in the log and must come back from it.
        for (family, model) in families.iter().zip(models.iter_mut()) {
            write_round(&db, family, model, round + 10).unwrap();
        }
        drop(std::mem::take(&mut families));
        db.close().unwrap();
        (db, families) = open(database, path).unwrap();
        step("after reopening", &db, &families, models);
    }
}

fn compare(what: &str, db: &Db, family: &ColumnFamily, model: &Model, findings: &mut Findings) {
    let what = format!("{}: {what}", family.name());
    let mut wanted = model.dump();
    let forward = scan(db, family, &total_order(), Direction::Forward);
    findings.ok(&what, forward.status);
    findings.check(forward.entries == wanted, || difference(&what, &forward.entries, &wanted));
    let backward = scan(db, family, &total_order(), Direction::Backward);
    wanted.reverse();
    findings.check(backward.entries == wanted, || difference(&format!("{what}, backward"), &backward.entries, &wanted));
    // Lookups take another way through filters and blocks.
    for (key, value) in wanted.iter().step_by(7) {
        let got = db.get_cf(family, &ferrock::ReadOptions::default(), key).map(|got| got.map(|got| got.to_vec()));
        let is_right = matches!(&got, Ok(Some(got)) if got == value);
        findings.check(is_right, || format!("{what}: get {}: {got:?}", key.escape_ascii()));
    }
}

fn difference(what: &str, got: &Entries, wanted: &Entries) -> String {
    let at = got.iter().zip(wanted).position(|(got, wanted)| got != wanted).unwrap_or(got.len().min(wanted.len()));
    let show = |entries: &Entries| {
        entries.get(at).map(|(key, value)| format!("{} = {} bytes", key.escape_ascii(), value.len()))
    };
    let (here, there) = (show(got), show(wanted));
    format!("{what}: {} entries, wanted {}; entry {at} is {here:?}, wanted {there:?}", got.len(), wanted.len())
}

/// What a family holds, as a map does it.
struct Model {
    name: String,
    options: ColumnFamilyOptions,
    map: BTreeMap<Vec<u8>, Vec<u8>>,
}

fn models(db: &Db, families: &[ColumnFamily], path: &Path) -> Vec<Model> {
    let loaded = options::load_latest(&*ferrock_vfs::default_file_system(), path).unwrap().unwrap();
    let model = |family: &ColumnFamily| {
        let entries = scan(db, family, &total_order(), Direction::Forward).entries;
        let options = loaded.column_family(family.name()).unwrap().clone();
        Model { name: family.name().to_owned(), options, map: entries.into_iter().collect() }
    };
    families.iter().map(model).collect()
}

impl Model {
    /// Entries in the family's order.
    fn dump(&self) -> Entries {
        let mut entries: Entries = self.map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        entries.sort_by(|a, b| self.options.comparator.compare(&a.0, &b.0));
        entries
    }

    fn keys(&self) -> Vec<Vec<u8>> {
        self.dump().into_iter().map(|(key, _)| key).collect()
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) {
        let mut value = Vec::new();
        let operator = self.options.merge_operator.as_ref().unwrap();
        let existing = self.map.get(key).map(Vec::as_slice);
        assert!(operator.full_merge(key, existing, &[operand], &mut value));
        self.map.insert(key.to_vec(), value);
    }

    fn delete_range(&mut self, begin: &[u8], end: &[u8]) {
        let order = self.options.comparator.clone();
        self.map.retain(|key, _| order.compare(key, begin).is_lt() || order.compare(key, end).is_ge());
    }
}

/// Overwrites, removes, adds and merges, spread over the whole key space.
fn write_round(db: &Db, family: &ColumnFamily, model: &mut Model, round: usize) -> ferrock::Result<()> {
    let id = family.id();
    let keys = model.keys();
    let mut batch = WriteBatch::new();
    for (index, key) in keys.iter().enumerate() {
        match (index + round) % 11 {
            0 => {
                let value = format!("round {round}, overwritten {index}").into_bytes();
                batch.put_cf(id, key, &value)?;
                model.map.insert(key.clone(), value);
            }
            5 => {
                batch.delete_cf(id, key)?;
                model.map.remove(key);
            }
            8 if model.options.merge_operator.is_some() => {
                batch.merge_cf(id, key, b"12345678")?;
                model.merge(key, b"12345678");
            }
            _ => {}
        }
    }
    for index in 0..60 {
        let key = format!("key{:08}/new", (index * 7919 + round * 13) % 20_000).into_bytes();
        let value = vec![index as u8; index * 10];
        batch.put_cf(id, &key, &value)?;
        model.map.insert(key, value);
    }
    db.write(batch, &WriteOptions::default())?;
    let keys = model.keys();
    if keys.len() > 40 {
        let (begin, end) = (&keys[keys.len() / 2], &keys[keys.len() / 2 + 9]);
        let deleted = db.delete_range_cf(family, begin, end, &WriteOptions::default());
        match family.options().table_factory {
            TableFactory::BlockBased => {
                deleted?;
                model.delete_range(begin, end);
            }
            TableFactory::Plain(_) => {
                let error = deleted.expect_err("plain tables have no deletions of ranges").to_string();
                assert!(error.contains("CFD::DeleteRange not supported for table type PlainTable"), "{error}");
            }
        }
        let back = &keys[keys.len() / 2 + 3];
        db.put_cf(family, back, b"over the tombstone", &WriteOptions::default())?;
        model.map.insert(back.clone(), b"over the tombstone".to_vec());
    }
    Ok(())
}

/// A database with a damaged table takes writes; a compaction of the damage fails and loses nothing that is readable.
fn check_damaged(db: &Db, families: &[ColumnFamily], findings: &mut Findings) {
    let family = &families[0];
    let options = WriteOptions::default();
    findings.ok("put", db.put_cf(family, b"key00000000/new", b"value", &options));
    findings.ok("flush", db.flush_cf(family, &ferrock::FlushOptions::default()));
    let read = || {
        let get =
            |number: u32| db.get_cf(family, &ferrock::ReadOptions::default(), format!("key{number:08}").as_bytes());
        (0..25_000).map(get).map(|got| got.ok().map(|value| value.map(|value| value.to_vec()))).collect::<Vec<_>>()
    };
    let before = read();
    let compaction = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    let kind = db.compact_range_cf(family, None, None, &compaction).map_err(|error| error.kind());
    findings.equal("compaction of a damaged table", &kind, &Err(ErrorKind::Corruption));
    findings.check(read() == before, || "a failed compaction changed what is readable".to_owned());
    let new = db.get_cf(family, &ferrock::ReadOptions::default(), b"key00000000/new");
    findings.check(matches!(&new, Ok(Some(value)) if **value == *b"value"), || format!("the new key: {new:?}"));
}
