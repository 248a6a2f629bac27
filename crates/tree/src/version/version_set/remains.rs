//! Checks a directory without CURRENT for files of a database.
//!
//! CURRENT says which MANIFEST counts, and so which of all other files. Where it is missing there is nothing to open,
//! but that is no proof that there was never a database: taken for a new directory, the next clean-up would remove its
//! tables and logs. Creating a database therefore begins only where nothing but the following lies, in RocksDB's order
//! of creation and in this one:
//!
//! | file | made before CURRENT is durable, because |
//! |---|---|
//! | LOCK, LOG, `LOG.old.*` | the directory is locked, and messages are written, first |
//! | IDENTITY, `000000.dbtmp` | RocksDB writes the identity first |
//! | `MANIFEST-000001` | the empty MANIFEST; the first open replaces it by one of another number |
//! | `000001.dbtmp` | the CURRENT that names it, before it is renamed |
//!
//! Every other file of a database (a log, a table, a blob file, OPTIONS, another MANIFEST) is made after CURRENT was
//! durable: its directory had a database.

use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::file_name::{self, FileKind, FileName};
use ferrock_vfs::FileSystem;
use std::path::Path;

/// Files that the error names.
const NAMED: usize = 3;

/// The MANIFEST of a database that was just created.
pub(super) const FIRST_MANIFEST: FileNumber = FileNumber(1);

/// Refuses a directory without CURRENT that holds files of a database. A directory that does not exist passes.
///
/// # Errors
/// `Corruption`, which names files, and says what to write into CURRENT.
pub fn check_holds_no_database(file_system: &dyn FileSystem, db_path: &Path) -> Result<()> {
    let mut names = match file_system.children(db_path) {
        Err(error) if error.is_not_found() => return Ok(()),
        names => names?,
    };
    names.sort_unstable();
    let files: Vec<(&str, FileName)> =
        names.iter().filter_map(|name| Some((name.as_str(), file_name::parse(name)?))).collect();
    let of_database: Vec<&str> =
        files.iter().filter(|(_, file)| !may_be_of_creation(*file)).map(|(name, _)| *name).collect();
    if of_database.is_empty() {
        return Ok(());
    }
    let manifests = files.iter().filter(|(_, file)| file.kind == FileKind::Manifest);
    let keep = match manifests.max_by_key(|(_, file)| file.number) {
        Some((name, _)) => format!("to open it, make CURRENT again with the line {name}, the newest MANIFEST"),
        None => "to open it, bring CURRENT and its MANIFEST back from a copy".to_owned(),
    };
    let more = match of_database.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = of_database.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    Err(Error::corruption(format!(
        "CURRENT is missing, and there are files of a database ({named}{more}); nothing was changed; {keep}; to begin \
         anew, destroy the database or move its files away"
    ))
    .in_file(db_path))
}

fn may_be_of_creation(file: FileName) -> bool {
    match file.kind {
        FileKind::Manifest => file.number == FIRST_MANIFEST,
        FileKind::Temp => file.number <= FIRST_MANIFEST,
        FileKind::Current
        | FileKind::Identity
        | FileKind::Lock
        | FileKind::InfoLog
        | FileKind::MetaDb
        | FileKind::CompactionProgress
        | FileKind::CompactionProgressTemp
        | FileKind::Trash => true,
        FileKind::Log | FileKind::Table | FileKind::Blob | FileKind::Options | FileKind::OptionsTemp => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_vfs::{MemoryFileSystem, write_file_synced};

    fn check(names: &[&str]) -> Result<()> {
        let files = MemoryFileSystem::new();
        let path = Path::new("/db");
        files.create_dir_all(path).unwrap();
        for name in names {
            write_file_synced(&files, &path.join(name), b"x").unwrap();
        }
        check_holds_no_database(&files, path)
    }

    #[test]
    fn what_an_interrupted_creation_leaves_passes() {
        check(&[]).unwrap();
        check(&["LOCK", "LOG", "LOG.old.17", "MANIFEST-000001", "000001.dbtmp"]).unwrap();
        check(&["LOCK", "LOG", "IDENTITY", "000000.dbtmp", "MANIFEST-000001", "letter.txt", "000004.sst.bak"]).unwrap();
        check_holds_no_database(&MemoryFileSystem::new(), Path::new("/missing")).unwrap();
    }

    #[test]
    fn every_other_file_of_a_database_is_refused() {
        let after_creation =
            ["000004.log", "000009.sst", "000009.ldb", "000009.blob", "OPTIONS-000007", "OPTIONS-000007.dbtmp"];
        for name in after_creation.into_iter().chain(["MANIFEST-000005", "000005.dbtmp"]) {
            let error = check(&["LOCK", "LOG", "MANIFEST-000001", name]).unwrap_err();
            assert!(error.is_corruption(), "{error}");
            assert!(error.to_string().contains(name), "{error}");
        }
        let error =
            check(&["MANIFEST-000005", "MANIFEST-000012", "000009.sst", "000010.sst", "000011.log"]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("000009.sst, 000010.sst, 000011.log and 2 more"), "{text}");
        assert!(text.contains("with the line MANIFEST-000012"), "{text}");
        assert!(text.contains("nothing was changed") && text.contains("destroy"), "{text}");
    }
}
