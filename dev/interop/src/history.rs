//! A history: what is done to one directory, by whom, in which order. A pure function of its seed.
//!
//! Turns alternate between Ferrock and RocksDB. A turn opens the directory that the other left, checks all of it,
//! writes, flushes, compacts, holds snapshots, checks again, and closes, or is killed with everything that is not
//! flushed in its log. Some turns only read.

use crate::engine::{FAMILIES, Record, WriteHow};
use crate::random::Random;
use crate::settings::{self, Fixed, Lengths, Merge, Order, Release, Settings, TableKind};

/// The library that has a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    Ferrock,
    RocksDb,
}

impl Player {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ferrock => "Ferrock",
            Self::RocksDb => "RocksDB",
        }
    }
}

/// How a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Close,
    /// The process is killed.
    Kill,
}

/// One step of a turn.
#[derive(Clone, Debug)]
pub enum Step {
    Write(Vec<Record>, WriteHow),
    Flush(usize),
    Compact {
        family: usize,
        begin: Option<Vec<u8>>,
        end: Option<Vec<u8>>,
        force: bool,
    },
    FlushWal,
    /// Takes one more snapshot.
    Snapshot,
    /// Reads everything as of a snapshot.
    CheckSnapshot(usize),
    Release(usize),
    /// Remembers how many bytes the tables take.
    Measure,
    /// The tables take no more than so many bytes beyond a few times what they took then.
    Bounded(u64),
    /// Some lookups and seeks.
    Probe,
    /// Everything.
    Check,
}

/// One turn.
#[derive(Clone, Debug)]
pub struct Turn {
    pub player: Player,
    pub is_read_only: bool,
    pub settings: Settings,
    pub steps: Vec<Step>,
    pub end: End,
}

/// What is done to a directory.
#[derive(Clone, Debug)]
pub struct History {
    pub fixed: Fixed,
    pub turns: Vec<Turn>,
}

const TURNS: usize = 8;

const OVERWRITINGS: usize = 40;
const OVERWRITTEN_KEYS: usize = 40;
const OVERWRITTEN_BYTES: usize = 500;

/// Single deletion asks that a key was put once since: these keys are put and single-deleted in turn and nothing else
/// is done to them, no range deletion covers them.
const SINGLE_DELETE_PREFIX: &str = "~one";

/// Draws batches.
pub struct Writer<'a> {
    fixed: &'a Fixed,
    /// Which single-delete keys are there, per family.
    is_there: Vec<Vec<bool>>,
}

impl History {
    pub fn new(release: Release, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let fixed = Fixed::draw(release, seed, &mut random);
        let mut writer = Writer::new(&fixed);
        let mut turns = Vec::new();
        let mut kinds = vec![TableKind::Block; FAMILIES.len()];
        for number in 0..TURNS {
            let is_ferrock = (number as u64 + seed).is_multiple_of(2);
            let player = if is_ferrock { Player::Ferrock } else { Player::RocksDb };
            let settings = settings::draw(&fixed, &mut random, number, is_ferrock, number == 0, &mut kinds);
            turns.push(writer.turn(player, settings, &mut random));
            if random.percent(25) {
                // Both see the directory as it is, and leave it as it is.
                for player in [Player::RocksDb, Player::Ferrock] {
                    let steps = vec![Step::Check];
                    let settings = Settings::default();
                    turns.push(Turn { player, is_read_only: true, settings, steps, end: End::Close });
                }
            }
        }
        Self { fixed, turns }
    }
}

impl<'a> Writer<'a> {
    pub fn new(fixed: &'a Fixed) -> Self {
        Self { fixed, is_there: vec![vec![false; 40]; FAMILIES.len()] }
    }

    fn turn(&mut self, player: Player, settings: Settings, random: &mut Random) -> Turn {
        let mut steps = vec![Step::Check];
        if player == Player::Ferrock && self.fixed.is_universal() && random.percent(60) {
            // Before a snapshot keeps versions.
            steps.extend(self.overwritings(&settings, random));
        }
        let mut snapshots: Vec<usize> = Vec::new();
        let mut taken = 0;
        // In a short turn little heals what opening did.
        let count = if random.percent(30) { random.below(3) } else { random.between(8, 30) };
        for _ in 0..count {
            let step = match random.below(100) {
                0..50 => {
                    let size = if random.percent(30) { 1 } else { random.between(2, 60) };
                    let how = WriteHow { sync: random.percent(5), disable_wal: false };
                    Step::Write(self.batch(size, random), how)
                }
                50..60 => Step::Flush(random.below(FAMILIES.len())),
                60..70 => self.compact(random),
                70..78 if !self.fixed.updates_in_place => {
                    taken += 1;
                    snapshots.push(taken - 1);
                    Step::Snapshot
                }
                78..86 if !snapshots.is_empty() => Step::CheckSnapshot(*random.choose(&snapshots)),
                86..90 if !snapshots.is_empty() => Step::Release(snapshots.remove(random.below(snapshots.len()))),
                90..94 => Step::FlushWal,
                94..96 if !settings.recycles_logs() => {
                    // Without a log only a flush keeps what is written.
                    let how = WriteHow { sync: false, disable_wal: true };
                    steps.push(Step::Write(self.batch(20, random), how));
                    steps.extend((1..FAMILIES.len()).map(Step::Flush));
                    Step::Flush(0)
                }
                _ => Step::Probe,
            };
            steps.push(step);
        }
        steps.extend(snapshots.into_iter().map(Step::CheckSnapshot));
        // RocksDB reads no other tables than those that a family writes.
        let new_kinds = settings.families.iter().enumerate().filter(|(_, settings)| settings.is_new_kind);
        // RocksDB plans the levels of a compaction by hand before that waits for automatic ones: one that moves a table
        // below them keeps it from being written again. The second one finds it.
        let all = |family| Step::Compact { family, begin: None, end: None, force: true };
        steps.extend(new_kinds.flat_map(|(family, _)| [all(family), all(family)]));
        steps.push(Step::Check);
        // Half of the time the last writes are certain to be in the log alone.
        if random.percent(50) {
            steps.push(Step::Write(self.batch(25, random), WriteHow::default()));
        }
        // RocksDB's recovery does not read the blob files that a log refers to.
        let may_kill = !settings.writes_blobs_at_once();
        let end = if random.percent(35) && may_kill { End::Kill } else { End::Close };
        if end == End::Kill {
            // With `manual_wal_flush`, what was not flushed is rightly lost.
            steps.push(Step::FlushWal);
        }
        Turn { player, is_read_only: false, settings, steps, end }
    }

    /// A batch over one family or both.
    pub fn batch(&mut self, size: usize, random: &mut Random) -> Vec<Record> {
        let family = random.below(FAMILIES.len());
        let both = random.percent(50);
        let mut batch = Vec::new();
        for _ in 0..size {
            let family = if both { random.below(FAMILIES.len()) } else { family };
            let merge = self.fixed.merges[family];
            batch.push(match random.below(100) {
                0..7 if self.fixed.has_entities => {
                    Record::PutEntity(family, self.key(family, random), value(merge, random))
                }
                0..58 => Record::Put(family, self.key(family, random), value(merge, random)),
                58..72 => Record::Delete(family, self.key(family, random)),
                72..86 => Record::Merge(family, self.key(family, random), operand(merge, random)),
                86..89 if self.fixed.has_range_deletions => self.delete_range(family, random),
                86..89 => Record::Delete(family, self.key(family, random)),
                _ => self.single(family, random),
            });
        }
        batch
    }

    /// The same keys are written again and again, with a flush each time: a family of a style that Ferrock does not
    /// have must not grow. None where a family is not to be compacted.
    fn overwritings(&self, settings: &Settings, random: &mut Random) -> Vec<Step> {
        let family = random.below(FAMILIES.len());
        let is_off = |(name, value): &(String, String)| name == "disable_auto_compactions" && value == "true";
        if settings.families.get(family).is_none_or(|settings| settings.family.iter().any(is_off)) {
            return Vec::new();
        }
        // A few tables of level 0, and what is on its way through the levels.
        let of_one = (OVERWRITTEN_KEYS * OVERWRITTEN_BYTES) as u64;
        let mut steps = vec![Step::Measure];
        for number in 0..OVERWRITINGS {
            if number == OVERWRITINGS / 2 {
                // Before so many tables that writers are stopped.
                steps.push(Step::Bounded(10 * of_one));
            }
            let put = |at| Record::Put(family, numbered("over", at), random.bytes(OVERWRITTEN_BYTES));
            steps.push(Step::Write((0..OVERWRITTEN_KEYS).map(put).collect(), WriteHow::default()));
            steps.push(Step::Flush(family));
        }
        steps.push(Step::Bounded(10 * of_one));
        steps
    }

    fn key(&self, family: usize, random: &mut Random) -> Vec<u8> {
        let mut key = key(random, self.fixed.shortest_key);
        match self.fixed.lengths[family] {
            Lengths::Any => {}
            Lengths::Short => key.truncate(SHORT_KEY),
            Lengths::Equal => key.resize(KEY_LENGTH, b'_'),
        }
        key
    }

    fn delete_range(&self, family: usize, random: &mut Random) -> Record {
        let (mut begin, mut end) = (self.key(family, random), self.key(family, random));
        if random.percent(70) {
            // A short one: two keys with the same prefix.
            let prefix = *random.choose(&PREFIXES);
            let at = random.below(70);
            (begin, end) = (numbered(prefix, at), numbered(prefix, at + random.between(0, 9)));
        }
        if begin > end {
            std::mem::swap(&mut begin, &mut end);
        }
        match self.fixed.orders[family] {
            Order::Bytewise => Record::DeleteRange(family, begin, end),
            Order::Reverse => Record::DeleteRange(family, end, begin),
        }
    }

    fn single(&mut self, family: usize, random: &mut Random) -> Record {
        let number = random.below(self.is_there[family].len());
        let key = format!("{SINGLE_DELETE_PREFIX}{number:03}").into_bytes();
        let is_there = &mut self.is_there[family][number];
        *is_there = !*is_there;
        if *is_there {
            Record::Put(family, key, value(self.fixed.merges[family], random))
        } else {
            Record::SingleDelete(family, key)
        }
    }

    fn compact(&self, random: &mut Random) -> Step {
        let family = random.below(FAMILIES.len());
        let force = random.percent(40);
        if random.percent(50) {
            return Step::Compact { family, begin: None, end: None, force };
        }
        let (mut begin, mut end) = (self.key(family, random), self.key(family, random));
        let is_ordered = match self.fixed.orders[family] {
            Order::Bytewise => begin <= end,
            Order::Reverse => begin >= end,
        };
        if !is_ordered {
            std::mem::swap(&mut begin, &mut end);
        }
        Step::Compact { family, begin: Some(begin), end: random.percent(80).then_some(end), force }
    }
}

const PREFIXES: [&str; 12] =
    ["aaa_", "aab_", "abc_", "b___", "cat:", "dog:", "e\u{1}x_", "five", "gggg", "hhh_", "iiii", "lll_"];

/// Bytes of most keys: of a prefix, and three digits. Those that are single-deleted have as many.
pub const KEY_LENGTH: usize = 7;
/// What RocksDB keeps of a key without an allocation.
pub const SHORT_KEY: usize = 30;

fn numbered(prefix: &str, number: usize) -> Vec<u8> {
    format!("{prefix}{number:03}").into_bytes()
}

/// A key: mostly one of about a thousand, so that keys are overwritten and found; some short, long, or with odd bytes.
pub fn key(random: &mut Random, shortest: usize) -> Vec<u8> {
    let prefix = *random.choose(&PREFIXES);
    let mut key = numbered(prefix, random.below(80));
    match random.below(100) {
        0..80 => {}
        80..90 => key.extend(std::iter::repeat_n(*random.choose(&[0, b'x', 0xff]), random.between(1, 3))),
        90..94 => key.truncate(shortest.max(random.below(4))),
        94..97 => key.extend(std::iter::repeat_n(b'L', random.between(1, 8) * 100)),
        _ => key.truncate(5),
    }
    key
}

/// A key to look for: also between and behind those that are written.
pub fn target(random: &mut Random, shortest: usize) -> Vec<u8> {
    match random.below(10) {
        0 => format!("{SINGLE_DELETE_PREFIX}{:03}", random.below(45)).into_bytes(),
        1 => {
            let length = shortest + random.below(6);
            random.bytes(length)
        }
        2 => [key(random, shortest), vec![0]].concat(),
        _ => key(random, shortest),
    }
}

fn value(merge: Merge, random: &mut Random) -> Vec<u8> {
    if merge == Merge::Uint64Add && random.percent(70) {
        return random.next().to_le_bytes().to_vec();
    }
    let length = match random.below(200) {
        0..10 => 0,
        10..120 => random.between(1, 60),
        120..185 => random.between(60, 600),
        185..198 => random.between(600, 6000),
        _ => random.between(30_000, 80_000),
    };
    // Half compressible.
    if random.percent(50) {
        let word = random.bytes(7);
        return word.iter().copied().cycle().take(length).collect();
    }
    random.bytes(length)
}

fn operand(merge: Merge, random: &mut Random) -> Vec<u8> {
    match merge {
        Merge::Uint64Add if random.percent(95) => random.next().to_le_bytes().to_vec(),
        _ => {
            let length = random.below(12);
            random.bytes(length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_is_a_history() {
        let text = |seed| format!("{:?}", History::new(Release::Current, seed).turns);
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }

    #[test]
    fn single_deletes_keep_their_contract() {
        for seed in 0..20 {
            let mut is_there = BTreeSet::new();
            let history = History::new(Release::Old, seed);
            let steps = history.turns.iter().flat_map(|turn| &turn.steps);
            let batches = steps.filter_map(|step| if let Step::Write(batch, _) = step { Some(batch) } else { None });
            for record in batches.flatten() {
                match record {
                    Record::SingleDelete(family, key) => assert!(is_there.remove(&(*family, key.clone()))),
                    Record::Put(family, key, _) if key.starts_with(SINGLE_DELETE_PREFIX.as_bytes()) => {
                        assert!(is_there.insert((*family, key.clone())), "put twice");
                    }
                    Record::DeleteRange(_, begin, end) => {
                        assert!(*begin.max(end) < SINGLE_DELETE_PREFIX.as_bytes().to_vec())
                    }
                    Record::Put(_, key, _)
                    | Record::PutEntity(_, key, _)
                    | Record::Merge(_, key, _)
                    | Record::Delete(_, key) => {
                        assert!(!key.starts_with(b"~"));
                    }
                }
            }
        }
    }
}
