//! What the source itself says: which options structs there are, and whether a test exists and names an option.

use std::path::{Path, PathBuf};

/// Where options structs are declared, relative to this crate.
const DECLARED_IN: &[&str] = &[
    "../options/src",
    "../engine/src/options.rs",
    "../engine/src/db/updates/mod.rs",
    "../cache/src/options.rs",
    "../format/src/compression/options.rs",
    "../table/src/charging.rs",
    "../table/src/options.rs",
];

/// How the names of structs with options end.
const ENDINGS: &[&str] = &["Options", "Settings", "Components"];

/// Structs of such names that no caller of the database sets, and fields that hold other options, each of which is
/// found by itself.
const NO_OPTIONS: &[&str] = &["LoadedOptions", "CompactionIteratorOptions", "DbIteratorOptions"];
const CONTAINERS: &[&str] = &[
    "DbOptions.settings",
    "DbOptions.components",
    "DbOptions.passthrough",
    "ColumnFamilyOptions.cache_usage",
    "ColumnFamilyOptions.settings",
    "ColumnFamilyOptions.table",
    "ColumnFamilyOptions.passthrough",
];

fn in_crate(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `Struct.field` of every public field of every public options struct at the top of a source file, but for the hidden
/// ones, which only our own crates set.
fn public_fields(source: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut within = None;
    let mut is_hidden = false;
    for line in source.lines() {
        let was_hidden = std::mem::replace(&mut is_hidden, line.trim() == "#[doc(hidden)]");
        if let Some(rest) = line.strip_prefix("pub struct ") {
            let is_wanted = |name: &&str| ENDINGS.iter().any(|ending| name.ends_with(ending));
            within = rest.strip_suffix(" {").filter(is_wanted);
        } else if line == "}" {
            within = None;
        } else if let (Some(name), Some(rest)) = (within, line.strip_prefix("    pub "))
            && !was_hidden
        {
            fields.push(format!("{name}.{}", rest.split_once(':').unwrap().0));
        }
    }
    fields
}

/// Rust files at or below `path`.
fn rust_files(path: PathBuf) -> Vec<PathBuf> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        return entries.flat_map(rust_files).collect();
    }
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    is_rust.then_some(path).into_iter().collect()
}

pub fn fields_of_option_structs() -> Vec<String> {
    let files = DECLARED_IN.iter().flat_map(|place| rust_files(in_crate(place)));
    let mut fields: Vec<String> = files.flat_map(|path| public_fields(&read(&path))).collect();
    fields.retain(|field| !CONTAINERS.contains(&&field[..]) && !NO_OPTIONS.contains(&field.split('.').next().unwrap()));
    fields
}

/// The text of a test in `source`, from its name to its closing brace.
fn test_text<'a>(source: &'a str, test: &str) -> Option<&'a str> {
    let at = source.find(&format!("fn {test}("))?;
    let line_start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = &source[line_start..at];
    // Attributes stand directly above.
    let mut above = source[..line_start].lines().rev().take_while(|line| line.trim_start().starts_with('#'));
    if !indent.trim().is_empty() || !above.any(|line| line.trim() == "#[test]") {
        return None;
    }
    let end = source[at..].find(&format!("\n{indent}}}"))?;
    Some(&source[at..at + end])
}

/// The test exists and names the option.
pub fn check_test(option: &str, file: &str, test: &str) {
    let source = read(&in_crate(file));
    let text = test_text(&source, test).unwrap_or_else(|| panic!("{option}: {file} has no test {test}"));
    let field = option.rsplit('.').next().unwrap();
    let is_named = text.match_indices(field).any(|(at, _)| {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_word(text[..at].chars().next_back()) && !is_word(text[at + field.len()..].chars().next())
    });
    assert!(is_named, "{test} in {file} does not name {field}");
}

#[test]
fn options_structs_are_found_in_the_source() {
    let fields = fields_of_option_structs();
    for known in [
        "ReadOptions.max_skippable_internal_keys",
        "WriteOptions.sync",
        "FlushOptions.wait",
        "CompactRangeOptions.change_level",
        "ColumnFamilyOptions.comparator",
        "Components.listeners",
        "CacheOptions.capacity_bytes",
        "CompressionOptions.level",
        "MetadataCacheOptions.partition_pinning",
    ] {
        assert!(fields.iter().any(|field| field == known), "{known}: {fields:?}");
    }
    let source = "pub struct OneOptions {\n    /// Text.\n    pub a: u32,\n    #[doc(hidden)]\n    pub h: u32,\n    pub(crate) b: u32,\n}\n\nfn f() {\n    pub c: u8\n}\n\npub struct Other {\n    pub d: u8,\n}\n";
    assert_eq!(public_fields(source), ["OneOptions.a"]);
}

#[test]
fn only_real_tests_that_name_the_option_count() {
    let source = "#[test]\n#[ignore]\nfn real() {\n    set(block_size);\n}\n\nfn helper() {\n    set(block_size);\n}\n";
    assert!(test_text(source, "real").unwrap().contains("block_size"));
    assert!(!test_text(source, "real").unwrap().contains("helper"));
    assert_eq!(test_text(source, "helper"), None);
    assert_eq!(test_text(source, "absent"), None);
    let refused = |option: &'static str, file: &'static str, test: &'static str| {
        std::panic::catch_unwind(|| check_test(option, file, test)).is_err()
    };
    let (file, test) = ("tests/api.rs", "a_scan_takes_no_prefix_from_its_own_seeks");
    assert!(!refused("ReadOptions.lower_bound", file, test));
    assert!(refused("ReadOptions.lower_boun", file, test), "a part of a name");
    assert!(refused("ReadOptions.fill_cache", file, test), "another option");
    assert!(refused("ReadOptions.lower_bound", file, "open_with"), "no test");
    assert!(refused("ReadOptions.lower_bound", "tests/no_such_file.rs", test));
}
