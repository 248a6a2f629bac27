//! C programs, as a user would write them, against the built library: compiled with `cc` under AddressSanitizer and
//! LeakSanitizer, which see the library's memory because it comes from `malloc`. Without a C compiler this fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

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
fn maintenance() {
    check("maintenance");
}

#[test]
fn callbacks() {
    check("callbacks");
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

/// The functions that the library promises: each is exported, declared, and used by a program here; nothing else is
/// exported.
#[test]
fn the_list_of_functions_is_exact() {
    let listed: BTreeSet<String> =
        include_str!("c/functions.txt").lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    assert_eq!(listed.len(), 309);
    let symbols = run(Command::new("nm")
        .args(["--dynamic", "--defined-only"])
        .arg(library_directory().join("libferrock_capi.so")));
    let exported: BTreeSet<String> = String::from_utf8(symbols.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned))
        .collect();
    assert_eq!(exported, listed);
    let header = std::fs::read_to_string(format!("{CRATE}/include/ferrock/c.h")).unwrap();
    let sources: Vec<String> = std::fs::read_dir(format!("{CRATE}/tests/c"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "h"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for name in &listed {
        let call = format!("{name}(");
        assert!(header.contains(&call), "{name} is not declared");
        assert!(sources.iter().any(|source| source.contains(&call)), "{name} is not called by any program");
    }
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
