//! Gets and iterators, compared with the model at every position.

use crate::database::{Check, Database};
use crate::keys;
use crate::model::{FamilyModel, Pair};
use crate::operations::{Start, Target, Walk};
use ferrock::options::PrefixExtractor;
use ferrock::{Iter, ReadOptions};
use std::sync::Arc;

impl Target {
    /// The bytes meant, in a key space of so many keys.
    pub fn bytes(&self, key_space: u16) -> Vec<u8> {
        let mut bytes = keys::key(usize::from(self.key % key_space)).to_vec();
        match self.twist {
            0 => {}
            1 => bytes.push(0),
            2 => drop(bytes.pop()),
            _ => bytes.push(0xff),
        }
        bytes
    }
}

/// Where an iterator should be.
pub struct Cursor {
    model: Arc<FamilyModel>,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    /// Keys beyond this prefix end the walk.
    prefix: Option<(PrefixExtractor, Vec<u8>)>,
    at: Option<Vec<u8>>,
}

impl Cursor {
    fn clip(&self, pair: Option<Pair<'_>>) -> Option<Vec<u8>> {
        let (key, _) = pair?;
        let order = self.model.order;
        let below = self.lower.as_ref().is_some_and(|lower| order.compare(key, lower).is_lt());
        let above = self.upper.as_ref().is_some_and(|upper| order.compare(key, upper).is_ge());
        let outside = self.prefix.as_ref().is_some_and(|(extractor, prefix)| extractor.prefix(key) != Some(prefix));
        (!below && !above && !outside).then(|| key.to_vec())
    }

    fn start(&mut self, start: &Start, key_space: u16) {
        let model = Arc::clone(&self.model);
        let order = model.order;
        let pair = match start {
            Start::First => match &self.lower {
                Some(lower) => model.after(lower, true),
                None => model.iter().next(),
            },
            Start::Last => match &self.upper {
                Some(upper) => model.before(upper, false),
                None => model.iter().next_back(),
            },
            Start::Seek(target) => {
                let key = target.bytes(key_space);
                match &self.lower {
                    Some(lower) if order.compare(&key, lower).is_lt() => model.after(lower, true),
                    _ => model.after(&key, true),
                }
            }
            Start::SeekForPrev(target) => {
                let key = target.bytes(key_space);
                match &self.upper {
                    Some(upper) if order.compare(&key, upper).is_ge() => model.before(upper, false),
                    _ => model.before(&key, true),
                }
            }
        };
        self.at = self.clip(pair);
    }

    fn step(&mut self, forward: bool) {
        let Some(at) = self.at.take() else { return };
        let model = Arc::clone(&self.model);
        let pair = if forward { model.after(&at, false) } else { model.before(&at, false) };
        self.at = self.clip(pair);
    }

    /// Compares an iterator with where it should be.
    fn check(&self, iter: &Iter, doing: &dyn Fn() -> String) -> Check {
        iter.status().map_err(|error| format!("{}: {error}", doing()))?;
        let found = iter.valid().then(|| (iter.key(), iter.value()));
        let expected = self.at.as_deref().map(|key| (key, self.model.get(key).unwrap_or_default()));
        if found == expected {
            return Ok(());
        }
        Err(format!("{}: found {}, expected {}", doing(), show_pair(found), show_pair(expected)))
    }
}

/// A pair for a message.
pub fn show_pair(pair: Option<Pair<'_>>) -> String {
    pair.map_or("nothing".to_owned(), |(key, value)| format!("{:?} = {}", show(key), show(value)))
}

/// Bytes for a message.
pub fn show(bytes: &[u8]) -> String {
    let head = bytes.get(..40).unwrap_or(bytes).escape_ascii();
    if bytes.len() > 40 { format!("\"{head}...\" ({} bytes)", bytes.len()) } else { format!("\"{head}\"") }
}

/// Steps over what a compaction filter has not removed yet.
fn pass_doomed(iter: &mut Iter, model: &FamilyModel, forward: bool) {
    while iter.valid() && model.is_doomed(iter.key()) {
        if forward { iter.next() } else { iter.prev() }
    }
}

/// An iterator that lives on while the database changes.
pub struct Held {
    iter: Iter,
    cursor: Cursor,
}

impl Held {
    pub fn step(&mut self, steps: &[bool]) -> Check {
        for (index, &forward) in steps.iter().enumerate() {
            take_step(&mut self.iter, &mut self.cursor, forward, &|| format!("held iterator, step {index}"))?;
        }
        Ok(())
    }
}

fn take_step(iter: &mut Iter, cursor: &mut Cursor, forward: bool, doing: &dyn Fn() -> String) -> Check {
    if cursor.at.is_none() {
        return Ok(());
    }
    if forward {
        iter.next();
    } else {
        iter.prev();
    }
    pass_doomed(iter, &cursor.model, forward);
    cursor.step(forward);
    cursor.check(iter, doing)
}

impl Database<'_> {
    /// Reads as of a snapshot: its options, and what the family held.
    fn view(&self, family: usize, snapshot: Option<u8>) -> (ReadOptions, Arc<FamilyModel>) {
        let own = &self.families[family];
        let mut options = ReadOptions::default();
        let mut model = Arc::clone(&own.model);
        if let Some(number) = snapshot
            && !self.snapshots.is_empty()
        {
            let taken = &self.snapshots[usize::from(number) % self.snapshots.len()];
            options.snapshot = Some(taken.snapshot.clone());
            let then = taken.models.iter().find(|(id, _)| *id == own.handle.id());
            // A family that is younger than the snapshot is empty in it.
            model = then.map_or_else(
                || Arc::new(FamilyModel::new(own.model.order, own.model.merge, own.model.filter)),
                |(_, model)| Arc::clone(model),
            );
        }
        (options, model)
    }

    pub fn get(&mut self, family: u8, snapshot: Option<u8>, target: &Target) -> Check {
        self.stats.keys_read += 1;
        let family = self.family_index(family);
        let (options, model) = self.view(family, snapshot);
        let key = target.bytes(self.key_space);
        let own = &self.families[family];
        let found = self.db().get_cf(&own.handle, &options, &key).map_err(|error| format!("get: {error}"))?;
        same_value(&own.name, &key, found.as_deref(), &model)
    }

    pub fn multi_get(&mut self, family: u8, snapshot: Option<u8>, targets: &[Target]) -> Check {
        self.stats.keys_read += targets.len() as u64;
        let family = self.family_index(family);
        let (options, model) = self.view(family, snapshot);
        let keys: Vec<Vec<u8>> = targets.iter().map(|target| target.bytes(self.key_space)).collect();
        let borrowed: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let own = &self.families[family];
        let found = self.db().multi_get_cf(&own.handle, &options, &borrowed);
        if found.len() != keys.len() {
            return Err(format!("multi_get: {} answers for {} keys", found.len(), keys.len()));
        }
        for (key, found) in keys.iter().zip(found) {
            let found = found.map_err(|error| format!("multi_get: {error}"))?;
            same_value(&own.name, key, found.as_deref(), &model)?;
        }
        Ok(())
    }

    /// An iterator at its start, and where it should be.
    fn begin_walk(&mut self, walk: &Walk) -> Result<Held, String> {
        let family = self.family_index(walk.family);
        let (mut options, model) = self.view(family, walk.snapshot);
        let own = &self.families[family];
        let bound = |target: &Option<Target>| target.as_ref().map(|target| target.bytes(self.key_space));
        let mut cursor = Cursor { model, lower: bound(&walk.lower), upper: bound(&walk.upper), prefix: None, at: None };
        options.fill_cache = walk.fill_cache;
        let extractor = own.prefix_extractor.clone();
        match (extractor, &walk.start) {
            (Some(extractor), Start::Seek(target)) if walk.prefix => {
                cursor.lower = None;
                options.prefix_same_as_start = true;
                let key = target.bytes(self.key_space);
                let prefix = extractor.prefix(&key).map(<[u8]>::to_vec);
                // A key without prefix is sought in total order; filters know nothing of where it leads.
                options.total_order_seek = prefix.is_none();
                cursor.prefix = prefix.map(|prefix| (extractor, prefix));
            }
            (Some(_), _) => options.total_order_seek = true,
            (None, _) => options.total_order_seek = walk.fill_cache,
        }
        options.lower_bound.clone_from(&cursor.lower);
        options.upper_bound.clone_from(&cursor.upper);
        let mut iter = self.db().iter_cf(&own.handle, &options);
        match &walk.start {
            Start::First => iter.seek_to_first(),
            Start::Last => iter.seek_to_last(),
            Start::Seek(target) => iter.seek(&target.bytes(self.key_space)),
            Start::SeekForPrev(target) => iter.seek_for_prev(&target.bytes(self.key_space)),
        }
        pass_doomed(&mut iter, &cursor.model, matches!(walk.start, Start::First | Start::Seek(_)));
        cursor.start(&walk.start, self.key_space);
        cursor.check(&iter, &|| format!("{}: start of a walk", own.name))?;
        Ok(Held { iter, cursor })
    }

    pub fn walk(&mut self, walk: &Walk) -> Check {
        let mut held = self.begin_walk(walk)?;
        self.stats.iterator_steps += walk.steps.len() as u64 + 1;
        let is_prefix = held.cursor.prefix.is_some();
        for (index, &forward) in walk.steps.iter().enumerate() {
            // Within a prefix there is no way back.
            take_step(&mut held.iter, &mut held.cursor, forward || is_prefix, &|| format!("step {index} of a walk"))?;
        }
        Ok(())
    }

    pub fn hold_iterator(&mut self, walk: &Walk) -> Check {
        let walk = Walk { prefix: false, ..walk.clone() };
        let held = self.begin_walk(&walk)?;
        if self.held.len() >= 4 {
            self.held.remove(0);
        }
        self.held.push(held);
        Ok(())
    }

    /// Compares a whole family.
    pub fn scan(&mut self, family: u8, snapshot: Option<u8>, backward: bool) -> Check {
        let family = self.family_index(family);
        let (mut options, model) = self.view(family, snapshot);
        options.total_order_seek = true;
        let own = &self.families[family];
        let mut iter = self.db().iter_cf(&own.handle, &options);
        self.stats.iterator_steps += model.len() as u64;
        compare_all(&mut iter, &model, backward).map_err(|error| format!("scan of {}: {error}", own.name))
    }
}

/// Compares all that an iterator gives.
pub fn compare_all(iter: &mut Iter, model: &FamilyModel, backward: bool) -> Check {
    if backward {
        iter.seek_to_last()
    } else {
        iter.seek_to_first()
    }
    let mut expected = model.iter();
    loop {
        pass_doomed(iter, model, !backward);
        let wanted = if backward { expected.next_back() } else { expected.next() };
        let found = iter.valid().then(|| (iter.key(), iter.value()));
        iter.status().map_err(|error| error.to_string())?;
        if found != wanted {
            return Err(format!("found {}, expected {}", show_pair(found), show_pair(wanted)));
        }
        if wanted.is_none() {
            return Ok(());
        }
        if backward { iter.prev() } else { iter.next() }
    }
}

fn same_value(family: &str, key: &[u8], found: Option<&[u8]>, model: &FamilyModel) -> Check {
    let expected = model.get(key);
    if found == expected || (found.is_none() && model.is_doomed(key)) {
        return Ok(());
    }
    let show_value = |value: Option<&[u8]>| value.map_or("nothing".to_owned(), show);
    Err(format!("{family}: {}: got {}, expected {}", show(key), show_value(found), show_value(expected)))
}
