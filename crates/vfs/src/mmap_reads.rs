//! Whether tables are read through mappings of their files: a promise of the program, and so a type of its own.

use ferrock_base::option_table::OptionValue;

/// `allow_mmap_reads`: whether tables are read through mappings of their files.
///
/// A mapped table is read where the page cache has it: values are not copied, blocks that are not compressed need no
/// block cache, and a checksum is verified once. In return the process trusts the files. The kernel ends it with SIGBUS
/// when it reads a page behind the end of a file that was cut after it was mapped, and when the device fails to deliver
/// a page; and bytes that another process changes under a mapping change under references to them. No reader can check
/// for that beforehand. Without mappings each of these is an error of the read.
///
/// A line of text (`allow_mmap_reads=true` in an OPTIONS file or a string of options) and the C interface make the same
/// promise as [`on`](Self::on).
///
/// ```
/// # use ferrock_vfs::MmapReads;
/// assert!(!MmapReads::default().is_on());
/// // SAFETY: nothing but this process touches the files of the database.
/// let allow_mmap_reads = unsafe { MmapReads::on() };
/// assert!(allow_mmap_reads.is_on());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MmapReads(bool);

impl MmapReads {
    /// Tables are read by calls.
    pub const OFF: Self = Self(false);

    /// Tables are read through mappings of their files.
    ///
    /// # Safety
    /// As long as a database that was opened with it is open, or an iterator or a pinned value of it exists, the files
    /// of its tables must be neither cut nor changed, by this or any other process.
    #[must_use]
    pub const unsafe fn on() -> Self {
        Self(true)
    }

    /// True when tables are read through mappings.
    #[must_use]
    pub const fn is_on(self) -> bool {
        self.0
    }
}

impl OptionValue for MmapReads {
    fn parse_option(text: &str) -> Option<Self> {
        bool::parse_option(text).map(Self)
    }

    fn format_option(&self) -> String {
        self.0.format_option()
    }
}
