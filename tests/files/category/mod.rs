//! The category language: what is converted, pruned or not, comes back as it was; pruned terms use all of their
//! environments, and are no longer than the program's; ill-typed terms are found; `[CL f]` is f, and has its
//! derivatives.

mod functions;
mod ill_typed;
mod notation;

use crate::each::{self, Outcome, alone};
use common::category::{all_come_back, comes_back};
use common::files;
use common::{generate, generate_arrays};
use libtest_mimic::Trial;
use lm::alpha;
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::notation::infix::Format;
use lm::prim::Prim;
use lm::term::{self, Binding, Derivative, Expr, FunName, Op, Pattern, Program, Supply, Var};
use lm::types::Type;
use lm::value::Value;
use lmc::derive::figures::fig09_11_category::{self as cl, Argument, Def, Term, print, typing};
use lmc::derive::passes::anf;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{self, Random};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, SourceInfo};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use std::collections::BTreeSet;
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::program("category::the_language_means_the_same", "tests/language", does_the_same);
    let errors = "category::errors_mean_the_same";
    tests.extend(each::program(errors, "tests/language/errors", does_the_same));
    tests.extend(each::program("category::demos_mean_the_same", "demos", does_the_same));
    tests.extend(alone!("category": derivatives_come_back, of_random_programs, chains_are_linear));
    tests.extend([functions::tests(), ill_typed::tests(), notation::tests()].into_iter().flatten());
    tests
}

/// Returns the output of a program, and its result or error.
fn ending(program: &Program) -> (String, Result<Value, RuntimeError>) {
    let mut text = Vec::new();
    let result = Interpreter::with_output(program, &mut text).call(&FunName::base("main"), &[]);
    (String::from_utf8(text).expect("programs print text"), result)
}

fn pipeline_of(name: &str, text: &str) -> Pipeline {
    let source = Source::new(name, text);
    let mut pipeline = Pipeline::new(front::load(&source).unwrap_or_else(|errors| panic!("{name}: {errors:?}")));
    pipeline.keep_maps();
    pipeline
}

/// The program with all that `main` calls, through CL; both do the same.
fn does_the_same(path: &Path) -> Outcome {
    let text = files::text(path);
    let mut pipeline = pipeline_of(&files::name(path), &text);
    pipeline.require(&FunName::base("main")).map_err(|error| error.to_string())?;
    let program = pipeline.program();
    let through = all_come_back(program)?;
    let times = text.contains("$BENCH");
    match times || ending(program) == ending(&through) {
        true => Ok(()),
        false => Err(format!("{:?}\nthrough CL: {:?}", ending(program), ending(&through))),
    }
}

/// Derived functions have constructs that programs lack: records, loops with outputs, linear maps.
fn derivatives_come_back() {
    let text = "
(def power Float ((x : Float) (n : Integer)) (if (lte n 0) 1.0 (mul x (power x (div n 2)))))
(def product Float (v : Vec Float) (fold (lam (s : Tuple Float Float) (mul (get$1$2 s) (get$2$2 s))) 1.0 v))
(def along Float ((v : Vec Float) (n : Integer)) (if (lte n 0) 1.0 (mul (index n v) (along v (sub n 2)))))";
    with_large_stack(|| {
        let mut pipeline = pipeline_of("derivatives.ks", text);
        for f in ["power", "product", "along"] {
            for derivation in [
                Derivative::D,
                Derivative::Dt,
                Derivative::Fwd,
                Derivative::Rev,
                Derivative::Jvp,
                Derivative::Vjp,
                Derivative::SufFwdPass,
                Derivative::SufRevPass,
                Derivative::Shape,
            ] {
                pipeline
                    .require(&FunName::base(f).derived(derivation.clone()))
                    .unwrap_or_else(|error| panic!("{error}"));
            }
        }
        let program = pipeline.program();
        all_come_back(program).unwrap_or_else(|why| panic!("{why}"));
        let shown = |def: &term::Def| print::definition(&cl::convert(def), Format::Plain, 100);
        let text: String = program.defs.values().map(shown).collect();
        for what in ["F($pack ", "F($unpack ", "B[$loop](", "B[lmFold](", "F(lmCompose)", "F($into)", "K(_)"] {
            assert!(text.contains(what), "{what} is not met in\n{text}");
        }
    });
}

fn of_random_programs() {
    let config = common::random::config(300);
    let plain = generate::programs(generate::Options { smooth: false, functions: 3, depth: 4 });
    let arrays = generate_arrays::programs(generate_arrays::Options { functions: 3, depth: 3, nodes: 9 });
    let outcome = with_large_stack(|| {
        TestRunner::new(config).run(&(plain.prop_map(Box::new), arrays), |(plain, arrays)| {
            for text in [generate::text(&plain), arrays.text.clone()] {
                random_program(&text).map_err(|why| TestCaseError::fail(format!("{why}\n{text}")))?;
            }
            let last = &arrays.functions.last().expect("there is a function").name;
            same_derivatives(&arrays.text, &FunName::base(last))
                .map_err(|why| TestCaseError::fail(format!("{why}\n{}", arrays.text)))?;
            Ok(())
        })
    });
    outcome.unwrap_or_else(|error| match error {
        TestError::Fail(why, _) => panic!("{why}"),
        TestError::Abort(why) => panic!("{why}"),
    });
}

/// Each function, and its `[CL f]` where that has a value.
fn random_program(text: &str) -> Result<(), String> {
    let mut pipeline = pipeline_of("random.ks", text);
    let functions: Vec<FunName> = pipeline.program().defs.keys().cloned().collect();
    for f in &functions {
        // The shape, too: of what is summed where there is nothing.
        pipeline.require(&f.derived(Derivative::Cl)).map_err(|error| error.to_string())?;
    }
    let through = all_come_back(pipeline.program())?;
    let mut random = Random::new(1);
    for f in functions {
        let cl = f.derived(Derivative::Cl);
        let point: Vec<Value> = through.defs[&f].params.iter().map(|x| random.point(x.ty())).collect();
        let at =
            |program: &Program, name: &FunName| Interpreter::new(program).call(name, &point).map(|v| v.to_string());
        let value = at(pipeline.program(), &f);
        let found = [at(&through, &f), at(pipeline.program(), &cl)];
        if found.iter().any(|found| *found != value) {
            return Err(format!("{f} at {point:?}: {value:?}, through CL {found:?}"));
        }
    }
    Ok(())
}

/// `[d [CL f]]` is `[d f]`, term by term.
fn same_derivatives(text: &str, f: &FunName) -> Result<(), String> {
    let mut pipeline = pipeline_of("random.ks", text);
    for derivation in [Derivative::Fwd, Derivative::Rev] {
        let names = [f.derived(derivation.clone()), f.derived(Derivative::Cl).derived(derivation)];
        names.iter().try_for_each(|name| pipeline.require(name)).map_err(|error| error.to_string())?;
        let [of_f, of_cl] = names.map(|name| pipeline.program().defs[&name].clone());
        let renamed = term::Def { fun: of_f.fun.clone(), ..of_cl };
        if !recursive(&pipeline, f) && !alpha::defs(&of_f, &renamed) {
            let shown = |def: &term::Def| lm::notation::ks::def(def, 100);
            return Err(format!("{}is not\n{}", shown(&renamed), shown(&of_f)));
        }
    }
    Ok(())
}

/// A recursive function calls itself, and not its `[CL f]`.
fn recursive(pipeline: &Pipeline, f: &FunName) -> bool {
    lmc::derive::call_order::is_recursive(pipeline.program(), f)
}

/// `let x1 = x0 * x0 in let x2 = x1 * x1 in ..`
fn chain(length: usize) -> term::Def {
    let mut supply = Supply::default();
    let first = supply.fresh("x0", Type::Float);
    let (mut last, mut bindings) = (first.clone(), Vec::new());
    for i in 1..=length {
        let rhs = Expr::prim(Prim::Mul, [Expr::var(&last), Expr::var(&last)]);
        last = supply.fresh(&format!("x{i}"), Type::Float);
        bindings.push(Binding { pattern: Pattern::Var(last.clone()), rhs });
    }
    term::Def::new(FunName::base("chain"), vec![first], Expr::block(bindings, Expr::var(&last)))
}

/// The sizes of a chain: pruned, and its texts.
fn sizes(length: usize) -> [usize; 3] {
    with_large_stack(|| {
        let def = chain(length);
        let pruned = cl::prune(&cl::convert(&def));
        assert!(cl::back(&pruned, &mut Supply::default()) == def);
        let text = |format| print::definition(&pruned, format, 100).chars().count();
        [pruned.body.size(), text(Format::Plain), text(Format::Signs)]
    })
}

fn chains_are_linear() {
    let (short, long) = (sizes(1_000), sizes(20_000));
    for (short, long) in short.into_iter().zip(long) {
        assert!(long < 22 * short, "20 times as long: {short} grows to {long}");
    }
    assert_eq!(short[0], sizes(1)[0] + 999 * (sizes(2)[0] - sizes(1)[0]));
}
