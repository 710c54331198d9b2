//! Knows libmvec, the functions of libm that glibc has for vectors of 2, 4 or 8 Floats. They are at most 4 ulp off.
//!
//! ```text
//! _ZGVbN2v_exp   SSE      _ZGVdN4v_exp   AVX2      _ZGVeN8v_exp   AVX-512      _ZGVeN8vv_pow
//! ```
//!
//! Which there are, the library of this machine says: those that came with glibc 2.22, 2.35, or none. Where code is
//! made for other machines, these need a libmvec that is no older.

use crate::llvm::{is_loaded, load_library};
use inkwell::memory_buffer::MemoryBuffer;
use lm::libm::{self, Libm, Vectors};
use std::path::Path;
use std::sync::LazyLock;

/// The name under which the dynamic linker finds it.
const LIBRARY: &str = "libmvec.so.1";

/// The prefix of the names of its functions.
pub(crate) const PREFIX: &str = "_ZGV";

/// The widths of its functions' vectors, with the letter of the instructions.
const WIDTHS: [(u32, char); 3] = [(8, 'e'), (4, 'd'), (2, 'b')];

static IS_THERE: LazyLock<bool> = LazyLock::new(|| load_library(Path::new(LIBRARY)));

/// Returns the functions for a function of libm: the widths of their vectors, up to the given one, widest first, and
/// their names.
pub(crate) fn variants(f: Libm, widest: u32) -> Vec<(u32, String)> {
    if f.vectors() == Vectors::Never {
        return vec![];
    }
    let fitting = WIDTHS.iter().filter(|(width, _)| *width <= widest && *IS_THERE);
    let symbols = fitting.map(|(width, letter)| (*width, symbol(f, *width, *letter)));
    symbols.filter(|(_, symbol)| is_loaded(symbol)).collect()
}

/// Describes, for users, which functions there are for vectors up to a width.
pub(crate) fn note(widest: u32) -> String {
    if !*IS_THERE {
        return format!(
            "{LIBRARY} is not there: functions of libm, but for exp in lanes, are called for one Float at a time"
        );
    }
    let has = |f: &&Libm| !variants(**f, widest).is_empty();
    let names: Vec<&str> = libm::ALL.iter().filter(has).map(|f| f.name()).collect();
    format!("{LIBRARY} has {} for vectors of up to {widest} Floats", names.join(", "))
}

/// Returns whether an object calls one of its functions.
pub(crate) fn is_needed(object: &[u8]) -> bool {
    let buffer = MemoryBuffer::create_from_memory_range_copy(object, "lmc");
    let file = buffer.create_binary_file(None).expect("LLVM made the object");
    let mut symbols = file.get_symbols();
    while let Some(symbol) = symbols.as_mut().and_then(|symbols| symbols.next_symbol()) {
        // What the linker is to find has no address yet.
        if symbol.get_name().is_some_and(|name| name.to_bytes().starts_with(PREFIX.as_bytes()))
            && symbol.get_size() == 0
        {
            return true;
        }
    }
    false
}

fn symbol(f: Libm, width: u32, letter: char) -> String {
    format!("{PREFIX}{letter}N{width}{}_{}", "v".repeat(f.arity()), f.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_vector_abi() {
        assert_eq!(symbol(Libm::Pow, 8, 'e'), "_ZGVeN8vv_pow");
        assert_eq!(symbol(Libm::Exp, 2, 'b'), "_ZGVbN2v_exp");
    }

    #[test]
    fn what_is_not_there_is_not_used() {
        assert_eq!(variants(Libm::Lgamma, 8), []);
        assert!(variants(Libm::Exp, 4).iter().all(|(width, _)| *width <= 4));
    }
}
