//! What a repair would have to guess, and refuses to: an examination tells the same.

use crate::facts::Facts;
use crate::report::{Problem, Use};
use crate::salvage::share_keys;
use ferrock_base::{Error, Result};
use ferrock_tree::places::is_same;

/// Refuses what a repair would lose only because this build or its caller does not know something. The report says so.
pub(crate) fn refuse(facts: &Facts) -> Result<()> {
    if facts.subject.manifests.is_empty() && facts.subject.tables.is_empty() && facts.logs.is_empty() {
        let what = "nothing to repair: there is neither a MANIFEST nor a table nor a log";
        return Err(Error::invalid_argument(what).in_file(&facts.subject.directory));
    }
    refuse_places(facts)?;
    refuse_ingested(facts)?;
    let needed = facts.report.files.iter().filter(|file| file.used != Use::Unneeded);
    for file in needed {
        let unknown = [Problem::NotSupported, Problem::Unreadable];
        if let Some(finding) = file.findings.iter().find(|finding| unknown.contains(&finding.problem)) {
            let what = format!(
                "repair: {}; nothing was changed; give the options of the family, or move the file away to lose it",
                finding.message
            );
            return Err(Error::not_supported(what).in_file(&file.path));
        }
    }
    Ok(())
}

/// Refuses to guess where the files of the database are: what is not looked at is lost, and what is another database's
/// is not to be taken.
fn refuse_places(facts: &Facts) -> Result<()> {
    let subject = &facts.subject;
    if let Some(directory) = &subject.wal_dir_by_file {
        let what = "repair: the OPTIONS file alone says that the logs are here; in a copy of a database, these are the \
                    logs of the other one. Give wal_dir in the options of the repair (--wal-dir): this directory, or \
                    that of the database, if the logs are there";
        return Err(Error::invalid_argument(what).in_file(directory));
    }
    if let Some((directory, error)) = &subject.unlisted {
        let what = format!("repair: what the database has in a directory is not known: {error}");
        return Err(Error::invalid_argument(what).in_file(directory));
    }
    let missing = facts.tree.families.values().flat_map(|family| family.tables.values());
    let missing = missing.filter(|table| table.path_id > 0 && !subject.tables.contains_key(&table.number));
    if let Some(table) = missing.min_by_key(|table| table.number) {
        let what = format!(
            "repair: table {} was in a directory of db_paths or cf_paths, and is in none that the options of the \
             repair name: give them, as no file has them",
            table.number
        );
        return Err(Error::invalid_argument(what).in_file(&subject.directory));
    }
    let mut elsewhere = subject
        .tables
        .values()
        .filter(|present| present.path.parent().is_none_or(|parent| !is_same(parent, &subject.directory)));
    if let Some(present) = elsewhere.next().filter(|_| !facts.is_trusted) {
        let what = "repair: without a MANIFEST, tables are only found in the directory of the database: move the tables \
                    there, and give no db_paths and cf_paths";
        return Err(Error::not_supported(what).in_file(&present.path));
    }
    Ok(())
}

/// Refuses to guess how old the data of a table is that was ingested: its sequence number is in the MANIFEST alone. It
/// does not matter where nothing else of the family has keys between its own.
fn refuse_ingested(facts: &Facts) -> Result<()> {
    for family in facts.families.values().filter(|_| !facts.is_trusted) {
        for table in &family.tables {
            let properties = &table.properties;
            let has_number = properties.external_sst_file_global_seqno.is_some_and(|number| number > 0);
            if properties.external_sst_file_version.is_none() || has_number || table.recorded.is_some() {
                continue;
            }
            let others = family.tables.iter().filter(|other| other.number != table.number);
            let beside = others.map(|other| (format!("table {}", other.number), other.span.keys.as_ref()));
            let in_logs = facts.log_keys.get(&family.family.id);
            let mut beside = beside.chain([("a log".to_owned(), in_logs)]);
            let Some((other, _)) = beside.find(|(_, keys)| share_keys(&family.order, table.span.keys.as_ref(), *keys))
            else {
                continue;
            };
            let what = format!(
                "repair: the table was ingested, and how old it is beside {other}, which has keys between its own, was in \
                 the MANIFEST alone. Nothing was changed. Move the table out of the directory, repair, and ingest it \
                 again: then it is newer than all else; or leave it out, and its data is lost"
            );
            return Err(Error::not_supported(what).in_file(&table.present.path));
        }
    }
    Ok(())
}
