//! The published experiments from outside: the wiki's command line as it stands, and every experiment in small.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::{bench, printed};
use ferrock::{Db, DbOptions};
use serde_json::Value;

/// The command line of RocksDB's wiki page on partitioned index and filters, but for the sizes.
const WIKI: &str = "--benchmarks=readwhilewriting[X3],stats --use_direct_reads=1 -compaction_readahead_size 1048576 \
    --use_existing_db --num=150000 --duration 1 --cache_size=62914560 -cache_index_and_filter_blocks=false -statistics \
    -histogram -bloom_bits=10 -target_file_size_base=268435456 -block_size=32768 -threads 32 -partition_filters \
    -partition_indexes -index_per_partition 100 -pin_l0_filter_and_index_blocks_in_cache -benchmark_write_rate_limit 204800 \
    -max_bytes_for_level_base 134217728 -cache_high_pri_pool_ratio 0.9";

#[test]
fn the_command_line_of_the_wiki_runs_as_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // What it reads was written under the same options.
    let fill = WIKI
        .replace("readwhilewriting[X3],stats", "fillbatch,compact")
        .replace("--use_existing_db", "")
        .replace("-benchmark_write_rate_limit 204800", "")
        .replace("-threads 32", "");
    printed(&bench(path, &fill.split_whitespace().collect::<Vec<_>>()));
    let text = printed(&bench(path, &WIKI.split_whitespace().collect::<Vec<_>>()));
    for wanted in [
        "index_type=kTwoLevelIndexSearch",
        "partition_filters=true",
        // 100 entries of 20 bytes each.
        "metadata_block_size=2000",
        "block_size=32768",
        "cache_index_and_filter_blocks=false",
        "cache_index_and_filter_blocks_with_high_priority=true",
        "pin_l0_filter_and_index_blocks_in_cache=true",
        "use_direct_reads=true",
        "compaction_readahead_size=1048576",
        "target_file_size_base=268435456",
        "max_bytes_for_level_base=134217728",
        "block_cache_bytes=62914560",
        "threads=32",
        "benchmark_write_rate_limit=204800",
        "Running benchmark for 3 times\n",
        "readwhilewriting [MEDIAN 3 runs] : ",
        "Microseconds per read:\n",
        "STATISTICS:\n",
        "** DB Stats **",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("readwhilewriting : ")).count(), 3, "{text}");

    let mut options = DbOptions::default();
    options.create_if_missing = false;
    let db = Db::open(path, options).unwrap();
    let files = db.live_files();
    let table = files.iter().max_by_key(|file| file.size_bytes).unwrap();
    let properties = db.table_properties(table).unwrap();
    let entries_per_partition = properties.num_data_blocks as f64 / properties.index_partitions as f64;
    assert!(properties.index_partitions >= 4, "{properties:?}");
    assert!((60.0..=140.0).contains(&entries_per_partition), "{entries_per_partition}: {properties:?}");
    let partition_size = (properties.index_size - properties.top_level_index_size) / properties.index_partitions;
    assert!((1000..=2600).contains(&partition_size), "{partition_size}: {properties:?}");
}

/// The command line of the commit that published the file indexer over plain tables, but for the directory and the
/// number of keys, which was 52,428,800.
const FLASH_AND_RAM: &str = "--num_levels=6 --key_size=20 --prefix_size=20 --keys_per_prefix=0 --value_size=100 \
    --block_size=4096 --cache_size=17179869184 --cache_numshardbits=6 --compression_type=none --compression_ratio=1 \
    --min_level_to_compress=-1 --disable_seek_compaction=1 --hard_rate_limit=2 --write_buffer_size=134217728 \
    --max_write_buffer_number=2 --level0_file_num_compaction_trigger=8 --target_file_size_base=2097152 \
    --max_bytes_for_level_base=1073741824 --disable_wal=0 --sync=0 --disable_data_sync=1 --verify_checksum=1 \
    --delete_obsolete_files_period_micros=314572800 --max_grandparent_overlap_factor=10 \
    --max_background_compactions=4 --max_background_flushes=0 --level0_slowdown_writes_trigger=16 \
    --level0_stop_writes_trigger=24 --statistics=0 --stats_per_interval=0 --stats_interval=1048576 --histogram=0 \
    --use_plain_table=1 --open_files=-1 --mmap_read=1 --mmap_write=0 --memtablerep=prefix_hash --bloom_bits=10 \
    --bloom_locality=1 --perf_level=0 --benchmarks=fillseq,readrandom,readrandom,readrandom --use_existing_db=0 \
    --threads=1";

/// `FERROCK_FLASH_AND_RAM_KEYS=52428800` runs it with as many keys as then.
#[test]
fn the_command_line_of_the_file_indexer_runs_as_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let keys = std::env::var("FERROCK_FLASH_AND_RAM_KEYS").map_or(5_000_000, |keys| keys.parse().unwrap());
    let num = format!("--num={keys}");
    let arguments: Vec<&str> = FLASH_AND_RAM.split_whitespace().chain([&num[..]]).collect();
    let text = printed(&bench(directory.path(), &arguments));
    for wanted in [
        "memtable_factory={id=HashSkipListRepFactory;",
        "prefix_extractor=rocksdb.FixedPrefix.20",
        "allow_mmap_reads=true",
        "allow_concurrent_memtable_write is off, as it has to be",
        "--disable_seek_compaction is ignored: ",
        "--delete_obsolete_files_period_micros is ignored: ",
        &format!("({keys} of {keys} found)"),
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("readrandom   : ")).count(), 3, "{text}");
    let mut options = DbOptions::default();
    options.create_if_missing = false;
    let db = Db::open_with_latest_options(directory.path(), options).unwrap().0;
    let files = db.live_files();
    assert!(!files.is_empty());
    for file in &files {
        let properties = db.table_properties(file).unwrap();
        assert!(properties.num_entries > 0 && properties.format_version <= 1, "a plain table: {properties:?}");
    }
}

/// Runs an experiment and looks at what it leaves.
fn experiment(name: &str, scale: &str, arguments: &[&str]) -> (Value, String) {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let experiment = format!("--experiment={name}");
    let (scale, out_flag) = (format!("--scale={scale}"), format!("--out={}", out.display()));
    let output = bench(
        &directory.path().join("db"),
        &[&[&experiment, &scale, &out_flag, "--rounds=2", "--json"][..], arguments].concat(),
    );
    let document: Value = serde_json::from_str(&printed(&output)).unwrap();
    let read = |extension: &str| std::fs::read_to_string(out.join(format!("{name}.{extension}"))).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("json")).unwrap(), document);
    let (svg, page) = (read("svg"), read("md"));
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    let rows = document["rows"].as_array().unwrap();
    assert!(!rows.is_empty() && document["values_checked"].as_u64().unwrap() > 0, "{document}");
    let columns = page.lines().find(|line| line.starts_with("| point")).unwrap().matches('|').count();
    let printed_rows =
        page.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == columns).count();
    assert_eq!(printed_rows, rows.len() + 1, "{page}");
    for row in rows {
        assert_eq!(row["rounds"].as_array().unwrap().len(), 2, "{row}");
        assert!(row["median"]["ops_per_second"].as_f64().unwrap() > 0.0, "{row}");
        let ratio = |name: &str| row["ratio"][name].as_f64().unwrap();
        assert!(ratio("lowest") <= ratio("median") && ratio("median") <= ratio("highest"), "{row}");
    }
    assert!(!page.contains(&directory.path().display().to_string()), "{page}");
    (document, page)
}

fn row<'a>(document: &'a Value, point: &str, benchmark: &str, threads: u64, arm: &str) -> &'a Value {
    let rows = document["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| {
        row["point"] == point && row["benchmark"] == benchmark && row["threads"] == threads && row["arm"] == arm
    });
    found.unwrap_or_else(|| panic!("{point} {benchmark} {threads} {arm}: {document}"))
}

#[test]
fn scarce_memory() {
    let (document, page) = experiment("scarce-memory", "0.01", &[]);
    assert_eq!(document["rows"].as_array().unwrap().len(), 12);
    let as_published = "on, cache_index_and_filter_blocks=false";
    for (arm, is_partitioned) in [("off", false), ("on", true), (as_published, true)] {
        let row = row(&document, "partitioning", "readrandom", 1, arm);
        assert_eq!(row["tables"]["filter_partitions"].as_f64().unwrap() > 0.0, is_partitioned, "{row}");
        assert!(
            row["tables"]["entries"] == 80_000.0 && row["tables"]["filter_bytes"].as_f64().unwrap() > 90_000.0,
            "{row}"
        );
        assert!(row["median"]["reads_per_op"].as_f64().unwrap() > 1.0, "{row}");
    }
    let kib = |arm| row(&document, "partitioning", "readrandom", 1, arm)["median"]["kib_per_op"].as_f64().unwrap();
    assert!(kib("on") < kib("off"), "a partition is less than all: {document}");
    assert!(kib(as_published) < kib("off"), "{document}");
    // A key that is not there takes a filter partition and seldom more; `a_missing_key_takes_no_data_block` counts.
    // With eight threads: those cells are the longest, and the one before them was of keys that are not there either.
    let missing = row(&document, "partitioning", "readmissing", 8, "on");
    assert!(missing["median"]["reads_per_op"].as_f64().unwrap() <= 1.1, "{missing}");
    assert!(page.contains("readrandom, 1 thread: partitioning (on) makes "), "{page}");
}

/// The look-ups of scarce-memory, so many instead of so long: what they read does not hang on how busy the machine is.
#[test]
fn a_missing_key_takes_no_data_block() {
    let reads_per_op = |bloom_bits: &str| {
        let directory = tempfile::tempdir().unwrap();
        let run = |more: &[&str]| {
            let flags = "--num=80000 --value_size=32 --batch_size=1000 --disable_wal --compression_type=none --seed=1 \
                --use_direct_reads --cache_index_and_filter_blocks --pin_l0_filter_and_index_blocks_in_cache \
                --pin_top_level_index_and_filter --partition_index_and_filters --cache_size=32768 \
                --target_file_size_base=65536 --write_buffer_size=65536";
            let flags: Vec<&str> = flags.split_whitespace().chain([bloom_bits]).chain(more.iter().copied()).collect();
            printed(&bench(directory.path(), &flags))
        };
        run(&["--benchmarks=filluniquerandom,compact"]);
        let requests = |reads: &str| {
            let text = run(&["--benchmarks=readmissing", "--use_existing_db", "--statistics", reads]);
            let found = text.lines().find_map(|line| line.trim().strip_prefix("read_requests: "));
            found.unwrap().trim_end_matches(',').parse::<f64>().unwrap()
        };
        // Opening the tables is in both.
        (requests("--reads=5000") - requests("--reads=1000")) / 4000.0
    };
    let (with, without) = (reads_per_op("--bloom_bits=10"), reads_per_op("--bloom_bits=-1"));
    assert!((0.3..=1.03).contains(&with), "a filter partition, and one in a hundred look-ups goes on: {with}");
    assert!(without > 1.2, "without filters the data is read: {without}");
}

#[test]
fn flash_and_ram() {
    let (document, page) = experiment("flash-and-ram", "0.001", &[]);
    for (point, keys) in [("3.3 M keys", 3276.0), ("13.1 M keys", 13_107.0), ("52.4 M keys", 52_428.0)] {
        for arm in ["block-based tables, skip list", "plain tables, prefix_hash"] {
            let tables = &row(&document, point, "readrandom", 1, arm)["tables"];
            assert_eq!(tables["entries"], keys, "{tables}");
            assert_eq!(tables["data_blocks"] == 0.0, arm.starts_with("plain"), "{tables}");
            assert!(tables["reader_bytes"].as_f64().unwrap() > 0.0, "{tables}");
        }
    }
    assert!(page.contains("52.4 M keys, readrandom, 1 thread: plain tables make "), "{page}");
}

#[test]
fn hash_index() {
    let (document, page) = experiment("hash-index", "0.02", &[]);
    for values in ["values of 20", "values of 100"] {
        let tables = |arm: &str| row(&document, values, "readrandom", 1, arm)["tables"].clone();
        assert!(tables("binary search")["fallback_percent"].is_null(), "{document}");
        let mut space = 0.0;
        let mut fallback = 100.0;
        for arm in ["hash 1.00", "hash 0.75", "hash 0.50"] {
            let tables = tables(arm);
            assert!(tables["space_percent"].as_f64().unwrap() > space, "{arm} of {values}: {document}");
            assert!(tables["fallback_percent"].as_f64().unwrap() < fallback, "{arm} of {values}: {document}");
            space = tables["space_percent"].as_f64().unwrap();
            fallback = tables["fallback_percent"].as_f64().unwrap();
            let row = row(&document, values, "readrandom", 1, arm);
            assert_eq!(row["median"]["data_miss_percent"], 0.0, "all is cached: {row}");
        }
    }
    // Published: a byte per key at 1.0, and about half of the lookups fall back.
    let tables = &row(&document, "values of 20", "readrandom", 1, "hash 1.00")["tables"];
    let bytes_per_key = tables["hash_index_bytes"].as_f64().unwrap() / tables["entries"].as_f64().unwrap();
    assert!((0.9..1.1).contains(&bytes_per_key), "{tables}");
    let fallback = tables["fallback_percent"].as_f64().unwrap();
    assert!((45.0..65.0).contains(&fallback), "{tables}");
    assert!(page.contains("values of 20, hash 0.50: "), "{page}");
}

#[test]
fn hash_index_sweep() {
    let (document, page) = experiment("hash-index-sweep", "0.01", &[]);
    let misses = |point| {
        let row = row(&document, point, "readrandom", 1, "binary search");
        row["median"]["data_miss_percent"].as_f64().unwrap()
    };
    let (much, half, little) = (misses("cache 110 %"), misses("cache 50 %"), misses("cache 15 %"));
    assert!(much < 20.0 && much < half && half < little && little > 60.0, "{much} {half} {little}");
    assert!(page.contains("misses: the hash index makes "), "{page}");
}

#[test]
fn linkbench() {
    let (document, page) = experiment("linkbench", "0.01", &[]);
    assert_eq!(document["rows"].as_array().unwrap().len(), 4);
    for row in document["rows"].as_array().unwrap() {
        assert!(row["tables"]["entries"].as_f64().unwrap() > 100_000.0, "{row}");
        assert!(row["rounds"][0]["values_checked"].as_u64().unwrap() > 0, "{row}");
    }
    // How much is read in so short a time hangs on how many operations the machine gets done in it.
    for arm in ["unpartitioned, cache 2 %", "unpartitioned, cache 0.67 %"] {
        let row = row(&document, "LinkBench", "linkbench", 8, arm);
        assert!(row["median"]["kib_per_op"].as_f64().unwrap() > 0.0, "{row}");
    }
    assert!(page.contains("partitioned: from the larger to the smaller cache "), "{page}");
}

/// LinkBench by hand: after its operations every count is right, and a row that was changed behind its back is found.
#[test]
fn linkbench_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let flags = ["--num=5000", "--batch_size=100", "--threads=4", "--seed=3"];
    let run = |benchmarks: &str, more: &[&str]| {
        bench(path, &[&flags[..], &[&format!("--benchmarks={benchmarks}")], more].concat())
    };
    let text = printed(&run("linkload,linkcheck,linkbench,linkcheck,compact,linkcheck", &["--reads=20000"]));
    let operations =
        |line: &str| line.split(" seconds ").nth(1).unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("micros/op")).collect();
    // A node has its own row, two or three links (there are few nodes to link to), and a count for each type of them.
    assert!((15_000..30_000).contains(&operations(lines[0])), "{text}");
    assert_eq!(operations(lines[0]), operations(lines[1]), "{text}");
    assert_eq!(operations(lines[2]), 80_000, "{text}");
    assert!(operations(lines[3]) > operations(lines[1]), "more is added than deleted: {text}");
    assert_eq!(operations(lines[3]), operations(lines[5]), "{text}");

    let mut options = DbOptions::default();
    options.create_if_missing = false;
    let open = || Db::open(path, options.clone()).unwrap();
    let db = open();
    let mut iter = db.iter(&ferrock::ReadOptions::default());
    iter.seek(b"l");
    let (key, value) = (iter.key().to_vec(), iter.value().to_vec());
    drop(iter);
    let check = |message: &str| {
        let output = run("linkcheck", &["--use_existing_db"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(message), "{output:?}");
    };
    db.delete(&key).unwrap();
    db.close().unwrap();
    check("but there are ");
    let db = open();
    db.put(&key, &value[..value.len() - 1]).unwrap();
    db.close().unwrap();
    check("the row is not what was written");
    let db = open();
    db.put(&key, &value).unwrap();
    db.close().unwrap();
    printed(&run("linkcheck", &["--use_existing_db"]));
}

#[test]
fn flags_of_experiments() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, message) in [
        (&["--experiment=scarce"][..], "there are scarce-memory"),
        (&["--experiment=scarce-memory", "--threads=3"], "--threads has no meaning beside --experiment"),
        (&["--experiment=scarce-memory", "--scale=0"], "--scale=0 is not between"),
        (&["--out=x"], "--out and --rounds need --experiment"),
    ] {
        let output = bench(&directory.path().join("db"), arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(message), "{arguments:?}: {output:?}");
    }
    // A flag of the engine reaches every arm.
    let (document, _) = experiment("scarce-memory", "0.001", &["--block_size=1024"]);
    for arm in document["arms"].as_array().unwrap() {
        assert!(arm["flags"].as_str().unwrap().contains("--block_size=1024"), "{arm}");
    }
}
