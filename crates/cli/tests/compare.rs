//! `ferrock compare` in small: Ferrock's own library on both sides, and engines that do something wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Cargo puts the library beside the directory of the test programs, or into it.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let places = test.ancestors().skip(1).take(2).map(|directory| directory.join("libferrock_capi.so"));
    places.into_iter().find(|library| library.exists()).expect("libferrock_capi.so is not built")
}

fn compare(directory: &Path, arguments: &[&str]) -> Output {
    let library = library();
    Command::new(env!("CARGO_BIN_EXE_ferrock"))
        .args(["compare", "--num=500", "--rounds=1", "--write-buffer-mb=1", "--cache-mb=8", "--json=-"])
        .arg(format!("--rocksdb-lib={}", library.display()))
        .arg(format!("--ferrock-lib={}", library.display()))
        .arg(format!("--dir={}", directory.display()))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The processes leave nothing behind.
fn assert_empty(directory: &Path) {
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0, "{}", directory.display());
}

#[test]
fn every_workload_runs_in_every_column() {
    let directory = tempfile::tempdir().unwrap();
    let output = compare(directory.path(), &["--suite=full", "--threads=2", "--compression=lz4"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = report["cells"].as_array().unwrap();
    assert_eq!((&report["status"], cells.len()), (&"OK".into(), 21 * 3));
    for cell in cells {
        let figures = &cell["figures"];
        assert!(
            figures["operations"].as_u64() > Some(0) && figures["operations_per_second"].as_f64() > Some(0.0),
            "{cell}"
        );
        assert!(figures["p50_us"].as_f64() <= figures["max_us"].as_f64(), "{cell}");
        assert!(figures["disk_bytes"].as_u64() > Some(1000), "{cell}");
    }
    assert_eq!(report["other_library"], "another Ferrock");
    assert_empty(directory.path());
}

#[test]
fn tables_and_a_page() {
    let (directory, pages) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (page, json) = (pages.path().join("page.html"), pages.path().join("figures.json"));
    let files = [format!("--html={}", page.display()), format!("--json={}", json.display())];
    let library = library();
    let output = Command::new(env!("CARGO_BIN_EXE_ferrock"))
        .args(["compare", "--num=300", "--rounds=2", "--workloads=readseq,overwrite"])
        .arg(format!("--rocksdb-lib={}", library.display()))
        .arg(format!("--ferrock-lib={}", library.display()))
        .arg(format!("--dir={}", directory.path().display()))
        .args(files)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for wanted in ["readseq", "overwrite", "lowest .. highest", "p99.9", "on disk", "300 keys"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("</html>"));
    let figures: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(figures["cells"].as_array().unwrap().len(), 2 * 2 * 3);
}

#[test]
fn several_numbers_of_keys() {
    let (directory, pages) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [page, json, svg] = ["page.html", "figures.json", "plots.svg"].map(|name| pages.path().join(name));
    let library = library();
    let output = Command::new(env!("CARGO_BIN_EXE_ferrock"))
        .args(["compare", "--num=2k,1000", "--rounds=1", "--workloads=readrandom,overwrite", "--no-native"])
        .arg(format!("--rocksdb-lib={}", library.display()))
        .arg(format!("--ferrock-lib={}", library.display()))
        .arg(format!("--dir={}", directory.path().display()))
        .args([format!("--html={}", page.display()), format!("--json={}", json.display())])
        .arg(format!("--svg={}", svg.display()))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for wanted in ["1,000 and 2,000 keys of 16 bytes", "CPU ratio", "\n1,000 keys of", "\n2,000 keys of"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let figures: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let rows = figures["sweep"].as_array().unwrap();
    let places: Vec<_> =
        rows.iter().map(|row| (row["workload"].as_str().unwrap(), row["keys"].as_u64().unwrap())).collect();
    assert_eq!(places, [("overwrite", 1000), ("overwrite", 2000), ("readrandom", 1000), ("readrandom", 2000)]);
    for row in rows {
        for column in ["rocksdb", "ferrock"] {
            for figure in ["operations_per_second", "cpu_us_per_operation", "engine_us_per_operation"] {
                assert!(row[column][figure].as_f64() > Some(0.0), "{column} {figure}: {row}");
            }
        }
        assert!(row["ratios"]["ferrock"]["peak_memory_bytes"].as_f64() > Some(0.0) && row["native"].is_null(), "{row}");
    }
    let cells = |report: &Value| report["cells"].as_array().unwrap().len();
    assert_eq!(figures["reports"].as_array().unwrap().iter().map(cells).collect::<Vec<_>>(), [4, 4]);
    let (page, svg) = (std::fs::read_to_string(&page).unwrap(), std::fs::read_to_string(&svg).unwrap());
    // Two plots of two panels of two lines, and a sample of each line in each plot.
    assert_eq!((page.matches("<polyline").count(), svg.matches("<polyline").count()), (12, 12));
    assert!(page.contains("Costs over the number of keys") && page.contains("</html>"));
    assert!(svg.starts_with("<svg") && svg.contains(">overwrite<") && svg.contains(">2k<"), "{svg}");
    assert_empty(directory.path());
}

#[test]
fn one_library_loads_for_all() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--one-load", "--num=500,700", "--workloads=overwrite,readseq"];
    let output = compare(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["status"], report["sweep"].as_array().unwrap().len()), (&"OK".into(), 4));
    assert!(report["sweep"][3]["ratios"]["native"]["cpu_us_per_operation"].as_f64() > Some(0.0), "{report}");
    assert_empty(directory.path());
}

#[test]
fn what_an_engine_does_wrong_is_found() {
    for (fault, workload, message) in [
        ("wrong-value", "readrandom", "never written"),
        ("missing-value", "readrandom", "is not there"),
        ("lost-write", "overwrite", "must have one of"),
        ("lost-write", "fillrandom", "lacks key"),
        ("crash", "readrandom", "CRASHED"),
    ] {
        for column in ["rocksdb", "native"] {
            let directory = tempfile::tempdir().unwrap();
            let fault = format!("--fault={column}={fault}");
            let output = compare(directory.path(), &[&fault, &format!("--workloads={workload}")]);
            assert_eq!(output.status.code(), Some(1), "{fault} {workload}: {output:?}");
            assert!(said(&output).contains(message), "{fault} {workload}: {}", said(&output));
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            let troubles = report["cells"].as_array().unwrap().iter().filter(|cell| cell["trouble"].is_string());
            assert!(troubles.map(|cell| &cell["column"]).eq([column]), "{report}");
            assert_empty(directory.path());
        }
    }
}

#[test]
fn a_process_that_hangs_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    // Not so short that a loaded machine fails the other columns.
    let output = compare(directory.path(), &["--fault=ferrock=hang", "--workloads=readrandom", "--timeout=8"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said(&output).contains("Ferrock, C, round 1: HUNG: killed after 8 s"), "{}", said(&output));
    assert_empty(directory.path());
}

#[test]
fn what_cannot_be_done_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let ferrock = |arguments: &[&str]| Command::new(env!("CARGO_BIN_EXE_ferrock")).args(arguments).output().unwrap();
    let no_library = ferrock(&["compare", "--rocksdb-lib=/nowhere/librocksdb.so"]);
    assert_eq!(no_library.status.code(), Some(2), "{no_library:?}");
    assert!(said(&no_library).contains("librocksdb-dev"), "{}", said(&no_library));
    let library = library();
    let library = library.to_str().unwrap();
    let own = ["compare", "--rocksdb-lib", library, "--ferrock-lib", "/nowhere/libferrock_capi.so"];
    let no_own = ferrock(&own);
    assert_eq!(no_own.status.code(), Some(2), "{no_own:?}");
    assert!(said(&no_own).contains("cargo build --release -p ferrock-capi"), "{}", said(&no_own));
    // A file that is no library, and a library of something else.
    let file = directory.path().join("library.so");
    std::fs::write(&file, "text").unwrap();
    let no_elf = ferrock(&["compare", "--rocksdb-lib", file.to_str().unwrap(), "--ferrock-lib", library]);
    assert_eq!(no_elf.status.code(), Some(2), "{no_elf:?}");
    assert!(said(&no_elf).contains("cannot load"), "{}", said(&no_elf));
    let option = compare(directory.path(), &["--options=no_such_option=1"]);
    assert_eq!(option.status.code(), Some(2), "{option:?}");
    assert!(said(&option).contains("no_such_option"), "{}", said(&option));
    for wrong in [
        &["compare"][..],
        &["compare", "--rocksdb-lib=x", "--workloads=fast"],
        &["compare", "--rocksdb-lib=x", "--svg=x.svg"],
        &["compare-cell"],
    ] {
        assert_eq!(ferrock(wrong).status.code(), Some(64), "{wrong:?}");
    }
    let list = ferrock(&["compare", "--list"]);
    assert!(list.status.success() && String::from_utf8(list.stdout).unwrap().contains("ycsb-f"));
}
