//! Options of families of style universal, in the `{size_ratio=...;...}` form of an OPTIONS file.
//!
//! ```text
//! compaction_options_universal={size_ratio=1;min_merge_width=2;stop_style=kCompactionStopStyleTotalSize;...}
//! ```
//!
//! A text changes the fields that it names; the others stay. Fields that 7.8 does not know, and would refuse, are
//! written only where they differ from their defaults.

use ferrock_base::option_enum;
use ferrock_base::option_table::OptionValue;
use ferrock_format::options_file::value::parse_struct;

option_enum! {
    /// When a series of sorted runs that are to be merged ends.
    pub enum CompactionStopStyle {
        /// The next run is much smaller or much larger than the last one.
        SimilarSize = "kCompactionStopStyleSimilarSize",
        /// The next run is larger than those before it together.
        TotalSize = "kCompactionStopStyleTotalSize",
    }
}

/// Which sorted runs of a family of style universal are merged, and when.
///
/// ```
/// use ferrock_options::{ColumnFamilyOptions, CompactionStyle};
///
/// let mut options = ColumnFamilyOptions::default();
/// options.compaction_style = CompactionStyle::Universal;
/// // No more than half of the space is for data that is overwritten or deleted.
/// options.compaction_options_universal.max_size_amplification_percent = 100;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptionsUniversal {
    /// Percent by which the next run may be larger than those before it together and still be merged with them.
    pub size_ratio: u32,
    /// Fewest runs that are merged for their sizes. Below 2 it is 2.
    pub min_merge_width: u32,
    /// Most runs that are merged for their sizes or their number.
    pub max_merge_width: u32,
    /// Bytes of all runs but the oldest, in percent of those of the oldest, from which on all are merged.
    pub max_size_amplification_percent: u32,
    /// Outputs are not compressed while older runs hold this share of all bytes, in percent; below 0 all are.
    pub compression_size_percent: i32,
    /// Runs from which on some are merged whatever their sizes. 0: as many as the largest run and `size_ratio` ask for.
    /// -1: `level0_file_num_compaction_trigger`.
    pub max_read_amp: i32,
    /// When a series of runs ends.
    pub stop_style: CompactionStopStyle,
    /// Runs that do not overlap are recorded on the output level and not read.
    pub allow_trivial_move: bool,
    /// Size amplification is reduced by merges of about `max_compaction_bytes`: parts of the two oldest runs, where
    /// their files lie so that this costs little more. Else all runs are merged. Of no use with `num_levels` 1.
    pub incremental: bool,
    /// A merge into the last level that waits for a thread of the bottom pool keeps only the oldest of its runs, and
    /// chooses the others when it begins: newer ones can be merged meanwhile. Without such a pool merges begin at once.
    pub reduce_file_locking: bool,
}

impl Default for CompactionOptionsUniversal {
    fn default() -> Self {
        Self {
            size_ratio: 1,
            min_merge_width: 2,
            max_merge_width: u32::MAX,
            max_size_amplification_percent: 200,
            compression_size_percent: -1,
            max_read_amp: -1,
            stop_style: CompactionStopStyle::TotalSize,
            allow_trivial_move: false,
            incremental: false,
            reduce_file_locking: true,
        }
    }
}

impl CompactionOptionsUniversal {
    fn set_field(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "size_ratio" => self.size_ratio = OptionValue::parse_option(text)?,
            "min_merge_width" => self.min_merge_width = OptionValue::parse_option(text)?,
            "max_merge_width" => self.max_merge_width = OptionValue::parse_option(text)?,
            "max_size_amplification_percent" => {
                self.max_size_amplification_percent = OptionValue::parse_option(text)?;
            }
            "compression_size_percent" => self.compression_size_percent = OptionValue::parse_option(text)?,
            "max_read_amp" => self.max_read_amp = OptionValue::parse_option(text)?,
            "stop_style" => self.stop_style = OptionValue::parse_option(text)?,
            "allow_trivial_move" => self.allow_trivial_move = OptionValue::parse_option(text)?,
            "incremental" => self.incremental = OptionValue::parse_option(text)?,
            "reduce_file_locking" => self.reduce_file_locking = OptionValue::parse_option(text)?,
            _ => return None,
        }
        Some(())
    }
}

impl OptionValue for CompactionOptionsUniversal {
    fn parse_option(text: &str) -> Option<Self> {
        Self::default().changed_by(text)
    }

    fn changed_by(&self, text: &str) -> Option<Self> {
        let mut options = self.clone();
        for (name, value) in parse_struct(text).ok()? {
            options.set_field(name, value)?;
        }
        Some(options)
    }

    fn format_option(&self) -> String {
        let default = Self::default();
        let mut text = String::from("{");
        let mut put = |name: &str, value: String| text.extend([name, "=", &value, ";"]);
        if self.reduce_file_locking != default.reduce_file_locking {
            put("reduce_file_locking", self.reduce_file_locking.format_option());
        }
        put("incremental", self.incremental.format_option());
        put("compression_size_percent", self.compression_size_percent.format_option());
        put("allow_trivial_move", self.allow_trivial_move.format_option());
        put("max_size_amplification_percent", self.max_size_amplification_percent.format_option());
        put("max_merge_width", self.max_merge_width.format_option());
        put("stop_style", self.stop_style.format_option());
        put("min_merge_width", self.min_merge_width.format_option());
        if self.max_read_amp != default.max_read_amp {
            put("max_read_amp", self.max_read_amp.format_option());
        }
        put("size_ratio", self.size_ratio.format_option());
        text.push('}');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_their_text() {
        let text = "{reduce_file_locking=false;incremental=true;compression_size_percent=70;allow_trivial_move=true;\
                    max_size_amplification_percent=50;max_merge_width=9;stop_style=kCompactionStopStyleSimilarSize;\
                    min_merge_width=3;max_read_amp=12;size_ratio=10;}";
        let options = CompactionOptionsUniversal::parse_option(text).unwrap();
        assert_eq!(options.format_option(), text);
        let of_7_8 = "{incremental=false;compression_size_percent=-1;allow_trivial_move=false;\
                      max_size_amplification_percent=200;max_merge_width=4294967295;\
                      stop_style=kCompactionStopStyleTotalSize;min_merge_width=2;size_ratio=1;}";
        assert_eq!(CompactionOptionsUniversal::default().format_option(), of_7_8);
        let of_11_8 = "{reduce_file_locking=true;incremental=false;compression_size_percent=-1;\
                       allow_trivial_move=false;max_size_amplification_percent=200;max_merge_width=4294967295;\
                       stop_style=kCompactionStopStyleTotalSize;min_merge_width=2;max_read_amp=-1;size_ratio=1;}";
        assert_eq!(CompactionOptionsUniversal::parse_option(of_11_8), Some(CompactionOptionsUniversal::default()));
    }

    #[test]
    fn a_text_changes_what_it_names() {
        let options = CompactionOptionsUniversal { max_merge_width: 7, ..CompactionOptionsUniversal::default() };
        let changed = options.changed_by("{size_ratio=20}").unwrap();
        assert_eq!((changed.size_ratio, changed.max_merge_width), (20, 7));
        assert_eq!(options.changed_by("{}").unwrap(), options);
        for wrong in ["{size_ratio=-1}", "{no_such_field=1}", "{stop_style=later}"] {
            assert_eq!(options.changed_by(wrong), None, "{wrong}");
        }
    }
}
