//! Open objects: one that is uploaded, and one that is read from its beginning.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use ferrock_base::{Error, Result};
use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStoreExt};

use super::{Shared, store_error};
use crate::file::{SequentialFile, WritableFile};
use crate::options::WritePurpose;
use crate::ranges::{ReadClass, ReadLabel};
use crate::rate_limiter::{IoKind, IoPriority, RateLimiter, limiter_of};

/// As many parts as S3 takes of one object. Other stores take more.
const MAX_PARTS: usize = 10_000;

/// An object that is not there yet.
#[derive(Debug)]
pub(super) struct StoreWritableFile {
    shared: Arc<Shared>,
    path: PathBuf,
    key: Key,
    purpose: WritePurpose,
    state: State,
    /// Appended bytes that are not in the store: at most those of a part.
    part: Vec<u8>,
    size: u64,
    limiter: Option<(Arc<dyn RateLimiter>, IoPriority)>,
}

#[derive(Debug)]
enum State {
    /// Every byte is in `part`.
    Begun,
    /// The upload has the first parts, as many as counted.
    Uploading(Box<dyn MultipartUpload>, usize),
    /// The object is there.
    Complete,
    /// It is not, or the store did not say so; no call changes that.
    Failed(Error),
}

impl StoreWritableFile {
    pub(super) fn new(shared: Arc<Shared>, path: &Path, key: Key, purpose: WritePurpose) -> Self {
        let (state, path) = (State::Begun, path.to_path_buf());
        Self { shared, path, key, purpose, state, part: Vec::new(), size: 0, limiter: None }
    }

    /// Sends the bytes that wait, as a part.
    fn send_part(&mut self) -> Result<()> {
        if let State::Begun = self.state {
            let upload = self.shared.ask("begin an upload", &self.path, self.shared.store.put_multipart(&self.key))?;
            self.state = State::Uploading(upload, 0);
        }
        let State::Uploading(upload, parts) = &mut self.state else { return Ok(()) };
        if *parts == MAX_PARTS {
            let bytes = self.shared.options.part_bytes;
            let what = format!("part_bytes = {bytes}: stores take {MAX_PARTS} parts of an object; raise it");
            return Err(Error::invalid_argument(what).in_file(&self.path));
        }
        let part = std::mem::take(&mut self.part);
        let bytes = part.len() as u64;
        if let Some((limiter, priority)) = &self.limiter {
            limiter.request(bytes, *priority);
        }
        self.shared.ask("upload a part", &self.path, upload.put_part(part.into()))?;
        *parts += 1;
        self.shared.counters.write(self.purpose, bytes);
        Ok(())
    }

    /// Makes the object appear.
    fn complete(&mut self) -> Result<()> {
        match &self.state {
            State::Complete => return Ok(()),
            State::Failed(error) => return Err(error.clone()),
            State::Begun => {
                let part = std::mem::take(&mut self.part);
                let bytes = part.len() as u64;
                if let Some((limiter, priority)) = &self.limiter {
                    limiter.request(bytes, *priority);
                }
                self.shared.ask("put", &self.path, self.shared.store.put(&self.key, part.into()))?;
                self.shared.counters.write(self.purpose, bytes);
            }
            State::Uploading(..) => {
                if !self.part.is_empty() {
                    self.send_part()?;
                }
                if let State::Uploading(upload, _) = &mut self.state {
                    self.shared.ask("complete an upload", &self.path, upload.complete())?;
                }
            }
        }
        self.state = State::Complete;
        Ok(())
    }

    /// Gives up after an error, which every later call has, too.
    fn fail(&mut self, error: Error) -> Error {
        self.abort();
        self.state = State::Failed(error.clone());
        self.part = Vec::new();
        error
    }

    /// Lets go of parts that are in the store.
    fn abort(&mut self) {
        if let State::Uploading(upload, _) = &mut self.state {
            // What the store keeps all the same is no object.
            let _ = self.shared.ask("abort an upload", &self.path, upload.abort());
        }
    }
}

impl WritableFile for StoreWritableFile {
    fn append(&mut self, mut data: &[u8]) -> Result<()> {
        match &self.state {
            State::Begun | State::Uploading(..) => {}
            State::Complete => {
                let what = "the object is complete, and a store appends to none: write it again";
                return Err(Error::not_supported(what).in_file(&self.path));
            }
            State::Failed(error) => return Err(error.clone()),
        }
        self.shared.counters.append(self.purpose, data.len() as u64);
        let part_bytes = self.shared.options.part_bytes;
        while !data.is_empty() {
            if self.part.len() == part_bytes {
                self.send_part().map_err(|error| self.fail(error))?;
            }
            let (now, later) = data.split_at(data.len().min(part_bytes - self.part.len()));
            self.part.extend_from_slice(now);
            self.size += now.len() as u64;
            data = later;
        }
        Ok(())
    }

    /// Does nothing: no reader sees an object before it is whole.
    fn flush(&mut self) -> Result<()> {
        match &self.state {
            State::Failed(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Completes the object. Nothing can be appended afterwards.
    fn sync(&mut self) -> Result<()> {
        self.complete().map_err(|error| self.fail(error))?;
        self.shared.counters.sync(self.purpose);
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.complete().map_err(|error| self.fail(error))
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority) {
        self.limiter = limiter_of(limiter, IoKind::Write).map(|limiter| (limiter, priority));
    }

    fn append_backend(&self) -> &'static str {
        "object store"
    }
}

impl Drop for StoreWritableFile {
    fn drop(&mut self) {
        self.abort();
    }
}

/// An object that is read in ranges, one after the other.
#[derive(Debug)]
pub(super) struct StoreSequentialFile {
    shared: Arc<Shared>,
    path: PathBuf,
    key: Key,
    /// When it was opened.
    size: u64,
    /// Where the next range begins.
    next: u64,
    /// What was read and not taken.
    piece: Bytes,
}

impl StoreSequentialFile {
    pub(super) fn new(shared: Arc<Shared>, path: &Path, key: Key, size: u64) -> Self {
        Self { shared, path: path.to_path_buf(), key, size, next: 0, piece: Bytes::new() }
    }

    fn read_range(&mut self) -> Result<()> {
        let end = self.size.min(self.next.saturating_add(self.shared.options.read_bytes as u64));
        let range = self.next..end;
        let wanted = range.end - range.start;
        let answer = self.shared.wait(&self.path, self.shared.store.get_range(&self.key, range))?;
        let piece = answer.map_err(|error| store_error("read", &self.path, error).at_offset(self.next))?;
        if piece.len() as u64 != wanted {
            let what = format!("the store gave {} bytes of {wanted}: the object was replaced; read again", piece.len());
            return Err(Error::corruption(what).in_file(&self.path).at_offset(self.next));
        }
        self.shared.counters.read(wanted, 1);
        self.shared.counters.device_request(ReadLabel::whole(ReadClass::Other, piece.len()), wanted);
        (self.next, self.piece) = (end, piece);
        Ok(())
    }
}

impl SequentialFile for StoreSequentialFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            if self.piece.is_empty() {
                if self.next >= self.size {
                    break;
                }
                self.read_range()?;
            }
            let taken = self.piece.len().min(buffer.len() - done);
            self.piece.copy_to_slice(&mut buffer[done..done + taken]);
            done += taken;
        }
        Ok(done)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        let held = self.piece.len() as u64;
        if count <= held {
            self.piece.advance(count as usize);
        } else {
            self.piece = Bytes::new();
            self.next = self.next.saturating_add(count - held);
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
