//! Tasks that are little more than one command.

use crate::Outcome;
use crate::run::{LINUX, cargo, command, nightly_cargo, output, run, target_dir};

pub(crate) fn check(_: &[String]) -> Outcome {
    run(cargo(&["fmt", "--all", "--check"]))?;
    run(cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let mut doc = cargo(&["doc", "--workspace", "--no-deps"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(doc)
}

pub(crate) fn test(arguments: &[String]) -> Outcome {
    let mut test = cargo(&["test"]);
    if !arguments.iter().any(|word| word == "-p" || word == "--package") {
        test.arg("--workspace");
    }
    test.args(arguments);
    run(test)
}

pub(crate) fn asan(packages: &[String]) -> Outcome {
    let mut test = nightly_cargo(&["test", "--lib", "--target", LINUX])?;
    let default = ["memtable", "cache", "vfs", "format", "table"].map(|layer| format!("ferrock-{layer}"));
    let with_engine: Vec<String> =
        default.into_iter().chain(["ferrock-tree".to_owned(), "ferrock-engine".to_owned()]).collect();
    for package in if packages.is_empty() { &with_engine } else { packages } {
        test.args(["-p", package]);
        if package == "ferrock-vfs" {
            // Where the kernel writes into pooled memory.
            test.args(["--test", "ranges", "--test", "async_reads"]);
        }
    }
    test.env("CARGO_TARGET_DIR", target_dir().join("asan"));
    test.env("RUSTFLAGS", "-Zsanitizer=address");
    // The sanitizer's allocator keeps what was freed; tests that look at that ask for this.
    test.env("FERROCK_ASAN", "1");
    if std::env::var_os("PROPTEST_CASES").is_none() {
        test.env("PROPTEST_CASES", "16");
    }
    run(test)
}

/// The codecs' tests under Miri, which sees what no sanitizer does: a pointer that a later borrow made void.
pub(crate) fn miri(arguments: &[String]) -> Outcome {
    if output(command("rustup", &["run", "nightly", "cargo", "miri", "--version"])).is_err() {
        run(command("rustup", &["component", "add", "--toolchain", "nightly", "miri", "rust-src"]))?;
    }
    let mut test = nightly_cargo(&["miri", "test", "--lib", "-p", "ferrock-format", "--no-default-features"])?;
    test.args(["--features", "lz4,zstd", "--"]);
    if arguments.is_empty() {
        test.args(["compression::lz4", "compression::zstd"]);
    }
    test.args(arguments);
    test.env("CARGO_TARGET_DIR", target_dir().join("miri"));
    // Property tests keep their failures in files.
    test.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    run(test)
}

pub(crate) fn models(packages: &[String]) -> Outcome {
    let default = ["ferrock-memtable", "ferrock-cache", "ferrock-vfs", "ferrock-engine"].map(str::to_owned);
    let packages = if packages.is_empty() { &default[..] } else { packages };
    // All at once: one by one they have other features, for which the layers below would be built again.
    let mut test = cargo(&["test", "--lib"]);
    packages.iter().for_each(|package| {
        test.args(["-p", package]);
    });
    test.args(["--", "shuttle", "model"]);
    test.env("CARGO_TARGET_DIR", target_dir().join("shuttle"));
    test.env("RUSTFLAGS", "--cfg shuttle");
    // The stacks of a model's threads are short; built in small pieces, functions take more of them.
    test.env("CARGO_INCREMENTAL", "0");
    let printed = output(test)?;
    print!("{printed}");
    if printed.contains("running 0 tests") {
        return Err(format!("one of {} has no model", packages.join(", ")));
    }
    Ok(())
}

fn number(arguments: &[String], default: u64) -> Result<u64, String> {
    let Some(text) = arguments.first() else { return Ok(default) };
    text.replace('_', "").parse().map_err(|_| format!("`{text}` is not a number"))
}

pub(crate) fn crash(arguments: &[String]) -> Outcome {
    let points = number(arguments, 40_000)?;
    let mut test = cargo(&["test", "--release", "-p", "ferrock", "--test", "crash", "--", "--nocapture"]);
    test.env("FERROCK_CRASH_POINTS", points.to_string());
    test.env("FERROCK_DAMAGE_SEEDS", (points / 40).max(1).to_string());
    run(test)
}

pub(crate) fn model_long(arguments: &[String]) -> Outcome {
    let operations = number(arguments, 10_000_000)?;
    let mut test = cargo(&["test", "--release", "-p", "ferrock", "--test", "model", "--", "--include-ignored"]);
    test.env("FERROCK_MODEL_OPS", operations.to_string());
    if std::env::var_os("FERROCK_MODEL_SEED").is_none() {
        test.env("FERROCK_MODEL_SEED", "random");
    }
    run(test)
}

pub(crate) fn histories(arguments: &[String]) -> Outcome {
    let histories = number(arguments, 2000)?;
    let mut test = cargo(&["test", "--release", "-p", "ferrock", "--test", "histories", "--", "--nocapture"]);
    test.env("FERROCK_HISTORIES", histories.to_string());
    run(test)
}

/// Every test that reads random databases in every way; more of them, and under AddressSanitizer.
pub(crate) fn model_reads(arguments: &[String]) -> Outcome {
    let with_asan = arguments.get(1).is_some_and(|word| word == "asan");
    if let Some(word) = arguments.get(1).filter(|_| !with_asan) {
        return Err(format!("`{word}` is not `asan`"));
    }
    let databases = number(arguments, 1000)?;
    let reading = ["model", "wide_model", "lookups", "multi_get", "multi_scan", "async_reads", "async_scans"];
    for name in reading {
        let mut words = vec!["test", "--release", "-p", "ferrock", "--test", name];
        words.extend(if with_asan { ["--target", LINUX].as_slice() } else { &[] });
        let mut test = if with_asan { nightly_cargo(&words)? } else { cargo(&words) };
        if with_asan {
            test.env("CARGO_TARGET_DIR", target_dir().join("asan"));
            // Optimised, as the sanitizer alone makes it several times slower; the assertions of a debug build stay.
            test.env("RUSTFLAGS", "-Zsanitizer=address -Cdebug-assertions=on");
        }
        test.args(["--", "--nocapture"]);
        // The other tests of the model mostly write.
        test.args((name == "model").then_some("random_databases"));
        test.env("FERROCK_MODEL_DATABASES", databases.to_string());
        test.env("FERROCK_MODEL_ROUNDS", databases.div_ceil(4).to_string());
        run(test)?;
    }
    Ok(())
}

pub(crate) fn interop(arguments: &[String]) -> Outcome {
    // The rig, and the library whose answers are compared with RocksDB's. One package alone has other features of
    // crates from outside, for which everything would be built again; this takes what `cargo test --workspace` built.
    run(cargo(&["build", "--locked", "--workspace", "--lib", "--bins", "--tests"]))?;
    let rig = target_dir().join("debug/interop");
    let mut rig = command(&rig.to_string_lossy(), &[]);
    if arguments.is_empty() {
        rig.args(["all", "--seeds", "1..24", "--random"]);
    }
    rig.args(arguments);
    run(rig)
}

pub(crate) fn ci(_: &[String]) -> Outcome {
    run(command(".ci/run", &[]))
}
