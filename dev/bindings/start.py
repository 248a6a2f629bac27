#!/usr/bin/env python3
"""Starts a small program of each binding on a library with RocksDB's C interface: open, put, get, iterate, batch, close.

    cargo build --release -p ferrock-capi
    dev/bindings/start.py target/release/libferrock_capi.so [--binding rust|go]

The bindings are Rust's `rocksdb` 0.25.0 (needs cargo and libclang, Debian: libclang-dev) and Go's `grocksdb` 1.11.1 (needs
go and a C compiler; it is compiled with this tree's header). Both come from their registries.

Exit code: 0 when every program runs to its end, 1 when one fails, 2 when one cannot be built.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADERS = HERE.parent.parent / "crates/capi/include"

CARGO = """[package]
name = "start"
version = "0.0.0"
edition = "2021"
[workspace]
[[bin]]
name = "start"
path = "main.rs"
[dependencies]
rocksdb = { version = "=0.25.0", default-features = false, features = ["bindgen-runtime"] }
"""
GO = "module start\n\ngo 1.21\n\nrequire github.com/linxGnu/grocksdb v1.11.1\n"


def run(command, code, **options):
    if subprocess.run(command, **options).returncode != 0:
        print(f"failed: {' '.join(map(str, command))}", file=sys.stderr)
        raise SystemExit(code)


def rust(work, libraries):
    (work / "Cargo.toml").write_text(CARGO)
    shutil.copy(HERE / "start/main.rs", work)
    run(["cargo", "build", "--quiet"], 2, cwd=work,
        env=dict(os.environ, ROCKSDB_LIB_DIR=str(libraries), CARGO_TARGET_DIR=str(work / "target")))
    return work / "target/debug/start"


def go(work, libraries):
    (work / "go.mod").write_text(GO)
    shutil.copy(HERE / "start/main.go", work)
    run(["go", "mod", "tidy"], 2, cwd=work)
    run(["go", "build", "-tags", "grocksdb_clean_link", "-o", "start", "."], 2, cwd=work,
        env=dict(os.environ, CGO_CFLAGS=f"-I{HEADERS}", CGO_LDFLAGS=f"-L{libraries}"))
    return work / "start"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path, help="shared library with RocksDB's C interface")
    parser.add_argument("--binding", choices=["rust", "go"], help="only this one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bindings-") as directory:
        directory = Path(directory)
        libraries = directory / "libraries"
        libraries.mkdir()
        (libraries / "librocksdb.so").symlink_to(given.library.resolve())
        for build in [rust, go]:
            if given.binding in (None, build.__name__):
                work = directory / build.__name__
                work.mkdir()
                program = build(work, libraries)
                run([program, directory / f"{build.__name__}-database"], 1,
                    env=dict(os.environ, LD_LIBRARY_PATH=str(libraries)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
