//! Each law of a pass, on the instance in its row: the pass makes of it what the row says, and both
//! mean the same.

use lm::effect::Effects;
use lm::interp::Interpreter;
use lm::map;
use lm::notation::ks;
use lm::term::{Def, Derivative, FunName, Program};
use lm::types::Type;
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::passes;
use lmc::derive::passes::laws::{self, PassLaw};
use lmc::derive::pipeline::Pipeline;
use lmc::derive::postcondition::{self, Facts};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;

/// The definitions of a text; the last is the instance.
fn program(text: &str) -> (Pipeline, Def) {
    program_by(text, Derivation::default())
}

fn program_by(text: &str, derivation: Derivation) -> (Pipeline, Def) {
    let mut checked = front::load_stage(&Source::new("law.ks", text)).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    checked.derivation = derivation;
    let (_, def) = checked.program.defs.last().expect("a definition");
    let def = def.clone();
    (Pipeline::new(checked), def)
}

fn point(ty: &Type) -> Value {
    match ty {
        Type::Float => Value::Float(0.75),
        Type::Integer => Value::Integer(2),
        Type::Bool => Value::Bool(true),
        Type::Tensor(1, element) if **element == Type::Float => {
            Value::vector(vec![Value::Float(0.75), Value::Float(-0.5)])
        }
        Type::Tensor(1, element) => Value::vector(vec![point(element), point(element)]),
        Type::Tuple(parts) => Value::Tuple(parts.iter().map(point).collect()),
        other => panic!("no instance takes {other}"),
    }
}

/// The value of a definition at a point; of a map, what it does to a vector.
fn meaning(p: &mut Pipeline, def: &Def) -> Value {
    let mut called = Vec::new();
    lmc::derive::call_order::calls(&def.body, &mut called);
    called.iter().for_each(|name| p.require(name).expect("what is called can be made"));
    let mut program: Program = p.program().clone();
    program.defs.insert(def.fun.name.clone(), def.clone());
    let mut interpreter = Interpreter::new(&program);
    let args: Vec<Value> = def.params.iter().map(|x| point(x.ty())).collect();
    let value = interpreter.call(&def.fun.name, &args).expect("instances do not fail");
    match (&value, def.body.ty()) {
        (Value::Map(m), Type::LM(s, _)) => {
            map::apply(&mut interpreter, m, &point(&s.tangent())).expect("maps are total")
        }
        _ => value,
    }
}

/// The instances have a direction for their last parameter; all but g are not recursive.
fn keeps_postcondition(law: &PassLaw, made: &Def) {
    // The rules of a Jacobian are no pass: it is something else than the function.
    if law.pass == "jacobian" {
        return assert!(made.body.ty().as_lm().is_some(), "{}", law.name);
    }
    let pass = passes::named(law.pass).unwrap_or_else(|| panic!("{}: there is no pass {}", law.name, law.pass));
    let effects = Effects::default();
    let directions = if law.pass == "hoist_residuals" { &made.params[made.params.len() - 1..] } else { &[] };
    let is_recursive = |f: &FunName| *f == FunName::base("g");
    let facts = Facts { directions, is_recursive: &is_recursive, ..Facts::new(&effects) };
    postcondition::check(pass, made, &facts).unwrap_or_else(|broken| panic!("{}: {broken}", law.name));
}

#[test]
fn each_pass_applies_its_laws() {
    with_large_stack(|| {
        for law in laws::all() {
            let (mut p, before) = program(law.before);
            let mut supply = p.program().supply.clone();
            let made = (law.run)(&before, &mut supply);
            // The row is read with the callees of the instance before it.
            let helpers = law.before.rfind("(def f ").filter(|&i| i > 0).map_or("", |i| &law.before[..i]);
            let (_, after) = program(&format!("{helpers}{}", law.after));
            assert!(
                lm::alpha::defs(&made, &after),
                "{}: `{}`\ngives\n{}\ninstead of\n{}",
                law.name,
                law.text,
                ks::def(&made, 100),
                ks::def(&after, 100)
            );
            keeps_postcondition(law, &made);
            // A transposed map means something else: what, is the law's own right side.
            let left = match law.text.contains('ᵀ') && before.fun.result.mentions_lm() {
                true => transposed(&mut p, &before),
                false if law.pass == "jacobian" => forward(law.before),
                false => meaning(&mut p, &before),
            };
            assert_eq!(left, meaning(&mut p, &made), "{}", law.name);
        }
    });
}

/// Returns the forward derivative of the last function of a text, at a point and a vector. It goes by pairs, which do
/// not use the rules of the Jacobian.
fn forward(text: &str) -> Value {
    let (mut p, def) = program_by(text, Derivation::Tupled);
    let (name, argument) = (def.fun.name.derived(Derivative::Fwd), def.fun.argument());
    p.require(&name).expect("instances have derivatives");
    let args = [point(&argument), point(&argument.tangent())];
    Interpreter::new(p.program()).call(&name, &args).expect("instances do not fail")
}

/// Applies the transpose of a definition's map to a vector.
fn transposed(p: &mut Pipeline, def: &Def) -> Value {
    let body = lm::term::Expr::prim(lm::prim::Prim::LmTranspose, [def.body.clone()]);
    meaning(p, &Def::new(def.fun.name.clone(), def.params.clone(), body))
}
