//! Checksums of whole files, made of the bytes as they are appended, or read again.
//!
//! ```text
//! builder --append--> SummedFile --append--> file
//!                        |
//!                        +--> generator --> FileSum::finish
//! ```
//!
//! The bytes are seen before the file takes them, once each: a file whose append failed is one that its writer gives
//! up, so no sum is asked of it. Reading a finished file again would see what the disk has, and costs a read of it all;
//! what the disk has is compared later, with what was meant to be written.

use crate::file::WritableFile;
use crate::file_system::FileSystem;
use crate::options::SequentialOptions;
use crate::rate_limiter::{IoPriority, RateLimiter};
use ferrock_base::Result;
use ferrock_base::file_checksum::{FileChecksum, FileChecksumGenerator};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 1 << 20;

type SharedGenerator = Arc<Mutex<Box<dyn FileChecksumGenerator>>>;

/// The checksum of a file that is being written; of none, where the file is to have none.
#[derive(Debug)]
pub struct FileSum(Option<SharedGenerator>);

impl FileSum {
    /// The checksum of what was appended; `None` for a file that is to have none.
    #[must_use]
    pub fn finish(self) -> Option<FileChecksum> {
        self.0.map(|generator| finished(&mut **generator.lock()))
    }
}

fn finished(generator: &mut dyn FileChecksumGenerator) -> FileChecksum {
    FileChecksum { function_name: generator.name().to_owned(), value: generator.finish() }
}

/// The file, whose bytes a generator sees from now on; the same file without one. Nothing must have been appended yet.
#[must_use]
pub fn summed(
    file: Box<dyn WritableFile>,
    generator: Option<Box<dyn FileChecksumGenerator>>,
) -> (Box<dyn WritableFile>, FileSum) {
    let Some(generator) = generator else { return (file, FileSum(None)) };
    let generator = Arc::new(Mutex::new(generator));
    (Box::new(SummedFile { file, generator: Arc::clone(&generator) }), FileSum(Some(generator)))
}

/// The checksum of a file that is there. `check` is called before each read.
///
/// # Errors
/// Of the file system, and those of `check`.
pub fn sum_of_file(
    files: &dyn FileSystem,
    path: &Path,
    mut generator: Box<dyn FileChecksumGenerator>,
    check: &dyn Fn(u64) -> Result<()>,
) -> Result<FileChecksum> {
    let mut file = files.open_sequential(path, &SequentialOptions::default())?;
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        check(CHUNK_BYTES as u64)?;
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(finished(&mut *generator));
        }
        generator.update(&buffer[..read]);
    }
}

#[derive(Debug)]
struct SummedFile {
    file: Box<dyn WritableFile>,
    generator: SharedGenerator,
}

impl WritableFile for SummedFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.generator.lock().update(data);
        self.file.append(data)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    fn close(&mut self) -> Result<()> {
        self.file.close()
    }

    fn size(&self) -> u64 {
        self.file.size()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }

    fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority) {
        self.file.set_rate_limiter(limiter, priority);
    }

    fn append_backend(&self) -> &'static str {
        self.file.append_backend()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryFileSystem;
    use crate::options::WritableOptions;
    use ferrock_base::file_checksum::{Crc32cFactory, FileChecksumContext, FileChecksumGenFactory};

    #[test]
    fn what_is_appended_has_the_sum_of_the_file() {
        let (files, path) = (MemoryFileSystem::new(), Path::new("/file"));
        let generator = || Crc32cFactory.create(&FileChecksumContext { path, requested_function: None });
        let file = files.create_writable(path, &WritableOptions::default()).unwrap();
        let (mut file, sum) = summed(file, generator());
        for part in 0..50_u32 {
            file.append(&part.to_le_bytes().repeat(20_000 + part as usize)).unwrap();
        }
        file.sync().unwrap();
        file.close().unwrap();
        assert_eq!(file.path(), path);
        let of_disk = sum_of_file(&files, path, generator().unwrap(), &|_| Ok(())).unwrap();
        assert_eq!(of_disk.function_name, "FileChecksumCrc32c");
        assert_eq!(sum.finish(), Some(of_disk));
        let (_, none) = summed(file, None);
        assert_eq!(none.finish(), None);
    }
}
