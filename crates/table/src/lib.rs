//! SST reader and writer over files and cache.
#![warn(missing_docs)]
