//! Making the dictionary of a table from samples of its data blocks.

#[cfg(feature = "zstd")]
use super::zstd;
use super::{CompressionOptions, CompressionType};

/// Builds the content of the dictionary block from `samples`, which lie one after the other with the given
/// sizes. Empty if the options ask for no dictionary or the samples are too few to train from.
///
/// With `zstd_max_train_bytes` set, Zstandard gets a structured dictionary: trained, or (with
/// `use_zstd_dict_trainer` off) the samples with entropy tables. Otherwise the samples themselves are the
/// dictionary.
#[must_use]
pub fn build_dictionary(
    compression_type: CompressionType,
    options: &CompressionOptions,
    samples: &[u8],
    sample_sizes: &[usize],
) -> Vec<u8> {
    let max_size = usize::try_from(options.max_dict_bytes).unwrap_or(usize::MAX);
    if max_size == 0 || samples.is_empty() {
        return Vec::new();
    }
    #[cfg(feature = "zstd")]
    if compression_type == CompressionType::Zstd && options.zstd_max_train_bytes > 0 {
        return zstd::train(samples, sample_sizes, max_size, options);
    }
    samples[..samples.len().min(max_size)].to_vec()
}
