//! Commands of `ldb` on the tree of a database: what they print, and that the database opens with what is left.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{ColumnFamilyOptions, Db, DbOptions, WriteOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn on(directory: &Path, arguments: &[&str]) -> Output {
    let database = format!("--db={}", directory.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_ldb"));
    command.arg(database).args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn told(output: &Output, message: &str) {
    assert_eq!((printed(output), String::from_utf8_lossy(&output.stderr).trim_end()), (String::new(), message));
}

#[track_caller]
fn fails(output: &Output, code: i32, message: &str) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains(message), "{text}");
}

/// Two families: two tables of level 0 in the first, of which the newer one deletes a range, and one with a blob file.
fn database(directory: &Path) -> Vec<String> {
    let mut options = DbOptions::default();
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    let mut blobs = ColumnFamilyOptions::default();
    (blobs.enable_blob_files, blobs.min_blob_size) = (true, 4);
    let families = vec![("default".to_owned(), ColumnFamilyOptions::default()), ("blobs".to_owned(), blobs)];
    let (db, families) = Db::open_cf(directory, options, families).unwrap();
    for key in ["a", "b", "c"] {
        db.put(key.as_bytes(), b"1").unwrap();
    }
    db.flush().unwrap();
    db.put(b"d", b"2").unwrap();
    db.delete_range_cf(&families[0], b"b", b"c", &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    db.put_cf(&families[1], b"k", b"a long value", &WriteOptions::default()).unwrap();
    db.flush_cf(&families[1], &ferrock::FlushOptions::default()).unwrap();
    db.put(b"e", b"in the log").unwrap();
    let mut files = db.live_files();
    files.sort_by_key(|file| file.number);
    let names = files.iter().map(ferrock::LiveFile::name).collect();
    drop(families);
    db.close().unwrap();
    names
}

#[test]
fn files_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let (path, names) = (directory.path(), database(directory.path()));
    let in_path = |name: &str| path.join(name).display().to_string();
    let blob = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let blob = blob.into_iter().find(|name| name.ends_with(".blob")).unwrap();
    let mut expected = String::new();
    for (family, tables, blobs) in
        [("default", &[&names[1], &names[0]][..], None), ("blobs", &[&names[2]], Some(&blob))]
    {
        expected.push_str(&format!("===== Column Family: {family} =====\nLive SST Files:\n"));
        for level in 0..7 {
            expected.push_str(&format!("---------- level {level} ----------\n"));
            let here = tables.iter().filter(|_| level == 0);
            here.for_each(|name| expected.push_str(&format!("{}\n", in_path(name))));
        }
        expected.push_str("Live Blob Files:\n");
        blobs.iter().for_each(|name| expected.push_str(&format!("{}\n", in_path(name))));
    }
    expected.push_str("------------------------------\n");
    assert_eq!(printed(&on(path, &["list_live_files_metadata"])), expected);
    let sorted = printed(&on(path, &["list_live_files_metadata", "--sort_by_filename"]));
    let mut lines: Vec<String> =
        names[..2].iter().map(|name| format!("{} : level 0, column family 'default'", in_path(name))).collect();
    lines.push(format!("{} : level 0, column family 'blobs'", in_path(&names[2])));
    lines.push(format!("{}, column family 'blobs'", in_path(&blob)));
    lines.sort();
    let expected = format!("Live SST and Blob Files:\n{}\n------------------------------\n", lines.join("\n"));
    assert_eq!(sorted, expected);
    let sums = printed(&on(path, &["file_checksum_dump", "--hex"]));
    let files = names.iter().chain([&blob]);
    let number = |name: &String| name.split_once('.').unwrap().0.parse::<u64>().unwrap();
    let mut numbers: Vec<u64> = files.map(number).collect();
    numbers.sort_unstable();
    let mut expected: String = numbers.iter().map(|number| format!("{number}, Unknown, \n")).collect();
    expected.push_str("Print SST file checksum information finished \n");
    assert_eq!(sums, expected);
    let ranges = printed(&on(path, &["list_file_range_deletes"]));
    let [newer, older] = [&names[1], &names[0]].map(|name| format!("=== file : {} ===\n", in_path(name)));
    assert_eq!(ranges, format!("{newer}start: 62 end: 63 seq: 5\n{older}\n"));
    let ranges = printed(&on(path, &["list_file_range_deletes", "--max_keys=1"]));
    assert_eq!(ranges, format!("{newer}start: 62 end: 63 seq: 5\n(results may not be complete)\n\n"));
}

#[test]
fn a_table_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let (path, names) = (directory.path(), database(directory.path()));
    let number = names[1].trim_end_matches(".sst").trim_start_matches('0').to_owned();
    told(&on(path, &["update_manifest"]), "Manifest updates successful");
    told(&on(path, &["unsafe_remove_sst_file", &number]), "unsafely removed SST file");
    // What it had deleted is back, and the log counts.
    assert_eq!(printed(&on(path, &["scan"])), "a : 1\nb : 1\nc : 1\ne : in the log\n");
    assert_eq!(printed(&on(path, &["put", "f", "3"])), "OK\n");
    assert_eq!(printed(&on(path, &["scan", "--from=e"])), "e : in the log\nf : 3\n");
    fails(&on(path, &["unsafe_remove_sst_file", &number]), 2, "failed to unsafely remove SST file");
    fails(&on(path, &["unsafe_remove_sst_file", "x"]), 64, "Failed to parse SST file number x");
    std::fs::remove_file(path.join(&names[2])).unwrap();
    fails(&on(path, &["update_manifest"]), 2, "failed to update manifest");
    fails(&on(&path.join("nowhere"), &["update_manifest"]), 2, "");
    assert!(!path.join("nowhere").exists());
}

#[test]
fn levels_become_fewer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    database(path);
    fails(&on(path, &["reduce_levels", "--new_levels=1"]), 64, "Invalid number of levels");
    let few = printed(&on(path, &["reduce_levels", "--new_levels=3", "--print_old_levels"]));
    assert_eq!(few, "The old number of levels in use is 1\n");
    assert_eq!(printed(&on(path, &["compact"])), "");
    let many = printed(&on(path, &["reduce_levels", "--new_levels=3", "--print_old_levels"]));
    assert_eq!(many, "The old number of levels in use is 7\nCompacting the db...\n");
    let mut family = ColumnFamilyOptions::default();
    family.num_levels = 3;
    let families = vec![("default".to_owned(), family.clone()), ("blobs".to_owned(), family)];
    let (db, _) = Db::open_cf(path, DbOptions::default(), families).unwrap();
    assert_eq!(db.live_files().iter().map(|file| file.level).max(), Some(2));
    assert_eq!(db.get(b"e").unwrap().as_deref(), Some(&b"in the log"[..]));
    assert_eq!(db.get(b"b").unwrap(), None);
}

/// Tables in several levels become one of level 0, and the OPTIONS file says the new style, and all else as before.
#[test]
fn a_family_of_levels_becomes_universal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    database(path);
    let style = |old: &str, new: &str| {
        let (old, new) = (format!("--old_compaction_style={old}"), format!("--new_compaction_style={new}"));
        on(path, &["change_compaction_style", &old, &new])
    };
    fails(&on(path, &["change_compaction_style"]), 64, "--old_compaction_style=<0 for level compaction");
    fails(&style("0", "2"), 64, "--new_compaction_style=<0 for level compaction");
    fails(&style("1", "1"), 64, "Nothing to do");
    fails(&style("1", "0"), 64, "Convert from universal compaction to level compaction. Nothing to do");
    assert_eq!(printed(&on(path, &["compact"])), "");
    assert_eq!(printed(&on(path, &["put", "c", "newer"])), "OK\n");
    let changed = printed(&style("0", "1"));
    let (before, after) = changed.split_once('\n').unwrap();
    assert!(before.starts_with("files per level before compaction: ") && before.ends_with(",1"), "{before}");
    assert_eq!(after, "files per level after compaction: 1,0,0,0,0,0,0\n");
    let (db, families) = Db::open_with_latest_options(path, DbOptions::default()).unwrap();
    let options = families.iter().map(|family| (family.name().to_owned(), family.options()));
    for (name, options) in options {
        let is_changed = name == "default";
        assert_eq!(options.compaction_style == ferrock::options::CompactionStyle::Universal, is_changed, "{name}");
        assert!(!options.disable_auto_compactions && options.target_file_size_base == 64 << 20, "{name}");
    }
    for (key, value) in [("a", Some(&b"1"[..])), ("b", None), ("c", Some(b"newer")), ("e", Some(b"in the log"))] {
        assert_eq!(db.get(key.as_bytes()).unwrap().as_deref(), value, "{key}");
    }
    drop((db, families));
    fails(&on(&path.join("nowhere"), &["change_compaction_style"]), 64, "");
}

#[test]
fn all_live_files_are_printed() {
    let directory = tempfile::tempdir().unwrap();
    let (path, names) = (directory.path(), database(directory.path()));
    let text = printed(&on(path, &["dump_live_files"]));
    let place = |name: &str| path.join(name).display().to_string();
    let log = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap())
        .find(|entry| entry.file_name().to_string_lossy().ends_with(".log") && entry.metadata().unwrap().len() > 0);
    let log = log.unwrap().path().display().to_string();
    let mut rest = &text[..];
    // In this order.
    for part in [
        "Manifest File\n==============================\n",
        "--------------- Column family \"default\"  (ID 0) --------------\n",
        "\nColumn family name: default\n==============================\n\nSST Files\n==============================\n",
        &format!("{} level:0\n------------------------------\n", place(&names[1])),
        "'d' seq:4, type:1 => 2\n",
        "Table Properties:\n------------------------------\n  # data blocks: 1\n",
        &format!("{} level:0\n------------------------------\n", place(&names[0])),
        "'a' seq:1, type:1 => 1\n",
        "Blob Files\n==============================\n",
        "Column family name: blobs\n",
        "'k' seq:6, type:17 => ",
        "Blob log header:\n  Version          : 1\n  Column Family ID : 1\n",
        "Blob log footer:\n  Blob count       : 1\n",
        "Read record with offset 0x1e (30):\n  key size   : 1\n  value size : 12\n  expiration : 0\n",
        "  key        : k\n  blob       : a long value\n",
        "Summary:\n  total records: 1\n  total key size: 1\n  total blob size: 12\n",
        "\nWrite Ahead Log Files\n==============================\n",
        &format!("{log}\nSequence,Count,ByteSize,Physical Offset,Key(s) : value \n"),
        "PUT(0) : 0x65 : 0x696E20746865206C6F67",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not in {rest}"));
        rest = &rest[at + part.len()..];
    }
    let decoded = printed(&on(path, &["dump_live_files", "--decode_blob_index", "--dump_uncompressed_blobs"]));
    assert!(decoded.contains("'k' seq:6, type:17 => [blob ref] file:"), "{decoded}");
    assert!(decoded.contains("  raw blob   : a long value\n"), "{decoded}");
    // What is damaged is told of, and the rest is printed all the same.
    let table = path.join(&names[1]);
    let mut bytes = std::fs::read(&table).unwrap();
    bytes.truncate(30);
    std::fs::write(&table, bytes).unwrap();
    let damaged = on(path, &["dump_live_files"]);
    assert_eq!(damaged.status.code(), Some(1), "{damaged:?}");
    assert!(String::from_utf8_lossy(&damaged.stderr).contains(&names[1]), "{damaged:?}");
    let text = String::from_utf8_lossy(&damaged.stdout).into_owned();
    assert!(text.contains("'a' seq:1, type:1 => 1\n") && text.contains(&log), "{text}");
    fails(&on(&path.join("nowhere"), &["dump_live_files"]), 2, "");
}

#[test]
fn checksums_of_files_are_dumped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_checksum_gen_factory = Some(std::sync::Arc::new(ferrock::options::Crc32cFactory));
    let mut family = ColumnFamilyOptions::default();
    (family.enable_blob_files, family.min_blob_size) = (true, 4);
    let (db, _) = Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap();
    db.put(b"k", b"a long value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let mut expected = String::new();
    let mut names: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    for name in names.iter().map(|name| name.to_str().unwrap()) {
        if let Some((number, "sst" | "blob")) = name.split_once('.') {
            let crc = ferrock_base::checksum::crc32c(&std::fs::read(path.join(name)).unwrap());
            expected.push_str(&format!("{}, FileChecksumCrc32c, {crc:08X}\n", number.parse::<u64>().unwrap()));
        }
    }
    expected.push_str("Print SST file checksum information finished \n");
    assert_eq!(printed(&on(path, &["file_checksum_dump", "--hex"])), expected);
    // What the tool writes has them, too, and a table that it takes in.
    assert_eq!(printed(&on(path, &["put", "l", "another long value"])), "OK\n");
    assert_eq!(printed(&on(path, &["compact"])), "");
    let table = path.join("table");
    let (table, mut writer) =
        (table.to_str().unwrap(), ferrock::SstFileWriter::new(&DbOptions::default(), ColumnFamilyOptions::default()));
    writer.open(table).unwrap();
    writer.put(b"m", b"from outside").unwrap();
    writer.finish().unwrap();
    assert_eq!(printed(&on(path, &["ingest_extern_sst", table])), "external SST files ingested\n");
    let sums = printed(&on(path, &["file_checksum_dump", "--hex"]));
    assert!(sums.lines().count() >= 4 && !sums.contains("Unknown"), "{sums}");
}
