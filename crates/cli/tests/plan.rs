//! `ferrock plan` from outside: what it prints, its exit codes, its plot.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn plan(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ferrock")).arg("plan").args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json_of(arguments: &[&str]) -> Value {
    let output = plan(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn help_teaches() {
    let output = plan(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for wanted in ["Examples:", "100TB", "Workloads:", "write amplification", "Exit codes:"] {
        assert!(stdout(&output).contains(wanted), "{wanted}");
    }
}

#[test]
fn a_table_for_people() {
    let output = plan(&["--data", "2GB", "--bloom-bits", "10"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    for wanted in ["write amplification", "space amplification", "time to open", "L6", "filters", "Every file"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(output.stderr.is_empty(), "no bar where stderr is no terminal: {output:?}");
}

#[test]
fn figures_for_programs() {
    let plain = json_of(&["--data", "2GB", "--bloom-bits", "10", "--workload", "overwrite"]);
    let partitioned = json_of(&["--data", "2GB", "--bloom-bits", "10", "--workload", "overwrite", "--partitioned"]);
    let figure = |value: &Value, path: &str| value.pointer(path).unwrap_or_else(|| panic!("{path}")).as_f64().unwrap();
    for path in ["/write_amplification", "/space_amplification", "/files", "/opening/manifest_bytes"] {
        assert!(figure(&plain, path) >= 1.0, "{path}");
    }
    assert!(figure(&plain, "/reads/false_positive_rate") < 0.02);
    assert!(figure(&plain, "/reads/blocks_per_miss") < 0.2);
    // Without partitions the open tables hold all of it, with them the top levels.
    let (all, top) = (figure(&plain, "/memory/reader_bytes"), figure(&partitioned, "/memory/reader_bytes"));
    assert!(top < all / 5.0 && figure(&partitioned, "/memory/top_level_bytes") > 0.0, "{top} {all}");
    // The same each time.
    assert_eq!(
        plain["sorted_runs"],
        json_of(&["--data", "2GB", "--bloom-bits", "10", "--workload", "overwrite"])["sorted_runs"]
    );
}

#[test]
fn styles_differ() {
    let of = |style: &str| {
        let value = json_of(&["--data", "3GB", "--style", style]);
        (value["write_amplification"].as_f64().unwrap(), value["reads"]["sorted_runs"].as_f64().unwrap())
    };
    let (leveled, universal, fifo) = (of("leveled"), of("universal"), of("fifo"));
    assert!(fifo.0 < universal.0 && fifo.0 < leveled.0, "{fifo:?} {universal:?} {leveled:?}");
    assert!(fifo.1 > universal.1, "{fifo:?} {universal:?}");
}

#[test]
fn a_plot_over_the_size() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.svg");
    let output = plan(&["--data", "1GB", "--plot", path.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with("<svg") && text.contains("Write amplification") && text.contains("1.00 GB"), "{text}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["smaller"].as_array().unwrap().len(), 7);
    let output = plan(&["--data", "1GB", "--plot", "/no/such/directory/plan.svg"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn wrong_requests_say_what_to_do() {
    for (arguments, wanted) in [
        (&[][..], "--data"),
        (&["--data", "many"], "begin with a number"),
        (&["--data", "1XB"], "the unit is none"),
        (&["--data", "5B"], "less than one key"),
        (&["--data", "1GB", "--keys", "5"], "cannot be used"),
        (&["--data", "1GB", "--options", "no_such_option=1"], "no_such_option"),
        (&["--data", "1GB", "--options", "compression=kNoSuch"], "compression"),
        (&["--data", "1GB", "--compression-ratio", "2"], "compression ratio"),
        (&["--data", "1GB", "--zipf", "9"], "zipf"),
        (&["--data", "1GB", "--put-rate", "0"], "above 0"),
        (&["--data", "1GB", "--style", "tiered"], "possible values"),
    ] {
        let output = plan(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {error}");
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    }
}

#[test]
fn a_clock_shows_what_does_not_keep_up() {
    let of = |rate: &str| json_of(&["--data", "6GB", "--put-rate", rate, "--job-rate", "50MB"]);
    let (slow, fast) = (of("2MB"), of("500MB"));
    assert!(slow["stalled_share"].as_f64().unwrap() < 0.05, "{slow}");
    let share = fast["stalled_share"].as_f64().unwrap();
    let sustained = fast["sustained_put_bytes_per_sec"].as_f64().unwrap();
    assert!(share > 0.2 && sustained < 60e6, "{share} {sustained}");
}
