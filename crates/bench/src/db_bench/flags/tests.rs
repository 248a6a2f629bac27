use super::*;
use crate::options;
use crate::settings::Settings;

fn values(line: &str) -> Result<Values, String> {
    match parse(line.split_whitespace().map(str::to_owned))? {
        Parsed::Run(values) => Ok(values),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn every_spelling_of_gflags() {
    for line in ["--num=5", "-num=5", "--num 5", "-num 5", "--num=0x5", "--num=7 --num=5"] {
        assert_eq!(values(line).unwrap().get::<u64>("num"), Ok(5), "{line}");
    }
    for line in
        ["--sync", "-sync", "--sync=true", "--sync=1", "--sync true", "--sync yes", "--nosync --sync", "--sync --num 5"]
    {
        assert!(values(line).unwrap().bool("sync"), "{line}");
    }
    for line in ["", "--nosync", "-nosync", "--sync=false", "--sync 0", "--sync --nosync"] {
        assert!(!values(line).unwrap().bool("sync"), "{line}");
    }
    assert_eq!(values("--cache_size=8m").unwrap().get::<i64>("cache_size"), Ok(8 << 20));
    assert_eq!(values("--cache-size=-1").unwrap().get::<i64>("cache_size"), Ok(-1));
    assert_eq!(
        values("--benchmarks fillseq,stats --compression_ratio=.25").unwrap().text("benchmarks"),
        "fillseq,stats"
    );
    assert!(matches!(parse(["--help".to_owned()]), Ok(Parsed::Help)));
    assert!(matches!(parse(["--num=1".to_owned(), "-version".to_owned()]), Ok(Parsed::Version)));
}

#[test]
fn what_is_not_understood_is_refused_with_a_hint() {
    let message = |line| values(line).unwrap_err();
    assert_eq!(message("--nmu=5"), "unknown flag --nmu; did you mean --num?");
    assert_eq!(message("--treads 5"), "unknown flag --treads; did you mean --reads?");
    assert_eq!(message("--a_flag_of_another_program"), "unknown flag --a_flag_of_another_program");
    assert!(message("--nonum").starts_with("unknown flag --nonum"), "a number cannot be negated");
    assert_eq!(message("--num"), "--num needs a value");
    assert_eq!(message("--num=many"), "--num=many: an integer is expected");
    assert_eq!(message("--compression_ratio=nan"), "--compression_ratio=nan: a number is expected");
    assert_eq!(message("--sync=perhaps"), "--sync=perhaps: true or false is expected");
    assert!(message("fillseq").contains("named by --benchmarks"));
    assert!(message("--").contains("is not a flag"));
}

#[test]
fn what_is_not_here_is_refused_with_the_reason_and_its_default_is_fine() {
    let message = values("--row_cache_size=1").unwrap_err();
    assert_eq!(message, "Not implemented: --row_cache_size=1: a cache of rows has no effect: blocks are cached");
    assert!(values("--row_cache_size=0 --use_plain_table=false --mix_get_ratio=1.0").is_ok());
    let message = values("--mmap_write=1").unwrap_err();
    assert!(
        message.starts_with("Not implemented: --mmap_write=true: of the option allow_mmap_writes only"),
        "{message}"
    );
    assert!(values("--wal_ttl_seconds=9 --wal_size_limit_MB=1").is_ok());
    assert!(values("--mmap_write=0 --blob_garbage_collection_age_cutoff=0.25").is_ok());
    for flag in table().iter().filter(|flag| matches!(flag.effect, Effect::Refused(_) | Effect::Inert(..))) {
        assert!(parse([format!("--{}={}", flag.name, flag.default)]).is_ok(), "{}", flag.name);
    }
}

#[test]
fn what_is_gone_everywhere_is_said_and_ignored() {
    let values = values("--soft_rate_limit=1.5 --disable_seek_compaction=1 --num=3").unwrap();
    let notes = values.notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(notes[1], "--soft_rate_limit is ignored: writes are slowed down by delayed_write_rate since RocksDB 4");
}

#[test]
fn the_table_is_sound() {
    let table = table();
    assert!(table.len() > 300, "{}", table.len());
    for pair in table.windows(2) {
        assert!(pair[0].name < pair[1].name, "{} is there twice", pair[0].name);
    }
    for flag in table {
        assert!(!flag.help.is_empty(), "{}", flag.name);
        match flag.effect {
            Effect::Option(scope, name) => assert!(option_info(scope, name).is_some(), "{name}"),
            Effect::Inert(scope, name) => assert!(default_without_effect(scope, name).is_some(), "{name}"),
            _ => {}
        }
        if !matches!(flag.effect, Effect::Gone(_)) {
            assert!(
                parse([format!("--{}={}", flag.name, flag.default)]).is_ok(),
                "{}: its default is no value",
                flag.name
            );
        }
    }
}

#[test]
fn no_flag_is_read_and_forgotten() {
    let values = values("").unwrap();
    Settings::new(&values).unwrap();
    options::build(&values).unwrap();
    let asked = values.asked.borrow();
    for flag in table().iter().filter(|flag| flag.effect == Effect::Run) {
        assert!(asked.contains(flag.name), "no code reads --{}", flag.name);
    }
    for name in asked.iter() {
        assert!(find(name).is_some_and(|flag| flag.effect == Effect::Run), "--{name} is not in the table");
    }
}

#[test]
fn the_help_has_every_flag() {
    let help = help();
    for flag in table() {
        assert!(help.contains(&format!("--{}", flag.name)), "{}", flag.name);
    }
    let is_long = |line: &str| line.chars().count() > 120 && line.split_whitespace().all(|word| word.len() < 80);
    assert_eq!(help.lines().filter(|line| is_long(line)).collect::<Vec<_>>(), [""; 0]);
    assert!(help.contains("Examples:") && help.contains("Exit codes:"));
}

#[test]
fn the_usual_flags_of_rocksdb_are_known() {
    let usual = "benchmarks db num reads writes threads value_size key_size batch_size seed cache_size block_size bloom_bits \
        compression_type compression_ratio write_buffer_size wal_dir sync disable_wal format_version use_direct_reads \
        use_direct_io_for_flush_and_compaction use_existing_db benchmark_write_rate_limit duration histogram statistics \
        max_background_jobs max_write_buffer_number target_file_size_base max_bytes_for_level_base num_levels open_files \
        level0_file_num_compaction_trigger level0_slowdown_writes_trigger level0_stop_writes_trigger subcompactions \
        level_compaction_dynamic_level_bytes verify_checksum cache_numshardbits cache_index_and_filter_blocks \
        pin_l0_filter_and_index_blocks_in_cache partition_index partition_index_and_filters metadata_block_size \
        compaction_style compaction_pri memtablerep stats_interval_seconds stats_per_interval report_interval_seconds \
        bytes_per_sync wal_bytes_per_sync min_level_to_compress max_compaction_bytes multiread_batched options_file \
        use_keep_filter delayed_write_rate enable_pipelined_write allow_concurrent_memtable_write rate_limiter_bytes_per_sec";
    for name in usual.split_whitespace() {
        assert!(find(name).is_some(), "{name}");
    }
}
