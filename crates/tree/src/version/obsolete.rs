//! Which files of a database directory are no longer needed: a pure decision over a directory listing.
//!
//! | file | needed |
//! |---|---|
//! | WAL | from `min_log_number_to_keep` on, or as the legacy previous log |
//! | MANIFEST | the current one and any newer one (a switch whose outcome is not known) |
//! | table, blob file | in a live version, or from the smallest pending output on |
//! | `.dbtmp` | the one of a MANIFEST switch under way: its number is larger than that of the MANIFEST in use; blob files that are being written, from the smallest pending output on |
//! | `.trash` | never |
//! | OPTIONS | the newest two, and temporary ones |
//! | info logs | the newest `keep_log_file_num` |
//! | everything else | always: a file with an unknown name is never deleted |

use ferrock_base::FileNumber;
use ferrock_format::file_name::{self, FileKind};
use std::collections::HashSet;

/// The files that are needed, at the moment of the decision. It must be taken *before* the directory is listed: a file
/// made in between is then newer than `min_pending_output`.
#[derive(Clone, Debug, Default)]
pub struct NeededFiles {
    /// Tables of all live versions.
    pub live_tables: HashSet<FileNumber>,
    /// Blob files of all live versions.
    pub live_blob_files: HashSet<FileNumber>,
    /// Smallest number that a running flush or compaction may have given to a file, else the next file number.
    pub min_pending_output: FileNumber,
    /// WALs with smaller numbers hold nothing that is not in tables.
    pub min_log_number_to_keep: FileNumber,
    /// The legacy second log; 0 = none.
    pub prev_log_number: FileNumber,
    /// The MANIFEST in use.
    pub manifest_number: FileNumber,
    /// Info logs to keep.
    pub keep_info_logs: usize,
}

/// OPTIONS files that are kept.
const KEPT_OPTIONS_FILES: usize = 2;

/// The names in `listing` that can be deleted.
#[must_use]
pub fn obsolete_files<'a>(listing: &'a [String], needed: &NeededFiles) -> Vec<&'a str> {
    let parsed: Vec<_> =
        listing.iter().filter_map(|name| file_name::parse(name).map(|parsed| (name.as_str(), parsed))).collect();
    let nth_newest = |kind: FileKind, count: usize| {
        let numbers = parsed.iter().filter(|(_, parsed)| parsed.kind == kind).map(|(_, parsed)| parsed.number);
        let mut numbers: Vec<_> = numbers.filter(|number| kind != FileKind::InfoLog || number.0 > 0).collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        if count == 0 { None } else { numbers.get(count - 1).copied().or(Some(FileNumber(0))) }
    };
    let oldest_options = nth_newest(FileKind::Options, KEPT_OPTIONS_FILES);
    // The log being written counts as one of those kept.
    let oldest_info_log = nth_newest(FileKind::InfoLog, needed.keep_info_logs.saturating_sub(1));
    let is_obsolete = |kind: FileKind, number: FileNumber| match kind {
        FileKind::Log => number < needed.min_log_number_to_keep && number != needed.prev_log_number,
        FileKind::Manifest => number < needed.manifest_number,
        FileKind::Table => !needed.live_tables.contains(&number) && number < needed.min_pending_output,
        FileKind::Blob => !needed.live_blob_files.contains(&number) && number < needed.min_pending_output,
        // The new CURRENT is written to a temporary file with the number of the next MANIFEST.
        // So has a blob file that is not complete yet the name of a temporary file.
        FileKind::Temp => number <= needed.manifest_number && number < needed.min_pending_output,
        FileKind::Trash => true,
        FileKind::Options => oldest_options.is_some_and(|oldest| number < oldest),
        FileKind::InfoLog => number.0 > 0 && oldest_info_log.is_none_or(|oldest| number < oldest),
        _ => false,
    };
    parsed.iter().filter(|(_, parsed)| is_obsolete(parsed.kind, parsed.number)).map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn needed() -> NeededFiles {
        NeededFiles {
            live_tables: [FileNumber(10), FileNumber(11)].into(),
            live_blob_files: [FileNumber(12)].into(),
            min_pending_output: FileNumber(20),
            min_log_number_to_keep: FileNumber(15),
            manifest_number: FileNumber(17),
            keep_info_logs: 3,
            ..NeededFiles::default()
        }
    }

    #[test]
    fn each_kind_has_its_rule() {
        let listing = names(&[
            "000009.sst",
            "000010.sst",
            "000011.ldb",
            "000020.sst",
            "000012.blob",
            "000013.blob",
            "000021.blob",
            "000014.log",
            "000015.log",
            "000016.log",
            "MANIFEST-000016",
            "MANIFEST-000017",
            "MANIFEST-000018",
            "000017.dbtmp",
            "OPTIONS-000003",
            "OPTIONS-000005",
            "OPTIONS-000007",
            "OPTIONS-000008.dbtmp",
            "000010.sst.trash",
        ]);
        let obsolete = obsolete_files(&listing, &needed());
        let expected = ["000009.sst", "000013.blob", "000014.log", "MANIFEST-000016", "000017.dbtmp", "OPTIONS-000003"];
        assert_eq!(obsolete[..6], expected);
        assert_eq!(obsolete[6..], ["000010.sst.trash"]);
    }

    #[test]
    fn what_is_not_ours_stays() {
        let listing = names(&[
            "CURRENT",
            "LOCK",
            "IDENTITY",
            "LOG",
            "METADB-1",
            "COMPACTION_PROGRESS-5",
            "notes.txt",
            "9.sst.bak",
            "archive",
            "OPTIONS-000003",
        ]);
        assert!(obsolete_files(&listing, &needed()).is_empty());
    }

    #[test]
    fn old_info_logs_beyond_the_number_to_keep_go() {
        let listing = names(&["LOG", "LOG.old.30", "LOG.old.10", "LOG.old.20"]);
        assert_eq!(obsolete_files(&listing, &needed()), ["LOG.old.10"]);
        let one = NeededFiles { keep_info_logs: 1, ..needed() };
        assert_eq!(obsolete_files(&listing, &one), ["LOG.old.30", "LOG.old.10", "LOG.old.20"]);
    }

    #[test]
    fn a_switch_of_manifest_and_the_previous_log_are_respected() {
        let listing = names(&["000019.dbtmp", "000018.dbtmp", "000016.dbtmp", "000004.log", "000005.log"]);
        let mut needed = NeededFiles { prev_log_number: FileNumber(4), ..needed() };
        assert_eq!(obsolete_files(&listing, &needed), ["000016.dbtmp", "000005.log"]);
        needed.min_pending_output = FileNumber(16);
        assert_eq!(obsolete_files(&listing, &needed), ["000005.log"], "a job may be writing 16");
    }
}
