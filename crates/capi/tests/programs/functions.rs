//! The functions of the C interface: the list of all of them, what the headers declare, what the tables of the library
//! say is not built, and a program made of these that calls every function that is not built.

use super::CRATE;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Every function of the interface with its state: `works`, `kept` or `not-built`.
pub(crate) fn listed() -> BTreeMap<String, String> {
    let lines = include_str!("../c/functions.txt").lines().filter(|line| !line.is_empty());
    lines.map(|line| line.split_once(' ').unwrap()).map(|(name, state)| (name.to_owned(), state.to_owned())).collect()
}

pub(crate) fn of_state(listed: &BTreeMap<String, String>, state: &str) -> BTreeSet<String> {
    listed.iter().filter(|(_, its)| *its == state).map(|(name, _)| name.clone()).collect()
}

/// The text of every file of a directory, and of those below it, that has one of these endings.
fn texts(directory: &Path, endings: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(texts(&path, endings));
        } else if path.extension().is_some_and(|ending| endings.iter().any(|known| *known == ending)) {
            all.push(std::fs::read_to_string(&path).unwrap());
        }
    }
    all
}

/// The names of functions in a text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("rocksdb_"))
}

/// Every function that a program of the tests names.
pub(crate) fn programs() -> BTreeSet<String> {
    let sources = texts(Path::new(&format!("{CRATE}/tests/c")), &["c", "h"]);
    sources.iter().flat_map(|source| names_in(source).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The bodies of the tables made with a macro, over all sources of the library.
fn tables(name: &str) -> Vec<String> {
    let mut bodies = Vec::new();
    for source in texts(Path::new(&format!("{CRATE}/src")), &["rs"]) {
        let start = format!("\n{name}! {{\n");
        let mut rest = &source[..];
        while let Some(at) = rest.find(&start) {
            rest = &rest[at + start.len()..];
            let end = rest.find("\n}").unwrap();
            bodies.push(rest[..end].to_owned());
        }
    }
    bodies
}

/// The functions in the tables of these macros.
pub(crate) fn in_tables(macros: &[&str]) -> BTreeSet<String> {
    let known = listed();
    let bodies = macros.iter().flat_map(|name| tables(name));
    let names: Vec<String> = bodies.flat_map(|body| names_in(&body).map(str::to_owned).collect::<Vec<_>>()).collect();
    names.into_iter().filter(|name| known.contains_key(name)).collect()
}

/// A declaration: the type that a function gives, and type and name of each parameter.
pub(crate) struct Declaration {
    gives: String,
    parameters: Vec<(String, String)>,
}

/// What the headers declare.
pub(crate) fn declared() -> BTreeMap<String, Declaration> {
    let mut all = BTreeMap::new();
    for header in texts(Path::new(&format!("{CRATE}/include/ferrock")), &["h"]) {
        let code = without_comments(&header).split_whitespace().collect::<Vec<_>>().join(" ");
        for statement in code.split(';') {
            let Some(at) = statement.find('(') else { continue };
            let head = statement[..at].trim();
            let Some(start) = head.rfind("rocksdb_") else { continue };
            if statement.contains("typedef") || head.contains('{') && !head.contains("extern") {
                continue;
            }
            let gives = head[..start].rsplit(['{', '}']).next().unwrap_or("");
            let gives = gives.replace("#endif", "").replace("extern \"C\"", "");
            let body = &statement[at + 1..statement.rfind(')').unwrap()];
            all.insert(
                head[start..].to_owned(),
                Declaration { gives: last_type(&gives), parameters: parameters(body) },
            );
        }
    }
    all
}

/// The type at the end of a text that may begin with lines of the preprocessor.
fn last_type(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let from = words.iter().rposition(|word| word.starts_with('#') || word.ends_with(".h\"") || word.ends_with('"'));
    let mut words = &words[from.map_or(0, |from| from + 1)..];
    while words.first().is_some_and(|word| *word == "__cplusplus") {
        words = &words[1..];
    }
    words.join(" ")
}

fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[rest.find("*/").unwrap() + 2..];
    }
    code + rest
}

/// Type and name of each parameter; a callback has the name `callback`.
fn parameters(body: &str) -> Vec<(String, String)> {
    let mut depth = 0;
    let parts = body.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty() && *part != "void");
    let split = |part: &str| {
        if part.contains('(') {
            return ("callback".to_owned(), "callback".to_owned());
        }
        let (part, array) = part.strip_suffix("[]").map_or((part, ""), |part| (part, "*"));
        let at = part.rfind([' ', '*']).map_or(0, |at| at + 1);
        (part[..at].replace(" *", "*").trim().to_owned() + array, part[at..].to_owned())
    };
    parts.map(split).collect()
}

/// What the tables say of a function: its kind, and the place of a parameter that is handed over.
struct Kind {
    kind: String,
    taken: Option<usize>,
}

fn kinds() -> BTreeMap<String, Kind> {
    let mut all = BTreeMap::new();
    for body in tables("not_built") {
        let text = body.split_whitespace().collect::<Vec<_>>().join(" ");
        for line in text.split(';').filter_map(|line| line.trim().strip_prefix("fn ")) {
            let (head, kind) = line.rsplit_once(" = ").unwrap();
            let (name, parameters) = head.split_once('(').unwrap();
            let (kind, detail) = kind.trim_end_matches(')').split_once('(').unwrap_or((kind, ""));
            let names: Vec<&str> =
                parameters.split(',').filter_map(|part| Some(part.split_once(':')?.0.trim())).collect();
            let taken = matches!(kind, "refuse" | "ends" | "handle").then(|| names.iter().position(|n| *n == detail));
            all.insert(name.to_owned(), Kind { kind: kind.to_owned(), taken: taken.flatten() });
        }
    }
    all
}

/// The type that a pointer to a handle points to.
fn handle_of(pointer: &str) -> Option<&str> {
    let name = pointer.trim_end_matches("const").trim_end().strip_suffix('*')?.trim();
    let name = name.strip_prefix("const ").unwrap_or(name);
    (name.starts_with("rocksdb_") && name.ends_with("_t") && name != "rocksdb_slice_t").then_some(name)
}

/// What makes handles and what ends them.
struct Handles {
    declared: BTreeMap<String, Declaration>,
}

impl Handles {
    /// An expression for a new handle; null where nothing makes one alone.
    fn new_one(&self, of: &str) -> String {
        match of {
            "rocksdb_t" => return "db".to_owned(),
            "rocksdb_column_family_handle_t" => return "rocksdb_get_default_column_family_handle(db)".to_owned(),
            "rocksdb_iterator_t" => return "rocksdb_create_iterator(db, NULL)".to_owned(),
            "rocksdb_snapshot_t" => return "NULL".to_owned(),
            _ => {}
        }
        let makes = |(name, declaration): &(&String, &Declaration)| {
            handle_of(&declaration.gives) == Some(of)
                && (name.ends_with("_create") || name.ends_with("_begin") || name.ends_with("_env"))
                && !declaration.parameters.iter().any(|(_, name)| name == "errptr")
        };
        let Some((name, declaration)) = self.declared.iter().find(makes) else { return "NULL".to_owned() };
        let arguments: Vec<String> = declaration.parameters.iter().map(|(ty, name)| plain(ty, name)).collect();
        format!("{name}({})", arguments.join(", "))
    }

    /// The statement that ends a handle.
    fn end(&self, of: &str, handle: &str) -> String {
        if of == "rocksdb_t" || of == "rocksdb_snapshot_t" {
            return String::new();
        }
        if of == "rocksdb_compactionservice_t" {
            // It has no end of its own: options own it.
            return format!(
                "  {{\n    rocksdb_options_t* owner = rocksdb_options_create();\n    \
                 rocksdb_options_set_compaction_service(owner, {handle});\n    rocksdb_options_destroy(owner);\n  }}\n"
            );
        }
        let ends = |(name, declaration): &(&String, &Declaration)| {
            declaration.parameters.len() == 1
                && handle_of(&declaration.parameters[0].0) == Some(of)
                && (name.ends_with("_destroy") || name.ends_with("_close"))
        };
        let end = self.declared.iter().find(ends);
        end.map_or_else(String::new, |(name, _)| format!("  {name}((void*){handle});\n"))
    }
}

/// An argument that needs no handle.
fn plain(ty: &str, name: &str) -> String {
    match ty {
        _ if name == "errptr" => "&err",
        "const char*" | "char*" => "text",
        "const char* const*" | "const char**" => "texts",
        "const size_t*" => "lengths",
        "size_t*" => "numbers",
        "char**" => "places",
        "char***" => "&list",
        "uint64_t*" | "uint32_t*" | "int*" | "const int*" | "unsigned char*" => "(void*)words",
        _ if ty.ends_with("**") || ty.ends_with("* const*") => "(void*)nothing",
        _ if ty.ends_with('*') || ty.ends_with("_cb") || ty == "callback" => "NULL",
        _ => "1",
    }
    .to_owned()
}

const HEAD: &str = r#"#include "check.h"

static char text[] = "k";
static const char* const texts[] = {"k", "k"};
static const size_t lengths[] = {1, 1};
static size_t numbers[4];
static char* places[4];
__attribute__((unused)) static char** list;
static uint64_t words[4];
static void* nothing[4];

/* An error that names the function. */
static void told(const char* function, char* error) {
  char expected[256];
  snprintf(expected, sizeof expected, "Not implemented: %s is not built yet", function);
  if (!error || strcmp(error, expected)) {
    fprintf(stderr, "%s: told \"%s\"\n", function, error ? error : "(nothing)");
    exit(1);
  }
  rocksdb_free(error);
}

/* The next open with the options is refused. */
static void refused(const char* function, const char* directory, rocksdb_options_t* options) {
  rocksdb_options_set_create_if_missing(options, 1);
  CHECK(!rocksdb_open(options, path_in(directory, "refused"), &err));
  told(function, err);
  err = NULL;
}

/* A worker with the overrides takes no job. */
static void not_compacted(const char* function, const char* directory,
                          rocksdb_compaction_service_options_override_t* overrides) {
  size_t length;
  CHECK(!rocksdb_open_and_compact(directory, directory, text, 1, &length, overrides, &err));
  told(function, err);
  err = NULL;
}
"#;

/// A program that calls every function of the tables, and checks what its kind promises.
pub(crate) fn not_built_program() -> String {
    let handles = Handles { declared: declared() };
    let mut program = HEAD.to_owned();
    let mut calls = String::new();
    let kinds = kinds();
    assert!(kinds.len() > 100, "the tables were not understood");
    for (name, kind) in &kinds {
        let declaration = &handles.declared[name];
        writeln!(program, "\nstatic void call_{name}(rocksdb_t* db, const char* directory) {{").unwrap();
        program.push_str("  (void)db, (void)directory;\n");
        let mut arguments = Vec::new();
        for (index, (ty, parameter)) in declaration.parameters.iter().enumerate() {
            match handle_of(ty) {
                Some(handle) => {
                    writeln!(program, "  {handle}* a{index} = (void*){};", handles.new_one(handle)).unwrap();
                    arguments.push(format!("a{index}"));
                }
                None => arguments.push(plain(ty, parameter)),
            }
        }
        let call = format!("{name}({})", arguments.join(", "));
        let given = handle_of(&declaration.gives);
        match given {
            Some(handle) => writeln!(program, "  {handle}* given = (void*){call};\n  (void)given;").unwrap(),
            None => writeln!(program, "  {call};").unwrap(),
        }
        program.push_str(&promise(name, kind, given, declaration));
        if let Some(handle) = given {
            let end = handles.end(handle, "given");
            if !end.is_empty() {
                write!(program, "  if (given) {}", end.trim_start()).unwrap();
            }
        }
        for (index, (ty, _)) in declaration.parameters.iter().enumerate() {
            let ended = kind.kind == "destroy" || kind.taken == Some(index);
            if let (Some(handle), false) = (handle_of(ty), ended) {
                program.push_str(&handles.end(handle, &format!("a{index}")));
            }
        }
        program.push_str("}\n");
        writeln!(calls, "  call_{name}(db, argv[1]);").unwrap();
    }
    program + "\n" + MAIN_HEAD + &calls + MAIN_END
}

/// A program that calls every function with nothing but null pointers and zeroes.
pub(crate) fn null_program() -> String {
    let handles = Handles { declared: declared() };
    let mut program = "#include \"check.h\"\n\nint main(void) {\n".to_owned();
    for (name, declaration) in &handles.declared {
        let argument = |(ty, name): &(String, String)| match ty {
            _ if name == "errptr" => "&err",
            ty if ty.ends_with('*') || ty.ends_with("const") || ty.ends_with("_cb") || ty == "callback" => "NULL",
            _ => "0",
        };
        let arguments: Vec<&str> = declaration.parameters.iter().map(argument).collect();
        let call = format!("{name}({})", arguments.join(", "));
        match handle_of(&declaration.gives) {
            Some(handle) => {
                let end = handles.end(handle, "given");
                writeln!(program, "  {{\n  {handle}* given = (void*){call};\n  if (given) {{\n{end}  }}\n  }}")
                    .unwrap();
            }
            None if declaration.gives == "char*" => writeln!(program, "  rocksdb_free({call});").unwrap(),
            // A flag that cancels.
            None if declaration.gives == "unsigned char*" && name.ends_with("_create") => {
                writeln!(program, "  {}({call});", name.replace("_create", "_destroy")).unwrap();
            }
            None => writeln!(program, "  {call};").unwrap(),
        }
        program.push_str("  rocksdb_free(err);\n  err = NULL;\n");
    }
    program + "  return 0;\n}\n"
}

/// What a function of a kind promises.
fn promise(name: &str, kind: &Kind, given: Option<&str>, declaration: &Declaration) -> String {
    match (&kind.kind[..], given) {
        ("error", _) => format!("  told(\"{name}\", err);\n  err = NULL;\n"),
        ("each", _) => {
            format!("  told(\"{name}\", places[0]);\n  memset(places, 0, sizeof places);\n")
        }
        // A handle that nothing makes is null here, and null is the default.
        ("refuse", _) => {
            let is_set = match declaration.parameters.get(1).and_then(|(ty, _)| handle_of(ty)) {
                Some(_) if kind.taken != Some(1) => "if (a1) ",
                _ => "",
            };
            let refused = match handle_of(&declaration.parameters[0].0) {
                Some("rocksdb_compaction_service_options_override_t") => "not_compacted",
                _ => "refused",
            };
            format!("  {is_set}{refused}(\"{name}\", directory, a0);\n")
        }
        ("batch", _) => {
            let write = match handle_of(&declaration.parameters[0].0) {
                Some("rocksdb_writebatch_wi_t") => "rocksdb_write_writebatch_wi",
                _ => "rocksdb_write",
            };
            format!("  {write}(db, NULL, a0, &err);\n  told(\"{name}\", err);\n  err = NULL;\n")
        }
        ("handle", Some("rocksdb_iterator_t")) => format!(
            "  rocksdb_iter_seek_to_first(given);\n  CHECK(!rocksdb_iter_valid(given));\n  \
             rocksdb_iter_get_error(given, &err);\n  told(\"{name}\", err);\n  err = NULL;\n"
        ),
        ("handle", Some("rocksdb_comparator_t")) => format!(
            "  rocksdb_options_t* options = rocksdb_options_create();\n  rocksdb_options_set_comparator(options, given);\n  \
             refused(\"{name}\", directory, options);\n  rocksdb_options_destroy(options);\n"
        ),
        ("handle", _) => "  CHECK(given);\n".to_owned(),
        _ => String::new(),
    }
}

const MAIN_HEAD: &str = r#"int main(int argc, char** argv) {
  CHECK(argc == 2);
  rocksdb_options_t* options = new_options();
  rocksdb_t* db = rocksdb_open(options, path_in(argv[1], "db"), &err);
  OK();
"#;

const MAIN_END: &str = r"  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return 0;
}
";
