//! Options that change while the database is open: the list of RocksDB's, what is refused, and every effect once more
//! with the option changed behind the open.

use crate::Effect::Shown;
use crate::registry;
use crate::setup::{ONLINE, Online, Setup, flush_range, key, value};
use ferrock::options::online::{fixed_names, mutable_names};
use ferrock::options::{ColumnFamilySettings, DbSettings, PrefixExtractor};
use ferrock::{Db, ErrorKind, ReadOptions};
use ferrock_table::BlockBasedTableOptions;
use ferrock_vfs::FileSystem;
use std::collections::BTreeSet;

/// A row of the list.
struct Row<'a> {
    is_of_database: bool,
    name: &'a str,
    value: &'a str,
    outcome: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let lines = include_str!("testdata/mutable.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.splitn(4, ' ');
            let mut word = || words.next().unwrap();
            Row { is_of_database: word() == "db", name: word(), value: word(), outcome: word() }
        })
        .collect()
}

fn set(db: &Db, is_of_database: bool, name: &str, value: &str) -> ferrock::Result<()> {
    match is_of_database {
        true => db.set_db_options(&[(name, value)]),
        false => db.set_options_cf(&db.default_column_family().unwrap(), &[(name, value)]),
    }
}

fn options_file(setup: &Setup) -> String {
    String::from_utf8(setup.read(&setup.files(|name| name.starts_with("OPTIONS-")).pop().unwrap())).unwrap()
}

#[test]
fn what_may_change_is_what_rocksdb_lets_change() {
    // Two names of one object each.
    let aliases = ["block_based_table_factory", "plain_table_factory"];
    let listed: BTreeSet<&str> = rows().iter().map(|row| row.name).chain(aliases).collect();
    let own: BTreeSet<&str> = mutable_names().into_iter().collect();
    assert_eq!(own, listed);
    assert!(fixed_names().iter().all(|name| !listed.contains(name)));
}

#[test]
fn what_may_change_is_accepted_and_shown() {
    for Row { is_of_database, name, value, outcome } in rows() {
        let setup = Setup::new();
        let db = setup.open();
        flush_range(&db, 0..10);
        let braces = value.ends_with(';');
        let text = if braces { format!("{{{value}}}") } else { value.replace('\\', "") };
        let changed = set(&db, is_of_database, name, &text);
        if outcome.starts_with("not-built") {
            let error = changed.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotSupported, "{name}: {error}");
            assert!(error.to_string().contains("not built"), "{error}");
            continue;
        }
        changed.unwrap_or_else(|error| panic!("{name} = {value}: {error}"));
        let file = options_file(&setup);
        let line = file.lines().find(|line| line.trim_start().starts_with(&format!("{name}="))).unwrap_or_default();
        assert!(line.contains(value), "{name} = {value}: {line}");
        let notes = db.option_notes().join("\n");
        assert_eq!(notes.contains(name), outcome.starts_with("kept"), "{name}: {notes}");
        assert_eq!(db.get(key(3).as_bytes()).unwrap().unwrap().to_vec(), crate::setup::value(3), "{name}");
        flush_range(&db, 10..20);
        drop(db);
        Db::open_with_latest_options(crate::setup::DIRECTORY, setup.db.clone()).unwrap();
    }
}

#[test]
fn what_is_fixed_is_refused_with_what_to_do() {
    let setup = Setup::new();
    let db = setup.open();
    let before = options_file(&setup);
    for name in fixed_names() {
        let errors = [true, false].map(|is_of_database| set(&db, is_of_database, name, "1").unwrap_err());
        assert_eq!(errors[0].kind(), ErrorKind::NotFound, "{}", errors[0]);
        assert_eq!(errors[1].kind(), ErrorKind::InvalidArgument, "{}", errors[1]);
        assert!(errors.iter().any(|error| error.to_string().contains("close the database, and open it")), "{errors:?}");
    }
    assert_eq!(options_file(&setup), before);
    for is_of_database in [true, false] {
        let error = match is_of_database {
            true => db.set_db_options(&[]).unwrap_err(),
            false => db.set_options_cf(&db.default_column_family().unwrap(), &[]).unwrap_err(),
        };
        assert!(error.to_string().contains("empty input"), "{error}");
    }
}

/// What a memtable is made with. As in RocksDB a change counts for the next one.
const OF_MEMTABLES: &[&str] = &[
    "arena_block_size",
    "inplace_update_num_locks",
    "memtable_huge_page_size",
    "memtable_prefix_bloom_size_ratio",
    "memtable_whole_key_filtering",
];

/// Options whose effects are shown with what only an open does: it reads a log, and opens tables that RocksDB wrote.
/// The first one changes while the database is open in its own test.
const SHOWN_BY_AN_OPEN: &[&str] = &["memtable_max_range_deletions", "pin_top_level_index_and_filter"];

/// Runs a share of the effects of options that may change, each changed behind the open.
fn run_share(share: usize) {
    let tables = [DbSettings::TABLE, ColumnFamilySettings::TABLE, BlockBasedTableOptions::TABLE];
    let rows = tables.into_iter().flatten().filter(|info| info.flags.is_mutable);
    let effects = registry();
    let mut failed = Vec::new();
    for name in rows.map(|info| info.name).skip(share).step_by(3) {
        if SHOWN_BY_AN_OPEN.contains(&name) {
            continue;
        }
        let Some(Shown(show)) = effects.get(name) else { continue };
        let is_of_memtables = OF_MEMTABLES.contains(&name);
        ONLINE.set(if is_of_memtables { Online::BeforeAMemtable } else { Online::BehindTheOpen });
        if std::panic::catch_unwind(show).is_err() {
            failed.push(name);
        }
        ONLINE.set(Online::No);
    }
    assert!(failed.is_empty(), "options without their effect when they change behind the open: {failed:?}");
}

#[test]
fn effects_behind_the_open_first_share() {
    run_share(0);
}

#[test]
fn effects_behind_the_open_second_share() {
    run_share(1);
}

#[test]
fn effects_behind_the_open_third_share() {
    run_share(2);
}

/// Tables and memtables that are there when the extractor changes do not take what the new one calls a prefix for one
/// of their own.
#[test]
fn a_scan_of_a_prefix_finds_what_another_extractor_wrote() {
    let mut setup = Setup::new().set("memtable_prefix_bloom_size_ratio", "0.2");
    setup.family.filter_policy = ferrock::options::FilterPolicy::bloom(10.0);
    setup.family.prefix_extractor = Some(PrefixExtractor::Noop);
    let db = setup.open();
    let family = db.default_column_family().unwrap();
    let extractors = ["fixed:3", "capped:5", "rocksdb.Noop", "fixed:3", "nullptr", "capped:3"];
    for (round, extractor) in extractors.iter().enumerate() {
        for number in 0..40_u32 {
            db.put(format!("abc{number:03}{round}").as_bytes(), &value(number)).unwrap();
            if number == 20 && round % 2 == 0 {
                db.flush().unwrap();
            }
        }
        db.set_options_cf(&family, &[("prefix_extractor", extractor)]).unwrap();
        let options = ReadOptions { prefix_same_as_start: true, ..ReadOptions::default() };
        let mut iter = db.iter_cf(&family, &options);
        iter.seek(b"abc");
        let mut found = 0;
        while iter.valid() {
            found += 1;
            iter.next();
        }
        // With no extractor there is no prefix to stay in; of a capped one, and of whole keys, `abc` is another prefix.
        let shown = match *extractor {
            "capped:5" | "rocksdb.Noop" => 0,
            _ => (round + 1) * 40,
        };
        assert_eq!(found, shown, "{extractor}");
    }
}

#[test]
fn fewer_files_are_open_from_a_change_on() {
    let setup = Setup::new();
    let db = setup.open();
    db.set_db_options(&[("max_open_files", "2")]).unwrap();
    (0..8).for_each(|part| flush_range(&db, part * 10..part * 10 + 10));
    let opens = || {
        let before = setup.memory.counters().snapshot().opens;
        (0..8).for_each(|part| assert!(db.get(key(part * 10).as_bytes()).unwrap().is_some()));
        setup.memory.counters().snapshot().opens - before
    };
    assert!(opens() >= 6);
    db.set_db_options(&[("max_open_files", "-1")]).unwrap();
    opens();
    assert_eq!(opens(), 0, "all stay open");
}

#[test]
fn fields_of_tables_change_one_by_one() {
    let setup = Setup::new();
    let db = setup.open();
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("block_based_table_factory", "{filter_policy=bloomfilter:10;block_size=512}")])
        .unwrap();
    db.set_options_cf(&family, &[("block_based_table_factory.block_restart_interval", "1")]).unwrap();
    flush_range(&db, 0..3000);
    let properties = crate::setup::only_properties(&db);
    assert!(properties.filter_size > 0 && properties.num_data_blocks > 500, "{properties:?}");
    db.set_options_cf(&family, &[("table_factory", "PlainTable")]).unwrap();
    db.set_options_cf(&family, &[("plain_table_factory", "{bloom_bits_per_key=4}")]).unwrap();
    flush_range(&db, 3000..3010);
    assert!(options_file(&setup).contains("[TableOptions/PlainTable \"default\"]"), "{}", options_file(&setup));
    assert!(db.get(key(3005).as_bytes()).unwrap().is_some() && db.get(key(5).as_bytes()).unwrap().is_some());
}
