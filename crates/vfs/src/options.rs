//! How a file is opened.

use ferrock_base::Temperature;

/// What a written file is for. Counters are kept per purpose; the purpose has no other effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WritePurpose {
    /// Write-ahead log.
    Log,
    /// MANIFEST.
    Manifest,
    /// Table or blob file.
    Table,
    /// Everything else: CURRENT, OPTIONS, IDENTITY, the info log.
    #[default]
    Other,
}

impl WritePurpose {
    /// Every purpose, in counter order.
    pub const ALL: [Self; 4] = [Self::Log, Self::Manifest, Self::Table, Self::Other];

    /// A word for reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Manifest => "manifest",
            Self::Table => "table",
            Self::Other => "other",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// How to open a file for reads at any offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomAccessOptions {
    /// Bypass the page cache (O_DIRECT). Unaligned requests are served through an aligned bounce buffer; requests that
    /// follow [`direct_alignment`](crate::RandomAccessFile::direct_alignment) are not copied. Opening fails with
    /// `NotSupported` where the file system has no direct I/O.
    pub direct: bool,
    /// Map the file; [`mapping`](crate::RandomAccessFile::mapping) then gives its bytes without copying. The file must
    /// not be truncated while it is open. Cannot be combined with `direct`.
    pub mmap: bool,
    /// Tell the kernel that readahead would be wasted.
    pub advise_random: bool,
    /// How often the file is expected to be read: for file systems that have several kinds of places. Those here do
    /// nothing with it.
    pub temperature: Temperature,
}

/// How to open a file for one pass from start to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequentialOptions {
    /// Bypass the page cache (O_DIRECT), with an internal aligned buffer.
    pub direct: bool,
    /// Bytes asked of the device at a time when `direct`; 0 means 256 KiB.
    pub buffer_bytes: usize,
}

/// How to open a file for appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritableOptions {
    /// Which counters the writes go to.
    pub purpose: WritePurpose,
    /// Bypass the page cache (O_DIRECT). Bytes leave in aligned units; an unaligned tail is written zero-padded and cut
    /// back by truncation on `sync` and `close`.
    pub direct: bool,
    /// Space to reserve ahead of the end, so that the file grows in large extents; 0 reserves none (a mapped append
    /// then reserves its own window). Reserved space that was not written is given back by `close`.
    pub preallocate_bytes: u64,
    /// Start writing back dirty pages every so many bytes, so that a final sync has little left to do; 0 leaves it to
    /// the kernel. A hint: it makes nothing durable.
    pub bytes_per_sync: u64,
    /// With `bytes_per_sync`: an append that starts writing back waits until what was started before is written, so
    /// that no more than about twice as many bytes of the file are on their way to the device at any time. What the
    /// system reports then fails the append. Where the system cannot wait for a part of a file, all of it is synced.
    /// Without effect with `direct`, where nothing is left to write back.
    pub strict_bytes_per_sync: bool,
    /// Bytes gathered in user space before a write is issued; 0 hands every append to the system at once.
    pub buffer_bytes: usize,
    /// Append through a shared mapping over reserved space where the file system allows it, which costs a copy instead
    /// of a system call. Appended bytes survive a process crash at once, as with an unbuffered write; the file may then
    /// end in zeros. An append that does not cross a multiple of 32 KiB in the file is there as a whole or starts with
    /// eight zero bytes. Ignored with `direct`.
    pub mapped_append: bool,
    /// As of [`RandomAccessOptions::temperature`].
    pub temperature: Temperature,
}

impl Default for WritableOptions {
    fn default() -> Self {
        Self {
            purpose: WritePurpose::Other,
            direct: false,
            preallocate_bytes: 0,
            bytes_per_sync: 0,
            strict_bytes_per_sync: false,
            buffer_bytes: 64 << 10,
            mapped_append: false,
            temperature: Temperature::Unknown,
        }
    }
}

impl WritableOptions {
    /// The default options for a purpose.
    #[must_use]
    pub fn for_purpose(purpose: WritePurpose) -> Self {
        Self { purpose, ..Self::default() }
    }
}
