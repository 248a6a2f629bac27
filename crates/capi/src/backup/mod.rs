//! Backups and restoring from them, by `ferrock::backup::BackupEngine`.
//!
//! | file | functions about |
//! |---|---|
//! | `options` | options of an engine, of one backup, of restoring |
//! | `engine` | opening, making, verifying, restoring, removing |
//! | `info` | what an engine tells of its backups |

mod engine;
mod info;
mod options;
