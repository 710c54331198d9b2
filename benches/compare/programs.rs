//! The programs that are compared: a row each.

use super::arguments;
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use native::{Jit, Options, SourceInfo};

/// A function of a KS program, at arguments of one size.
pub struct Program {
    /// The prefix of its names in C++ and Python: `gmm` in `gmm_value`.
    pub name: &'static str,
    /// The name of its size, in file names and in tables.
    pub size: &'static str,
    /// The file in `cc/` that has it, without its ending.
    pub by_hand: &'static str,
    /// The texts that make the KS program.
    pub texts: &'static [&'static str],
    /// The function.
    pub fun: &'static str,
    /// The parameters by which it is derived, from 1; all of them where there are none.
    pub wrt: &'static [usize],
    /// Its arguments, as a KS expression: a tuple where there are several.
    pub arguments: &'static str,
    /// The tasks.
    pub tasks: &'static [Task],
}

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

const SCALAR: &[Task] = &[Task::Value, Task::Gradient, Task::Both];
const VECTOR: &[Task] = &[Task::Value, Task::Gradient];

const GMM: Program = Program {
    name: "gmm",
    size: "",
    by_hand: "gmm",
    texts: &[include_str!("../../demos/gmm.ks")],
    fun: "gmm",
    wrt: &[1, 2, 3],
    arguments: "",
    tasks: SCALAR,
};

const MICRO: Program = Program {
    name: "",
    size: "100,000",
    by_hand: "micro",
    texts: &[include_str!("ks/micro.ks")],
    fun: "",
    wrt: &[],
    arguments: "",
    tasks: VECTOR,
};

/// All of them.
pub const PROGRAMS: &[Program] = &[
    Program { size: "n 1,000, d 10, k 25", arguments: arguments::GMM.text, ..GMM },
    Program { size: "n 1,000, d 20, k 50", arguments: "(model 1000 50 20)", ..GMM },
    Program { size: "n 10,000, d 10, k 25", arguments: "(model 10000 25 10)", ..GMM },
    Program {
        name: "ba",
        size: arguments::BA.size,
        by_hand: "ba",
        texts: &[include_str!("../../demos/ba.ks"), include_str!("ks/ba.ks")],
        fun: "ba",
        wrt: &[],
        arguments: arguments::BA.text,
        tasks: &[Task::Value, Task::Other("ba_jacobian", "jacobian")],
    },
    Program {
        name: "lstm",
        size: arguments::LSTM.size,
        by_hand: "lstm",
        texts: &[include_str!("../../demos/lstm.ks")],
        fun: "lstm",
        wrt: &[1, 2],
        arguments: arguments::LSTM.text,
        tasks: SCALAR,
    },
    Program {
        name: "kmeans",
        size: arguments::KMEANS.size,
        by_hand: "kmeans",
        texts: &[include_str!("../../demos/kmeans.ks"), include_str!("ks/kmeans.ks")],
        fun: "kmeans",
        wrt: &[2],
        arguments: arguments::KMEANS.text,
        tasks: &[Task::Value, Task::Gradient, Task::Both, Task::Other("kmeans_hessian", "hessian")],
    },
    Program {
        name: "lse",
        size: "100,000",
        by_hand: "lse",
        texts: &[include_str!("../../demos/lse.ks")],
        fun: "lse",
        wrt: &[],
        arguments: arguments::LSE.text,
        tasks: SCALAR,
    },
    Program {
        name: "llsq",
        size: "1,000 x 100",
        by_hand: "llsq",
        texts: &[include_str!("ks/llsq.ks")],
        fun: "llsq",
        wrt: &[3],
        arguments: "(system 1000 100)",
        tasks: SCALAR,
    },
    Program {
        name: "ode",
        size: arguments::ODE.size,
        by_hand: "ode",
        texts: &[include_str!("../../demos/ode.ks")],
        fun: "ode",
        wrt: &[1, 2, 3],
        arguments: arguments::ODE.text,
        tasks: VECTOR,
    },
    Program {
        name: "cnn",
        size: arguments::CNN.size,
        by_hand: "cnn",
        texts: &[include_str!("../../demos/cnn.ks")],
        fun: "cnn",
        wrt: &[1, 2, 3, 4, 5, 6],
        arguments: arguments::CNN.text,
        tasks: SCALAR,
    },
    Program { name: "dot", fun: "dot", arguments: "(tuple (random 0 100000) (random 100000 100000))", ..MICRO },
    Program { name: "max", fun: "largest", arguments: "(random 0 100000)", ..MICRO },
    Program { name: "vsum", fun: "vsum", arguments: "(random 0 100000)", ..MICRO },
    Program { name: "vadd", fun: "vadd", arguments: "(tuple (random 0 100000) (random 100000 100000))", ..MICRO },
    Program { name: "vscale", fun: "vscale", arguments: "(tuple 0.75 (random 0 100000))", ..MICRO },
    Program {
        name: "gather",
        size: "100,000 of 10,000",
        fun: "gather",
        arguments: "(tuple (random 0 10000) (build 100000 (lam (i : Integer)
                      (to_integer (mul 10000.0 ($ranhashdoub (add 10000 i)))))))",
        ..MICRO
    },
    Program {
        name: "nnmf",
        size: "200 x 20 times 20 x 150",
        fun: "nnmf",
        wrt: &[1, 2],
        arguments: "(tuple (random 0 200 20) (random 4000 20 150) (random 7000 200 150))",
        ..MICRO
    },
    Program {
        name: "matmul",
        size: "200 x 200",
        fun: "matmul",
        arguments: "(tuple (random 0 200 200) (random 40000 200 200))",
        ..MICRO
    },
];

/// A program as native code.
pub struct Native {
    jit: Jit,
    entries: Vec<FunName>,
}

impl Program {
    /// Returns its name in options and in file names.
    pub fn key(&self) -> String {
        let size: Vec<&str> =
            self.size.split(|c: char| !c.is_ascii_alphanumeric() && c != ',').filter(|word| !word.is_empty()).collect();
        format!("{}-{}", self.name, size.join("-").replace(',', ""))
    }

    /// Returns whether it is one of the small programs.
    pub fn is_micro(&self) -> bool {
        self.by_hand == MICRO.by_hand
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

    /// Compiles it as `lmc compile` does, and its arguments; calls work on so many threads.
    pub fn compile(&self, options: &Options, threads: usize) -> Native {
        const ARGUMENTS: &str = "benchmark_arguments";
        let text = self.texts.concat();
        let types = front::load(&Source::new("program.ks", text.as_str())).expect("the program is right").program;
        let ty = types.defs[&FunName::base(self.fun)].fun.argument();
        let text = format!("{text}\n(def {ARGUMENTS} {ty} () {})\n", self.arguments);
        let checked =
            front::load_for(&Source::new("program.ks", text.as_str()), Derivation::default(), &Timings::default());
        let mut pipeline = Pipeline::new(checked.unwrap_or_else(|e| panic!("{}: {e:?}", self.name)));
        let mut entries: Vec<FunName> = self.tasks.iter().map(|task| self.entry(*task)).collect();
        entries.push(FunName::base(ARGUMENTS));
        entries.iter().for_each(|name| pipeline.require(name).unwrap_or_else(|e| panic!("{name}: {e:?}")));
        let jit = Jit::new(pipeline.program(), &entries, &SourceInfo::new("program.ks", &text), options);
        let mut jit = jit.unwrap_or_else(|e| panic!("{}: {e}", self.name));
        if threads > 1 {
            jit.set_threads(threads).expect("the system starts threads");
        }
        Native { jit, entries }
    }
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
    pub fn arguments(&self, program: &Program) -> Vec<Value> {
        let function = self.entry(program, Task::Value);
        let several = self.jit.module().entry(function).expect("an entry").def.fun.params.len() > 1;
        let value = self.jit.call(self.entries.last().expect("the arguments"), &[]).expect("there are arguments");
        if several { value.as_tuple().expect("several").to_vec() } else { vec![value] }
    }
}
