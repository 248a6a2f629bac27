//! What the integration tests share.
#![allow(dead_code, reason = "each test binary uses a part")]

use ferrock_vfs::{FileSystem, PosixFileSystem};

/// Bytes that differ everywhere and contain few zeros.
pub fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state as u8).max(1)
        })
        .collect()
}

/// Whether this machine allows io_uring; where it does not, tests say so on their output.
pub fn io_uring_works() -> bool {
    let works = PosixFileSystem::with_backend(Some("io_uring")).io_backend() == "io_uring";
    if !works {
        println!("this machine allows no io_uring: the pread backend is tested alone");
    }
    works
}
