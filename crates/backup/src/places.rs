//! The OPTIONS file of a copy.
//!
//! All files of a copy are in one directory. An OPTIONS file that names the directory of its origin's logs would have
//! an open of the copy find the logs of another, living database; such an open is refused, so the copy says that its
//! logs are beside its tables. RocksDB copies the file as it is, and opens the copy with the logs of its origin.

/// Statements that name directories of logs.
const DIRECTORIES: [&[u8]; 1] = [b"wal_dir"];

/// The text of an OPTIONS file for a copy in one directory.
pub(crate) fn options_of_copy(text: &[u8]) -> Vec<u8> {
    let mut placed = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.iter().position(|byte| *byte == b'=') {
            Some(equals) if DIRECTORIES.contains(&line[..equals].trim_ascii()) => {
                placed.extend_from_slice(&line[..=equals]);
                let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
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
        let placed = options_of_copy(text);
        let expected =
            b"[DBOptions]\n  wal_dir=\n  wal_bytes_per_sync=0\r\n  wal_dir=\n\n[CFOptions \"wal_dir=1\"]\n wal_dir =";
        assert_eq!(String::from_utf8_lossy(&placed), String::from_utf8_lossy(expected));
    }
}
