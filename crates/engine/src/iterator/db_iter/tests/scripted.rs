//! Single behaviours, by example.
