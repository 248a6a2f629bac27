//! What each way to mend the database keeps and loses.
//!
//! ```text
//!                   possible                        of tables lost                      of logs lost
//! repair            there are files                 what is damaged                     what is damaged
//! point in time     MANIFEST, tables, logs open     what is damaged, which is an error  all behind the damage
//! remove tables     the rest opens                  every damaged table                 all behind the damage
//! best efforts      a whole state is there, opens   what the state lacks, is damaged    all
//! ```
//!
//! Whether an open is possible is asked of the engine's own code ([`states`](crate::states)).
//!
//! Invariant: a row that a remedy loses or changes is in one of its ranges. Where the MANIFEST is not to be trusted,
//! nothing tells what there was, and an open that is possible all the same may lose everything.

use crate::counter::Counter;
use crate::facts::{Facts, FamilyFacts, TableFacts};
use crate::logs::LogEntry;
use crate::refusals::refuse;
use crate::report::{KeyRange, Remedy, Use};
use crate::salvage;
use crate::states::{self, Newest, Opened};
use crate::surgery::Surgery;
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::{FileNumber, InternalComparator, MAX_SEQUENCE_NUMBER, Result, ValueType};
use ferrock_format::file_name::FileKind;
use ferrock_format::version_edit::NewFile;
use ferrock_tree::version::VersionSet;
use ferrock_tree::version::version_set::BestEfforts;
use std::collections::{BTreeMap, BTreeSet};

/// First and last user key of something, both in it.
type Keys = (Vec<u8>, Vec<u8>);

/// What is lost of a table that is missing or damaged.
#[derive(Clone, Debug)]
pub(crate) struct TableLoss {
    /// Where entries are that cannot be read.
    pub(crate) ranges: Vec<KeyRange>,
    /// Where entries are whose blob files cannot be opened, and are mended by a repair.
    pub(crate) of_blobs: Option<KeyRange>,
    /// All its keys.
    pub(crate) whole: KeyRange,
    /// Entries that are known to be lost.
    pub(crate) entries: u64,
    /// What is damaged is needed to find any key.
    pub(crate) hides_all: bool,
}

impl TableLoss {
    /// Of a table of which nothing can be read.
    pub(crate) fn of_all(whole: KeyRange) -> Self {
        Self { ranges: vec![whole.clone()], of_blobs: None, whole, entries: 0, hides_all: true }
    }

    /// Where reads of the table, as it is, fail or find less.
    fn in_reads(&self) -> Vec<KeyRange> {
        let whole = self.hides_all.then(|| self.whole.clone());
        whole.map_or_else(|| self.ranges.iter().chain(&self.of_blobs).cloned().collect(), |whole| vec![whole])
    }
}

/// What the logs have, and what of it is lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogLosses {
    /// Intact entries.
    pub(crate) kept: u64,
    /// Those that point-in-time recovery takes.
    taken: u64,
    /// Entries of families that are not known.
    pub(crate) unknown: u64,
    /// Entries that refer to blobs which are lost.
    pub(crate) broken: u64,
    /// Where entries may be that cannot be read.
    pub(crate) unread: Vec<KeyRange>,
    /// By family: the keys of intact entries.
    all: BTreeMap<String, Keys>,
    /// By family: the keys of intact entries that point-in-time recovery does not take.
    behind: BTreeMap<String, Keys>,
}

impl LogLosses {
    /// Counts an intact entry.
    pub(crate) fn note(&mut self, family: &FamilyFacts, entry: &LogEntry<'_>, is_taken: bool) {
        self.kept += 1;
        self.taken += u64::from(is_taken);
        let last = if entry.value_type == ValueType::RangeDeletion { entry.value } else { entry.key };
        let behind = (!is_taken).then_some(&mut self.behind);
        for ranges in behind.into_iter().chain([&mut self.all]) {
            match ranges.get_mut(&family.family.name) {
                Some(keys) => include(&family.order, keys, entry.key, last),
                None => _ = ranges.insert(family.family.name.clone(), (entry.key.to_vec(), last.to_vec())),
            }
        }
    }

    /// By family: the first and the last key of intact entries, as internal keys.
    pub(crate) fn internal_keys(&self, facts: &Facts) -> BTreeMap<u32, Keys> {
        let internal = |key: &[u8]| make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        let named = |name: &String| facts.families.values().find(|family| family.family.name == *name);
        let keys = self
            .all
            .iter()
            .filter_map(|(name, (from, to))| Some((named(name)?.family.id, (internal(from), internal(to)))));
        keys.collect()
    }

    /// Where point-in-time recovery may lose something.
    fn lost_in_time(&self, families: &[String]) -> Vec<KeyRange> {
        let all = |name: &String| KeyRange { family: Some(name.clone()), from: None, to: None };
        // It stops at a value that is lost: what is behind is not told apart here.
        let at_values = families.iter().filter(|_| self.broken > 0).map(all);
        self.unread.iter().cloned().chain(ranges_of(&self.behind)).chain(at_values).collect()
    }
}

fn ranges_of(keys: &BTreeMap<String, Keys>) -> impl Iterator<Item = KeyRange> {
    keys.iter().map(|(family, (from, to))| KeyRange {
        family: Some(family.clone()),
        from: Some(from.clone()),
        to: Some(to.clone()),
    })
}

/// What cannot be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    /// Tables that are missing or damaged.
    pub(crate) tables: BTreeMap<FileNumber, TableLoss>,
    pub(crate) logs: LogLosses,
    /// Tables that are not there, and of which a damaged MANIFEST does not tell whether they have to be.
    pub(crate) unsure: Vec<KeyRange>,
}

impl Losses {
    /// Entries that are known to be lost, whatever is done.
    fn entries(&self) -> u64 {
        self.tables.values().map(|table| table.entries).sum::<u64>() + self.logs.unknown + self.logs.broken
    }
}

/// Widens keys, if there are any yet, so that `first` and `last` are among them.
pub(crate) fn widen(order: &InternalComparator, keys: &mut Option<Keys>, first: &[u8], last: &[u8]) {
    include(order, keys.get_or_insert_with(|| (first.to_vec(), last.to_vec())), first, last);
}

fn include(order: &InternalComparator, (from, to): &mut Keys, first: &[u8], last: &[u8]) {
    if order.user().compare(first, from).is_lt() {
        *from = first.to_vec();
    }
    if order.user().compare(last, to).is_gt() {
        *to = last.to_vec();
    }
}

/// The keys of a table that the MANIFEST names.
pub(crate) fn range_of(family: &str, table: &NewFile) -> KeyRange {
    let (from, to) = (user_key(&table.smallest).to_vec(), user_key(&table.largest).to_vec());
    KeyRange { family: Some(family.to_owned()), from: Some(from), to: Some(to) }
}

const EVERYTHING: KeyRange = KeyRange { family: None, from: None, to: None };

/// Each range once, in order.
fn each_once(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort();
    ranges.dedup();
    ranges
}

fn impossible(note: String) -> Remedy {
    Remedy { note, ..Remedy::default() }
}

/// Fills in the remedies of the report.
pub(crate) fn judge(facts: &mut Facts, losses: &Losses, newest: &Newest) {
    let repair = of_repair(facts, losses);
    let mut opened = Opened::default();
    let point_in_time = in_place(facts, losses, newest, &mut opened, &BTreeSet::new());
    let tables = facts.report.files.iter().filter(|file| file.kind == FileKind::Table && file.used == Use::Needed);
    let bad = tables.filter(|file| file.is_damaged()).map(|file| file.number).collect();
    let surgery = Surgery::open_read_only(&facts.subject.directory, facts.subject.db.clone());
    let remove_tables = match surgery {
        Ok(_) => in_place(facts, losses, newest, &mut opened, &bad),
        Err(error) => impossible(format!("tables cannot be removed: {error}")),
    };
    let best_efforts = match states::best_efforts(&facts.subject) {
        // Beside a writer a file may be gone by now.
        Ok(found) => of_best_efforts(facts, losses, &mut opened, &found)
            .unwrap_or_else(|error| impossible(format!("what it keeps cannot be read: {error}"))),
        Err(error) => impossible(format!("the open fails: {error}")),
    };
    let report = &mut facts.report;
    (report.repair, report.point_in_time) = (repair, point_in_time);
    (report.remove_tables, report.best_efforts) = (remove_tables, best_efforts);
}

fn of_repair(facts: &Facts, losses: &Losses) -> Remedy {
    let tables = facts.families.values().flat_map(|family| &family.tables);
    if let Err(error) = refuse(facts) {
        return impossible(format!("it is refused: {error}"));
    }
    let mut lost: Vec<KeyRange> = losses.tables.values().flat_map(|table| table.ranges.clone()).collect();
    lost.extend(losses.logs.unread.iter().cloned());
    lost.extend(losses.unsure.iter().cloned());
    let replaced = if facts.is_trusted { Vec::new() } else { maybe_replaced(facts) };
    let count = replaced.len();
    lost.extend(replaced);
    if losses.logs.unknown > 0 && !facts.is_trusted {
        lost.push(EVERYTHING);
    }
    Remedy {
        is_possible: true,
        note: match facts.is_trusted {
            true => "levels stay; damaged tables are written anew, logs become tables".to_owned(),
            false => format!(
                "the MANIFEST cannot be trusted: every table counts, also one that was replaced and not yet removed, \
                 which {count} may be; {} tables that it names are not there, because they were replaced later or \
                 because they are lost",
                losses.unsure.len()
            ),
        },
        entries_kept: tables.map(|table| table.span.entries).sum::<u64>() + losses.logs.kept,
        entries_lost: losses.entries(),
        lost: each_once(lost),
    }
}

/// The keys of tables that a compaction may have replaced: one that was made later has keys of the same range, and is
/// not newer in all its numbers. What such a table holds counts again, where only a MANIFEST would tell.
fn maybe_replaced(facts: &Facts) -> Vec<KeyRange> {
    let mut ranges = Vec::new();
    for family in facts.families.values() {
        for table in &family.tables {
            let has_replaced = |later: &&TableFacts| {
                later.number > table.number && salvage::may_be_made_of(&family.order, &later.span, &table.span)
            };
            if family.tables.iter().any(|later| has_replaced(&later)) {
                ranges.push(table.span.range(&family.family.name));
            }
        }
    }
    ranges
}

/// Intact entries of a table that was read.
fn entries_of(facts: &Facts, number: FileNumber) -> Option<u64> {
    let mut tables = facts.families.values().flat_map(|family| &family.tables);
    tables.find(|table| table.number == number).map(|table| table.span.entries)
}

/// Point-in-time recovery of what CURRENT names, behind surgery that takes the tables in `bad` out.
fn in_place(
    facts: &Facts,
    losses: &Losses,
    newest: &Newest,
    opened: &mut Opened,
    bad: &BTreeSet<FileNumber>,
) -> Remedy {
    let subject = &facts.subject;
    let (versions, survey) = match (&newest.versions, &newest.survey) {
        (Ok(versions), Ok(survey)) => (versions, survey),
        (Err(error), _) | (_, Err(error)) => return impossible(format!("the open fails: {error}")),
    };
    let consistent = survey.check(versions, bad).err();
    if let Some(error) = consistent.or_else(|| opened.failure_of(subject, versions, bad)) {
        return impossible(format!("the open fails: {error}"));
    }
    let removed = bad.iter().filter_map(|number| entries_of(facts, *number)).sum::<u64>();
    let in_state = states::tables_of(versions).into_iter().filter(|(_, _, table)| !bad.contains(&table.number));
    let in_tables: u64 = in_state.filter_map(|(_, _, table)| entries_of(facts, table.number)).sum();
    let mut lost = losses.logs.lost_in_time(&facts.report.families);
    let (mut is_removed, mut is_read) = (0, 0);
    for (number, table) in &losses.tables {
        if bad.contains(number) {
            is_removed += 1;
            lost.push(table.whole.clone());
        } else {
            is_read += 1;
            lost.extend(table.in_reads());
        }
    }
    if !facts.is_trusted {
        lost = vec![EVERYTHING];
    }
    let mut notes = Vec::new();
    if !facts.is_trusted {
        notes.push("the MANIFEST is not that of the files: what comes up is not what was written".to_owned());
    }
    if is_removed > 0 {
        notes.push(format!("{is_removed} tables leave the MANIFEST"));
    }
    if is_read > 0 {
        notes.push(format!("reads of what is damaged in {is_read} tables fail"));
    }
    notes.push(match survey.stops() {
        true => "logs count up to their first damage".to_owned(),
        false => "the logs count to their end".to_owned(),
    });
    Remedy {
        is_possible: true,
        note: notes.join("; "),
        entries_kept: in_tables + losses.logs.taken,
        entries_lost: losses.entries() + removed + (losses.logs.kept - losses.logs.taken),
        lost: each_once(lost),
    }
}

fn of_best_efforts(facts: &Facts, losses: &Losses, opened: &mut Opened, found: &BestEfforts) -> Result<Remedy> {
    if let Some(error) = opened.failure_of(&facts.subject, &found.versions, &BTreeSet::new()) {
        return Ok(impossible(format!("the open fails: {error}")));
    }
    let is_newest_manifest = facts.is_trusted && facts.manifest == Some(found.manifest);
    let state = states::tables_of(&found.versions);
    let in_state: BTreeSet<FileNumber> = state.iter().map(|(_, _, table)| table.number).collect();
    let in_newest = facts.tree.tables();
    let (mut kept, mut lost) = (0, losses.logs.unread.clone());
    lost.extend(ranges_of(&losses.logs.all));
    for (id, family, table) in &state {
        let (entries, damaged) = contents_of(facts, losses, &found.versions, (*id, family), table)?;
        kept += entries;
        lost.extend(damaged);
        if in_newest.get(&table.number).is_none_or(|(own, _)| own != id) {
            lost.push(range_of(family, table));
        }
    }
    for (id, tables) in &found.left_out {
        let family = facts.families.get(id).map_or("default", |facts| &facts.family.name);
        lost.extend(tables.iter().map(|table| range_of(family, table)));
    }
    let newest = facts.families.values().flat_map(|family| &family.tables);
    let lacking: u64 = newest.filter(|table| !in_state.contains(&table.number)).map(|table| table.span.entries).sum();
    let lacks = found.left_out.values().map(Vec::len).sum::<usize>();
    let note = match (is_newest_manifest, lacks) {
        (true, 0) => "the newest state; nothing of the logs".to_owned(),
        (true, lacks) => format!("a state before {lacks} tables were added; nothing of the logs"),
        (false, _) => format!("a state that MANIFEST {} tells of; nothing of the logs", found.manifest),
    };
    Ok(Remedy {
        is_possible: true,
        note,
        entries_kept: kept,
        entries_lost: losses.entries() + losses.logs.kept + lacking,
        lost: if is_newest_manifest { each_once(lost) } else { vec![EVERYTHING] },
    })
}

/// Intact entries of a table of a state, and where it is damaged. The database may not need the table any more: then it
/// was not looked at before.
fn contents_of(
    facts: &Facts,
    losses: &Losses,
    versions: &VersionSet,
    (id, family): (u32, &str),
    recorded: &NewFile,
) -> Result<(u64, Vec<KeyRange>)> {
    let damaged = losses.tables.get(&recorded.number).map(TableLoss::in_reads);
    if let Some(entries) = entries_of(facts, recorded.number) {
        return Ok((entries, damaged.unwrap_or_default()));
    }
    if let Some(damaged) = damaged {
        return Ok((0, damaged));
    }
    let Some(view) = versions.families().into_iter().find(|view| view.id == id) else { return Ok((0, Vec::new())) };
    let order = InternalComparator::new(view.options.comparator.clone());
    let table = states::open_as_recorded(&facts.subject, family, recorded)?;
    let counter = Counter::read(&table, &order, &facts.blobs)?;
    let mut ranges = counter.lost(family);
    ranges.extend(counter.without_blobs(family));
    if counter.beside.is_some() {
        ranges.push(range_of(family, recorded));
    }
    Ok((counter.span.entries, ranges))
}
