//! The command line. One table of flags: parsing, help and refusals come from it.
//!
//! ```text
//! sst_dump FILE_OR_DIRECTORY ... [--command=COMMAND] [--flag | --flag=value ...]      flags stand anywhere
//! ```

use crate::{Failure, Result};
use ferrock::options::CompressionType;
use ferrock_console::text::from_hexadecimal;
use ferrock_table::BlockBasedTableOptions;
use ferrock_table::options::DataBlockIndexType;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The command for each table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Check,
    Scan,
    Raw,
    Verify,
    Identify,
    Recompress,
    None,
}

use Command::{Check, Identify, Raw, Recompress, Scan, Verify};

pub(crate) const COMMANDS: &[(&str, Command, &str)] = &[
    ("check", Check, "read every entry and every checksum, and print nothing but errors (the default)"),
    ("scan", Scan, "print every entry"),
    ("raw", Raw, "write everything the table consists of to <file name without .sst>_dump.txt, beside it"),
    ("verify", Verify, "read every block and check its checksum"),
    ("identify", Identify, "say which files are tables"),
    ("recompress", Recompress, "print the size of the table under other compressions"),
    ("none", Command::None, "do nothing but what the --show... and --list... flags ask for"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Switch,
    Value,
    /// A known flag that is not supported.
    Refused,
}

const ALL: &[Command] = &[Check, Scan, Raw, Verify, Identify, Recompress, Command::None];
const READING: &[Command] = &[Check, Scan];

/// Flags: name, kind, commands that take it, meaning.
const FLAGS: &[(&str, Kind, &[Command], &str)] = &[
    ("file", Kind::Value, ALL, "a table, or a directory of tables; stands also without --file="),
    ("command", Kind::Value, ALL, "what to do: see below"),
    ("output_hex", Kind::Switch, &[Scan], "print keys and values as hexadecimal digits"),
    ("decode_blob_index", Kind::Switch, &[Scan], "print what references to blob files refer to"),
    ("show_sequence_number_type", Kind::Switch, &[Raw], "print sequence numbers and types too"),
    ("from", Kind::Value, READING, "first user key"),
    ("to", Kind::Value, READING, "the user key before which to end"),
    ("prefix", Kind::Value, READING, "only user keys that begin with it; not together with --from"),
    ("input_key_hex", Kind::Switch, READING, "from, to and prefix are hexadecimal, beginning with 0x"),
    ("read_num", Kind::Value, READING, "entries to read at most, of all files together; 0 is no bound"),
    ("verify_checksum", Kind::Switch, READING, "check the checksums of data blocks while scanning; check always does"),
    ("readahead_size", Kind::Value, READING, "bytes to read at a time; default: 2097152"),
    ("show_properties", Kind::Switch, ALL, "print what the table says about itself"),
    ("show_summary", Kind::Switch, ALL, "print sums over all tables at the end"),
    (
        "show_statistics",
        Kind::Switch,
        ALL,
        "read every block, and print sizes of index and filter with their partitions, and how full hash indexes are",
    ),
    ("list_meta_blocks", Kind::Switch, ALL, "print the names and places of the meta blocks"),
    ("json", Kind::Switch, &[Check, Verify, Identify, Recompress, Command::None], "print one object for a program"),
    ("set_block_size", Kind::Value, &[Recompress], "bytes of a data block; default: 16384"),
    ("block_size", Kind::Value, &[Recompress], "the same"),
    ("compression_types", Kind::Value, &[Recompress], "names separated by commas; default: all"),
    ("compression_level", Kind::Value, &[Recompress], "the only level to try"),
    ("compression_level_from", Kind::Value, &[Recompress], "first level to try; goes with compression_level_to"),
    ("compression_level_to", Kind::Value, &[Recompress], "last level to try; goes with compression_level_from"),
    ("compression_max_dict_bytes", Kind::Value, &[Recompress], "bytes of the dictionary; default: 0, none"),
    ("compression_zstd_max_train_bytes", Kind::Value, &[Recompress], "bytes of samples to train zstd's dictionary on"),
    (
        "compression_max_dict_buffer_bytes",
        Kind::Value,
        &[Recompress],
        "data to buffer before the dictionary is made; 0 is the whole table",
    ),
    ("compression_strategy", Kind::Value, &[Recompress], "zlib's strategy, 0 to 4; default: 0"),
    (
        "compression_max_compressed_bytes_per_kb",
        Kind::Value,
        &[Recompress],
        "keep a compressed block if it takes so many bytes per KiB at most; default: 896",
    ),
    ("enable_index_compression", Kind::Value, &[Recompress], "true or false: compress index blocks too; default: true"),
    ("verify_compression", Kind::Value, &[Recompress], "true or false: decompress every block and compare"),
    (
        "block_based_table_options",
        Kind::Value,
        &[Recompress],
        "any options of the table as name=value;name=value, for example index_type=kTwoLevelIndexSearch",
    ),
    (
        "compression_use_zstd_finalize_dict",
        Kind::Switch,
        &[Recompress],
        "add entropy tables to the samples instead of choosing among them",
    ),
    ("parse_internal_key", Kind::Value, ALL, "print the parts of an internal key that is given as 0x..., and end"),
    ("env_uri", Kind::Refused, &[], "files are the machine's"),
    ("fs_uri", Kind::Refused, &[], "files are the machine's"),
    ("compression_manager", Kind::Refused, &[], "compressions are those that are built in"),
    ("compression_parallel_threads", Kind::Refused, &[], "one thread compresses a table"),
    ("compression_auto_skip", Kind::Refused, &[], "every block is tried"),
    ("compression_auto_skip_min_sample_every", Kind::Refused, &[], "every block is tried"),
];

/// A parsed command line.
#[derive(Clone, Debug)]
pub(crate) enum Parsed {
    Help,
    Version,
    InternalKey(Vec<u8>),
    Request(Box<Request>),
}

/// Which entries to read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Range {
    pub(crate) from: Option<Vec<u8>>,
    pub(crate) to: Option<Vec<u8>>,
    pub(crate) prefix: Option<Vec<u8>>,
    /// Entries at most.
    pub(crate) most: u64,
}

impl Range {
    /// True when it is every entry of a table.
    pub(crate) fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none() && self.prefix.is_none() && self.most == u64::MAX
    }
}

/// How to recompress.
#[derive(Clone, Debug)]
pub(crate) struct Recompression {
    pub(crate) table: BlockBasedTableOptions,
    pub(crate) types: Vec<CompressionType>,
    pub(crate) levels: (i32, i32),
    pub(crate) max_dict_bytes: u32,
    pub(crate) zstd_max_train_bytes: u32,
    pub(crate) max_dict_buffer_bytes: u64,
    pub(crate) use_zstd_dict_trainer: bool,
    pub(crate) strategy: i32,
    pub(crate) max_compressed_bytes_per_kb: i32,
}

/// What to do.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) command: Command,
    pub(crate) range: Range,
    pub(crate) recompression: Recompression,
    pub(crate) readahead_bytes: usize,
    flags: BTreeMap<&'static str, String>,
}

impl Request {
    /// True when a switch is on.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.flags.contains_key(name)
    }
}

/// Reads a command line.
pub(crate) fn parse(words: &[String]) -> Result<Parsed> {
    let mut flags = BTreeMap::new();
    let mut files = Vec::new();
    let mut has_flags = true;
    for word in words {
        match word.strip_prefix("--").filter(|_| has_flags) {
            Some("") => has_flags = false,
            Some("help") => return Ok(Parsed::Help),
            Some("version") => return Ok(Parsed::Version),
            Some(body) => {
                let (name, value) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value)));
                match flag(name, value)? {
                    ("file", path) => files.push(PathBuf::from(path)),
                    (name, value) => drop(flags.insert(name, value)),
                }
            }
            None => files.push(PathBuf::from(word)),
        }
    }
    if let Some(text) = flags.get("parse_internal_key") {
        return from_hexadecimal(text).map(Parsed::InternalKey).ok_or_else(|| not_hexadecimal(text));
    }
    let command = command(flags.get("command").map_or("", String::as_str))?;
    check(command, &flags)?;
    if files.is_empty() {
        return Err(usage("a table or a directory must be given: --file=<path>"));
    }
    let range = range(&flags)?;
    let recompression = recompression(&flags)?;
    let readahead_bytes = number(&flags, "readahead_size", 2 << 20)?;
    Ok(Parsed::Request(Box::new(Request { files, command, range, recompression, readahead_bytes, flags })))
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::Usage(message.into())
}

fn not_hexadecimal(text: &str) -> Failure {
    usage(format!("{text:?} is not hexadecimal: it is 0x and two digits a byte"))
}

fn command(name: &str) -> Result<Command> {
    if name.is_empty() {
        return Ok(Check);
    }
    let found = COMMANDS.iter().find(|(known, ..)| *known == name).map(|(_, command, _)| *command);
    found.ok_or_else(|| {
        let names: Vec<&str> = COMMANDS.iter().map(|(name, ..)| *name).collect();
        usage(format!("Unknown command {name}; there are {}", names.join(", ")))
    })
}

fn flag(name: &str, value: Option<&str>) -> Result<(&'static str, String)> {
    let Some((known, kind, _, meaning)) = FLAGS.iter().find(|(known, ..)| *known == name) else {
        return Err(usage(format!("Unrecognized argument --{name}")));
    };
    match (kind, value) {
        (Kind::Refused, _) => Err(usage(format!("Not implemented: --{name}: {meaning}"))),
        (Kind::Value, None) => Err(usage(format!("--{name} needs a value: --{name}=<value>"))),
        (Kind::Switch, Some(_)) => Err(usage(format!("--{name} takes no value"))),
        (_, value) => Ok((known, value.unwrap_or("true").to_owned())),
    }
}

fn check(command: Command, flags: &BTreeMap<&'static str, String>) -> Result<()> {
    let name_of = |wanted: Command| COMMANDS.iter().find(|row| row.1 == wanted).map_or("", |row| row.0);
    for (name, _, commands, _) in FLAGS.iter().filter(|(name, ..)| flags.contains_key(name)) {
        if !commands.contains(&command) {
            let takers: Vec<&str> = commands.iter().map(|taker| name_of(*taker)).collect();
            let (command, takers) = (name_of(command), takers.join(", "));
            return Err(usage(format!("--{name} means nothing to --command={command}; it goes with {takers}")));
        }
    }
    if flags.contains_key("prefix") && flags.contains_key("from") {
        return Err(usage("Cannot specify --prefix and --from"));
    }
    let has_level = |name| flags.contains_key(name);
    if has_level("compression_level_from") != has_level("compression_level_to") {
        return Err(usage("Specify both --compression_level_from and --compression_level_to"));
    }
    if has_level("compression_level") && has_level("compression_level_from") {
        return Err(usage("--compression_level is the only level; it does not go with --compression_level_from"));
    }
    Ok(())
}

fn number<T: std::str::FromStr>(flags: &BTreeMap<&'static str, String>, name: &str, default: T) -> Result<T> {
    let Some(text) = flags.get(name) else { return Ok(default) };
    text.parse().map_err(|_| usage(format!("--{name}={text}: a number in range is expected")))
}

fn range(flags: &BTreeMap<&'static str, String>) -> Result<Range> {
    let is_hex = flags.contains_key("input_key_hex");
    let key = |name: &str| -> Result<Option<Vec<u8>>> {
        let Some(text) = flags.get(name) else { return Ok(None) };
        let bytes = if is_hex { from_hexadecimal(text) } else { Some(text.as_bytes().to_vec()) };
        bytes.map(Some).ok_or_else(|| not_hexadecimal(text))
    };
    let most = match number(flags, "read_num", 0)? {
        0 => u64::MAX,
        most => most,
    };
    Ok(Range { from: key("from")?, to: key("to")?, prefix: key("prefix")?, most })
}

fn recompression(flags: &BTreeMap<&'static str, String>) -> Result<Recompression> {
    let default = ferrock_format::compression::CompressionOptions::default();
    let supported = || CompressionType::ALL.into_iter().filter(|kind| kind.is_supported());
    let types = match flags.get("compression_types") {
        None => supported().collect(),
        Some(names) => names.split(',').map(compression_type).collect::<Result<_>>()?,
    };
    let only = number(flags, "compression_level", default.level)?;
    let levels = (number(flags, "compression_level_from", only)?, number(flags, "compression_level_to", only)?);
    if levels.0 > levels.1 {
        return Err(usage(format!(
            "--compression_level_from={} is more than --compression_level_to={}",
            levels.0, levels.1
        )));
    }
    let recompression = Recompression {
        table: table_options(flags)?,
        types,
        levels,
        max_dict_bytes: number(flags, "compression_max_dict_bytes", default.max_dict_bytes)?,
        zstd_max_train_bytes: number(flags, "compression_zstd_max_train_bytes", default.zstd_max_train_bytes)?,
        max_dict_buffer_bytes: number(flags, "compression_max_dict_buffer_bytes", default.max_dict_buffer_bytes)?,
        use_zstd_dict_trainer: !flags.contains_key("compression_use_zstd_finalize_dict"),
        strategy: number(flags, "compression_strategy", default.strategy)?,
        max_compressed_bytes_per_kb: number(
            flags,
            "compression_max_compressed_bytes_per_kb",
            default.max_compressed_bytes_per_kb,
        )?,
    };
    if !(0..=4).contains(&recompression.strategy) {
        return Err(usage(format!("--compression_strategy={}: 0 to 4 are known", recompression.strategy)));
    }
    Ok(recompression)
}

/// The form of recompressed tables. A flag of its own overrides `--block_based_table_options`.
fn table_options(flags: &BTreeMap<&'static str, String>) -> Result<BlockBasedTableOptions> {
    let mut options = BlockBasedTableOptions { block_size: 16384, ..BlockBasedTableOptions::default() };
    let mut set = |flag: &str, name: &str, value: &str| match options.set(name, value) {
        Ok(true) => Ok(()),
        Ok(false) => Err(usage(format!("--{flag}: there is no table option {name}"))),
        Err(error) => Err(usage(format!("--{flag}: {}", error.message()))),
    };
    let rows = flags.get("block_based_table_options").map_or("", String::as_str);
    for row in rows.split(';').map(str::trim).filter(|row| !row.is_empty()) {
        let Some((name, value)) = row.split_once('=') else {
            return Err(usage(format!("--block_based_table_options: {row:?} is not name=value")));
        };
        set("block_based_table_options", name.trim(), value.trim())?;
    }
    for (flag, name) in [
        ("set_block_size", "block_size"),
        ("block_size", "block_size"),
        ("enable_index_compression", "enable_index_compression"),
        ("verify_compression", "verify_compression"),
    ] {
        if let Some(value) = flags.get(flag) {
            set(flag, name, value)?;
        }
    }
    if let Some(violation) = options.violations().first() {
        return Err(usage(violation.to_string()));
    }
    if options.data_block_index_type == DataBlockIndexType::Auto {
        return Err(usage("data_block_index_type=kDataBlockAuto follows the reads of an open database; here are none"));
    }
    if let Some(option) = options.unsupported_for_writing().first() {
        return Err(usage(format!("Not implemented: {option}")));
    }
    Ok(options)
}

fn compression_type(name: &str) -> Result<CompressionType> {
    CompressionType::from_option_name(name).filter(|kind| kind.is_supported()).ok_or_else(|| {
        let supported = CompressionType::ALL.into_iter().filter(|kind| kind.is_supported());
        let names: Vec<&str> = supported.map(CompressionType::option_name).collect();
        usage(format!("{name} is not a valid CompressionType; there are {}", names.join(", ")))
    })
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = "sst_dump looks into table files, as RocksDB's tool of that name does.\n\n\
        usage: sst_dump <table or directory> .. [--command=<command>] [--flag | --flag=<value> ..]\n\nCommands:\n"
        .to_owned();
    for (name, _, meaning) in COMMANDS {
        let _ = writeln!(text, "  {name:<10} {meaning}");
    }
    for (title, is_wanted) in [
        ("Flags of all commands:", (|commands| commands == ALL) as fn(&[Command]) -> bool),
        ("Flags of check and scan:", |commands| commands != ALL && commands.contains(&Scan)),
        ("Flags of raw:", |commands| commands == [Raw]),
        ("Flags of recompress:", |commands| commands == [Recompress]),
        ("Flags of all commands but scan and raw:", |commands| commands.len() == 5),
    ] {
        let _ = writeln!(text, "\n{title}");
        for (name, kind, commands, meaning) in FLAGS {
            if *kind != Kind::Refused && is_wanted(commands) {
                let value = if *kind == Kind::Value { "=<value>" } else { "" };
                let only = if *commands == [Scan] { " (scan)" } else { "" };
                let _ = writeln!(text, "  --{name}{value} : {meaning}{only}");
            }
        }
    }
    text.push_str("\nFlags of RocksDB's sst_dump that are not here:\n");
    for (name, _, _, reason) in FLAGS.iter().filter(|(_, kind, ..)| *kind == Kind::Refused) {
        let _ = writeln!(text, "  --{name} : {reason}");
    }
    text.push_str(EXAMPLES);
    text
}

const EXAMPLES: &str = "
Examples:
  sst_dump /data/db                                          is every table of a database readable and whole?
  sst_dump /data/db/000012.sst --command=scan --from=user1 --to=user2
                                                             what is in a table, all versions
  sst_dump /data/db/000012.sst --command=scan --prefix=0x00FF --input_key_hex --output_hex --read_num=10
                                                             the same of binary keys
  sst_dump /data/db --command=none --show_summary --show_statistics
                                                             how large are index and filters, with their partitions?
  sst_dump /data/db/000012.sst --command=none --show_statistics --json | jq .files[0].statistics.hash_index
                                                             how many lookups fall back to bisection?
  sst_dump /data/db/000012.sst --command=recompress --compression_types=kLZ4Compression,kZSTD --set_block_size=32768
                                                             would another compression pay?
  sst_dump /data/db/000012.sst --command=recompress --compression_types=kNoCompression \\
      '--block_based_table_options=data_block_index_type=kDataBlockBinaryAndHash;data_block_hash_table_util_ratio=0.5'
                                                             how much larger would hash indexes make it?

Exit codes:
  0   all is well
  1   a table is damaged
  2   the work could not be done
  64  the command line is wrong, or asks for what is not here
";

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> std::result::Result<Request, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&words) {
            Ok(Parsed::Request(request)) => Ok(*request),
            Ok(other) => Err(format!("{other:?}")),
            Err(Failure::Usage(message)) => Err(message),
            Err(other) => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn flags_stand_anywhere() {
        let found = request("a.sst --command=scan --from=0x61 --input_key_hex --read_num=3 --file=b").unwrap();
        assert_eq!(found.files, [PathBuf::from("a.sst"), PathBuf::from("b")]);
        assert_eq!((found.command, found.range.from, found.range.most), (Scan, Some(b"a".to_vec()), 3));
        let found = request("--file=a --command=scan --prefix=0x61").unwrap();
        assert_eq!(found.range.prefix.as_deref(), Some(&b"0x61"[..]));
        let found = request("x -- --json").unwrap();
        assert_eq!((found.command, found.files.len(), found.range.is_all()), (Check, 2, true));
        let line = "x --command=recompress --compression_types=kZSTD,kLZ4Compression --compression_level_from=1 \
             --compression_level_to=3 --set_block_size=4096";
        let found = request(line).unwrap().recompression;
        assert_eq!((found.levels, found.table.block_size), ((1, 3), 4096));
        assert_eq!(found.types, [CompressionType::Zstd, CompressionType::Lz4]);
        assert_eq!(request("x").unwrap().recompression.types.len(), 7);
        let line = "x --command=recompress --block_based_table_options=format_version=5;block_size=1;checksum=kCRC32c \
             --block_size=99 --enable_index_compression=false";
        let found = request(line).unwrap().recompression.table;
        assert_eq!((found.format_version, found.block_size, found.enable_index_compression), (5, 99, false));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for line in [
            "",
            "x --command=frob",
            "x --foo",
            "x --read_num",
            "x --read_num=many",
            "x --json=yes",
            "x --command=scan --json",
            "x --output_hex",
            "x --command=verify --from=a",
            "x --from=a --prefix=b",
            "x --from=61 --input_key_hex",
            "x --set_block_size=4096",
            "x --command=recompress --set_block_size=0",
            "x --command=recompress --compression_level_from=3",
            "x --command=recompress --compression_level_from=3 --compression_level_to=1",
            "x --command=recompress --compression_types=kBest",
            "x --command=recompress --compression_types=kXpressCompression",
            "x --command=recompress --compression_strategy=5",
            "x --command=recompress --verify_compression=perhaps",
            "x --command=recompress --block_based_table_options=index_type=kSometimes",
            "x --command=recompress --block_based_table_options=colour=red",
            "x --command=recompress --block_based_table_options=data_block_index_type=kDataBlockAuto",
            "x --command=recompress --block_based_table_options=index_type",
            "x --command=recompress --block_based_table_options=block_size=0",
            "x --command=recompress --block_based_table_options=user_defined_index_factory=trie",
            "x --env_uri=hdfs://",
            "--parse_internal_key=61",
        ] {
            assert!(request(line).is_err(), "{line}");
        }
        assert_eq!(request("x --fs_uri=y").unwrap_err().split(": ").next(), Some("Not implemented"));
        assert!(request("x --command=scan --block_size=1").unwrap_err().contains("it goes with recompress"));
    }

    #[test]
    fn the_table_is_sound() {
        let help = help();
        for (name, ..) in FLAGS {
            assert_eq!(
                help.matches(&format!("  --{name} ")).count() + help.matches(&format!("  --{name}=<")).count(),
                1,
                "{name}"
            );
            assert_eq!(FLAGS.iter().filter(|(other, ..)| other == name).count(), 1, "{name}");
        }
        for (name, command, _) in COMMANDS {
            assert!(ALL.contains(command) && help.contains(&format!("\n  {name} ")), "{name}");
        }
    }
}
