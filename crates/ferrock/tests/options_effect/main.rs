//! Every option changes bytes or behaviour, and here is the proof for each: a registry of effects by name, and a test
//! that every option is in it: every row of the three option tables, and every public field of every other options
//! struct, found in the source. An option that is parsed and ignored cannot be added without failing here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and look at real files"
)]

mod blobs;
#[path = "../common/mod.rs"]
mod common;
mod components;
mod compression;
mod database;
mod family;
mod files;
mod golden;
mod level_picks;
mod memtables;
mod online;
mod operation;
mod recording;
mod refused;
mod setup;
mod sources;
mod table;
mod writes;

use ferrock::options::{ColumnFamilySettings, DbSettings};
use ferrock_table::BlockBasedTableOptions;
use std::collections::BTreeMap;

/// How an option is known to have an effect.
#[derive(Clone, Copy)]
pub enum Effect {
    /// This shows it.
    Shown(fn()),
    /// Another value than the default is refused, by name: what it asks for is not built.
    Refused(&'static str),
    /// Shown where its subject is tested: a file, relative to the crate, and a test in it that names the option.
    Elsewhere(&'static str, &'static str),
}

fn registry() -> BTreeMap<&'static str, Effect> {
    let mut all = BTreeMap::new();
    let tables = [database::EFFECTS, family::EFFECTS, blobs::EFFECTS, table::EFFECTS];
    let structs = [operation::EFFECTS, components::EFFECTS, compression::EFFECTS];
    for (name, effect) in tables.into_iter().chain(structs).flatten() {
        assert!(all.insert(*name, *effect).is_none(), "{name} is registered twice");
    }
    all
}

#[test]
fn every_option_has_an_effect() {
    let mut registered = registry();
    let tables = [DbSettings::TABLE, ColumnFamilySettings::TABLE, BlockBasedTableOptions::TABLE];
    let mut names: Vec<String> = tables.into_iter().flatten().map(|info| info.name.to_owned()).collect();
    names.extend(sources::fields_of_option_structs());
    let missing: Vec<&String> = names.iter().filter(|name| registered.remove(&name[..]).is_none()).collect();
    assert!(missing.is_empty(), "options without a known effect: {missing:?}");
    assert!(registered.is_empty(), "no such options: {:?}", registered.keys());
}

/// Runs a share of the effects, so that the shares run side by side.
fn run_share(share: usize) {
    let mut failed = Vec::new();
    for (name, effect) in registry().into_iter().skip(share).step_by(4) {
        let outcome = std::panic::catch_unwind(|| match effect {
            Effect::Shown(show) => show(),
            Effect::Refused(value) => refused::check(name, value),
            Effect::Elsewhere(file, test) => sources::check_test(name, file, test),
        });
        if outcome.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "options without their effect: {failed:?}");
}

#[test]
fn effects_first_share() {
    run_share(0);
}

#[test]
fn effects_second_share() {
    run_share(1);
}

#[test]
fn effects_third_share() {
    run_share(2);
}

#[test]
fn effects_fourth_share() {
    run_share(3);
}
