//! A history: what is written to a database and read from it, as text that several engines, or one under several
//! options, play and must answer alike.
//!
//! ```text
//! write put 0 k01 3x20; delete 1 k02; single 0 ~1; merge 0 k03 5x2; range 0 k01 k04     a batch
//! flush 0                    compact 0 k01 -              family; bounds, - for none
//! snapshot 3                 release 3                    a snapshot has the number that it is given
//! get 0 k01 @3               scan 0 k01 - @- back         @: as of a snapshot, or of now if it is not held
//! many 0 @3 k01 k02          several keys at once
//! walk 0 k01 @- nnpp         seek, then next and prev
//! walkback 0 k01 @- ppn      the same after a seek for the key or the one before
//! reopen                     close and open; no snapshot is held afterwards
//! ```
//!
//! `5x2` is a value of two bytes that tells of the number 5. A line that begins with `#` says nothing.
//!
//! Keys that begin with `~` are put only where they are absent, and removed by `single` alone: the contract of single
//! deletion. [`History::keeps_contract`] tells whether a history does so; one that does not has no one answer.

use std::collections::BTreeSet;
use std::fmt;

/// Families of a history.
pub const FAMILIES: usize = 2;
/// Where the keys that are deleted singly begin.
const SINGLE: &str = "~";

/// A value: a number, and how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value(pub u32, pub usize);

impl Value {
    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        format!("{}.", self.0).into_bytes().into_iter().cycle().take(self.1).collect()
    }
}

/// A record of a batch; each has its family first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Change {
    Put(usize, String, Value),
    Merge(usize, String, Value),
    Delete(usize, String),
    SingleDelete(usize, String),
    DeleteRange(usize, String, String),
}

/// A line of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the head of the module says it")]
pub enum Step {
    Write(Vec<Change>),
    Flush(usize),
    Compact(usize, Option<String>, Option<String>),
    Snapshot(u32),
    Release(u32),
    Get(usize, String, Option<u32>),
    Scan { family: usize, lower: Option<String>, upper: Option<String>, snapshot: Option<u32>, is_backward: bool },
    Many(usize, Option<u32>, Vec<String>),
    Walk { family: usize, target: String, snapshot: Option<u32>, moves: String, is_backward: bool },
    Reopen,
}

/// What happens to a database from its creation to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History(pub Vec<Step>);

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(family, key, Value(number, size)) => write!(f, "put {family} {key} {number}x{size}"),
            Self::Merge(family, key, Value(number, size)) => write!(f, "merge {family} {key} {number}x{size}"),
            Self::Delete(family, key) => write!(f, "delete {family} {key}"),
            Self::SingleDelete(family, key) => write!(f, "single {family} {key}"),
            Self::DeleteRange(family, begin, end) => write!(f, "range {family} {begin} {end}"),
        }
    }
}

fn or_none(text: Option<&String>) -> &str {
    text.map_or("-", |text| text)
}

fn at(snapshot: Option<u32>) -> String {
    snapshot.map_or("@-".to_owned(), |number| format!("@{number}"))
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(changes) => {
                let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
                write!(f, "write {}", changes.join("; "))
            }
            Self::Flush(family) => write!(f, "flush {family}"),
            Self::Compact(family, begin, end) => {
                write!(f, "compact {family} {} {}", or_none(begin.as_ref()), or_none(end.as_ref()))
            }
            Self::Snapshot(number) => write!(f, "snapshot {number}"),
            Self::Release(number) => write!(f, "release {number}"),
            Self::Get(family, key, snapshot) => write!(f, "get {family} {key} {}", at(*snapshot)),
            Self::Scan { family, lower, upper, snapshot, is_backward } => {
                let (lower, upper) = (or_none(lower.as_ref()), or_none(upper.as_ref()));
                let direction = if *is_backward { "back" } else { "forward" };
                write!(f, "scan {family} {lower} {upper} {} {direction}", at(*snapshot))
            }
            Self::Many(family, snapshot, keys) => {
                write!(f, "many {family} {} {}", at(*snapshot), keys.join(" "))
            }
            Self::Walk { family, target, snapshot, moves, is_backward } => {
                let word = if *is_backward { "walkback" } else { "walk" };
                write!(f, "{word} {family} {target} {} {moves}", at(*snapshot))
            }
            Self::Reopen => write!(f, "reopen"),
        }
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

/// The words of a line.
struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn word(&mut self) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| "a word is missing".to_owned())
    }

    fn text(&mut self) -> Result<String, String> {
        self.word().map(str::to_owned)
    }

    fn bound(&mut self) -> Result<Option<String>, String> {
        Ok(self.text().ok().filter(|text| text != "-"))
    }

    fn number<N: std::str::FromStr>(&mut self) -> Result<N, String> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("{word:?} is no number here"))
    }

    fn family(&mut self) -> Result<usize, String> {
        let family = self.number()?;
        if family < FAMILIES { Ok(family) } else { Err(format!("families are 0 to {}", FAMILIES - 1)) }
    }

    fn value(&mut self) -> Result<Value, String> {
        let word = self.word()?;
        let value =
            word.split_once('x').and_then(|(number, size)| Some(Value(number.parse().ok()?, size.parse().ok()?)));
        value.ok_or_else(|| format!("{word:?} is no value such as 7x100"))
    }

    fn snapshot(&mut self) -> Result<Option<u32>, String> {
        let word = self.word()?;
        match word.strip_prefix('@') {
            Some("-") => Ok(None),
            Some(number) => number.parse().map(Some).map_err(|_| format!("{word:?} is no snapshot")),
            None => Err(format!("{word:?} is no snapshot such as @3 or @-")),
        }
    }

    fn change(&mut self) -> Result<Change, String> {
        Ok(match self.word()? {
            "put" => Change::Put(self.family()?, self.text()?, self.value()?),
            "merge" => Change::Merge(self.family()?, self.text()?, self.value()?),
            "delete" => Change::Delete(self.family()?, self.text()?),
            "single" => Change::SingleDelete(self.family()?, self.text()?),
            "range" => Change::DeleteRange(self.family()?, self.text()?, self.text()?),
            word => return Err(format!("{word:?} is no change")),
        })
    }
}

impl Step {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Self, String> {
        let mut words = Words(line.split_whitespace());
        let step = match words.word()? {
            "write" => {
                let rest = line.trim_start().strip_prefix("write").unwrap_or_default();
                let changes = rest.split(';').map(|change| Words(change.split_whitespace()).change());
                return changes.collect::<Result<_, _>>().map(Self::Write);
            }
            "flush" => Self::Flush(words.family()?),
            "compact" => Self::Compact(words.family()?, words.bound()?, words.bound()?),
            "snapshot" => Self::Snapshot(words.number()?),
            "release" => Self::Release(words.number()?),
            "get" => Self::Get(words.family()?, words.text()?, words.snapshot()?),
            "scan" => Self::Scan {
                family: words.family()?,
                lower: words.bound()?,
                upper: words.bound()?,
                snapshot: words.snapshot()?,
                is_backward: words.word()? == "back",
            },
            "many" => Self::Many(words.family()?, words.snapshot()?, words.0.map(str::to_owned).collect()),
            word @ ("walk" | "walkback") => Self::Walk {
                family: words.family()?,
                target: words.text()?,
                snapshot: words.snapshot()?,
                moves: words.text().unwrap_or_default(),
                is_backward: word == "walkback",
            },
            "reopen" => Self::Reopen,
            word => return Err(format!("{word:?} is no step")),
        };
        Ok(step)
    }
}

impl History {
    /// Reads lines.
    ///
    /// # Errors
    /// The first line that is wrong, with its number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let steps = lines
            .map(|(number, line)| Step::parse(line).map_err(|error| format!("line {}: {line}: {error}", number + 1)));
        steps.collect::<Result<_, _>>().map(Self)
    }

    /// Draws a history of so many steps; `below` gives a number below another one, at least 1.
    pub fn draw(steps: usize, below: &mut dyn FnMut(u64) -> u64) -> Self {
        let mut draw = Draw { below, there: BTreeSet::new(), snapshots: 0 };
        Self((0..steps).map(|_| draw.step()).collect())
    }

    /// True if keys that are deleted singly are put in between, once, and nothing else is done to them.
    #[must_use]
    pub fn keeps_contract(&self) -> bool {
        let mut there = BTreeSet::new();
        let changes =
            self.0.iter().filter_map(|step| if let Step::Write(changes) = step { Some(changes) } else { None });
        changes.flatten().all(|change| match change {
            Change::Put(family, key, _) => !key.starts_with(SINGLE) || there.insert((*family, key.clone())),
            Change::SingleDelete(family, key) => key.starts_with(SINGLE) && there.remove(&(*family, key.clone())),
            Change::Merge(_, key, _) | Change::Delete(_, key) => !key.starts_with(SINGLE),
            Change::DeleteRange(_, _, end) => &end[..] <= SINGLE,
        })
    }

    /// The smallest history found that still `fails`, until that says `None`: whole chunks of steps go first, then
    /// changes of batches, then bytes of values and moves of walks.
    #[must_use]
    pub fn shrink(self, fails: &mut dyn FnMut(&Self) -> Option<bool>) -> Self {
        let mut best = self;
        let mut attempt = |best: &mut Self, smaller: Self| -> Option<bool> {
            if !smaller.keeps_contract() {
                return Some(false);
            }
            let fails = fails(&smaller)?;
            if fails {
                *best = smaller;
            }
            Some(fails)
        };
        loop {
            let before = best.clone();
            let mut chunk = best.0.len().div_ceil(2).max(1);
            loop {
                let mut start = 0;
                while start < best.0.len() {
                    let mut smaller = best.clone();
                    smaller.0.drain(start..(start + chunk).min(best.0.len()));
                    match attempt(&mut best, smaller) {
                        None => return best,
                        Some(true) => {}
                        Some(false) => start += chunk,
                    }
                }
                if chunk == 1 {
                    break;
                }
                chunk = chunk.div_ceil(2);
            }
            for at in 0..best.0.len() {
                for simpler in simpler(&best.0[at]) {
                    let mut smaller = best.clone();
                    smaller.0[at] = simpler;
                    match attempt(&mut best, smaller) {
                        None => return best,
                        Some(true) => break,
                        Some(false) => {}
                    }
                }
            }
            if best == before {
                return best;
            }
        }
    }
}

/// The step with a little less in it.
fn simpler(step: &Step) -> Vec<Step> {
    match step {
        Step::Write(changes) => {
            let mut found: Vec<Step> = Vec::new();
            for at in 0..changes.len() {
                let mut fewer = changes.clone();
                if changes.len() > 1 {
                    fewer.remove(at);
                    found.push(Step::Write(fewer.clone()));
                    fewer.clone_from(changes);
                }
                if let Change::Put(_, _, value) | Change::Merge(_, _, value) = &mut fewer[at]
                    && value.1 > 1
                {
                    value.1 /= 2;
                    found.push(Step::Write(fewer));
                }
            }
            found
        }
        Step::Walk { moves, .. } if !moves.is_empty() => {
            let mut shorter = step.clone();
            if let Step::Walk { moves, .. } = &mut shorter {
                moves.truncate(moves.len() / 2);
            }
            vec![shorter]
        }
        Step::Many(family, snapshot, keys) if keys.len() > 1 => {
            let halves = keys.chunks(keys.len().div_ceil(2));
            halves.map(|half| Step::Many(*family, *snapshot, half.to_vec())).collect()
        }
        _ => Vec::new(),
    }
}

struct Draw<'a> {
    below: &'a mut dyn FnMut(u64) -> u64,
    /// Keys for single deletion that are there.
    there: BTreeSet<(usize, String)>,
    snapshots: u32,
}

impl Draw<'_> {
    fn number(&mut self, below: u64) -> usize {
        (self.below)(below) as usize
    }

    fn key(&mut self) -> String {
        format!("k{:02}", self.number(40))
    }

    fn bound(&mut self) -> Option<String> {
        (self.number(3) == 0).then(|| self.key())
    }

    fn value(&mut self) -> Value {
        let size = match self.number(10) {
            0 => 0,
            1 => self.number(3000),
            2..5 => self.number(200),
            _ => 1 + self.number(20),
        };
        Value(self.number(1000) as u32, size)
    }

    fn snapshot(&mut self) -> Option<u32> {
        let wanted = self.snapshots > 0 && self.number(3) == 0;
        wanted.then(|| self.number(u64::from(self.snapshots)) as u32)
    }

    fn change(&mut self) -> Change {
        let family = self.number(FAMILIES as u64);
        match self.number(20) {
            0..8 => Change::Put(family, self.key(), self.value()),
            8..12 => Change::Delete(family, self.key()),
            12..15 => Change::Merge(family, self.key(), Value(self.number(1000) as u32, 1 + self.number(12))),
            15 | 16 => {
                if self.number(4) == 0 {
                    // Wide enough that whole tables lie under it.
                    return Change::DeleteRange(family, "k".to_owned(), SINGLE.to_owned());
                }
                let (a, b) = (self.key(), self.key());
                let (begin, end) = if a < b { (a, b) } else { (b, a) };
                Change::DeleteRange(family, begin, end)
            }
            _ => {
                let key = format!("{SINGLE}{}", self.number(4));
                if self.there.remove(&(family, key.clone())) {
                    return Change::SingleDelete(family, key);
                }
                self.there.insert((family, key.clone()));
                Change::Put(family, key, self.value())
            }
        }
    }

    fn step(&mut self) -> Step {
        let family = self.number(FAMILIES as u64);
        match self.number(40) {
            0..18 => {
                let changes = if self.number(4) == 0 { 1 + self.number(6) } else { 1 };
                Step::Write((0..changes).map(|_| self.change()).collect())
            }
            18..21 => Step::Flush(family),
            21 => Step::Compact(family, self.bound(), self.bound()),
            22 => Step::Compact(family, None, None),
            23 | 24 => {
                self.snapshots += 1;
                Step::Snapshot(self.snapshots - 1)
            }
            25 => Step::Release(self.number(u64::from(self.snapshots) + 1) as u32),
            26..29 => Step::Get(family, self.key(), self.snapshot()),
            29 => {
                let snapshot = self.snapshot();
                let keys = 1 + self.number(8);
                Step::Many(family, snapshot, (0..keys).map(|_| self.key()).collect())
            }
            30..34 => Step::Scan {
                family,
                lower: self.bound(),
                upper: self.bound(),
                snapshot: self.snapshot(),
                is_backward: self.number(2) == 0,
            },
            34..39 => {
                let moves = (0..self.number(12)).map(|_| if self.number(4) == 0 { 'p' } else { 'n' }).collect();
                let (target, snapshot, is_backward) = (self.key(), self.snapshot(), self.number(3) == 0);
                Step::Walk { family, target, snapshot, moves, is_backward }
            }
            _ => Step::Reopen,
        }
    }
}

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
    history.0.iter().map(|step| answer(step, player).unwrap_or_else(|error| format!("error: {error}"))).collect()
}

fn answer(step: &Step, player: &mut dyn Player) -> Result<String, String> {
    let done = |result: Result<(), String>| result.map(|()| "done".to_owned());
    match step {
        Step::Write(changes) => done(player.write(changes)),
        Step::Flush(family) => done(player.flush(*family)),
        Step::Compact(family, begin, end) => done(player.compact(*family, begin.as_deref(), end.as_deref())),
        Step::Snapshot(number) => done(player.snapshot(*number)),
        Step::Release(number) => done(player.release(*number)),
        Step::Reopen => done(player.reopen()),
        Step::Get(family, key, snapshot) => Ok(found(player.get(*family, key, *snapshot)?)),
        Step::Many(family, snapshot, keys) => {
            let keys: Vec<&str> = keys.iter().map(|key| &key[..]).collect();
            let values = player.many(*family, &keys, *snapshot)?;
            Ok(values.into_iter().map(found).collect::<Vec<_>>().join(" "))
        }
        Step::Scan { family, lower, upper, snapshot, is_backward } => {
            let rows = player.scan(*family, (lower.as_deref(), upper.as_deref()), *snapshot, *is_backward)?;
            Ok(rows.iter().map(row).collect::<Vec<_>>().join(" "))
        }
        Step::Walk { family, target, snapshot, moves, is_backward } => {
            let rows = player.walk(*family, target, *snapshot, moves, *is_backward)?;
            let rows = rows.iter().map(|found| found.as_ref().map_or_else(|| "end".to_owned(), row));
            Ok(rows.collect::<Vec<_>>().join(" "))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(mut seed: u64) -> History {
        History::draw(300, &mut |bound| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        })
    }

    #[test]
    fn texts_are_read_as_they_were_written() {
        let history = drawn(7);
        assert_eq!(History::parse(&format!("# drawn\n{history}\n")).unwrap(), history);
        for wrong in ["write put 0 k", "write put 7 k 1x1", "get 0 k 3", "scan 0", "fly 0", "write put 0 k 1"] {
            assert!(History::parse(wrong).unwrap_err().starts_with("line 1:"), "{wrong}");
        }
    }

    #[test]
    fn histories_keep_the_contract_of_single_deletion() {
        assert!((0..20).all(|seed| drawn(seed).keeps_contract()));
        for broken in
            ["write put 0 ~1 1x1; put 0 ~1 1x1", "write single 0 ~1", "write range 0 a ~5", "write delete 0 ~1"]
        {
            assert!(!History::parse(broken).unwrap().keeps_contract(), "{broken}");
        }
    }

    #[test]
    fn what_does_not_matter_goes() {
        let writes = |history: &History, text: &str| history.to_string().contains(text);
        let start =
            History::parse(&format!("{}write put 0 a 5x400; delete 1 b\nflush 1\n{}", drawn(1), drawn(2))).unwrap();
        let start = History(start.0.into_iter().filter(|step| !step.to_string().contains('~')).collect());
        let small = start.shrink(&mut |history| Some(writes(history, "put 0 a 5x") && writes(history, "flush 1")));
        assert_eq!(small.to_string(), "write put 0 a 5x1\nflush 1\n");
    }
}
