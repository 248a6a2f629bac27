//! Which crate may use which: `docs/architecture.md` has the table, and this holds the manifests against it.

use crate::run::{cargo, output};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/architecture.md";

/// Problems of the dependencies of our own crates on each other, tests left out.
pub(crate) fn check(problems: &mut Vec<String>) -> Result<(), String> {
    let page = std::fs::read_to_string(PAGE).map_err(|error| format!("{PAGE}: {error}"))?;
    let allowed = allowed(&page)?;
    let text = output(cargo(&["metadata", "--format-version", "1", "--locked", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let found = arrows(&metadata);
    for (name, uses) in &found {
        match allowed.get(name) {
            None => problems.push(format!("crates/{name}: no row in the table of layers of {PAGE}")),
            Some(permitted) => {
                for used in uses.difference(permitted) {
                    problems
                        .push(format!("crates/{name} uses {used}, which the table of layers of {PAGE} does not have"));
                }
                for unused in permitted.difference(uses) {
                    problems.push(format!("{PAGE}: {name} does not use {unused}"));
                }
            }
        }
    }
    Ok(())
}

/// The table whose columns are crate, is, uses, has no.
fn allowed(page: &str) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let mut rows = page.lines().skip_while(|line| !line.starts_with("| crate | is | uses |")).skip(2);
    let mut allowed = BTreeMap::new();
    for row in rows.by_ref().take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(name), Some(uses)) = (cells.first(), cells.get(2)) else { continue };
        let uses = uses.split(", ").filter(|word| !word.is_empty()).map(str::to_owned).collect();
        allowed.insert(name.trim_matches('`').to_owned(), uses);
    }
    if allowed.is_empty() { Err(format!("{PAGE} has no table of layers")) } else { Ok(allowed) }
}

/// Folder below `crates/` -> the folders of the crates that it is built with.
fn arrows(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ours = packages.iter().filter_map(|package| Some((folder(package["manifest_path"].as_str()?)?, package)));
    ours.map(|(name, package)| {
        let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
        let normal = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
        let uses = normal.filter_map(|dependency| folder(&format!("{}/", dependency["path"].as_str()?)));
        (name, uses.collect())
    })
    .collect()
}

/// `base` of `.../crates/base/Cargo.toml`.
fn folder(path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    let (_, rest) = path.rsplit_once("/crates/")?;
    rest.split('/').next().map(str::to_owned)
}
