//! Requests and bytes, and how ranges of a file become them.

use super::engine::ClassCounters;
use std::ops::Range;

/// Longest request.
pub(crate) const MAX_REQUEST_BYTES: u64 = 256 << 10;

/// Requests and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spans {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

impl Spans {
    /// The cost of ascending ranges: each is rounded to sectors, those with no more than `gap` bytes between them are
    /// joined, and cut again where a request would become too long.
    pub(crate) fn of<'a>(ranges: impl Iterator<Item = &'a Range<u64>>, sector: u64, gap: u64) -> Self {
        let mut spans = Self::default();
        let mut run: Option<Range<u64>> = None;
        for range in ranges {
            let aligned = range.start / sector * sector..range.end.next_multiple_of(sector);
            run = match run {
                Some(run) if aligned.start <= run.end + gap => Some(run.start..run.end.max(aligned.end)),
                Some(run) => {
                    spans.count(&run);
                    Some(aligned)
                }
                None => Some(aligned),
            };
        }
        if let Some(run) = run {
            spans.count(&run);
        }
        spans
    }

    fn count(&mut self, run: &Range<u64>) {
        self.requests += (run.end - run.start).div_ceil(MAX_REQUEST_BYTES);
        self.bytes += run.end - run.start;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
    }
}

/// Requests and bytes by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) data: Spans,
    pub(crate) index: Spans,
    pub(crate) filter: Spans,
    /// Additional requests, of any class, while the windows of a scan grow.
    pub(crate) ramp: u64,
}

impl Cost {
    pub(crate) fn add(&mut self, other: Self) {
        self.data.add(other.data);
        self.index.add(other.index);
        self.filter.add(other.filter);
        self.ramp += other.ramp;
    }

    pub(crate) fn total(&self) -> Spans {
        let mut total = self.data;
        total.add(self.index);
        total.add(self.filter);
        total.requests += self.ramp;
        total
    }
}

/// True when no more was read than is allowed; a sector more for each request is.
pub(crate) fn is_within(measured: ClassCounters, allowed: Spans, sector: u64) -> bool {
    measured.requests <= allowed.requests && measured.bytes <= allowed.bytes + allowed.requests * sector
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some of one")]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
    fn ranges_become_requests() {
        let of = |ranges: &[Range<u64>], sector| {
            let spans = Spans::of(ranges.iter(), sector, 0);
            (spans.requests, spans.bytes)
        };
        assert_eq!(of(&[], 512), (0, 0));
        assert_eq!(of(&[10..20], 512), (1, 512));
        assert_eq!(of(&[500..520], 512), (1, 1024));
        assert_eq!(of(&[0..100, 100..200], 1), (1, 200));
        assert_eq!(of(&[0..100, 101..200], 1), (2, 199));
        assert_eq!(of(&[0..100, 400..600], 512), (1, 1024), "the sector is shared");
        assert_eq!(of(&[0..100, 1024..1100], 512), (2, 1024));
        assert_eq!(of(&[0..(512 << 10) + 1], 512), (3, (512 << 10) + 512));
        let over_gaps = Spans::of([0..100, 130..200, 300..301].iter(), 1, 30);
        assert_eq!((over_gaps.requests, over_gaps.bytes), (2, 201));
    }

    #[test]
    fn one_request_or_one_sector_too_many_shows() {
        let allowed = Spans { requests: 1, bytes: 1536 };
        let measured = |requests, bytes| ClassCounters { requests, bytes };
        assert!(is_within(measured(1, 2048), allowed, 512));
        assert!(!is_within(measured(1, 2560), allowed, 512));
        assert!(!is_within(measured(2, 1536), allowed, 512));
        assert!(is_within(measured(0, 0), Spans::default(), 512));
    }
}
