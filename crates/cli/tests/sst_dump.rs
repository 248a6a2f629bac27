//! `sst_dump` from outside: a session of commands and what they print, over tables made here and tables of RocksDB's.
//!
//! `data/sst_dump/session.txt` holds commands and their output; `UPDATE_EXPECT=1` writes it anew:
//!
//! ```text
//! $ sst_dump ARGUMENTS       what follows is standard output
//! ! line                     standard error
//! = 1                        exit code, when it is not 0
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{Comparator, InternalComparator, SequenceNumber, ValueType};
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{DataBlockIndexType, IndexType};
use ferrock_table::{BlockBasedTableOptions, BlockTableBuilder, TableBuilderParams};
use ferrock_vfs::{WritableOptions, default_file_system};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

type Entry = (Vec<u8>, Vec<u8>);

fn value(key: impl AsRef<[u8]>, sequence: u64, value: impl AsRef<[u8]>) -> Entry {
    (make_internal_key(key.as_ref(), SequenceNumber(sequence), ValueType::Value), value.as_ref().to_vec())
}

/// Writes a table that is the same on every machine and every day.
fn build(path: &Path, entries: &[Entry], change: impl FnOnce(&mut TableBuilderParams, &mut BlockBasedTableOptions)) {
    let mut params = TableBuilderParams::new(InternalComparator::default());
    let mut options = BlockBasedTableOptions { format_version: 5, ..BlockBasedTableOptions::default() };
    params.db_id = "a-database".to_owned();
    params.db_session_id = "0123456789ABCDEFGHIJ".to_owned();
    params.file_number = 7;
    change(&mut params, &mut options);
    params.options = Arc::new(options);
    let file = default_file_system().create_writable(path, &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for (key, value) in entries {
        builder.add(key, value).unwrap();
    }
    builder.finish().unwrap();
}

fn numbered(count: u64) -> Vec<Entry> {
    (0..count).map(|number| value(format!("key{number:05}"), 100 + number, format!("value {number}"))).collect()
}

/// The tables of the session.
fn prepare(directory: &Path) {
    let mut entries = vec![value("apple", 9, "red"), value("apple", 3, "green")];
    entries.push((make_internal_key(b"banana", SequenceNumber(8), ValueType::Deletion), Vec::new()));
    entries.push((make_internal_key(b"cherry", SequenceNumber(7), ValueType::Merge), b"sweet".to_vec()));
    entries.push((make_internal_key(b"date", SequenceNumber(6), ValueType::SingleDeletion), Vec::new()));
    entries.push(value(b"fig\x00leaf", 5, b"\x00\xFF"));
    entries.push((make_internal_key(b"cat", SequenceNumber(4), ValueType::RangeDeletion), b"dog".to_vec()));
    build(&directory.join("fruit.sst"), &entries, |params, options| {
        options.block_size = 40;
        params.user_collected.insert(b"app.note".to_vec(), b"picked by hand".to_vec());
        params.user_collected.insert(b"app.binary".to_vec(), vec![0, 1, 2]);
    });
    fs::create_dir(directory.join("many")).unwrap();
    build(&directory.join("many/000010.sst"), &numbered(500), |params, options| {
        options.block_size = 100;
        options.index_type = IndexType::TwoLevelIndexSearch;
        options.partition_filters = true;
        options.metadata_block_size = 200;
        options.whole_key_filtering = true;
        params.filter_policy = FilterPolicy::bloom(10.0);
        params.prefix_extractor = Some(PrefixExtractor::Fixed(5));
        params.compression = CompressionType::Lz4;
    });
    build(&directory.join("many/000011.sst"), &numbered(2000), |_, options| {
        options.data_block_index_type = DataBlockIndexType::BinaryAndHash;
        options.data_block_hash_table_util_ratio = 1.0;
    });
    // As many restarts as entries: the first block has too many for a hash index, and then none gets one.
    build(&directory.join("many/000012.sst"), &numbered(600), |_, options| {
        options.data_block_index_type = DataBlockIndexType::BinaryAndHash;
        options.block_restart_interval = 1;
        options.block_size = 16384;
    });
    fs::write(directory.join("many/000013.log"), "not asked").unwrap();
    let mut entries = numbered(10);
    entries.reverse();
    build(&directory.join("reverse.sst"), &entries, |params, _| {
        params.comparator = InternalComparator::new(Comparator::ReverseBytewise);
    });
    build(&directory.join("damaged.sst"), &numbered(500), |_, options| options.block_size = 512);
    let mut bytes = fs::read(directory.join("damaged.sst")).unwrap();
    bytes[2000] ^= 1;
    fs::write(directory.join("damaged.sst"), bytes).unwrap();
    fs::write(directory.join("text.sst"), "This is not a table, however long the text may be made.\n").unwrap();
    fs::create_dir(directory.join("empty")).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../table/tests/data");
    for name in ["r7_8-index-twolevel-partfilter-many-000016.sst", "r11_9-datahash-u075-000017.sst"] {
        fs::copy(fixtures.join(name), directory.join(name)).unwrap();
    }
}

fn sst_dump(directory: &Path, arguments: &str) -> Output {
    let words = arguments.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_sst_dump")).args(words).current_dir(directory).output().unwrap()
}

/// Output as it stands in the session: other bytes than text as escapes, times away.
fn shown(output: &Output) -> String {
    let mut text = String::new();
    for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let is_text = line.iter().all(|byte| (b' '..=b'~').contains(byte));
        let line = if is_text { String::from_utf8_lossy(line).into_owned() } else { line.escape_ascii().to_string() };
        let line = match line.split_once("Time Taken: ") {
            Some((before, after)) => format!("{before}Time Taken: TIME{}", &after[after.find(" microsecs").unwrap()..]),
            None => line,
        };
        let _ = writeln!(text, "{line}");
    }
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let _ = writeln!(text, "! {line}");
    }
    match output.status.code() {
        Some(0) => {}
        code => {
            let _ = writeln!(text, "= {}", code.unwrap());
        }
    }
    text
}

#[test]
fn the_session() {
    let directory = tempfile::tempdir().unwrap();
    prepare(directory.path());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sst_dump/session.txt");
    let session = fs::read_to_string(&path).unwrap();
    let mut found = String::new();
    let mut commands = 0;
    for line in session.lines() {
        if line.starts_with('#') {
            let _ = writeln!(found, "{line}");
        } else if let Some(arguments) = line.strip_prefix("$ sst_dump") {
            commands += 1;
            let _ = write!(found, "{line}\n{}", shown(&sst_dump(directory.path(), arguments)));
            let dump = arguments.split_whitespace().find(|_| arguments.contains("--command=raw"));
            if let Some(table) = dump {
                let text = fs::read(directory.path().join(table.replace(".sst", "_dump.txt"))).unwrap();
                let _ = write!(found, "{}", text.escape_ascii().to_string().replace("\\n", "\n"));
            }
        }
    }
    assert!(commands > 20, "{commands} commands");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, found).unwrap();
        return;
    }
    for (number, (found, expected)) in found.lines().zip(session.lines()).enumerate() {
        assert_eq!(found, expected, "{}, line {}; UPDATE_EXPECT=1 rewrites it", path.display(), number + 1);
    }
    assert_eq!(found.lines().count(), session.lines().count());
}

#[test]
fn json_says_what_the_text_says() {
    let directory = tempfile::tempdir().unwrap();
    prepare(directory.path());
    let arguments = "many --json --show_statistics --show_summary --show_properties --list_meta_blocks";
    let output = sst_dump(directory.path(), arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [partitioned, hashed, restarts] = [0, 1, 2].map(|file| &json["files"][file]);
    assert_eq!(partitioned["file"], "many/000010.sst");
    assert_eq!((&partitioned["status"], &partitioned["entries_read"]), (&"OK".into(), &500.into()));
    let (index, properties) = (&partitioned["statistics"]["index"], &partitioned["properties"]);
    assert_eq!(index["partitions"]["count"], properties["# index partitions"]);
    assert!(index["partitions"]["count"].as_u64().unwrap() > 10);
    let filter = &partitioned["statistics"]["filter"];
    assert_eq!(filter["formats"]["fast_local_bloom"], filter["partitions"]["count"]);
    assert!(filter["partitions"]["count"].as_u64().unwrap() > 1);
    let hash = &hashed["statistics"]["hash_index"];
    assert_eq!((&hash["keys"], &hash["other_blocks_without"]), (&2000.into(), &0.into()));
    let (falling, keys) = (hash["keys_falling_back"].as_f64().unwrap(), hash["keys"].as_f64().unwrap());
    assert!((hash["fallback_ratio"].as_f64().unwrap() - falling / keys).abs() < 1e-12);
    assert!(falling / keys > 0.3 && falling / keys < 0.7, "{hash}");
    assert!(restarts["statistics"]["hash_index"]["blocks_with_too_many_restarts"].as_u64().unwrap() > 0);
    assert_eq!((&json["valid"], &json["summary"]["files"]), (&3.into(), &3.into()));
    assert_eq!(json["statistics"]["data"]["entries"], 3100);
    assert_eq!(partitioned["meta_blocks"][0]["name"], "partitionedfilter.rocksdb.BuiltinBloomFilter");

    let output = sst_dump(directory.path(), "damaged.sst text.sst --json");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["files"][0]["status"], "Corruption");
    assert!(json["files"][0]["message"].as_str().unwrap().contains("damaged.sst"), "{json}");
    assert!(json["files"][0]["entries_read"].as_u64().unwrap() > 50);

    let arguments = "many/000010.sst --command=recompress --compression_types=kNoCompression,kZSTD --json";
    let output = sst_dump(directory.path(), arguments);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = &json["files"][0]["recompressed"];
    assert!(rows[1]["file_bytes"].as_u64().unwrap() < rows[0]["file_bytes"].as_u64().unwrap(), "{rows}");
}

/// `identify` forgives files that are no tables, not tables that are damaged.
#[test]
fn identify_keeps_what_it_found() {
    let directory = tempfile::tempdir().unwrap();
    prepare(directory.path());
    for (arguments, code) in [
        ("damaged.sst --command=identify", 0),
        ("damaged.sst --command=identify --show_statistics", 1),
        ("damaged.sst fruit.sst --command=identify --show_statistics --json", 1),
        ("fruit.sst text.sst --command=identify --show_statistics", 0),
        ("fruit.sst text.sst --command=none --show_statistics", 1),
        ("damaged.sst text.sst --command=identify --show_statistics", 1),
        ("text.sst --command=identify", 1),
    ] {
        let output = sst_dump(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {output:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf_8_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let argument = std::ffi::OsStr::from_bytes(b"--file=caf\xE9.sst");
    for program in [env!("CARGO_BIN_EXE_sst_dump"), env!("CARGO_BIN_EXE_ldb")] {
        let output = Command::new(program).arg(argument).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{program}: {output:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("argument 1, \"--file=caf\\xE9.sst\", is not UTF-8"), "{program}: {message}");
    }
}

#[test]
fn reading_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    prepare(directory.path());
    let state = || {
        let mut names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names.iter().map(|name| (name.clone(), fs::metadata(name).unwrap().len())).collect::<Vec<_>>()
    };
    let before = state();
    for command in ["check", "scan", "verify", "identify", "recompress", "none"] {
        sst_dump(directory.path(), &format!("fruit.sst --command={command} --show_properties --show_statistics"));
    }
    assert_eq!(state(), before);
    let help = sst_dump(directory.path(), "--help");
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Examples:"));
    let version = sst_dump(directory.path(), "--version");
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("sst_dump "));
}

/// What a database decided about hash indexes, and why, stands in its tables.
#[test]
fn the_decision_for_or_against_a_hash_index_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = ferrock::DbOptions::default();
    options.create_if_missing = true;
    let mut family = ferrock::ColumnFamilyOptions::default();
    assert!(family.table.set("data_block_index_type", "kDataBlockAuto").unwrap());
    let (db, _) = ferrock::Db::open_cf(directory.path(), options, vec![("default".to_owned(), family)]).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let decision = "kDataBlockBinarySearch: fewer than 2000 reads so far";
    let output = sst_dump(directory.path(), ". --command=none --show_properties");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("\n  # ferrock.data.block.index: {decision}\n")), "{text}");
    let output = sst_dump(directory.path(), ". --command=none --show_properties --json");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let property = &json["files"][0]["properties"]["user_collected"]["ferrock.data.block.index"];
    assert_eq!(property["text"], decision, "{json}");
}

#[test]
fn row_bounds_and_partition_cuts_are_shown() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    build(&directory.join("bounds.sst"), &numbered(60), |params, options| {
        options.block_size = 400;
        options.row_bounds = true;
        options.partition_cut = true;
        params.prefix_extractor = Some(PrefixExtractor::Fixed(7));
    });
    let output = sst_dump(directory, "--file=bounds.sst --show_properties --list_meta_blocks --command=verify");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("  filter.ferrock.row-bounds: "), "{text}");
    assert!(text.contains("  # ferrock.partition-cut: rocksdb.FixedPrefix.7\n"), "{text}");
    let size = text.lines().find_map(|line| line.strip_prefix("  # ferrock.row-bounds: ")?.parse::<u64>().ok());
    assert!(size.is_some_and(|size| size > 10), "{text}");

    let output = sst_dump(directory, "--file=bounds.sst --command=raw");
    assert!(output.status.success());
    let dump = fs::read_to_string(directory.join("bounds_dump.txt")).unwrap();
    assert!(dump.contains("  Row bounds block handle: "), "{dump}");
    let bounds = dump.split_once("Row Bounds Details:\n").unwrap().1;
    let bounds: Vec<&str> = bounds.lines().skip(3).take_while(|line| !line.is_empty()).collect();
    let blocks = dump.lines().filter(|line| line.starts_with("Data Block # ")).count();
    assert_eq!(bounds.len(), blocks, "{dump}");
    // The first begins with key00000.
    assert!(bounds[0].contains(": 6B65793030303030, "), "{}", bounds[0]);
}
