//! Options from text: what a line changes, or why it is refused.

use crate::check;
use ferrock::options::apply_text;
use ferrock::{ColumnFamilyOptions, DbOptions};

/// A line is a text of options; `?name ...` shows values.
fn options(case: &str) -> String {
    let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let mut out = String::new();
    for line in case.lines() {
        let Some(names) = line.strip_prefix('?') else {
            if let Err(error) = apply_text(&mut db, &mut family, line) {
                out += &format!("{error}\n");
            }
            continue;
        };
        for name in names.split_whitespace() {
            let value = db.settings.get(name).or_else(|| family.settings.get(name)).or_else(|| family.table.get(name));
            out += &format!("{name}={}\n", value.unwrap_or_else(|| panic!("{name} is no option")));
        }
    }
    out
}

#[test]
fn option_texts() {
    check("option_texts", options);
}
