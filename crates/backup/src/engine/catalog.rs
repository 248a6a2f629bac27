//! What a backup directory holds, as it was read.
//!
//! Invariants:
//! - A backup is good when its text is whole, and each file that it names is there with the size that text and name
//!   give. Bytes are looked at by [`verify`](super::verify) alone.
//! - Where backups do not agree about the checksum of a file, [`verify`](super::verify) shows which of them is
//!   damaged. RocksDB takes the word of the newest.
//! - A backup that is not good keeps the files that its text names, and where the text cannot be read, or is of a
//!   later release, no shared file is let go of: what a later release or a repair needs is not ours to remove. RocksDB
//!   removes them with the next write.

use super::sizes::Sizes;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::backup::{BackupFileName, BackupMeta, BackupPlace, META_DIRECTORY, backup_id_of};
use ferrock_vfs::{FileEntry, FileSystem, read_file};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

/// A file of good backups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) size_bytes: u64,
    pub(super) crc32c: Option<u32>,
}

/// A good backup.
#[derive(Clone, Debug)]
pub(super) struct Backup {
    /// Every file has its size.
    pub(super) meta: BackupMeta,
}

impl Backup {
    pub(super) fn size_bytes(&self) -> u64 {
        self.meta.files.iter().filter_map(|file| file.size_bytes).sum()
    }
}

/// A backup that is not good.
#[derive(Debug)]
pub(super) struct BrokenBackup {
    pub(super) error: Error,
    /// The files that its text names; `None` when it cannot be read.
    pub(super) files: Option<Vec<String>>,
}

/// What tells whether a text has changed: its size and when it was written.
type Fingerprint = BTreeMap<u32, (u64, u64)>;

/// The backups of a directory.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) backups: BTreeMap<u32, Backup>,
    pub(super) broken: BTreeMap<u32, BrokenBackup>,
    /// The largest number that a backup has, good or not.
    pub(super) newest_id: u32,
    fingerprint: Fingerprint,
}

impl Catalog {
    /// Reads the directory: at most `limit` good backups, the newest ones.
    ///
    /// # Errors
    /// Those of the file system. Damage, or a description that cannot be read, makes a backup a broken one.
    pub(super) fn load(files: &dyn FileSystem, directory: &Path, limit: u32) -> Result<Self> {
        let fingerprint = fingerprint_of(files, directory)?;
        let newest_id = fingerprint.keys().next_back().copied().unwrap_or(0);
        let mut loading = Loading { files, directory, sizes: Sizes::new(files, directory) };
        let mut catalog = Self { newest_id, ..Self::default() };
        for &id in fingerprint.keys().rev() {
            if catalog.backups.len() as u64 >= u64::from(limit) {
                break;
            }
            match loading.load(id) {
                Ok(backup) => _ = catalog.backups.insert(id, backup),
                // Another engine removed it meanwhile.
                Err((error, None)) if error.is_not_found() => {}
                // One that cannot be read stands in the way of no other: its files stay.
                Err((error, files)) if files.is_none() || is_of_the_backup(&error) => {
                    catalog.broken.insert(id, BrokenBackup { error, files });
                }
                Err((error, _)) => return Err(error),
            }
        }
        catalog.fingerprint = fingerprint;
        Ok(catalog)
    }

    /// Reads the directory again if another engine has changed it.
    pub(super) fn refresh(&mut self, files: &dyn FileSystem, directory: &Path) -> Result<()> {
        if fingerprint_of(files, directory)? == self.fingerprint { Ok(()) } else { self.reload(files, directory) }
    }

    /// Reads the directory again, before files are removed that none of its backups names.
    pub(super) fn reload(&mut self, files: &dyn FileSystem, directory: &Path) -> Result<()> {
        let newest_id = self.newest_id;
        *self = Self::load(files, directory, u32::MAX)?;
        self.newest_id = self.newest_id.max(newest_id);
        Ok(())
    }

    /// Adds a backup that was made.
    pub(super) fn add(&mut self, files: &dyn FileSystem, directory: &Path, id: u32, meta: BackupMeta) {
        self.backups.insert(id, Backup { meta });
        self.newest_id = self.newest_id.max(id);
        // Without it the next write reads the directory again.
        self.fingerprint = fingerprint_of(files, directory).unwrap_or_default();
    }

    /// Forgets a backup whose text is gone.
    pub(super) fn forget(&mut self, id: u32) {
        self.backups.remove(&id);
        self.broken.remove(&id);
        self.fingerprint.remove(&id);
    }

    /// The good backup with this number.
    ///
    /// # Errors
    /// `NotFound`; the error that broke it.
    pub(super) fn backup(&self, id: u32) -> Result<&Backup> {
        match (self.backups.get(&id), self.broken.get(&id)) {
            (Some(backup), _) => Ok(backup),
            (None, Some(broken)) => Err(Error::new(broken.error.kind(), broken.error.message())
                .in_file(broken.error.file().unwrap_or(Path::new(META_DIRECTORY)))),
            (None, None) => Err(not_found(id)),
        }
    }

    /// The number of the newest good backup.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub(super) fn latest_id(&self) -> Result<u32> {
        let none = || Error::new(ErrorKind::NotFound, "Backup not found: the directory has no good backup");
        self.backups.keys().next_back().copied().ok_or_else(none)
    }

    /// The files of good backups, by their names below the directory, but for those whose checksums backups do not
    /// agree about: one of the descriptions is damaged.
    pub(super) fn known_files(&self) -> HashMap<&str, KnownFile> {
        let (mut known, mut disputed) = (HashMap::new(), HashSet::new());
        for file in self.backups.values().flat_map(|backup| &backup.meta.files) {
            let entry = known.entry(&file.name[..]);
            let entry = entry.or_insert(KnownFile { size_bytes: file.size_bytes.unwrap_or(0), crc32c: file.crc32c });
            match (entry.crc32c, file.crc32c) {
                (Some(one), Some(other)) if one != other => _ = disputed.insert(&file.name[..]),
                (one, other) => entry.crc32c = one.or(other),
            }
        }
        known.retain(|name, _| !disputed.contains(name));
        known
    }

    /// Names of files that any backup needs, good or not.
    pub(super) fn needed_files(&self) -> HashSet<&str> {
        let good = self.backups.values().flat_map(|backup| &backup.meta.files).map(|file| &file.name[..]);
        let broken = self.broken.values().filter_map(|broken| broken.files.as_ref()).flatten().map(String::as_str);
        good.chain(broken).collect()
    }

    /// Backups whose files are not known.
    pub(super) fn unreadable(&self) -> Vec<u32> {
        self.broken.iter().filter(|(_, broken)| broken.files.is_none()).map(|(id, _)| *id).collect()
    }

    /// Numbers of all backups.
    pub(super) fn ids(&self) -> BTreeSet<u32> {
        self.backups.keys().chain(self.broken.keys()).copied().collect()
    }
}

/// The error of a number that no backup has.
pub(super) fn not_found(id: u32) -> Error {
    Error::new(ErrorKind::NotFound, format!("Backup not found: there is no backup {id}"))
}

/// Damage of one backup, as against a file system that does not work.
fn is_of_the_backup(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported)
}

fn fingerprint_of(files: &dyn FileSystem, directory: &Path) -> Result<Fingerprint> {
    let meta = directory.join(META_DIRECTORY);
    let explain = |error: Error| match error.is_not_found() {
        true => Error::new(ErrorKind::NotFound, "the directory has no backups: is it the right one?").in_file(&meta),
        false => error,
    };
    if let Some(listed) = files.list_files(&meta).map_err(explain)? {
        let seen =
            |entry: FileEntry| Some((backup_id_of(&entry.name)?, (entry.size_bytes, entry.modified_unix_seconds)));
        return Ok(listed.into_iter().filter_map(seen).collect());
    }
    let names = files.children(&meta).map_err(explain)?;
    let mut fingerprint = Fingerprint::new();
    for (id, name) in names.iter().filter_map(|name| Some((backup_id_of(name)?, name))) {
        let path = meta.join(name);
        let look = || -> Result<_> { Ok((files.file_size(&path)?, files.modified_unix_seconds(&path)?)) };
        match look() {
            Ok(seen) => _ = fingerprint.insert(id, seen),
            // Another engine removed it meanwhile.
            Err(error) if Error::is_not_found(&error) => {}
            // Reading it tells what is wrong.
            Err(_) => _ = fingerprint.insert(id, (u64::MAX, 0)),
        }
    }
    Ok(fingerprint)
}

struct Loading<'a> {
    files: &'a dyn FileSystem,
    directory: &'a Path,
    sizes: Sizes<'a>,
}

impl Loading<'_> {
    /// Reads a backup. With an error come the files that its text names.
    fn load(&mut self, id: u32) -> std::result::Result<Backup, (Error, Option<Vec<String>>)> {
        let path = self.directory.join(META_DIRECTORY).join(id.to_string());
        let text = match read_file(self.files, &path) {
            Ok(text) => text,
            Err(error) => return Err((error, None)),
        };
        let mut meta = match BackupMeta::decode(&text) {
            Ok(meta) => meta,
            Err(error) => {
                let what = format!("the description of backup {id}: restore another one; delete it if it is of no use");
                return Err((error.context(&what).in_file(&path), None));
            }
        };
        match self.check(id, &mut meta) {
            Ok(()) => Ok(Backup { meta }),
            Err(error) => {
                let names = meta.files.iter().map(|file| file.name.clone()).collect();
                Err((error, Some(names)))
            }
        }
    }

    fn check(&mut self, id: u32, meta: &mut BackupMeta) -> Result<()> {
        for file in &mut meta.files {
            let path = self.directory.join(&file.name);
            let wrong = |what: String| {
                let what = format!("backup {id}: {what}; put the file back, or delete the backup");
                Error::corruption(what).in_file(&path)
            };
            let parsed = BackupFileName::parse(&file.name);
            if parsed.is_none_or(|name| matches!(name.place, BackupPlace::Private(of) if of != id)) {
                return Err(wrong("the file is of another backup".to_owned()));
            }
            let size = self.sizes.of(&file.name)?.ok_or_else(|| wrong("the file is missing".to_owned()))?;
            for expected in [file.size_bytes, size_in_name(&file.name)].into_iter().flatten() {
                if expected != size {
                    return Err(wrong(format!("the file has {size} bytes and must have {expected}")));
                }
            }
            file.size_bytes = Some(size);
        }
        Ok(())
    }
}

/// The size that a name in `shared_checksum` ends in, if it has one.
pub(super) fn size_in_name(relative: &str) -> Option<u64> {
    BackupFileName::parse(relative).filter(|name| name.place == BackupPlace::SharedChecksum)?;
    let identity = relative.rsplit_once('.')?.0.rsplit_once('/')?.1;
    let mut parts = identity.split('_').skip(1);
    let (_, size, None) = (parts.next()?, parts.next()?, parts.next()) else { return None };
    size.parse().ok()
}
