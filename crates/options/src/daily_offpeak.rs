//! Hours of little use: `daily_offpeak_time_utc`.
//!
//! ```text
//!  file due ------------------------x
//!  off-peak       |====|                    |====|
//!                 ^ from here on every file that will be due before the next off-peak time begins is due now
//! ```

use ferrock_base::option_table::OptionValue;

const DAY_SECS: u64 = 24 * 3600;

/// Hours of each day in which little else is done, in UTC; none by default.
///
/// Files that `periodic_compaction_seconds` would make due before these hours come again are compacted in them. The
/// text is `HH:mm-HH:mm`, first and last minute, such as `23:30-04:00`.
///
/// ```
/// use ferrock_options::{DailyOffpeak, OptionValue};
///
/// let night = DailyOffpeak::parse_option("23:30-04:00").unwrap();
/// let hour = 3600;
/// assert_eq!(night.early_secs(3 * hour), 20 * hour + 1800);
/// assert_eq!(night.early_secs(12 * hour), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DailyOffpeak {
    /// As it was set: RocksDB keeps the form, too.
    text: String,
    /// First and last minute of the day.
    minutes: Option<(u64, u64)>,
}

impl DailyOffpeak {
    /// At a time of off-peak hours the seconds until they begin the next time; else 0. `now_secs` is Unix time.
    #[must_use]
    pub fn early_secs(&self, now_secs: u64) -> u64 {
        let Some((first, last)) = self.minutes else { return 0 };
        let second = now_secs % DAY_SECS;
        let minute = second / 60;
        let is_now = if first > last { first <= minute || minute <= last } else { (first..=last).contains(&minute) };
        let start = first * 60;
        match is_now {
            false => 0,
            true if second < start => start - second,
            true => start + DAY_SECS - second,
        }
    }
}

impl OptionValue for DailyOffpeak {
    fn parse_option(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let (first, last) = text.split_once('-')?;
        let minutes = (minute_of(first)?, minute_of(last)?);
        (minutes.0 != minutes.1).then(|| Self { text: text.to_owned(), minutes: Some(minutes) })
    }

    fn format_option(&self) -> String {
        self.text.clone()
    }
}

/// Minutes since midnight of `HH:mm`. As in RocksDB, both may have one digit.
fn minute_of(text: &str) -> Option<u64> {
    let (hours, minutes) = text.split_once(':')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str, bound: u64| text.parse().ok().filter(|number: &u64| is_number(text) && *number < bound);
    Some(number(hours, 24)? * 60 + number(minutes, 60)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_of_a_day() {
        for text in [
            "23:30",
            "23:30-24:00",
            "6:-7:0",
            ":30-7:30",
            "1:30-2:30-3:30",
            "1:60-2:30",
            "a-b",
            "-",
            "8:30-19",
            "+1:30-2:30",
            "08:30-08:30",
            "01:30-1:30",
        ] {
            assert_eq!(DailyOffpeak::parse_option(text), None, "{text}");
        }
        for text in ["", "23:30-03:15", "1:30-2:30", "6:0-7:5"] {
            assert_eq!(DailyOffpeak::parse_option(text).unwrap().format_option(), text);
        }
    }

    #[test]
    fn what_is_due_before_the_next_night_is_due_in_this_one() {
        let early = |text: &str, hour: u64, minute: u64, second: u64| {
            let now = 1_700_000_000 / DAY_SECS * DAY_SECS + hour * 3600 + minute * 60 + second;
            DailyOffpeak::parse_option(text).unwrap().early_secs(now)
        };
        assert_eq!(early("", 2, 0, 0), 0);
        // The first and the last minute belong to it.
        let begins = [(1, 29, 59), (1, 30, 0), (2, 30, 59), (2, 31, 0)].map(|(h, m, s)| early("1:30-2:30", h, m, s));
        assert_eq!(begins, [0, DAY_SECS, DAY_SECS - 3659, 0]);
        // Over midnight.
        let night = [(23, 29, 59), (23, 30, 0), (0, 0, 0), (3, 15, 59), (3, 16, 0)];
        let night = night.map(|(h, m, s)| early("23:30-3:15", h, m, s));
        assert_eq!(night, [0, DAY_SECS, DAY_SECS - 1800, DAY_SECS - 1800 - 11759, 0]);
        assert_eq!(early("0:00-23:59", 12, 0, 0), DAY_SECS / 2);
    }
}
