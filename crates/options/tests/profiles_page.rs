//! The tables of docs/profiles.md are those of the code.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use ferrock_options::{ColumnFamilyOptions, DbOptions, OptionSection, Profile};
use std::fmt::Write as _;

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
    ferrock_script::check_page(env!("CARGO_MANIFEST_DIR"), "../../docs/profiles.md", MARK, &tables());
}
