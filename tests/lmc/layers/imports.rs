//! Which file of a crate imports which: the paths in the text of each module, followed through re-exports.
//!
//! ```text
//!     use crate::a::{b, c::D};     ->  crate::a::b, crate::a::c::D
//!     pub use x::Y;  in module a   ->  a::Y is x::Y, and no import of a's
//! ```
//!
//! Comments, texts and unit tests are left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The path of a module below its crate, or of an item: `["ks", "reader"]`.
pub type Name = Vec<String>;

/// The modules of a crate, each with those whose items it names.
pub struct Imports {
    pub of: BTreeMap<Name, Vec<Name>>,
}

impl Imports {
    /// Reads all files below a crate's `src`.
    pub fn read(src: &Path) -> Imports {
        let mut texts = BTreeMap::new();
        for file in rust_files(src) {
            let text = fs::read_to_string(&file).expect("a source is read");
            texts.insert(module(src, &file), tokens(without_tests(&text)));
        }
        let reader = Reader { texts: &texts, aliases: texts.iter().flat_map(|(m, t)| aliases(m, t)).collect() };
        Imports { of: texts.keys().map(|name| (name.clone(), reader.imports(name))).collect() }
    }
}

/// All source files below a folder but those of unit tests.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().unwrap_or_default();
        match path.is_dir() {
            _ if stem == "tests" => {}
            true => files.extend(rust_files(&path)),
            false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
            false => {}
        }
    }
    files.sort();
    files
}

/// `src/a/b.rs` is `a::b`, `src/a/mod.rs` is `a`.
fn module(src: &Path, file: &Path) -> Name {
    let inside = file.strip_prefix(src).expect("the file is below the sources").with_extension("");
    let mut parts: Name = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

fn without_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(before, _)| before)
}

/// Words and signs; `::` is one sign. Comments and literals are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => text_literal(rest),
            '\'' => character_literal(rest),
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(rest[..end].to_string());
                end
            }
            ':' if rest.starts_with("::") => {
                tokens.push("::".into());
                2
            }
            c => {
                tokens.extend((!c.is_whitespace()).then(|| c.to_string()));
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

fn text_literal(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    });
    end.map_or(rest.len(), |(i, _)| i + 1)
}

/// `'x'`, `'\n'`; the quote alone of a lifetime.
fn character_literal(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((i, _))) => rest[i + 1..].find('\'').map_or(1, |end| i + 1 + end + 1),
        (Some(_), Some((i, '\''))) => i + 1,
        _ => 1,
    }
}

/// The second names that a module gives to items: `pub use a::B as C` gives (module::C, a::B).
fn aliases(module: &Name, tokens: &[String]) -> Vec<(Name, Name)> {
    let mut found = Vec::new();
    for (i, _) in tokens.iter().enumerate().filter(|(_, token)| *token == "pub") {
        let Some(start) = use_after(tokens, i) else { continue };
        for (path, name) in tree(&tokens[start..]).0 {
            let target = absolute(module, &path).unwrap_or_else(|| [module.clone(), path].concat());
            found.push(([module.clone(), vec![name]].concat(), target));
        }
    }
    found
}

/// Returns the start of the path of `pub use ..` or `pub(..) use ..`.
fn use_after(tokens: &[String], public: usize) -> Option<usize> {
    let mut next = public + 1;
    if tokens.get(next)? == "(" {
        next += tokens[next..].iter().position(|token| token == ")")? + 1;
    }
    (tokens.get(next)? == "use").then_some(next + 1)
}

/// The paths of `a::{b, c::d as e}`, each with its last name, and how many tokens they take.
fn tree(tokens: &[String]) -> (Vec<(Name, String)>, usize) {
    let mut path = Name::new();
    let mut at = 0;
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                let (mut all, mut next) = (Vec::new(), at + 1);
                while tokens.get(next).is_some_and(|token| token != "}") {
                    let (inner, length) = tree(&tokens[next..]);
                    all.extend(inner.into_iter().map(|(rest, name)| ([path.clone(), rest].concat(), name)));
                    next += length.max(1);
                }
                return (all, next + 1);
            }
            Some(word) if is_word(word) => path.push(word.into()),
            _ => break,
        }
        if tokens.get(at + 1).is_none_or(|token| token != "::") {
            at += 1;
            break;
        }
        at += 2;
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if let Some([r#as, alias]) = tokens.get(at..at + 2)
        && r#as == "as"
    {
        name = alias.clone();
        at += 2;
    }
    (if path.is_empty() { Vec::new() } else { vec![(path, name)] }, at)
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// A path that starts with `crate`, `self` or `super`, from the root of the crate.
fn absolute(module: &Name, path: &[String]) -> Option<Name> {
    let (mut base, mut rest) = match path.first()?.as_str() {
        "crate" => (Name::new(), &path[1..]),
        "self" => (module.clone(), &path[1..]),
        "super" => (module.clone(), path),
        _ => return None,
    };
    while rest.first().is_some_and(|word| word == "super") {
        base.pop();
        rest = &rest[1..];
    }
    Some([base, rest.to_vec()].concat())
}

struct Reader<'a> {
    texts: &'a BTreeMap<Name, Vec<String>>,
    aliases: BTreeMap<Name, Name>,
}

impl Reader<'_> {
    /// The modules that a module names, re-exports apart.
    fn imports(&self, module: &Name) -> Vec<Name> {
        let tokens = &self.texts[module];
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if let Some(start) = use_after(tokens, at).filter(|_| tokens[at] == "pub") {
                at = start + tree(&tokens[start..]).1;
                continue;
            }
            let is_inside = at > 0 && tokens[at - 1] == "::";
            if is_inside || tokens.get(at + 1).is_none_or(|token| token != "::") {
                at += 1;
                continue;
            }
            let (paths, length) = tree(&tokens[at..]);
            found.extend(paths.iter().filter_map(|(path, _)| self.target(module, path)));
            at += length.max(1);
        }
        found.retain(|target| target != module);
        found.sort();
        found.dedup();
        found
    }

    /// The module in which the item of a path is defined; `None` for other crates.
    fn target(&self, module: &Name, path: &[String]) -> Option<Name> {
        let child = || {
            let inside = [module.clone(), vec![path[0].clone()]].concat();
            self.texts.contains_key(&inside).then(|| [module.clone(), path.to_vec()].concat())
        };
        let mut item = absolute(module, path).or_else(child)?;
        // Longer than any chain of second names.
        for _ in 0..8 {
            let alias = (1..=item.len()).rev().find_map(|n| Some((n, self.aliases.get(&item[..n])?)));
            let Some((n, target)) = alias.filter(|(n, target)| item[..*n] != target[..]) else { break };
            item = [target.clone(), item[n..].to_vec()].concat();
        }
        (0..=item.len()).rev().map(|n| item[..n].to_vec()).find(|name| self.texts.contains_key(name))
    }
}
