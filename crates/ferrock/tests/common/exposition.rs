//! Reads a page in Prometheus's text exposition format, and refuses one that breaks a rule of it. It shares no code
//! with what writes such a page.

use std::collections::{BTreeMap, BTreeSet};

pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

#[derive(Default)]
pub struct Page {
    /// Metric -> its type.
    pub types: BTreeMap<String, String>,
    pub samples: Vec<Sample>,
}

impl Page {
    pub fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let (mut helped, mut current) = (BTreeSet::new(), None::<String>);
        let mut series = BTreeSet::new();
        assert!(text.is_empty() || text.ends_with('\n'));
        for line in text.split_terminator('\n') {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
                assert!(is_name(name) && !help.is_empty() && helped.insert(name.to_owned()), "{line}");
                current = None;
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
                assert!(["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind), "{line}");
                assert!(helped.contains(name), "{line}: HELP comes before");
                assert!(page.types.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}: told twice");
                current = Some(name.to_owned());
            } else {
                let sample = parse_sample(line);
                let metric = current.as_deref().unwrap_or_else(|| panic!("{line}: TYPE comes before"));
                let suffix = sample.name.strip_prefix(metric).unwrap_or_else(|| panic!("{line}: below {metric}"));
                let suffixes: &[&str] =
                    if page.types[metric] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(suffixes.contains(&suffix), "{line}: below {metric}");
                assert!(page.types[metric] != "counter" || sample.value >= 0.0, "{line}");
                assert!(series.insert((sample.name.clone(), sample.labels.clone())), "{line}: twice");
                page.samples.push(sample);
            }
        }
        page.check_histograms();
        page
    }

    /// Buckets grow, and the last one has all.
    fn check_histograms(&self) {
        for (metric, _) in self.types.iter().filter(|(_, kind)| *kind == "histogram") {
            let mut before = BTreeMap::new();
            for sample in self.samples.iter().filter(|sample| sample.name == format!("{metric}_bucket")) {
                let mut labels = sample.labels.clone();
                let bound = number(&labels.remove("le").expect("a bucket has a bound"));
                if let Some((last_bound, last)) = before.insert(labels.clone(), (bound, sample.value)) {
                    assert!(bound > last_bound && sample.value >= last, "{metric} {labels:?} {bound}");
                }
            }
            for (labels, (bound, value)) in before {
                let count =
                    self.samples.iter().find(|one| one.name == format!("{metric}_count") && one.labels == labels);
                assert_eq!((bound, value), (f64::INFINITY, count.unwrap().value), "{metric} {labels:?}");
            }
        }
    }

    /// The value of a series; the label `db` may be left out where there is one database.
    pub fn of(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has_all = |sample: &&Sample| {
            let given = labels.iter().all(|(label, value)| sample.labels.get(*label).is_some_and(|own| own == value));
            let more = sample.labels.keys().filter(|own| *own != "db" && labels.iter().all(|(label, _)| label != own));
            sample.name == name && given && more.count() == 0
        };
        let mut found = self.samples.iter().filter(has_all);
        let value = found.next().map(|sample| sample.value);
        assert!(found.next().is_none(), "{name} {labels:?} of several databases");
        value
    }

    /// Names of samples.
    pub fn names(&self) -> BTreeSet<&str> {
        self.samples.iter().map(|sample| sample.name.as_str()).collect()
    }

    pub fn databases(&self) -> BTreeSet<&str> {
        self.samples.iter().map(|sample| sample.labels["db"].as_str()).collect()
    }

    /// No counter is smaller than on an earlier page, and none is gone.
    pub fn assert_not_behind(&self, earlier: &Self) {
        let now: BTreeMap<_, f64> =
            self.samples.iter().map(|sample| ((&sample.name, &sample.labels), sample.value)).collect();
        for sample in &earlier.samples {
            let metric = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| sample.name.strip_suffix(suffix));
            let of_histogram = metric.is_some_and(|metric| self.types.contains_key(metric));
            if of_histogram || self.types.get(&sample.name).is_some_and(|kind| kind == "counter") {
                let value = now.get(&(&sample.name, &sample.labels)).copied();
                let is_behind = value.is_none_or(|value| value < sample.value);
                assert!(!is_behind, "{} {:?}: {} and then {value:?}", sample.name, sample.labels, sample.value);
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_' || letter == ':')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':')
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        "NaN" => f64::NAN,
        _ => text.parse().unwrap_or_else(|_| panic!("{text} is no number")),
    }
}

fn parse_sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("{line}"));
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(is_name(label) && !label.contains(':'), "{line}");
            let (value, after) = quoted(after, line);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}: {label} twice");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    Sample { name: name.to_owned(), labels, value: number(value) }
}

/// A value up to its closing quote, and what follows.
fn quoted<'a>(text: &'a str, line: &str) -> (String, &'a str) {
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[at + 1..]),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                other => panic!("{line}: an escape of {other:?}"),
            },
            other => value.push(other),
        }
    }
    panic!("{line}: a value without an end")
}
