use super::value::{ObjectId, escape, format_list, format_struct, parse_list, parse_struct, unescape};
use super::*;
use ferrock_base::ErrorKind;
use ferrock_base::byte_text::{from_bytes, to_bytes};
use proptest::prelude::*;

const SMALLEST: &str = "[DBOptions]\n[CFOptions \"default\"]\n";

fn parse(text: &str) -> OptionsFile {
    OptionsFile::parse(text.as_bytes()).unwrap()
}

fn error(text: &str) -> String {
    let error = OptionsFile::parse(text.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    error.to_string()
}

#[test]
fn the_smallest_file() {
    let file = parse(SMALLEST);
    assert_eq!(file.version, None);
    assert_eq!(file.column_families.len(), 1);
    assert!(file.column_family("default").unwrap().table.is_none());
}

#[test]
fn everything_at_once() {
    let text = "ignored=before any section\n# comment\n[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1 # c\n\
        \n[DBOptions]\n max_open_files = -1 \n  max_open_files=7\n  # ferrock: sync_interval=5\n  x=a=b\\#c # tail\n  \n\
        [CFOptions \"default\"]\n  unknown_option=1\n[TableOptions/BlockBasedTable \"default\"]\n  block_size=4096\n\
        [CFOptions \"we\\:ird \\#1\"]\n  comparator=leveldb.BytewiseComparator\n";
    let file = parse(text);
    let version = file.version.unwrap();
    assert_eq!(version.rocksdb_version, Some(RocksDbVersion { major: 7, minor: 8, patch: 3 }));
    assert_eq!(version.options_file_version, Some((1, 1)));
    assert_eq!(file.db.get("max_open_files"), Some("-1"));
    assert_eq!(file.db.statements[0].line, 8);
    assert_eq!(file.db.get("x"), Some("a=b\\#c"));
    assert_eq!(file.db.get_extension("sync_interval"), Some("5"));
    assert_eq!(file.db.get("sync_interval"), None);
    let default = file.column_family("default").unwrap();
    assert_eq!(default.options.get("unknown_option"), Some("1"));
    let table = default.table.as_ref().unwrap();
    assert_eq!((table.factory.as_str(), table.options.get("block_size")), ("BlockBasedTable", Some("4096")));
    assert!(file.column_family("we:ird #1").unwrap().options.get("comparator").is_some());
    let again = parse(&file.format().unwrap());
    assert_eq!(again.format().unwrap(), file.format().unwrap());
}

#[test]
fn errors_name_the_line() {
    assert!(error("[DBOptions]\n[Nonsense]\n").contains("line 2 of OPTIONS file: Unknown section"));
    assert!(error("[DBOptions]\n  novalue\n").contains("line 2"));
    assert!(error("[DBOptions]\n  =1\n").contains("without a name"));
    assert!(error("[DBOptions]\n[DBOptions]\n").contains("twice"));
    assert!(error("[Version]\n[Version]\n").contains("twice"));
    assert!(error("[CFOptions \"one\"]\n").contains("must be \"default\""));
    assert!(error("[CFOptions \"default\"]\n[CFOptions \"default\"]\n").contains("line 2"));
    assert!(error("[CFOptions \"default]\n").contains("closing quote"));
    assert!(error("[TableOptions/BlockBasedTable \"default\"]\n").contains("before its CFOptions"));
    assert!(error("[Version]\n rocksdb_version=1.2.3.4\n").contains("version number"));
    assert!(error("[Version]\n rocksdb_version=1.x\n").contains("version number"));
    assert!(error("[Version]\n options_file_version=0.9\n").contains("< 1"));
    assert!(OptionsFile::parse(b"[CFOptions \"default\"]\n").unwrap_err().is_corruption());
    assert!(OptionsFile::parse(b"[DBOptions]\n").unwrap_err().is_corruption());
    assert!(OptionsFile::parse(b"").unwrap_err().is_corruption());
    assert!(OptionsFile::parse(b"[DBOptions]\n\xff").unwrap_err().to_string().contains("line 2"));
}

#[test]
fn the_layout_is_rocksdbs() {
    let mut file = parse(SMALLEST);
    file.db.push("create_if_missing", "true");
    let mut options = Section::new();
    options.push("block_size", "4096");
    file.column_families[0].table = Some(TableSection { factory: "BlockBasedTable".to_owned(), options });
    file.column_families[0].options.push_extension("own", "1");
    let mut second = file.column_families[0].clone();
    second.name = "s\"1\"".to_owned();
    second.table = None;
    file.column_families.push(second);
    let text = file.format().unwrap();
    let body = text.split_once("\n\n").unwrap().1;
    let expected = "[Version]\n  rocksdb_version=11.8.1\n  options_file_version=1.1\n\n\
        [DBOptions]\n  create_if_missing=true\n  \n\n\
        [CFOptions \"default\"]\n  # ferrock: own=1\n  \n\
        [TableOptions/BlockBasedTable \"default\"]\n  block_size=4096\n  \n\n\
        [CFOptions \"s\"1\"\"]\n  # ferrock: own=1\n  \n";
    assert_eq!(body, expected);
    assert!(parse(&text).column_family("s\"1\"").is_some());
}

#[test]
fn values_that_would_change_are_not_written() {
    for value in ["a\nb", "a#b", "#", "a\r"] {
        let mut file = parse(SMALLEST);
        file.db.push("name", value);
        assert_eq!(file.format().unwrap_err().kind(), ErrorKind::InvalidArgument, "{value:?}");
    }
}

#[test]
fn unknown_options_are_passed_over_only_in_newer_files() {
    let running = RocksDbVersion::CURRENT;
    let file = |version: &str| parse(&format!("[Version]\n rocksdb_version={version}\n{SMALLEST}"));
    assert!(file("11.8.2").may_ignore_unknown_options(true, running));
    assert!(!file("11.8.2").may_ignore_unknown_options(false, running));
    assert!(!file("11.8.1").may_ignore_unknown_options(true, running));
    assert!(!file("9").may_ignore_unknown_options(true, running));
    assert!(parse(SMALLEST).may_ignore_unknown_options(true, running));
}

#[test]
fn retired_names() {
    assert!(is_deprecated(OptionScope::Db, "preserve_deletes"));
    assert!(!is_deprecated(OptionScope::ColumnFamily, "preserve_deletes"));
    assert!(is_deprecated(OptionScope::ColumnFamily, "snap_refresh_nanos"));
    assert!(is_deprecated(OptionScope::BlockBasedTable, "index_per_partition"));
    let canonical = canonical_name("memtable_veirfy_per_key_checksum_on_seek");
    assert_eq!(canonical, "memtable_verify_per_key_checksum_on_seek");
    assert_eq!(canonical_name("comparator"), "comparator");
}

#[test]
fn structs() {
    let fields = parse_struct("{a=1; b={c=d;e={f=g}};h=;i=x:y}").unwrap();
    assert_eq!(fields, [("a", "1"), ("b", "c=d;e={f=g}"), ("h", ""), ("i", "x:y")]);
    assert_eq!(parse_struct(fields[1].1).unwrap(), [("c", "d"), ("e", "f=g")]);
    assert_eq!(parse_struct("{}").unwrap(), []);
    assert_eq!(parse_struct("").unwrap(), []);
    assert_eq!(parse_struct("{a=b=c;}").unwrap(), [("a", "b=c")]);
    for bad in ["{a=1", "{a}", "a=1;b", "{a={b}c;}", "{=1;}", "{a=1;}x", "{{}", "}=1"] {
        assert_eq!(parse_struct(bad).unwrap_err().kind(), ErrorKind::InvalidArgument, "{bad}");
    }
    assert_eq!(format_struct([("a", "1"), ("b", "c=d;")]), "{a=1;b={c=d;};}");
    assert_eq!(format_struct([("b", "{c=d;}")]), "{b={c=d;};}");
}

#[test]
fn objects() {
    assert_eq!(ObjectId::parse("nullptr").unwrap(), None);
    assert_eq!(ObjectId::parse(" ").unwrap(), None);
    assert_eq!(ObjectId::parse("{id=nullptr;}").unwrap(), None);
    let bloom = ObjectId::parse("bloomfilter:9.9:false").unwrap().unwrap();
    assert_eq!((bloom.name(), bloom.parameters().collect::<Vec<_>>()), ("bloomfilter", vec!["9.9", "false"]));
    for text in [
        "BlockBasedTable",
        "{id=StringAppendOperator;delimiter=,;}",
        "{id=StringAppendOperator;delimiter=\\:;}",
        "{id=ribbonfilter:10:-1;bloom_before_level=-1;}",
        "{id=HashSkipListRepFactory;branching_factor=4;skiplist_height=4;bucket_count=100;}",
    ] {
        assert_eq!(ObjectId::parse(text).unwrap().unwrap().to_string(), text);
    }
    let append = ObjectId::parse("{id=StringAppendOperator;delimiter=\\#;}").unwrap().unwrap();
    assert_eq!(append.property("delimiter"), Some("#"));
    let semicolon = ObjectId::new("StringAppendOperator").with_property("delimiter", ";");
    assert_eq!(ObjectId::parse(&semicolon.to_string()).unwrap().unwrap(), semicolon);
    assert!(ObjectId::parse("{delimiter=,;}").is_err());
}

#[test]
fn lists() {
    assert_eq!(parse_list("1: 2:3").collect::<Vec<_>>(), ["1", "2", "3"]);
    assert_eq!(parse_list(" ").count(), 0);
    assert_eq!(format_list([1, 2]), "1:2");
}

fn section() -> impl Strategy<Value = Section> {
    let statements = || prop::collection::vec(("[a-zA-Z_]{1,12}", "[!-\"$-~]{0,12}"), 0..5);
    (statements(), statements()).prop_map(|(statements, extensions)| {
        let mut section = Section::new();
        statements.iter().for_each(|(name, value)| section.push(name, value));
        extensions.iter().for_each(|(name, value)| section.push_extension(name, value));
        section
    })
}

fn without_lines(mut file: OptionsFile) -> OptionsFile {
    let tables = file
        .column_families
        .iter_mut()
        .flat_map(|family| [Some(&mut family.options), family.table.as_mut().map(|table| &mut table.options)]);
    for section in tables.flatten().chain([&mut file.db]) {
        section.statements.iter_mut().chain(&mut section.extensions).for_each(|statement| statement.line = 0);
    }
    file
}

/// Names are of any bytes.
fn family_name() -> impl Strategy<Value = String> {
    let bytes = prop::collection::vec(any::<u8>(), 1..8).prop_map(|bytes| from_bytes(&bytes).into_owned());
    prop_oneof!["\\PC{1,8}", bytes]
}

proptest! {
    #[test]
    fn files_round_trip(
        db in section(),
        families in prop::collection::btree_map(family_name(), (section(), prop::option::of(section())), 0..4),
    ) {
        let family = |(name, (options, table)): (String, (Section, Option<Section>))| ColumnFamilySection {
            name,
            options,
            table: table.map(|options| TableSection { factory: "BlockBasedTable".to_owned(), options }),
        };
        let mut column_families = vec![family(("default".to_owned(), (db.clone(), None)))];
        column_families.extend(families.into_iter().filter(|(name, _)| name != "default").map(family));
        let version = Version {
            rocksdb_version: Some(RocksDbVersion::CURRENT),
            options_file_version: Some((1, 1)),
        };
        let file = OptionsFile { version: Some(version), db, column_families };
        let bytes = to_bytes(&file.format().unwrap()).into_owned();
        let again = without_lines(OptionsFile::parse(&bytes).unwrap());
        prop_assert_eq!(again, file);
    }

    #[test]
    fn escapes_round_trip(text in "[\\\\#:\n\r\"a-z ]{0,20}") {
        prop_assert_eq!(unescape(&escape(&text)), text.clone());
        prop_assert!(!escape(&text).contains(['\n', '\r']));
    }

    #[test]
    fn any_text_parses_or_fails(text in "[\\[\\]{}=;\"#\\\\a-zA-Z\n ]{0,80}") {
        let _ = OptionsFile::parse(text.as_bytes());
        let _ = parse_struct(&text);
        let _ = ObjectId::parse(&text);
    }
}
