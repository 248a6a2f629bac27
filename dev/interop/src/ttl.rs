//! Databases whose entries expire, written and compacted by both in turns.
//!
//! ```text
//! turn 1..  Ferrock or RocksDB opens the directory with a time to live and reads what the other left
//!           puts, deletes, merges, flushes; compacts everything, or not
//! ```
//!
//! RocksDB goes by the clock of the machine; Ferrock by one that may be a day behind or ahead, so that what one wrote
//! is old to the other. Ages and times to live are far from each other: a case may take as long as it likes. Where
//! values expire there are no operands, for a merge has the time of whichever compaction made it.

use crate::engine::Outcome;
use crate::random::Random;
use crate::seeds::Suite;
use ferrock::ttl::TtlDb;
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, DbOptions, ReadOptions};
use ferrock_base::clock::{Clock, ManualClock, SystemClock};
use ferrock_base::merge::UInt64Add;
use ferrock_c_library::{Database, Functions};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const KEYS: usize = 150;
const TURNS: usize = 6;
const STEPS: usize = 80;
/// How far Ferrock's clock is from that of the machine, in seconds.
const SHIFTS: [i64; 4] = [-200_000, -100_000, 0, 100_000];
/// In seconds; 0: for ever.
const TIMES_TO_LIVE: [u32; 3] = [0, 50_000, 150_000];
/// Of RocksDB, as its text of options; Ferrock's are the same.
const OPTIONS: &str = "create_if_missing=true;merge_operator=uint64add;disable_auto_compactions=true";

/// Key -> value and time of the write, in unix seconds.
type Rows = BTreeMap<Vec<u8>, (u64, i64)>;

/// How the cases are played and told of.
pub const SUITE: Suite =
    Suite { name: "ttls", case: "ttl-case", counted: "values", means: "were read by both, expired ones not" };

fn text(error: ferrock::Error) -> String {
    format!("Ferrock: {error}")
}

/// An open database of either.
enum Opened {
    Ferrock(TtlDb),
    RocksDb(Database),
}

impl Opened {
    fn ferrock(directory: &Path, ttl: u32, now: i64) -> Outcome<Self> {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.components.clock = Some(Arc::new(ManualClock::new(now.unsigned_abs() * 1_000_000)));
        let mut family = ColumnFamilyOptions::default();
        family.merge_operator = Some(Arc::new(UInt64Add));
        family.disable_auto_compactions = true;
        let families = vec![("default".to_owned(), family, Some(Duration::from_secs(u64::from(ttl))))];
        Ok(Self::Ferrock(TtlDb::open_cf(directory, options, families).map_err(text)?.0))
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.put(key, value).map_err(text),
            Self::RocksDb(db) => db.put(key, value, false),
        }
    }

    fn merge(&self, key: &[u8], operand: &[u8]) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => {
                let family = db.db().default_column_family().map_err(text)?;
                db.merge_cf(&family, key, operand, &ferrock::WriteOptions::default()).map_err(text)
            }
            Self::RocksDb(db) => db.merge(key, operand),
        }
    }

    fn delete(&self, key: &[u8]) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.delete(key).map_err(text),
            Self::RocksDb(db) => db.delete(key),
        }
    }

    fn flush(&self) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.db().flush().map_err(text),
            Self::RocksDb(db) => db.flush(),
        }
    }

    fn compact(&self) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => {
                let family = db.db().default_column_family().map_err(text)?;
                db.db().compact_range_cf(&family, None, None, &CompactRangeOptions::default()).map_err(text)
            }
            Self::RocksDb(db) => db.compact(),
        }
    }

    /// Every key and its value, by an iterator.
    fn rows(&self) -> Outcome<BTreeMap<Vec<u8>, Vec<u8>>> {
        let mut rows = BTreeMap::new();
        match self {
            Self::Ferrock(db) => {
                let mut iter = db.iter(&ReadOptions::default());
                iter.seek_to_first();
                while iter.valid() {
                    rows.insert(iter.key().to_vec(), iter.value().to_vec());
                    iter.next();
                }
                iter.status().map_err(text)?;
            }
            Self::RocksDb(db) => {
                let mut iter = db.rows();
                iter.seek_to_first();
                while iter.valid() {
                    rows.insert(iter.key().to_vec(), iter.value().to_vec());
                    iter.next();
                }
                iter.status()?;
            }
        }
        Ok(rows)
    }

    fn get(&self, key: &[u8]) -> Outcome<Option<Vec<u8>>> {
        match self {
            Self::Ferrock(db) => Ok(db.get(key).map_err(text)?.map(|value| value.to_vec())),
            Self::RocksDb(db) => {
                let mut value = Vec::new();
                Ok(db.get(key, &mut value)?.then_some(value))
            }
        }
    }

    fn close(self) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.close().map_err(text),
            Self::RocksDb(_) => Ok(()),
        }
    }

    /// All of it must be as the model has it.
    fn check(&self, model: &Rows, random: &mut Random) -> Outcome<u64> {
        let expected: BTreeMap<_, _> =
            model.iter().map(|(key, (value, _))| (key.clone(), value.to_le_bytes().to_vec())).collect();
        let found = self.rows()?;
        if found != expected {
            let differs = |key: &&Vec<u8>| found.get(*key) != expected.get(*key);
            let key = found.keys().chain(expected.keys()).find(differs).cloned().unwrap_or_default();
            return Err(format!(
                "key {}: found {:?}, expected {:?}",
                key.escape_ascii(),
                found.get(&key),
                expected.get(&key)
            ));
        }
        for _ in 0..10 {
            let key = key(random);
            let value = self.get(&key)?;
            if value.as_ref() != expected.get(&key) {
                return Err(format!("get of {}: {value:?}, expected {:?}", key.escape_ascii(), expected.get(&key)));
            }
        }
        Ok(found.len() as u64)
    }
}

fn key(random: &mut Random) -> Vec<u8> {
    format!("key{:04}", random.below(KEYS)).into_bytes()
}

/// One case: how many values were compared.
pub fn play(seed: u64, directory: &Path, library: &Path) -> Outcome<serde_json::Value> {
    let (functions, mut random) = (Functions::load(library)?, Random::new(seed));
    let (place, expires) = (directory.join("db"), !seed.is_multiple_of(3));
    let (mut model, mut values) = (Rows::new(), 0);
    for turn in 0..TURNS {
        let is_ferrock = (seed as usize + turn).is_multiple_of(2);
        let ttl = if expires { TIMES_TO_LIVE[random.below(TIMES_TO_LIVE.len())] } else { 0 };
        let machine = i64::try_from(SystemClock::default().unix_seconds()).map_err(|error| error.to_string())?;
        let now = if is_ferrock { machine + SHIFTS[random.below(SHIFTS.len())] } else { machine };
        let db = if is_ferrock {
            Opened::ferrock(&place, ttl, now)?
        } else {
            let ttl = c_int::try_from(ttl).map_err(|error| error.to_string())?;
            Opened::RocksDb(Database::open_with_ttl(functions, &place, OPTIONS, ttl)?)
        };
        let mut played = || -> Outcome<u64> {
            let mut values = db.check(&model, &mut random)?;
            for _ in 0..STEPS {
                step(&db, &mut model, &mut random, expires, now)?;
            }
            values += db.check(&model, &mut random)?;
            if random.percent(60) {
                db.compact()?;
                model.retain(|_, (_, time)| ttl == 0 || *time + i64::from(ttl) >= now);
                values += db.check(&model, &mut random)?;
            }
            Ok(values)
        };
        let name = if is_ferrock { "Ferrock" } else { "RocksDB" };
        values += played().map_err(|error| format!("turn {turn}, {name}, ttl {ttl}: {error}"))?;
        db.close()?;
    }
    Ok(json!({ "values": values }))
}

fn step(db: &Opened, model: &mut Rows, random: &mut Random, expires: bool, now: i64) -> Outcome<()> {
    let (key, value) = (key(random), random.below(1000) as u64);
    match random.below(20) {
        0 => db.flush(),
        1..4 => {
            model.remove(&key);
            db.delete(&key)
        }
        4..10 if !expires => {
            model.entry(key.clone()).or_default().0 += value;
            db.merge(&key, &value.to_le_bytes())
        }
        _ => {
            model.insert(key.clone(), (value, now));
            db.put(&key, &value.to_le_bytes())
        }
    }
}
