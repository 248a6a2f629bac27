//! Options from text and from files.
