//! Answers that are meant to be different. Each names the page of `docs` that says so.

/// A difference that is meant.
pub struct Known {
    /// What it is about, and why.
    pub about: &'static str,
    /// The answer's label contains this.
    pub label: &'static str,
    /// RocksDB's answer contains this.
    pub rocksdb: &'static str,
    /// Ferrock's answer contains this.
    pub ferrock: &'static str,
    /// What `docs/c-api.md` or `docs/compatibility.md` says.
    #[cfg_attr(not(test), allow(dead_code, reason = "a test compares it with the pages"))]
    pub said: &'static str,
}

impl Known {
    pub fn is(&self, label: &str, rocksdb: &str, ferrock: &str) -> bool {
        label.contains(self.label) && rocksdb.contains(self.rocksdb) && ferrock.contains(self.ferrock)
    }
}

const fn known(
    about: &'static str,
    label: &'static str,
    rocksdb: &'static str,
    ferrock: &'static str,
    said: &'static str,
) -> Known {
    Known { about, label, rocksdb, ferrock, said }
}

const PARSING: &str =
    "Of a text that is no value RocksDB names the C++ function that failed, Ferrock the value and its type";
const NUMBERS: &str =
    "A text of which RocksDB reads the first digits, or a negative number for one without sign, is refused";
const NAMES: &str = "A name of an object that is not built in is refused when it is set; RocksDB may ignore it";
const BOUNDS: &str = "the nearest good one is used, and LOG and `option_notes` name it";
const NOT_BUILT: &str = "of a feature that is not built yet";
const OPERATOR: &str =
    "A batch with an operand for a family without a merge operator is refused before anything is written";
const READ_ONLY: &str = "Options of a database that is open read-only do not change";
const BYTES_PER_SYNC: &str = "A change of options of the database leaves a `bytes_per_sync` of 0 as it is";
const DROPPED: &str = "A database that is open read-only drops no family";
const CONTRACT: &str = "The error of a single deletion over a deletion names the key";
const NUMBERS_GIVEN: &str = "Sequence numbers of writes that left nothing are not given again after an open";
const PENDING: &str = "`rocksdb.compaction-pending` is 0 where automatic compactions are off";
const CHANGED: &str = "A change of options brings them into their bounds, too";
const WAL_DIR: &str = "An OPTIONS file has `wal_dir`, empty too";

/// Those that few seeds show.
pub const RARE: &[Known] = &[
    known("bytes per sync after a change", "[DBOptions] bytes_per_sync", "1048576", "0", BYTES_PER_SYNC),
    // The trigger of compactions is changed to 7; RocksDB leaves the others below it until the next open.
    known("bounds after a change", "level0_slowdown_writes_trigger", "", "7", CHANGED),
    known("bounds after a change", "level0_stop_writes_trigger", "", "7", CHANGED),
    known("compactions that are off", "property rocksdb.compaction-pending", "1", "0", PENDING),
    // Both refuse it, each for another of two reasons.
    known("operands for a dropped family", "merge", "Provide a merge_operator", "Invalid column family", OPERATOR),
    known("single deletions", "", "violating the contract of SingleDelete", "violating the contract", CONTRACT),
];

/// A difference after which the two databases are not the same any more.
pub const APART: Known = known("drops in a read-only database", "drop a family", "done", "read only mode", DROPPED);

/// The difference between sequence numbers from an open on.
pub const AHEAD: Known = known("numbers of lost writes", "open", "sequence", "sequence", NUMBERS_GIVEN);

/// Those that every run of many seeds shows.
pub const KNOWN: &[Known] = &[
    known("texts that are no values", "", "Error parsing", "is not a", PARSING),
    known("enums by number", "", "No mapping for enum", "is not a InfoLogLevel", PARSING),
    known(
        "texts of options that are none",
        "options text",
        "Unexpected char in key",
        "Mismatched key value pair",
        PARSING,
    ),
    known("an empty name", "options text", "Empty key found", "Mismatched key value pair", PARSING),
    known(
        "a struct with an unknown name",
        "",
        "Extra option not recognized: block_based_table_factory",
        "nonsense",
        PARSING,
    ),
    known("digits and more", "num_levels=3x", "done", "is not a i32", NUMBERS),
    known("hexadecimals", "write_buffer_size=0x1000", "done", "is not a usize", NUMBERS),
    known("signs", "write_buffer_size=-1", "done", "is not a usize", NUMBERS),
    known("a closing brace alone", "options text", "done", "Mismatched key value pair", NUMBERS),
    known("filter policies of other names", "options text", "done", "filter policy", NAMES),
    known("comparators of other names", "options text", "done", "comparator nonsense is not built in", NAMES),
    known("merge operators of other names", "options text", "done", "merge operator nonsense is not built in", NAMES),
    known(
        "prefix extractors of other names",
        "options text",
        "done",
        "prefix extractor nonsense is not built in",
        NAMES,
    ),
    known("table factories of other names", "options text", "done", "is not built yet", NOT_BUILT),
    known(
        "an object that is not there",
        "options text \"row_cache=nullptr\"",
        "Extra option not recognized",
        "done",
        NAMES,
    ),
    known("values of what is not built", "open", "", "is not built yet", NOT_BUILT),
    known(
        "no compression as a text",
        "open",
        "kDisableCompressionOption not permitted",
        "is not a CompressionType",
        PARSING,
    ),
    known("hours that are none, as a text", "open", "", "option daily_offpeak_time_utc", PARSING),
    known("levels do not shrink downwards", "max_bytes_for_level_multiplier", "0.500000", "1.000000", BOUNDS),
    known(
        "writers are never slowed down",
        "level0_slowdown_writes_trigger",
        "",
        "-1",
        "A negative `level0_slowdown_writes_trigger` stays",
    ),
    known("at least one background job", "max_background_jobs", "-1", "1", BOUNDS),
    known("at least one background job", "max_background_jobs", "0", "1", BOUNDS),
    known("fewer open files", "[DBOptions] max_open_files", "20", "", "`max_open_files` from 0 to 19 stays"),
    known("fewer open files", "LOG Options.max_open_files", "20", "", "`max_open_files` from 0 to 19 stays"),
    known("the directory of logs", "wal_dir", "no answer", "", WAL_DIR),
    known("no merge operator", "batch", "Merge requires", "Provide a merge_operator", OPERATOR),
    known("no merge operator", "batch bytes afterwards", "", "0000000000000000", OPERATOR),
    known("options of a read-only database", "change", "", "Not supported operation in read only mode", READ_ONLY),
    known(
        "options that are fixed",
        "change comparator",
        "done",
        "Option not changeable",
        "An option that is fixed is refused",
    ),
    known("members of structs", "options text", "Unrecognized option: compression_opts", "is not a", PARSING),
    known(
        "formats that no release knows",
        "open",
        "Unsupported BlockBasedTable format_version",
        "format_version",
        "an argument or an option is wrong",
    ),
];
