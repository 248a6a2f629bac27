//! The column family in which a database keeps the history of its statistics: its name, its keys and its values.
//!
//! ```text
//! key                                        value
//! %010u '#' name of a ticker                 by how much it grew, in decimal       the number: seconds since 1970
//! "__persistent_stats_compatible_version__"  the oldest version that can read it, in decimal
//! "__persistent_stats_format_version__"      the version that wrote it, in decimal
//! ```
//!
//! Ten digits sort times in the order of their keys until the year 2286; the versions sort behind all of them. RocksDB
//! writes every ticker at each time, and reads a family in which those are left out that did not grow.

/// The name of the family.
pub const COLUMN_FAMILY: &str = "___rocksdb_stats_history___";

/// The key of the version that wrote the family.
pub const FORMAT_VERSION_KEY: &[u8] = b"__persistent_stats_format_version__";
/// The key of the oldest version that can read it.
pub const COMPATIBLE_VERSION_KEY: &[u8] = b"__persistent_stats_compatible_version__";
/// The version that this module writes and reads, which RocksDB 11.8.1 has, too.
pub const VERSION: u64 = 1;

/// The last second that a key can have.
pub const LAST_SECOND: u64 = 9_999_999_999;

/// The digits of a time.
const TIME_DIGITS: usize = 10;

/// The key of a ticker at a time.
///
/// ```
/// use ferrock_format::stats_history::{key, parse_key};
///
/// let key = key(1_700_000_000, "rocksdb.bytes.read");
/// assert_eq!(key, b"1700000000#rocksdb.bytes.read");
/// assert_eq!(parse_key(&key), Some((1_700_000_000, "rocksdb.bytes.read")));
/// ```
#[must_use]
pub fn key(unix_seconds: u64, ticker: &str) -> Vec<u8> {
    let mut key = begin(unix_seconds);
    key.push(b'#');
    key.extend_from_slice(ticker.as_bytes());
    key
}

/// What every key of a time begins with: no key of an earlier time is behind it. A time past [`LAST_SECOND`] counts as
/// that.
#[must_use]
pub fn begin(unix_seconds: u64) -> Vec<u8> {
    format!("{:0TIME_DIGITS$}", unix_seconds.min(LAST_SECOND)).into_bytes()
}

/// Time and ticker of a key; `None` of one that is not of a time.
#[must_use]
pub fn parse_key(key: &[u8]) -> Option<(u64, &str)> {
    let (time, rest) = key.split_at_checked(TIME_DIGITS)?;
    let ticker = std::str::from_utf8(rest.strip_prefix(b"#")?).ok()?;
    Some((parse_number(time)?, ticker))
}

/// A value: an increase, or a version.
#[must_use]
pub fn value(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// The number in a value; `None` where there is none.
#[must_use]
pub fn parse_number(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_time_and_before_the_versions() {
        let times = [0, 7, 999_999_999, 1_000_000_000, 4_000_000_000, LAST_SECOND];
        let keys: Vec<Vec<u8>> = times.into_iter().map(|time| key(time, "rocksdb.a")).collect();
        assert!(keys.is_sorted());
        assert!(keys.iter().all(|key| &key[..] < COMPATIBLE_VERSION_KEY && &key[..] < FORMAT_VERSION_KEY));
        for (time, key) in times.into_iter().zip(&keys) {
            assert_eq!(parse_key(key), Some((time, "rocksdb.a")));
            assert!(begin(time) < *key && begin(time + 1) > *key || time == LAST_SECOND);
        }
        assert_eq!(begin(u64::MAX), begin(LAST_SECOND));
    }

    #[test]
    fn what_is_no_key_and_no_number_is_none() {
        for bytes in [&b""[..], b"17", b"1700000000", b"1700000000#\xff", b"17000000001#a", b"-700000000#a", b"x"] {
            assert_eq!(parse_key(bytes), None, "{bytes:?}");
        }
        assert_eq!([FORMAT_VERSION_KEY, COMPATIBLE_VERSION_KEY].map(parse_key), [None, None]);
        assert_eq!(parse_key(b"0000000003#"), Some((3, "")));
        for bytes in [&b""[..], b"x", b"-1", b"+1", b" 1", b"18446744073709551616", b"\xff"] {
            assert_eq!(parse_number(bytes), None, "{bytes:?}");
        }
        assert_eq!(parse_number(&value(u64::MAX)), Some(u64::MAX));
    }
}
