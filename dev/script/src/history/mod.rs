//! A history: what is written to a database and read from it, as text that several engines, or one under several
//! options, play and must answer alike.
//!
//! ```text
//! write put 0 k01 3x20; delete 1 k02; single 0 ~1; merge 0 k03 5x2; range 0 k01 k04; entity 0 k05 7x9     a batch
//! flush 0                    compact 0 k01 -              family; bounds, - for none
//! snapshot 3                 release 3                    a snapshot has the number that it is given
//! get 0 k01 @3               scan 0 k01 - @- back         @: as of a snapshot, or of now if it is not held
//! many 0 @3 k01 k02          several keys at once
//! across @3 0 k01 1 k02      several keys of several families at once
//! walk 0 k01 @- nnpp         seek, then next and prev
//! walkback 0 k01 @- ppn      the same after a seek for the key or the one before
//! tail 0 k01 nnn             seek and next with the family's one tailing iterator, which stays until a reopen
//! prefix 0 k01 @- same       from a key on, those with its first two bytes; same or auto: how they are asked for
//! create                     family 2, with nothing in it, if it is not there
//! drop                       family 2, if it is there
//! set 0 max_compaction_bytes=5000                         an option, while the database is open
//! suggest 0 k01 -            the tables of a range are to be compacted some time
//! unlink 0 k01 k05           tables that lie in the range are deleted, then all of it; no snapshot is held afterwards
//! reopen                     close and open; no snapshot is held afterwards
//! ```
//!
//! `5x2` is a value of two bytes that tells of the number 5. An entity has columns of its value ([`columns`]), and
//! reads as it. A batch may be empty, and so may a range, which then begins where it ends. A line that begins with `#`
//! says nothing.
//!
//! What a step asks of family 2 while that is not there is not done: see [`Playing`].
//!
//! Keys that begin with `~` are put only where they are absent, and removed by `single` alone: the contract of single
//! deletion. [`History::keeps_contract`] tells whether a history does so; one that does not has no one answer.

mod draw;
mod play;
mod shrink;

pub use play::{Player, Playing, Row, Walked, first_difference, play, prefix_end, prefix_rows, scan_rows, walk_rows};
use std::collections::BTreeSet;
use std::fmt;

/// Families that are there from the beginning to the end.
pub const FAMILIES: usize = 2;
/// The number of the family that histories create and drop.
pub const EXTRA: usize = FAMILIES;
/// How many bytes the prefixes of `prefix` have.
pub const PREFIX: usize = 2;
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

/// The columns of an entity that reads as `value`: a large one, and a small one.
#[must_use]
pub fn columns(value: &[u8]) -> [(&[u8], &[u8]); 3] {
    [(b"", value), (b"again", value), (b"small", b"1")]
}

/// A record of a batch; each has its family first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Change {
    Put(usize, String, Value),
    Entity(usize, String, Value),
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
    Across(Option<u32>, Vec<(usize, String)>),
    Walk { family: usize, target: String, snapshot: Option<u32>, moves: String, is_backward: bool },
    Tail { family: usize, target: String, moves: String },
    Prefix { family: usize, target: String, snapshot: Option<u32>, is_auto: bool },
    Create,
    Drop,
    Set(usize, String, String),
    Suggest(usize, Option<String>, Option<String>),
    Unlink(usize, String, String),
    Reopen,
}

impl Change {
    /// The family that it is of.
    #[must_use]
    pub fn family(&self) -> usize {
        match self {
            Self::Put(family, ..)
            | Self::Entity(family, ..)
            | Self::Merge(family, ..)
            | Self::Delete(family, _)
            | Self::SingleDelete(family, _)
            | Self::DeleteRange(family, ..) => *family,
        }
    }

    /// Of keys that are deleted singly: `there` are those that are there.
    fn keeps_contract(&self, there: &mut BTreeSet<(usize, String)>) -> bool {
        match self {
            Self::Put(family, key, _) => !key.starts_with(SINGLE) || there.insert((*family, key.clone())),
            Self::SingleDelete(family, key) => key.starts_with(SINGLE) && there.remove(&(*family, key.clone())),
            Self::Entity(_, key, _) | Self::Merge(_, key, _) | Self::Delete(_, key) => !key.starts_with(SINGLE),
            Self::DeleteRange(_, _, end) => &end[..] <= SINGLE,
        }
    }
}

/// What happens to a database from its creation to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History(pub Vec<Step>);

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(family, key, Value(number, size)) => write!(f, "put {family} {key} {number}x{size}"),
            Self::Entity(family, key, Value(number, size)) => write!(f, "entity {family} {key} {number}x{size}"),
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
                write!(f, "{}", format!("write {}", changes.join("; ")).trim_end())
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
            Self::Across(snapshot, keys) => {
                let keys: Vec<String> = keys.iter().map(|(family, key)| format!("{family} {key}")).collect();
                write!(f, "across {} {}", at(*snapshot), keys.join(" "))
            }
            Self::Tail { family, target, moves } => write!(f, "tail {family} {target} {moves}"),
            Self::Prefix { family, target, snapshot, is_auto } => {
                let how = if *is_auto { "auto" } else { "same" };
                write!(f, "prefix {family} {target} {} {how}", at(*snapshot))
            }
            Self::Create => write!(f, "create"),
            Self::Drop => write!(f, "drop"),
            Self::Set(family, name, value) => write!(f, "set {family} {name}={value}"),
            Self::Suggest(family, begin, end) => {
                write!(f, "suggest {family} {} {}", or_none(begin.as_ref()), or_none(end.as_ref()))
            }
            Self::Unlink(family, begin, end) => write!(f, "unlink {family} {begin} {end}"),
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

    fn is_at_end(&self) -> bool {
        self.0.clone().next().is_none()
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
        if family <= EXTRA { Ok(family) } else { Err(format!("families are 0 to {EXTRA}")) }
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
            "entity" => Change::Entity(self.family()?, self.text()?, self.value()?),
            "merge" => Change::Merge(self.family()?, self.text()?, self.value()?),
            "delete" => Change::Delete(self.family()?, self.text()?),
            "single" => Change::SingleDelete(self.family()?, self.text()?),
            "range" => Change::DeleteRange(self.family()?, self.text()?, self.text()?),
            word => return Err(format!("{word:?} is no change")),
        })
    }
}

impl Step {
    /// The families of which at least one has to be there; the first one where a step is of none.
    fn families(&self) -> Vec<usize> {
        match self {
            Self::Flush(family)
            | Self::Compact(family, ..)
            | Self::Get(family, ..)
            | Self::Scan { family, .. }
            | Self::Many(family, ..)
            | Self::Walk { family, .. }
            | Self::Tail { family, .. }
            | Self::Prefix { family, .. }
            | Self::Set(family, ..)
            | Self::Suggest(family, ..)
            | Self::Unlink(family, ..) => vec![*family],
            Self::Drop => vec![EXTRA],
            Self::Across(_, keys) => keys.iter().map(|(family, _)| *family).collect(),
            Self::Write(_) | Self::Snapshot(_) | Self::Release(_) | Self::Create | Self::Reopen => vec![0],
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Self, String> {
        let mut words = Words(line.split_whitespace());
        let step = match words.word()? {
            "write" => {
                let rest = line.trim_start().strip_prefix("write").unwrap_or_default();
                if rest.trim().is_empty() {
                    return Ok(Self::Write(Vec::new()));
                }
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
            "across" => {
                let snapshot = words.snapshot()?;
                let mut keys = Vec::new();
                while !words.is_at_end() {
                    keys.push((words.family()?, words.text()?));
                }
                Self::Across(snapshot, keys)
            }
            "tail" => {
                Self::Tail { family: words.family()?, target: words.text()?, moves: words.text().unwrap_or_default() }
            }
            "prefix" => Self::Prefix {
                family: words.family()?,
                target: words.text()?,
                snapshot: words.snapshot()?,
                is_auto: words.word()? == "auto",
            },
            "create" => Self::Create,
            "drop" => Self::Drop,
            "set" => {
                let (family, option) = (words.family()?, words.word()?);
                let (name, value) = option.split_once('=').ok_or_else(|| format!("{option:?} is no name=value"))?;
                Self::Set(family, name.to_owned(), value.to_owned())
            }
            "suggest" => Self::Suggest(words.family()?, words.bound()?, words.bound()?),
            "unlink" => Self::Unlink(words.family()?, words.text()?, words.text()?),
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

    /// True if keys that are deleted singly are put in between, once, and nothing else is done to them.
    #[must_use]
    pub fn keeps_contract(&self) -> bool {
        let (mut there, mut has_extra) = (BTreeSet::new(), false);
        for step in &self.0 {
            let keeps = match step {
                Step::Write(changes) => {
                    let mut done = changes.iter().filter(|change| change.family() != EXTRA || has_extra);
                    done.all(|change| change.keeps_contract(&mut there))
                }
                Step::Unlink(_, _, end) => &end[..] < SINGLE,
                Step::Create | Step::Drop => {
                    has_extra = *step == Step::Create;
                    if !has_extra {
                        there.retain(|(family, _)| *family != EXTRA);
                    }
                    true
                }
                _ => true,
            };
            if !keeps {
                return false;
            }
        }
        true
    }
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
        for wrong in [
            "write put 0 k",
            "write put 7 k 1x1",
            "get 0 k 3",
            "scan 0",
            "fly 0",
            "write put 0 k 1",
            "set 0 x",
            "across @- 0",
        ] {
            assert!(History::parse(wrong).unwrap_err().starts_with("line 1:"), "{wrong}");
        }
    }

    #[test]
    fn histories_keep_the_contract_of_single_deletion() {
        assert!((0..20).all(|seed| drawn(seed).keeps_contract()));
        for broken in [
            "write put 0 ~1 1x1; put 0 ~1 1x1",
            "write single 0 ~1",
            "write range 0 a ~5",
            "write delete 0 ~1",
            "unlink 0 a ~5",
            "create\nwrite put 2 ~1 1x1\ndrop\ncreate\nwrite single 2 ~1",
        ] {
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
