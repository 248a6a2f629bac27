//! Texts that the codecs' own enums have in an OPTIONS file.

use crate::compression::CompressionType;
use crate::log::WalRecoveryMode;
use ferrock_base::option_table::OptionValue;

impl OptionValue for CompressionType {
    fn parse_option(text: &str) -> Option<Self> {
        Self::from_option_name(text.trim())
    }
    fn format_option(&self) -> String {
        self.option_name().to_owned()
    }
}

impl OptionValue for WalRecoveryMode {
    fn parse_option(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }
    fn format_option(&self) -> String {
        self.option_name().to_owned()
    }
}
