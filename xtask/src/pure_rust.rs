//! Asks `cargo metadata` what our crates need in order to build.
//!
//! The shipped crates are all of `crates/`. What they need is the closure of their normal and build dependencies with
//! default features, and with those of `ALSO`; dev-dependencies are looked at for licences and sources only.

use crate::run::{LINUX, cargo, output};
use crate::{Outcome, licence};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Crates whose purpose is to find, compile or bind code that is not Rust.
const FOREIGN_BUILDERS: &[&str] =
    &["autotools", "bindgen", "cc", "cmake", "cxx", "cxx-build", "meson-next", "nasm-rs", "pkg-config", "vcpkg"];

/// Features that are off by default, and need nothing but Rust either.
const ALSO: &str = "ferrock/object-store,ferrock/tracing";

pub(crate) fn run(_: &[String]) -> Outcome {
    let mut problems = Vec::new();
    let mut shipped = 0;
    for platform in [LINUX, "aarch64-unknown-linux-gnu", "aarch64-apple-darwin"] {
        for features in ["", ALSO] {
            let ask = ["metadata", "--format-version", "1", "--locked", "--filter-platform", platform];
            let text = output(cargo(&[&ask[..], &["--features", features]].concat()))?;
            let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
            let graph = Graph::new(&metadata)?;
            let needed = graph.needed_to_build();
            shipped = needed.len();
            graph.check_needed(&needed, platform, &mut problems);
            graph.check_all(&mut problems);
        }
    }
    problems.sort();
    problems.dedup();
    if problems.is_empty() {
        println!("pure-rust: {shipped} packages, nothing but Rust, licences and sources known");
        return Ok(());
    }
    Err(format!("\n  {}", problems.join("\n  ")))
}

/// Packages by id, and the edges between them.
struct Graph<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    nodes: BTreeMap<&'a str, &'a Value>,
    members: Vec<&'a str>,
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Value) -> Result<Self, String> {
        let by_id = |item: &'a Value| item["id"].as_str().map(|id| (id, item));
        let graph = Self {
            packages: list(metadata, "packages").filter_map(by_id).collect(),
            nodes: list(&metadata["resolve"], "nodes").filter_map(by_id).collect(),
            members: list(metadata, "workspace_members").filter_map(Value::as_str).collect(),
        };
        if graph.members.is_empty() || graph.nodes.len() < graph.members.len() {
            return Err("cargo metadata has no dependency graph".to_owned());
        }
        Ok(graph)
    }

    fn name(&self, id: &str) -> &'a str {
        self.packages.get(id).and_then(|package| package["name"].as_str()).unwrap_or("?")
    }

    fn is_shipped(&self, id: &str) -> bool {
        let manifest = self.packages.get(id).and_then(|package| package["manifest_path"].as_str()).unwrap_or("");
        manifest.replace('\\', "/").contains("/crates/")
    }

    /// The closure over normal and build dependencies; each package with the one that asked for it.
    fn needed_to_build(&self) -> BTreeMap<&'a str, &'a str> {
        let mut needed: BTreeMap<&str, &str> = BTreeMap::new();
        let mut waiting: Vec<&str> = self.members.iter().copied().filter(|id| self.is_shipped(id)).collect();
        needed.extend(waiting.iter().map(|id| (*id, "the workspace")));
        while let Some(id) = waiting.pop() {
            let Some(node) = self.nodes.get(id) else { continue };
            for dependency in list(node, "deps") {
                let is_dev_only = list(dependency, "dep_kinds").all(|kind| kind["kind"] == "dev");
                let Some(package) = dependency["pkg"].as_str().filter(|_| !is_dev_only) else { continue };
                if !needed.contains_key(package) {
                    needed.insert(package, self.name(id));
                    waiting.push(package);
                }
            }
        }
        needed
    }

    fn check_needed(&self, needed: &BTreeMap<&str, &str>, platform: &str, problems: &mut Vec<String>) {
        for (id, needed_by) in needed {
            let Some(package) = self.packages.get(id) else { continue };
            let name = self.name(id);
            if let Some(native) = package["links"].as_str() {
                problems.push(format!("{name} (for {needed_by}, on {platform}) links to the native library {native}"));
            }
            if FOREIGN_BUILDERS.contains(&name) {
                problems.push(format!("{name} (for {needed_by}, on {platform}) builds or binds code that is not Rust"));
            }
        }
    }

    fn check_all(&self, problems: &mut Vec<String>) {
        let explained = std::fs::read_to_string("docs/dependencies.md").unwrap_or_default();
        let members: BTreeSet<&str> = self.members.iter().copied().collect();
        for id in self.nodes.keys().filter(|id| !members.contains(*id)) {
            let Some(package) = self.packages.get(id) else { continue };
            let name = self.name(id);
            let licence = package["license"].as_str().unwrap_or("");
            if !licence::is_permitted(licence) {
                problems.push(format!("{name} is under {licence:?}, which no rule permits"));
            }
            if package["source"].as_str() != Some("registry+https://github.com/rust-lang/crates.io-index") {
                problems.push(format!("{name} does not come from crates.io"));
            }
        }
        for member in &members {
            let Some(package) = self.packages.get(member) else { continue };
            for dependency in list(package, "dependencies") {
                let name = dependency["name"].as_str().unwrap_or("?");
                let is_ours = dependency["path"].is_string();
                if !is_ours && !explained.contains(&format!("| `{name}`")) {
                    problems
                        .push(format!("{name}, used by {}, has no line in docs/dependencies.md", self.name(member)));
                }
            }
        }
    }
}
