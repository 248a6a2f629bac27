//! Why something happened: the enums of the infos, with RocksDB's numbers.

/// Declares an enum whose values are RocksDB's numbers, and names.
macro_rules! numbered {
    ($(#[doc = $doc:literal])+ $name:ident { $( $(#[doc = $vdoc:literal])+ $variant:ident = $number:literal, $text:literal; )* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $( $(#[doc = $vdoc])+ $variant = $number, )*
        }

        impl $name {
            /// Every value, in the order of the numbers.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$variant),*];

            /// RocksDB's number.
            #[must_use]
            pub const fn number(self) -> u32 {
                self as u32
            }

            /// RocksDB's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $text, )*
                }
            }

            /// The value with a [name](Self::name).
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }
    };
}

numbered! {
    /// Why memtables are flushed.
    FlushReason {
        /// None of the others.
        Others = 0, "Others";
        /// A list of the files of the database was asked for.
        GetLiveFiles = 1, "Get Live Files";
        /// The database closes, and has writes that no log has.
        ShutDown = 2, "Shut down";
        /// A file is to be ingested whose keys are in a memtable.
        ExternalFileIngestion = 3, "External File Ingestion";
        /// A compaction by hand begins with a flush.
        ManualCompaction = 4, "Manual Compaction";
        /// All memtables together have as many bytes as they may: `db_write_buffer_size`, or a write buffer manager.
        WriteBufferManager = 5, "Write Buffer Manager";
        /// A memtable is full.
        WriteBufferFull = 6, "Write Buffer Full";
        /// A test asked for it.
        Test = 7, "Test";
        /// Files are to be removed.
        DeleteFiles = 8, "Delete Files";
        /// An automatic compaction wants it.
        AutoCompaction = 9, "Auto Compaction";
        /// A caller asked for it.
        ManualFlush = 10, "Manual Flush";
        /// The database leaves a background error.
        ErrorRecovery = 11, "Error Recovery";
        /// A flush that failed while the database left a background error is tried again.
        ErrorRecoveryRetryFlush = 12, "Error Recovery Retry Flush";
        /// All logs together are larger than they may be.
        WalFull = 13, "WAL Full";
        /// What was written while the database left a background error.
        CatchUpAfterErrorRecovery = 14, "Catch Up After Error Recovery";
        /// A memtable has as many range deletions as it may: `memtable_max_range_deletions`.
        MemtableMaxRangeDeletions = 15, "Memtable Max Range Deletions";
    }
}

numbered! {
    /// Why a compaction was chosen.
    CompactionReason {
        /// None of the others.
        Unknown = 0, "Unknown";
        /// Level 0 has too many files or bytes.
        Level0FilesNum = 1, "LevelL0FilesNum";
        /// A level is larger than its target.
        LevelMaxLevelSize = 2, "LevelMaxLevelSize";
        /// All sorted runs but the oldest are too large beside it.
        UniversalSizeAmplification = 3, "UniversalSizeAmplification";
        /// Sorted runs are of sizes that fit each other.
        UniversalSizeRatio = 4, "UniversalSizeRatio";
        /// There are too many sorted runs.
        UniversalSortedRunNum = 5, "UniversalSortedRunNum";
        /// A queue is longer than it may be.
        FifoMaxSize = 6, "FIFOMaxSize";
        /// A queue has many small files.
        FifoReduceNumFiles = 7, "FIFOReduceNumFiles";
        /// The end of a queue is older than `ttl`.
        FifoTtl = 8, "FIFOTtl";
        /// A caller requested it.
        ManualCompaction = 9, "ManualCompaction";
        /// The writer of a file marked it.
        FilesMarkedForCompaction = 10, "FilesMarkedForCompaction";
        /// A file at the bottom has sequence numbers that no snapshot needs any more.
        BottommostFiles = 11, "BottommostFiles";
        /// Data is older than `ttl`.
        Ttl = 12, "Ttl";
        /// A flush, where it is counted as a compaction of level 0.
        Flush = 13, "Flush";
        /// A file was ingested.
        ExternalSstIngestion = 14, "ExternalSstIngestion";
        /// A file was not rewritten for `periodic_compaction_seconds`.
        PeriodicCompaction = 15, "PeriodicCompaction";
        /// A table of a queue is old enough for another temperature.
        ChangeTemperature = 16, "ChangeTemperature";
        /// The oldest blob files are mostly garbage.
        ForcedBlobGc = 17, "ForcedBlobGC";
        /// A level has data older than `ttl`, and its files take turns (`compaction_pri=kRoundRobin`).
        RoundRobinTtl = 18, "RoundRobinTtl";
        /// A level moves.
        RefitLevel = 19, "RefitLevel";
        /// Reads of a file often find nothing but what a compaction would end.
        ReadTriggered = 20, "ReadTriggered";
        /// Tables lie under a range deletion as a whole: they are dropped, and not read. RocksDB does not do it and has
        /// no number for it; functions in C tell [`Unknown`](Self::Unknown).
        RangeDeletion = 255, "RangeDeletion";
    }
}

numbered! {
    /// What failed in the background.
    BackgroundErrorReason {
        /// A flush.
        Flush = 0, "Flush";
        /// A compaction.
        Compaction = 1, "Compaction";
        /// An append to the log, or its sync.
        WriteCallback = 2, "WriteCallback";
        /// An insert into a memtable.
        MemTable = 3, "MemTable";
        /// A change of the MANIFEST.
        ManifestWrite = 4, "ManifestWrite";
        /// A flush of writes that no log has.
        FlushNoWal = 5, "FlushNoWAL";
        /// A change of the MANIFEST by a flush of writes that no log has.
        ManifestWriteNoWal = 6, "ManifestWriteNoWAL";
        /// The opening of tables behind an open (`open_files_async`).
        AsyncFileOpen = 7, "AsyncFileOpen";
    }
}

numbered! {
    /// What was done with a file.
    FileOperationType {
        /// Bytes were read.
        Read = 0, "Read";
        /// Bytes were written.
        Write = 1, "Write";
        /// The file got another length.
        Truncate = 2, "Truncate";
        /// The file was closed.
        Close = 3, "Close";
        /// Bytes in a buffer went to the operating system.
        Flush = 4, "Flush";
        /// The bytes were made durable.
        Sync = 5, "Sync";
        /// The bytes and all that is known of the file were made durable.
        Fsync = 6, "Fsync";
        /// A range was made durable.
        RangeSync = 7, "RangeSync";
        /// Bytes were written at the end.
        Append = 8, "Append";
        /// Bytes were written at a place.
        PositionedAppend = 9, "PositionedAppend";
        /// The file was opened.
        Open = 10, "Open";
        /// The bytes were checked.
        Verify = 11, "Verify";
    }
}
