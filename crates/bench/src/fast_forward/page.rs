//! The page in docs/benchmarks: the reference's table beside Ferrock's, another engine's costs for the same cases, a
//! plot.

use crate::machine;
use crate::plot::{Kind, Plot, digits, draw};
use ferrock_console::failure::{Failure, Result};
use ferrock_vfs::{default_file_system, read_file, write_file_synced};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// The reference's published results of its own two runs of the first two cases.
const REFERENCE: [(&str, [&str; 6]); 4] = [
    ("ScyllaDB before its change, 500000", ["1", "102", "21", "196", "2", "568"]),
    ("ScyllaDB before its change, 500001", ["1", "3113", "2", "64", "1", "116"]),
    ("ScyllaDB after it, 500000", ["1", "104", "20", "137", "2", "561"]),
    ("ScyllaDB after it, 500001", ["1", "4602", "1", "2", "1", "110"]),
];
const COMPARED: [&str; 6] = ["frags", "frag/s", "aio", "(KiB)", "blocked", "allocs"];

/// Cases of one group with the requests and bytes of each engine.
struct Row {
    name: String,
    /// Of this run, and of the other one.
    ours: Value,
    theirs: Option<Value>,
}

fn cases(document: &Value) -> Vec<(String, String, Value)> {
    let groups = document["results"].as_array().map_or(&[][..], Vec::as_slice);
    let of_group = |group: &Value| {
        let properties = &group["test_group_properties"];
        let text = |field: &str| properties[field].as_str().unwrap_or_default().to_owned();
        let name = format!("{} on {}", text("name"), text("dataset"));
        let cases = group["cases"].as_array().cloned().unwrap_or_default();
        cases
            .into_iter()
            .map(move |case| {
                let named = properties["parameters"].as_array().into_iter().flatten();
                let pairs = named.filter_map(|name| {
                    let name = name.as_str()?;
                    Some(format!("{name} {}", text_of(case["parameters"].get(name)?)))
                });
                let joined = pairs.collect::<Vec<_>>().join(", ");
                (name.clone(), joined, case)
            })
            .collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

/// The values of `offset 0, read 32`.
fn values_of(name: &str) -> String {
    let values = name.split(", ").filter_map(|pair| pair.split(' ').next_back());
    values.collect::<Vec<_>>().join(" ")
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => digits(number.as_f64().unwrap_or(0.0)),
        other => other.to_string(),
    }
}

/// Writes page, plot and JSON.
pub(super) fn write(directory: &Path, document: &Value, compare: Option<&Path>, command: &str) -> Result<()> {
    let file_system = default_file_system();
    let other: Option<Value> = match compare {
        Some(path) => {
            let text = read_file(&*file_system, path)?;
            let parsed = serde_json::from_slice(&text);
            Some(parsed.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?)
        }
        None => None,
    };
    file_system.create_dir_all(directory)?;
    let write = |extension: &str, text: &str| {
        let path = directory.join(format!("fast-forward.{extension}"));
        write_file_synced(&*file_system, &path, text.as_bytes()).map_err(Failure::Engine)
    };
    let rows = rows(document, other.as_ref());
    write("json", &format!("{document:#}\n"))?;
    write("svg", &draw(&plots(document, other.as_ref(), &rows)).map_err(Failure::Output)?)?;
    write("md", &page(document, other.as_ref(), &rows, command))
}

fn rows(document: &Value, other: Option<&Value>) -> Vec<(String, Vec<Row>)> {
    let theirs = other.map(cases).unwrap_or_default();
    let mut groups: Vec<(String, Vec<Row>)> = Vec::new();
    for (group, name, ours) in cases(document) {
        let found = theirs.iter().find(|(their_group, their_name, _)| (their_group, their_name) == (&group, &name));
        let row = Row { name, ours, theirs: found.map(|(_, _, case)| case.clone()) };
        match groups.last_mut().filter(|(last, _)| *last == group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((group, vec![row])),
        }
    }
    groups
}

fn engine(document: &Value) -> &str {
    document["engine"].as_str().unwrap_or("?")
}

fn page(document: &Value, other: Option<&Value>, groups: &[(String, Vec<Row>)], command: &str) -> String {
    let mut page = "# fast-forward: what reads of large partitions cost\n\n".to_owned();
    let _ = writeln!(
        page,
        "A partition of {} rows in one table with blocks of 1 KiB and a two-level index, read past the page cache and without \
         data in the block cache: the setting of ScyllaDB's perf-fast-forward, whose groups and columns these are \
         ([tools](../tools.md)). Requests and KiB are what one run took, of data, index and filter together.\n",
        text_of(&document["rows"])
    );
    let _ = writeln!(page, "    {command}\n");
    let _ = writeln!(page, "Ran on: {}. Times depend on it, requests and bytes do not.\n", machine::describe());
    page.push_str("![plot](fast-forward.svg)\n\n");
    reference(&mut page, document, other.map(engine), groups);
    for (group, rows) in groups {
        let _ = writeln!(page, "## {group}\n");
        group_table(&mut page, engine(document), other.map(engine), rows);
    }
    page
}

/// The published pair of rows, and ours.
fn reference(page: &mut String, document: &Value, other: Option<&str>, groups: &[(String, Vec<Row>)]) {
    let pair = groups.iter().find(|(group, _)| group.starts_with("large-partition-select-few-rows on large-part"));
    let Some((_, rows)) = pair else { return };
    page.push_str(
        "## The published pair\n\nTwo neighbouring rows from the middle, the first with nothing cached, the second with the index that the \
         first one left. ScyllaDB's rows are as published, from another machine: its requests and bytes can be compared, not its \
         rates.\n\n",
    );
    let _ = writeln!(page, "| | {} |\n|---|{}", COMPARED.join(" | "), "--:|".repeat(COMPARED.len()));
    for (name, values) in REFERENCE {
        let _ = writeln!(page, "| {name} | {} |", values.join(" | "));
    }
    for row in rows.iter().take(2) {
        let offset = values_of(&row.name).split(' ').next().unwrap_or_default().to_owned();
        let of = |case: &Value| COMPARED.map(|caption| text_of(&case["stats"][caption])).join(" | ");
        let _ = writeln!(page, "| {}, {offset} | {} |", engine(document), of(&row.ours));
        if let Some((other, theirs)) = other.zip(row.theirs.as_ref()) {
            let _ = writeln!(page, "| {other}, {offset} | {} |", of(theirs));
        }
    }
    page.push('\n');
}

fn group_table(page: &mut String, ours: &str, theirs: Option<&str>, rows: &[Row]) {
    let mut head = vec!["case".to_owned(), "rows".to_owned()];
    for engine in [Some(ours), theirs].into_iter().flatten() {
        let short = engine.split(' ').next().unwrap_or(engine);
        head.extend([format!("{short} reads"), "KiB".to_owned(), "rows/s".to_owned()]);
    }
    head.extend(["least reads".to_owned(), "KiB".to_owned()]);
    let _ = writeln!(page, "| {} |\n|---|{}", head.join(" | "), "--:|".repeat(head.len() - 1));
    for row in rows {
        let mut cells = vec![row.name.clone(), text_of(&row.ours["stats"]["frags"])];
        for case in [Some(&row.ours), row.theirs.as_ref()].into_iter().take(if theirs.is_some() { 2 } else { 1 }) {
            let stat = |caption: &str| case.map_or("-".to_owned(), |case| text_of(&case["stats"][caption]));
            cells.extend([stat("aio"), stat("(KiB)"), stat("frag/s")]);
        }
        let least = |caption: &str| row.ours["extra"][caption].as_u64();
        cells.push(least("min rd").map_or("-".to_owned(), |requests| requests.to_string()));
        cells.push(least("min B").map_or("-".to_owned(), |bytes| (bytes / 1024).to_string()));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page.push('\n');
}

/// Requests of the slices whose bounds are known, and of the same slices backward.
fn plots(document: &Value, other: Option<&Value>, groups: &[(String, Vec<Row>)]) -> Vec<Plot> {
    let wanted = [
        ("large-partition-slicing-clustering-keys on large-part-ds1", "Slices with both bounds, forward: requests"),
        ("large-partition-reverse-slicing on large-part-ds1", "The same slices, backward: requests"),
    ];
    let plot = |(group, title): (&str, &str)| {
        let rows = &groups.iter().find(|(name, _)| name == group)?.1;
        let requests = |case: Option<&Value>| case.and_then(|case| case["stats"]["aio"].as_f64()).unwrap_or(0.0);
        let mut series =
            vec![(engine(document).to_owned(), rows.iter().map(|row| requests(Some(&row.ours))).collect::<Vec<_>>())];
        if let Some(other) = other {
            let theirs = rows.iter().map(|row| requests(row.theirs.as_ref())).collect();
            series.push((engine(other).to_owned(), theirs));
        }
        Some(Plot {
            title: title.to_owned(),
            x_label: "first row, rows read".to_owned(),
            y_label: "requests".to_owned(),
            kind: Kind::Bars { groups: rows.iter().map(|row| values_of(&row.name)).collect(), series },
            is_logarithmic: true,
        })
    };
    wanted.into_iter().filter_map(plot).collect()
}
