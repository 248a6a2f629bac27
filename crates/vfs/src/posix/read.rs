//! Reading files: at any offset (through the page cache, around it, or mapped) and in sequence.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use ferrock_base::{Error, Result};
use memmap2::{Advice, Mmap};

use super::device;
use super::retry::retry;
use crate::aligned::AlignedBuffer;
use crate::counters::IoCounters;
use crate::file::{RandomAccessFile, SequentialFile};
use crate::io_stats::{IoMetric, timed_with_cpu};
use crate::options::{RandomAccessOptions, SequentialOptions};
use crate::ranges::{Descriptor, ReadClass, ReadLabel, ReadLayer};
use crate::util::io_error;

/// Largest bounce buffer; longer unaligned direct reads go in pieces.
const MAX_BOUNCE_BYTES: usize = 1 << 20;
const DEFAULT_SEQUENTIAL_BYTES: usize = 256 << 10;

fn open_for_reading(what: &str, path: &Path, direct: bool) -> Result<(File, u64)> {
    let mut open = OpenOptions::new();
    open.read(true);
    if direct {
        device::request_direct(&mut open);
    }
    let file = retry(|| open.open(path)).map_err(|error| device::open_error(what, path, error, direct))?;
    let size = device::finish_open(&file, path, direct)?;
    Ok((file, size))
}

pub(super) fn open_random_access(
    path: &Path,
    options: &RandomAccessOptions,
    layer: Arc<ReadLayer>,
) -> Result<Arc<dyn RandomAccessFile>> {
    if options.direct && options.mmap {
        return Err(Error::invalid_argument("a file is read mapped or with direct I/O, not both").in_file(path));
    }
    let (file, size) = open_for_reading("open for random reads", path, options.direct)?;
    let path = path.to_path_buf();
    if options.mmap {
        return Ok(Arc::new(MappedFile::new(&file, path, size, options.advise_random, layer)?));
    }
    if options.advise_random && !options.direct {
        // A hint: a file system that ignores it only reads ahead too much.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
    }
    let alignment = options.direct.then(|| device::direct_alignment(&file));
    Ok(Arc::new(PosixRandomAccessFile { file: Arc::new(file), path, size, alignment, layer }))
}

/// A file read by `pread`, with O_DIRECT when it has an alignment.
#[derive(Debug)]
struct PosixRandomAccessFile {
    /// Shared with the requests that a ring has.
    file: Arc<File>,
    path: PathBuf,
    size: u64,
    alignment: Option<usize>,
    layer: Arc<ReadLayer>,
}

/// Performs a read, whose time goes to the sums of the thread.
fn timed_read<T>(perform: impl FnOnce() -> T) -> T {
    timed_with_cpu(IoMetric::ReadNanos, IoMetric::CpuReadNanos, perform)
}

/// Reads until the buffer is full or the file ends. A direct read must not continue from an unaligned position, and
/// need not: a device returns a partial unit only at the end of the file.
fn read_fully(file: &File, offset: u64, buffer: &mut [u8], unit: usize, calls: &mut u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let position = offset.saturating_add(filled as u64);
        // No file extends beyond what an `off_t` holds: the system call would fail, here it is the end of the file.
        if !is_addressable(position, buffer.len() - filled) {
            break;
        }
        *calls += 1;
        let read = retry(|| file.read_at(&mut buffer[filled..], position))?;
        filled += read;
        if read == 0 || !read.is_multiple_of(unit) {
            break;
        }
    }
    Ok(filled)
}

/// As [`read_fully`] for any offset and length, through an aligned buffer.
fn read_bounced(file: &File, offset: u64, buffer: &mut [u8], unit: usize, calls: &mut u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let Some(position) = offset.checked_add(filled as u64) else { break };
        let lead = (position % unit as u64) as usize;
        let wanted = (buffer.len() - filled).min(MAX_BOUNCE_BYTES);
        let mut bounce = AlignedBuffer::new((lead + wanted).next_multiple_of(unit), unit);
        let read = read_fully(file, position - lead as u64, bounce.bytes_mut(), unit, calls)?;
        let useful = read.saturating_sub(lead).min(wanted);
        buffer[filled..filled + useful].copy_from_slice(&bounce.bytes()[lead..lead + useful]);
        filled += useful;
        if useful < wanted {
            break;
        }
    }
    Ok(filled)
}

impl RandomAccessFile for PosixRandomAccessFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> Result<usize> {
        let mut calls = 0;
        let length = buffer.len();
        let outcome = timed_read(|| match self.alignment {
            // A short read from the page cache may end anywhere, so the unit is one byte.
            None => read_fully(&self.file, offset, buffer, 1, &mut calls),
            Some(unit) if is_aligned(offset, buffer, unit) => read_fully(&self.file, offset, buffer, unit, &mut calls),
            Some(unit) => read_bounced(&self.file, offset, buffer, unit, &mut calls),
        });
        self.layer.counters().device_request(label, device_bytes(offset, length, self.alignment));
        let read = outcome.map_err(|error| io_error("read", &self.path, error).at_offset(offset))?;
        self.layer.counters().read(read as u64, calls);
        Ok(read)
    }

    #[cfg(target_os = "linux")]
    fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> Option<usize> {
        if self.alignment.is_some() || !is_addressable(offset, buffer.len()) {
            return None;
        }
        let buffers = &mut [io::IoSliceMut::new(buffer)];
        // A file system without such reads answers with an error, as does a cache without the first byte.
        let flags = rustix::io::ReadWriteFlags::NOWAIT;
        let read = timed_read(|| rustix::io::preadv2(&*self.file, buffers, offset, flags));
        Some(read.unwrap_or(0))
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn prefetch(&self, offset: u64, length_bytes: u64) {
        if self.alignment.is_none()
            && let Some(length) = NonZeroU64::new(length_bytes)
        {
            let _ = rustix::fs::fadvise(&*self.file, offset, Some(length), rustix::fs::Advice::WillNeed);
        }
    }

    fn prefetches(&self) -> bool {
        cfg!(target_os = "linux") && self.alignment.is_none()
    }

    fn direct_alignment(&self) -> Option<usize> {
        self.alignment
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        Some(&self.layer)
    }

    fn descriptor(&self) -> Option<Descriptor> {
        Some(Descriptor::new(self.file.as_raw_fd(), self.size, Arc::clone(&self.file) as _))
    }
}

/// Bytes that a request spans once it is aligned.
fn device_bytes(offset: u64, length: usize, unit: Option<usize>) -> u64 {
    let Some(unit) = unit else { return length as u64 };
    let lead = offset % unit as u64;
    (lead + length as u64).next_multiple_of(unit as u64)
}

/// True when the whole range has file offsets.
fn is_addressable(offset: u64, length: usize) -> bool {
    offset.checked_add(length as u64).is_some_and(|end| i64::try_from(end).is_ok())
}

/// True when a direct read needs no bounce buffer.
fn is_aligned(offset: u64, buffer: &[u8], unit: usize) -> bool {
    offset.is_multiple_of(unit as u64)
        && buffer.len().is_multiple_of(unit)
        && buffer.as_ptr().addr().is_multiple_of(unit)
}

/// A file whose bytes are read in place.
#[derive(Debug)]
struct MappedFile {
    /// `None` for an empty file, which cannot be mapped.
    map: Option<Arc<Mmap>>,
    /// The same memory, to be shared in parts.
    bytes: Bytes,
    path: PathBuf,
    layer: Arc<ReadLayer>,
}

impl MappedFile {
    fn new(file: &File, path: PathBuf, size: u64, random: bool, layer: Arc<ReadLayer>) -> Result<Self> {
        if size == 0 {
            return Ok(Self { map: None, bytes: Bytes::new(), path, layer });
        }
        // SAFETY: the mapping is read-only and of a file that the engine never changes once it is complete (tables);
        // `RandomAccessOptions::mmap` makes it the caller's duty not to truncate it. Another process that writes into
        // the database's files breaks more than this mapping.
        let map = unsafe { Mmap::map(file) }.map_err(|error| io_error("map", &path, error))?;
        if random {
            let _ = map.advise(Advice::Random);
        }
        let map = Arc::new(map);
        let bytes = Bytes::from_owner(SharedMap(Arc::clone(&map)));
        Ok(Self { map: Some(map), bytes, path, layer })
    }
}

/// A mapping as the owner of its bytes.
struct SharedMap(Arc<Mmap>);

impl AsRef<[u8]> for SharedMap {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl RandomAccessFile for MappedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], _label: ReadLabel) -> Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let available = self.bytes.get(start..).unwrap_or_default();
        let read = available.len().min(buffer.len());
        buffer[..read].copy_from_slice(&available[..read]);
        self.layer.counters().mapped_read(read as u64);
        Ok(read)
    }

    fn mapping(&self) -> Option<&Bytes> {
        Some(&self.bytes)
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        Some(&self.layer)
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn prefetch(&self, offset: u64, length_bytes: u64) {
        let Some(map) = &self.map else { return };
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(map.len());
        let length = usize::try_from(length_bytes).unwrap_or(usize::MAX).min(map.len() - start);
        if length > 0 {
            let _ = map.advise_range(Advice::WillNeed, start, length);
        }
    }
}

pub(super) fn open_sequential(
    path: &Path,
    options: &SequentialOptions,
    counters: Arc<IoCounters>,
) -> Result<Box<dyn SequentialFile>> {
    let (file, _) = open_for_reading("open for sequential reads", path, options.direct)?;
    let path = path.to_path_buf();
    if !options.direct {
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
        return Ok(Box::new(PosixSequentialFile { file, path, counters }));
    }
    let unit = device::direct_alignment(&file);
    let wanted = if options.buffer_bytes == 0 { DEFAULT_SEQUENTIAL_BYTES } else { options.buffer_bytes };
    let buffer = AlignedBuffer::new(wanted.clamp(unit, 64 << 20).next_multiple_of(unit), unit);
    Ok(Box::new(DirectSequentialFile { file, path, position: 0, buffer_start: 0, filled: 0, unit, buffer, counters }))
}

#[derive(Debug)]
struct PosixSequentialFile {
    file: File,
    path: PathBuf,
    counters: Arc<IoCounters>,
}

impl SequentialFile for PosixSequentialFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        let mut calls = 0;
        while filled < buffer.len() {
            calls += 1;
            let read = timed_read(|| retry(|| self.file.read(&mut buffer[filled..])))
                .map_err(|error| io_error("read in sequence", &self.path, error))?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        self.counters.read(filled as u64, calls);
        self.counters.device_request(ReadLabel::whole(ReadClass::Other, filled), filled as u64);
        Ok(filled)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let step = i64::try_from(left).unwrap_or(i64::MAX);
            let moved = retry(|| self.file.seek(SeekFrom::Current(step)));
            match moved {
                Ok(_) => left -= step as u64,
                // Past the largest possible offset: that is the end of the file.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    retry(|| self.file.seek(SeekFrom::End(0))).map_err(|error| io_error("skip", &self.path, error))?;
                    return Ok(());
                }
                Err(error) => return Err(io_error("skip", &self.path, error)),
            }
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct DirectSequentialFile {
    file: File,
    path: PathBuf,
    position: u64,
    /// Where in the file the buffer's first byte lies; a multiple of `unit`.
    buffer_start: u64,
    filled: usize,
    unit: usize,
    buffer: AlignedBuffer,
    counters: Arc<IoCounters>,
}

impl SequentialFile for DirectSequentialFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut copied = 0;
        let mut calls = 0;
        while copied < buffer.len() {
            let within = self.position.checked_sub(self.buffer_start).and_then(|within| usize::try_from(within).ok());
            if let Some(within) = within.filter(|&within| within < self.filled) {
                let step = (self.filled - within).min(buffer.len() - copied);
                buffer[copied..copied + step].copy_from_slice(&self.buffer.bytes()[within..within + step]);
                copied += step;
                self.position += step as u64;
                continue;
            }
            self.buffer_start = self.position - self.position % self.unit as u64;
            let label = ReadLabel::whole(ReadClass::Other, buffer.len() - copied);
            self.counters.device_request(label, self.buffer.bytes().len() as u64);
            let Self { file, buffer_start, buffer: aligned, unit, .. } = self;
            let read = || read_fully(file, *buffer_start, aligned.bytes_mut(), *unit, &mut calls);
            self.filled = timed_read(read)
                .map_err(|error| io_error("read in sequence", &self.path, error).at_offset(self.buffer_start))?;
            if self.buffer_start + self.filled as u64 <= self.position {
                break;
            }
        }
        self.counters.read(copied as u64, calls);
        Ok(copied)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.position = self.position.saturating_add(count).min(i64::MAX as u64);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
