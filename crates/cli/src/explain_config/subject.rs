//! What is explained: an OPTIONS file, a profile, a text of options, or one on top of the other.
//!
//! ```text
//! OPTIONS file or defaults --> --profile --> --options --> as written --settle--> as used, and what was adjusted
//! ```

use crate::failure::{Failure, Result};
use ferrock::options::{self, Profile, combinations};
use ferrock::{ColumnFamilyOptions, DbOptions};
use ferrock_base::option_table::Adjustment;
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::options_file::OptionsFile;
use ferrock_vfs::{default_file_system, read_file};
use std::path::{Path, PathBuf};

/// Where the option set comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sources<'a> {
    /// Directory or file; `None`: the defaults.
    pub(super) path: Option<&'a Path>,
    pub(super) profile: Option<&'a str>,
    pub(super) options: Option<&'a str>,
}

/// A family as it is explained.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) name: String,
    /// As written: what it was before anything was brought into its bounds.
    pub(super) written: ColumnFamilyOptions,
    /// As a database that is opened with it uses it.
    pub(super) used: ColumnFamilyOptions,
    /// What differs between the two.
    pub(super) adjusted: Vec<Adjustment>,
    /// Why an open refuses it.
    pub(super) refused: Option<String>,
}

/// An option set.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// What it is, for the first line.
    pub(super) title: String,
    pub(super) db: DbOptions,
    pub(super) adjusted: Vec<Adjustment>,
    pub(super) refused: Option<String>,
    pub(super) families: Vec<Family>,
    /// What a file asks for and cannot have.
    pub(super) notes: Vec<String>,
}

impl Subject {
    /// Of its sources.
    pub(super) fn load(sources: Sources<'_>) -> Result<Self> {
        let (mut title, mut db, mut families, notes) = match sources.path {
            Some(path) => read(path)?,
            None => {
                let families = vec![("default".to_owned(), ColumnFamilyOptions::default())];
                ("RocksDB's defaults".to_owned(), DbOptions::default(), families, Vec::new())
            }
        };
        if let Some(name) = sources.profile {
            let profile: Profile = name.parse().map_err(|error: ferrock::Error| usage(error.message()))?;
            profile.apply(&mut db, &mut families);
            title.push_str(&format!(" with the profile {profile}"));
        }
        if let Some(text) = sources.options {
            for (_, family) in &mut families {
                options::apply_text(&mut db, family, text)
                    .map_err(|error| usage(&format!("--options: {}", error.message())))?;
            }
            title.push_str(&format!(" and {text}"));
        }
        Ok(Self::new(title, db, families, notes))
    }

    /// Options as they are written.
    pub(super) fn new(
        title: String,
        mut db: DbOptions,
        families: Vec<(String, ColumnFamilyOptions)>,
        notes: Vec<String>,
    ) -> Self {
        let refused = combinations::check_db(&db).err().map(|error| error.message().to_owned());
        let adjusted = db.adjust();
        let families = families.into_iter().map(|(name, written)| {
            let mut used = written.clone();
            let refused = combinations::check_family(&db, &written).err().map(|error| error.message().to_owned());
            let adjusted = used.settle_in(&db);
            Family { name, written, used, adjusted, refused }
        });
        let families = families.collect();
        Self { title, db, adjusted, refused, families, notes }
    }

    /// Options of all families, as written.
    pub(super) fn written(&self) -> Vec<(String, ColumnFamilyOptions)> {
        self.families.iter().map(|family| (family.name.clone(), family.written.clone())).collect()
    }
}

fn usage(message: &str) -> Failure {
    Failure::Usage(message.to_owned())
}

type Read = (String, DbOptions, Vec<(String, ColumnFamilyOptions)>, Vec<String>);

fn read(path: &Path) -> Result<Read> {
    let file_system = default_file_system();
    let path = match file_system.children(path) {
        Ok(names) => newest(path, &names)?,
        Err(_) => path.to_path_buf(),
    };
    let content = read_file(&*file_system, &path)?;
    let file = OptionsFile::parse(&content).map_err(|error| Failure::Data(error.in_file(&path).to_string()))?;
    let loaded = options::from_file(&file);
    let (mut db, mut families) = (loaded.db, loaded.column_families);
    // Loading brings values into their bounds; here they are looked at as they are in the file.
    let is_number = |value: &str| value.parse::<f64>().is_ok();
    for statement in file.db.statements.iter().filter(|statement| is_number(&statement.value)) {
        let _ = db.settings.set(&statement.name, &statement.value);
    }
    for ((_, family), section) in families.iter_mut().zip(&file.column_families) {
        for statement in section.options.statements.iter().filter(|statement| is_number(&statement.value)) {
            let _ = family.settings.set(&statement.name, &statement.value);
        }
    }
    // Adjusted values are told by the adjustments of the values as they are.
    let is_adjustment = |note: &String| note.ends_with(" is used") && !note.ends_with("the default is used");
    let notes = loaded.notes.into_iter().filter(|note| !is_adjustment(note)).collect();
    Ok((path.display().to_string(), db, families, notes))
}

fn newest(directory: &Path, names: &[String]) -> Result<PathBuf> {
    let files = names.iter().filter_map(|name| file_name::parse(name));
    let number = files.filter(|name| name.kind == FileKind::Options).map(|name| name.number).max();
    let missing = || {
        let directory = directory.display();
        Failure::NotDone(format!("{directory}: has no OPTIONS file; give the directory of a database, or a file"))
    };
    number.map(|number| directory.join(file_name::options(number))).ok_or_else(missing)
}
