//! Ill-typed terms are found.

use super::*;
use lm::libm::Libm;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!(
        "category": ill_typed_terms_are_found, an_ill_typed_definition_is_a_bug_of_its_pass,
        work_is_not_copied_on_the_way_back
    )
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

/// Each rule of the type system, kept and broken, in the environment (Float, Bool, (Tuple Float Float)).
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
        (composed(x(2), function(Op::Prim(Prim::Libm(Libm::Sin)), 1)), "it does not take (Bool)"),
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
