//! Which licence expressions we accept.

/// Licences that ask for no more than a notice. deny.toml has the same list.
const PERMITTED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

/// Whether an SPDX expression (`A OR (B AND C)`, or the older `A/B`) leaves a permitted choice.
pub(crate) fn is_permitted(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any(&words, &mut at) == Some(true) && at == words.len()
}

fn any(words: &[&str], at: &mut usize) -> Option<bool> {
    let mut permitted = all(words, at)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        permitted |= all(words, at)?;
    }
    Some(permitted)
}

fn all(words: &[&str], at: &mut usize) -> Option<bool> {
    let mut permitted = one(words, at)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        permitted &= one(words, at)?;
    }
    Some(permitted)
}

fn one(words: &[&str], at: &mut usize) -> Option<bool> {
    let word = *words.get(*at)?;
    *at += 1;
    if word == "(" {
        let permitted = any(words, at)?;
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return closed.then_some(permitted);
    }
    if words.get(*at) == Some(&"WITH") {
        let exception = words.get(*at + 1)?;
        *at += 2;
        return Some(PERMITTED.contains(&format!("{word} WITH {exception}").as_str()));
    }
    Some(PERMITTED.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::is_permitted;

    #[test]
    fn expressions() {
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
        ] {
            assert!(is_permitted(good), "{good}");
        }
        for bad in ["", "GPL-3.0-only", "MIT AND GPL-2.0-only", "(MIT", "MIT OR", "MIT GPL-2.0-only", "MIT WITH trick"]
        {
            assert!(!is_permitted(bad), "{bad}");
        }
    }
}
