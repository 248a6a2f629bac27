//! The results of a case as a line of a table, under captions that do not change, and as JSON.

use super::cost::{Cost, Spans};
use super::measure::{Run, Statistics};
use serde_json::{Map, Value, json};

/// Captions and widths, in order.
const COLUMNS: [(&str, usize); 22] = [
    ("time (s)", 10),
    ("iterations", 12),
    ("frags", 9),
    ("frag/s", 10),
    ("mad f/s", 10),
    ("max f/s", 10),
    ("min f/s", 10),
    ("avg aio", 10),
    ("aio", 6),
    ("(KiB)", 10),
    ("blocked", 7),
    ("dropped", 7),
    ("idx hit", 8),
    ("idx miss", 8),
    ("idx blk", 8),
    ("c hit", 8),
    ("c miss", 8),
    ("c blk", 8),
    ("allocs", 9),
    ("tasks", 7),
    ("insns/f", 7),
    ("cpu", 6),
];

/// Further columns of `--extra`.
const EXTRA_COLUMNS: [(&str, usize); 11] = [
    ("data rd", 8),
    ("data B", 11),
    ("idx rd", 7),
    ("idx B", 9),
    ("flt rd", 7),
    ("wasted B", 10),
    ("min rd", 7),
    ("min B", 11),
    ("may rd", 7),
    ("may B", 11),
    ("verdict", 8),
];

const PARAMETER_WIDTH: usize = 7;

/// The results of a case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) parameters: Vec<String>,
    pub(crate) statistics: Statistics,
    pub(crate) runs: Vec<Run>,
    /// The first run, with its minimum and allowed cost.
    pub(crate) first: Run,
    pub(crate) minimum: Option<Cost>,
    pub(crate) allowed: Option<Cost>,
    /// False: it read more than is allowed.
    pub(crate) is_within: Option<bool>,
}

fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// The values of the columns as text.
fn cells(statistics: &Statistics) -> [String; 22] {
    let run = &statistics.median;
    let counters = &run.counters;
    let rate = |rate: f64| format!("{rate:.0}");
    [
        format!("{:.6}", run.seconds),
        statistics.iterations.to_string(),
        run.frags.to_string(),
        rate(run.frags_per_second()),
        rate(statistics.mad),
        rate(statistics.max),
        rate(statistics.min),
        format!("{:.1}", statistics.average_aio),
        counters.total.requests.to_string(),
        (counters.total.bytes / 1024).to_string(),
        known(counters.blocked),
        known(counters.dropped),
        counters.index_cache.hits.to_string(),
        counters.index_cache.misses.to_string(),
        // One reader never joins another one's load.
        counters.index_cache.misses.to_string(),
        counters.data_cache.hits.to_string(),
        counters.data_cache.misses.to_string(),
        known(counters.data_cache.inserts),
        known(run.allocations),
        // Nothing here runs on an executor, and no portable interface counts instructions.
        "-".to_owned(),
        "-".to_owned(),
        format!("{:.1}%", 100.0 * run.cpu_seconds / run.seconds.max(1e-9)),
    ]
}

/// Bytes of data that were read and hold nothing that was wanted: what is above the minimum.
fn wasted(measured: &Measured) -> Option<u64> {
    let data = measured.first.counters.data?;
    Some(data.bytes.saturating_sub(measured.minimum?.data.bytes))
}

/// Figures of the first run, whose minimum is known.
fn extra_cells(measured: &Measured) -> [String; 11] {
    let counters = &measured.first.counters;
    let total = |cost: Option<Cost>, of: fn(Spans) -> u64| known(cost.map(|cost| of(cost.total())));
    let verdict = measured.is_within.map(|is_within| if is_within { "ok" } else { "TOO MUCH" });
    [
        known(counters.data.map(|class| class.requests)),
        known(counters.data.map(|class| class.bytes)),
        known(counters.index.map(|class| class.requests)),
        known(counters.index.map(|class| class.bytes)),
        known(counters.filter.map(|class| class.requests)),
        known(wasted(measured)),
        total(measured.minimum, |spans| spans.requests),
        total(measured.minimum, |spans| spans.bytes),
        total(measured.allowed, |spans| spans.requests),
        total(measured.allowed, |spans| spans.bytes),
        known(verdict),
    ]
}

fn line(parameters: &[String], width: usize, cells: &[String], extra: Option<&[String]>) -> String {
    let mut words: Vec<String> = parameters.iter().map(|text| format!("{text:<width$}")).collect();
    let widths = COLUMNS.iter().map(|(_, width)| *width);
    words.extend(cells.iter().zip(widths).map(|(text, width)| format!("{text:>width$}")));
    if let Some(extra) = extra {
        let widths = EXTRA_COLUMNS.iter().map(|(_, width)| *width);
        words.extend(extra.iter().zip(widths).map(|(text, width)| format!("{text:>width$}")));
    }
    words.join(" ")
}

/// Parameters are as wide as the widest of the group, 7 at least.
pub(crate) fn parameter_width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(str::len).fold(PARAMETER_WIDTH, usize::max)
}

/// The captions.
pub(crate) fn header(parameters: &[&str], width: usize, extra: bool) -> String {
    let captions: Vec<String> = COLUMNS.iter().map(|(caption, _)| (*caption).to_owned()).collect();
    let extra_captions: Vec<String> = EXTRA_COLUMNS.iter().map(|(caption, _)| (*caption).to_owned()).collect();
    let parameters: Vec<String> = parameters.iter().map(|name| (*name).to_owned()).collect();
    line(&parameters, width, &captions, extra.then_some(&extra_captions[..]))
}

/// A case.
pub(crate) fn row(measured: &Measured, width: usize, extra: bool) -> String {
    let extra_cells = extra.then(|| extra_cells(measured));
    line(&measured.parameters, width, &cells(&measured.statistics), extra_cells.as_ref().map(|cells| &cells[..]))
}

/// A number as it stands in the table; text where there is none.
fn value(text: &str) -> Value {
    let number = text.strip_suffix('%').unwrap_or(text);
    match (number.parse::<u64>(), number.parse::<f64>()) {
        (Ok(whole), _) => json!(whole),
        (_, Ok(real)) => json!(real),
        _ if text == "-" => Value::Null,
        _ => json!(text),
    }
}

/// The same as JSON: under the captions what the table shows, and the exact bytes.
pub(crate) fn json(names: &[&str], measured: &Measured, with_runs: bool) -> Value {
    let pairs = |captions: &[(&str, usize)], cells: &[String]| {
        let pairs = captions.iter().zip(cells).map(|((caption, _), text)| ((*caption).to_owned(), value(text)));
        pairs.collect::<Map<_, _>>()
    };
    let parameters = names.iter().zip(&measured.parameters).map(|(name, text)| ((*name).to_owned(), value(text)));
    let mut stats = pairs(&COLUMNS, &cells(&measured.statistics));
    stats.insert("bytes".to_owned(), json!(measured.statistics.median.counters.total.bytes));
    let filter = measured.statistics.median.counters.filter_cache;
    stats.insert("filter hit".to_owned(), json!(filter.hits));
    stats.insert("filter miss".to_owned(), json!(filter.misses));
    let mut case = json!({
        "parameters": parameters.collect::<Map<_, _>>(),
        "stats": stats,
        "extra": pairs(&EXTRA_COLUMNS, &extra_cells(measured)),
    });
    if with_runs {
        let runs = measured.runs.iter().map(|run| {
            let alone = Statistics::of(std::slice::from_ref(run));
            Value::Object(pairs(&COLUMNS, &cells(&alone)))
        });
        case["runs"] = runs.collect();
    }
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_stand_over_their_values() {
        let names = ["offset", "stride", "rows"];
        let head = header(&names, 7, false);
        assert_eq!(
            head,
            "offset  stride  rows      time (s)   iterations     frags     frag/s    mad f/s    max f/s    min f/s    \
             avg aio    aio      (KiB) blocked dropped  idx hit idx miss  idx blk    c hit   c miss    c blk    allocs   \
             tasks insns/f    cpu"
        );
        let run = Run { seconds: 0.25, frags: 1, cpu_seconds: 0.125, ..Run::default() };
        let measured = Measured {
            parameters: ["500000", "1", "1"].map(str::to_owned).into(),
            statistics: Statistics::of(&[run]),
            runs: vec![run],
            ..Measured::default()
        };
        let row = row(&measured, 7, false);
        assert_eq!(row.len(), head.len());
        assert!(row.starts_with("500000  1       1         0.250000            1         1          4 "), "{row}");
        assert!(row.ends_with("-       -  50.0%"), "{row}");
        assert_eq!(header(&names, 7, true).len(), super::row(&measured, 7, true).len());
        let json = json(&names, &measured, true);
        assert_eq!((&json["parameters"]["stride"], &json["stats"]["frag/s"]), (&json!(1), &json!(4)));
        assert_eq!((&json["stats"]["cpu"], &json["stats"]["tasks"]), (&json!(50.0), &Value::Null));
        assert_eq!(json["runs"][0]["time (s)"], json!(0.25));
    }
}
