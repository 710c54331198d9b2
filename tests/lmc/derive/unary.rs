//! The unary form of paper 003, and the reverse derivatives that a sweep over it gives. A test for each statement of the
//! paper that lmc makes its own; all derivations are compared in `tests/files/derivations.rs`.

use common::random::{cases, seed};
use common::{cost, generate_arrays};
use lm::alpha;
use lm::notation::infix::{Format, definition};
use lm::random::SplitMix;
use lm::rewrites::Rewrites;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Kind, Op, Pattern, Supply};
use lm::value::Value;
use lmc::demos::DEMOS;
use lmc::derive::Derivation;
use lmc::derive::figures::paper003_unary::print::{self, Language};
use lmc::derive::figures::paper003_unary::{Argument, Step, back, convert};
use lmc::derive::passes::anf;
use lmc::derive::pipeline::Pipeline;
use lmc::with_large_stack;

/// Example 1.1 of the paper.
const EXAMPLE: &str = "(def f Float ((x1 : Float) (x2 : Float) (x3 : Float))
  (let ((w1 (mul x1 x2)) (w2 (mul w1 x1))) w2))";

fn pipeline(text: &str) -> Pipeline {
    cost::pipeline(text, Derivation::Unary).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// Draws a program on arrays.
fn drawn(draws: &mut SplitMix) -> String {
    let options = generate_arrays::Options { functions: 3, depth: 3, nodes: 9 };
    let length = draws.draw() % 160;
    let choices: Vec<u32> = (0..length).map(|_| (draws.draw() % 5040) as u32).collect();
    generate_arrays::program(&choices, options).text
}

/// The definition with one name for each binding, and no names for atoms: what UNF can tell.
fn plain(e: &Expr, supply: &mut Supply) -> Expr {
    let (bindings, result) = e.as_block();
    if bindings.is_empty() {
        return match e.kind() {
            Kind::Lam(x, body) => Expr::lam(x.clone(), plain(body, supply)),
            Kind::App(Op::If, args) => {
                Expr::app(Op::If, vec![args[0].clone(), plain(&args[1], supply), plain(&args[2], supply)])
            }
            _ => e.map_children(|child| plain(child, supply)),
        };
    }
    let mut atoms = rustc_hash::FxHashMap::default();
    let mut out = Vec::new();
    for b in bindings {
        let rhs = lm::scope::substitute(&plain(&b.rhs, supply), &atoms);
        match &b.pattern {
            Pattern::Var(x) if rhs.is_atom() => drop(atoms.insert(x.id(), rhs)),
            Pattern::Var(_) => out.push(Binding { pattern: b.pattern.clone(), rhs }),
            Pattern::Tuple(xs) => {
                let whole = if rhs.is_atom() {
                    rhs
                } else {
                    let t = supply.fresh("t", rhs.ty().clone());
                    out.push(Binding { pattern: Pattern::Var(t.clone()), rhs });
                    Expr::var(&t)
                };
                for (i, x) in xs.iter().enumerate() {
                    let rhs = Expr::get(i + 1, whole.clone());
                    out.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
                }
            }
        }
    }
    let result = lm::scope::substitute(&plain(result, supply), &atoms);
    Expr::block(out, result)
}

/// Prop. 6.7: what is converted comes back as it was. Types hold at each step (Figs. 6 and 7), which `convert` checks.
fn comes_back(def: &Def, supply: &mut Supply) -> Result<(), String> {
    let normal = anf::anf(def, supply, &mut Rewrites::all());
    let normal = Def { body: plain(&normal.body, supply), ..normal };
    let form = convert(&normal);
    form.check().map_err(|why| why.to_string())?;
    let back = back(&form, supply);
    let again = print::definition(&convert(&back), Language::Source, 100);
    let first = print::definition(&form, Language::Source, 100);
    let text = |def: &Def| definition(def, Format::Plain, 100);
    match alpha::defs(&back, &normal) && again == first {
        true => Ok(()),
        false => Err(format!("{}\ncomes back as\n{}\nthrough\n{first}\nand\n{again}", text(&normal), text(&back))),
    }
}

fn all_come_back(text: &str) {
    let p = pipeline(text);
    let mut supply = p.program().supply.clone();
    for def in p.program().defs.values() {
        comes_back(def, &mut supply).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn demos_come_back() {
    with_large_stack(|| DEMOS.iter().for_each(|demo| all_come_back(demo.text)));
}

#[test]
fn random_programs_come_back() {
    let mut draws = SplitMix::new(seed());
    with_large_stack(|| (0..cases(200)).for_each(|_| all_come_back(&drawn(&mut draws))));
}

/// A step that does not fit its list is found.
#[test]
fn ill_typed_steps_are_found() {
    let p = pipeline(EXAMPLE);
    let def = p.program().defs[&FunName::base("f")].clone();
    let form = convert(&anf::anf(&def, &mut p.program().supply.clone(), &mut Rewrites::all()));
    let with = |at: usize, step: Step| {
        let mut form = form.clone();
        form.steps[at] = step;
        form.check().map_err(|error| error.to_string())
    };
    assert_eq!(form.check(), Ok(()));
    assert_eq!(with(0, Step::Var(4)).unwrap_err(), "step 1 of UNF is ill-typed: it takes value 4 of 3");
    assert_eq!(with(0, Step::Var(0)).unwrap_err(), "step 1 of UNF is ill-typed: it takes value 0 of 3");
    let unit = Step::Constant(lm::term::Constant::Bool(true));
    assert_eq!(with(0, unit).unwrap_err(), "step 3 of UNF is ill-typed: Prim(Mul) does not take [Bool, Float]");
    assert_eq!(with(3, Step::Proj(9)).unwrap_err(), "step 4 of UNF is ill-typed: it drops 9 of 6 values");
    let short = "the last one leaves [Float, Float, Float, Float, Float, Float], and f gives Float";
    assert!(with(3, Step::Proj(0)).unwrap_err().ends_with(short));
    let branches = Step::If { yes: vec![], no: vec![], result: Default::default() };
    assert_eq!(with(0, branches).unwrap_err(), "step 1 of UNF is ill-typed: it asks for a Bool");
    let binder = Step::Binder { op: Op::If, args: vec![Argument::Value; 4], result: Default::default() };
    assert!(with(0, binder).unwrap_err().contains("it takes 4 values, and there are 3"));
}

/// Example 1.1, as the paper prints it.
#[test]
fn the_example_is_as_the_paper_has_it() {
    let p = pipeline(EXAMPLE);
    let form = convert(&p.program().defs[&FunName::base("f")]);
    let text = "f : [Float, Float, Float] => [Float, Float, Float, Float]
  = var_1; var_2; mul_3; proj_{3;2;1}; var_4; var_1; mul_4; proj_{4;2;1}; var_5; proj_{4;1;1};
    proj_{3;1;1}";
    assert_eq!(print::definition(&form, Language::Source, 100), text);
    let mut p = pipeline(EXAMPLE);
    let f = FunName::base("f");
    let stages = p.stages(&f, false).expect("f derives");
    let stage = |heading: &str| {
        let stage = stages.iter().find(|stage| &*stage.heading == heading).expect("the stage is shown");
        definition(&stage.def, Format::Plain, 100)
    };
    let evaluated = "fun [vjp f](s, dr)
  = let { (x1, x2, x3) = s }
    let { w1 = x1 * x2 }
    let { d_w1 = x1 * dr }
    (w1 * x1, (w1 * dr + x2 * d_w1, x1 * d_w1, 0.0))";
    assert_eq!(stage("Partially evaluated").trim_end(), evaluated);
}

/// The arithmetic of value and reverse derivative of f at vectors of n elements.
fn arithmetic(text: &str, n: u32) -> u64 {
    with_large_stack(|| {
        let mut p = pipeline(text);
        let f = FunName::base("f");
        let vjp = f.derived(Derivative::Vjp);
        p.require(&vjp).expect("f derives");
        let v = Value::vector((0..n).map(|i| Value::Float(f64::from(i) + 0.5)).collect());
        let params = p.program().defs[&f].params.len();
        let whole = if params == 1 { v } else { Value::Tuple(vec![v; params]) };
        let (_, counts) = cost::call(&p, &vjp, &[whole, Value::Float(1.5)]).expect("a value");
        counts.arithmetic()
    })
}

/// By the figures as they are printed, the gradient of `dot` takes time with the square of n.
#[test]
fn the_gradient_of_a_dot_product_is_linear() {
    let dot = "(def f Float ((a : Vec Float) (b : Vec Float))
                 (sumbuild (size a) (lam (i : Integer) (mul (index i a) (index i b)))))";
    for n in [20, 40, 80] {
        assert_eq!(arithmetic(dot, n), 6 * u64::from(n) - 1, "{n} elements");
    }
}

/// By the figures as they are printed, each step adds to the cotangents of all variables that it does not mention.
#[test]
fn a_step_adds_to_the_cotangents_of_what_occurs_in_it() {
    for m in [1, 10, 100] {
        let steps: String = (1..=m).map(|i| format!(" (x{i} (sin x{}))", i - 1)).collect();
        let text = format!("(def f Float (a : Vec Float) (let ((x0 (index 0 a)){steps}) x{m}))");
        // sin, cos and a product for each step.
        assert_eq!(arithmetic(&text, 3), 3 * m, "{m} steps");
    }
}
