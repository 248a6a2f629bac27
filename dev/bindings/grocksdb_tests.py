#!/usr/bin/env python3
"""Runs the own tests of the Go binding `grocksdb` (1.11.1) on libraries with RocksDB's C interface.

    cargo build --release -p ferrock-capi
    dev/bindings/grocksdb_tests.py target/release/libferrock_capi.so [ANOTHER_LIBRARY]

The binding's sources and the libraries of its tests come from the Go module proxy. The tests are built once, with this
tree's header and against the first library, and run test by test, each in a process of its own, on every library given:
a path of another library shows what the tests expect of it. A failure counts as "not built" when the test's output
names what is not implemented.

Needs go and a C compiler.

Exit code: 0 when every test passes or is "not built" on the first library, or fails on the second one, too; 1 when a
test fails otherwise; 2 when the tests cannot be built.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import rust_rocksdb_tests as common

MODULE, VERSION = "github.com/linxGnu/grocksdb", "v1.11.1"
HEADERS = Path(__file__).resolve().parent.parent.parent / "crates/capi/include"
# Tests that expect what is meant to differ.
MEANT_TO_DIFFER = {}


def sources(work):
    """A copy of the binding's module in `work`, from the proxy, that may be written to."""
    copy = work / "grocksdb"
    if copy.exists():
        return copy
    fetch = work / "fetch"
    fetch.mkdir(parents=True, exist_ok=True)
    (fetch / "go.mod").write_text(f"module fetch\n\ngo 1.21\n\nrequire {MODULE} {VERSION}\n")
    common.run(["go", "mod", "download", f"{MODULE}@{VERSION}"], cwd=fetch)
    directory = common.run(["go", "list", "-m", "-f", "{{.Dir}}", MODULE], cwd=fetch).strip()
    shutil.copytree(directory, copy)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    return copy


def build(module, library_directory, work):
    """The test program."""
    program = work / "tests"
    environment = dict(os.environ, CGO_CFLAGS=f"-I{HEADERS}", CGO_LDFLAGS=f"-L{library_directory} -lrocksdb",
                       GOFLAGS="-mod=mod")
    common.run(["go", "test", "-c", "-tags", "grocksdb_clean_link", "-o", program, "."], cwd=module, env=environment)
    return program


def tests_of(program, module, library_directory):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library_directory))
    return [line for line in common.run([program, "-test.list", "."], cwd=module, env=environment).splitlines()
            if line.startswith("Test")]


def outcome_of(program, test, module, library_directory, seconds):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library_directory))
    with tempfile.TemporaryDirectory(prefix="grocksdb-") as directory:
        environment["TMPDIR"] = directory
        command = [program, "-test.run", f"^{test}$", "-test.v"]
        try:
            done = subprocess.run(command, cwd=module, env=environment, timeout=seconds,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return "timeout", f"no end within {seconds} seconds"
    text = done.stdout.decode(errors="replace")
    if done.returncode == 0:
        return ("skipped", "the test skips itself") if f"--- SKIP: {test} " in text else ("passed", "")
    missing = sorted(set(re.findall(r"Not implemented: [^\"\n]*", text)))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("SIG", "fatal error", "panic:"))]
    telling = telling or [line for line in lines if re.match(r"Error:|.*_test\.go:\d+", line)] or lines[-1:]
    return ("not built" if missing else "failed"), " | ".join(missing or telling[:3])[:400]


def main():
    given = common.arguments(__doc__)
    with common.work_directory(given, "grocksdb-build-") as work:
        directories = [common.place(library, work, f"library{index}") for index, library in enumerate(given.libraries)]
        module = sources(work)
        program = build(module, directories[0], work)
        tests = [test for test in tests_of(program, module, directories[0]) if given.only in test]
        results = common.results_of(given, directories, MEANT_TO_DIFFER, [
            (test, lambda directory, test=test: outcome_of(program, test, module, directory, given.seconds))
            for test in tests])
    common.report(given, results)
    return 1 if common.wrong(results) else 0


if __name__ == "__main__":
    sys.exit(main())
