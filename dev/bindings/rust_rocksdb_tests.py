#!/usr/bin/env python3
"""Runs the own tests of the Rust binding `rocksdb` (0.25.0) on libraries with RocksDB's C interface.

    cargo build --release -p ferrock-capi
    dev/bindings/rust_rocksdb_tests.py target/release/libferrock_capi.so [ANOTHER_LIBRARY]

The binding's sources come from the crate registry. Its tests are built once, against the first library, and run test by
test, each in a process of its own, on every library given: a path of another library shows what the tests expect of it.
A failure counts as "not built" when the test's output names what is not implemented.

Needs cargo, a C++ standard library and libclang (Debian: libclang-dev), which the binding's build script asks for.

Exit code: 0 when every test passes, is "not built" or is meant to differ on the first library, or fails on the second one,
too; 1 when a test fails otherwise; 2 when the tests cannot be built.
"""
import argparse
import concurrent.futures
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CRATE, VERSION = "rocksdb", "0.25.0"
# Tests that expect what is meant to differ.
MEANT_TO_DIFFER = {
    "test_iterator::test_full_iterator": "a scan in total order shows every key of a hash memtable, also where not asked",
}


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        print(f"{' '.join(map(str, command))}:\n{done.stderr[-4000:]}", file=sys.stderr)
        raise SystemExit(2)
    return done.stdout


def sources(work):
    """A copy of the binding's crate in `work`, from the registry."""
    copy = work / f"{CRATE}-{VERSION}"
    if copy.exists():
        return copy
    fetch = work / "fetch"
    (fetch / "src").mkdir(parents=True, exist_ok=True)
    (fetch / "src/lib.rs").write_text("")
    (fetch / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n'
        f'[dependencies]\n{CRATE} = {{ version = "={VERSION}", default-features = false }}\n')
    metadata = json.loads(run(["cargo", "metadata", "--format-version", "1"], cwd=fetch))
    package = next(p for p in metadata["packages"] if p["name"] == CRATE)
    shutil.copytree(Path(package["manifest_path"]).parent, copy)
    # The crate pins an older compiler than is needed.
    (copy / "rust-toolchain.toml").unlink(missing_ok=True)
    return copy


def place(library, work, name):
    """A directory where `library` is called librocksdb.so."""
    directory = work / name
    directory.mkdir(parents=True, exist_ok=True)
    link = directory / "librocksdb.so"
    link.unlink(missing_ok=True)
    link.symlink_to(Path(library).resolve())
    return directory


def build(crate, library_directory, work):
    """The test programs: name and path."""
    environment = dict(os.environ, ROCKSDB_LIB_DIR=str(library_directory), CARGO_TARGET_DIR=str(work / "target"))
    command = ["cargo", "test", "--no-run", "--no-default-features", "--features", "bindgen-runtime",
               "--message-format=json"]
    output = run(command, cwd=crate, env=environment)
    programs = []
    for line in output.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            programs.append((message["target"]["name"], message["executable"]))
    return sorted(programs)


def tests_of(programs, library_directory):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library_directory))
    for program, path in programs:
        for line in run([path, "--list", "--format", "terse"], env=environment).splitlines():
            if line.endswith(": test"):
                yield program, path, line[: -len(": test")]


def outcome_of(path, test, library_directory, seconds):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library_directory))
    with tempfile.TemporaryDirectory(prefix="rust-rocksdb-") as directory:
        environment["TMPDIR"] = directory
        try:
            done = subprocess.run([path, "--exact", test, "--nocapture"], cwd=directory, env=environment, timeout=seconds,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return "timeout", f"no end within {seconds} seconds"
    text = done.stdout.decode(errors="replace")
    if done.returncode == 0:
        return "passed", ""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("note:")]
    kind = "not built" if "Not implemented" in text or "not built" in text else "failed"
    if done.returncode < 0:
        lines.append(f"signal {-done.returncode}")
        kind = "failed"
    telling = [line for line in lines if "Not implemented" in line] or [
        lines[index + 1] for index, line in enumerate(lines[:-1]) if " panicked at " in line] or lines[-1:]
    return kind, " | ".join(telling)[:400]


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY", help="shared library with RocksDB's C interface")
    parser.add_argument("--work", type=Path, help="directory for sources and builds, kept (default: a temporary one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--seconds", type=int, default=120, help="time of one test (default: 120)")
    parser.add_argument("--jobs", type=int, default=1, help="tests at once (default: 1)")
    parser.add_argument("--only", default="", help="run only tests whose name contains this")
    return parser.parse_args()


@contextlib.contextmanager
def work_directory(given, prefix):
    """The directory of `--work`, or a temporary one."""
    work = given.work or Path(tempfile.mkdtemp(prefix=prefix))
    try:
        work.mkdir(parents=True, exist_ok=True)
        yield work.resolve()
    finally:
        if not given.work:
            shutil.rmtree(work, ignore_errors=True)


def results_of(given, directories, meant_to_differ, tests):
    """Name -> an outcome for each library. A test is its name and what runs it on the library of a directory."""
    results = {name: [] for name, _ in tests}
    for directory in directories:
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            jobs = [(name, pool.submit(play, directory)) for name, play in tests]
            for name, job in jobs:
                outcome = job.result()
                if outcome[0] == "failed" and name in meant_to_differ and directory == directories[0]:
                    outcome = ("differs", meant_to_differ[name])
                results[name].append(outcome)
    return results


def main():
    given = arguments(__doc__)
    with work_directory(given, "rust-rocksdb-build-") as work:
        directories = [place(library, work, f"library{index}") for index, library in enumerate(given.libraries)]
        programs = build(sources(work), directories[0], work)
        tests = [test for test in tests_of(programs, directories[0]) if given.only in f"{test[0]}::{test[2]}"]
        results = results_of(given, directories, MEANT_TO_DIFFER, [
            (f"{program}::{test}", functools.partial(outcome_of, path, test, seconds=given.seconds))
            for program, path, test in tests])
    report(given, results)
    return 1 if wrong(results) else 0


def wrong(results):
    """Tests that fail on the first library, but neither for what is not built nor on the other library as well."""
    return [name for name, outcomes in results.items()
            if outcomes[0][0] in ("failed", "timeout") and all(kind == "passed" for kind, _ in outcomes[1:])]


def counts_of(results, index):
    counts = {}
    for outcomes in results.values():
        counts[outcomes[index][0]] = counts.get(outcomes[index][0], 0) + 1
    return counts


def report(given, results):
    counts = [counts_of(results, index) for index in range(len(given.libraries))]
    if given.json:
        print(json.dumps({"libraries": given.libraries, "counts": counts, "wrong": wrong(results), "tests": results},
                         indent=1))
        return
    for name, outcomes in results.items():
        print(f"{name:<90} {'  '.join(f'{kind:<9}' for kind, _ in outcomes)}  {outcomes[0][1]}")
    for library, count in zip(given.libraries, counts):
        print(f"{library}: {len(results)} tests, " + ", ".join(f"{n} {kind}" for kind, n in sorted(count.items())))
    if len(given.libraries) > 1:
        both = [outcomes[0][0] for outcomes in results.values() if outcomes[1][0] == "passed"]
        print(f"of the {len(both)} tests that pass on the second library {both.count('passed')} pass on the first")
    for name in wrong(results):
        print(f"wrong: {name}")


if __name__ == "__main__":
    sys.exit(main())
