//! Numbers as texts for people.

use crate::output;
use ferrock_base::clock::Utc;

/// What stands for a number that is not known.
pub(crate) const UNKNOWN: &str = "–";

/// A count each second; small ones with a decimal.
pub(crate) fn each_second(rate: f64) -> String {
    if rate > 0.0 && rate < 9.95 {
        format!("{rate:.1}/s")
    } else {
        format!("{}/s", output::number(rate.round() as u64))
    }
}

/// Bytes each second.
pub(crate) fn bytes_each_second(rate: f64) -> String {
    format!("{}/s", output::bytes(rate.round() as u64))
}

/// A time in microseconds, with a unit that suits it.
pub(crate) fn time(us: f64) -> String {
    if us >= 1e6 {
        format!("{:.2} s", us / 1e6)
    } else if us >= 1e3 {
        format!("{:.2} ms", us / 1e3)
    } else if us >= 10.0 || us == 0.0 {
        format!("{us:.0} µs")
    } else {
        format!("{us:.1} µs")
    }
}

/// A long time, in one unit.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}

/// A part of a whole; unknown of nothing.
pub(crate) fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", 100.0 * part / whole) } else { UNKNOWN.to_owned() }
}

/// The time of day.
pub(crate) fn clock(unix_us: u64) -> String {
    let Utc { hour, minute, second, .. } = Utc::of_unix_seconds((unix_us / 1_000_000).cast_signed());
    format!("{hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_suit_their_numbers() {
        assert_eq!([0.0, 0.25, 9.94, 9.96, 1234.5].map(each_second), ["0/s", "0.2/s", "9.9/s", "10/s", "1,235/s"]);
        assert_eq!(bytes_each_second(1536.0), "1.5 KiB/s");
        assert_eq!([0.0, 1.5, 15.5, 1500.0, 2e6].map(time), ["0 µs", "1.5 µs", "16 µs", "1.50 ms", "2.00 s"]);
        assert_eq!([119, 120, 7200, 172_800].map(span), ["119 s", "2 min", "2 h", "2 days"]);
        assert_eq!((share(1.0, 3.0), share(0.0, 0.0)), ("33.3 %".to_owned(), "–".to_owned()));
        assert_eq!(clock(86_400_000_000 + 3_661_000_000), "01:01:01 UTC");
    }
}
