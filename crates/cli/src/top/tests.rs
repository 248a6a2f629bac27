//! Golden texts of the view.
