//! The OPTIONS file of a copy.
//!
//! All files of a copy are in one directory. An OPTIONS file that names the directory of its origin's logs would have
//! an open of the copy find the logs of another, living database; such an open is refused, so the copy says that its
//! logs are beside its tables. RocksDB copies the file as it is, and opens the copy with the logs of its origin.

use ferrock_format::options_file::value::escape;
use std::path::Path;

/// The statement that names the directory of the logs.
const WAL_DIR: &[u8] = b"wal_dir";

/// The text of an OPTIONS file for a copy whose logs are in `wal_dir`; `None`: beside its tables.
pub(crate) fn options_of_copy(text: &[u8], wal_dir: Option<&Path>) -> Vec<u8> {
    let wal_dir = wal_dir.and_then(Path::to_str).map(escape).unwrap_or_default();
    let mut placed = Vec::with_capacity(text.len() + wal_dir.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.iter().position(|byte| *byte == b'=') {
            Some(equals) if line[..equals].trim_ascii() == WAL_DIR => {
                let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
                placed.extend_from_slice(&line[..=equals]);
                placed.extend_from_slice(wal_dir.as_bytes());
                placed.extend_from_slice(&line[end..]);
            }
            _ => placed.extend_from_slice(line),
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_the_logs_goes() {
        let text = b"[DBOptions]\n  wal_dir=/logs\n  wal_bytes_per_sync=0\r\n  wal_dir=\n\n[CFOptions \"wal_dir=1\"]\n wal_dir = x";
        let placed = options_of_copy(text, None);
        let expected =
            b"[DBOptions]\n  wal_dir=\n  wal_bytes_per_sync=0\r\n  wal_dir=\n\n[CFOptions \"wal_dir=1\"]\n wal_dir =";
        assert_eq!(String::from_utf8_lossy(&placed), String::from_utf8_lossy(expected));
        let moved = options_of_copy(b"  wal_dir=/logs\r\n", Some(Path::new("/a:b")));
        assert_eq!(String::from_utf8_lossy(&moved), "  wal_dir=/a\\:b\r\n");
    }
}
