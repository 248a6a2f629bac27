//! Looking whether backups are sound.

use super::BackupEngine;
use super::sizes::Sizes;
use super::transfer::Transfer;
use ferrock_base::{Error, ErrorKind, Result};

impl BackupEngine {
    /// Checks that the files of a backup are there and have the sizes that they had when the engine was opened or made
    /// them; with `checksums` also their bytes, all of which are read.
    ///
    /// # Errors
    /// `NotFound` when there is no such backup or a file is missing; `Corruption` naming the first file that is
    /// damaged; those of the file system.
    pub fn verify_backup(&self, id: u32, checksums: bool) -> Result<()> {
        let state = self.state.read();
        let backup = state.catalog.backup(id)?;
        let files = &self.options.backup_file_system;
        let mut sizes = Sizes::new(&**files, &self.options.backup_dir);
        let advice = "restore another backup, or delete this one";
        for file in &backup.meta.files {
            let path = self.path(&file.name);
            let size = sizes.of(&file.name)?.ok_or_else(|| {
                let what = format!("File missing: backup {id} needs it; {advice}");
                Error::new(ErrorKind::NotFound, what).in_file(&path)
            })?;
            if let Some(expected) = file.size_bytes.filter(|expected| *expected != size) {
                let what = format!("backup {id}: the file has {size} bytes and must have {expected}; {advice}");
                return Err(Error::corruption(what).in_file(path));
            }
        }
        if !checksums {
            return Ok(());
        }
        let with_checksums = backup.meta.files.iter().filter(|file| file.crc32c.is_some());
        let plan = with_checksums
            .map(|file| Transfer { crc32c: file.crc32c, ..Transfer::read(self.path(&file.name), file.size_bytes) });
        let transfers = self.transfers((files, files), self.copier(&self.backup_limiter, None), None);
        let verified = transfers.run(plan.collect());
        verified.map(drop).map_err(|error| error.context(&format!("backup {id}; {advice}")))
    }
}
