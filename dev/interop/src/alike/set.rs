//! Sets of options: what each open of a history has, as text.
//!
//! ```text
//! open ferrock | max_subcompactions=4; | write_buffer_size=65536; | write_buffer_size=131072;
//! ```
//!
//! The library, the database, the first family, the second one. Opens after the last line have the last line's.

use crate::engine::Outcome;
use crate::random::Random;
use crate::settings::{self, FamilySettings, Fixed, Settings, TableKind, Texts};
use ferrock_script::history::{FAMILIES, History};
use std::fmt::Write as _;

/// The library of an open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    RocksDb,
    Ferrock,
}

impl Which {
    fn name(self) -> &'static str {
        match self {
            Self::RocksDb => "rocksdb",
            Self::Ferrock => "ferrock",
        }
    }
}

/// One open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub which: Which,
    pub db: Texts,
    pub families: [Texts; FAMILIES],
}

/// The opens of a history, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set(pub Vec<Opening>);

/// What a history needs: its operands are texts.
const MERGE: (&str, &str) = ("merge_operator", "{id=StringAppendOperator;delimiter=,;}");

/// Smaller than `settings` draws them, for trees of a few hundred rows.
const TINY: &[(&str, &[&str])] = &[
    ("target_file_size_base", &["300", "2000"]),
    ("max_bytes_for_level_base", &["1000", "8000"]),
    ("max_compaction_bytes", &["1", "5000"]),
    ("level0_file_num_compaction_trigger", &["1", "2"]),
    ("max_sequential_skip_in_iterations", &["0", "1"]),
    ("max_successive_merges", &["1", "3"]),
    ("memtable_max_range_deletions", &["1", "3"]),
    ("compaction_pri", &["kRoundRobin", "kOldestSmallestSeqFirst", "kOldestLargestSeqFirst", "kByCompensatedSize"]),
    ("bottommost_file_compaction_delay", &["0", "1"]),
    ("min_blob_size", &["0", "3"]),
    ("blob_file_size", &["1", "300"]),
];

/// Styles that change from one open to the next: RocksDB goes on with the levels that any of them left.
const STYLES: [&str; 6] = [
    "kCompactionStyleLevel",
    "kCompactionStyleLevel",
    "kCompactionStyleUniversal",
    "kCompactionStyleUniversal",
    "kCompactionStyleFIFO",
    "kCompactionStyleNone",
];

/// Gives a family a style, and takes back what does not go with others than levels: ages (a queue drops what is old),
/// levels of dynamic size, data that stays above the last level. A queue is never longer than it may be, and no writer
/// waits for one to become shorter.
fn set_style(family: &mut Texts, style: &str) {
    replace(family, "compaction_style", style);
    if style == "kCompactionStyleLevel" {
        return;
    }
    for (name, value) in [
        ("level_compaction_dynamic_level_bytes", "false"),
        ("ttl", "0"),
        ("periodic_compaction_seconds", "0"),
        ("preclude_last_level_data_seconds", "0"),
        ("last_level_temperature", "kUnknown"),
    ] {
        replace(family, name, value);
    }
    never_wait(family);
}

/// No writer and no flush waits for compactions. A flush of RocksDB waits for ever where a style or a trigger that was
/// changed leaves files that no compaction takes, and an OPTIONS file of Ferrock's has limits that are soon met.
fn never_wait(family: &mut Texts) {
    for (name, value) in [
        ("level0_slowdown_writes_trigger", "1000"),
        ("level0_stop_writes_trigger", "2000"),
        ("soft_pending_compaction_bytes_limit", "0"),
    ] {
        replace(family, name, value);
    }
}

fn replace(texts: &mut Texts, name: &str, value: &str) {
    texts.retain(|(other, _)| other != name);
    texts.push((name.to_owned(), value.to_owned()));
}

/// The options of a family in one list, those of its tables too.
fn in_one(family: FamilySettings) -> Texts {
    let members: String = family.table.iter().map(|(name, value)| format!("{name}={value};")).collect();
    let mut texts = family.family;
    texts.retain(|(name, _)| !["merge_operator", "comparator"].contains(&&name[..]));
    if !members.is_empty() {
        texts.push(("block_based_table_factory".to_owned(), format!("{{{members}}}")));
    }
    texts
}

impl Set {
    /// One library, nothing set.
    pub fn defaults(which: Which) -> Self {
        Self(vec![Opening { which, db: Texts::new(), families: [Texts::new(), Texts::new()] }])
    }

    /// For a history with so many opens; `has_blobs` if it asks for blob files itself.
    pub fn draw(seed: u64, opens: usize, has_blobs: bool, random: &mut Random) -> Self {
        let fixed = Fixed::draw_alike(seed, has_blobs, random);
        let changes_style = random.percent(40);
        let mut kinds = [TableKind::Block; FAMILIES];
        let opening = |turn: usize| {
            let which = if random.percent(70) { Which::Ferrock } else { Which::RocksDb };
            let is_ferrock = which == Which::Ferrock;
            let mut drawn = settings::draw(&fixed, random, turn, is_ferrock, turn == 0, &mut kinds);
            drawn.db.retain(|(name, _)| !name.starts_with("create_"));
            let mut families = drawn.families.into_iter().map(in_one);
            let mut families = [families.next().unwrap_or_default(), families.next().unwrap_or_default()];
            for family in &mut families {
                if !is_ferrock {
                    never_wait(family);
                }
                if changes_style {
                    let style = *random.choose::<&str>(&STYLES);
                    set_style(family, style);
                }
                for &(name, values) in TINY {
                    if random.percent(35) {
                        replace(family, name, random.choose::<&str>(values));
                    }
                }
            }
            Opening { which, db: drawn.db, families }
        };
        Self((0..opens).map(opening).collect())
    }

    /// With as few options, and opens of their own, as still fail.
    pub fn shrink(mut self, fails: &mut dyn FnMut(&Self) -> bool) -> Self {
        for at in (0..self.0.len()).rev() {
            if self.0.len() > 1 {
                let mut smaller = self.clone();
                smaller.0.remove(at);
                if fails(&smaller) {
                    self = smaller;
                    continue;
                }
            }
            for list in 0..=FAMILIES {
                let mut option = 0;
                while option < self.0[at].list(list).len() {
                    let mut smaller = self.clone();
                    smaller.0[at].list(list).remove(option);
                    if fails(&smaller) {
                        self = smaller;
                    } else {
                        option += 1;
                    }
                }
            }
        }
        self
    }

    /// The open of this number, from 0.
    pub fn opening(&self, number: usize) -> &Opening {
        &self.0[number.min(self.0.len() - 1)]
    }
}

impl Opening {
    /// Options of the database, then of each family.
    fn list(&mut self, list: usize) -> &mut Texts {
        if list == 0 { &mut self.db } else { &mut self.families[list - 1] }
    }

    /// For an engine.
    pub fn settings(&self, is_first: bool) -> Settings {
        let mut db = self.db.clone();
        replace(&mut db, "create_if_missing", &is_first.to_string());
        replace(&mut db, "create_missing_column_families", &is_first.to_string());
        // The last one is that of the family that comes and goes.
        let families = self.families.iter().chain(self.families.last()).map(|family| {
            let mut family = family.clone();
            replace(&mut family, MERGE.0, MERGE.1);
            FamilySettings { family, ..FamilySettings::default() }
        });
        Settings { db, families: families.collect() }
    }
}

fn joined(texts: &Texts) -> String {
    texts.iter().map(|(name, value)| format!("{name}={value};")).collect()
}

/// A set and a history as text.
pub fn file(set: &Set, history: &History) -> String {
    let mut text = String::new();
    for Opening { which, db, families: [first, second] } in &set.0 {
        let _ = writeln!(text, "open {} | {} | {} | {}", which.name(), joined(db), joined(first), joined(second));
    }
    text + &history.to_string()
}

/// `name=value;...`, where a value may be a list in braces.
fn texts(text: &str) -> Outcome<Texts> {
    let (mut texts, mut depth, mut start) = (Texts::new(), 0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b';' if depth == 0 => {
                let (name, value) =
                    text[start..at].split_once('=').ok_or_else(|| format!("{}: no =", &text[start..at]))?;
                texts.push((name.to_owned(), value.to_owned()));
                start = at + 1;
            }
            _ => {}
        }
    }
    Ok(texts)
}

/// What [`file()`] wrote.
pub fn parse(text: &str) -> Outcome<(Set, History)> {
    let (mut set, mut steps) = (Set(Vec::new()), String::new());
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("open ") else {
            let _ = writeln!(steps, "{line}");
            continue;
        };
        let parts: Vec<&str> = rest.split('|').map(str::trim).collect();
        let &[which, db, first, second] = &parts[..] else {
            return Err(format!("{line}: an open has a library, a database and two families"));
        };
        let which = [Which::RocksDb, Which::Ferrock].into_iter().find(|known| known.name() == which);
        let which = which.ok_or_else(|| format!("{line}: libraries are rocksdb and ferrock"))?;
        set.0.push(Opening { which, db: texts(db)?, families: [texts(first)?, texts(second)?] });
    }
    if set.0.is_empty() {
        return Err("a file begins with a line such as: open ferrock | | |".to_owned());
    }
    Ok((set, History::parse(&steps)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_they_were_written() {
        let mut random = Random::new(3);
        let history = History::draw(40, &mut |bound| random.below(bound as usize) as u64);
        let set = Set::draw(3, 4, false, &mut random);
        assert_eq!(parse(&file(&set, &history)), Ok((set, history)));
        assert!(parse("get 0 k01 @-").is_err() && parse("open fjall | | |").is_err());
    }

    #[test]
    fn options_that_do_not_matter_go() {
        let set = Set::draw(5, 3, false, &mut Random::new(5));
        let (name, _) = set.0[1].families[0][2].clone();
        let has = |set: &Set| set.0.iter().any(|opening| opening.families[0].iter().any(|(other, _)| *other == name));
        let small = set.shrink(&mut |set| has(set));
        assert_eq!((small.0.len(), small.0[0].db.len(), small.0[0].families[0].len()), (1, 0, 1));
    }
}
