//! Seconds since 1970 as a date and a time.

/// A moment of the Gregorian calendar, in UTC.
///
/// ```
/// use ferrock_base::clock::Utc;
///
/// let Utc { year, month, day, hour, minute, second } = Utc::of_unix_seconds(951_868_799);
/// assert_eq!((year, month, day, hour, minute, second), (2000, 2, 29, 23, 59, 59));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    /// 1970 and so on; negative before the first year.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
}

impl Utc {
    /// The date and time of so many seconds since 1970, by the era arithmetic in which years begin in March.
    #[must_use]
    pub fn of_unix_seconds(seconds: i64) -> Self {
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let days = days + 719_468;
        let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
        Self {
            year: year + era * 400 + i64::from(month <= 2),
            month,
            day,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
        }
    }
}
