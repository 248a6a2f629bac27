//! The tables of docs/profiles.md are those of the code.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests fail by panicking, and write a page")]

use ferrock_options::{ColumnFamilyOptions, DbOptions, OptionSection, Profile};
use std::fmt::Write as _;
use std::path::Path;

const MARK: &str = "<!-- tables -->\n";

fn tables() -> String {
    let mut out = String::new();
    for profile in Profile::ALL {
        let mut families = vec![("default".to_owned(), ColumnFamilyOptions::default())];
        let report = profile.apply(&mut DbOptions::default(), &mut families);
        writeln!(out, "\n## {profile}\n").unwrap();
        let mut line = String::new();
        for word in profile.purpose().split(' ') {
            if line.len() + 1 + word.len() > 119 {
                writeln!(out, "{line}").unwrap();
                line.clear();
            }
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
        writeln!(out, "{line}\n\n| option | of | default | set to | because |\n|---|---|---|---|---|").unwrap();
        for change in report.changes {
            let of = match change.difference.section {
                OptionSection::Database => "database",
                OptionSection::Family(_) => "family",
                OptionSection::Table { .. } => "tables",
                OptionSection::Component => "component",
            };
            let text = |text: Option<String>| format!("`{}`", text.unwrap_or_default());
            let (before, after) = (text(change.difference.before), text(change.difference.after));
            writeln!(out, "| `{}` | {of} | {before} | {after} | {} |", change.difference.name, change.reason).unwrap();
        }
    }
    out
}

#[test]
fn the_page_has_the_profiles_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/profiles.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, found) = page.split_once(MARK).unwrap();
    let expected = tables();
    if std::env::var_os("FERROCK_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{MARK}{expected}")).unwrap();
        return;
    }
    assert!(found == expected, "docs/profiles.md is outdated: run this test with FERROCK_WRITE_DOCS=1");
}
