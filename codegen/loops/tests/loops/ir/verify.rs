//! Violations of the rules of form.

use lm::term::{FunName, Span};
use loops::ir::{Block, Function, Local, LocalInfo, Module, Op, Operand, Scalar, Stmt, well_formed};

/// Returns a function of one Float with a Bool and a Float for locals.
fn violation(stmts: Vec<Stmt>, result: Operand) -> String {
    let local = |scalar: Scalar| LocalInfo::unnamed(scalar.ty());
    let locals = vec![local(Scalar::Float), local(Scalar::Bool), local(Scalar::Float)];
    let body = Block { stmts, results: vec![result] };
    let function = Function::new(FunName::base("f"), vec![Local(0)], locals, body, Span::default());
    let function = Function { results: vec![Scalar::Float.ty()], ..function };
    well_formed(&Module { functions: vec![function], ..Module::default() }).err().unwrap_or_default()
}

fn local(i: u32) -> Operand {
    Operand::Local(Local(i))
}

#[test]
fn violations_are_found() {
    let square = || Stmt::Let(Local(2), Op::MulF, vec![local(0), local(0)]);
    assert_eq!(violation(vec![square()], local(2)), "");
    assert_eq!(violation(vec![], local(2)), "loops of f: %2 is not in scope");
    assert_eq!(violation(vec![square(), square()], local(2)), "loops of f: %2 is set twice, or is no local");
    assert_eq!(violation(vec![], Operand::Bool(true)), "loops of f: bool where float belongs");
    let wrong = Stmt::Let(Local(1), Op::MulF, vec![local(0), local(0)]);
    assert_eq!(violation(vec![wrong], local(0)), "loops of f: float where bool belongs");
    let inner = Block { stmts: vec![square()], results: vec![] };
    let branch = Stmt::If(vec![], Operand::Bool(true), inner, Block::default());
    assert_eq!(violation(vec![branch], local(2)), "loops of f: %2 is not in scope");
    let short = Stmt::Let(Local(2), Op::MulF, vec![local(0)]);
    assert_eq!(violation(vec![short], local(2)), "loops of f: 1 operands for 2 places");
}
