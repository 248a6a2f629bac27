//! The decoder against the crate `zstd-rs`, which has no unsafe code, and with the feature `native-codecs` against the
//! C library: sound and damaged frames, with and without dictionaries, in memory of just the right size.

use std::mem::MaybeUninit;

use zstd_rs::{
    CompressionConfig, Compressor, DecoderDictionary, Decompressor, Dictionary, DictionaryFormat, EncoderDictionary,
    FrameHeader,
};

use super::super::super::test_random::{TestRandom, cases, under_miri};
use super::{Decoder, ReadDictionary};

/// Text of words that come again, with stretches of noise and of one byte.
fn content(random: &mut TestRandom, size: usize) -> Vec<u8> {
    let words: Vec<Vec<u8>> = (0..200)
        .map(|_| (0..1 + random.below(12)).map(|_| b'a' + (random.below(26) * random.below(26) / 26) as u8).collect())
        .collect();
    let mut raw = Vec::new();
    while raw.len() < size {
        match random.below(40) {
            0 => raw.extend((0..random.below(200)).map(|_| random.next() as u8)),
            1 => raw.extend(std::iter::repeat_n(random.next() as u8, random.below(300))),
            _ => {
                let end = 1 + random.below(words.len());
                raw.extend(&words[random.below(end)]);
                raw.push(b' ');
            }
        }
    }
    raw.truncate(size);
    raw
}

/// A dictionary in the forms that each decoder needs.
struct Prepared {
    #[cfg(feature = "native-codecs")]
    bytes: Vec<u8>,
    ours: ReadDictionary,
    theirs: DecoderDictionary,
    encoder: EncoderDictionary,
}

impl Prepared {
    fn new(bytes: Vec<u8>, level: i32) -> Self {
        let parsed = Dictionary::new(&bytes, DictionaryFormat::Detect).unwrap();
        Self {
            ours: ReadDictionary::new(&bytes).unwrap(),
            encoder: EncoderDictionary::new(&parsed, level).unwrap(),
            theirs: DecoderDictionary::new(parsed).unwrap(),
            #[cfg(feature = "native-codecs")]
            bytes,
        }
    }
}

/// Decodes between two stretches of memory that must stay as they are.
fn decode_guarded(
    decoder: &mut Decoder,
    frame: &[u8],
    dictionary: Option<&ReadDictionary>,
    size: usize,
) -> Option<Vec<u8>> {
    const GUARD: usize = 128;
    const MARK: u8 = 0xa5;
    // Memory of just the right size, so that AddressSanitizer sees what is read beyond.
    let frame = Box::<[u8]>::from(frame);
    let header = FrameHeader::parse(&frame).ok()?;
    let mut memory = vec![MaybeUninit::new(MARK); size + 2 * GUARD];
    let result = decoder.decode(&frame, &header, dictionary, &mut memory[GUARD..GUARD + size]);
    // SAFETY: all of it was initialized when the vector was made.
    let memory: Vec<u8> = memory.iter().map(|byte| unsafe { byte.assume_init() }).collect();
    assert!(
        memory[..GUARD].iter().chain(&memory[GUARD + size..]).all(|byte| *byte == MARK),
        "written beyond the output"
    );
    let (written, consumed) = result.ok()?;
    (consumed == frame.len()).then(|| memory[GUARD..GUARD + written].to_vec())
}

fn decode_by_crate(frame: &[u8], dictionary: Option<&Prepared>, size: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let dictionary = dictionary.map(|dictionary| &dictionary.theirs);
    let consumed = Decompressor::new().decompress_frame(frame, dictionary, size, &mut out).ok()?;
    (consumed == frame.len()).then_some(out)
}

#[cfg(feature = "native-codecs")]
fn decode_by_c(frame: &[u8], dictionary: Option<&Prepared>, size: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; size];
    let mut context = zstd::zstd_safe::DCtx::create();
    let written = match dictionary {
        Some(dictionary) => context.decompress_using_dict(&mut out[..], frame, &dictionary.bytes),
        None => context.decompress(&mut out[..], frame),
    }
    .ok()?;
    out.truncate(written);
    Some(out)
}

#[derive(Default)]
struct Counts {
    sound: usize,
    damaged: usize,
    differing: usize,
}

fn compare(decoder: &mut Decoder, frame: &[u8], dictionary: Option<&Prepared>, size: usize, counts: &mut Counts) {
    let ours = decode_guarded(decoder, frame, dictionary.map(|dictionary| &dictionary.ours), size);
    let theirs = decode_by_crate(frame, dictionary, size);
    if let (Some(ours), Some(theirs)) = (&ours, &theirs) {
        assert!(ours == theirs, "another content");
    }
    counts.differing += usize::from(ours.is_some() != theirs.is_some());
    if ours.is_some() {
        counts.sound += 1;
    } else {
        counts.damaged += 1;
    }
    #[cfg(feature = "native-codecs")]
    {
        let c = decode_by_c(frame, dictionary, size);
        match (&ours, &c) {
            (Some(ours), Some(c)) => assert!(ours == c, "another content than C's"),
            (Some(_), None) => panic!("C refuses what is accepted"),
            // Blocks that are larger than the format allows, and what is not one frame.
            (None, _) => {}
        }
    }
}

fn frames(
    random: &mut TestRandom,
    sizes: &[usize],
    mut with: impl FnMut(&mut TestRandom, Vec<u8>, Vec<u8>, Option<&Prepared>),
) {
    let samples: Vec<u8> = content(random, 20_000);
    for level in under_miri(&[1][..], &[-5, 1, 3, 6, 12, 19]).iter().copied() {
        let raw_dictionary = &samples[..under_miri(300, 3000)];
        let mut dictionaries = vec![None, Some(Prepared::new(raw_dictionary.to_vec(), level))];
        if !cfg!(miri) {
            let trained = super::super::train::train(&samples, &[500; 40], 4000);
            assert!(trained.starts_with(&[0x37, 0xa4, 0x30, 0xec]));
            dictionaries.push(Some(Prepared::new(trained, level)));
        }
        for size in sizes.iter().filter(|size| **size <= under_miri(300, usize::MAX)) {
            for dictionary in &dictionaries {
                let mut raw = content(random, *size);
                for _ in 0..size / 100 {
                    // Half of it is in the dictionary, so that matches there lie between others.
                    let source = if random.below(2) == 0 { raw_dictionary } else { &samples[..] };
                    let (from, to) = (random.below(source.len() - 80), random.below(size.saturating_sub(80)));
                    raw[to..to + 80].copy_from_slice(&source[from..from + 80]);
                }
                let config = CompressionConfig {
                    level,
                    checksum: random.below(2) == 0,
                    content_size: random.below(3) > 0,
                    ..CompressionConfig::DEFAULT
                };
                let mut frame = Vec::new();
                let encoder = dictionary.as_ref().map(|dictionary| &dictionary.encoder);
                Compressor::new(config).unwrap().compress(&raw, encoder, &mut frame).unwrap();
                with(random, raw, frame, dictionary.as_ref());
            }
        }
    }
}

#[test]
fn frames_decode_to_what_they_were_made_of() {
    let mut decoder = Decoder::new();
    frames(
        &mut TestRandom::new(1),
        &[0, 1, 5, 40, 300, 4096, 20_000, 131_072, 300_000],
        |_, raw, frame, dictionary| {
            let ours = decode_guarded(&mut decoder, &frame, dictionary.map(|dictionary| &dictionary.ours), raw.len());
            assert!(ours.as_ref() == Some(&raw), "{} bytes", raw.len());
            if !raw.is_empty() {
                let cut =
                    decode_guarded(&mut decoder, &frame, dictionary.map(|dictionary| &dictionary.ours), raw.len() - 1);
                assert_eq!(cut, None);
            }
        },
    );
}

#[test]
fn damaged_frames_are_refused_or_decode_as_elsewhere() {
    let mut decoder = Decoder::new();
    let mut counts = Counts::default();
    let rounds = cases(60, 1000);
    frames(&mut TestRandom::new(2), &[40, 300, 1500, 9000], |random, raw, frame, dictionary| {
        for _ in 0..rounds {
            let mut damaged = frame.clone();
            for _ in 0..1 + random.below(3) {
                let end = 1 + random.below(damaged.len());
                let place = random.below(end);
                match random.below(5) {
                    0 => damaged[place] = random.next() as u8,
                    1 => damaged[place] ^= 1 << random.below(8),
                    2 => damaged[place] = damaged[place].wrapping_add(1),
                    3 => damaged.truncate(place + 1),
                    _ => damaged[place] = 0,
                }
            }
            let size = raw.len() + [0, 0, 1, 100, 5000][random.below(5)];
            compare(&mut decoder, &damaged, dictionary, size, &mut counts);
        }
        // Without its dictionary.
        if dictionary.is_some() {
            compare(&mut decoder, &frame, None, raw.len(), &mut counts);
        }
    });
    if cfg!(miri) {
        return;
    }
    assert!(counts.sound > 300 && counts.damaged > 1000, "{} sound, {} damaged", counts.sound, counts.damaged);
    assert!(counts.differing * 200 < counts.damaged, "{} of {} differ", counts.differing, counts.damaged);
}

#[test]
#[cfg_attr(miri, ignore = "training takes minutes there, and a dictionary is read by code without unsafe blocks")]
fn damaged_dictionaries_are_refused_as_elsewhere() {
    let mut random = TestRandom::new(3);
    let samples = content(&mut random, 20_000);
    let trained = super::super::train::train(&samples, &[500; 40], 4000);
    for _ in 0..cases(2000, 50_000) {
        let mut damaged = trained.clone();
        let place = random.below(220);
        damaged[place] = random.next() as u8;
        damaged.truncate(trained.len() - random.below(2) * random.below(trained.len() - 8));
        let theirs = Dictionary::new(&damaged, DictionaryFormat::Detect).and_then(DecoderDictionary::new);
        if ReadDictionary::new(&damaged).is_ok() != theirs.is_ok() {
            panic!("byte {place}: {:?}", ReadDictionary::new(&damaged).err());
        }
    }
}
