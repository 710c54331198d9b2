//! The category language: what is converted, pruned or not, comes back as it was; pruned terms use all of their
//! environments, and are no longer than the program's; ill-typed terms are found; `[CL f]` is f, and has its
//! derivatives.

mod common;

use codegen::{Jit, SourceInfo};
use common::category::{all_come_back, comes_back};
use common::{generate, generate_arrays};
use lm::alpha;
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::notation::infix::Format;
use lm::prim::Prim;
use lm::term::{self, Binding, Expr, FunName, Op, Pattern, Program, Supply, Var};
use lm::types::Type;
use lm::value::Value;
use lmc::cl::{self, Argument, Def, Term, print, typing};
use lmc::demos::DEMOS;
use lmc::gradcheck::{self, Random};
use lmc::passes::anf;
use lmc::pipeline::Pipeline;
use lmc::source::Source;
use lmc::{front, with_large_stack};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What a program prints, and how it ends.
fn ending(program: &Program) -> (String, Result<Value, RuntimeError>) {
    let mut text = Vec::new();
    let result = Interpreter::with_output(program, &mut text).call(&FunName::base("main"), &[]);
    (String::from_utf8(text).expect("programs print text"), result)
}

fn pipeline_of(name: &str, text: &str) -> Pipeline {
    let source = Source::new(name, text);
    Pipeline::new(front::load(&source).unwrap_or_else(|errors| panic!("{name}: {errors:?}")))
}

/// The program with all that `main` calls, through CL; both do the same.
fn does_the_same(name: &str, text: &str) -> Result<usize, String> {
    let mut pipeline = pipeline_of(name, text);
    pipeline.require(&FunName::base("main")).map_err(|error| format!("{name}: {error}"))?;
    let program = pipeline.program();
    let through = all_come_back(program).map_err(|why| format!("{name}: {why}"))?;
    let times = text.contains("$BENCH");
    match times || ending(program) == ending(&through) {
        true => Ok(program.defs.len()),
        false => Err(format!("{name}: {:?}\nthrough CL: {:?}", ending(program), ending(&through))),
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "ks")).collect();
    files.sort();
    files
}

#[test]
fn the_language_means_the_same() {
    for folder in ["tests/language", "tests/language/errors"] {
        for file in files(folder) {
            let text = fs::read_to_string(&file).expect("a program is read");
            with_large_stack(|| does_the_same(&file.display().to_string(), &text))
                .unwrap_or_else(|why| panic!("{why}"));
        }
    }
}

#[test]
fn demos_mean_the_same() {
    let mut definitions = 0;
    for demo in DEMOS {
        definitions += with_large_stack(|| does_the_same(demo.name, demo.text)).unwrap_or_else(|why| panic!("{why}"));
    }
    assert!(definitions > 100, "{definitions} definitions");
}

/// What derivations make has what programs do not: records, loops with outputs, linear maps.
#[test]
fn derivatives_come_back() {
    let text = "
(def power Float ((x : Float) (n : Integer)) (if (lte n 0) 1.0 (mul x (power x (sub n 1)))))
(def product Float (v : Vec Float) (fold (lam (s : Tuple Float Float) (mul (get$1$2 s) (get$2$2 s))) 1.0 v))
(def along Float ((v : Vec Float) (n : Integer)) (if (lte n 0) 1.0 (mul (index n v) (along v (sub n 1)))))";
    with_large_stack(|| {
        let mut pipeline = pipeline_of("derivatives.ks", text);
        for f in ["power", "product", "along"] {
            for derivation in ["D", "Dt", "fwd", "rev", "jvp", "vjp", "suffwdpass", "sufrevpass", "shape"] {
                pipeline.require(&FunName::base(f).derived(derivation)).unwrap_or_else(|error| panic!("{error}"));
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

fn random_programs(cases: u32) {
    let config = common::random::config(cases);
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
    let through = all_come_back(pipeline.program())?;
    let mut random = Random::new(1);
    for f in functions {
        let cl = f.derived("CL");
        pipeline.require(&cl).map_err(|error| error.to_string())?;
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
    for derivation in ["fwd", "rev"] {
        let names = [f.derived(derivation), f.derived("CL").derived(derivation)];
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
    lmc::call_order::is_recursive(pipeline.program(), f)
}

#[test]
fn of_300_programs() {
    random_programs(300);
}

#[test]
#[ignore = "takes minutes; in release mode: cargo test --release --test category -- --ignored"]
fn of_10_000_programs() {
    random_programs(10_000);
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

#[test]
fn chains_are_linear() {
    let (short, long) = (sizes(1_000), sizes(20_000));
    for (short, long) in short.into_iter().zip(long) {
        assert!(long < 22 * short, "20 times as long: {short} grows to {long}");
    }
    assert_eq!(short[0], sizes(1)[0] + 999 * (sizes(2)[0] - sizes(1)[0]));
}

#[test]
fn long_chains_are_quick() {
    let start = std::time::Instant::now();
    sizes(20_000);
    let took = start.elapsed();
    assert!(took.as_secs() < 20, "{took:?}");
}

const PRINTED: &str = "
(def f2 Float (x : Float) (let ((y (mul x x)) (z (add x y))) (mul y z)))
(def g Float ((c : Bool) (v : Vec Float) (p : Tuple Float Float))
  (let ((a b) p)
    (if c
      (fold (lam (s : Tuple Float Float) (let ((acc x) s) (add (mul acc x) a))) 1.0 v)
      (sum (build (size v) (lam (i : Integer) (mul (index i v) (f2 b))))))))
(def swapped (Tuple Float Float) ((x : Float) (y : Float)) (tuple y x))
(def seven Integer () 7)";

const PLAIN: &str = "\
f2 : Float => Float
  = L(y, (I, I) ; F(mul),
    L(z, F(add),
    P[2,3/3] ; F(mul)))
g : (Bool, (Vec Float), (Tuple Float Float)) => Float
  = L((a, b), P[3/3],
    P[1,2,4,5/5] ;
    IF(P[1/4],
       P[2,3/4] ;
       B[fold](s,
               P[2,3/3] ;
               L((acc, x), P[2/2],
               P[1,3,4/4] ;
               L(t, P[2,3/3] ; F(mul),
               P[4,1/4] ; F(add))),
               P[/2] ; K(1.0),
               P[1/2]),
       P[2,4/4] ;
       L(t_1, P[1/2] ; F(size),
       L(t_2,
         B(P[3/3],
           i,
           P[1,2,4/4] ;
           L(t_3, P[3,1/3] ; F(index),
           P[2,4/4] ;
           L(t_4, P[1/2] ; F(f2),
           P[2,3/3] ; F(mul)))),
       P[4/4] ; F(sum)))))
swapped : (Float, Float) => (Tuple Float Float)
  = P[2,1/2]
seven : () => Integer
  = K(7)
";

/// The functions of a text, pruned.
fn printed(text: &str, format: Format, width: usize) -> String {
    with_large_stack(|| {
        let program = pipeline_of("printed.ks", text).into_program();
        let mut supply = program.supply.clone();
        let pruned = program.defs.values().map(|def| cl::prune(&cl::convert(&anf::anf(def, &mut supply))));
        pruned.map(|def| print::definition(&def, format, width) + "\n").collect()
    })
}

#[test]
fn terms_read_as_in_the_notes() {
    assert_eq!(printed(PRINTED, Format::Plain, 40), PLAIN);
    let signs = printed(PRINTED, Format::Signs, 100);
    let f2 = "f2 : Float ⇒ Float\n  = 𝓛(y, (𝓘, 𝓘) ; 𝓕(*),\n    𝓛(z, 𝓕(+),\n    𝓟[2,3/3] ; 𝓕(*)))\n";
    assert!(signs.starts_with(f2), "{signs}");
    assert!(printed(PRINTED, Format::Plain, 100).lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn unpruned_terms_have_the_whole_environment() {
    let shown = with_large_stack(|| {
        let mut pipeline = pipeline_of("printed.ks", PRINTED);
        print::definition(&pipeline.in_cl(&FunName::base("f2")).expect("it is converted"), Format::Plain, 100)
    });
    let expected = "f2 : Float => Float\n  = L(y, (I, I) ; F(mul),\n    L(z, (P[1/2], P[2/2]) ; F(add),\n    \
        (P[2/3], P[3/3]) ; F(mul)))";
    assert_eq!(shown, expected);
}

fn function(op: Op, arity: usize) -> Term {
    Term::Function { op, arity, span: Default::default() }
}

fn composed(first: Term, after: Term) -> Term {
    Term::Compose(Box::new(first), Box::new(after))
}

fn pruning(chosen: &[usize], of: usize) -> Term {
    Term::Pruning { chosen: chosen.to_vec(), of }
}

/// Of an environment (Float, Bool, (Tuple Float Float)): each rule of the type system, kept and broken.
#[test]
fn ill_typed_terms_are_found() {
    let mut supply = Supply::default();
    let mut var = |ty: Type| supply.fresh("x", ty);
    let pair = Type::tuple([Type::Float, Type::Float]);
    let env = [Type::Float, Type::Bool, pair.clone()];
    let one = || Term::Constant(term::Constant::Float(1.0));
    let boxed = Box::new;
    let x = |i| pruning(&[i], 3);
    let conditional = |c, a, b| Term::If(boxed(c), boxed(a), boxed(b));
    let (float, boolean, integer) = (var(Type::Float), var(Type::Bool), var(Type::Integer));
    let bind = |x: &Var, rhs, body| Term::Let(Pattern::Var(x.clone()), boxed(rhs), boxed(body));
    let both = |xs: [&Var; 2], rhs, body| Term::Let(Pattern::Tuple(xs.map(Var::clone).into()), boxed(rhs), boxed(body));
    let built = |op, args| Term::Binder { op: Op::Prim(op), args, span: Default::default() };
    let (value, lam) = (Argument::Value, |x: &Var, c| Argument::Function(x.clone(), c));
    let two = || composed(pruning(&[], 3), Term::Constant(term::Constant::Integer(2)));
    let good = [
        (Term::Identity, env.to_vec()),
        (pruning(&[3, 1], 3), vec![pair.clone(), Type::Float]),
        (composed(pruning(&[], 3), one()), vec![Type::Float]),
        (composed(pruning(&[], 3), Term::Dummy(Type::Bool)), vec![Type::Bool]),
        // The components of one pair, and two values, are the arguments of one function.
        (composed(x(3), function(Op::Prim(Prim::Mul), 2)), vec![Type::Float]),
        (composed(Term::Tuple(vec![x(1), x(1)]), function(Op::Prim(Prim::Mul), 2)), vec![Type::Float]),
        (composed(Term::Tuple(vec![x(1), x(1)]), function(Op::Get(2, 2), 1)), vec![Type::Float]),
        (composed(x(1), function(Op::Tuple, 1)), vec![Type::tuple([Type::Float])]),
        (conditional(x(2), x(3), Term::Tuple(vec![x(1), x(1)])), vec![pair.clone()]),
        (bind(&float, x(1), pruning(&[4], 4)), vec![Type::Float]),
        (both([&float, &float], x(3), pruning(&[5], 5)), vec![Type::Float]),
        (built(Prim::Build, vec![value(two()), lam(&integer, pruning(&[4], 4))]), vec![Type::vec(Type::Integer)]),
    ];
    for (c, ty) in good {
        assert_eq!(typing::target(&c, &env).as_ref(), Ok(&ty), "{c:?}");
    }
    let bad = [
        (one(), "its environment has 3 values, not 0"),
        (Term::Dummy(Type::Bool), "its environment has 3 values, not 0"),
        (pruning(&[1], 2), "its environment has 3 values, not 2"),
        (pruning(&[1, 1], 3), "takes a value twice"),
        (pruning(&[4], 3), "not there"),
        (pruning(&[0], 3), "not there"),
        // An environment of one pair is no environment of two values.
        (composed(x(3), pruning(&[1], 2)), "its environment has 1 values, not 2"),
        (function(Op::Prim(Prim::Mul), 2), "it takes 2 values"),
        (composed(x(2), function(Op::Prim(Prim::Sin), 1)), "it does not take (Bool)"),
        (function(Op::If, 3), "it does not take"),
        (conditional(x(1), x(3), x(3)), "its parts give Float"),
        (conditional(x(2), x(1), x(3)), "its parts give Bool"),
        (bind(&boolean, x(1), x(1)), "it binds Float where Bool"),
        (bind(&float, x(1), x(1)), "its environment has 4 values, not 3"),
        (both([&float, &boolean], x(3), pruning(&[5], 5)), "is to be bound"),
        (both([&float, &float], x(1), pruning(&[5], 5)), "it binds Float"),
        (built(Prim::Build, vec![value(x(1)), lam(&integer, pruning(&[4], 4))]), "it does not take"),
        (built(Prim::Build, vec![value(two()), lam(&float, pruning(&[4], 4))]), "it does not take"),
        (built(Prim::Build, vec![value(two()), lam(&integer, x(1))]), "its environment has 4 values, not 3"),
        (Term::Tuple(vec![x(1), composed(x(1), one())]), "not 0"),
    ];
    for (c, why) in bad {
        let error = typing::target(&c, &env).expect_err("it is ill-typed").to_string();
        assert!(error.contains(why), "{c:?}: {error}");
    }
}

#[test]
fn an_ill_typed_definition_is_a_bug_of_its_pass() {
    let converted = cl::convert(&chain(2));
    let wrong = Def { body: composed(converted.body.clone(), function(Op::Prim(Prim::Not), 1)), ..converted };
    let error = wrong.check().expect_err("it is ill-typed");
    assert_eq!((error.term.as_str(), error.reason.as_str()), ("F(not)", "it does not take (Float)"));
    let panic = std::panic::catch_unwind(|| cl::prune(&wrong)).expect_err("it stops");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert_eq!(message, "after pruning of chain: the CL term F(not) is ill-typed: it does not take (Float)");
}

/// A value that is used twice gets a name, on the way back of a term that no conversion makes.
#[test]
fn work_is_not_copied_on_the_way_back() {
    let twice = composed(Term::Tuple(vec![Term::Identity, Term::Identity]), function(Op::Prim(Prim::Mul), 2));
    let mut supply = Supply::default();
    let x = supply.fresh("x", Type::Float);
    let body = composed(composed(Term::Identity, twice.clone()), twice);
    let fun = chain(1).fun;
    let def = cl::back(&Def { fun, params: vec![x], body }, &mut supply);
    let text = lm::notation::ks::def(&def, 100);
    assert_eq!(text, "(def chain Float (x : Float)\n  (let (t (mul x x))\n    (mul t t)))\n");
    assert!(alpha::defs(&def, &comes_back(&def, &mut supply).expect("it comes back")));
}

const FUNCTIONS: &str = "
(edef elsewhere Float Float)
(edef [rev elsewhere] Float (Float Float))
(def f Float ((x : Float) (v : Vec Float))
  (let ((y (mul x x)) (s (sum (map (lam (e : Float) (mul e y)) v)))) (if (gt x 0.0) (mul s (sin x)) (exp s))))
(def f Float (x : Float) (mul x (cos x)))
(def power Float ((x : Float) (n : Integer)) (if (lte n 0) 1.0 (mul x (power x (sub n 1)))))
(def calls Float (x : Float) (mul ([CL power] x 3) ([CL f] x)))
(def hand Float (x : Float) (mul x x))
(def [CL hand] Float (x : Float) (mul 3.0 x))
(def second Float ((i : Integer) (v : Vec Float)) (index (add i 1) v))
(def guarded Float ((i : Integer) (v : Vec Float)) (assert (lt i (size v)) (index i v)))
(gdef CL hand)
(gdef CL [rev calls])
(gdef rev [CL [f Float]])
(def main Integer ()
  (print ([CL f] 2.0 (Vec_init 1.0 2.0)) \" \" ([rev [CL hand]] 1.0 1.0) \" \" ([CL sin] 0.0) \" \"
    ([rev [CL sin]] 0.0 1.0) \" \" (calls 0.0)))";

fn overloaded(ty: Type) -> FunName {
    FunName { overload: Some(ty), ..FunName::base("f") }
}

#[test]
fn cl_of_a_function_is_the_function_and_has_its_derivatives() {
    with_large_stack(|| {
        let mut pipeline = pipeline_of("functions.ks", FUNCTIONS);
        let functions = [
            overloaded(Type::Float),
            overloaded(Type::tuple([Type::Float, Type::vec(Type::Float)])),
            FunName::base("power"),
            FunName::base("calls"),
        ];
        for f in &functions {
            let cl = f.derived("CL");
            pipeline.require(&cl).unwrap_or_else(|error| panic!("{error}"));
            gradcheck::prepare(&mut pipeline, &cl).unwrap_or_else(|error| panic!("{error}"));
            let report = gradcheck::check(&pipeline, None, &cl, 10, 1);
            assert!(report.agrees(), "{cl}: {report:?}");
            for way in ["fwd", "rev", "D", "Dt", "jvp", "vjp", "suffwdpass", "sufrevpass", "sufrev", "shape"] {
                for name in [cl.derived(way), f.derived(way).derived("CL")] {
                    pipeline.require(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            }
            let params = pipeline.program().defs[f].params.clone();
            let mut random = Random::new(3);
            let point: Vec<Value> = params.iter().map(|x| random.point(x.ty())).collect();
            let whole = if let [one] = point.as_slice() { one.clone() } else { Value::Tuple(point.clone()) };
            let call = |name: &FunName, args: &[Value]| Interpreter::new(pipeline.program()).call(name, args);
            assert_eq!(call(f, &point), call(&cl, &point), "{f}");
            let reverse = [whole, Value::Float(1.5)];
            let expected = call(&f.derived("rev"), &reverse).expect("a derivative");
            assert_eq!(call(&cl.derived("rev"), &reverse), Ok(expected.clone()), "[rev {cl}]");
            assert_eq!(call(&f.derived("rev").derived("CL"), &reverse), Ok(expected), "[CL [rev {f}]]");
        }
        // Calls are of f, as in f.
        for f in &functions {
            let [of_f, of_cl] = [f, &f.derived("CL")].map(|name| pipeline.program().defs[name].clone());
            let distinct = |def: &term::Def| def.params.iter().map(Var::id).collect::<BTreeSet<_>>();
            assert!(distinct(&of_f).is_disjoint(&distinct(&of_cl)), "{f}");
            assert!(alpha::defs(&of_f, &term::Def { fun: of_f.fun.clone(), ..of_cl }), "{f}");
        }
    });
}

#[test]
fn cl_is_called_asked_for_and_written_by_hand() {
    with_large_stack(|| {
        let source = Source::new("functions.ks", FUNCTIONS);
        let checked = front::load(&source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let requested = checked.requested.clone();
        assert_eq!(
            requested.iter().map(FunName::to_string).collect::<Vec<_>>(),
            ["[CL hand]", "[CL [rev calls]]", "[rev [CL [f Float]]]"]
        );
        let mut pipeline = Pipeline::new(checked);
        let main = FunName::base("main");
        requested.iter().chain([&main]).for_each(|name| pipeline.require(name).unwrap_or_else(|e| panic!("{e}")));
        let (text, result) = ending(pipeline.program());
        assert!(result.is_ok(), "{result:?}");
        // [CL hand] is the one written by hand, whose derivative is 3.
        assert_eq!(text, format!("{} 3 0 1 0", 12.0 * 2f64.sin()));
        let mut natively = Vec::new();
        let info = SourceInfo::new(source.name(), source.text());
        let jit = Jit::new(pipeline.program(), std::slice::from_ref(&main), &info, &codegen::Options::exact());
        jit.expect("native code").call_with_output(&main, &[], &mut natively).expect("it runs");
        assert_eq!(String::from_utf8_lossy(&natively), text);
        let entry = overloaded(Type::Float).derived("CL").derived("rev");
        let jit = Jit::new(pipeline.program(), std::slice::from_ref(&entry), &info, &codegen::Options::exact());
        let args = [Value::Float(0.5), Value::Float(2.0)];
        let found = jit.expect("native code").call(&entry, &args).expect("it runs");
        assert_eq!(Ok(found), Interpreter::new(pipeline.program()).call(&entry, &args));
    });
}

#[test]
fn cl_of_what_is_elsewhere_calls_it() {
    with_large_stack(|| {
        let mut pipeline = pipeline_of("functions.ks", FUNCTIONS);
        let elsewhere = FunName::base("elsewhere").derived("CL");
        pipeline.require(&elsewhere.derived("rev")).unwrap_or_else(|error| panic!("{error}"));
        let text = |name: &FunName| lm::notation::ks::def(&pipeline.program().defs[name], 100);
        assert_eq!(text(&elsewhere), "(def [CL elsewhere] Float (x : Float)\n  (elsewhere x))\n");
        assert!(
            text(&elsewhere.derived("rev")).contains("([rev elsewhere] x dr)"),
            "{}",
            text(&elsewhere.derived("rev"))
        );
        let error = pipeline.require(&elsewhere.derived("fwd")).expect_err("[fwd elsewhere] is not given");
        assert_eq!(error.code(), "E306");
    });
}

/// A run-time error of `[CL f]` is at the place where f has it.
#[test]
fn errors_have_their_places() {
    with_large_stack(|| {
        let mut pipeline = pipeline_of("functions.ks", FUNCTIONS);
        let second = FunName::base("second");
        pipeline.require(&second.derived("CL")).unwrap_or_else(|error| panic!("{error}"));
        let args = [Value::Integer(1), Value::vector(vec![Value::Float(1.0)])];
        let call = |name: &FunName| Interpreter::new(pipeline.program()).call(name, &args).expect_err("out of range");
        let error = call(&second.derived("CL"));
        assert_eq!(error, call(&second));
        // What is asserted comes before what it guards.
        let guarded = FunName::base("guarded").derived("CL");
        pipeline.require(&guarded).unwrap_or_else(|error| panic!("{error}"));
        let outcome = Interpreter::new(pipeline.program()).call(&guarded, &args);
        assert_eq!(outcome.expect_err("it is asserted").kind, ErrorKind::AssertFailed);
        assert!(FUNCTIONS[error.span.start as usize..].starts_with("(index (add i 1) v)"), "{error:?}");
    });
}
