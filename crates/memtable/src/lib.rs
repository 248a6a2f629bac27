//! Arena and concurrent skiplist memtable.
#![warn(missing_docs)]
