//! C programs, as a user would write them, against the built library: compiled with `cc` under AddressSanitizer and
//! LeakSanitizer, which see the library's memory because it comes from `malloc`. Without a C compiler this fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod functions;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Cargo puts the library beside the directory of the test programs, or into it.
fn library_directory() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().skip(1).take(2).find(|directory| directory.join("libferrock_capi.so").exists());
    found.expect("libferrock_capi.so is not built").to_path_buf()
}

fn run(command: &mut Command) -> Output {
    // Cargo's path would find a library that an earlier build left, before the one that the program was linked with.
    command.env_remove("LD_LIBRARY_PATH");
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn compile(source: &str, output: &Path, sanitizers: &[&str]) {
    let library = library_directory();
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-g", "-Wall", "-Wextra", "-Werror"]).args(sanitizers);
    cc.arg(format!("-I{CRATE}/include")).arg(format!("{CRATE}/tests/c/{source}.c"));
    cc.arg(format!("-L{}", library.display())).args(["-lferrock_capi", "-lpthread"]);
    cc.arg(format!("-Wl,-rpath,{}", library.display())).arg("-o").arg(output);
    run(&mut cc);
}

fn check(source: &str) {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join(source);
    compile(source, &program, &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    let databases = directory.path().join("databases");
    std::fs::create_dir(&databases).unwrap();
    run(Command::new(&program).arg(&databases).env("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0"));
}

#[test]
fn basic() {
    check("basic");
}

#[test]
fn families() {
    check("families");
}

#[test]
fn checkpoints() {
    check("checkpoints");
}

#[test]
fn indexed_batches() {
    check("indexed_batches");
}

#[test]
fn ttl() {
    check("ttl");
}

#[test]
fn repairs() {
    check("repairs");
}

#[test]
fn followers() {
    check("followers");
}

#[test]
fn file_checksums() {
    check("file_checksums");
}

#[test]
fn exported_families() {
    check("exported_families");
}

#[test]
fn maintenance() {
    check("maintenance");
}

#[test]
fn backups() {
    check("backups");
}

#[test]
fn compactions() {
    check("compactions");
}

#[test]
fn compaction_services() {
    check("compaction_services");
}

#[test]
fn callbacks() {
    check("callbacks");
}

#[test]
fn event_listeners() {
    check("event_listeners");
}

#[test]
fn ingestion() {
    check("ingestion");
}

#[test]
fn options() {
    check("options");
}

#[test]
fn values() {
    check("values");
}

#[test]
fn caches() {
    check("caches");
}

#[test]
fn more_batches() {
    check("more_batches");
}

#[test]
fn more_reads() {
    check("more_reads");
}

#[test]
fn logs() {
    check("logs");
}

#[test]
fn traces() {
    check("traces");
}

#[test]
fn paths() {
    check("paths");
}

#[test]
fn statistics() {
    check("statistics");
}

#[test]
fn loggers() {
    check("loggers");
}

#[test]
fn environments() {
    check("environments");
}

#[test]
fn pairs() {
    check("pairs");
}

#[test]
fn threads() {
    check("threads");
}

#[test]
fn errors() {
    check("errors");
}

/// The leak checker works here: a program that leaks is caught.
#[test]
fn leaks_are_seen() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("leaky");
    compile("leaky", &program, &["-fsanitize=address"]);
    let output = Command::new(&program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("LeakSanitizer"), "{}: {text}", output.status);
}

/// Every function of RocksDB 11.8.1's interface is exported, and nothing else; the headers declare it, and the list
/// says what of it works, as the tables of the library have it.
#[test]
fn the_list_of_functions_is_exact() {
    let listed = functions::listed();
    assert_eq!(listed.len(), 1749);
    let names: BTreeSet<String> = listed.keys().cloned().collect();
    let symbols = run(Command::new("nm")
        .args(["--dynamic", "--defined-only"])
        .arg(library_directory().join("libferrock_capi.so")));
    let exported: BTreeSet<String> = String::from_utf8(symbols.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned))
        .collect();
    assert_eq!(exported, names);
    let declared: BTreeSet<String> = functions::declared().into_keys().collect();
    assert_eq!(declared, names);
    assert_eq!(functions::in_tables(&["not_built"]), functions::of_state(&listed, "not-built"));
    assert_eq!(functions::in_tables(&["kept_options", "kept_texts"]), functions::of_state(&listed, "kept"));
    let sources = functions::programs();
    for name in functions::of_state(&listed, "works") {
        assert!(sources.contains(&name), "{name} is not called by any program");
    }
}

/// What the pages say of the functions is what the list says.
#[test]
fn the_pages_have_the_counts() {
    let listed = functions::listed();
    let count = |state| functions::of_state(&listed, state).len();
    let sentence = format!(
        "Of the {} functions {} work, {} keep what they are set to, and {} report that they are not built",
        listed.len(),
        count("works"),
        count("kept"),
        count("not-built")
    );
    for page in ["c-api.md", "compatibility.md"] {
        let text = std::fs::read_to_string(format!("{CRATE}/../../docs/{page}")).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&sentence), "docs/{page} does not say: {sentence}");
    }
}

/// A program that calls every function that is not built, with handles of what is not built, never crashes, and is
/// told so by every function that can tell.
#[test]
fn what_is_not_built_says_so() {
    check_generated(&functions::not_built_program());
}

/// No function crashes when all it gets is null and 0.
#[test]
fn null_is_never_a_crash() {
    check_generated(&functions::null_program());
}

/// Compiles a program that a test made, and runs it.
fn check_generated(text: &str) {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("generated.c");
    std::fs::write(&source, text).unwrap();
    let program = directory.path().join("generated");
    let library = library_directory();
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-g", "-Wall", "-Wno-unused-function", "-Wno-nonnull", "-Werror"]);
    cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    cc.arg(format!("-I{CRATE}/include")).arg(format!("-I{CRATE}/tests/c")).arg(&source);
    cc.arg(format!("-L{}", library.display())).args(["-lferrock_capi", "-lpthread"]);
    cc.arg(format!("-Wl,-rpath,{}", library.display())).arg("-o").arg(&program);
    run(&mut cc);
    let databases = directory.path().join("databases");
    std::fs::create_dir(&databases).unwrap();
    run(Command::new(&program).arg(&databases).env("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0"));
}

/// The header is C99 and C++, without a warning.
#[test]
fn the_header_compiles_alone() {
    let directory = tempfile::tempdir().unwrap();
    for (language, standard) in [("c", "c99"), ("c++", "c++98")] {
        let mut cc = Command::new("cc");
        cc.args(["-x", language, &format!("-std={standard}"), "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
        if language == "c++" {
            // C++98 has no stdint.h and stdbool.h of its own, every compiler has.
            cc.arg("-Wno-long-long");
        }
        cc.arg(format!("{CRATE}/include/rocksdb/c.h")).current_dir(directory.path());
        run(&mut cc);
    }
}
