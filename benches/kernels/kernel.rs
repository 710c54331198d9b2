//! Kernels: a function in several formulations.

use crate::harness::program::{BLANK, Program, Task};

/// A function that is written in several ways.
///
/// A formulation is a KS program that defines the function under the kernel's name, and `(point n)`: its arguments, a
/// tuple where there are several. All formulations have the same numbers as arguments, in the same order, if perhaps in
/// tensors of another kind; so one program in C++ (`cc/NAME.cc`) and one in JAX (`python/`) stand beside all of them.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Its name, in all languages.
    pub name: &'static str,
    /// The size n of its arguments.
    pub n: usize,
    /// What n counts, and further sizes.
    pub size: &'static str,
    /// The parameters by which it is derived, from 1; all of them where there are none.
    pub wrt: &'static [usize],
    /// Names and texts of its formulations.
    pub formulations: &'static [Formulation],
}

/// A name and a KS program.
pub type Formulation = (&'static str, &'static str);

const TASKS: &[Task] = &[Task::Value, Task::Gradient];

impl Kernel {
    /// Returns the program that measures a formulation.
    pub fn program(&self, (name, text): &'static Formulation) -> Program {
        // A bench ends before this matters.
        let leak = |text: String| -> &'static str { text.leak() };
        Program {
            name: self.name,
            size: leak(format!("{}, by {name}", self.size)),
            n: self.n,
            by_hand: leak(format!("kernels/cc/{}", self.name)),
            texts: leak_texts(text),
            fun: self.name,
            wrt: self.wrt,
            arguments: "(point n)",
            tasks: TASKS,
            ..BLANK
        }
    }
}

fn leak_texts(text: &'static str) -> &'static [&'static str] {
    vec![text].leak()
}
