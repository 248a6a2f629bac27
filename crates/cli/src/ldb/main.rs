//! `ldb`.
fn main() {}
