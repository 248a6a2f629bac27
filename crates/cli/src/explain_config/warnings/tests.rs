//! Every warning is there for options that have it, and not for the defaults.

use super::super::figures::{Asked, Figures};
use super::super::subject::Subject;
use super::{Warning, all};
use ferrock::options::{CacheOptions, Profile, TableBlockCache, apply_text, from_file};
use ferrock::{ColumnFamilyOptions, DbOptions};
use ferrock_format::options_file::OptionsFile;
use std::collections::BTreeSet;

const GB: u64 = 1_000_000_000;

fn asked() -> Asked {
    Asked { data: None, memory: None, cache: None, key_size: 16, value_size: 100, compression_ratio: 0.5, cpus: 8 }
}

fn warnings_of(subject: &Subject, asked: &Asked) -> Vec<Warning> {
    all(subject, &Figures::of(subject, asked), asked)
}

fn of(text: &str, families: usize, asked: &Asked) -> Vec<Warning> {
    let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    apply_text(&mut db, &mut family, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let families = (0..families).map(|number| (format!("f{number}"), family.clone())).collect();
    warnings_of(&Subject::new(String::new(), db, families, Vec::new()), asked)
}

fn codes(warnings: &[Warning]) -> BTreeSet<&'static str> {
    warnings.iter().map(|warning| warning.code).collect()
}

/// Code, options that have it, options beside them that do not, families, and what is asked.
type Case = (&'static str, &'static str, &'static str, usize, fn(&mut Asked));

const fn nothing(_: &mut Asked) {}

const CASES: &[Case] = &[
    ("refused", "use_direct_reads=true;allow_mmap_reads=true", "allow_mmap_reads=true", 1, nothing),
    ("adjusted", "max_write_buffer_number=1", "max_write_buffer_number=2", 1, nothing),
    (
        "level0-slowdown-below-trigger",
        "level0_file_num_compaction_trigger=8;level0_slowdown_writes_trigger=4",
        "level0_file_num_compaction_trigger=8;level0_slowdown_writes_trigger=8",
        1,
        nothing,
    ),
    ("level0-stop-below-slowdown", "level0_stop_writes_trigger=10", "level0_stop_writes_trigger=20", 1, nothing),
    ("memtables-over-memory", "", "db_write_buffer_size=100m", 20, |asked| asked.memory = Some(2 * GB)),
    ("memory-over-limit", "", "write_buffer_size=1m;compaction_readahead_size=65536", 1, |asked| {
        asked.memory = Some(100 << 20);
    }),
    (
        "metadata-outgrows-cache",
        "block_based_table_factory={cache_index_and_filter_blocks=true}",
        "block_based_table_factory={cache_index_and_filter_blocks=false}",
        1,
        |asked| asked.data = Some(100 * GB),
    ),
    (
        "metadata-outside-cache",
        "block_based_table_factory={filter_policy=bloomfilter:10}",
        "block_based_table_factory={filter_policy=bloomfilter:10;cache_index_and_filter_blocks=true}",
        1,
        |asked| asked.data = Some(100 * GB),
    ),
    ("wal-unbounded", "", "max_total_wal_size=1g", 20, nothing),
    ("direct-reads-small-cache", "use_direct_reads=true", "use_direct_reads=false", 1, nothing),
    (
        "pin-without-cache",
        "block_based_table_factory={pin_l0_filter_and_index_blocks_in_cache=true}",
        "block_based_table_factory={pin_l0_filter_and_index_blocks_in_cache=true;cache_index_and_filter_blocks=true}",
        1,
        nothing,
    ),
    (
        "memtable-above-bound",
        "db_write_buffer_size=16m;write_buffer_size=32m",
        "db_write_buffer_size=64m;write_buffer_size=32m",
        1,
        nothing,
    ),
    (
        "no-block-cache",
        "block_based_table_factory={no_block_cache=true}",
        "block_based_table_factory={no_block_cache=true};allow_mmap_reads=true",
        1,
        nothing,
    ),
    ("open-files-below-tables", "max_open_files=100", "max_open_files=-1", 1, |asked| asked.data = Some(100 * GB)),
    ("too-many-files", "target_file_size_base=1m", "target_file_size_base=64m", 1, |asked| {
        asked.data = Some(1000 * GB);
    }),
    (
        "fixed-levels",
        "level_compaction_dynamic_level_bytes=false",
        "level_compaction_dynamic_level_bytes=false;compaction_style=kCompactionStyleUniversal",
        1,
        nothing,
    ),
    ("level0-and-base-apart", "write_buffer_size=1g", "write_buffer_size=128m", 1, nothing),
    ("level0-and-base-apart", "max_bytes_for_level_base=100g", "max_bytes_for_level_base=1g", 1, nothing),
    ("memtable-above-tables", "target_file_size_base=2m", "target_file_size_base=16m", 1, nothing),
    ("no-compactions", "disable_auto_compactions=true", "disable_auto_compactions=false", 1, nothing),
    ("level0-never-stops", "level0_stop_writes_trigger=100000", "level0_stop_writes_trigger=100", 1, nothing),
    ("debt-unbounded", "hard_pending_compaction_bytes_limit=0", "hard_pending_compaction_bytes_limit=100g", 1, nothing),
    (
        "universal-one-level",
        "compaction_style=kCompactionStyleUniversal;num_levels=1",
        "compaction_style=kCompactionStyleUniversal;num_levels=7",
        1,
        nothing,
    ),
    (
        "universal-few-runs",
        "compaction_style=kCompactionStyleUniversal",
        "compaction_style=kCompactionStyleUniversal;level0_file_num_compaction_trigger=12",
        1,
        |asked| asked.data = Some(200 * GB),
    ),
    (
        "universal-space",
        "compaction_style=kCompactionStyleUniversal;compaction_options_universal={max_size_amplification_percent=900}",
        "compaction_style=kCompactionStyleUniversal;compaction_options_universal={max_size_amplification_percent=100}",
        1,
        nothing,
    ),
    (
        "queue-without-age",
        "compaction_style=kCompactionStyleFIFO;ttl=0",
        "compaction_style=kCompactionStyleFIFO",
        1,
        nothing,
    ),
    (
        "queue-drops-data",
        "compaction_style=kCompactionStyleFIFO",
        "compaction_style=kCompactionStyleFIFO;compaction_options_fifo={max_table_files_size=20g}",
        1,
        |asked| asked.data = Some(10 * GB),
    ),
    (
        "bottom-uncompressed",
        "compression=kNoCompression",
        "compression=kNoCompression;bottommost_compression=kZSTD",
        1,
        |asked| {
            asked.data = Some(50 * GB);
        },
    ),
    (
        "mmap-with-compression",
        "allow_mmap_reads=true;compression=kLZ4Compression",
        "allow_mmap_reads=true;compression=kNoCompression",
        1,
        nothing,
    ),
    ("no-compaction-readahead", "compaction_readahead_size=0", "compaction_readahead_size=65536", 1, nothing),
    ("filters-absent", "", "block_based_table_factory={filter_policy=bloomfilter:10}", 1, |asked| {
        asked.data = Some(100 * GB);
    }),
    (
        "filter-of-nothing",
        "block_based_table_factory={filter_policy=bloomfilter:10;whole_key_filtering=false}",
        "block_based_table_factory={filter_policy=bloomfilter:10;whole_key_filtering=false};prefix_extractor=fixed:4",
        1,
        nothing,
    ),
    (
        "prefix-without-filter",
        "prefix_extractor=fixed:4",
        "prefix_extractor=fixed:4;block_based_table_factory={filter_policy=bloomfilter:10}",
        1,
        nothing,
    ),
    (
        "partitions-without-index",
        "block_based_table_factory={partition_filters=true}",
        "block_based_table_factory={partition_filters=true;index_type=kTwoLevelIndexSearch}",
        1,
        nothing,
    ),
    (
        "hash-index-without-prefix",
        "block_based_table_factory={index_type=kHashSearch}",
        "block_based_table_factory={index_type=kHashSearch};prefix_extractor=fixed:4",
        1,
        nothing,
    ),
    (
        "large-blocks",
        "block_based_table_factory={block_size=256k}",
        "block_based_table_factory={block_size=64k}",
        1,
        nothing,
    ),
    (
        "small-blocks",
        "block_based_table_factory={block_size=512}",
        "block_based_table_factory={block_size=1024}",
        1,
        nothing,
    ),
    (
        "long-restart-interval",
        "block_based_table_factory={block_restart_interval=1000}",
        "block_based_table_factory={block_restart_interval=256}",
        1,
        nothing,
    ),
    (
        "recovery-skips-damage",
        "wal_recovery_mode=kSkipAnyCorruptedRecords",
        "wal_recovery_mode=kAbsoluteConsistency",
        1,
        nothing,
    ),
    ("manual-wal-flush", "manual_wal_flush=true", "manual_wal_flush=false", 1, nothing),
    ("checks-off", "paranoid_checks=false", "paranoid_checks=true", 1, nothing),
    ("checks-off", "force_consistency_checks=false", "force_consistency_checks=true", 1, nothing),
    ("jobs-above-cpus", "max_background_jobs=9", "max_background_jobs=8", 1, nothing),
    (
        "jobs-above-cpus",
        "max_background_flushes=4;max_background_compactions=5",
        "max_background_flushes=4",
        1,
        nothing,
    ),
    ("delayed-writes-crawl", "delayed_write_rate=1000", "delayed_write_rate=1m", 1, nothing),
    (
        "blobs-never-collected",
        "enable_blob_files=true",
        "enable_blob_files=true;enable_blob_garbage_collection=true",
        1,
        nothing,
    ),
];

#[test]
fn the_defaults_have_none() {
    assert_eq!(of("", 1, &asked()), []);
    assert_eq!(of("", 3, &asked()), []);
    let some = Asked { data: Some(GB), memory: Some(4 * GB), ..asked() };
    assert_eq!(of("", 1, &some), [], "nor with a little data and enough memory");
}

#[test]
fn each_is_there_for_what_has_it_and_not_for_its_neighbour() {
    for (code, text, neighbour, families, ask) in CASES {
        let mut asked = asked();
        ask(&mut asked);
        let found = of(text, *families, &asked);
        assert!(codes(&found).contains(code), "{code}: {text}: {found:#?}");
        let others = of(neighbour, *families, &asked);
        assert!(!codes(&others).contains(code), "{code}: {neighbour}: {others:#?}");
        for warning in found {
            assert!(!warning.effect.is_empty() && !warning.advice.is_empty() && !warning.found.is_empty());
        }
    }
}

/// What a command line cannot ask for, and a file or a program can.
#[test]
fn what_only_a_file_or_a_program_has() {
    let file = "[DBOptions]\n unordered_write=true\n[CFOptions \"default\"]\n comparator=my.Own\n\
                [TableOptions/BlockBasedTable \"default\"]\n data_block_index_type=kDataBlockBinaryAndHash\n";
    let loaded = from_file(&OptionsFile::parse(file.as_bytes()).unwrap());
    let subject = Subject::new(String::new(), loaded.db, loaded.column_families, loaded.notes);
    let found = warnings_of(&subject, &asked());
    assert_eq!(codes(&found), BTreeSet::from(["unordered-writes", "hash-index-with-comparator"]), "{found:#?}");
    assert!(found[1].found.contains("my.Own"));

    let own = ["block_based_table_factory={cache_index_and_filter_blocks=true}", ""].map(|text| {
        let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        apply_text(&mut db, &mut family, text).unwrap();
        family.block_cache =
            Some(TableBlockCache::new(CacheOptions { capacity_bytes: 8 << 20, ..CacheOptions::default() }));
        let other = ("other".to_owned(), ColumnFamilyOptions::default());
        let families = vec![("default".to_owned(), family), other];
        let asked = Asked { data: Some(10 * GB), ..asked() };
        codes(&warnings_of(&Subject::new(String::new(), db, families, Vec::new()), &asked))
    });
    assert!(own[0].contains("family-cache-too-small") && !own[1].contains("family-cache-too-small"), "{own:?}");
}

/// Every code of the rules has a case here.
#[test]
fn no_rule_is_without_a_case() {
    let sources =
        [include_str!("memory.rs"), include_str!("shape.rs"), include_str!("reads.rs"), include_str!("safety.rs")];
    let mut rules = BTreeSet::new();
    for source in sources {
        for call in source.split("sink.add(").skip(1) {
            rules.insert(call.split('"').nth(1).unwrap());
        }
    }
    assert!(rules.len() >= 25, "{}", rules.len());
    let mut cases: BTreeSet<_> = CASES.iter().map(|case| case.0).collect();
    cases.extend(["unordered-writes", "hash-index-with-comparator", "family-cache-too-small"]);
    assert_eq!(rules.difference(&cases).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn families_with_the_same_warning_have_one() {
    let found = of("enable_blob_files=true", 3, &asked());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].families, ["f0", "f1", "f2"]);
}

/// Profiles do what they are for without a warning, but for the one whose point it is.
#[test]
fn profiles_have_none_on_a_machine_that_is_large_enough() {
    for profile in Profile::ALL {
        let (mut db, mut families) =
            (DbOptions::default(), vec![("default".to_owned(), ColumnFamilyOptions::default())]);
        profile.apply(&mut db, &mut families);
        let found = codes(&warnings_of(&Subject::new(String::new(), db, families, Vec::new()), &asked()));
        let expected = if profile == Profile::BulkLoad { BTreeSet::from(["no-compactions"]) } else { BTreeSet::new() };
        assert_eq!(found, expected, "{profile}");
    }
}
