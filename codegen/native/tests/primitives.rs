//! Each scalar primitive, native against interpreted, on awkward values: the same bits.

mod common;

use common::{Build, same, tuple};
use lm::interp::Interpreter;
use lm::prim::{self, Prim};
use lm::term::{Expr, FunName};
use lm::types::Type;
use lm::value::Value;
use native::{Jit, Options, SourceInfo};

const FLOATS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.5,
    3.0,
    1e300,
    -1e-300,
    5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9.3e18,
    std::f64::consts::PI,
    0.1,
    710.0,
];
const INTEGERS: &[i64] = &[0, 1, -1, 2, 3, -7, 1000, i64::MAX, i64::MIN, i64::MIN + 1, (1 << 53) + 1];

fn values(ty: &Type) -> Vec<Value> {
    match ty {
        Type::Float => FLOATS.iter().copied().map(Value::Float).collect(),
        Type::Integer => INTEGERS.iter().copied().map(Value::Integer).collect(),
        Type::Bool => vec![Value::Bool(false), Value::Bool(true)],
        Type::Tuple(parts) => {
            let columns: Vec<Vec<Value>> = parts.iter().map(values).collect();
            let rows = columns.iter().map(Vec::len).max().unwrap_or(1);
            (0..rows).map(|i| Value::Tuple(columns.iter().map(|c| c[i % c.len()].clone()).collect())).collect()
        }
        other => panic!("no values of {other}"),
    }
}

/// Whether the interpreter gives a meaning to the primitive at these types: `add` is one of vector
/// spaces, and only the typing admits Bools and Integers inside tuples.
fn is_meant(p: Prim, types: &[Type]) -> bool {
    let vector = matches!(types[0], Type::Float | Type::Integer) || types[0] == tuple(&[Type::Float, Type::Float]);
    vector || !matches!(p, Prim::Add | Prim::Sub)
}

fn typings(p: Prim) -> Vec<Vec<Type>> {
    let pair = tuple(&[Type::Float, Type::Float]);
    let mixed = tuple(&[Type::Float, Type::Integer, Type::Bool]);
    let all = [Type::Float, Type::Integer, Type::Bool, pair, mixed];
    let one = all.iter().map(|t| vec![t.clone()]);
    let two = all.iter().flat_map(|s| all.iter().map(|t| vec![s.clone(), t.clone()]));
    let fits = |types: &Vec<Type>| {
        p.result(types).is_some_and(|result| !result.mentions_lm() && !result.mentions_array()) && is_meant(p, types)
    };
    one.chain(two).filter(fits).collect()
}

#[test]
fn native_is_interpreted() {
    let mut b = Build::default();
    let mut cases = Vec::new();
    for &p in prim::ALL.iter() {
        for types in typings(p) {
            let name = format!("case{}", cases.len());
            let params: Vec<(&str, Type)> = types.iter().map(|ty| ("x", ty.clone())).collect();
            b.def(&name, &params, |_, xs| Expr::prim(p, xs.to_vec()));
            cases.push((p, FunName::base(&name), types));
        }
    }
    let names: Vec<FunName> = cases.iter().map(|(_, name, _)| name.clone()).collect();
    let options = [0, 1, 2, 3].map(|opt_level| Options { opt_level, ..Options::exact() });
    let portable = Options { target_cpu: Some("x86-64".into()), ..Options::exact() };
    for options in options.into_iter().chain([portable]) {
        let jit = Jit::new(&b.program, &names, &SourceInfo::default(), &options).expect("compiles");
        for (p, name, types) in &cases {
            let columns: Vec<Vec<Value>> = types.iter().map(values).collect();
            let other = columns.get(1).cloned().unwrap_or(vec![Value::Tuple(vec![])]);
            for x in &columns[0] {
                for y in &other {
                    let args = if types.len() == 1 { vec![x.clone()] } else { vec![x.clone(), y.clone()] };
                    agree(&b, &jit, *p, name, &args);
                }
            }
        }
    }
    let covered: std::collections::BTreeSet<Prim> = cases.iter().map(|(p, ..)| *p).collect();
    assert!(covered.len() >= 44, "{covered:?}");
}

fn agree(b: &Build, jit: &Jit, p: Prim, name: &FunName, args: &[Value]) {
    let (mut wanted_text, mut found_text) = (Vec::new(), Vec::new());
    let wanted = Interpreter::with_output(&b.program, &mut wanted_text).call(name, args);
    let found = jit.call_with_output(name, args, &mut found_text);
    let agree = match (&wanted, &found) {
        (Ok(wanted), Ok(found)) => same(wanted, found),
        (wanted, found) => wanted == found,
    };
    assert!(agree, "{} {args:?}: interpreted {wanted:?}, native {found:?}", p.name());
    assert_eq!(String::from_utf8(wanted_text), String::from_utf8(found_text), "{} {args:?}", p.name());
}
