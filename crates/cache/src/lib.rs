//! Sharded block cache with lock-free hits, priorities and reservations.
#![warn(missing_docs)]
