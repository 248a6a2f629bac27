//! `cargo xtask`: the one entry point for everything that is done to this tree.
//!
//! A task is a function from its arguments to `Result<(), String>`; it runs cargo and other tools with the right flags
//! and adds what they cannot check. `.ci/run` is a list of these tasks, so what passes here passes there.
#![allow(
    clippy::disallowed_methods,
    reason = "a tool for developers: it owns no database, and reads the clock and the tree as they are"
)]

mod arrows;
mod build_time;
mod fuzz;
mod imports;
mod instructions;
mod licence;
mod page;
mod public_items;
mod pure_rust;
mod run;
mod tasks;
mod tree_check;
mod unsafe_list;
mod widths;

use std::process::ExitCode;

/// A task's result; the message says what to do.
type Outcome = Result<(), String>;

struct Task {
    name: &'static str,
    arguments: &'static str,
    what: &'static str,
    more: &'static str,
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task {
        name: "check",
        arguments: "",
        what: "formatting, clippy with warnings denied, documentation",
        more: "Run it before every commit. `cargo fmt --all` repairs the first part.",
        run: tasks::check,
    },
    Task {
        name: "test",
        arguments: "[cargo test arguments]",
        what: "every test: `cargo test --workspace`",
        more: "Arguments are handed on: `cargo xtask test -p ferrock-format log`.",
        run: tasks::test,
    },
    Task {
        name: "asan",
        arguments: "[package ...]",
        what: "unit tests under AddressSanitizer (nightly)",
        more: "Without packages: those that may contain unsafe code, and the engine. Leaks count as failures.\n\
               Property tests run 16 cases each unless PROPTEST_CASES says otherwise.",
        run: tasks::asan,
    },
    Task {
        name: "miri",
        arguments: "[test ...]",
        what: "the codecs' tests under Miri (nightly), three minutes",
        more: "Looks for what the language leaves undefined and no sanitizer sees, such as pointers that a later borrow\n\
               made void. Adds the component `miri` to the nightly toolchain where it is missing. Tests try fewer and\n\
               smaller cases under it. With names, those tests of `ferrock-format`.",
        run: tasks::miri,
    },
    Task {
        name: "models",
        arguments: "[package ...]",
        what: "the shuttle models of lock-free code and hand-overs",
        more: "Builds with `--cfg shuttle`, which replaces atomics and locks by ones that a scheduler controls, and runs\n\
               the tests whose names contain `shuttle` or `model`. A package without one is a failure.",
        run: tasks::models,
    },
    Task {
        name: "fuzz",
        arguments: "[target|all|build] [seconds] [seed]",
        what: "fuzz decoders, each for some seconds (nightly, C++ compiler)",
        more: "Default: all, 30, a new seed each time. Starts from fuzz/seeds/TARGET and keeps what it learns in\n\
               fuzz/corpus/TARGET; an input that fails is kept in fuzz/artifacts/TARGET and reproduced by\n\
               `cargo xtask fuzz TARGET FILE`.\n\
               `cargo fuzz run TARGET` works as well, where cargo-fuzz is installed.",
        run: fuzz::run,
    },
    Task {
        name: "crash",
        arguments: "[points]",
        what: "so many crash points and as many power-loss points of the engine",
        more: "Default 40000 of each, and one damaged directory for 40. Runs the engine's crash tests in release mode.",
        run: tasks::crash,
    },
    Task {
        name: "model-long",
        arguments: "[operations]",
        what: "the engine against a BTreeMap, for many operations",
        more: "Default 10000000, from a random seed. A failure names its seed: FERROCK_MODEL_SEED=n repeats it.",
        run: tasks::model_long,
    },
    Task {
        name: "histories",
        arguments: "[histories]",
        what: "random histories under many sets of options, which must answer alike",
        more: "Default 2000, from seed 1 or that of FERROCK_HISTORY_SEED. A failure prints a small history with its options:\n\
               FERROCK_HISTORY=FILE plays it again.",
        run: tasks::histories,
    },
    Task {
        name: "model-reads",
        arguments: "[databases] [asan]",
        what: "random databases, read in every way that there is",
        more: "Default 1000. Get, multi_get, iterators both ways with bounds, prefixes and limits, scans of many ranges, the\n\
               same as futures, on threads that end at once; over caches that hold nothing, orders that take different bytes\n\
               for equal, and versions of one key in many files; as many for scans with a limit over index partitions that stay\n\
               nowhere; then a fourth as many databases of wide tables. In release\n\
               mode, or with `asan` under AddressSanitizer (nightly). A failure names its seed: FERROCK_MODEL_SEED=n repeats it.",
        run: tasks::model_reads,
    },
    Task {
        name: "interop",
        arguments: "[interop arguments]",
        what: "Ferrock and the real RocksDB take turns on the same directories",
        more: "Fetches RocksDB 11.8.1 (mvn, unzip) and 7.8.3 (apt-get), plays fixed histories and one of a printed random\n\
               seed with each, lets each read tables of combined options that the other wrote, and has RocksDB read what\n\
               Ferrock made of the golden databases and of wide tables. With arguments: only what they ask for,\n\
               `cargo xtask interop --help` of the rig being `cargo run -p ferrock-interop -- --help`.",
        run: tasks::interop,
    },
    Task {
        name: "public-items",
        arguments: "[--write|DIRECTORY]",
        what: "the public items of the crate `ferrock` are those of docs/public-api/ferrock.txt",
        more: "Reads what `cargo doc` writes. A difference is a failure, and is printed with its item; --write brings the\n\
               list up to date; docs/public-interface.md says what changed since when, and why. With a directory of\n\
               documentation, of another release for instance: prints its list.",
        run: public_items::run_task,
    },
    Task {
        name: "pure-rust",
        arguments: "",
        what: "default features need nothing but Rust; licences and sources are known",
        more: "Reads `cargo metadata`: no package with a native `links` key and no cc, cmake, bindgen or pkg-config among\n\
               what the shipped crates need to build; every package from crates.io under a permitted licence (deny.toml\n\
               lists the same for those who have cargo-deny); every direct dependency explained in docs/dependencies.md.",
        run: pure_rust::run,
    },
    Task {
        name: "build-time",
        arguments: "[--enforce]",
        what: "times a clean release build: library (limit 60 s), workspace (limit 90 s)",
        more: "The limits are for two cores; with --enforce a slower build is a failure. Sources are fetched before the\n\
               clock starts, and CC points nowhere, so that a C compiler that is asked for something is noticed.",
        run: build_time::run,
    },
    Task {
        name: "instructions",
        arguments: "[--write]",
        what: "instructions of put, get, miss, seek, next, multi_get and compaction are those recorded (valgrind)",
        more: "Counts them under callgrind, which takes a minute or two whatever else the machine does, and compares with\n\
               docs/benchmarks/instructions.txt. A rise of more than 1 % is a failure; --write records the counts.",
        run: instructions::run,
    },
    Task {
        name: "page",
        arguments: "[--pictures DIR] [scenario ...]",
        what: "the page of ferrock-inspect in headless Chromium: drawn, clicked, by keyboard, narrow, dark, lost",
        more: "Installs Debian's package `chromium` where it is missing and apt-get may; without a browser it fails.\n\
               Scenarios: loaded, many, empty, damaged, lost. --pictures keeps what the page looked like.",
        run: page::run,
    },
    Task {
        name: "tree-check",
        arguments: "[--write]",
        what: "rules of the tree that no other tool knows",
        more: "No file over 800 lines, no comment or paragraph of Markdown wider than code, a header comment in every\n\
               module, no paths of one machine, nothing left to do later, unsafe code only where docs/unsafe.md lists it\n\
               with the right count. Crates use each other as the table of docs/architecture.md has it; files use each\n\
               other in no circle but parent and child, and but for what xtask/backward_uses.txt lists. --write brings\n\
               both lists up to date; read what it changed.",
        run: tree_check::run,
    },
    Task {
        name: "ci",
        arguments: "",
        what: "all that CI runs (.ci/run)",
        more: "Under 30 minutes on two cores from nothing.",
        run: tasks::ci,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match arguments.split_first() {
        None => ("--help", &[][..]),
        Some((name, rest)) => (name.as_str(), rest),
    };
    let asks_for_help = |word: &str| matches!(word, "--help" | "-h" | "help");
    if asks_for_help(name) {
        match rest.first() {
            Some(topic) => help_on(topic),
            None => help(),
        }
        return ExitCode::SUCCESS;
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        help();
        eprintln!("\nerror: there is no task `{name}`");
        return ExitCode::FAILURE;
    };
    if rest.first().is_some_and(|word| asks_for_help(word)) {
        help_on(name);
        return ExitCode::SUCCESS;
    }
    if let Err(error) = std::env::set_current_dir(run::root()) {
        eprintln!("error: cannot enter the workspace: {error}");
        return ExitCode::FAILURE;
    }
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn help() {
    println!("cargo xtask TASK [arguments]      `cargo xtask help TASK` says more\n");
    for task in TASKS {
        let usage = format!("{} {}", task.name, task.arguments);
        println!("  {usage:36} {}", task.what);
    }
    println!(
        "\nBefore a commit: check, test, tree-check. After touching a decoder: fuzz TARGET. After touching unsafe or\n\
         lock-free code: asan and models; a codec: miri. All of it: ci."
    );
}

fn help_on(name: &str) {
    match TASKS.iter().find(|task| task.name == name) {
        Some(task) => println!("cargo xtask {} {}\n\n{}\n\n{}", task.name, task.arguments, task.what, task.more),
        None => help(),
    }
}
