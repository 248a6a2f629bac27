//! The archive of golden databases: one Zstandard frame around a ustar archive.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// One database, in memory.
pub struct GoldenDatabase {
    pub name: String,
    pub expect: Value,
    files: BTreeMap<String, Vec<u8>>,
}

/// A database unpacked into a directory of its own.
pub struct Unpacked {
    directory: TempDir,
}

impl Unpacked {
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("db")
    }

    /// Takes or gives back the permission to change anything in the directory.
    pub fn set_read_only(&self, is_read_only: bool) {
        let set = |path: &Path| {
            let mut permissions = fs::metadata(path).unwrap().permissions();
            permissions.set_readonly(is_read_only);
            fs::set_permissions(path, permissions).unwrap();
        };
        if !is_read_only {
            set(&self.path());
        }
        fs::read_dir(self.path()).unwrap().for_each(|entry| set(&entry.unwrap().path()));
        if is_read_only {
            set(&self.path());
        }
    }

    /// Every file of the directory.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap());
        entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
    }
}

impl GoldenDatabase {
    /// On disk.
    pub fn unpack(&self) -> Unpacked {
        self.unpack_into(tempfile::tempdir().unwrap())
    }

    /// In memory where the system offers such a directory: a course that writes syncs thousands of times.
    pub fn unpack_for_writing(&self) -> Unpacked {
        self.unpack_into(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn unpack_into(&self, directory: TempDir) -> Unpacked {
        fs::create_dir(directory.path().join("db")).unwrap();
        for (name, content) in &self.files {
            fs::write(directory.path().join("db").join(name), content).unwrap();
        }
        Unpacked { directory }
    }

    /// The files as RocksDB left them.
    pub fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    pub fn opens(&self) -> bool {
        self.expect["open"]["status"] == "OK"
    }
}

/// Every database, by name.
pub fn databases() -> &'static [GoldenDatabase] {
    static DATABASES: OnceLock<Vec<GoldenDatabase>> = OnceLock::new();
    DATABASES.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/databases.tar.zst");
        let frame = fs::read(path).unwrap();
        let mut archive = Vec::new();
        let used = zstd_rs::Decompressor::new().decompress_frame(&frame, None, 1 << 30, &mut archive).unwrap();
        assert_eq!(used, frame.len());
        group(tar_entries(&archive))
    })
}

fn group<'a>(entries: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<GoldenDatabase> {
    let mut databases: BTreeMap<&str, (Value, BTreeMap<String, Vec<u8>>)> = BTreeMap::new();
    for (path, content) in entries {
        let (name, rest) = path.split_once('/').unwrap();
        let (expect, files) = databases.entry(name).or_default();
        match rest.strip_prefix("db/") {
            Some(file) => drop(files.insert(file.to_owned(), content.to_owned())),
            None if rest == "expect.json" => *expect = serde_json::from_slice(content).unwrap(),
            None => panic!("{path} does not belong in the archive"),
        }
    }
    let finish = |(name, (expect, files)): (&str, _)| GoldenDatabase { name: name.to_owned(), expect, files };
    databases.into_iter().map(finish).collect()
}

/// Paths and contents of the regular files of a ustar archive.
fn tar_entries(archive: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    const BLOCK: usize = 512;
    let mut rest = archive;
    std::iter::from_fn(move || {
        let header = rest.get(..BLOCK).filter(|header| header[0] != 0)?;
        assert_eq!((&header[257..262], header[156]), (&b"ustar"[..], b'0'), "only regular files are expected");
        assert_eq!(header[345], 0, "a path of more than 100 bytes");
        let name = header[..100].split(|byte| *byte == 0).next()?;
        let digits = std::str::from_utf8(&header[124..135]).unwrap().trim_matches(['\0', ' ']);
        let size = usize::from_str_radix(digits, 8).unwrap();
        let content = &rest[BLOCK..BLOCK + size];
        rest = &rest[BLOCK + size.next_multiple_of(BLOCK)..];
        Some((std::str::from_utf8(name).unwrap(), content))
    })
}
