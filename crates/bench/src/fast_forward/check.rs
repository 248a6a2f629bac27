//! Compares measured reads with allowed reads.

use super::cost::{Cost, Spans, is_within as fits};
use super::engine::{ClassCounters, Counters};

/// True when neither a class of reads nor their sum exceeds its allowance.
pub(super) fn is_within(measured: &Counters, allowed: &Cost, sector: u64) -> bool {
    let classes = [(measured.data, allowed.data), (measured.index, allowed.index), (measured.filter, allowed.filter)];
    let class_fits = |measured: ClassCounters, spans: Spans| {
        fits(measured, Spans { requests: spans.requests + allowed.ramp, ..spans }, sector)
    };
    fits(measured.total, allowed.total(), sector)
        && classes.into_iter().all(|(measured, spans)| measured.is_none_or(|measured| class_fits(measured, spans)))
}

/// Measured and allowed reads, as text.
pub(super) fn difference(measured: &Counters, allowed: &Cost) -> String {
    let classes = [
        ("", Some(measured.total), allowed.total()),
        ("data ", measured.data, allowed.data),
        ("index ", measured.index, allowed.index),
        ("filter ", measured.filter, allowed.filter),
    ];
    let texts = classes.into_iter().filter_map(|(name, measured, allowed)| {
        let measured = measured?;
        Some(format!(
            "{name}{} requests, {} bytes where {}, {} would do",
            measured.requests, measured.bytes, allowed.requests, allowed.bytes
        ))
    });
    texts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_too_many_is_one_in_any_class() {
        let one = Spans { requests: 1, bytes: 512 };
        let allowed = Cost { data: one, index: one, ..Cost::default() };
        let class = |requests| Some(ClassCounters { requests, bytes: 512 });
        let total = ClassCounters { requests: 2, bytes: 1024 };
        let fine = Counters { total, data: class(1), index: class(1), ..Counters::default() };
        assert!(is_within(&fine, &allowed, 512));
        let shifted = Counters { data: class(2), index: class(0), ..fine };
        assert!(!is_within(&shifted, &allowed, 512));
        let more = Counters { total: ClassCounters { requests: 3, bytes: 1024 }, ..Counters::default() };
        assert!(!is_within(&more, &allowed, 512));
        assert!(difference(&shifted, &allowed).contains("data 2 requests, 512 bytes where 1, 512 would do"));
    }
}
