//! A log or a MANIFEST as a source of blocks, read as it goes: such files may be larger than memory.

use crate::Result;
use ferrock_format::log::BlockSource;
use ferrock_vfs::{SequentialFile, SequentialOptions, default_file_system};
use std::path::Path;

/// An open file.
pub(crate) struct LogFile(Box<dyn SequentialFile>);

impl LogFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(Self(default_file_system().open_sequential(path, &SequentialOptions::default())?))
    }
}

impl BlockSource for LogFile {
    fn read_block(&mut self, buffer: &mut [u8]) -> ferrock::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }
}
