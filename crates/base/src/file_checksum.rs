//! Checksums of whole files: what the bytes of a table or a blob file are from its first to its last one.
//!
//! ```text
//! while a file is written   name and value  --> MANIFEST (NewFile, BlobFileAddition)
//! FileChecksumCrc32c        four bytes, the CRC32C of the file, most significant byte first, not masked
//! ```
//!
//! Blocks and records have checksums of their own, which a reader compares. That of a whole file tells a program that
//! copies it, without an idea of tables, that the copy is the file. A function is named by the generator, not by its
//! factory: a factory may know several, and makes the one that a file was recorded with.

use crate::checksum::crc32c_extend;
use crate::error::{Error, Result};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What a MANIFEST calls the function of a file without checksum.
pub const UNKNOWN_FUNCTION: &str = "Unknown";

/// The name of [`Crc32cFactory`] in options.
const CRC32C_FACTORY: &str = "FileChecksumGenCrc32cFactory";
/// The name of the function that it makes.
const CRC32C_FUNCTION: &str = "FileChecksumCrc32c";

/// Checksum of a whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChecksum {
    /// Name of the function, `FileChecksumCrc32c` for instance. Older releases write `Unknown` and no value.
    pub function_name: String,
    /// Its result.
    pub value: Vec<u8>,
}

impl FileChecksum {
    /// The checksum that a MANIFEST means by a name and a value; `None` where they say that there is none.
    #[must_use]
    pub fn recorded(function_name: &str, value: &[u8]) -> Option<Self> {
        let is_there = !value.is_empty() && !matches!(function_name, "" | UNKNOWN_FUNCTION);
        is_there.then(|| Self { function_name: function_name.to_owned(), value: value.to_vec() })
    }
}

/// `FileChecksumCrc32c 0a1b2c3d`.
impl fmt::Display for FileChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.function_name)?;
        self.value.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The checksum of one file, which gets the bytes in their order. Used by one thread at a time.
pub trait FileChecksumGenerator: Send {
    /// The name of the function, which the MANIFEST has beside the value. `Unknown` and the empty name mean that there
    /// is none.
    fn name(&self) -> &str;
    /// Takes the next bytes of the file.
    fn update(&mut self, bytes: &[u8]);
    /// The checksum of all bytes so far. It is asked for once, at the end.
    fn finish(&mut self) -> Vec<u8>;
}

impl fmt::Debug for dyn FileChecksumGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The file that a generator is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileChecksumContext<'a> {
    /// Its path.
    pub path: &'a Path,
    /// The function by its name, where the file has a checksum that is to be compared; `None`: any.
    pub requested_function: Option<&'a str>,
}

/// Makes a generator for each file.
///
/// ```
/// use ferrock_base::file_checksum::{FileChecksumContext, FileChecksumGenFactory, FileChecksumGenerator};
///
/// /// The sum of all bytes.
/// struct Sum(u64);
///
/// impl FileChecksumGenerator for Sum {
///     fn name(&self) -> &str {
///         "example.Sum"
///     }
///     fn update(&mut self, bytes: &[u8]) {
///         self.0 = bytes.iter().fold(self.0, |sum, byte| sum.wrapping_add(u64::from(*byte)));
///     }
///     fn finish(&mut self) -> Vec<u8> {
///         self.0.to_be_bytes().to_vec()
///     }
/// }
///
/// struct Sums;
///
/// impl FileChecksumGenFactory for Sums {
///     fn name(&self) -> &str {
///         "example.Sums"
///     }
///     fn create(&self, context: &FileChecksumContext<'_>) -> Option<Box<dyn FileChecksumGenerator>> {
///         let is_known = context.requested_function.is_none_or(|name| name == "example.Sum");
///         is_known.then(|| Box::new(Sum(0)) as _)
///     }
/// }
/// ```
pub trait FileChecksumGenFactory: Send + Sync {
    /// The name in an OPTIONS file.
    fn name(&self) -> &str;
    /// A generator for one file; `None`: the function that is requested is not known, or the file gets no checksum.
    fn create(&self, context: &FileChecksumContext<'_>) -> Option<Box<dyn FileChecksumGenerator>>;
}

impl fmt::Debug for dyn FileChecksumGenFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A generator for a file that is written, of a factory that a database may have.
#[must_use]
pub fn generator_for(
    factory: Option<&Arc<dyn FileChecksumGenFactory>>,
    path: &Path,
) -> Option<Box<dyn FileChecksumGenerator>> {
    factory.and_then(|factory| factory.create(&FileChecksumContext { path, requested_function: None }))
}

/// A generator of the function that a file was recorded with.
///
/// # Errors
/// `InvalidArgument`, naming the file, when the factory does not know the function.
pub fn generator_of(
    factory: &Arc<dyn FileChecksumGenFactory>,
    path: &Path,
    function: &str,
) -> Result<Box<dyn FileChecksumGenerator>> {
    let made = factory.create(&FileChecksumContext { path, requested_function: Some(function) });
    made.filter(|generator| generator.name() == function).ok_or_else(|| {
        Error::invalid_argument(format!(
            "its checksum is one of the function {function}, which {} does not make: set a \
             file_checksum_gen_factory that does",
            factory.name()
        ))
        .in_file(path)
    })
}

/// `FileChecksumGenCrc32cFactory`: the CRC32C of each file.
///
/// ```
/// use ferrock_base::file_checksum::{Crc32cFactory, FileChecksumContext, FileChecksumGenFactory};
/// let context = FileChecksumContext { path: "000001.sst".as_ref(), requested_function: None };
/// let mut generator = Crc32cFactory.create(&context).unwrap();
/// generator.update(b"1234");
/// generator.update(b"56789");
/// assert_eq!(generator.finish(), [0xE3, 0x06, 0x92, 0x83]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crc32cFactory;

impl FileChecksumGenFactory for Crc32cFactory {
    fn name(&self) -> &str {
        CRC32C_FACTORY
    }
    fn create(&self, context: &FileChecksumContext<'_>) -> Option<Box<dyn FileChecksumGenerator>> {
        let is_known = context.requested_function.is_none_or(|name| name == CRC32C_FUNCTION);
        is_known.then(|| Box::new(Crc32c(0)) as _)
    }
}

struct Crc32c(u32);

impl FileChecksumGenerator for Crc32c {
    fn name(&self) -> &str {
        CRC32C_FUNCTION
    }
    fn update(&mut self, bytes: &[u8]) {
        self.0 = crc32c_extend(self.0, bytes);
    }
    fn finish(&mut self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

/// The built-in factory that `text` names; `nullptr` is none.
///
/// # Errors
/// `NotSupported` for another name.
pub fn built_in(text: &str) -> Result<Option<Arc<dyn FileChecksumGenFactory>>> {
    let text = text.trim();
    let braced = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let id = braced.map_or(text, |fields| fields.trim().trim_end_matches(';'));
    match id.strip_prefix("id=").unwrap_or(id).trim() {
        "" | "nullptr" => Ok(None),
        CRC32C_FACTORY => Ok(Some(Arc::new(Crc32cFactory))),
        _ => Err(Error::not_supported(format!(
            "file_checksum_gen_factory {text} is not built in; {CRC32C_FACTORY} is, and a program can set its own"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_the_factory() {
        for text in [CRC32C_FACTORY, " {id=FileChecksumGenCrc32cFactory;} ", "{id=FileChecksumGenCrc32cFactory}"] {
            assert_eq!(built_in(text).unwrap().unwrap().name(), CRC32C_FACTORY, "{text}");
        }
        assert!(built_in("nullptr").unwrap().is_none() && built_in("").unwrap().is_none());
        assert!(built_in("Mine").unwrap_err().to_string().contains("Mine is not built in"));
    }

    #[test]
    fn a_function_that_is_not_known_is_none() {
        let factory: Arc<dyn FileChecksumGenFactory> = Arc::new(Crc32cFactory);
        let path = Path::new("/db/000007.sst");
        assert_eq!(generator_of(&factory, path, CRC32C_FUNCTION).unwrap().name(), CRC32C_FUNCTION);
        let error = generator_of(&factory, path, "Md5").unwrap_err().to_string();
        assert!(error.contains("/db/000007.sst") && error.contains("Md5"), "{error}");
        assert!(generator_for(None, path).is_none());
    }

    #[test]
    fn what_a_manifest_says_of_none_is_none() {
        for (name, value) in [("", &b""[..]), (UNKNOWN_FUNCTION, b""), ("", b"1"), (CRC32C_FUNCTION, b"")] {
            assert_eq!(FileChecksum::recorded(name, value), None, "{name}");
        }
        let there = FileChecksum::recorded(CRC32C_FUNCTION, &[1, 0xab]).unwrap();
        assert_eq!(there.to_string(), "FileChecksumCrc32c 01ab");
    }
}
