//! Programs: a function at arguments of one size, its tasks, and its native code.

use super::contender::{Contender, Way};
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use native::{Jit, SourceInfo};

/// A function of a KS program, at arguments of one size.
#[derive(Clone, Copy)]
pub struct Program {
    /// The prefix of its names in C++ and Python: `gmm` in `gmm_value`.
    pub name: &'static str,
    /// The name of its size, in file names and in tables; the unit of `n`, if that is not 0.
    pub size: &'static str,
    /// The number n in its arguments.
    pub n: usize,
    /// The file of `benches/` that has it in C++, without its ending.
    pub by_hand: &'static str,
    /// The texts that make the KS program.
    pub texts: &'static [&'static str],
    /// The function.
    pub fun: &'static str,
    /// The parameters by which it is derived, from 1; all of them where there are none.
    pub wrt: &'static [usize],
    /// Its arguments, as a KS expression that may use n: a tuple where there are several.
    pub arguments: &'static str,
    /// The tasks.
    pub tasks: &'static [Task],
    /// Contenders that would take too long, and the largest n at which they take part.
    pub limits: &'static [(&'static str, usize)],
}

/// What rows have that do not say anything else.
pub const BLANK: Program = Program {
    name: "",
    size: "",
    n: 0,
    by_hand: "",
    texts: &[],
    fun: "",
    wrt: &[],
    arguments: "",
    tasks: &[],
    limits: &[],
};

/// A task of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// The value of the function.
    Value,
    /// The reverse derivative for the cotangent 1, or for the value as cotangent if the value is no number.
    Gradient,
    /// Both, by `[vjp f]`.
    Both,
    /// The value of another function of the KS program at the same arguments: its name, and the task's.
    Other(&'static str, &'static str),
}

impl Task {
    /// Returns the suffix of its functions' names: `gmm_value` computes the value of gmm.
    pub fn name(self) -> &'static str {
        match self {
            Task::Value => "value",
            Task::Gradient => "gradient",
            Task::Both => "both",
            Task::Other(_, name) => name,
        }
    }
}

/// A program as native code.
pub struct Native {
    jit: Jit,
    entries: Vec<FunName>,
    has_several_arguments: bool,
}

impl Program {
    /// Returns the name of its size.
    pub fn size(&self) -> String {
        let n = if self.n == 0 { String::new() } else { grouped(self.n) };
        [&n, self.size].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Returns its name in options and in file names.
    pub fn key(&self) -> String {
        let size = self.size();
        let words = size.split(|c: char| !c.is_ascii_alphanumeric() && c != ',').filter(|word| !word.is_empty());
        format!("{}-{}", self.name, words.collect::<Vec<_>>().join("-").replace(',', ""))
    }

    /// Returns whether a contender takes part.
    pub fn is_for(&self, contender: &Contender) -> bool {
        self.limits.iter().all(|(name, most)| *name != contender.name || self.n <= *most)
    }

    /// The function that has a task.
    fn entry(&self, task: Task) -> FunName {
        let function = FunName::base(self.fun);
        let varying = || match self.wrt {
            [] => function.clone(),
            some => function.restricted(&some.iter().map(|parameter| vec![*parameter]).collect::<Vec<_>>()),
        };
        match task {
            Task::Value => function.clone(),
            Task::Gradient => varying().derived(Derivative::Rev),
            Task::Both => varying().derived(Derivative::Vjp),
            Task::Other(name, _) => FunName::base(name),
        }
    }

    /// Compiles it and its arguments, in a way; calls work on so many threads.
    pub fn compile(&self, way: &Way, threads: usize) -> Native {
        const ARGUMENTS: &str = "benchmark_arguments";
        let text = self.texts.concat();
        let types = front::load(&Source::new("program.ks", text.as_str())).expect("the program is right").program;
        let fun = &types.defs[&FunName::base(self.fun)].fun;
        let ty = fun.argument();
        let text = format!("{text}\n(def {ARGUMENTS} {ty} () (let (n {}) {}))\n", self.n, self.arguments);
        let checked = front::load_for(&Source::new("program.ks", text.as_str()), way.choices(), &Timings::default());
        let mut pipeline = Pipeline::new(checked.unwrap_or_else(|e| panic!("{}: {e:?}", self.name)));
        let mut entries: Vec<FunName> = self.tasks.iter().map(|task| self.entry(*task)).collect();
        entries.push(FunName::base(ARGUMENTS));
        entries.iter().for_each(|name| pipeline.require(name).unwrap_or_else(|e| panic!("{name}: {e:?}")));
        let jit = Jit::new(pipeline.program(), &entries, &SourceInfo::new("program.ks", &text), &(way.options)());
        let mut jit = jit.unwrap_or_else(|e| panic!("{}: {e}", self.name));
        if threads > 1 {
            jit.set_threads(threads).expect("the system starts threads");
        }
        Native { jit, entries, has_several_arguments: fun.params.len() > 1 }
    }
}

/// A number with a comma before each three digits.
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let commas = |(i, c): (usize, char)| [(i > 0 && (digits.len() - i).is_multiple_of(3)).then_some(','), Some(c)];
    digits.chars().enumerate().flat_map(commas).flatten().collect()
}

impl Native {
    /// The code.
    pub fn jit(&self) -> &Jit {
        &self.jit
    }

    /// The function that has a task of the program.
    pub fn entry(&self, program: &Program, task: Task) -> &FunName {
        let place = program.tasks.iter().position(|known| *known == task).expect("a task of the program");
        &self.entries[place]
    }

    /// The arguments of the program's function, one by one.
    pub fn arguments(&self) -> Vec<Value> {
        let value = self.jit.call(self.entries.last().expect("the arguments"), &[]).expect("there are arguments");
        if self.has_several_arguments { value.as_tuple().expect("several").to_vec() } else { vec![value] }
    }
}
