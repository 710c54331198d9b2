//! The primitives on arrays that have an expansion: values and counts, and their names in laws.

use lm::eval::Evaluator;
use lm::facts::Facts;
use lm::interp::{ErrorKind, Interpreter};
use lm::law::Law;
use lm::prim::Prim;
use lm::runtime_error::RuntimeError;
use lm::tensor::Tensor;
use lm::term::{Binding, Def, Expr, FunName, Pattern, Program, Supply, Var};
use lm::types::Type;
use lm::value::Value;
use std::sync::Arc;

/// `λp. let (x, y) = p in x op y` on pairs of a type.
fn of_pair(p: Prim, supply: &mut Supply, ty: Type) -> Expr {
    of_parts(supply, ty, |x, y| Expr::prim(p, [x, y]))
}

/// `λp. let (x, y) = p in e`, the form in which laws see it.
fn of_parts(supply: &mut Supply, ty: Type, e: impl FnOnce(Expr, Expr) -> Expr) -> Expr {
    let [x, y] = ["x", "y"].map(|name| supply.fresh(name, ty.clone()));
    let p = supply.fresh("p", Type::tuple([ty.clone(), ty]));
    let result = e(Expr::var(&x), Expr::var(&y));
    let apart = Binding { pattern: Pattern::Tuple(vec![x, y]), rhs: Expr::var(&p) };
    Expr::lam(p, Expr::block(vec![apart], result))
}

fn floats(n: usize) -> Value {
    Value::vector((1..=n).map(|k| Value::Float(k as f64)).collect())
}

fn numbers(of: &[f64]) -> Value {
    Value::vector(of.iter().copied().map(Value::Float).collect())
}

/// A function of vectors of Floats.
struct Case {
    program: Program,
    name: FunName,
}

impl Case {
    fn new(params: usize, body: impl FnOnce(&mut Supply, &[Var]) -> Expr) -> Case {
        let (name, mut program) = (FunName::base("f"), Program::default());
        let vector = Type::vec(Type::Float);
        let params: Vec<Var> = (0..params).map(|_| program.supply.fresh("v", vector.clone())).collect();
        let body = body(&mut program.supply, &params);
        program.defs.insert(name.clone(), Def::new(name.clone(), params, body));
        Case { program, name }
    }

    /// The value, the same by both evaluators.
    fn value(&self, args: &[Value]) -> Result<Value, RuntimeError> {
        let value = Interpreter::new(&self.program).call(&self.name, args);
        let naive = Evaluator::new(&self.program, std::io::sink()).call(&self.name, args);
        assert_eq!(value, naive, "the evaluators disagree at {args:?}");
        value
    }

    /// MOVES of a call, and the Floats that it writes.
    fn moves(&self, args: &[Value]) -> (u64, u64) {
        let mut interpreter = Interpreter::new(&self.program);
        interpreter.call(&self.name, args).expect("it has a value");
        (interpreter.counts.accesses, interpreter.counts.moves)
    }
}

fn case(p: Prim) -> Case {
    Case::new(1, |supply, v| {
        let v = Expr::var(&v[0]);
        match p {
            Prim::Map2 => Expr::prim(p, [of_pair(Prim::Mul, supply, Type::Float), v.clone(), v]),
            Prim::Reduce | Prim::Scanr => Expr::prim(p, [of_pair(Prim::Sub, supply, Type::Float), Expr::float(1.0), v]),
            _ => Expr::prim(p, [v]),
        }
    })
}

#[test]
fn values_at_all_sizes() {
    let wanted: &[(Prim, [&[f64]; 4])] = &[
        (Prim::Map2, [&[], &[1.0], &[1.0, 4.0], &[1.0, 4.0, 9.0, 16.0, 25.0]]),
        // From the left: ((1 - 1) - 2) - ..
        (Prim::Reduce, [&[1.0], &[0.0], &[-2.0], &[-14.0]]),
        (Prim::Scanr, [&[1.0], &[0.0, 1.0], &[-2.0, -1.0, 1.0], &[-14.0, -13.0, -11.0, -8.0, -4.0, 1.0]]),
        (Prim::Shift1L, [&[], &[], &[2.0], &[2.0, 3.0, 4.0, 5.0]]),
        (Prim::Shift1R, [&[], &[], &[1.0], &[1.0, 2.0, 3.0, 4.0]]),
    ];
    for (p, values) in wanted {
        for (n, value) in [0, 1, 2, 5].into_iter().zip(values) {
            let wanted = if *p == Prim::Reduce { Value::Float(value[0]) } else { numbers(value) };
            assert_eq!(case(*p).value(&[floats(n)]), Ok(wanted), "{} at size {n}", p.name());
        }
    }
}

#[test]
fn map2_needs_one_size() {
    let two = Case::new(2, |supply, v| {
        let f = of_pair(Prim::Add, supply, Type::Float);
        Expr::prim(Prim::Map2, [f, Expr::var(&v[0]), Expr::var(&v[1])])
    });
    let wanted = ErrorKind::SizeMismatch { left: vec![2].into(), right: vec![3].into() };
    assert_eq!(two.value(&[floats(2), floats(3)]).expect_err("the sizes differ").kind, wanted);
}

/// A tensor of rank 2 keeps its size, also without elements; elements may be vectors.
#[test]
fn map2_takes_tensors_of_any_rank() {
    let (name, mut program) = (FunName::base("f"), Program::default());
    let row = Type::vec(Type::Float);
    let table = Type::Tensor(2, Arc::new(row.clone()));
    let x = program.supply.fresh("t", table);
    let f = of_pair(Prim::Add, &mut program.supply, row);
    let body = Expr::prim(Prim::Map2, [f, Expr::var(&x), Expr::var(&x)]);
    program.defs.insert(name.clone(), Def::new(name.clone(), vec![x], body));
    let case = Case { program, name };
    let tensor = |size: &[usize], elements: Vec<Value>| Value::Tensor(Arc::new(Tensor::new(size.to_vec(), elements)));
    let given = tensor(&[1, 2], vec![floats(2), floats(1)]);
    let wanted = tensor(&[1, 2], vec![numbers(&[2.0, 4.0]), numbers(&[2.0])]);
    assert_eq!(case.value(&[given]), Ok(wanted));
    let empty = tensor(&[0, 3], vec![]);
    assert_eq!(case.value(std::slice::from_ref(&empty)), Ok(empty));
}

/// Fig. 11 of the paper: 2 for each step of `map2` and `reduce`, 3 of a scan, 1 for each element of a shift. The function
/// costs 1 + 1 to take the pair apart, 1 for each component and 3 for the operation.
#[test]
fn moves_are_those_of_the_cost_model() {
    let of_step = |p: Prim| {
        let at = |n: usize| case(p).moves(&[floats(n)]);
        let ((few, written), (many, more)) = (at(2), at(5));
        ((many - few) as f64 / 3.0, more - written)
    };
    let body = 7.0;
    assert_eq!(of_step(Prim::Map2), (2.0 + body, 3));
    assert_eq!(of_step(Prim::Reduce), (2.0 + body, 0));
    assert_eq!(of_step(Prim::Scanr), (3.0 + body, 3));
    assert_eq!(of_step(Prim::Shift1L), (1.0, 3));
    assert_eq!(of_step(Prim::Shift1R), (1.0, 3));
}

#[test]
fn sizes_are_known() {
    let mut supply = Supply::default();
    let v = Expr::var(&supply.fresh("v", Type::vec(Type::Float)));
    let f = of_pair(Prim::Add, &mut supply, Type::Float);
    let size = |e: Expr| Expr::prim(Prim::Size, [e]);
    let facts = Facts::default();
    let both = Expr::prim(Prim::Map2, [f.clone(), v.clone(), v.clone()]);
    assert!(facts.are_equal(&size(both.clone()), &size(v.clone())));
    assert!(facts.is_total(&both));
    let scan = Expr::prim(Prim::Scanr, [f, Expr::float(0.0), v.clone()]);
    assert!(facts.are_equal(&size(scan), &Expr::prim(Prim::Add, [size(v.clone()), Expr::integer(1)])));
    assert!(!facts.are_equal(&size(Expr::prim(Prim::Shift1L, [v.clone()])), &size(v)));
}

/// `reduce + 0 v` is the sum. The function is matched modulo names.
#[test]
fn laws_name_them() {
    let law = Law::equation("reduce-sum", "derived", "reduce(λ(x, y). x + y, 0.0, v) = sum(v)");
    let mut supply = Supply::default();
    let v = Expr::var(&supply.fresh("v", Type::vec(Type::Float)));
    let reduce = |p, supply: &mut Supply| {
        let f = of_pair(p, supply, Type::Float);
        Expr::prim(Prim::Reduce, [f, Expr::float(0.0), v.clone()])
    };
    let (sum, product) = (reduce(Prim::Add, &mut supply), reduce(Prim::Mul, &mut supply));
    let rewritten = |e: &Expr, supply: &mut Supply| law.rewrite(e, supply, &mut Vec::new());
    assert_eq!(rewritten(&sum, &mut supply), Some(Expr::prim(Prim::Sum, [v.clone()])));
    assert_eq!(rewritten(&product, &mut supply), None);
    for text in [
        "shift1L(shift1R(v)) = shift1R(shift1L(v))",
        "scanr(λ(x, y). x + y, a, v) = scanr(λ(x, y). y + x, a, v)",
        "map2(λ(x, y). x, v, w) = v",
    ] {
        let law = Law::equation("some", "derived", text);
        let v = v.clone();
        let e = match &text[..5] {
            "shift" => Expr::prim(Prim::Shift1L, [Expr::prim(Prim::Shift1R, [v])]),
            "scanr" => Expr::prim(Prim::Scanr, [of_pair(Prim::Add, &mut supply, Type::Float), Expr::float(1.0), v]),
            _ => {
                let first = of_parts(&mut supply, Type::Float, |x, _| x);
                Expr::prim(Prim::Map2, [first, v.clone(), v])
            }
        };
        assert!(law.rewrite(&e, &mut supply, &mut Vec::new()).is_some(), "{text}");
    }
}
