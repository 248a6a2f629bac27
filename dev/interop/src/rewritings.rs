//! The golden databases of the forms that tables have are rewritten twice by a full compaction under their own options:
//! by Ferrock and, in another copy, by RocksDB 11.8.1.
//!
//! RocksDB then reads what Ferrock made and finds what `expect.json` says; and the tables of both say the same of
//! themselves, property by property ([`crate::properties`]). What may differ is listed in [`ALLOWED`] with its reason.

use crate::archive::GoldenDatabase;
use crate::c_engine::CEngine;
use crate::engine::{Engine, OpenMode, Outcome};
use crate::fetch::Fetched;
use crate::golden::{named, unpack, worker};
use crate::properties::{self, Property, Table, follows_early_ends};
use crate::runner::in_parallel;
use crate::settings::Settings;
use serde_json::{Value, json};
use std::path::Path;

/// What the names of the databases contain.
const FORMS: &[&str] = &[
    "ribbon",
    "dict-",
    "separate-key-value",
    "uniform-index-flag",
    "super-block-align",
    "block-align",
    "fv7-autoskip-compression",
    "seqno-time-mapping",
    "index-",
    "datahash-",
    "prefix-",
    "bloom-",
];

/// Properties that may differ: in databases with this in their names, and why.
const ALLOWED: &[(&str, &str, &str)] =
    &[("dict-", "num_data_blocks", "RocksDB 11.8.1 writes 0 into tables with a dictionary")];

/// What became of a database.
#[derive(Default)]
pub struct Rewriting {
    pub name: String,
    pub tables: usize,
    pub properties: usize,
    pub equal: usize,
    /// Sizes that follow a compressor.
    pub sizes: Vec<String>,
    /// What differs and may, and why.
    pub allowed: Vec<(&'static str, &'static str)>,
    pub failure: Option<String>,
}

/// All of those databases whose names contain `filter`.
pub fn run(fetched: &Fetched, scratch: &Path, filter: &str) -> Result<Vec<Rewriting>, String> {
    let has_form = |name: &str| {
        let form = name.split_once('-').map_or("", |(_, form)| form);
        FORMS.iter().any(|known| form.starts_with(known))
    };
    let databases = named(|name| has_form(name) && name.contains(filter))?;
    Ok(in_parallel("rewritings", &databases, |database| {
        let mut result = Rewriting { name: database.name.clone(), ..Rewriting::default() };
        let directory = scratch.join(&database.name);
        match compare(fetched, &directory, database, &mut result) {
            Ok(()) => drop(std::fs::remove_dir_all(&directory)),
            Err(error) => result.failure = Some(format!("{error}; directory: {}", directory.display())),
        }
        result
    }))
}

fn compare(fetched: &Fetched, directory: &Path, database: &GoldenDatabase, result: &mut Rewriting) -> Outcome<()> {
    let (ours, theirs) = (directory.join("ferrock"), directory.join("rocksdb"));
    let library = ["--library".to_owned(), fetched.current.display().to_string()];
    unpack(database, &ours)?;
    unpack(database, &theirs)?;
    worker("golden-rewrite", &ours, &[]).map_err(|error| format!("Ferrock rewrites: {error}"))?;
    worker("golden-rewrite-rocksdb", &theirs, &library).map_err(|error| format!("RocksDB rewrites: {error}"))?;
    let (mine, other) = (properties::tables(&ours.join("db"))?, properties::tables(&theirs.join("db"))?);
    // Opening for writing may change the tree, so this comes after their properties were read.
    for directory in [&ours, &theirs] {
        worker("golden-read", directory, &library)?;
    }
    result.tables = mine.len();
    result.properties = mine.iter().map(|table| properties::compared(&table.properties).len()).sum();
    let allowed = || ALLOWED.iter().filter(|(form, ..)| database.name.contains(form));
    let differences = properties::differences(&mine, &other, |table, other, property| {
        if follows_the_compressor(table, property) || follows_early_ends(&table.properties, &other.properties, property)
        {
            result.sizes.push(format!("{} {}", property.name, property.value));
            return true;
        }
        let known = allowed().find(|(_, name, _)| *name == property.name);
        result.allowed.extend(known.map(|(_, name, reason)| (*name, *reason)));
        known.is_some()
    });
    // The list says no more than is true.
    for (_, name, _) in allowed() {
        if !result.allowed.iter().any(|(known, _)| known == name) {
            return Err(format!("{name} is equal, but the list says that it is not"));
        }
    }
    result.equal = result.properties - result.sizes.len() - result.allowed.len() - differences.len();
    if differences.is_empty() { Ok(()) } else { Err(format!("properties:\n    {}", differences.join("\n    "))) }
}

/// Two compressors of one format make blocks of different sizes, and with them handles.
fn follows_the_compressor(table: &Table, property: &Property) -> bool {
    property.is_size && table.properties.compression_name != "NoCompression"
}

/// RocksDB's part.
pub fn rewrite_by_rocksdb(directory: &Path, library: &Path) -> Outcome<Value> {
    let engine = CEngine::load(library)?;
    let mut db = engine.open(&directory.join("db"), OpenMode::ReadWrite, &Settings::default())?;
    for family in 0..db.families() {
        db.compact(family, None, None, true)?;
    }
    db.close()?;
    Ok(json!({"done": true}))
}
