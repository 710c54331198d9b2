//! The names of what derivatives take and give.

use lm::prim::Prim;
use lm::term::{Def, Derivative, Expr, Fun, FunName, Program, Supply};
use lm::types::Type;
use loops::labels::{Label, Labels, Like};
use std::sync::Arc;

/// `f(w, t) = w * w`, where t is a pair of Floats.
fn program() -> Program {
    let mut supply = Supply::default();
    let w = supply.fresh("w", Type::Float);
    let t = supply.fresh("t", Type::tuple([Type::Float, Type::Float]));
    let body = Expr::prim(Prim::Mul, [Expr::var(&w), Expr::var(&w)]);
    let def = Def::new(FunName::base("f"), vec![w, t], body);
    Program { defs: [(def.fun.name.clone(), def)].into_iter().collect(), ..Program::default() }
}

/// Returns the names of inputs or outputs in order.
fn names(labels: &[Label]) -> String {
    let text = |label: &Label| match label {
        Label::Name(name) | Label::Tangent(name, _) => name.clone(),
        Label::Parts(parts) => names(parts),
    };
    labels.iter().map(text).collect::<Vec<_>>().join(" ")
}

fn names_of(name: FunName) -> (String, String) {
    let Labels { inputs, output } = Labels::derived(&program(), &name).expect("it has names");
    (names(&inputs), names(&[output]))
}

#[test]
fn derivatives_keep_the_names_of_parameters() {
    let f = FunName::base("f");
    let expected = [
        (Derivative::Fwd, "w t d_w d_t", "d_out"),
        (Derivative::Vjp, "w t dr", "out d_w d_t"),
        (Derivative::Grad, "w t", "d_w d_t"),
        (Derivative::Hvp, "w t d_w d_t", "d_d_w d_d_t"),
        (Derivative::Jac, "w t", "d_out_w d_out_t_1 d_out_t_2"),
        (
            Derivative::Hess,
            "w t",
            "d_d_w_w d_d_w_t_1 d_d_w_t_2 d_d_t_1_w d_d_t_1_t_1 d_d_t_1_t_2 d_d_t_2_w d_d_t_2_t_1 d_d_t_2_t_2",
        ),
        (Derivative::SufFwdPass, "w t", "out record"),
        (Derivative::SufRevPass, "dr record", "d_w d_t"),
    ];
    for (derivative, inputs, output) in expected {
        assert_eq!(names_of(f.derived(derivative)), (inputs.into(), output.into()));
    }
}

#[test]
fn only_what_varies_has_a_cotangent() {
    let restricted = FunName::base("f").restricted(&[vec![2, 1]]);
    assert_eq!(names_of(restricted.derived(Derivative::Rev)).1, "d_t_1");
    assert_eq!(names_of(restricted.derived(Derivative::Fwd)), ("w t d_t_1".into(), "d_out".into()));
    assert_eq!(names_of(restricted.derived(Derivative::Jac)).1, "d_out_t_1");
}

#[test]
fn tangents_have_the_shape_of_what_they_belong_to() {
    let mut program = program();
    let f = FunName::base("f");
    let t = |path: &[usize]| Label::Tangent("d_t".into(), Like::Part(path.to_vec()));
    let fwd = f.restricted(&[vec![2]]).derived(Derivative::Fwd);
    let pair = Type::tuple([Type::Float, Type::Float]);
    let params = vec![Type::tuple([Type::Float, pair.clone()]), pair];
    program.externals.insert(fwd.clone(), Arc::new(Fun { name: fwd.clone(), params, result: Type::Float }));
    let inputs = |name: &FunName| Labels::derived(&program, name).expect("it has names").inputs;
    assert_eq!(inputs(&fwd)[1], t(&[1, 2]));
    // The argument and its tangent are one argument now.
    let Label::Parts(parts) = &inputs(&fwd.derived(Derivative::Rev))[0] else { panic!("two parts") };
    assert_eq!(parts[1], t(&[1, 1, 2]));

    let (function, args) = (program.defs[&f].fun.clone(), vec![vec![1, 1], vec![1, 2]]);
    let dr = Label::Tangent("dr".into(), Like::Result { function, args, part: vec![] });
    assert_eq!(inputs(&f.derived(Derivative::Rev))[1], dr);
    assert_eq!(inputs(&f.derived(Derivative::SufRevPass))[0], Label::Tangent("dr".into(), Like::Unknown));
}
