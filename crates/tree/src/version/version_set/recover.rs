//! Opens an existing database: CURRENT, MANIFEST, versions.

use super::family::FamilyToOpen;
use super::followed::FollowedManifest;
use super::remains::FIRST_MANIFEST;
use super::replay::{RecoverMode, Replay, ReplayedManifest, replay_file};
use super::{Manifest, VersionSet, current};
use arc_swap::ArcSwap;
use ferrock_base::{FileNumber, Result, SequenceNumber, Temperature};
use ferrock_format::file_name;
use ferrock_format::version_edit::VersionEdit;
use ferrock_options::DbOptions;
use ferrock_vfs::FileSystem;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Id, name and comparator name of every column family of a database. Needs no options.
///
/// # Errors
/// `Io` when CURRENT or the MANIFEST cannot be read, `Corruption` when one of them is damaged.
pub fn list_column_families(
    file_system: &dyn FileSystem,
    db_path: &Path,
) -> Result<Vec<(u32, String, Option<String>)>> {
    let mut replay = Replay::of_names();
    let number = current::read_current(file_system, db_path)?;
    replay_file(file_system, &db_path.join(file_name::manifest(number)), &mut replay)?;
    Ok(replay.family_names())
}

impl VersionSet {
    /// Makes the files of a new database: an empty MANIFEST, and CURRENT, with the last number
    /// that is given away and a hint to the file system.
    ///
    /// # Errors
    /// `Io` and `NoSpace` of the file system. Without CURRENT, which is written last, the directory holds no database.
    pub fn create(
        file_system: &dyn FileSystem,
        db_path: &Path,
        db_id: Option<&str>,
        last_sequence: SequenceNumber,
        temperature: Temperature,
    ) -> Result<()> {
        let number = FIRST_MANIFEST;
        let edit = VersionEdit {
            db_id: db_id.map(str::to_owned),
            log_number: Some(FileNumber(0)),
            next_file_number: Some(FileNumber(number.0 + 1)),
            last_sequence: Some(last_sequence),
            ..VersionEdit::default()
        };
        let path = db_path.join(file_name::manifest(number));
        // It is replaced by the first change.
        let mut writer = super::ManifestWriter::create(file_system, &path, temperature, 0)?;
        let mut framed = Vec::new();
        writer.encode(&edit.encode(), &mut framed);
        writer.append_and_sync(&framed)?;
        current::write_current(file_system, db_path, number, temperature)
    }

    /// Opens the database in `db_path`. Writes nothing; the first change will begin a new MANIFEST.
    ///
    /// # Errors
    /// `InvalidArgument` when families are not named (see [`RecoverMode`]), comparators differ or the tree has more
    /// levels than the options; `Corruption`, naming file and offset, for every invalid record of the MANIFEST.
    pub fn recover(
        file_system: Arc<dyn FileSystem>,
        db_path: &Path,
        options: Arc<DbOptions>,
        families: &[FamilyToOpen],
        mode: RecoverMode,
    ) -> Result<Self> {
        let mut manifest = FollowedManifest::new(file_system, db_path, families.to_vec())?;
        manifest.read()?;
        let version_set = manifest.version_set(options, mode)?;
        if mode == RecoverMode::ReadWrite {
            version_set.mark_directory_used(db_path)?;
        }
        Ok(version_set)
    }

    /// What a MANIFEST said, in force.
    pub(super) fn of_replayed(
        file_system: Arc<dyn FileSystem>,
        db_path: &Path,
        options: Arc<DbOptions>,
        mode: RecoverMode,
        replayed: ReplayedManifest,
    ) -> Self {
        let manifest_number = replayed.state.manifest_number;
        let version_set = Self {
            file_system,
            db_path: db_path.to_path_buf(),
            options: ArcSwap::new(options),
            is_read_only: mode == RecoverMode::ReadOnly,
            next_file_number: AtomicU64::new(replayed.next_file_number),
            last_sequence: AtomicU64::new(replayed.last_sequence.0),
            state: Mutex::new(replayed.state),
            manifest: Mutex::new(Manifest::default()),
        };
        version_set.charge_files(version_set.state.lock().families.values().map(|family| &family.current));
        version_set.mark_file_number_used(manifest_number);
        version_set
    }

    /// Keeps every number of a file in `dir` from being given out: a file that was made before a crash and is not in
    /// the MANIFEST must not be mistaken for, or overwritten by, a new one.
    ///
    /// # Errors
    /// `Io` when the directory cannot be listed.
    pub fn mark_directory_used(&self, dir: &Path) -> Result<()> {
        for name in self.file_system.children(dir)? {
            if let Some(parsed) = file_name::parse(&name).filter(|parsed| parsed.kind.uses_file_number()) {
                self.mark_file_number_used(parsed.number);
            }
        }
        Ok(())
    }
}
