#!/usr/bin/env python3
"""Runs two ldb over copies of databases and shows where their output differs.

    dev/compare_ldb.py [--ours target/debug/ldb] [--theirs /usr/bin/ldb] [--show 3] DIRECTORY...

Each DIRECTORY is a database, or holds databases as DIRECTORY/NAME/db. They are copied first: RocksDB's tool writes into the
directory even for some commands that read. Ours must not, which is checked. Exits with 1 when something differs.
"""

import argparse
import collections
import glob
import os
import shutil
import subprocess
import sys
import tempfile

COMMANDS = [
    ["scan", "--hex"],
    ["scan", "--hex", "--max_keys=3", "--no_value"],
    ["dump", "--hex"],
    ["dump", "--count_only"],
    ["idump", "--hex"],
    ["idump", "--count_only"],
    ["manifest_dump"],
    ["manifest_dump", "--verbose", "--hex"],
    ["list_column_families"],
    ["checkconsistency"],
    ["approxsize", "--from=a", "--to=z"],
]


def databases(directory):
    if os.path.exists(os.path.join(directory, "CURRENT")):
        return [directory]
    return sorted(glob.glob(os.path.join(directory, "*", "db")))


def state(directory):
    names = sorted(os.listdir(directory))
    return [(name, os.path.getsize(os.path.join(directory, name))) for name in names]


def run(program, arguments):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return None, b""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default="target/debug/ldb")
    parser.add_argument("--theirs", default="/usr/bin/ldb")
    parser.add_argument("--show", type=int, default=3, help="differences to show of each command")
    parser.add_argument("directories", nargs="+")
    options = parser.parse_args()
    same, different = 0, collections.Counter()
    for source in [found for directory in options.directories for found in databases(directory)]:
        with tempfile.TemporaryDirectory() as scratch:
            # Both see the same path, which some commands print.
            copy = os.path.join(scratch, "db")
            logs = [["dump_wal", f"--walfile={copy}/{name}", "--header", "--print_value"]
                    for name in sorted(os.listdir(source)) if name.endswith(".log")]
            for command in COMMANDS + logs:
                results = []
                for program in (options.ours, options.theirs):
                    shutil.rmtree(copy, ignore_errors=True)
                    shutil.copytree(source, copy)
                    before = state(copy)
                    arguments = command if command[0] == "dump_wal" else [f"--db={copy}", *command]
                    results.append(run(program, arguments))
                    if program == options.ours and state(copy) != before:
                        different["wrote"] += 1
                        print(f"{source}: {' '.join(command)} changed the directory")
                (our_code, ours), (their_code, theirs) = results
                if ours == theirs and (our_code == 0) == (their_code == 0):
                    same += 1
                    continue
                different[command[0]] += 1
                if different[command[0]] <= options.show:
                    lines = list(zip(ours.split(b"\n"), theirs.split(b"\n")))
                    first = next((pair for pair in lines if pair[0] != pair[1]), (b"", b""))
                    print(f"{source}: {' '.join(command)}: exit codes {our_code} and {their_code}")
                    print(f"    ours   {first[0][:160]!r}\n    theirs {first[1][:160]!r}")
    print(f"{same} the same, different: {dict(different)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
