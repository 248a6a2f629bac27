//! How tables from outside become part of a database.

/// How to take tables in: see `Db::ingest_external_file`. The names and defaults are RocksDB's.
///
/// ```
/// use ferrock_options::IngestExternalFileOptions;
/// let options = IngestExternalFileOptions { move_files: true, ..IngestExternalFileOptions::default() };
/// assert!(options.snapshot_consistency && !options.link_files);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestExternalFileOptions {
    /// The database gets each file as a second name of it, and the first name is removed when the files are in. Nothing
    /// is copied where both names can be on one device. Not together with `link_files`.
    pub move_files: bool,
    /// As `move_files`, and the first name stays. The file must not be changed under it any more.
    pub link_files: bool,
    /// A file that cannot get a second name is copied (default true); else the call fails.
    pub failed_move_fall_back_to_copy: bool,
    /// Snapshots that there are do not see the files (default true): then all files get sequence numbers.
    pub snapshot_consistency: bool,
    /// A file may get a sequence number (default true). Without it a call fails whose files overlap each other, keys
    /// that are there, or what a compaction is about to write, or that snapshots must not see.
    pub allow_global_seqno: bool,
    /// A memtable with a key of a file is flushed, and the call waits for it (default true); else the call fails.
    pub allow_blocking_flush: bool,
    /// Keys that are there win over those of the files, which go to the last level. The family must have had
    /// `cf_allow_ingest_behind` from its first write on.
    pub ingest_behind: bool,
    /// The sequence number is also written into the file of the database, for releases of RocksDB before 5.16. The file
    /// from outside stays as it is, also where it was linked.
    pub write_global_seqno: bool,
    /// Every block of the files is read and checked first.
    pub verify_checksums_before_ingest: bool,
    /// Bytes to read at a time for that; 0 (default): as the reader chooses.
    pub verify_checksums_readahead_size: usize,
    /// Checksums of whole files that the caller gives are compared with those of the files (default true); else the
    /// MANIFEST gets them as they are. Without given ones it changes nothing.
    pub verify_file_checksum: bool,
    /// A file that would not come into the last level fails the call with `TryAgain`.
    pub fail_if_not_bottommost_level: bool,
    /// Files that a database wrote are taken, too, and keep their sequence numbers. They may overlap each other, the
    /// newer after the older, and nothing that is there.
    pub allow_db_generated_files: bool,
    /// The files are opened at once, which brings index and filter blocks into the cache as the options of tables say
    /// (default true); else by the first read that needs them. Of families of one call all the same.
    pub fill_cache: bool,
    /// As `fill_cache`, of files in the last level (default true).
    pub prefetch_lmax_index_and_filter_blocks: bool,
    /// Threads that open the files (default 1).
    pub file_opening_threads: i32,
}

/// How the tables of an exported column family are taken: see `Db::create_column_family_with_import`. The name and the
/// default are RocksDB's.
///
/// ```
/// use ferrock_options::ImportColumnFamilyOptions;
/// assert!(!ImportColumnFamilyOptions::default().move_files);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportColumnFamilyOptions {
    /// The database gets each file as a second name of it, where both names can be on one device, and the first name is
    /// removed when the family is there; else files are copied (default false).
    pub move_files: bool,
}

impl Default for IngestExternalFileOptions {
    fn default() -> Self {
        Self {
            move_files: false,
            link_files: false,
            failed_move_fall_back_to_copy: true,
            snapshot_consistency: true,
            allow_global_seqno: true,
            allow_blocking_flush: true,
            ingest_behind: false,
            write_global_seqno: false,
            verify_checksums_before_ingest: false,
            verify_checksums_readahead_size: 0,
            verify_file_checksum: true,
            fail_if_not_bottommost_level: false,
            allow_db_generated_files: false,
            fill_cache: true,
            prefetch_lmax_index_and_filter_blocks: true,
            file_opening_threads: 1,
        }
    }
}
