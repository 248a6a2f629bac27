//! The frames and the operations of a file.
//!
//! A program that is killed leaves a trace without its last frame, whose last frame may be torn. Both are an end, and
//! [`TraceReader::is_complete`] tells it from the end that `end_trace` writes.

use ferrock_base::{Error, Result};
use ferrock_format::trace::{FRAME_HEADER_SIZE_BYTES, FrameHeader, FrameKind, Operation, TraceHeader};
use ferrock_vfs::{FileSystem, SequentialFile, SequentialOptions, default_file_system};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Payloads are read in pieces of so many bytes: a length that is damaged takes no memory that the file has no bytes
/// for.
const PIECE_BYTES: usize = 1 << 20;

/// Reads the frames of a trace, whatever is in them.
///
/// ```
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// # let trace = directory.path().join("trace");
/// use ferrock::replay::{FrameKind, FrameReader};
///
/// db.start_trace(&trace, ferrock::TraceOptions::default())?;
/// db.put(b"key", b"value")?;
/// db.end_trace()?;
/// let mut frames = FrameReader::open(&trace)?;
/// let mut kinds = Vec::new();
/// while let Some(frame) = frames.next_frame()? {
///     kinds.push(FrameReader::kind_of(frame));
/// }
/// assert_eq!(kinds, [FrameKind::Begin, FrameKind::Write, FrameKind::End]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FrameReader {
    file_system: Arc<dyn FileSystem>,
    path: PathBuf,
    file: Box<dyn SequentialFile>,
    /// Where the next frame begins.
    offset: u64,
    /// The frame that was read last.
    frame: Vec<u8>,
    is_torn: bool,
}

impl FrameReader {
    /// Opens a file of this machine.
    ///
    /// # Errors
    /// `Io` naming the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_in(default_file_system(), path)
    }

    /// Opens a file of a file system.
    ///
    /// # Errors
    /// `Io` naming the file.
    pub fn open_in(file_system: Arc<dyn FileSystem>, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let file = file_system.open_sequential(&path, &SequentialOptions::default())?;
        Ok(Self { file_system, path, file, offset: 0, frame: Vec::new(), is_torn: false })
    }

    /// Begins with the first frame again.
    ///
    /// # Errors
    /// `Io` naming the file.
    pub fn rewind(&mut self) -> Result<()> {
        self.file = self.file_system.open_sequential(&self.path, &SequentialOptions::default())?;
        (self.offset, self.is_torn) = (0, false);
        Ok(())
    }

    /// The next frame, header and payload; `None` at the end of the file, also where only a part of a frame is left.
    ///
    /// # Errors
    /// `Io` naming the file.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>> {
        self.frame.clear();
        if self.is_torn || !self.fill(FRAME_HEADER_SIZE_BYTES)? {
            self.is_torn |= !self.frame.is_empty();
            return Ok(None);
        }
        let size = Self::header_of(&self.frame).payload_size as usize;
        if !self.fill(size)? {
            self.is_torn = true;
            return Ok(None);
        }
        self.offset += self.frame.len() as u64;
        Ok(Some(&self.frame))
    }

    /// The kind of a frame that [`next_frame`](Self::next_frame) gave.
    #[must_use]
    pub fn kind_of(frame: &[u8]) -> FrameKind {
        Self::header_of(frame).kind
    }

    fn header_of(frame: &[u8]) -> FrameHeader {
        let header = frame.first_chunk::<FRAME_HEADER_SIZE_BYTES>();
        FrameHeader::decode(header.unwrap_or(&[0; FRAME_HEADER_SIZE_BYTES]))
    }

    /// Adds `length` bytes of the file to the frame; false where it has fewer.
    fn fill(&mut self, length: usize) -> Result<bool> {
        let end = self.frame.len().saturating_add(length);
        while self.frame.len() < end {
            let filled = self.frame.len();
            self.frame.resize(filled + (end - filled).min(PIECE_BYTES), 0);
            let read = self.file.read(&mut self.frame[filled..])?;
            self.frame.truncate(filled + read);
            if read == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// An operation, and when it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedOperation {
    /// Microseconds since the epoch.
    pub timestamp_us: u64,
    /// Where its frame is in the file, in bytes.
    pub offset: u64,
    /// What was asked for.
    pub operation: Operation,
}

/// Reads the operations of a trace.
///
/// ```
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// # let trace = directory.path().join("trace");
/// use ferrock::replay::{Operation, TraceReader};
///
/// db.start_trace(&trace, ferrock::TraceOptions::default())?;
/// db.get(b"key")?;
/// db.end_trace()?;
/// let mut reader = TraceReader::open(&trace)?;
/// let found = reader.next_operation()?.unwrap();
/// assert_eq!(found.operation, Operation::Get { family: 0, key: b"key".to_vec() });
/// assert!(found.timestamp_us >= reader.start_us());
/// assert!(reader.next_operation()?.is_none() && reader.is_complete());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TraceReader {
    frames: FrameReader,
    header: TraceHeader,
    start_us: u64,
    has_ended: bool,
}

impl TraceReader {
    /// Opens a file of this machine.
    ///
    /// # Errors
    /// `Io`; `Corruption` for a file that is no trace of operations; `NotSupported` for a trace of a newer version. All
    /// name the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_in(default_file_system(), path)
    }

    /// Opens a file of a file system.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(file_system: Arc<dyn FileSystem>, path: impl AsRef<Path>) -> Result<Self> {
        let mut frames = FrameReader::open_in(file_system, path)?;
        let (header, start_us) = Self::read_header(&mut frames)?;
        Ok(Self { frames, header, start_us, has_ended: false })
    }

    fn read_header(frames: &mut FrameReader) -> Result<(TraceHeader, u64)> {
        let first = frames.next_frame()?.map(|frame| {
            let header = FrameReader::header_of(frame);
            (header, TraceHeader::decode(&frame[FRAME_HEADER_SIZE_BYTES..]))
        });
        match first {
            Some((frame, header)) if frame.kind == FrameKind::Begin => Ok((header?, frame.timestamp_us)),
            _ => Err(Error::corruption("the file has no first frame of a trace")),
        }
        .map_err(|error: Error| error.in_file(&frames.path))
    }

    /// Begins with the first operation again.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn rewind(&mut self) -> Result<()> {
        self.frames.rewind()?;
        (self.header, self.start_us) = Self::read_header(&mut self.frames)?;
        self.has_ended = false;
        Ok(())
    }

    /// When the trace began, in microseconds since the epoch.
    #[must_use]
    pub fn start_us(&self) -> u64 {
        self.start_us
    }

    /// The path by which the trace was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.frames.path
    }

    /// Whether the last frame of a trace was read: false where the program ended without ending its trace.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.has_ended
    }

    /// The next operation; `None` at the end.
    ///
    /// # Errors
    /// `Io`; `Corruption` and, for a kind of operation that is not known, `NotSupported`, naming the file and the
    /// offset of the frame. The next call goes on behind it.
    pub fn next_operation(&mut self) -> Result<Option<TracedOperation>> {
        if self.has_ended {
            return Ok(None);
        }
        let offset = self.frames.offset;
        let Some(frame) = self.frames.next_frame()? else { return Ok(None) };
        let header = FrameReader::header_of(frame);
        let payload = &frame[FRAME_HEADER_SIZE_BYTES..];
        let decoded = Operation::decode(&self.header, header.kind, payload);
        let damage = |error: Error| error.in_file(&self.frames.path);
        match (header.kind, decoded) {
            (_, Ok(Some(operation))) => {
                Ok(Some(TracedOperation { timestamp_us: header.timestamp_us, offset, operation }))
            }
            (FrameKind::End, _) => {
                self.has_ended = true;
                Ok(None)
            }
            (_, Err(error)) => Err(damage(error.offset_by(offset + FRAME_HEADER_SIZE_BYTES as u64))),
            (kind, Ok(None)) => Err(damage(
                Error::not_supported(format!("a frame of kind {kind:?} in a trace of operations")).at_offset(offset),
            )),
        }
    }
}
