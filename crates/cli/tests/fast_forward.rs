//! `ferrock fast-forward` in small: from outside, and its driver on engines that do something wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use clap::Parser;
use ferrock_bench::fast_forward::{
    Arguments, Bounds, Counters, Cursor, Database, Engine, Ferrock, Key, Opening, Visit, run,
};
use ferrock_console::failure::{Failure, Result};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Buffered: not every file system has direct I/O.
const SMALL: [&str; 4] = ["--rows=5000", "--io=buffered", "--dir", "DIR"];

fn fast_forward(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrock"));
    command.arg("fast-forward").env("FERROCK_IO_BACKEND", "pread").stdin(Stdio::null());
    for argument in SMALL {
        if argument == "DIR" {
            command.arg(directory)
        } else {
            command.arg(argument)
        };
    }
    if !arguments.iter().any(|argument| argument.starts_with("--test-case-duration")) {
        command.arg("--test-case-duration=0");
    }
    command.args(arguments).output().unwrap()
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&printed(output)).unwrap()
}

const GROUPS: [&str; 14] = [
    "large-partition-single-key-slice",
    "large-partition-skips",
    "large-partition-slicing",
    "large-partition-slicing-clustering-keys",
    "large-partition-slicing-single-key-reader",
    "large-partition-select-few-rows",
    "large-partition-select-missing-rows",
    "large-partition-forwarding",
    "large-partition-reverse-slicing",
    "large-partition-limit",
    "large-partition-few-rows-at-levels",
    "point-lookup",
    "small-partition-skips",
    "small-partition-slicing",
];

#[test]
fn every_group_runs_on_every_data_set_it_is_for() {
    let directory = tempfile::tempdir().unwrap();
    let all = "--datasets=large-part-ds1,small-part,sb-large-part-ds1,sb-small-part";
    let text = printed(&fast_forward(directory.path(), &[all, "--enable-cache"]));
    for group in GROUPS {
        let dataset = if group.starts_with("small") { "small-part" } else { "large-part-ds1" };
        assert!(text.contains(&format!("running: {group} on dataset {dataset}\n")), "{group}: {text}");
        let on_sb = text.contains(&format!("running: {group} on dataset sb-{dataset}\n"));
        assert_eq!(on_sb, group != "large-partition-select-missing-rows", "{group}");
    }
    // What is there is used again; without a cache the group about it says so.
    let written = std::fs::metadata(directory.path().join("large-part-ds1.json")).unwrap().modified().unwrap();
    let text = printed(&fast_forward(directory.path(), &["--datasets=large-part-ds1"]));
    assert!(text.contains("skipping: large-partition-single-key-slice (needs --enable-cache)\n"), "{text}");
    assert_eq!(std::fs::metadata(directory.path().join("large-part-ds1.json")).unwrap().modified().unwrap(), written);
}

#[test]
fn the_two_rows_of_the_reference() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--run-tests=large-partition-select-few-rows", "--keep-cache-across-test-cases"];
    let text = printed(&fast_forward(directory.path(), &arguments));
    let header = "offset  stride  rows      time (s)   iterations     frags     frag/s    mad f/s    max f/s    min f/s    \
                  avg aio    aio      (KiB) blocked dropped  idx hit idx miss  idx blk    c hit   c miss    c blk    allocs   \
                  tasks insns/f    cpu";
    assert!(text.contains(header), "{text}");
    let words = |start: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    // Columns behind three parameters: iterations, rows, requests, KiB, index hits and misses.
    let of = |words: &[String]| [1, 2, 8, 9, 12, 13].map(|column: usize| words[3 + column].clone());
    assert_eq!(of(&words("2500    1       1 "))[..4], ["1", "1", "2", "4"], "one row, cold");
    let [iterations, rows, requests, kib, hits, misses] = of(&words("2501    1       1 "));
    assert_eq!([iterations, rows, requests, kib, misses], ["1", "1", "1", "1", "0"], "its neighbour, warm");
    assert_ne!(hits, "0");
    let allocations: u64 = words("2501    1       1 ")[3 + 18].parse().unwrap();
    assert!((1..1000).contains(&allocations), "{allocations}");
}

#[test]
fn json_says_what_the_table_says() {
    let directory = tempfile::tempdir().unwrap();
    let groups = "--run-tests=large-partition-select-few-rows,large-partition-slicing-clustering-keys,point-lookup";
    let text = printed(&fast_forward(directory.path(), &[groups]));
    let json = json_of(&fast_forward(directory.path(), &[groups, "--output-format=json", "--dump-all-results"]));
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with(|first: char| "0123456789!".contains(first))).collect();
    let mut cases = 0;
    for group in json["results"].as_array().unwrap() {
        let names = group["test_group_properties"]["parameters"].as_array().unwrap();
        for case in group["cases"].as_array().unwrap() {
            let words: Vec<&str> = lines[cases].split_whitespace().collect();
            for (name, word) in names.iter().zip(&words) {
                let value = &case["parameters"][name.as_str().unwrap()];
                assert_eq!(value.to_string().trim_matches('"'), *word);
            }
            // The figures that do not depend on the clock.
            for (caption, column) in [
                ("iterations", 1),
                ("frags", 2),
                ("aio", 8),
                ("(KiB)", 9),
                ("idx hit", 12),
                ("idx miss", 13),
                ("c miss", 16),
            ] {
                assert_eq!(
                    case["stats"][caption].to_string(),
                    words[names.len() + column],
                    "{caption}: {}",
                    lines[cases]
                );
            }
            assert_eq!(case["runs"][0]["frags"], case["stats"]["frags"]);
            let bytes = case["stats"]["bytes"].as_u64().unwrap();
            assert_eq!(Value::from(bytes / 1024), case["stats"]["(KiB)"]);
            cases += 1;
        }
    }
    assert_eq!(cases, lines.len());
    assert_eq!(json["rows"], 5000);
}

/// Group, parameters, rows, requests and bytes of each case.
fn costs(json: &Value) -> Vec<(String, [u64; 3])> {
    let mut costs = Vec::new();
    for group in json["results"].as_array().unwrap() {
        let properties = &group["test_group_properties"];
        for case in group["cases"].as_array().unwrap() {
            let name = format!("{} on {}: {}", properties["name"], properties["dataset"], case["parameters"]);
            let of = |caption: &str| case["stats"][caption].as_u64().unwrap();
            costs.push((name, [of("frags"), of("aio"), of("bytes")]));
        }
    }
    costs
}

/// The same files, asked by tuples instead of keys: the same rows, which the driver checks, for no more reads.
#[test]
fn wide_tables_add_no_request() {
    let directory = tempfile::tempdir().unwrap();
    let all = "--datasets=large-part-ds1,small-part,sb-large-part-ds1,sb-small-part";
    let forms: [&[&str]; 3] = [
        &["--enable-cache"],
        &["--keep-cache-across-test-cases"],
        &["--row-bounds=on", "--partition-cut=on", "--index-restart=16", "--populate"],
    ];
    for more in forms {
        let arguments = [&[all, "--output-format=json"], more].concat();
        let [db, wide] = ["--api=db", "--api=wide"]
            .map(|api| costs(&json_of(&fast_forward(directory.path(), &[&arguments[..], &[api]].concat()))));
        assert_eq!(db.len(), wide.len());
        assert!(db.len() > 150, "{}", db.len());
        for ((case, [rows, requests, bytes]), (other, [wide_rows, wide_requests, wide_bytes])) in db.iter().zip(&wide) {
            assert_eq!((case, rows), (other, wide_rows));
            assert!(
                wide_requests <= requests && wide_bytes <= bytes,
                "{more:?}, {case}: {wide_requests} requests of {wide_bytes} bytes, {requests} of {bytes} without the API"
            );
        }
    }
}

#[test]
fn repeated_runs_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--run-tests=point-lookup", "--test-case-duration=0.01", "--output-format=json"];
    let json = json_of(&fast_forward(directory.path(), &arguments));
    for case in json["results"][0]["cases"].as_array().unwrap() {
        assert!(case["stats"]["iterations"].as_u64().unwrap() >= 4, "{case}");
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let directory = tempfile::tempdir().unwrap();
    printed(&fast_forward(directory.path(), &["--run-tests=point-lookup"]));
    let code = |arguments: &[&str]| {
        let output = fast_forward(directory.path(), arguments);
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{output:?}");
        output.status.code()
    };
    assert_eq!(code(&["--run-tests=lookup"]), Some(64));
    assert_eq!(code(&["--datasets=none"]), Some(64));
    assert_eq!(code(&["--data-cache=much"]), Some(64));
    assert_eq!(code(&["--run-tests=small-partition-skips", "--datasets=large-part-ds1"]), Some(64));
    assert_eq!(code(&["--value-size=10", "--run-tests=point-lookup"]), Some(64), "the data sets have other values");
    let list = Command::new(env!("CARGO_BIN_EXE_ferrock")).args(["fast-forward", "--list"]).output().unwrap();
    assert!(GROUPS.iter().all(|group| printed(&list).contains(group)));
}

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: Arguments,
}

/// A fault of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A row of an iterator is left out.
    LosesRow,
    /// The same row comes twice.
    RepeatsRow,
    /// A value has another byte.
    WrongValue,
    /// A lookup finds an absent row.
    FindsMissing,
    /// Every cursor reads something else first.
    ReadsMore,
}

struct Faulty(Fault);
struct FaultyDatabase(Fault, Box<dyn Database>);
struct FaultyCursor<'a>(Fault, Box<dyn Cursor + 'a>);

impl Engine for Faulty {
    fn name(&self) -> String {
        Ferrock.name()
    }
    fn open(&self, directory: &Path, how: &Opening) -> Result<Box<dyn Database>> {
        Ok(Box::new(FaultyDatabase(self.0, Ferrock.open(directory, how)?)))
    }
}

impl Database for FaultyDatabase {
    fn get(&self, key: &[u8], visit: Visit<'_>) -> Result<()> {
        let mut found = false;
        self.1.get(key, &mut |key, value| {
            found = true;
            visit(key, value)
        })?;
        if !found && self.0 == Fault::FindsMissing { visit(key, b"value") } else { Ok(()) }
    }
    fn cursor(&self, bounds: &Bounds, limit: Option<u64>) -> Result<Box<dyn Cursor + '_>> {
        if self.0 == Fault::ReadsMore {
            let mut other = self.1.cursor(&Bounds::default(), None)?;
            other.to_first()?;
        }
        Ok(Box::new(FaultyCursor(self.0, self.1.cursor(bounds, limit)?)))
    }
    fn ranges(&self, ranges: &mut dyn Iterator<Item = Bounds>, visit: Visit<'_>) -> Result<()> {
        self.1.ranges(ranges, visit)
    }
    fn counters(&self) -> Result<Counters> {
        self.1.counters()
    }
    fn clear_cache(&self) -> Result<()> {
        self.1.clear_cache()
    }
    fn after_run(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        self.1.after_run(keys)
    }
    fn request_interface(&self) -> Option<String> {
        self.1.request_interface()
    }
    fn close(self: Box<Self>) -> Result<()> {
        self.1.close()
    }
}

impl Cursor for FaultyCursor<'_> {
    fn to_first(&mut self) -> Result<()> {
        self.1.to_first()
    }
    fn to_last(&mut self) -> Result<()> {
        self.1.to_last()
    }
    fn fast_forward(&mut self, bounds: &Bounds) -> Result<()> {
        self.1.fast_forward(bounds)
    }
    fn read(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        let (fault, mut rows) = (self.0, 0);
        self.1.read(limit, &mut |key, value| {
            rows += 1;
            match (fault, rows) {
                (Fault::LosesRow, 7) => Ok(()),
                (Fault::RepeatsRow, 7) => visit(key, value).and_then(|()| visit(key, value)),
                (Fault::WrongValue, 7) => visit(key, &[value, b"!"].concat()),
                _ => visit(key, value),
            }
        })
    }
    fn read_back(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        self.1.read_back(limit, visit)
    }
}

/// Runs cases on an engine that has a fault.
fn faulty(directory: &Path, fault: Fault, more: &[&str]) -> Result<()> {
    let words =
        ["test"].into_iter().chain(SMALL).map(|word| if word == "DIR" { directory.to_str().unwrap() } else { word });
    let words = words.chain(["--datasets=large-part-ds1", "--test-case-duration=0"]).chain(more.iter().copied());
    run(&CommandLine::parse_from(words).arguments, &Faulty(fault))
}

#[track_caller]
fn is_wrong(result: Result<()>, words: &[&str]) {
    match result {
        Err(Failure::Data(message)) => {
            for word in words {
                assert!(message.contains(word), "{word} is not in: {message}");
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn wrong_rows_fail_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let slicing = ["--run-tests=large-partition-slicing-clustering-keys"];
    assert!(faulty(directory.path(), Fault::None, &slicing).is_ok());
    let case = "large-partition-slicing-clustering-keys 0 32 in ";
    is_wrong(faulty(directory.path(), Fault::LosesRow, &slicing), &[case, "row 6: the key is 0x8000000080000"]);
    is_wrong(faulty(directory.path(), Fault::RepeatsRow, &slicing), &[case, "row 7: the key is"]);
    is_wrong(faulty(directory.path(), Fault::WrongValue, &slicing), &[case, "row 6: the value is wrong"]);
    let lookup = ["--run-tests=point-lookup"];
    assert!(faulty(directory.path(), Fault::None, &lookup).is_ok());
    is_wrong(faulty(directory.path(), Fault::FindsMissing, &lookup), &["point-lookup !0", "a row too many"]);
    // The seventh row of eight or less is the last one or is not there.
    let forwarding = ["--run-tests=large-partition-limit"];
    is_wrong(faulty(directory.path(), Fault::LosesRow, &forwarding), &["large-partition-limit 10 no", "the key is"]);
}

#[test]
fn a_read_too_many_fails_the_check() {
    let directory = tempfile::tempdir().unwrap();
    let check = ["--run-tests=large-partition-slicing-clustering-keys", "--check-minimum"];
    assert!(faulty(directory.path(), Fault::None, &check).is_ok());
    let told = ["large-partition-slicing-clustering-keys 2500 1: ", "requests", "would do"];
    is_wrong(faulty(directory.path(), Fault::ReadsMore, &check), &told);
    assert!(faulty(directory.path(), Fault::ReadsMore, &check[..1]).is_ok(), "unchecked without --check-minimum");
    // Where the cache must answer, a read is wrong in itself; the other read is answered by it.
    let cached = ["--run-tests=large-partition-single-key-slice", "--enable-cache"];
    assert!(faulty(directory.path(), Fault::None, &cached).is_ok());
}

/// Cases that still read more than they need, and why.
const ABOVE: [(&str, &str); 3] = [
    (
        "large-partition-limit 1000 no",
        "a scan that leaves its first index partition reads up to 16 KiB of those that follow",
    ),
    ("large-partition-limit 1000 yes", "the hint is filled from one index partition, then from the next"),
    (
        "large-partition-single-key-slice 14 ",
        "cached blocks within a range are read over where a request would cost more",
    ),
];

/// The tables of every group, in small, are read with no more requests and bytes than the blocks make necessary.
#[test]
fn nothing_is_read_in_vain() {
    let directory = tempfile::tempdir().unwrap();
    let all = "--datasets=large-part-ds1,small-part,sb-large-part-ds1,sb-small-part";
    for more in [&[][..], &["--keep-cache-across-test-cases"], &["--enable-cache"], &["--row-filter=on", "--populate"]]
    {
        let output = fast_forward(directory.path(), &[&[all, "--check-minimum", "--extra"], more].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{more:?}: {text}");
        for line in text.lines() {
            let case = line.trim_start_matches("ferrock: ");
            let is_known = ABOVE.iter().any(|(known, _)| case.starts_with(known));
            assert!(is_known, "{more:?}: {case}");
        }
        let rows = String::from_utf8_lossy(&output.stdout);
        assert!(rows.lines().filter(|line| line.ends_with(" ok")).count() > 150, "{more:?}: {rows}");
    }
}

/// The counters agree with those of the system.
#[cfg(target_os = "linux")]
#[test]
fn the_system_counts_the_same() {
    // Direct I/O needs a file system of a device.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let groups = format!("--run-tests={}", GROUPS.join(","));
    let arguments = ["--io=direct", "--verify-outside", "--datasets=large-part-ds1,small-part", &groups];
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrock"));
    command.arg("fast-forward").env("FERROCK_IO_BACKEND", "pread").stdin(Stdio::null());
    command.args(["--rows=5000", "--test-case-duration=0", "--dir"]).arg(directory.path()).args(arguments);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
