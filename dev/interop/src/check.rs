//! Comparing a database with the model: scans both ways, lookups, seeks, bounds, prefixes.

use crate::engine::{Cursor, Database, FAMILIES, IterHow, Outcome};
use crate::history;
use crate::model::{Entry, FamilyModel, Model};
use crate::random::Random;

/// What of a family an engine reads. RocksDB's plain tables go forward only, and know no order beyond a prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    #[default]
    All,
    /// Lookups, and what goes forward.
    Forward,
    /// Lookups, what goes forward within a prefix, and from the first key to the last.
    WithinPrefix,
    /// From the first key to the last.
    Scan,
}

impl Reads {
    fn has_lookups(self) -> bool {
        self != Self::Scan
    }

    /// Finds places in the order of all keys.
    fn has_seeks(self) -> bool {
        matches!(self, Self::All | Self::Forward)
    }
}

/// Compares, and counts what was compared.
pub struct Checker<'a> {
    pub db: &'a dyn Database,
    pub random: Random,
    pub comparisons: u64,
    /// No key to look for is shorter.
    pub shortest_key: usize,
    /// Lengths of the fixed prefixes that the families' extractors take; `None` without one.
    pub prefixes: Vec<Option<usize>>,
    /// What is read of each family.
    pub reads: Vec<Reads>,
}

fn shown(bytes: &[u8]) -> String {
    let text = bytes[..bytes.len().min(60)].escape_ascii().to_string();
    if bytes.len() > 60 { format!("{text}... ({} bytes)", bytes.len()) } else { text }
}

fn shown_value(value: Option<&[u8]>) -> String {
    value.map_or("nothing".to_owned(), |value| format!("`{}`", shown(value)))
}

impl Checker<'_> {
    /// Everything, in every way.
    pub fn everything(&mut self, model: &Model) -> Outcome<()> {
        for (number, family) in model.families.iter().enumerate() {
            self.family(number, family).map_err(|error| format!("family {}: {error}", FAMILIES[number]))?;
        }
        Ok(())
    }

    fn family(&mut self, number: usize, model: &FamilyModel) -> Outcome<()> {
        let entries = model.entries();
        self.scans(number, &entries, &IterHow::default())?;
        let reads = self.reads[number];
        if !reads.has_lookups() {
            return Ok(());
        }
        for (key, value) in &entries {
            self.lookup(number, key, Some(value), None)?;
        }
        self.probe_family(number, model, &entries, 60)?;
        for _ in 0..if reads.has_seeks() { 6 } else { 0 } {
            self.bounded(number, model, &entries)?;
        }
        if let Some(length) = self.prefixes[number] {
            for _ in 0..12 {
                self.prefix(number, model, &entries, length)?;
            }
        }
        Ok(())
    }

    /// As of a snapshot.
    pub fn snapshot(&mut self, snapshot: usize, model: &Model) -> Outcome<()> {
        let how = IterHow { snapshot: Some(snapshot), ..IterHow::default() };
        for (number, family) in model.families.iter().enumerate() {
            let what = |error| format!("snapshot {snapshot}, family {}: {error}", FAMILIES[number]);
            self.scans(number, &family.entries(), &how).map_err(what)?;
            for _ in 0..if self.reads[number].has_lookups() { 40 } else { 0 } {
                let key = history::target(&mut self.random, self.shortest_key);
                self.lookup(number, &key, family.get(&key), Some(snapshot)).map_err(what)?;
            }
        }
        Ok(())
    }

    /// Some lookups and seeks.
    pub fn probe(&mut self, model: &Model) -> Outcome<()> {
        for (number, family) in model.families.iter().enumerate() {
            let entries = family.entries();
            let probed = self.probe_family(number, family, &entries, 20);
            probed.map_err(|error| format!("family {}: {error}", FAMILIES[number]))?;
        }
        Ok(())
    }

    fn lookup(&mut self, family: usize, key: &[u8], wanted: Option<&Vec<u8>>, snapshot: Option<usize>) -> Outcome<()> {
        self.comparisons += 1;
        let got = self.db.get(family, key, snapshot).map_err(|error| format!("get {}: {error}", shown(key)))?;
        if got.as_ref() == wanted {
            return Ok(());
        }
        let (got, wanted) = (shown_value(got.as_deref()), shown_value(wanted.map(Vec::as_slice)));
        Err(format!("get {}: {got}, wanted {wanted}", shown(key)))
    }

    fn probe_family(&mut self, number: usize, model: &FamilyModel, entries: &[Entry], count: usize) -> Outcome<()> {
        let reads = self.reads[number];
        if !reads.has_lookups() {
            return Ok(());
        }
        let targets: Vec<Vec<u8>> = (0..count).map(|_| history::target(&mut self.random, self.shortest_key)).collect();
        for key in &targets {
            self.lookup(number, key, model.get(key), None)?;
        }
        let keys: Vec<&[u8]> = targets.iter().map(Vec::as_slice).collect();
        let values = self.db.multi_get(number, &keys, None).map_err(|error| format!("multi_get: {error}"))?;
        for (key, got) in keys.iter().zip(&values) {
            self.comparisons += 1;
            if got.as_ref() != model.get(key) {
                let wanted = model.get(key).map(Vec::as_slice);
                let (got, wanted) = (shown_value(got.as_deref()), shown_value(wanted));
                return Err(format!("multi_get {}: {got}, wanted {wanted}", shown(key)));
            }
        }
        if !reads.has_seeks() {
            return Ok(());
        }
        let is_both_ways = reads == Reads::All;
        let mut cursor = self.db.iterate(number, &IterHow::default())?;
        for key in &targets {
            self.comparisons += 2;
            let at = entries.partition_point(|(known, _)| model.is_before(known, key));
            cursor.seek(key);
            let steps = self.random.below(4);
            let what = format!("seek {}", shown(key));
            compare_position(&mut *cursor, entries, at as isize, steps, is_both_ways, &what)?;
            if !is_both_ways {
                continue;
            }
            let last = entries.partition_point(|(known, _)| !model.is_before(key, known)) as isize - 1;
            cursor.seek_for_prev(key);
            let steps = self.random.below(4);
            compare_position(&mut *cursor, entries, last, steps, true, &format!("seek_for_prev {}", shown(key)))?;
        }
        Ok(())
    }

    /// A whole scan both ways.
    fn scans(&mut self, number: usize, wanted: &[Entry], how: &IterHow) -> Outcome<()> {
        let mut cursor = self.db.iterate(number, how)?;
        cursor.seek_to_first();
        self.comparisons += 2 * wanted.len() as u64;
        walk(&mut *cursor, wanted.iter(), true, "forward scan")?;
        if self.reads[number] != Reads::All {
            return Ok(());
        }
        cursor.seek_to_last();
        walk(&mut *cursor, wanted.iter().rev(), false, "backward scan")
    }

    fn bounded(&mut self, number: usize, model: &FamilyModel, entries: &[Entry]) -> Outcome<()> {
        let (mut lower, mut upper) = (
            history::target(&mut self.random, self.shortest_key),
            history::target(&mut self.random, self.shortest_key),
        );
        if model.is_before(&upper, &lower) {
            std::mem::swap(&mut lower, &mut upper);
        }
        let first = entries.partition_point(|(key, _)| model.is_before(key, &lower));
        let end = entries.partition_point(|(key, _)| model.is_before(key, &upper));
        let what = |error| format!("between {} and {}: {error}", shown(&lower), shown(&upper));
        let how = IterHow { lower: Some(lower.clone()), upper: Some(upper.clone()), ..IterHow::default() };
        self.scans(number, &entries[first..end.max(first)], &how).map_err(what)
    }

    /// All keys with the prefix of a target, from the target on.
    fn prefix(&mut self, number: usize, model: &FamilyModel, entries: &[Entry], length: usize) -> Outcome<()> {
        let target = history::target(&mut self.random, self.shortest_key);
        if target.len() < length {
            return Ok(());
        }
        let first = entries.partition_point(|(key, _)| model.is_before(key, &target));
        let wanted = entries[first..].iter().take_while(|(key, _)| key.starts_with(&target[..length]));
        let how = IterHow { prefix_same_as_start: true, ..IterHow::default() };
        let mut cursor = self.db.iterate(number, &how)?;
        cursor.seek(&target);
        self.comparisons += 1;
        walk(&mut *cursor, wanted, true, &format!("prefix of {}", shown(&target)))
    }
}

/// Where the cursor stands, and some steps from there, forth and (if it goes both ways) back again.
fn compare_position(
    cursor: &mut dyn Cursor,
    entries: &[Entry],
    at: isize,
    steps: usize,
    is_both_ways: bool,
    what: &str,
) -> Outcome<()> {
    let mut at = at;
    let last = if is_both_ways { 2 * steps } else { steps };
    for step in 0..=last {
        let wanted = usize::try_from(at).ok().and_then(|at| entries.get(at));
        compare_entry(cursor, wanted, &format!("{what}, step {step}"))?;
        if wanted.is_none() || step == last {
            break;
        }
        if step < steps {
            cursor.next();
            at += 1;
        } else {
            cursor.prev();
            at -= 1;
        }
    }
    Ok(())
}

fn compare_entry(cursor: &dyn Cursor, wanted: Option<&Entry>, what: &str) -> Outcome<()> {
    if !cursor.valid() {
        cursor.status().map_err(|error| format!("{what}: {error}"))?;
    }
    let got = cursor.valid().then(|| (cursor.key(), cursor.value()));
    if got == wanted.map(|(key, value)| (key.as_slice(), value.as_slice())) {
        return Ok(());
    }
    let show = |entry: Option<(&[u8], &[u8])>| {
        entry.map_or("the end".to_owned(), |(key, value)| format!("{} = `{}`", shown(key), shown(value)))
    };
    let wanted = wanted.map(|(key, value)| (key.as_slice(), value.as_slice()));
    Err(format!("{what}: {}, wanted {}", show(got), show(wanted)))
}

fn walk<'a>(
    cursor: &mut dyn Cursor,
    wanted: impl Iterator<Item = &'a Entry>,
    is_forward: bool,
    what: &str,
) -> Outcome<()> {
    for (number, entry) in wanted.enumerate() {
        compare_entry(cursor, Some(entry), &format!("{what}, entry {number}"))?;
        if is_forward {
            cursor.next();
        } else {
            cursor.prev();
        }
    }
    compare_entry(cursor, None, &format!("{what}, its end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine as _, OpenMode, Record, WriteHow};
    use crate::ferrock_engine::FerrockEngine;
    use crate::history::History;
    use crate::settings::{Release, Settings};

    fn checker(db: &dyn Database) -> Checker<'_> {
        let (prefixes, reads) = (vec![None; 2], vec![Reads::All; 2]);
        Checker { db, random: Random::new(1), comparisons: 0, shortest_key: 0, prefixes, reads }
    }

    fn records() -> Vec<Record> {
        (0..50u8).map(|n| Record::Put(usize::from(n % 2), vec![b'k', b'e', b'y', b'0' + n], vec![n])).collect()
    }

    /// A database with the records, and a model of them and of `more`.
    fn compare(more: Record) -> Outcome<()> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        // Seed 1 has bytewise families.
        let history = History::new(Release::Current, 1);
        let settings = Settings {
            db: vec![
                ("create_if_missing".to_owned(), "true".to_owned()),
                ("create_missing_column_families".to_owned(), "true".to_owned()),
            ],
            families: Vec::new(),
        };
        let mut db = FerrockEngine.open(&directory.path().join("db"), OpenMode::Create, &settings)?;
        let mut model = Model::new(&history.fixed);
        model.families.iter_mut().for_each(|family| family.order = crate::settings::Order::Bytewise);
        db.write(&records(), WriteHow::default())?;
        model.apply(&records());
        model.apply(&[more]);
        checker(&*db).everything(&model)
    }

    #[test]
    fn differences_are_noticed() {
        compare(records().remove(0)).unwrap();
        let error = compare(Record::Put(0, b"key0".to_vec(), b"other".to_vec())).unwrap_err();
        assert!(error.starts_with("family default: forward scan, entry 0: key0"), "{error}");
        let error = compare(Record::Put(1, b"new".to_vec(), b"value".to_vec())).unwrap_err();
        assert_eq!(error, "family second: forward scan, entry 25: the end, wanted new = `value`");
        let error = compare(Record::Delete(1, b"key1".to_vec())).unwrap_err();
        assert!(error.contains("wanted key3"), "{error}");
    }

    #[test]
    fn positions_and_lookups_are_compared() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings {
            db: vec![
                ("create_if_missing".to_owned(), "true".to_owned()),
                ("create_missing_column_families".to_owned(), "true".to_owned()),
            ],
            families: Vec::new(),
        };
        let mut db = FerrockEngine.open(&directory.path().join("db"), OpenMode::Create, &settings).unwrap();
        db.write(&records(), WriteHow::default()).unwrap();
        let mut checker = checker(&*db);
        checker.lookup(0, b"key0", Some(&vec![0]), None).unwrap();
        assert_eq!(checker.lookup(0, b"key0", None, None).unwrap_err(), "get key0: `\\x00`, wanted nothing");
        assert!(checker.lookup(0, b"key1", Some(&vec![1]), None).is_err());
        let entries: Vec<Entry> = vec![(b"key0".to_vec(), vec![0]), (b"key2".to_vec(), vec![2])];
        let mut cursor = db.iterate(0, &IterHow::default()).unwrap();
        cursor.seek(b"key1");
        compare_position(&mut *cursor, &entries, 1, 0, true, "seek").unwrap();
        compare_position(&mut *cursor, &entries, 0, 0, true, "seek").unwrap_err();
        // There is a third entry.
        compare_position(&mut *cursor, &entries, 1, 1, true, "seek").unwrap_err();
    }
}
