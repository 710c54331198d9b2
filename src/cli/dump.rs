//! `--dump-stages`: writes the result of each pass on each function, as a program that lmc reads.
//!
//! A file holds the function after the pass, and the functions that it needs: its callees, and functions whose
//! derivatives it mentions.

use super::failure::Failure;
use crate::derive::call_order::with_needed;
use indexmap::IndexMap;
use lm::notation::ks;
use lm::term::{Def, Fun, FunName, Program};
use rustc_hash::FxHashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files written so far.
pub struct Dump {
    directory: PathBuf,
    /// The functions of the source, and each derived function after the last pass so far.
    known: IndexMap<FunName, Def>,
    externals: IndexMap<FunName, Arc<Fun>>,
    /// The last definition of each function that was written.
    written: FxHashMap<FunName, Def>,
    count: usize,
    failed: Option<Failure>,
}

const WIDTH: usize = 100;

impl Dump {
    /// Makes the directory if it does not exist.
    pub fn new(directory: &Path) -> Result<Dump, Failure> {
        fs::create_dir_all(directory).map_err(|error| refused(directory, &error))?;
        let directory = directory.to_path_buf();
        let (known, externals) = (IndexMap::new(), IndexMap::new());
        Ok(Dump { directory, known, externals, written: FxHashMap::default(), count: 0, failed: None })
    }

    /// Writes the functions of the source.
    pub fn start(&mut self, program: &Program) {
        self.known = program.defs.clone();
        self.externals = program.externals.clone();
        program.defs.values().for_each(|def| self.stage("source", def));
    }

    /// Writes a function if the pass has changed it.
    pub fn stage(&mut self, pass: &str, def: &Def) {
        let name = &def.fun.name;
        if self.written.get(name) != Some(def) && self.failed.is_none() {
            self.count += 1;
            let path = self.directory.join(format!("{:04}-{}-{pass}.ks", self.count, file_name(name)));
            let text = ks::program(&with_needed(def, &self.known, &self.externals), WIDTH);
            self.failed = fs::write(&path, text).err().map(|error| refused(&path, &error));
            self.written.insert(name.clone(), def.clone());
        }
        if !name.derivations.is_empty() {
            self.known.insert(name.clone(), def.clone());
        }
    }

    /// Returns an error for the first file that could not be written.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// Returns the file name of a function: `rev$f` for `[rev f]`. Drops characters that file names should not have.
fn file_name(name: &FunName) -> String {
    let words: Vec<String> = name.derivations.iter().map(ToString::to_string).chain([without(name)]).collect();
    let is_plain = |c: char| c.is_alphanumeric() || "_-+.$@".contains(c);
    words.join("$").chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn without(name: &FunName) -> String {
    name.as_written().to_string()
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::Wrong(format!("cannot write `{}`: {error}", path.display()))
}
