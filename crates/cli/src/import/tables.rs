//! Rows in order become tables, several of them at a time.
//!
//! ```text
//! merge --> piece --> piece --> piece        a piece is the rows of one table; no two have a key in common
//!             |         |         |
//!           thread    thread    thread       SstFileWriter
//! ```

use super::memory::{Held, Memory};
use super::runs::Merge;
use super::work::WorkDirectory;
use crate::backup::failure;
use crate::failure::{Failure, Result};
use ferrock::{ColumnFamily, ColumnFamilyOptions, DbOptions, ExternalSstFileInfo, SstFileWriter};
use indicatif::ProgressBar;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Beside its bytes, what a row of a piece takes.
const ROW_BYTES: usize = size_of::<(u32, u32)>();

/// How tables are written.
pub(super) struct TableOptions {
    pub(super) db: DbOptions,
    pub(super) family: ColumnFamilyOptions,
    /// The family that they are for.
    pub(super) of: Option<ColumnFamily>,
}

/// The rows of a table.
struct Piece<'a> {
    path: PathBuf,
    rows: Vec<u8>,
    /// Bytes of key and value of each.
    lengths: Vec<(u32, u32)>,
    _held: Held<'a>,
}

impl<'a> Piece<'a> {
    fn new(work: &WorkDirectory, memory: &'a Memory, bytes: usize) -> Self {
        // Rows are three quarters of a piece, and their lengths the rest.
        let (rows, lengths) = (Vec::with_capacity(bytes / 4 * 3), Vec::with_capacity(bytes / 4 / ROW_BYTES));
        Self { path: work.new_table(), rows, lengths, _held: memory.hold(bytes) }
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        self.rows.len() + bytes <= self.rows.capacity() && self.lengths.len() < self.lengths.capacity()
    }

    fn write(&self, writer: &mut SstFileWriter) -> ferrock::Result<ExternalSstFileInfo> {
        writer.open(&self.path)?;
        let mut at = 0;
        for (key_bytes, value_bytes) in &self.lengths {
            let key = &self.rows[at..][..*key_bytes as usize];
            at += key.len();
            let value = &self.rows[at..][..*value_bytes as usize];
            at += value.len();
            writer.put(key, value)?;
        }
        writer.finish()
    }
}

/// What threads have made, or why they stopped.
#[derive(Default)]
struct Made {
    tables: Vec<ExternalSstFileInfo>,
    error: Option<ferrock::Error>,
}

/// Writes all rows of a merge to tables.
pub(super) fn write_all(
    work: &WorkDirectory,
    memory: &Memory,
    options: &TableOptions,
    threads: u32,
    merge: &mut Merge<'_>,
    bar: &ProgressBar,
) -> Result<Vec<ExternalSstFileInfo>> {
    let made = Mutex::new(Made::default());
    // Each thread has a piece, and one is filled. A row must fit: fewer threads where pieces would be smaller than one.
    let share = memory.eighths(3);
    let most_pieces = share / (memory.longest_row_bytes() / 3 * 4 + 1024);
    let threads = (threads as usize).min(most_pieces.saturating_sub(1)).max(1);
    let piece_bytes = share / (threads + 1);
    let (sender, receiver) = sync_channel::<Piece<'_>>(0);
    let receiver = Mutex::new(receiver);
    let filled = std::thread::scope(|scope| {
        let (receiver, made) = (&receiver, &made);
        let handles: Vec<_> =
            (0..threads).map(|_| scope.spawn(move || write_pieces(receiver, options, made, bar))).collect();
        let filled = fill_pieces(work, memory, piece_bytes, merge, sender, made);
        for handle in handles {
            if handle.join().is_err() {
                return Err(Failure::NotDone("a thread that wrote a table panicked".to_owned()));
            }
        }
        filled
    });
    let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    match made.error {
        Some(error) => Err(failure(error)),
        None => filled.map(|()| made.tables),
    }
}

/// Gives the rows to the threads, piece by piece. Dropping the sender ends them.
fn fill_pieces<'m>(
    work: &WorkDirectory,
    memory: &'m Memory,
    piece_bytes: usize,
    merge: &mut Merge<'_>,
    sender: SyncSender<Piece<'m>>,
    made: &Mutex<Made>,
) -> Result<()> {
    let mut piece = Piece::new(work, memory, piece_bytes);
    while let Some((key, value)) = merge.next()? {
        if !piece.has_room_for(key.len() + value.len()) {
            if made.lock().unwrap_or_else(PoisonError::into_inner).error.is_some() || sender.send(piece).is_err() {
                return Ok(());
            }
            piece = Piece::new(work, memory, piece_bytes);
        }
        piece.rows.extend_from_slice(key);
        piece.rows.extend_from_slice(value);
        piece.lengths.push((key.len() as u32, value.len() as u32));
    }
    if !piece.lengths.is_empty() {
        // Where no thread is there to take it, one has told why.
        let _ = sender.send(piece);
    }
    Ok(())
}

/// What a thread does: it writes pieces until there are no more.
fn write_pieces(receiver: &Mutex<Receiver<Piece<'_>>>, options: &TableOptions, made: &Mutex<Made>, bar: &ProgressBar) {
    let mut writer = SstFileWriter::new(&options.db, options.family.clone());
    if let Some(family) = &options.of {
        writer = writer.for_family(family);
    }
    loop {
        let received = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(piece) = received else { return };
        let written = piece.write(&mut writer);
        bar.inc(piece.rows.len() as u64);
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(table) => made.tables.push(table),
            // The others take what is left; nothing of it comes into the database.
            Err(error) => made.error = made.error.take().or(Some(error)),
        }
    }
}
