//! The file of `--keys`: which keys to look up.
//!
//! ```text
//! line := FAMILY TAB KEY-IN-HEX LF        an empty key is valid; empty lines are skipped
//! ```

use crate::hex;
use ferrock_vfs::FileSystem;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Keys to look up, by family, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct KeyList {
    by_family: BTreeMap<String, Vec<Vec<u8>>>,
}

/// The result of a lookup.
pub(super) struct LookupResult {
    pub(super) key: Vec<u8>,
    pub(super) value: ferrock::Result<Option<Vec<u8>>>,
}

/// The error of reading the list of keys.
#[derive(Debug)]
pub(super) enum KeyListError {
    File(ferrock::Error),
    StandardInput(std::io::Error),
    Content(String),
}

impl KeyList {
    /// Reads the file; `-` is standard input.
    pub(super) fn read(file_system: &dyn FileSystem, path: &Path) -> Result<Self, KeyListError> {
        let mut content = Vec::new();
        if path == Path::new("-") {
            std::io::stdin().lock().read_to_end(&mut content).map_err(KeyListError::StandardInput)?;
        } else {
            content = ferrock_vfs::read_file(file_system, path).map_err(KeyListError::File)?;
        }
        Self::parse(&content).map_err(|message| KeyListError::Content(format!("{}: {message}", path.display())))
    }

    fn parse(content: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(content).map_err(|error| format!("not UTF-8: {error}"))?;
        let mut list = Self::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let line_number = index + 1;
            // The last tab separates: a family's name may hold one, hexadecimal digits cannot.
            let (family, key) = line
                .rsplit_once('\t')
                .ok_or_else(|| format!("line {line_number} has no tab; write FAMILY<tab>KEY-IN-HEX"))?;
            let key = hex::decode(key)
                .ok_or_else(|| format!("line {line_number}: `{key}` is not an even number of hexadecimal digits"))?;
            list.by_family.entry(family.to_owned()).or_default().push(key);
        }
        Ok(list)
    }

    /// Fails when a key names a family that the database does not have.
    pub(super) fn check_families<'a>(&self, known: impl Iterator<Item = &'a str>) -> Result<(), KeyListError> {
        let known: Vec<&str> = known.collect();
        match self.by_family.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(KeyListError::Content(format!(
                "the keys name the column family `{name}`; the database has: {}",
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// The keys of a family.
    pub(super) fn of_family(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.by_family.get(name).into_iter().flatten().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_keys() {
        let list = KeyList::parse(b"default\t6b31\n\ndefault\t\r\na\tb\tff\n").unwrap();
        assert_eq!(list.of_family("default").collect::<Vec<_>>(), [&b"k1"[..], b""]);
        assert_eq!(list.of_family("a\tb").collect::<Vec<_>>(), [&[0xff][..]]);
        assert_eq!(list.of_family("other").count(), 0);
        assert!(list.check_families(["default", "a\tb", "c"].into_iter()).is_ok());
        assert!(list.check_families(["default"].into_iter()).is_err());
    }

    #[test]
    fn wrong_lines_are_named() {
        assert!(KeyList::parse(b"default\t00\nno tab\n").unwrap_err().contains("line 2"));
        assert!(KeyList::parse(b"default\t0\n").unwrap_err().contains("line 1"));
        assert!(KeyList::parse(b"\xff\t00\n").unwrap_err().contains("UTF-8"));
    }
}
