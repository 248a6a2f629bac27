//! The `ferrock` command-line tool.
fn main() {}
