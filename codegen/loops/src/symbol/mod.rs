//! Makes symbol names: the names of functions for a linker.
//!
//! ```text
//! f             f              the name as written
//! [rev f]       rev$f          derivations outermost first
//! [dot T]       dot$aff        overloads: `$a` and the argument types, one letter each (`mangle`)
//! exp, main, _x lmc$exp ..     a name that C or the linker uses, or that starts with no letter
//! rev$f         rev_f          the alias: what C cannot write becomes `_`, and `lmc$` is `lmc_`
//! ```
//!
//! Where there are tensors, `f_workspace` for each name f asks for the workspace, unless that is a symbol already.
//!
//! A symbol holds no `@`, which linkers read as a version: it becomes `$a`. When two functions
//! want one symbol, the one with fewer derivations has it (then the earlier one), and the other gets
//! `lmc$` in front. An alias that is a symbol already, or an earlier alias, is not given out.
//!
//! Files for C refuse functions that want one name in C (`check_c_names`). Code in memory needs no names in C.
//!
//! The names that C uses are those that glibc 2.36 exports from libc and libm (see `reserved.txt`), with the keywords
//! and common macros of C and C++. A library that exports `exp` would replace the `exp` of libm in the whole process
//! that loads it.

mod mangle;

use crate::error::Error;
use indexmap::{IndexMap, IndexSet};
use lm::term::FunName;
use mangle::mangle;
use std::sync::Arc;

/// The names under which an entry is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The literal name, such as `rev$f`.
    pub name: String,
    /// A second name that is an identifier of C, where the literal one is none.
    pub alias: Option<String>,
    /// The names of the query of the workspace; none without tensors.
    pub workspace: Vec<String>,
}

impl Symbol {
    /// Returns the name that C code uses, if there is one.
    pub fn c_name(&self) -> Option<&str> {
        if is_c_identifier(&self.name) { Some(&self.name) } else { self.alias.as_deref() }
    }

    /// Returns the name that C code uses for the query of the workspace, if there is one.
    pub fn workspace_c_name(&self) -> Option<&str> {
        self.workspace.iter().map(String::as_str).find(|name| is_c_identifier(name))
    }

    /// Returns every symbol.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.names().chain(self.workspace.iter().map(String::as_str))
    }

    /// Returns every name of the function.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.alias.as_deref())
    }
}

/// Returns the symbols of the functions, in their order. No alias is one of the names of external functions.
///
/// Errors: [`Error::SymbolTaken`].
pub fn symbols(functions: &[FunName], externals: &IndexSet<Arc<str>>) -> Result<Vec<Symbol>, Error> {
    let names = literal_names(functions, externals)?;
    let externals = externals.iter().map(|name| name.to_string());
    let mut used: IndexMap<String, ()> = names.iter().cloned().chain(externals).map(|name| (name, ())).collect();
    let symbol = |name: String| {
        let alias = plain(&name);
        let free = !used.contains_key(&alias);
        used.insert(alias.clone(), ());
        Symbol { name, alias: free.then_some(alias), workspace: vec![] }
    };
    let mut symbols: Vec<Symbol> = names.into_iter().map(symbol).collect();
    for symbol in &mut symbols {
        let queries = symbol.names().map(|name| format!("{name}_workspace"));
        symbol.workspace = queries.filter(|query| used.insert(query.clone(), ()).is_none()).collect();
    }
    Ok(symbols)
}

fn literal_names(functions: &[FunName], externals: &IndexSet<Arc<str>>) -> Result<Vec<String>, Error> {
    let mut order: Vec<usize> = (0..functions.len()).collect();
    order.sort_by_key(|&i| functions[i].versions.len() + functions[i].derivations.len());
    let mut names = vec![String::new(); functions.len()];
    let mut taken: IndexMap<String, usize> = IndexMap::new();
    for i in order {
        let first = literal(&functions[i]);
        let name = if taken.contains_key(&first) || externals.contains(first.as_str()) {
            format!("lmc${first}")
        } else {
            first
        };
        if externals.contains(name.as_str()) || taken.insert(name.clone(), i).is_some() {
            return Err(Error::SymbolTaken(functions[i].to_string(), name));
        }
        names[i] = name;
    }
    Ok(names)
}

fn literal(function: &FunName) -> String {
    // With respect to what a derivative is, its name does not say.
    let derivations = function.derivations.iter().filter(|d| d.varying().is_none());
    let versions = function.versions.iter().map(|version| format!("{version}$"));
    let mut name: String = versions.chain(derivations.map(|d| format!("{d}$"))).collect();
    name.push_str(&function.base);
    if let Some(argument) = &function.overload {
        name.push('@');
        name.push_str(&mangle(argument));
    }
    let name = name.replace('@', "$a");
    if is_reserved(&name) { format!("lmc${name}") } else { name }
}

/// Checks that no two functions want one name in C. Each function comes with whether it has a query of its workspace.
///
/// Errors: [`Error::OneCName`].
pub fn check_c_names<'a>(
    functions: impl IntoIterator<Item = (&'a FunName, bool)>,
    externals: &IndexSet<Arc<str>>,
) -> Result<(), Error> {
    let external = |name: &Arc<str>| (name.to_string(), format!("the external function `{name}`"));
    let mut owners: IndexMap<String, String> = externals.iter().map(external).collect();
    for (function, has_query) in functions {
        let name = c_symbol(function);
        let query = has_query.then(|| (format!("{name}_workspace"), format!("the workspace of `{function}`")));
        for (name, owner) in [(name, format!("`{function}`"))].into_iter().chain(query) {
            if let Some(first) = owners.insert(name.clone(), owner.clone()) {
                return Err(Error::OneCName { owners: [first, owner], name });
            }
        }
    }
    Ok(())
}

/// Returns the name in C of a function that is implemented elsewhere: `f`, `rev_f`, `dot_aff`.
pub fn c_symbol(function: &FunName) -> String {
    plain(&literal(function))
}

/// Returns the identifier of C for a symbol.
fn plain(symbol: &str) -> String {
    let name: String = symbol.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // `lmc_` is ours only where the symbol says so.
    if is_reserved(&name) && !symbol.starts_with("lmc$") { format!("lmc_{name}") } else { name }
}

/// Returns whether C, the linker or the run-time header uses a name, or may.
pub fn is_reserved(name: &str) -> bool {
    const RESERVED: &str = include_str!("reserved.txt");
    let known = || RESERVED.lines().any(|word| word == name);
    let prefix = ["lmc", "LMC", "llvm."].iter().any(|prefix| name.starts_with(prefix));
    let letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    !letter || prefix || name.ends_with("_t") || known()
}

fn is_c_identifier(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name.starts_with(|c: char| c.is_ascii_alphabetic())
}
