//! Strategies of a file change how derivatives are made, and no value of one. Whatever they are, they come to an end.

use common::files;
use common::random;
use lm::prim::Prim;
use lm::random::SplitMix;
use lm::term::{Def, Derivative, FunName};
use lm::timing::Timings;
use lmc::demos::DEMOS;
use lmc::derive::Derivation;
use lmc::derive::pipeline::{Error, Pipeline};
use lmc::derive::schedule::{KNOWN, Strategies};
use lmc::gradcheck;
use lmc::ks::front::{self, Choices};
use lmc::ks::source::Source;

/// The demos that take little time: scalars, conditionals, tuples, calls; loops and arrays. The campaign takes all.
const SMALL: [&str; 5] = ["ex3", "ex4", "ex5", "ex7", "lse"];

const LOOPS: &str = "(def weigh Float ((v : Vec Float) (w : Vec Float))
  (let (s (sum (build (size v) (lam (i : Integer) (mul (index i v) (sin (index i w)))))))
    (fold (lam (p : Tuple Float Float) (mul (get$1$2 p) (add s (get$2$2 p)))) 1.0 v)))
(def example (Tuple (Vec Float) (Vec Float)) () (tuple (Vec_init 0.5 1.5) (Vec_init 0.25 0.75)))
(def dense (Tuple (Vec Float) (Vec Float)) (p : Tuple (Vec Float) (Vec Float))
  ([jacfwd weigh] (get$1$2 p) (get$2$2 p)))";

fn strategies(text: &str) -> Strategies {
    Strategies::with("test.strategy", text).unwrap_or_else(|(_, mistakes)| panic!("{text}\n{mistakes:?}"))
}

fn pipeline(text: &str, derivation: Derivation, strategies: Strategies) -> Pipeline {
    let choices = Choices { derivation, strategies, ..Choices::default() };
    let checked = front::load_for(&Source::new("test.ks", text), choices, &Timings::default());
    Pipeline::new(checked.unwrap_or_else(|errors| panic!("{errors:?}")))
}

/// The programs, each with the functions to derive.
fn programs() -> Vec<(String, Vec<FunName>)> {
    let chosen = DEMOS.iter().filter(|demo| random::large() || SMALL.contains(&demo.name));
    let all = chosen.map(|demo| demo.text.to_string()).chain([LOOPS.to_string()]);
    all.map(|text| {
        let checked = front::load(&Source::new("test.ks", &text)).expect("the program is right");
        let is_worth = |f: &&FunName| {
            f.derivations.is_empty() && *f.base != *"main" && gradcheck::is_worth_checking(&checked.program, f)
        };
        let functions = checked.places.keys().filter(is_worth).cloned().collect();
        (text.clone(), functions)
    })
    .collect()
}

/// Derives all functions by the strategies. Returns how many derivatives agree with each other and with differences; those
/// that the strategies do not make count for nothing.
fn agreeing(text: &str, functions: &[FunName], derivation: Derivation, by: &Strategies, shown: &str) -> usize {
    let mut pipeline = pipeline(text, derivation, by.clone());
    let mut agreeing = 0;
    for f in functions {
        match gradcheck::prepare(&mut pipeline, f) {
            Ok(_) => {
                let report = gradcheck::check(&pipeline, None, f, 3, 1);
                assert!(report.faults().is_empty(), "{f}: {:?}\n{shown}", report.faults());
                agreeing += report.points;
            }
            Err(Error::OutOfFuel(_) | Error::Unfinished(_) | Error::MapLeft(_)) => {}
            Err(error) => panic!("{f}: {error}\n{shown}"),
        }
    }
    agreeing
}

/// Traces a derivation by the strategies, which runs each stage for any number of rewrites.
fn traced((text, functions): &(String, Vec<FunName>), by: &Strategies, shown: &str) {
    let mut pipeline = pipeline(text, Derivation::default(), by.clone());
    match pipeline.stages(&functions[0], true) {
        Ok(_) | Err(Error::OutOfFuel(_) | Error::Unfinished(_)) => {}
        Err(error) => panic!("{error}\n{shown}"),
    }
}

/// Random strategies from the groups of lmc.
struct Draw(SplitMix);

const GROUPS: [&str; 12] = [
    "jacobians",
    "maps",
    "distribute",
    "scales",
    "elements",
    "vectors",
    "transposition",
    "application",
    "figures",
    "factor-left",
    "arrays",
    "both-sides",
];

/// The loops that walk everywhere.
const EVERYWHERE: [&str; 4] = ["innermost", "normalize", "everywhere", "exhaust"];

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        (self.0.draw() % n as u64) as usize
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn groups(&mut self) -> String {
        let count = 1 + self.below(4);
        (0..count).map(|_| self.one_of(&GROUPS)).collect::<Vec<_>>().join(", ")
    }

    /// A strategy of any form. In a loop, there are laws in front.
    fn any(&mut self, depth: usize) -> String {
        if depth == 0 {
            return format!("laws({})", self.groups());
        }
        let [a, b] = [0, 1].map(|_| self.any(depth - 1));
        match self.below(12) {
            0 => format!("({a} ; {b})"),
            1 => format!("({a} <+ {b})"),
            2 => format!("try({a})"),
            3 => format!("{}({a})", self.one_of(&["one", "some", "all", "topDown", "bottomUp"])),
            4 => format!("{}(laws({}) ; try({a}))", self.one_of(&EVERYWHERE), self.groups()),
            5 => format!("repeat(topDown(laws({})))", self.groups()),
            6 => format!("{}({a})", self.one_of(&["rhs(1)", "result", "then", "else", "child(2)", "function"])),
            7 => format!("fuel({}, {a})", self.below(30)),
            8 => format!("mu x. try(laws({}) ; x)", self.groups()),
            9 => "id".into(),
            10 => "fail".into(),
            _ => format!("(mu x. try(laws({})) ; all(x))", self.groups()),
        }
    }

    /// A strategy for a stage: most often one that also does what the stage needs.
    fn stage(&mut self, needed: &str) -> String {
        let mut groups: Vec<String> = needed.split(", ").map(String::from).collect();
        if self.below(2) == 0 {
            groups.insert(self.below(groups.len() + 1), self.one_of(&GROUPS).into());
        }
        let at = self.below(groups.len());
        groups.rotate_left(at);
        let whole = format!("{}(laws({}))", self.one_of(&EVERYWHERE), groups.join(", "));
        match self.below(4) {
            0 => self.any(3),
            1 => format!("try({}) ; {whole}", self.any(2)),
            2 => format!("{whole} ; try({})", self.any(2)),
            _ => whole,
        }
    }

    fn file(&mut self) -> String {
        let stages = [
            ("jacobian", "jacobians, maps, distribute, scales, elements, vectors"),
            ("transpose", "transposition, maps, distribute, vectors"),
            ("reverse-half", "transposition, maps, distribute, scales, vectors"),
            ("apply", "application, transposition, maps, distribute, vectors"),
            ("directions", "arrays, vectors"),
            ("values", "vectors"),
        ];
        let mut text = String::from("strategy exhaust(s) = mu x. some(x) <+ try(s ; try(x))\n");
        for (name, needed) in stages {
            // One or two stages are enough for a failure to show where it comes from.
            if self.below(3) == 0 {
                text += &format!("strategy {name} = {}\n", self.stage(needed));
            }
        }
        text
    }
}

#[test]
fn random_strategies_end_and_change_no_value() {
    lmc::with_large_stack(|| {
        let programs = programs();
        let mut draw = Draw(SplitMix::new(random::seed()));
        let (mut agree, mut tried) = (0, 0);
        for round in 0..random::cases(80) {
            let text = draw.file();
            let shown = format!("round {round} of LMC_SEED={}:\n{text}", random::seed());
            let by = strategies(&text);
            let (program, functions) = &programs[draw.below(programs.len())];
            let derivation = Derivation::OF_ALL_PROGRAMS[draw.below(Derivation::OF_ALL_PROGRAMS.len())];
            agree += usize::from(agreeing(program, functions, derivation, &by, &shown) > 0);
            tried += 1;
            if round % 8 == 0 {
                traced(&programs[0], &by, &shown);
            }
        }
        assert!(agree * 4 > tried, "only {agree} of {tried} strategies make derivatives");
    });
}

/// Those that come with lmc make all derivatives.
#[test]
fn the_variants_change_no_value() {
    lmc::with_large_stack(|| {
        for (name, text) in lm::strategy::VARIANTS {
            let by = strategies(text);
            for (program, functions) in &programs() {
                for derivation in Derivation::OF_ALL_PROGRAMS {
                    let mut pipeline = pipeline(program, derivation, by.clone());
                    for f in functions {
                        let made = gradcheck::prepare(&mut pipeline, f);
                        made.unwrap_or_else(|error| panic!("{name}, {derivation:?}: {error}"));
                        let report = gradcheck::check(&pipeline, None, f, 3, 1);
                        assert!(report.points > 0 && report.faults().is_empty(), "{name}, {derivation:?}: {f}");
                    }
                }
            }
        }
    });
}

/// The columns of a Jacobian, by the strategies.
fn columns(by: Strategies) -> (Pipeline, Def) {
    let text = "(def dot Float ((v : Vec Float) (w : Vec Float))
                  (sum (build (size v) (lam (i : Integer) (mul (index i v) (index i w))))))
                (gdef jacfwd dot)";
    let mut pipeline = pipeline(text, Derivation::default(), by);
    pipeline.complete().expect("it derives");
    let name = FunName::base("dot").derived(Derivative::JacFwd);
    pipeline.require(&name).expect("it derives");
    let def = pipeline.program().defs[&name].clone();
    (pipeline, def)
}

/// The number of sums.
fn loops(def: &Def) -> usize {
    let mut count = 0;
    def.body.visit(|e| {
        let is_sum = [Prim::Sum, Prim::SumBuild].iter().any(|p| e.args_of_prim(*p).is_some());
        count += usize::from(is_sum);
    });
    count
}

#[test]
fn a_definition_takes_the_place_of_one_of_lmc() {
    lmc::with_large_stack(|| {
        assert_eq!(loops(&columns(Strategies::default()).1), 0);
        assert!(loops(&columns(strategies("strategy directions = fail")).1) > 0);
        // The strategies of lmc see a group that is defined anew.
        assert!(loops(&columns(strategies("group arrays = dot-of-floats")).1) > 0);
    });
}

/// A strategy of definitions runs passes, and shows its stages in order.
#[test]
fn passes_and_stages_are_followed() {
    lmc::with_large_stack(|| {
        let by = strategies(
            "strategy directions = stage(\"Fused\", laws(arrays, vectors)) ; pass(cse) ; stage(\"Named\", pass(anf))",
        );
        let (mut pipeline, def) = columns(by);
        assert_eq!(loops(&def), 0);
        let before = columns(strategies("strategy directions = fail")).1;
        let mut shown = Vec::new();
        let after = pipeline
            .follow("directions", &before, &mut |_, heading, def| shown.push((heading.to_string(), loops(def))));
        assert_eq!(loops(&after.expect("it ends")), 0);
        assert_eq!(shown, [("Fused".to_string(), 0), ("Named".to_string(), 0)]);
    });
}

/// The example of the page does what the page says.
#[test]
fn the_example_fuses_loops_and_drops_zeros() {
    lmc::with_large_stack(|| {
        let page = files::text(&files::path("docs/strategies.md"));
        let (_, after) = page.split_once("# fused.strategy\n").expect("the page has the example");
        let (text, _) = after.split_once("```").expect("a block has an end");
        assert_eq!(loops(&columns(strategies(text)).1), 0);
        // The first part alone leaves the sums.
        let fusion = text.replace("laws(arrays, vectors) ;\n", "");
        assert!(fusion.len() < text.len() && loops(&columns(strategies(&fusion)).1) > 0);
    });
}

/// Each pass that a strategy may name can be run.
#[test]
fn every_pass_runs() {
    lmc::with_large_stack(|| {
        for pass in KNOWN.passes {
            let (_, def) = columns(strategies(&format!("strategy directions = laws(arrays, vectors) ; pass({pass})")));
            assert_eq!(loops(&def), 0, "{pass}");
        }
    });
}
