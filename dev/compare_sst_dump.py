#!/usr/bin/env python3
"""Runs two sst_dump over the tables of databases and shows where their output differs.

    dev/compare_sst_dump.py [--ours target/debug/sst_dump] [--theirs /usr/bin/sst_dump] [--show 3] DIRECTORY...

Each DIRECTORY is a database, or holds databases as DIRECTORY/NAME/db. They are copied first: `raw` writes beside the table.
Tables that RocksDB's tool cannot open (newer format versions, plain tables) are counted and left out; tables that only ours
cannot open are differences. Not compared are: the address in the first line, properties and sizes that only one release
knows, times and sizes of `recompress`, and the order of the files of a directory, which is the file system's. Exits with 1
when something differs.
"""

import argparse
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

COMMANDS = [
    [],
    ["--command=check", "--read_num=7"],
    ["--command=check", "--verify_checksum", "--show_properties"],
    ["--command=scan"],
    ["--command=scan", "--output_hex"],
    ["--command=scan", "--output_hex", "--read_num=3"],
    ["--command=scan", "--output_hex", "--from=key000002", "--to=key000009"],
    ["--command=scan", "--output_hex", "--from=0x6B", "--input_key_hex"],
    ["--command=scan", "--prefix=key00000"],
    ["--command=scan", "--decode_blob_index", "--output_hex"],
    ["--command=scan", "--to=tenant01", "--output_hex"],
    ["--command=verify"],
    ["--command=identify"],
    ["--command=identify", "--show_properties"],
    ["--command=none", "--show_summary", "--show_properties"],
    ["--command=raw"],
    ["--command=recompress", "--set_block_size=2048"],
]
DIRECTORY_COMMANDS = [["--command=identify"], ["--command=none", "--show_summary"], ["--command=verify"]]

BYTEWISE_ONLY = ["--to=", "--prefix=", "recompress"]

# Rows of the properties that RocksDB 7.8 does not print, or calls user-collected.
NEWER = re.compile(rb"^ *(# )?(data blocks compression (rejected|bypassed)|uniform blocks|data uncompressed size|"
                   rb"user defined timestamps persisted|(largest|smallest) sequence number in file|"
                   rb"time stamp of newest key|rocksdb\..*): ")


def databases(directory):
    if os.path.exists(os.path.join(directory, "CURRENT")):
        return [directory]
    return sorted(glob.glob(os.path.join(directory, "*", "db")))


def run(program, arguments):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return None, b"", b""


def normalised(text, command, is_directory):
    lines = []
    in_collected = False
    for line in text.split(b"\n"):
        if line.startswith(b"options.env is ") or line.startswith(b"Unsupported compression type: "):
            continue
        if b"Raw user collected" in line:
            in_collected = True
        # Of the collected ones only those that both call so.
        collected = re.match(rb"  # rocksdb\.(deleted|merge|block\.based\.table\.(index|whole|prefix)|external)", line)
        if NEWER.match(line) and not (in_collected and collected):
            continue
        line = re.sub(rb"compression options: .*", b"compression options", line)
        if line.startswith(b"Compression level"):
            line = re.sub(rb"Size: .*", b"", line)
        lines.append(line)
    return sorted(lines) if is_directory else lines


def compare(options, path, command, is_directory, counts, different):
    results = []
    for program in (options.ours, options.theirs):
        code, out, err = run(program, [f"--file={path}", *command])
        dump = path[:-4] + "_dump.txt"
        if os.path.exists(dump):
            with open(dump, "rb") as file:
                out += file.read()
            os.remove(dump)
        results.append((code, normalised(out, command, is_directory), err))
    (our_code, ours, complaint), (their_code, theirs, _) = results
    name = " ".join(command) or "(none)"
    if b"Not implemented: " in complaint:
        counts["ours refuses what is not built"] += 1
        return
    # C's printf ends a key or a value at a NUL byte.
    if "--command=scan" in command and "--output_hex" not in command and any(b"\0" in line for line in ours):
        counts["not comparable for NUL bytes in text"] += 1
        return
    if ours == theirs and (our_code == 0) == (their_code == 0):
        counts["the same"] += 1
        return
    if our_code == 1 and their_code == 0 and b"Corruption: " in complaint:
        counts["damage that only ours reports"] += 1
        return
    different[name] += 1
    if different[name] <= options.show:
        first = next((pair for pair in zip(ours, theirs) if pair[0] != pair[1]), (b"", b""))
        print(f"{path}: {name}: exit codes {our_code} and {their_code}, {len(ours)} and {len(theirs)} lines")
        print(f"    ours   {first[0][:200]!r}\n    theirs {first[1][:200]!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default="target/debug/sst_dump")
    parser.add_argument("--theirs", default="/usr/bin/sst_dump")
    parser.add_argument("--show", type=int, default=3, help="differences to show of each command")
    parser.add_argument("directories", nargs="+")
    options = parser.parse_args()
    counts, different, refused, tables = collections.Counter(), collections.Counter(), 0, 0
    for source in [found for directory in options.directories for found in databases(directory)]:
        with tempfile.TemporaryDirectory() as scratch:
            # Named as the source, so that a difference says where it is. Both see the same path, which is printed.
            copy = os.path.join(scratch, os.path.basename(os.path.dirname(os.path.abspath(source))))
            shutil.copytree(source, copy)
            all_open = True
            for path in sorted(glob.glob(os.path.join(copy, "*.sst"))):
                tables += 1
                if run(options.theirs, [f"--file={path}", "--command=none"])[0] != 0:
                    refused += 1
                    all_open = False
                    continue
                about = run(options.ours, [f"--file={path}", "--command=none", "--show_properties"])[1]
                is_reverse = b"rocksdb.ReverseBytewiseComparator" in about
                for command in COMMANDS:
                    # RocksDB 7.8 compares bounds bytewise whatever the order, and fails assertions in `recompress`.
                    if is_reverse and any(word in " ".join(command) for word in BYTEWISE_ONLY):
                        counts["left out for the reverse order"] += 1
                        continue
                    compare(options, path, command, False, counts, different)
            for command in DIRECTORY_COMMANDS if all_open else []:
                compare(options, copy, command, True, counts, different)
    print(f"{tables} tables, of which theirs does not open {refused}")
    print(f"outputs: {dict(counts)}, different: {dict(different)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
