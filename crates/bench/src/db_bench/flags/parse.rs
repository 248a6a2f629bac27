//! Parses a command line into values.
//!
//! gflags' spelling, with one or two dashes: `--flag=v`, `--flag v`, `--flag` and `--noflag` for a Boolean. A Boolean
//! takes the next word only when that is a truth value. The last occurrence of a flag takes effect.

use super::{Effect, Flag, Kind, Scope, find, nearest};
use ferrock::options::{COLUMN_FAMILY_OPTIONS_WITHOUT_EFFECT, DB_OPTIONS_WITHOUT_EFFECT, Passthrough};
use ferrock_base::option_table::{OptionValue, parse_integer};
#[cfg(test)]
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The request of a command line.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// A run.
    Run(Values),
}

/// A flag with its value, as text.
pub(crate) type Setting = (&'static str, String);

/// The values of all flags.
#[derive(Debug, Default)]
pub(crate) struct Values {
    given: BTreeMap<&'static str, String>,
    /// Names that were read: a test checks that no flag is unused.
    #[cfg(test)]
    pub(super) asked: RefCell<std::collections::BTreeSet<String>>,
}

/// Reads a command line.
///
/// # Errors
/// A message for the user when a flag is unknown, malformed or unsupported.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Parsed, String> {
    let mut values = Values::default();
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let body = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
        let Some(body) = body.filter(|body| !body.is_empty()) else {
            return Err(format!(
                "{argument:?} is not a flag; flags begin with a dash, and benchmarks are named by --benchmarks"
            ));
        };
        let (name, mut value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let name = name.replace('-', "_");
        if value.is_none() && ["help", "h", "helpshort", "helpfull"].contains(&&name[..]) {
            return Ok(Parsed::Help);
        }
        if value.is_none() && name == "version" {
            return Ok(Parsed::Version);
        }
        let flag = match (find(&name), negated(&name)) {
            (Some(flag), _) => flag,
            (None, Some(flag)) if value.is_none() => {
                value = Some("false".to_owned());
                flag
            }
            _ => return Err(unknown(&name)),
        };
        let value = match value {
            Some(value) => value,
            None if flag.kind == Kind::Bool => {
                arguments.next_if(|next| truth(next).is_some()).unwrap_or_else(|| "true".to_owned())
            }
            None => arguments.next().ok_or_else(|| format!("--{name} needs a value"))?,
        };
        values.given.insert(flag.name, normal(flag, &value)?);
    }
    values.check()?;
    Ok(Parsed::Run(values))
}

fn negated(name: &str) -> Option<&'static Flag> {
    find(name.strip_prefix("no")?).filter(|flag| flag.kind == Kind::Bool)
}

fn unknown(name: &str) -> String {
    let hint = nearest(name).map(|near| format!("; did you mean --{near}?")).unwrap_or_default();
    format!("unknown flag --{name}{hint}")
}

fn truth(text: &str) -> Option<bool> {
    match &text.to_ascii_lowercase()[..] {
        "true" | "t" | "1" | "yes" | "y" => Some(true),
        "false" | "f" | "0" | "no" | "n" => Some(false),
        _ => None,
    }
}

/// The value in its canonical spelling, which the rest of the program uses.
fn normal(flag: &Flag, text: &str) -> Result<String, String> {
    let wrong = |wanted: &str| format!("--{}={text}: {wanted} is expected", flag.name);
    match flag.kind {
        Kind::Bool => truth(text).map(|value| value.to_string()).ok_or_else(|| wrong("true or false")),
        Kind::Integer => {
            let hexadecimal = text.strip_prefix("0x").and_then(|digits| i128::from_str_radix(digits, 16).ok());
            let value = hexadecimal.or_else(|| parse_integer(text)).ok_or_else(|| wrong("an integer"))?;
            Ok(value.to_string())
        }
        Kind::Number => f64::parse_option(text).map(|value| value.to_string()).ok_or_else(|| wrong("a number")),
        Kind::Text => Ok(text.to_owned()),
    }
}

/// True when a value is the default, however it is written.
fn is_default(flag: &Flag, text: &str) -> bool {
    normal(flag, &flag.default).is_ok_and(|default| default == text) || SAME_AS_DEFAULT.contains(&(flag.name, text))
}

/// Values that mean what the default means: a perf context that is not initialised measures nothing either.
const SAME_AS_DEFAULT: &[(&str, &str)] = &[("perf_level", "0")];

/// True for a value that the engine accepts of an option without effect: it only asks for a way of working.
fn is_hint(scope: Scope, option: &str, text: &str) -> bool {
    let table = match scope {
        Scope::Db => DB_OPTIONS_WITHOUT_EFFECT,
        _ => COLUMN_FAMILY_OPTIONS_WITHOUT_EFFECT,
    };
    Passthrough::default().set(table, option, text).is_ok()
}

impl Values {
    /// Refuses unsupported values.
    fn check(&self) -> Result<(), String> {
        for (flag, text) in self.given() {
            match flag.effect {
                Effect::Refused(reason) if !is_default(flag, text) => {
                    return Err(format!("Not implemented: --{}={text}: {reason}", flag.name));
                }
                Effect::Inert(scope, option) if !is_default(flag, text) && !is_hint(scope, option, text) => {
                    return Err(format!(
                        "Not implemented: --{}={text}: of the option {option} only the default {} works",
                        flag.name, flag.default
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The flags that were given, in the order of their names.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static Flag, &str)> {
        self.given.iter().filter_map(|(name, text)| Some((find(name)?, &text[..])))
    }

    /// The messages about ignored flags.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = self.given().filter_map(|(flag, text)| match flag.effect {
            Effect::Gone(reason) => Some(format!("--{} is ignored: {reason}", flag.name)),
            Effect::Inert(_, option) if !is_default(flag, text) => {
                Some(format!("--{} is ignored: the option {option} has no effect", flag.name))
            }
            _ => None,
        });
        notes.collect()
    }

    /// These values, with `defaults` for flags that were not given, overridden by `overrides`.
    ///
    /// # Errors
    /// A message when one of the added values is invalid.
    pub(crate) fn between(&self, defaults: &[Setting], overrides: &[Setting]) -> Result<Self, String> {
        let mut values = Self::default();
        values.given.clone_from(&self.given);
        let normalised = |(name, text): &Setting| -> Result<_, String> {
            let flag = find(name).ok_or_else(|| unknown(name))?;
            Ok((flag.name, normal(flag, text)?))
        };
        for default in defaults {
            let (name, text) = normalised(default)?;
            values.given.entry(name).or_insert(text);
        }
        for above in overrides {
            let (name, text) = normalised(above)?;
            values.given.insert(name, text);
        }
        values.check()?;
        Ok(values)
    }

    /// The equivalent command line.
    pub(crate) fn command_line(&self) -> String {
        let flags = self.given().map(|(flag, text)| match text {
            "true" if flag.kind == Kind::Bool => format!("--{}", flag.name),
            _ => format!("--{}={text}", flag.name),
        });
        flags.collect::<Vec<_>>().join(" ")
    }

    /// True when the command line has the flag.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// The value of a flag, as text.
    pub(crate) fn text(&self, name: &str) -> &str {
        #[cfg(test)]
        self.asked.borrow_mut().insert(name.to_owned());
        self.given.get(name).map_or_else(|| find(name).map_or("", |flag| &flag.default[..]), |text| &text[..])
    }

    /// The value of a Boolean flag.
    pub(crate) fn bool(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    /// The value of any other flag.
    pub(crate) fn get<T: OptionValue>(&self, name: &str) -> Result<T, String> {
        let text = self.text(name);
        T::parse_option(text).ok_or_else(|| format!("--{name}={text} is out of its range"))
    }

    /// The value of a flag that counts something, and so is `least` or more.
    pub(crate) fn at_least<T: OptionValue + PartialOrd + std::fmt::Display>(
        &self,
        name: &str,
        least: T,
    ) -> Result<T, String> {
        let value = self.get::<T>(name)?;
        if value < least {
            return Err(format!("--{name}={value} is less than {least}"));
        }
        Ok(value)
    }
}
