//! A sequence of states that a number alone describes: batch `n` of a seed is always the same, and puts `n` under a key
//! of its own in every family that it touches. The state is of all families together, so that one which is behind the
//! others is found.

use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, FlushOptions, ReadOptions, Result, WriteBatch};
use ferrock_base::random::Random;
use std::collections::BTreeMap;
use std::path::Path;

/// Has the number of the batch in the default family.
pub const NUMBER: &[u8] = b"number";
pub const FAMILIES: [&str; 3] = ["default", "one", "two"];
const KEYS: u64 = 60;

pub type Content = BTreeMap<Vec<u8>, Vec<u8>>;
/// By name of the family.
pub type State = BTreeMap<String, Content>;

fn key(random: &mut Random) -> Vec<u8> {
    format!("key{:03}", random.below(KEYS)).into_bytes()
}

/// Batch `number`, over families of these names and ids; `state` becomes what it leaves.
pub fn batch(seed: u64, number: u64, families: &[(String, u32)], state: &mut State) -> WriteBatch {
    let mut random = Random::new(seed.wrapping_mul(1_000_003) ^ number);
    let mut batch = WriteBatch::new();
    for _ in 0..1 + random.below(6) {
        let (name, id) = &families[random.below(families.len() as u64) as usize];
        let content = state.entry(name.clone()).or_default();
        let key = key(&mut random);
        match random.below(10) {
            0 | 1 => {
                batch.delete_cf(*id, &key).unwrap();
                content.remove(&key);
            }
            2 => {
                let end = [&key[..], b"9"].concat();
                batch.delete_range_cf(*id, &key, &end).unwrap();
                content.retain(|held, _| !(key <= *held && *held < end));
            }
            _ => {
                let value = vec![b'a' + (number % 26) as u8; random.below(300) as usize];
                let value = [format!("{number}:").as_bytes(), &value].concat();
                batch.put_cf(*id, &key, &value).unwrap();
                content.insert(key, value);
            }
        }
    }
    let text = number.to_string().into_bytes();
    batch.put(NUMBER, &text).unwrap();
    state.entry(FAMILIES[0].to_owned()).or_default().insert(NUMBER.to_vec(), text);
    batch
}

pub fn descriptors(options: &ColumnFamilyOptions, names: &[&str]) -> Vec<(String, ColumnFamilyOptions)> {
    names.iter().map(|name| ((*name).to_owned(), options.clone())).collect()
}

/// How a database is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Secondary,
    /// By links of its own; catch-ups come by call alone.
    Follower,
}

pub const KINDS: [Kind; 2] = [Kind::Secondary, Kind::Follower];

impl Kind {
    /// Opens the database in `path`, with `own` as directory of what follows it.
    pub fn open(
        self,
        path: impl AsRef<Path>,
        own: impl AsRef<Path>,
        mut options: DbOptions,
        families: Option<Vec<(String, ColumnFamilyOptions)>>,
    ) -> Result<(Db, Vec<ColumnFamily>)> {
        match self {
            Self::Secondary => Db::open_as_secondary(path, own, options, families),
            Self::Follower => {
                options.follower_catchup_retry_count = 0;
                Db::open_as_follower(own, path, options, families)
            }
        }
    }

    /// Has the writer make all that it wrote visible to a catch-up.
    pub fn publish(self, writer: &Db) {
        if self == Self::Follower {
            for family in writer.column_families() {
                writer.flush_cf(&family, &FlushOptions::default()).unwrap();
            }
        }
    }
}

/// All of a database, of one moment.
pub fn read(db: &Db) -> Result<State> {
    let mut families: Vec<ColumnFamily> = Vec::new();
    let options = ReadOptions::default();
    let iterators = db.at_one_view(|| {
        families = db.column_families();
        families.iter().map(|family| db.iter_cf(family, &options)).collect::<Vec<_>>()
    });
    let mut state = State::new();
    for (family, mut iter) in families.iter().zip(iterators) {
        let content = state.entry(family.name().to_owned()).or_default();
        iter.seek_to_first();
        while iter.valid() {
            content.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status()?;
    }
    Ok(state)
}

/// The number of the batch that a state ends with.
pub fn number_of(state: &State) -> u64 {
    let text = state.get(FAMILIES[0]).and_then(|content| content.get(NUMBER));
    text.map_or(0, |text| std::str::from_utf8(text).unwrap().parse().unwrap())
}

/// Panics where a state is not the one expected, with the first key that differs.
pub fn assert_same(seen: &State, expected: &State, what: &str) {
    let names: Vec<_> = seen.keys().chain(expected.keys()).collect();
    for name in names {
        let (seen, expected) = (seen.get(name), expected.get(name));
        let empty = Content::new();
        let (held, wanted) = (seen.unwrap_or(&empty), expected.unwrap_or(&empty));
        let differs = held.keys().chain(wanted.keys()).find(|key| held.get(*key) != wanted.get(*key));
        if let Some(key) = differs {
            let text = |value: Option<&Vec<u8>>| value.map(|value| value.escape_ascii().to_string());
            let (held, wanted) = (text(held.get(key)), text(wanted.get(key)));
            panic!("{what}: family {name}, key {}: {held:?} instead of {wanted:?}", key.escape_ascii());
        }
    }
}
