//! `db_bench` from outside: its lines are RocksDB's, values are checked, what is not here is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::{bench, printed};
use ferrock::{Db, DbOptions};
use serde_json::Value;
use std::process::Command;

/// The lines of results.
fn results(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains("micros/op")).collect()
}

/// RocksDB's line: `%-12s : %11.3f micros/op %ld ops/sec %.3f seconds %ld operations;%s`.
fn check_form(line: &str, name: &str, operations: u64) {
    let rest = line.strip_prefix(&format!("{name:<12} : ")).unwrap_or_else(|| panic!("{line}"));
    let (micros, rest) = rest.split_once(" micros/op ").unwrap();
    assert!(micros.len() >= 11 && micros.trim().parse::<f64>().is_ok() && micros.contains('.'), "{line}");
    let (rate, rest) = rest.split_once(" ops/sec ").unwrap();
    assert!(rate.parse::<u64>().unwrap() > 0, "{line}");
    let (seconds, rest) = rest.split_once(" seconds ").unwrap();
    assert!(seconds.parse::<f64>().is_ok() && seconds.split_once('.').unwrap().1.len() == 3, "{line}");
    let (count, extra) = rest.split_once(" operations;").unwrap();
    assert_eq!(count.parse::<u64>().unwrap(), operations, "{line}");
    assert!(extra.is_empty() || extra.starts_with(' '), "{line}");
}

#[test]
fn every_benchmark_runs_and_prints_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("db");
    let names = "fillseq,fillbatch,fillsync,fillrandom,overwrite,filluniquerandom,readrandom,readmissing,readhot,readseq,\
        readreverse,seekrandom,newiterator,readwhilewriting,seekrandomwhilewriting,readrandomwriterandom,updaterandom,\
        mergerandom,readtocache,readwhilemerging,readwhilescanning,seekrandomwhilemerging,multireadwhilewriting,\
        newiteratorwhilewriting,readrandommergerandom,approximatesizerandom,resetstats,flush,waitforcompaction,compact0,\
        compact1,compact,compactall,verifychecksum,deleteseq,deleterandom";
    let text = printed(&bench(
        path,
        &[
            "--num=3000",
            &format!("-benchmarks={names},stats,levelstats,sstables"),
            "-merge_operator",
            "put",
            "--seek_nexts=3",
            "--seed=7",
        ],
    ));
    let lines = results(&text);
    let names: Vec<&str> = names.split(',').collect();
    assert_eq!(lines.len(), names.len(), "{text}");
    for (line, name) in lines.iter().zip(&names) {
        let operations = match *name {
            "fillsync" => 3,
            "flush" | "waitforcompaction" | "compact" | "compact0" | "compact1" | "compactall" | "verifychecksum"
            | "resetstats" => 1,
            _ => 3000,
        };
        check_form(line, name, operations);
    }
    let line = |name: &str| *lines.iter().find(|line| line.starts_with(&format!("{name:<12} :"))).unwrap();
    assert!(line("readrandom").ends_with("MB/s (3000 of 3000 found)"), "{text}");
    assert!(line("readmissing").ends_with("operations; (0 of 3000 found)"), "{text}");
    assert!(line("updaterandom").ends_with("( updates:3000 found:3000)"), "{text}");
    assert!(line("mergerandom").ends_with("( updates:3000)"), "{text}");
    assert!(line("readhot").ends_with("(3000 of 3000 found)"), "{text}");
    assert!(line("readtocache").ends_with("(3000 of 3000 found)"), "{text}");
    assert!(line("readrandommergerandom").contains(" total:3000 hits:"), "{text}");
    assert!(text.contains("Level Files Size(MB)") && text.contains("  verified: 3000 values checked, "), "{text}");
    assert!(
        text.contains("  num=3000 ") && text.contains("write_buffer_size=67108864"),
        "what is in effect is printed: {text}"
    );
}

#[test]
fn ten_keys_are_there_together_beside_other_threads() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--num=40", "--reads=4000", "--threads=3", "--benchmarks=randomwithverify", "--deletepercent=20"];
    let text = printed(&bench(directory.path(), &[&arguments[..], &["--readwritepercent=50", "--seed=3"]].concat()));
    let lines = results(&text);
    check_form(lines[0], "randomwithverify", 12_000);
    assert!(lines[0].contains(" total:4000 found:"), "{text}");
    let refused = bench(directory.path(), &["--benchmarks=randomwithverify", "--deletepercent=60"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--deletepercent"), "{refused:?}");
}

#[test]
fn writers_delete_ranges() {
    let left = |more: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        let ranges = ["--writes_per_range_tombstone=100", "--max_num_range_tombstones=3", "--range_tombstone_width=10"];
        let base = ["--num=1000", "--benchmarks=fillseq,readseq", "--writes_before_delete_range=200"];
        let text = printed(&bench(directory.path(), &[&base[..], &ranges, more].concat()));
        results(&text)[1].split_once(" operations;").unwrap().0.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    // The keys in order: a range begins behind what was written, and is written over, but for the last.
    assert_eq!((left(&[]), left(&["--expand_range_tombstones"])), (1000, 1000));
    let random = ["--benchmarks=filluniquerandom,readseq", "--seed=5", "--writes_before_delete_range=600"];
    let (ranges, singles) = (left(&random), left(&[&random[..], &["--expand_range_tombstones"]].concat()));
    assert!((970..1000).contains(&ranges), "{ranges}");
    assert_eq!(ranges, singles, "each key of a range in its place");
}

#[test]
fn levels_are_compacted_and_counts_begin_anew() {
    let directory = tempfile::tempdir().unwrap();
    let names = "fillrandom,flush,levelstats,compact0,levelstats,compact1,levelstats,stats,resetstats,stats,readrandom,\
        block_cache_entry_stats";
    let text = printed(&bench(
        directory.path(),
        &["--num=2000", "--disable_auto_compactions", "--cache_size=8388608", "--benchmarks", names],
    ));
    // Tables of levels 0, 1 and 2.
    let files = |level: &str| -> Vec<u64> {
        let rows = text.lines().filter(|line| line.split_whitespace().next() == Some(level) && line.len() < 40);
        rows.filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).take(3).collect()
    };
    assert_eq!((files("0"), files("1"), files("2")), (vec![1, 0, 0], vec![0, 1, 0], vec![0, 0, 1]), "{text}");
    let written: Vec<&str> = text.lines().filter(|line| line.starts_with("Cumulative writes: ")).collect();
    assert!(written[0].starts_with("Cumulative writes: 2000 writes"), "{text}");
    assert!(written[1].starts_with("Cumulative writes: 0 writes"), "{text}");
    assert!(text.contains("DataBlock"), "{text}");
}

#[test]
fn checksums_are_measured() {
    let directory = tempfile::tempdir().unwrap();
    let text =
        printed(&bench(directory.path(), &["--num=10", "--duration=1", "--benchmarks=crc32c,xxhash,xxhash64,xxh3"]));
    let lines = results(&text);
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines.iter().all(|line| line.ends_with("MB/s (4096 bytes each)")), "{text}");
}

#[test]
fn batches_and_threads_look_up_everything() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let text = printed(&bench(
        path,
        &[
            "--num=2000",
            "--benchmarks=filluniquerandom,multireadrandom,readseq,readrandom",
            "--threads=3",
            "--batch_size=7",
            "--histogram",
        ],
    ));
    let lines = results(&text);
    check_form(lines[0], "filluniquerandom", 6000);
    // Batches are whole: 286 of 7 for each thread.
    check_form(lines[1], "multireadrandom", 3 * 2002);
    check_form(lines[2], "readseq", 6000);
    assert!(lines[3].contains("(2000 of 2000 found)"), "{text}");
    assert!(
        text.contains("Microseconds per read:\nCount: 6000 Average: ") && text.contains("Percentiles: P50: "),
        "{text}"
    );
}

#[test]
fn repeats_give_average_and_median() {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&bench(directory.path(), &["--num=500", "--benchmarks=fillseq[X3],readrandom[W1-X2]"]));
    assert_eq!(results(&text).len(), 5, "{text}");
    for wanted in [
        "Running benchmark for 3 times\n",
        "Warming up benchmark by running 1 times\nRunning benchmark for 2 times\n",
        "fillseq [AVG 2 runs] : ",
        "fillseq [AVG    3 runs] : ",
        "fillseq [MEDIAN 3 runs] : ",
        "readrandom [MEDIAN 2 runs] : ",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn an_existing_database_is_kept_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    printed(&bench(path, &["--num=1000", "--benchmarks=fillseq", "--value_size=64"]));
    let read = ["--use_existing_db", "--num=1000", "--benchmarks=fillseq,readrandom,readseq"];
    // Another seed and another size of values: what was written is known by its key.
    let text = printed(&bench(path, &[&read[..], &["--seed=99"]].concat()));
    assert!(
        text.contains("fillseq      : skipped (--use_existing_db is true)") && text.contains("(1000 of 1000 found)"),
        "{text}"
    );
    let text = printed(&bench(path, &[&read[..], &["--readonly"]].concat()));
    assert!(text.contains("(1000 of 1000 found)"), "{text}");

    let mut options = DbOptions::default();
    options.create_if_missing = false;
    let db = Db::open(path, options).unwrap();
    let mut key = 500_u64.to_be_bytes().to_vec();
    key.resize(16, b'0');
    let mut value = db.get(&key).unwrap().unwrap().to_vec();
    assert_eq!(value.len(), 64);
    *value.last_mut().unwrap() ^= 1;
    db.put(&key, &value).unwrap();
    db.close().unwrap();
    let output = bench(path, &["--use_existing_db", "--num=1000", "--benchmarks=readseq"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("readseq: the value of key 0x00000000000001F43030303030303030 is wrong (64 bytes"),
        "{message}"
    );
    let text = printed(&bench(path, &["--use_existing_db", "--num=1000", "--benchmarks=readseq", "--noverify"]));
    assert!(!text.contains("verified:"), "{text}");
}

#[test]
fn results_for_programs() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "--num=800",
        "--benchmarks=fillrandom,readrandom[X2],levelstats",
        "--json",
        "--histogram",
        "--statistics",
        "--seed=3",
    ];
    let output = bench(directory.path(), &arguments);
    let document: Value = serde_json::from_str(&printed(&output)).unwrap();
    assert_eq!((&document["seed"], &document["results"][0]["name"]), (&3.into(), &"fillrandom".into()));
    assert_eq!(document["options"]["write_buffer_size"], "67108864");
    let runs = &document["results"][1]["runs"];
    assert_eq!(runs.as_array().unwrap().len(), 2);
    assert_eq!(runs[0]["operations"], 800);
    assert!(
        runs[1]["ops_per_second"].as_f64().unwrap() > 0.0 && runs[1]["verify_ns_per_value"].as_f64().unwrap() > 0.0
    );
    assert_eq!(runs[0]["histograms"]["read"]["count"], 800);
    assert!(document["results"][2]["text"].as_str().unwrap().contains("Level Files"));
    let lines = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(results(&lines).len() == 3, "{lines}");
    assert!(lines.contains("STATISTICS:\nrocksdb.block.cache.miss COUNT : "), "{lines}");
    assert!(!lines.contains("... finished"), "no progress but on a terminal");
}

#[test]
fn threads_report_on_the_way() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        bench(directory.path(), &["--num=1000", "--benchmarks=fillseq", "--stats_interval=400", "--threads=2"]);
    printed(&output);
    let lines = String::from_utf8_lossy(&output.stderr).into_owned();
    for wanted in ["fillseq ... thread 0: (400,400) ops and (", "fillseq ... thread 1: (400,800) ops and ("] {
        assert!(lines.contains(wanted), "{lines}");
    }
    let arguments =
        ["--num=1000", "--benchmarks=readrandom", "--duration=2", "--stats_interval_seconds=1", "--use_existing_db"];
    let output = bench(directory.path(), &[&arguments[..], &["--stats_per_interval=1"]].concat());
    printed(&output);
    let lines = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = lines.lines().filter(|line| line.contains("readrandom ... thread 0: (")).count();
    assert!(count >= 1, "{lines}");
    assert!(lines.contains("** DB Stats **"), "{lines}");
}

#[test]
fn a_run_tells_of_itself_while_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.csv");
    let report = format!("--report_file={}", file.display());
    let arguments = ["--num=2000", "--benchmarks=fillseq,flush,readrandom", "--duration=5", "--threads=2"];
    let reports = ["--report_interval_seconds=1", &report, "--stats_interval_seconds=1"];
    let told = ["--thread_status_per_interval=1", "--perf_level=2", "--report_open_timing"];
    let output = bench(directory.path(), &[&arguments[..], &reports, &told].concat());
    let text = printed(&output);
    let lines = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("OpenDb:     ") && text.contains(" milliseconds"), "{text}");
    // Each benchmark makes the file anew: the last one read for five seconds.
    let written = std::fs::read_to_string(&file).unwrap();
    let rows: Vec<&str> = written.lines().collect();
    assert_eq!(rows[0], "secs_elapsed,interval_qps");
    let number = |text: &str| text.parse::<u64>().unwrap();
    let rows = rows[1..].iter().map(|row| row.split_once(',').unwrap()).map(|(at, ops)| (number(at), number(ops)));
    let rows: Vec<(u64, u64)> = rows.collect();
    assert!(rows.len() >= 2 && rows.windows(2).all(|pair| pair[0].0 < pair[1].0), "{written}");
    assert!(rows.iter().map(|(_, operations)| operations).sum::<u64>() > 0, "{written}");
    assert!(lines.contains("no flush or compaction runs") || lines.contains("compaction "), "{lines}");
    let read = text.split("readrandom ").last().unwrap();
    assert!(read.contains("PERF_CONTEXT:\n") && read.contains("get_read_bytes = "), "{text}");

    for (wrong, reason) in [
        (&["--report_interval_seconds=1", "--report_file=/no/such/place/report.csv"][..], "no such directory"),
        (&["--perf_level=9"], "--perf_level=9 is not one of"),
    ] {
        let output = bench(directory.path(), &[&["--benchmarks=fillseq"][..], wrong].concat());
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
    }
}

#[test]
fn time_and_rates_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&bench(
        directory.path(),
        &["--num=1000", "--benchmarks=fillseq,readrandom", "--duration=1", "--ops_between_duration_checks=10"],
    ));
    let seconds =
        |line: &str| line.split(" seconds ").next().unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    let lines = results(&text);
    check_form(lines[0], "fillseq", 1000);
    assert!(seconds(lines[1]) >= 0.9, "{text}");

    // 1000 keys of 116 bytes at 200 kB a second, after a tenth of a second's burst.
    let text = printed(&bench(
        directory.path(),
        &["--num=1000", "--benchmarks=fillrandom", "--benchmark_write_rate_limit=200000"],
    ));
    assert!(seconds(results(&text)[0]) > 0.3, "{text}");

    // 100 reads of blocks of 4 kB at 500 kB a second; and as many bytes as above into the log, at the same rate.
    let text = printed(&bench(
        directory.path(),
        &[
            "--num=1000",
            "--reads=100",
            "--benchmarks=fillrandom,flush,readrandom",
            "--cache_size=0",
            "--rate_limiter_bytes_per_sec=500000",
            "--rate_limit_bg_reads",
            "--rate_limit_user_ops",
        ],
    ));
    assert!(seconds(results(&text).last().unwrap()) > 0.3, "{text}");
    let text = printed(&bench(
        directory.path(),
        &[
            "--num=1000",
            "--benchmarks=fillrandom",
            "--rate_limiter_bytes_per_sec=200000",
            "--rate_limit_auto_wal_flush",
        ],
    ));
    assert!(seconds(results(&text)[0]) > 0.3, "{text}");
}

#[test]
fn what_is_not_understood_or_not_here_is_refused_before_anything_happens() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("db");
    for (arguments, message) in [
        (&["--nmu=3"][..], "unknown flag --nmu; did you mean --num?"),
        (&["--num=many"], "an integer is expected"),
        (&["fillseq"], "named by --benchmarks"),
        (&["--benchmarks=fillsek"], "there is no benchmark \"fillsek\" here"),
        (&["--benchmarks=fillseq[X]"], "in brackets"),
        (&["--row_cache_size=100"], "Not implemented: --row_cache_size=100"),
        (&["--benchmarks=mergerandom"], "needs --merge_operator"),
        (&["--threads=0"], "less than 1"),
        (&["--format_version=99"], "format_version = 99 is out of"),
        (&["--readonly"], "--readonly needs --use_existing_db"),
    ] {
        let output = bench(path, arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(message), "{arguments:?}: {output:?}");
        assert!(!path.exists(), "{arguments:?}");
    }
    let text = printed(&bench(path, &["--num=10", "--benchmarks=fillseq", "--soft_rate_limit=2"]));
    assert!(text.contains("NOTE: --soft_rate_limit is ignored: "), "{text}");
    let text = printed(&bench(path, &["--num=10", "--benchmarks=fillseq", "--write_buffer_size=1"]));
    assert!(text.contains("NOTE: column family default: write_buffer_size = 1 is out of"), "{text}");
    let help = Command::new(env!("CARGO_BIN_EXE_db_bench")).arg("--help").output().unwrap();
    assert!(printed(&help).contains("--write_buffer_size"));
}

#[test]
fn a_database_that_is_missing_or_in_use_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("nowhere");
    let output = bench(&nowhere, &["--use_existing_db", "--benchmarks=readrandom"]);
    assert_eq!((output.status.code(), nowhere.exists()), (Some(2), false), "{output:?}");
    let path = directory.path();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(path, options).unwrap();
    db.put(b"mine", b"stays").unwrap();
    let output = bench(path, &["--num=10", "--benchmarks=fillseq"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(db.get(b"mine").unwrap().as_deref(), Some(&b"stays"[..]));
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf_8_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let argument = std::ffi::OsStr::from_bytes(b"--db=caf\xE9");
    let output = Command::new(env!("CARGO_BIN_EXE_db_bench")).arg(argument).output().unwrap();
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("argument 1, \"--db=caf\\xE9\", is not UTF-8"), "{message}");
}
