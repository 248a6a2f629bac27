//! Gets and iterators, compared with the model at every position.

use crate::database::{Check, Database};
use crate::files::Straits;
use crate::model::{FamilyModel, Filter, Pair};
use crate::operations::{Start, Sweep, Target, Walk};
use crate::orders::Order;
use crate::ways::somewhere;
use ferrock::options::{IoPriority, PrefixExtractor};
use ferrock::{Iter, ReadOptions};
use std::sync::Arc;

impl Target {
    /// The bytes meant, in a key space of so many keys.
    pub fn bytes(&self, order: Order, key_space: u16) -> Vec<u8> {
        order.twisted(usize::from(self.key % key_space), self.twist)
    }
}

/// More reads than a step of a walk can have a use for.
const STEP_READS: u64 = 10_000;
/// Walks of a sweep.
const SWEEP_WALKS: u16 = 40;

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
                let key = target.bytes(order, key_space);
                match &self.lower {
                    Some(lower) if order.compare(&key, lower).is_lt() => model.after(lower, true),
                    _ => model.after(&key, true),
                }
            }
            Start::SeekForPrev(target) => {
                let key = target.bytes(order, key_space);
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
    fn check(&mut self, iter: &Iter, straits: &Straits, doing: &dyn Fn() -> String) -> Check {
        let status = iter.status();
        if status.as_ref().is_err_and(|error| straits.explain(error)) {
            // The walk ends there.
            self.at = None;
            return Ok(());
        }
        status.map_err(|error| format!("{}: {error}", doing()))?;
        let found = iter.valid().then(|| (iter.key(), iter.value()));
        let expected = self.at.as_deref().map(|key| (key, self.model.get(key).unwrap_or_default()));
        if self.model.is_same(found, expected) {
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
    straits: Straits,
}

impl Held {
    pub fn step(&mut self, steps: &[bool]) -> Check {
        for (index, &forward) in steps.iter().enumerate() {
            self.take_step(forward, &|| format!("held iterator, step {index}"))?;
        }
        Ok(())
    }

    fn take_step(&mut self, forward: bool, doing: &dyn Fn() -> String) -> Check {
        let Self { iter, cursor, straits } = self;
        if cursor.at.is_none() {
            return Ok(());
        }
        let go = || {
            if forward {
                iter.next();
            } else {
                iter.prev();
            }
            pass_doomed(iter, &cursor.model, forward);
        };
        straits.within(STEP_READS, go);
        cursor.step(forward);
        cursor.check(iter, straits, doing)
    }
}

impl Database<'_> {
    /// Reads as of a snapshot: its options, and what the family held.
    pub fn view(&self, family: usize, snapshot: Option<u8>) -> (ReadOptions, Arc<FamilyModel>) {
        let own = &self.families[family];
        // Without a limiter it means nothing.
        let rate_limiter_priority = self.stats.keys_read.is_multiple_of(2).then_some(IoPriority::User);
        let mut options = ReadOptions { rate_limiter_priority, ..ReadOptions::default() };
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

    /// An iterator at its start, and where it should be.
    fn begin_walk(&mut self, walk: &Walk) -> Result<Held, String> {
        let family = self.family_index(walk.family);
        let (mut options, model) = self.view(family, walk.snapshot);
        let own = &self.families[family];
        let (order, key_space) = (model.order, self.key_space);
        let bound = |target: &Option<Target>| target.as_ref().map(|target| target.bytes(order, key_space));
        let mut cursor = Cursor { model, lower: bound(&walk.lower), upper: bound(&walk.upper), prefix: None, at: None };
        walk.tuning.apply(&mut options);
        // Without a snapshot, values that are written over meanwhile may show.
        if own.handle.options().inplace_update_support {
            options.snapshot.get_or_insert_with(|| self.db().snapshot());
        }
        options.lower_bound.clone_from(&cursor.lower);
        options.upper_bound.clone_from(&cursor.upper);
        let start = match &walk.start {
            Start::Seek(target) | Start::SeekForPrev(target) => Some(target.bytes(order, key_space)),
            Start::First | Start::Last => None,
        };
        // Without a key to go to, the key found gives the prefix, which could be one that a filter has not removed yet.
        // Keys that are equal in spite of other bytes may have other prefixes.
        let keeps_prefix = walk.prefix && order != Order::Folding;
        if let Some(extractor) = own
            .prefix_extractor
            .clone()
            .filter(|_| keeps_prefix && (start.is_some() || cursor.model.filter == Filter::None))
        {
            options.prefix_same_as_start = true;
            let given = start.as_ref().or(cursor.lower.as_ref().filter(|_| matches!(walk.start, Start::First)));
            let prefix = given.map(|key| extractor.prefix(key).map(<[u8]>::to_vec));
            // A key without prefix is sought in total order; filters know nothing of where it leads.
            options.total_order_seek = prefix.as_ref().is_some_and(Option::is_none);
            cursor.start(&walk.start, key_space);
            let prefix = prefix.unwrap_or_else(|| Some(extractor.prefix(cursor.at.as_ref()?)?.to_vec()));
            cursor.prefix = prefix.map(|prefix| (extractor, prefix));
        }
        let (db, handle) = (self.db(), &own.handle);
        let straits = self.straits.clone();
        let place = || {
            let mut iter = db.iter_cf(handle, &options);
            match (&walk.start, &start) {
                (Start::Seek(_), Some(key)) => iter.seek(key),
                (Start::SeekForPrev(_), Some(key)) => iter.seek_for_prev(key),
                (Start::Last, _) => iter.seek_to_last(),
                _ => iter.seek_to_first(),
            }
            pass_doomed(&mut iter, &cursor.model, matches!(walk.start, Start::First | Start::Seek(_)));
            iter
        };
        let doing = || format!("{}: start of a walk", own.name);
        let iter = straits.within(STEP_READS, || somewhere(walk.on_thread, place));
        cursor.start(&walk.start, key_space);
        cursor.check(&iter, &straits, &doing)?;
        Ok(Held { iter, cursor, straits })
    }

    pub fn walk(&mut self, walk: &Walk) -> Check {
        let mut held = self.begin_walk(walk)?;
        self.stats.iterator_steps += walk.steps.len() as u64 + 1;
        for (index, &forward) in walk.steps.iter().enumerate() {
            held.take_step(forward, &|| format!("step {index} of a walk"))?;
        }
        let Some(again) = walk.again.as_ref().filter(|_| held.cursor.prefix.is_none() && !walk.prefix) else {
            return Ok(());
        };
        let (order, key_space) = (held.cursor.model.order, self.key_space);
        let bound = |target: &Option<Target>| target.as_ref().map(|target| target.bytes(order, key_space));
        (held.cursor.lower, held.cursor.upper) = (bound(&again.lower), bound(&again.upper));
        let Held { iter, cursor, straits } = &mut held;
        straits.within(STEP_READS, || {
            iter.fast_forward(cursor.lower.as_deref(), cursor.upper.as_deref());
            pass_doomed(iter, &cursor.model, true);
        });
        held.cursor.start(&Start::First, key_space);
        held.cursor.check(&held.iter, &held.straits, &|| "a walk within other bounds".to_owned())?;
        for (index, &forward) in again.steps.iter().enumerate() {
            let doing = || format!("step {index} of a walk within other bounds");
            held.take_step(forward, &doing)?;
        }
        Ok(())
    }

    /// Walks from many keys.
    pub fn sweep(&mut self, sweep: &Sweep) -> Check {
        for number in 0..self.key_space.min(SWEEP_WALKS) {
            let target = Target { key: sweep.first.wrapping_add(number * 7), twist: 0 };
            let walk = Walk {
                family: sweep.family,
                snapshot: sweep.snapshot,
                lower: None,
                upper: None,
                start: if sweep.backward { Start::SeekForPrev(target) } else { Start::Seek(target) },
                steps: vec![!sweep.backward; usize::from(sweep.steps)],
                tuning: sweep.tuning,
                on_thread: false,
                prefix: false,
                again: None,
            };
            self.walk(&walk)?;
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
        if !model.is_same(found, wanted) {
            return Err(format!("found {}, expected {}", show_pair(found), show_pair(wanted)));
        }
        if wanted.is_none() {
            return Ok(());
        }
        if backward { iter.prev() } else { iter.next() }
    }
}

pub fn same_value(family: &str, key: &[u8], found: Option<&[u8]>, model: &FamilyModel) -> Check {
    let expected = model.get(key);
    if found == expected || (found.is_none() && model.is_doomed(key)) {
        return Ok(());
    }
    let show_value = |value: Option<&[u8]>| value.map_or("nothing".to_owned(), show);
    Err(format!("{family}: {}: got {}, expected {}", show(key), show_value(found), show_value(expected)))
}
