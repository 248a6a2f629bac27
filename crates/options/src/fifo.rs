//! Options of families of style FIFO, in the `{max_table_files_size=...;...}` form of an OPTIONS file.
//!
//! ```text
//! compaction_options_fifo={allow_compaction=false;age_for_warm=0;max_table_files_size=1073741824;}
//! compaction_options_fifo=1073741824                   the form before there were names: the first limit
//! file_temperature_age_thresholds={{temperature=kWarm;age=10;}:{temperature=kCold;age=20;}}
//! ```
//!
//! A text changes the fields that it names; the others stay. Fields that 7.8 does not know, and would refuse, are
//! written only where they differ from their defaults.

use ferrock_base::Temperature;
use ferrock_base::option_table::OptionValue;
use ferrock_format::options_file::value::parse_struct;

/// The temperature of tables from an age on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTemperatureAge {
    /// The temperature.
    pub temperature: Temperature,
    /// Seconds since the newest entry was written.
    pub age: u64,
}

/// What a family of style FIFO drops, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptionsFifo {
    /// Bytes of tables above which the oldest tables are dropped.
    pub max_table_files_size: u64,
    /// Small tables are merged within level 0.
    pub allow_compaction: bool,
    /// Not used any more, by RocksDB neither.
    pub age_for_warm: u64,
    /// The temperatures that tables get with age: the oldest table that has another one is rewritten, one at a time.
    /// Needs `num_levels` 1.
    pub file_temperature_age_thresholds: Vec<FileTemperatureAge>,
    /// A table is copied as it is when its temperature changes, and not read entry by entry.
    pub allow_trivial_copy_when_change_temperature: bool,
    /// Bytes that such a copy reads at a time; less than 4 KiB counts as 4 KiB.
    pub trivial_copy_buffer_size: u64,
    /// Bytes of tables and blob files above which the oldest tables are dropped, in place of `max_table_files_size`; 0:
    /// that counts, and blob files do not.
    pub max_data_files_size: u64,
    /// With `allow_compaction`, tables are merged in tiers, up to a size that follows from `max_data_files_size` and
    /// the share of tables in the data.
    pub use_kv_ratio_compaction: bool,
}

impl Default for CompactionOptionsFifo {
    fn default() -> Self {
        Self {
            max_table_files_size: 1 << 30,
            allow_compaction: false,
            age_for_warm: 0,
            file_temperature_age_thresholds: Vec::new(),
            allow_trivial_copy_when_change_temperature: false,
            trivial_copy_buffer_size: 4096,
            max_data_files_size: 0,
            use_kv_ratio_compaction: false,
        }
    }
}

impl CompactionOptionsFifo {
    /// The bytes above which the oldest tables are dropped.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        if self.max_data_files_size > 0 { self.max_data_files_size } else { self.max_table_files_size }
    }

    fn set_field(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "max_table_files_size" => self.max_table_files_size = OptionValue::parse_option(text)?,
            "allow_compaction" => self.allow_compaction = OptionValue::parse_option(text)?,
            "age_for_warm" => self.age_for_warm = OptionValue::parse_option(text)?,
            "file_temperature_age_thresholds" => self.file_temperature_age_thresholds = parse_thresholds(text)?,
            "allow_trivial_copy_when_change_temperature" => {
                self.allow_trivial_copy_when_change_temperature = OptionValue::parse_option(text)?;
            }
            "trivial_copy_buffer_size" => self.trivial_copy_buffer_size = OptionValue::parse_option(text)?,
            "max_data_files_size" => self.max_data_files_size = OptionValue::parse_option(text)?,
            "use_kv_ratio_compaction" => self.use_kv_ratio_compaction = OptionValue::parse_option(text)?,
            // An option of the family by now.
            "ttl" => {}
            _ => return None,
        }
        Some(())
    }
}

impl OptionValue for CompactionOptionsFifo {
    fn parse_option(text: &str) -> Option<Self> {
        Self::default().changed_by(text)
    }

    fn changed_by(&self, text: &str) -> Option<Self> {
        let mut options = self.clone();
        let inside = text.trim().trim_start_matches('{').trim_end_matches('}').trim();
        if !text.contains('=') {
            if !inside.is_empty() {
                options.max_table_files_size = OptionValue::parse_option(inside)?;
            }
            return Some(options);
        }
        for (name, value) in parse_struct(text).ok()? {
            options.set_field(name, value)?;
        }
        Some(options)
    }

    fn format_option(&self) -> String {
        let default = Self::default();
        let mut text = String::from("{");
        let mut put = |name: &str, value: String| text.extend([name, "=", &value, ";"]);
        if self.use_kv_ratio_compaction != default.use_kv_ratio_compaction {
            put("use_kv_ratio_compaction", self.use_kv_ratio_compaction.format_option());
        }
        if self.max_data_files_size != default.max_data_files_size {
            put("max_data_files_size", self.max_data_files_size.format_option());
        }
        if self.trivial_copy_buffer_size != default.trivial_copy_buffer_size {
            put("trivial_copy_buffer_size", self.trivial_copy_buffer_size.format_option());
        }
        if self.allow_trivial_copy_when_change_temperature != default.allow_trivial_copy_when_change_temperature {
            let value = self.allow_trivial_copy_when_change_temperature.format_option();
            put("allow_trivial_copy_when_change_temperature", value);
        }
        if !self.file_temperature_age_thresholds.is_empty() {
            put("file_temperature_age_thresholds", format_thresholds(&self.file_temperature_age_thresholds));
        }
        put("allow_compaction", self.allow_compaction.format_option());
        put("age_for_warm", self.age_for_warm.format_option());
        put("max_table_files_size", self.max_table_files_size.format_option());
        text.push('}');
        text
    }
}

/// `{temperature=kWarm;age=10;}:{...}`, with or without braces around all of it.
fn parse_thresholds(text: &str) -> Option<Vec<FileTemperatureAge>> {
    let text = text.trim();
    let text = match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(inside) if inside.trim_start().starts_with('{') => inside.trim(),
        _ => text,
    };
    text.split(':').map(str::trim).filter(|element| !element.is_empty()).map(parse_threshold).collect()
}

fn parse_threshold(text: &str) -> Option<FileTemperatureAge> {
    let mut threshold = FileTemperatureAge { temperature: Temperature::Unknown, age: 0 };
    for (name, value) in parse_struct(text).ok()? {
        match name {
            "temperature" => threshold.temperature = OptionValue::parse_option(value)?,
            "age" => threshold.age = OptionValue::parse_option(value)?,
            _ => return None,
        }
    }
    Some(threshold)
}

fn format_thresholds(thresholds: &[FileTemperatureAge]) -> String {
    let element = |threshold: &FileTemperatureAge| {
        format!("{{temperature={};age={};}}", threshold.temperature.format_option(), threshold.age)
    };
    format!("{{{}}}", thresholds.iter().map(element).collect::<Vec<_>>().join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_their_text() {
        let text = "{use_kv_ratio_compaction=true;max_data_files_size=9;trivial_copy_buffer_size=8192;\
                    allow_trivial_copy_when_change_temperature=true;\
                    file_temperature_age_thresholds={{temperature=kWarm;age=10;}:{temperature=kCold;age=20;}};\
                    allow_compaction=true;age_for_warm=3;max_table_files_size=5;}";
        let options = CompactionOptionsFifo::parse_option(text).unwrap();
        assert_eq!(options.format_option(), text);
        assert_eq!(
            options.file_temperature_age_thresholds,
            [
                FileTemperatureAge { temperature: Temperature::Warm, age: 10 },
                FileTemperatureAge { temperature: Temperature::Cold, age: 20 }
            ]
        );
        let default = "{allow_compaction=false;age_for_warm=0;max_table_files_size=1073741824;}";
        assert_eq!(CompactionOptionsFifo::default().format_option(), default, "as 7.8 reads it");
        let of_11_8 = "{use_kv_ratio_compaction=false;max_data_files_size=0;trivial_copy_buffer_size=4096;\
                       allow_trivial_copy_when_change_temperature=false;file_temperature_age_thresholds=;\
                       allow_compaction=false;age_for_warm=0;max_table_files_size=1073741824;}";
        assert_eq!(CompactionOptionsFifo::parse_option(of_11_8), Some(CompactionOptionsFifo::default()));
    }

    #[test]
    fn a_text_changes_what_it_names() {
        let options = CompactionOptionsFifo { max_data_files_size: 7, ..CompactionOptionsFifo::default() };
        let changed = options.changed_by("{max_table_files_size=1m;ttl=5}").unwrap();
        assert_eq!((changed.max_table_files_size, changed.max_data_files_size), (1 << 20, 7));
        assert_eq!((options.limit_bytes(), CompactionOptionsFifo::default().limit_bytes()), (7, 1 << 30));
        assert_eq!(options.changed_by("23").unwrap().max_table_files_size, 23);
        assert_eq!(options.changed_by("{}").unwrap(), options);
        let one = options.changed_by("file_temperature_age_thresholds={age=10;temperature=kIce}").unwrap();
        let ice = FileTemperatureAge { temperature: Temperature::Ice, age: 10 };
        assert_eq!(one.file_temperature_age_thresholds, [ice]);
        for wrong in
            ["{max_table_files_size=x}", "{no_such_field=1}", "many", "{file_temperature_age_thresholds={age}}"]
        {
            assert_eq!(options.changed_by(wrong), None, "{wrong}");
        }
    }
}
