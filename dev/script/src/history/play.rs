//! How histories are played, and what their steps answer.

use super::{Change, EXTRA, History, PREFIX, Step};
use std::collections::{BTreeMap, BTreeSet};

/// A row of an answer.
pub type Row = (Vec<u8>, Vec<u8>);

/// What plays histories. Errors are texts.
#[expect(missing_docs, clippy::missing_errors_doc, reason = "the names are those of the steps")]
pub trait Player {
    fn write(&mut self, changes: &[Change]) -> Result<(), String>;
    fn flush(&mut self, family: usize) -> Result<(), String>;
    fn compact(&mut self, family: usize, begin: Option<&str>, end: Option<&str>) -> Result<(), String>;
    fn snapshot(&mut self, number: u32) -> Result<(), String>;
    fn release(&mut self, number: u32) -> Result<(), String>;
    fn get(&mut self, family: usize, key: &str, snapshot: Option<u32>) -> Result<Option<Vec<u8>>, String>;
    /// The values of several keys, in their order.
    fn many(&mut self, family: usize, keys: &[&str], snapshot: Option<u32>) -> Result<Vec<Option<Vec<u8>>>, String>;
    /// All rows within the bounds.
    fn scan(
        &mut self,
        family: usize,
        bounds: (Option<&str>, Option<&str>),
        snapshot: Option<u32>,
        is_backward: bool,
    ) -> Result<Vec<Row>, String>;
    /// The row after the seek and after each move, for as long as there is one.
    fn walk(
        &mut self,
        family: usize,
        target: &str,
        snapshot: Option<u32>,
        moves: &str,
        is_backward: bool,
    ) -> Result<Vec<Option<Row>>, String>;
    /// The values of several keys of several families, in their order.
    fn across(&mut self, keys: &[(usize, &str)], snapshot: Option<u32>) -> Result<Vec<Option<Vec<u8>>>, String>;
    /// As `walk`, forward and of now, by the family's tailing iterator; `has_ranges` if ranges were deleted in it.
    fn tail(&mut self, family: usize, target: &str, moves: &str, has_ranges: bool) -> Result<Vec<Option<Row>>, String>;
    /// What [`prefix_rows`] finds with an iterator that need not see more; `is_auto` by its upper bound.
    fn prefix(&mut self, family: usize, target: &str, snapshot: Option<u32>, is_auto: bool)
    -> Result<Vec<Row>, String>;
    /// Creates family [`EXTRA`].
    fn create(&mut self) -> Result<(), String>;
    /// Drops family [`EXTRA`].
    fn drop_extra(&mut self) -> Result<(), String>;
    fn set_option(&mut self, family: usize, name: &str, value: &str) -> Result<(), String>;
    fn suggest(&mut self, family: usize, begin: Option<&str>, end: Option<&str>) -> Result<(), String>;
    /// Deletes the tables of a range, whose end belongs to it.
    fn delete_files(&mut self, family: usize, begin: &str, end: &str) -> Result<(), String>;
    fn reopen(&mut self) -> Result<(), String>;
}

/// An iterator that answers the steps which read rows; `is_backward` is from the end, towards the beginning.
#[expect(missing_docs, reason = "the names are those of iterators")]
pub trait Walked {
    fn to_end(&mut self, is_backward: bool);
    fn seek(&mut self, target: &[u8], is_backward: bool);
    fn step(&mut self, is_backward: bool);
    /// The row that it is at.
    fn row(&self) -> Option<Row>;
}

/// All rows: what [`Player::scan`] answers.
pub fn scan_rows(iter: &mut impl Walked, is_backward: bool) -> Vec<Row> {
    iter.to_end(is_backward);
    let mut rows = Vec::new();
    while let Some(row) = iter.row() {
        rows.push(row);
        iter.step(is_backward);
    }
    rows
}

/// The row at `target` and after each of the moves (`n` and `p`), up to the first place without one: what
/// [`Player::walk`] answers.
pub fn walk_rows(iter: &mut impl Walked, target: &str, moves: &str, is_backward: bool) -> Vec<Option<Row>> {
    iter.seek(target.as_bytes(), is_backward);
    let mut rows = vec![iter.row()];
    for step in moves.chars() {
        if rows.last().is_some_and(Option::is_none) {
            break;
        }
        iter.step(step != 'n');
        rows.push(iter.row());
    }
    rows
}

/// The rows from `target` on that begin with its first [`PREFIX`] bytes: what [`Player::prefix`] answers.
pub fn prefix_rows(iter: &mut impl Walked, target: &str) -> Vec<Row> {
    iter.seek(target.as_bytes(), false);
    let mut rows = Vec::new();
    while let Some(row) = iter.row().filter(|(key, _)| key.starts_with(prefix_of(target))) {
        rows.push(row);
        iter.step(false);
    }
    rows
}

/// The first [`PREFIX`] bytes of a key.
#[must_use]
pub fn prefix_of(key: &str) -> &[u8] {
    &key.as_bytes()[..key.len().min(PREFIX)]
}

/// Where the keys end that begin with the first [`PREFIX`] bytes of a key, of which none is the largest byte.
#[must_use]
pub fn prefix_end(key: &str) -> Vec<u8> {
    let mut end = prefix_of(key).to_vec();
    if let Some(last) = end.last_mut() {
        *last = last.saturating_add(1);
    }
    end
}

/// A value as short text: its length, what it begins with, and a hash of all of it.
fn show(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let start = &bytes[..bytes.len().min(12)];
    if bytes.len() == start.len() {
        return start.escape_ascii().to_string();
    }
    format!("{}..{}#{:04x}", start.escape_ascii(), bytes.len(), hash & 0xffff)
}

fn row((key, value): &Row) -> String {
    format!("{}={}", key.escape_ascii(), show(value))
}

fn found(value: Option<Vec<u8>>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| show(&value))
}

/// The answer to every step.
pub fn play(history: &History, player: &mut dyn Player) -> Vec<String> {
    let mut playing = Playing::new(player);
    history.0.iter().map(|step| playing.answer(step)).collect()
}

/// A history that is being played: what its steps left.
///
/// What is asked of family [`EXTRA`] while that is not there is not done, and answered as `absent`; of a batch and of
/// several keys only the others are done.
///
/// What `unlink` leaves follows from where tables end, and two engines need not have the same ones. So its answer says
/// no more than what holds for all: no row outside of the range has changed, and each inside consists of values that
/// were once written to its key. Older versions of a key, and operands without what they were merged with, may have
/// come to light, also for snapshots: these are all released, and the range is deleted before the next step.
pub struct Playing<'a> {
    player: &'a mut dyn Player,
    has_extra: bool,
    held: BTreeSet<u32>,
    /// Families in which ranges were deleted.
    ranged: BTreeSet<usize>,
    /// Values and operands of each key, whether they are there or not.
    written: BTreeMap<(usize, String), BTreeSet<Vec<u8>>>,
}

impl<'a> Playing<'a> {
    /// Before the first step.
    pub fn new(player: &'a mut dyn Player) -> Self {
        let (held, ranged, written) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        Self { player, has_extra: false, held, ranged, written }
    }

    /// Plays the next step.
    pub fn answer(&mut self, step: &Step) -> String {
        let is_there = |family: usize| family != EXTRA || self.has_extra;
        if !step.families().into_iter().any(is_there) {
            return "absent".to_owned();
        }
        let answer = match step {
            Step::Write(_)
            | Step::Snapshot(_)
            | Step::Release(_)
            | Step::Create
            | Step::Drop
            | Step::Set(..)
            | Step::Flush(_)
            | Step::Compact(..)
            | Step::Suggest(..)
            | Step::Unlink(..)
            | Step::Reopen => self.change(step).map(|()| "done".to_owned()),
            _ => self.read(step),
        };
        answer.unwrap_or_else(|error| format!("error: {error}"))
    }

    fn change(&mut self, step: &Step) -> Result<(), String> {
        let player = &mut self.player;
        match step {
            Step::Write(changes) => self.write(changes),
            Step::Flush(family) => player.flush(*family),
            Step::Compact(family, begin, end) => player.compact(*family, begin.as_deref(), end.as_deref()),
            Step::Suggest(family, begin, end) => player.suggest(*family, begin.as_deref(), end.as_deref()),
            Step::Set(family, name, value) => player.set_option(*family, name, value),
            Step::Snapshot(number) => {
                self.held.insert(*number);
                player.snapshot(*number)
            }
            Step::Release(number) => {
                self.held.remove(number);
                player.release(*number)
            }
            Step::Create if self.has_extra => Ok(()),
            Step::Create => {
                self.has_extra = true;
                player.create()
            }
            Step::Drop => {
                self.has_extra = false;
                self.ranged.remove(&EXTRA);
                self.written.retain(|(family, _), _| *family != EXTRA);
                player.drop_extra()
            }
            Step::Unlink(family, begin, end) => self.unlink(*family, begin, end),
            _ => {
                self.held.clear();
                player.reopen()
            }
        }
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), String> {
        let there = changes.iter().filter(|change| change.family() != EXTRA || self.has_extra);
        let there: Vec<Change> = there.cloned().collect();
        for change in &there {
            match change {
                Change::Put(family, key, value)
                | Change::Entity(family, key, value)
                | Change::Merge(family, key, value) => {
                    self.written.entry((*family, key.clone())).or_default().insert(value.bytes());
                }
                Change::DeleteRange(family, ..) => {
                    self.ranged.insert(*family);
                }
                Change::Delete(..) | Change::SingleDelete(..) => {}
            }
        }
        self.player.write(&there)
    }

    /// Deletes the tables of a range, whose end belongs to it.
    fn unlink(&mut self, family: usize, begin: &str, end: &str) -> Result<(), String> {
        let before = self.player.scan(family, (None, None), None, false)?;
        self.player.delete_files(family, begin, end)?;
        for number in std::mem::take(&mut self.held) {
            self.player.release(number)?;
        }
        let after = self.player.scan(family, (None, None), None, false)?;
        let is_inside = |(key, _): &&Row| (begin.as_bytes()..=end.as_bytes()).contains(&&key[..]);
        let outside = |rows: &[Row]| rows.iter().filter(|row| !is_inside(row)).map(row).collect::<Vec<_>>().join(" ");
        if outside(&before) != outside(&after) {
            return Err(format!("rows outside changed from {} to {}", outside(&before), outside(&after)));
        }
        for found in after.iter().filter(is_inside) {
            let key = String::from_utf8_lossy(&found.0).into_owned();
            let written = self.written.get(&(family, key));
            let is_written = |part: &[u8]| written.is_some_and(|values| values.contains(part));
            if !found.1.split(|byte| *byte == b',').all(is_written) {
                return Err(format!("{} was never written", row(found)));
            }
        }
        self.write(&[
            Change::DeleteRange(family, begin.to_owned(), end.to_owned()),
            Change::Delete(family, end.to_owned()),
        ])
    }

    fn read(&mut self, step: &Step) -> Result<String, String> {
        let player = &mut self.player;
        let join = |values: Vec<String>| values.join(" ");
        let rows = |rows: Vec<Row>| join(rows.iter().map(row).collect());
        let places = |rows: Vec<Option<Row>>| {
            join(rows.iter().map(|found| found.as_ref().map_or_else(|| "end".to_owned(), row)).collect())
        };
        match step {
            Step::Get(family, key, snapshot) => Ok(found(player.get(*family, key, *snapshot)?)),
            Step::Many(family, snapshot, keys) => {
                let keys: Vec<&str> = keys.iter().map(|key| &key[..]).collect();
                let values = player.many(*family, &keys, *snapshot)?;
                Ok(join(values.into_iter().map(found).collect()))
            }
            Step::Across(snapshot, keys) => {
                let there = keys.iter().filter(|(family, _)| *family != EXTRA || self.has_extra);
                let there: Vec<(usize, &str)> = there.map(|(family, key)| (*family, &key[..])).collect();
                let values = player.across(&there, *snapshot)?;
                Ok(join(values.into_iter().map(found).collect()))
            }
            Step::Scan { family, lower, upper, snapshot, is_backward } => {
                player.scan(*family, (lower.as_deref(), upper.as_deref()), *snapshot, *is_backward).map(rows)
            }
            Step::Walk { family, target, snapshot, moves, is_backward } => {
                player.walk(*family, target, *snapshot, moves, *is_backward).map(places)
            }
            Step::Tail { family, target, moves } => {
                player.tail(*family, target, moves, self.ranged.contains(family)).map(places)
            }
            Step::Prefix { family, target, snapshot, is_auto } => {
                player.prefix(*family, target, *snapshot, *is_auto).map(rows)
            }
            _ => Err("no step that reads".to_owned()),
        }
    }
}

/// The first step that two players answered differently.
#[must_use]
pub fn first_difference(history: &History, one: &[String], other: &[String]) -> Option<String> {
    let at = (0..one.len().max(other.len())).find(|&at| one.get(at) != other.get(at))?;
    let none = "(nothing)".to_owned();
    let (one, other) = (one.get(at).unwrap_or(&none), other.get(at).unwrap_or(&none));
    let step = history.0.get(at).map(ToString::to_string).unwrap_or_default();
    Some(format!("step {at}: {step}\n  one:   {one}\n  other: {other}"))
}
