//! The command line. One table of commands and one of flags: parsing, help and refusals come from them.
//!
//! ```text
//! ldb --db=DIR COMMAND [ARGUMENT ...] [--flag | --flag=value ...]      flags stand anywhere
//! ```

use crate::text::Texts;
use crate::{Failure, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A command: its name, how many arguments it takes (least and most), their names, its description, its own flags.
pub(crate) struct CommandInfo {
    pub(crate) name: &'static str,
    arguments: (usize, usize),
    usage: &'static str,
    help: &'static str,
    flags: &'static [&'static str],
}

const fn command(
    name: &'static str,
    arguments: (usize, usize),
    usage: &'static str,
    help: &'static str,
    flags: &'static [&'static str],
) -> CommandInfo {
    CommandInfo { name, arguments, usage, help, flags }
}

const RANGE: [&str; 2] = ["from", "to"];
const WRITE: &[&str] = &["disable_wal"];
const BACKUP: &[&str] = &["backup_dir", "num_threads"];

pub(crate) const COMMANDS: &[CommandInfo] = &[
    command("get", (1, 1), "<key>", "print the value of a key", &[]),
    command("multi_get", (1, usize::MAX), "<key> [<key>] [..]", "print the values of keys", &[]),
    command("get_entity", (1, 1), "<key>", "print the columns of a key", &[]),
    command("multi_get_entity", (1, usize::MAX), "<key> [<key>] [..]", "print the columns of keys", &[]),
    command("put", (2, 2), "<key> <value>", "set the value of a key", &["create_if_missing", "disable_wal"]),
    command(
        "batchput",
        (2, usize::MAX),
        "<key> <value> [<key> <value>] [..]",
        "set the values of keys, all or none",
        &["create_if_missing", "disable_wal"],
    ),
    command(
        "put_entity",
        (2, usize::MAX),
        "<key> <column name>:<column value> [..]",
        "set the columns of a key",
        &["create_if_missing", "disable_wal"],
    ),
    command("delete", (1, 1), "<key>", "remove a key", WRITE),
    command("singledelete", (1, 1), "<key>", "remove a key that was put once", WRITE),
    command(
        "deleterange",
        (2, 2),
        "<begin key> <end key>",
        "remove the keys from one up to, and without, the other",
        WRITE,
    ),
    command("merge", (2, 2), "<key> <operand>", "merge an operand into the value of a key", WRITE),
    command(
        "query",
        (0, 0),
        "",
        "get, put, delete and count, a line each, from standard input",
        &["create_if_missing"],
    ),
    command("scan", (0, 0), "", "print keys and values", &[RANGE[0], RANGE[1], "max_keys", "no_value"]),
    command(
        "dump",
        (0, 0),
        "",
        "print keys and values, in the form that load reads",
        &[RANGE[0], RANGE[1], "max_keys", "count_only", "stats"],
    ),
    command(
        "idump",
        (0, 0),
        "",
        "print every version of keys",
        &[RANGE[0], RANGE[1], "input_key_hex", "max_keys", "count_only", "stats", "decode_blob_index"],
    ),
    command(
        "load",
        (0, 0),
        "",
        "write what dump printed, from standard input",
        &["create_if_missing", "disable_wal", "bulk_load", "compact"],
    ),
    command(
        "write_extern_sst",
        (1, 1),
        "<output_sst_path>",
        "write a table for ingest_extern_sst, from lines as load reads them, in the order of their keys",
        &["create_if_missing"],
    ),
    command(
        "ingest_extern_sst",
        (1, 1),
        "<input_sst_path>",
        "take a table into the database",
        &[
            "create_if_missing",
            "move_files",
            "snapshot_consistency",
            "allow_global_seqno",
            "allow_blocking_flush",
            "ingest_behind",
            "write_global_seqno",
        ],
    ),
    command("approxsize", (0, 0), "", "about how many bytes a range of keys takes", &RANGE),
    command("compact", (0, 0), "", "compact a range of keys, or all", &RANGE),
    command("checkconsistency", (0, 0), "", "are all files there, in their sizes, and in order?", &[]),
    command("list_column_families", (0, 0), "", "print the names of the column families", &[]),
    command("create_column_family", (1, 1), "<name>", "create a column family", &[]),
    command("drop_column_family", (1, 1), "<name>", "drop a column family", &[]),
    command("get_property", (1, 1), "<property>", "print a property of the database", &[]),
    command(
        "dump_wal",
        (0, 0),
        "",
        "print the records of a log file",
        &["walfile", "header", "print_value", "write_committed"],
    ),
    command(
        "repair",
        (0, 0),
        "",
        "salvage what is intact, and write a new MANIFEST; the rest goes to lost/",
        &["verbose"],
    ),
    command("checkpoint", (0, 0), "", "copy the database to --checkpoint_dir", &["checkpoint_dir"]),
    command("backup", (0, 0), "", "add a backup of the database to a directory of backups", BACKUP),
    command("restore", (0, 0), "", "restore the newest backup of a directory into --db, over what is there", BACKUP),
    command(
        "unsafe_remove_sst_file",
        (1, 1),
        "<SST file number>",
        "take a table out of a database that is closed, with all that it holds",
        &[],
    ),
    command(
        "update_manifest",
        (0, 0),
        "",
        "are all tables there? Files of the machine tell no temperatures to be noted",
        &["update_temperatures"],
    ),
    command(
        "reduce_levels",
        (0, 0),
        "",
        "compact a column family, and bring it into fewer levels",
        &["new_levels", "print_old_levels"],
    ),
    command(
        "change_compaction_style",
        (0, 0),
        "",
        "make a column family that was compacted by levels one of universal compaction",
        &["old_compaction_style", "new_compaction_style"],
    ),
    command(
        "dump_live_files",
        (0, 0),
        "",
        "print all that the MANIFEST, the tables, the blob files and the logs hold",
        &["decode_blob_index", "dump_uncompressed_blobs"],
    ),
    command("list_live_files_metadata", (0, 0), "", "print the live tables and blob files", &["sort_by_filename"]),
    command("list_file_range_deletes", (0, 0), "", "print the range tombstones of tables", &["max_keys"]),
    command("file_checksum_dump", (0, 0), "", "print the checksums of whole files that the MANIFEST has", &[]),
    command("manifest_dump", (0, 0), "", "print what a MANIFEST holds", &["path", "verbose"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Switch,
    /// Takes true or false, or stands alone for true.
    Bool,
    Value,
    /// A known flag that is not supported.
    Refused,
}

/// Flags: name, kind, whether every command takes it, meaning.
const FLAGS: &[(&str, Kind, bool, &str)] = &[
    ("db", Kind::Value, true, "directory of the database"),
    ("column_family", Kind::Value, true, "column family to work on; default: default"),
    ("hex", Kind::Switch, true, "keys and values are hexadecimal, beginning with 0x"),
    ("key_hex", Kind::Switch, true, "keys are"),
    ("value_hex", Kind::Switch, true, "values are"),
    (
        "try_load_options",
        Kind::Bool,
        true,
        "open with the options of the directory's OPTIONS file (default); false: with the defaults",
    ),
    (
        "ignore_unknown_options",
        Kind::Bool,
        true,
        "go on when the OPTIONS file has unknown options; that is always done",
    ),
    ("disable_consistency_checks", Kind::Switch, true, "do not check the order of files"),
    ("bloom_bits", Kind::Value, true, "new tables have Bloom filters of so many bits per key"),
    ("fix_prefix_len", Kind::Value, true, "bytes of the prefix that filters go by"),
    ("compression_type", Kind::Value, true, "no, snappy, zlib, bzip2, lz4, lz4hc or zstd, for new tables"),
    ("compression_max_dict_bytes", Kind::Value, true, "bytes of the compression dictionary of new tables"),
    ("block_size", Kind::Value, true, "bytes of a block of new tables"),
    ("auto_compaction", Kind::Bool, true, "compact in the background while the command runs"),
    ("db_write_buffer_size", Kind::Value, true, "bytes of all memtables together"),
    ("write_buffer_size", Kind::Value, true, "bytes of a memtable"),
    ("file_size", Kind::Value, true, "bytes of a new table"),
    ("create_if_missing", Kind::Switch, false, "create the database when there is none"),
    ("disable_wal", Kind::Switch, false, "write without the log"),
    ("bulk_load", Kind::Switch, false, "write without the log and without compactions, and flush at the end"),
    ("compact", Kind::Switch, false, "compact everything at the end"),
    ("from", Kind::Value, false, "first key"),
    ("to", Kind::Value, false, "the key before which to end"),
    ("max_keys", Kind::Value, false, "keys at most"),
    ("no_value", Kind::Switch, false, "keys alone"),
    ("count_only", Kind::Switch, false, "the number of keys alone"),
    ("stats", Kind::Switch, false, "print the statistics of the database first"),
    ("input_key_hex", Kind::Switch, false, "from and to are hexadecimal, beginning with 0x"),
    ("decode_blob_index", Kind::Switch, false, "print what references to blob files refer to"),
    ("walfile", Kind::Value, false, "the log file"),
    ("header", Kind::Switch, false, "print a line of titles first"),
    ("print_value", Kind::Switch, false, "print values too"),
    (
        "write_committed",
        Kind::Bool,
        false,
        "transactions were written when they committed; false: when they were prepared",
    ),
    ("move_files", Kind::Bool, false, "the table becomes the database's, and is not copied"),
    ("snapshot_consistency", Kind::Bool, false, "snapshots that there are do not see the table (default)"),
    ("allow_global_seqno", Kind::Bool, false, "the table may get a sequence number (default)"),
    ("allow_blocking_flush", Kind::Bool, false, "a memtable that has keys of the table is flushed (default)"),
    ("ingest_behind", Kind::Bool, false, "keys that are there win over those of the table"),
    ("write_global_seqno", Kind::Bool, false, "the sequence number is written into the table, too (default)"),
    ("path", Kind::Value, false, "the MANIFEST file; default: the one in use"),
    ("verbose", Kind::Switch, false, "print every edit too"),
    ("checkpoint_dir", Kind::Value, false, "the directory of the copy; must not exist"),
    ("backup_dir", Kind::Value, false, "the directory of backups"),
    ("num_threads", Kind::Value, false, "files that are copied at once; default: 1"),
    ("old_compaction_style", Kind::Value, false, "0 for level compaction, 1 for universal compaction"),
    ("new_compaction_style", Kind::Value, false, "0 for level compaction, 1 for universal compaction"),
    ("dump_uncompressed_blobs", Kind::Switch, false, "print the values of blob files as they were before compression"),
    ("new_levels", Kind::Value, false, "levels that the column family is to have, 2 or more"),
    ("print_old_levels", Kind::Switch, false, "print how many levels have tables first"),
    ("sort_by_filename", Kind::Switch, false, "one list, sorted by name"),
    ("update_temperatures", Kind::Bool, false, "note the temperatures that files tell (default)"),
    ("backup_env_uri", Kind::Refused, true, "files are the machine's"),
    ("backup_fs_uri", Kind::Refused, true, "files are the machine's"),
    ("stderr_log_level", Kind::Refused, true, "backups write no log; `ferrock backup` shows a bar"),
    ("ttl", Kind::Switch, true, "values carry the time of their write, which is put behind them and not printed"),
    ("env_uri", Kind::Refused, true, "files are the machine's"),
    ("fs_uri", Kind::Refused, true, "files are the machine's"),
    ("secondary_path", Kind::Value, true, "read as a secondary instance, whose LOG goes into this directory"),
    ("leader_path", Kind::Value, true, "read as a follower of the database there; --db is the follower's directory"),
    ("enable_blob_files", Kind::Switch, true, "large values go into blob files"),
    ("min_blob_size", Kind::Value, true, "bytes from which on a value is large"),
    ("blob_file_size", Kind::Value, true, "bytes of a blob file"),
    ("blob_compression_type", Kind::Value, true, "as compression_type, for values in blob files"),
    ("enable_blob_garbage_collection", Kind::Switch, true, "compactions empty old blob files"),
    ("read_timestamp", Kind::Refused, true, "keys with timestamps are not opened"),
    ("timestamp", Kind::Refused, true, "databases whose values carry a time to live are not opened"),
    ("start_time", Kind::Refused, true, "databases whose values carry a time to live are not opened"),
    ("end_time", Kind::Refused, true, "databases whose values carry a time to live are not opened"),
    ("bucket", Kind::Refused, true, "databases whose values carry a time to live are not opened"),
    ("count_delim", Kind::Refused, true, "keys are counted all together"),
    ("json", Kind::Refused, true, "`ferrock digest --json` is for programs"),
];

/// The request of the command line.
pub(crate) enum Parsed {
    Help,
    Version,
    Request(Request),
}

/// First key, and the one before which to end.
pub(crate) type Bounds = (Option<Vec<u8>>, Option<Vec<u8>>);

/// A command with its arguments and flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) command: &'static str,
    pub(crate) arguments: Vec<String>,
    flags: BTreeMap<&'static str, String>,
}

/// Reads a command line.
pub(crate) fn parse(words: &[String]) -> Result<Parsed> {
    let mut request = Request::default();
    let mut command = None;
    for word in words {
        if let Some(body) = word.strip_prefix("--") {
            let (name, value) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value)));
            match name {
                "help" => return Ok(Parsed::Help),
                "version" => return Ok(Parsed::Version),
                _ => {
                    let (name, value) = flag(name, value)?;
                    request.flags.insert(name, value);
                }
            }
        } else if command.is_none() {
            command = Some(find(word)?);
        } else {
            request.arguments.push(word.clone());
        }
    }
    let Some(command) = command else { return Err(Failure::Usage("no command is given".to_owned())) };
    request.command = command.name;
    check(command, &request)?;
    Ok(Parsed::Request(request))
}

fn find(name: &str) -> Result<&'static CommandInfo> {
    if name == "help" {
        return Err(Failure::Usage("help is a flag".to_owned()));
    }
    COMMANDS.iter().find(|command| command.name == name).ok_or_else(|| {
        let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        Failure::Usage(format!("Unknown command {name}; there are {}", names.join(", ")))
    })
}

fn flag(name: &str, value: Option<&str>) -> Result<(&'static str, String)> {
    let wrong = |message: String| Err(Failure::Usage(message));
    let Some((known, kind, _, meaning)) = FLAGS.iter().find(|(known, ..)| *known == name) else {
        return wrong(format!("Invalid command-line option {name}"));
    };
    match (kind, value) {
        (Kind::Refused, _) => wrong(format!("Not implemented: --{name}: {meaning}")),
        (Kind::Value, None) => wrong(format!("--{name} needs a value: --{name}=<value>")),
        (Kind::Switch, Some(value)) if value != "true" => wrong(format!("--{name} takes no value")),
        (Kind::Bool, Some(value)) if !["true", "false"].contains(&value) => {
            wrong(format!("--{name}={value}: true or false is expected"))
        }
        (_, value) => Ok((known, value.unwrap_or("true").to_owned())),
    }
}

fn check(command: &CommandInfo, request: &Request) -> Result<()> {
    let (least, most) = command.arguments;
    let count = request.arguments.len();
    if count < least || count > most {
        return Err(Failure::Usage(
            format!("usage: ldb --db=<directory> {} {}", command.name, command.usage).trim_end().to_owned(),
        ));
    }
    for name in request.flags.keys() {
        let is_global = FLAGS.iter().any(|(known, _, is_global, _)| known == name && *is_global);
        if !is_global && !command.flags.contains(name) {
            return Err(Failure::Usage(format!(
                "Invalid command-line option {name}: {} has no such flag",
                command.name
            )));
        }
    }
    Ok(())
}

impl Request {
    /// The value of a flag.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.flags.get(name).map(String::as_str)
    }

    /// True when a switch is on.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// The value of a flag that is a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let wrong = || Failure::Usage(format!("--{name}={text}: a number is expected"));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// The value of a flag that counts something; negative: no bound.
    pub(crate) fn count(&self, name: &str) -> Result<u64> {
        Ok(self.number(name)?.and_then(|count| u64::try_from(count).ok()).unwrap_or(u64::MAX))
    }

    /// How keys and values are written.
    pub(crate) fn texts(&self) -> Texts {
        let is_hex = self.is_set("hex");
        Texts { is_key_hex: is_hex || self.is_set("key_hex"), is_value_hex: is_hex || self.is_set("value_hex") }
    }

    /// The bounds of a range.
    pub(crate) fn range(&self) -> Result<Bounds> {
        let mut texts = self.texts();
        texts.is_key_hex |= self.is_set("input_key_hex");
        let key = |name| self.get(name).map(|text| texts.key_from(text)).transpose();
        Ok((key("from")?, key("to")?))
    }
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = "ldb looks into a database and changes it, as RocksDB's tool of that name does.\n\n\
        usage: ldb --db=<directory> <command> [<argument> ..] [--flag | --flag=<value> ..]\n\nCommands:\n"
        .to_owned();
    for command in COMMANDS {
        let flags: Vec<String> = command.flags.iter().map(|flag| format!("[--{flag}]")).collect();
        let words = [command.name, command.usage, &flags.join(" ")].map(str::to_owned).join(" ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "  {words}\n      {}", command.help);
    }
    for (title, wanted) in [("Flags of all commands:", true), ("Flags of some commands:", false)] {
        let _ = writeln!(text, "\n{title}");
        for (name, kind, is_global, meaning) in FLAGS {
            if *is_global == wanted && *kind != Kind::Refused {
                let value = if *kind == Kind::Value { "=<value>" } else { "" };
                let _ = writeln!(text, "  --{name}{value} : {meaning}");
            }
        }
    }
    text.push_str("\nFlags of RocksDB's ldb that are not here:\n");
    for (name, _, _, reason) in FLAGS.iter().filter(|(_, kind, ..)| *kind == Kind::Refused) {
        let _ = writeln!(text, "  --{name} : {reason}");
    }
    text.push_str(
        "\nExamples:\n  ldb --db=/data/db scan --from=user1 --to=user2 --max_keys=10\n  \
         ldb --db=/data/db get 0x6B6579 --hex\n  ldb --db=/data/old dump --hex | ldb --db=/data/new load --hex --create_if_missing\n  \
         ldb dump_wal --walfile=/data/db/000012.log --header\n\nExit codes:\n  0   all is well\n  \
         1   the key is not there, or the data is damaged\n  2   the work could not be done\n  \
         64  the command line is wrong, or asks for what is not here\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> std::result::Result<Request, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&words) {
            Ok(Parsed::Request(request)) => Ok(request),
            Ok(_) => Err("help".to_owned()),
            Err(Failure::Usage(message)) => Err(message),
            Err(other) => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn flags_stand_anywhere() {
        let found = request("--db=/x scan --hex --from=0x61 --max_keys=3").unwrap();
        assert_eq!((found.command, found.get("db"), found.count("max_keys").unwrap()), ("scan", Some("/x"), 3));
        assert_eq!(found.range().unwrap(), (Some(b"a".to_vec()), None));
        assert!(found.texts().is_key_hex && found.texts().is_value_hex);
        let found = request("put k v --db=/x --try_load_options=false --value_hex").unwrap();
        assert_eq!(found.arguments, ["k", "v"]);
        assert!(!found.is_set("try_load_options") && !found.texts().is_key_hex);
        assert_eq!(request("idump --from=0x61 --input_key_hex").unwrap().range().unwrap().0, Some(b"a".to_vec()));
        assert_eq!(request("scan --max_keys=-1").unwrap().count("max_keys").unwrap(), u64::MAX);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for line in [
            "",
            "frob",
            "get",
            "get a b",
            "batchput",
            "scan --foo",
            "scan --max_keys",
            "scan --no_value=7",
            "get k --verbose",
            "scan --ttl=7",
            "put k v --auto_compaction=perhaps",
            "help",
        ] {
            assert!(request(line).is_err(), "{line}");
        }
        assert_eq!(request("scan --timestamp").unwrap_err().split(": ").next(), Some("Not implemented"));
        assert!(request("scan --max_keys=x").unwrap().count("max_keys").is_err());
        assert!(request("scan --hex --from=61").unwrap().range().is_err());
    }

    #[test]
    fn the_tables_are_sound() {
        for command in COMMANDS {
            assert!(help().contains(command.help), "{}", command.name);
            for flag in command.flags {
                assert!(FLAGS.iter().any(|(known, _, is_global, _)| known == flag && !is_global), "{flag}");
            }
        }
        for (name, _, is_global, _) in FLAGS {
            assert_eq!(FLAGS.iter().filter(|(other, ..)| other == name).count(), 1, "{name}");
            assert!(
                *is_global || COMMANDS.iter().any(|command| command.flags.contains(name)),
                "no command takes --{name}"
            );
        }
    }
}
