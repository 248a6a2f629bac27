//! The whole index of a table that keeps it: read and verified when the table is opened, decoded for the first lookup.
//!
//! ```text
//! Stored (the block as in the file, perhaps compressed, and the row bounds behind it)
//!    |  the first lookup
//!    v
//! decoded, and the bytes are dropped             Failed: each lookup gets the error
//! ```
//!
//! Decoding takes most of the time of opening a table whose end is in memory. Of a database with many tables most are
//! not asked for anything before the next compaction takes them, which walks an index once.
//!
//! A damaged block is an error of the open, as its checksum is verified there; a block with a right checksum whose
//! entries are malformed is one of each lookup, as in RocksDB.

use super::block_loader::BlockLoader;
use crate::blocks::{BlockRef, BlockRole};
use ferrock_base::{Error, Result};
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::ReadContext;
use parking_lot::Mutex;
use std::sync::OnceLock;

#[derive(Debug)]
enum Undecoded {
    Stored(Vec<u8>),
    Failed(Error),
    /// It was decoded.
    Gone,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LateIndex {
    handle: BlockHandle,
    decoded: OnceLock<BlockRef>,
    undecoded: Mutex<Undecoded>,
}

impl LateIndex {
    /// Reads the block and what belongs to it, and verifies its checksum.
    pub(crate) fn open(loader: &BlockLoader, handle: BlockHandle) -> Result<Self> {
        let stored = loader.read_index_extent(handle, &ReadContext::for_class(BlockRole::Index.read_class()))?;
        Ok(Self { handle, decoded: OnceLock::new(), undecoded: Mutex::new(Undecoded::Stored(stored)) })
    }

    /// The block, if a lookup came before.
    #[inline]
    pub(crate) fn decoded(&self) -> Option<&BlockRef> {
        self.decoded.get()
    }

    /// Decodes the block, unless another lookup just did.
    #[cold]
    pub(crate) fn decode(&self, loader: &BlockLoader) -> Result<&BlockRef> {
        let mut undecoded = self.undecoded.lock();
        match std::mem::replace(&mut *undecoded, Undecoded::Gone) {
            Undecoded::Stored(stored) => match loader.decode_index_extent(stored, self.handle, true) {
                Ok(block) => drop(self.decoded.set(BlockRef::standalone(block))),
                Err(error) => *undecoded = Undecoded::Failed(error),
            },
            before => *undecoded = before,
        }
        if let Undecoded::Failed(error) = &*undecoded {
            return Err(error.clone());
        }
        self.decoded.get().ok_or_else(|| Error::corruption("the index of a table was not decoded"))
    }

    /// The handle, for a read that says why the block does not decode.
    pub(crate) fn handle(&self) -> BlockHandle {
        self.handle
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self.decoded.get() {
            Some(block) => block.memory_bytes(),
            None => match &*self.undecoded.lock() {
                Undecoded::Stored(stored) => stored.capacity(),
                Undecoded::Failed(_) | Undecoded::Gone => 0,
            },
        }
    }
}
