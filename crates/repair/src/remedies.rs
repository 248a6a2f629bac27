//! What each way to mend the database keeps and loses.

use crate::facts::Facts;
use crate::report::{KeyRange, Remedy, Use};
use ferrock_base::internal_key::user_key;
use ferrock_format::file_name::FileKind;
use ferrock_format::version_edit::NewFile;

/// Entries of logs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogCounts {
    /// Entries that a repair keeps.
    pub(crate) kept: u64,
    /// Those among them that lie behind damage.
    pub(crate) behind_damage: u64,
    /// Entries of families that are not known.
    pub(crate) unknown: u64,
    /// A log is damaged: point-in-time recovery ends there.
    pub(crate) is_stopped: bool,
}

/// What cannot be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    pub(crate) in_tables: Vec<KeyRange>,
    pub(crate) in_logs: Vec<KeyRange>,
    pub(crate) entries_lost: u64,
    pub(crate) logs: LogCounts,
    pub(crate) edits: u64,
    pub(crate) complete_edits: u64,
    /// Tables that are not there, and may have to be.
    pub(crate) unsure: u64,
}

/// The keys of a table that the MANIFEST names.
pub(crate) fn range_of(family: &str, table: &NewFile) -> KeyRange {
    let (from, to) = (user_key(&table.smallest).to_vec(), user_key(&table.largest).to_vec());
    KeyRange { family: Some(family.to_owned()), from: Some(from), to: Some(to) }
}

/// Fills in the remedies of the report.
pub(crate) fn judge(facts: &mut Facts, losses: Losses) {
    let tables = facts.families.values().flat_map(|family| &family.tables);
    let in_tables: u64 = tables.clone().map(|table| table.span.entries).sum();
    let whole: u64 = tables.filter(|table| !table.is_damaged).map(|table| table.span.entries).sum();
    let lost = losses.in_tables.iter().chain(&losses.in_logs).cloned().collect();
    let has_files = !facts.subject.manifests.is_empty() || !facts.subject.tables.is_empty() || !facts.logs.is_empty();
    let report = &facts.report;
    let is_metadata_sound =
        facts.is_trusted && !report.files.iter().any(|file| file.kind == FileKind::Current && file.is_damaged());
    let needed = |kind| report.files.iter().filter(move |file| file.kind == kind && file.used == Use::Needed);
    let bad_tables = needed(FileKind::Table).filter(|file| file.is_damaged()).count();
    let missing_tables = needed(FileKind::Table).filter(|file| file.size_bytes.is_none()).count();
    let repair = Remedy {
        is_possible: has_files,
        note: match (has_files, facts.is_trusted) {
            (false, _) => "there is neither a MANIFEST nor a table nor a log".to_owned(),
            (true, true) => "levels stay; damaged tables are written anew, logs become tables".to_owned(),
            (true, false) => format!(
                "the MANIFEST cannot be trusted: every table counts, also one that was replaced and not yet removed; {} \
                 tables that it names are not there, because they were replaced later or because they are lost",
                losses.unsure
            ),
        },
        entries_kept: in_tables + losses.logs.kept,
        entries_lost: losses.entries_lost,
        lost,
    };
    let point_in_time = Remedy {
        is_possible: is_metadata_sound && missing_tables == 0,
        note: match (is_metadata_sound, missing_tables) {
            (false, _) => "CURRENT or the MANIFEST is damaged: the database does not open".to_owned(),
            (true, 0) if losses.logs.is_stopped => "logs count up to their first damage".to_owned(),
            (true, 0) => "the logs are whole".to_owned(),
            (true, _) => "tables are missing: the database does not open".to_owned(),
        },
        entries_kept: in_tables + losses.logs.kept - losses.logs.behind_damage,
        entries_lost: losses.entries_lost + losses.logs.behind_damage,
        lost: losses.in_logs.clone(),
    };
    let remove_tables = Remedy {
        is_possible: is_metadata_sound,
        note: match is_metadata_sound {
            true => format!("{bad_tables} tables leave the MANIFEST"),
            false => "CURRENT or the MANIFEST is damaged: repair instead".to_owned(),
        },
        entries_kept: whole + losses.logs.kept,
        entries_lost: losses.entries_lost + (in_tables - whole),
        lost: losses.in_tables,
    };
    let best_efforts = Remedy {
        is_possible: losses.complete_edits > 0,
        note: match losses.complete_edits {
            0 => "no state of the MANIFEST has all its files".to_owned(),
            edits => format!("the state after edit {edits} of {}; nothing of the logs", losses.edits),
        },
        entries_kept: if losses.complete_edits == losses.edits { in_tables } else { 0 },
        entries_lost: losses.logs.kept,
        lost: Vec::new(),
    };
    let report = &mut facts.report;
    (report.repair, report.point_in_time) = (repair, point_in_time);
    (report.remove_tables, report.best_efforts) = (remove_tables, best_efforts);
}
