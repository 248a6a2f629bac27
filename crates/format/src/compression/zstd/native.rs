//! The backend of the feature `native-codecs`: the C library through the crate `zstd`.
//!
//! Needs a C compiler to build. Its frames and dictionaries are interchangeable
//! with the pure backend's; it encodes faster, most of all with dictionaries, and its trainer is the original.

use std::cell::RefCell;

use ferrock_base::{Error, Result};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, DDict, compress_bound, get_error_name};
use zstd_rs::FrameHeader;

thread_local! {
    static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// A dictionary prepared for decoding.
pub(in super::super) struct ReadDictionary(DDict<'static>);

impl ReadDictionary {
    /// Structured if `bytes` begin with the magic, otherwise history.
    pub(in super::super) fn new(bytes: &[u8]) -> Result<Self> {
        DDict::try_create(bytes).map(Self).ok_or_else(|| Error::corruption("zstd dictionary does not parse"))
    }
}

/// Appends the content of the frame, at most `limit` bytes; returns the frame's size.
pub(super) fn decompress_frame(
    frame: &[u8],
    _: &FrameHeader,
    dictionary: Option<&ReadDictionary>,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<usize> {
    out.resize(limit, 0);
    let decode = |slot: &mut Option<DCtx<'static>>, out: &mut [u8]| {
        let context = match slot {
            Some(context) => context,
            None => slot.insert(DCtx::try_create().ok_or_else(out_of_memory)?),
        };
        match dictionary {
            Some(dictionary) => context.decompress_using_ddict(out, frame, &dictionary.0),
            None => context.decompress(out, frame),
        }
        .map_err(|code| Error::corruption(format!("zstd frame: {}", get_error_name(code))))
    };
    let produced = match CONTEXT.try_with(|slot| decode(&mut slot.borrow_mut(), out)) {
        Ok(result) => result?,
        Err(_) => decode(&mut None, out)?,
    };
    out.truncate(produced);
    // The caller has walked the blocks: the input is one frame, and the library consumes all of it or fails.
    Ok(frame.len())
}

/// Encodes frames at one level.
pub(super) struct FrameEncoder(CCtx<'static>);

impl FrameEncoder {
    pub(super) fn new(level: i32, checksum: bool, dictionary: Option<&[u8]>) -> Result<Self> {
        let mut context = CCtx::try_create().ok_or_else(out_of_memory)?;
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(invalid)?;
        context.set_parameter(CParameter::ChecksumFlag(checksum)).map_err(invalid)?;
        if let Some(bytes) = dictionary {
            // The library parses a dictionary only at its first use: force that now, to return the error here.
            ReadDictionary::new(bytes)?;
            context.load_dictionary(bytes).map_err(invalid)?;
        }
        Ok(Self(context))
    }

    /// Appends one frame.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.resize(start + compress_bound(raw.len()), 0);
        let written = self.0.compress2(&mut out[start..], raw).map_err(invalid)?;
        out.truncate(start + written);
        Ok(())
    }
}

/// Makes a structured dictionary; empty if the samples are too few.
pub(super) fn train(samples: &[u8], sample_sizes: &[usize], max_size: usize) -> Vec<u8> {
    if sample_sizes.iter().sum::<usize>() != samples.len() {
        return Vec::new();
    }
    zstd::dict::from_continuous(samples, sample_sizes, max_size).unwrap_or_default()
}

fn invalid(code: usize) -> Error {
    Error::invalid_argument(format!("zstd compressor: {}", get_error_name(code)))
}

fn out_of_memory() -> Error {
    Error::invalid_argument("zstd: no memory for a context")
}
