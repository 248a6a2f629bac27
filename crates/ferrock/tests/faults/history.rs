//! What a random run asked for, what it was told, and the judgement of what is there, live or after a crash.
//!
//! Every batch leaves a mark of its own in the default family, so a database says itself which batches it holds. A
//! batch is
//!
//! - *acknowledged*: `write` returned `Ok`; *durable* from the next synced write on;
//! - *uncertain*: `write` failed, or has not returned. A crash may leave it, whole, or not;
//! - *gone*: it failed, and writes were accepted again after it (`resume`, or a later write that was acknowledged). It
//!   is nowhere, whatever happens.
//!
//! Creations and drops of families have the same three fates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A change of one family.
#[derive(Clone, Debug)]
pub enum Change {
    Put(u32, Vec<u8>, Vec<u8>),
    Delete(u32, Vec<u8>),
    SingleDelete(u32, Vec<u8>),
    Merge(u32, Vec<u8>, Vec<u8>),
    DeleteRange(u32, Vec<u8>, Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Acknowledged,
    Uncertain,
    Gone,
}

#[derive(Clone, Debug)]
pub struct Batch {
    pub changes: Arc<Vec<Change>>,
    pub fate: Fate,
}

/// A family. Names are used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Exists,
    /// Being created or dropped, or one of both failed.
    Maybe,
    Gone,
}

pub type Contents = BTreeMap<Vec<u8>, Vec<u8>>;
/// What is in a database: contents by name of the family, with its id.
pub type Found = BTreeMap<String, (u32, Contents)>;

#[derive(Clone, Debug, Default)]
pub struct History {
    pub batches: Vec<Batch>,
    /// So many of the first batches are durable, if acknowledged.
    pub durable: usize,
    pub families: BTreeMap<String, Life>,
    /// Families whose creation failed: gone when the next write is acknowledged. The others that are
    /// [`Maybe`](Life::Maybe) then exist.
    pub failed_creations: BTreeSet<String>,
}

/// The mark of a batch in the default family.
pub fn mark(batch: usize) -> Vec<u8> {
    format!("~{batch:06}").into_bytes()
}

impl History {
    /// Writes are accepted: what failed before is decided.
    pub fn settle(&mut self, before_batch: usize) {
        for batch in &mut self.batches[..before_batch] {
            if batch.fate == Fate::Uncertain {
                batch.fate = Fate::Gone;
            }
        }
        for (name, life) in &mut self.families {
            if *life == Life::Maybe {
                *life = if self.failed_creations.contains(name) { Life::Gone } else { Life::Exists };
            }
        }
    }

    /// What the families hold when these batches are there and no others.
    fn contents(&self, present: impl Fn(usize) -> bool) -> BTreeMap<u32, Contents> {
        let mut all: BTreeMap<u32, Contents> = BTreeMap::new();
        for (number, batch) in self.batches.iter().enumerate().filter(|(number, _)| present(*number)) {
            all.entry(0).or_default().insert(mark(number), Vec::new());
            batch.changes.iter().for_each(|change| apply(change, &mut all));
        }
        all
    }

    /// The open database shows what was acknowledged, and nothing else.
    pub fn judge_live(&self, found: &Found) -> Result<(), String> {
        let expected = self.contents(|number| self.batches[number].fate == Fate::Acknowledged);
        compare(found, &expected)
    }

    /// What a crash left: `self` is the history before it was taken, `after` the one afterwards. Returns the batches
    /// that are there.
    pub fn judge_crashed(&self, after: &Self, found: &Found) -> Result<BTreeSet<usize>, String> {
        let marks = found.get("default").into_iter().flat_map(|(_, contents)| contents.keys());
        let present: BTreeSet<usize> =
            marks.filter_map(|key| std::str::from_utf8(key).ok()?.strip_prefix('~')?.parse().ok()).collect();
        let newest = present.last().copied();
        for (number, batch) in after.batches.iter().enumerate() {
            let before = self.batches.get(number).map_or(Fate::Uncertain, |batch| batch.fate);
            let is_there = present.contains(&number);
            if is_there && before == Fate::Gone {
                return Err(format!("batch {number} is there, which was gone"));
            }
            if !is_there && before == Fate::Acknowledged && number < self.durable {
                return Err(format!("batch {number} is lost, which was durable"));
            }
            if !is_there && batch.fate == Fate::Acknowledged && newest.is_some_and(|newest| number < newest) {
                return Err(format!("batch {number} is lost, and {newest:?} is there"));
            }
        }
        if let Some(newest) = newest.filter(|newest| *newest >= after.batches.len()) {
            return Err(format!("batch {newest} is there, which was never issued"));
        }
        compare(found, &after.contents(|number| present.contains(&number)))?;
        self.judge_families(after, found)?;
        Ok(present)
    }

    fn judge_families(&self, after: &Self, found: &Found) -> Result<(), String> {
        for (name, life) in &self.families {
            let exists = *life == Life::Exists && after.families.get(name) == Some(&Life::Exists);
            if exists && !found.contains_key(name) {
                return Err(format!("family {name} is gone"));
            }
            if *life == Life::Gone && found.contains_key(name) {
                return Err(format!("family {name} is there, which was gone"));
            }
        }
        match found.keys().find(|name| !after.families.contains_key(*name)) {
            Some(name) => Err(format!("family {name} is there, which was never made")),
            None => Ok(()),
        }
    }

    /// Goes on from what a crash or a reopening left.
    pub fn adopt(&mut self, present: &BTreeSet<usize>, found: &Found) {
        for (number, batch) in self.batches.iter_mut().enumerate() {
            batch.fate = if present.contains(&number) { Fate::Acknowledged } else { Fate::Gone };
        }
        self.durable = self.batches.len();
        for (name, life) in &mut self.families {
            *life = if found.contains_key(name) { Life::Exists } else { Life::Gone };
        }
        self.failed_creations.clear();
    }
}

fn apply(change: &Change, all: &mut BTreeMap<u32, Contents>) {
    match change {
        Change::Put(id, key, value) => drop(all.entry(*id).or_default().insert(key.clone(), value.clone())),
        Change::Delete(id, key) | Change::SingleDelete(id, key) => drop(all.entry(*id).or_default().remove(key)),
        Change::Merge(id, key, operand) => {
            let family = all.entry(*id).or_default();
            match family.get_mut(key) {
                Some(value) => {
                    value.push(b',');
                    value.extend_from_slice(operand);
                }
                None => drop(family.insert(key.clone(), operand.clone())),
            }
        }
        Change::DeleteRange(id, begin, end) => {
            all.entry(*id).or_default().retain(|key, _| key < begin || key >= end);
        }
    }
}

fn compare(found: &Found, expected: &BTreeMap<u32, Contents>) -> Result<(), String> {
    let empty = Contents::new();
    for (name, (id, contents)) in found {
        let expected = expected.get(id).unwrap_or(&empty);
        let keys: BTreeSet<&Vec<u8>> = contents.keys().chain(expected.keys()).collect();
        if let Some(key) = keys.into_iter().find(|key| contents.get(*key) != expected.get(*key)) {
            let head = |value: Option<&Vec<u8>>| {
                value.map_or("nothing".to_owned(), |value| value[..value.len().min(20)].escape_ascii().to_string())
            };
            let (is, should) = (head(contents.get(key)), head(expected.get(key)));
            return Err(format!("family {name} ({id}): {} is {is} instead of {should}", key.escape_ascii()));
        }
    }
    Ok(())
}
