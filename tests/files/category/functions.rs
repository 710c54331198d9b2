//! `[CL f]` is f, and has its derivatives.

use super::*;
use common::native::unoptimised;
use lm::term::Derivative;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!(
        "category": cl_of_a_function_is_the_function_and_has_its_derivatives,
        cl_is_called_asked_for_and_written_by_hand, cl_of_what_is_elsewhere_calls_it, errors_have_their_places,
        errors_of_unused_values_stay
    )
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
            let cl = f.derived(Derivative::Cl);
            pipeline.require(&cl).unwrap_or_else(|error| panic!("{error}"));
            gradcheck::prepare(&mut pipeline, &cl).unwrap_or_else(|error| panic!("{error}"));
            let report = gradcheck::check(&pipeline, None, &cl, 10, 1);
            assert!(report.agrees(), "{cl}: {report:?}");
            for way in [
                Derivative::Fwd,
                Derivative::Rev,
                Derivative::D,
                Derivative::Dt,
                Derivative::Jvp,
                Derivative::Vjp,
                Derivative::SufFwdPass,
                Derivative::SufRevPass,
                Derivative::SufRev,
                Derivative::Shape,
            ] {
                for name in [cl.derived(way.clone()), f.derived(way.clone()).derived(Derivative::Cl)] {
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
            let expected = call(&f.derived(Derivative::Rev), &reverse).expect("a derivative");
            assert_eq!(call(&cl.derived(Derivative::Rev), &reverse), Ok(expected.clone()), "[rev {cl}]");
            assert_eq!(
                call(&f.derived(Derivative::Rev).derived(Derivative::Cl), &reverse),
                Ok(expected),
                "[CL [rev {f}]]"
            );
        }
        // Calls are of f, as in f.
        for f in &functions {
            let [of_f, of_cl] = [f, &f.derived(Derivative::Cl)].map(|name| pipeline.program().defs[name].clone());
            let distinct = |def: &term::Def| def.params.iter().map(Var::id).collect::<BTreeSet<_>>();
            assert!(distinct(&of_f).is_disjoint(&distinct(&of_cl)), "{f}");
            assert!(alpha::defs(&of_f, &term::Def { fun: of_f.fun.clone(), ..of_cl }), "{f}");
        }
    });
}

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
        let jit = Jit::new(pipeline.program(), std::slice::from_ref(&main), &info, &unoptimised());
        jit.expect("native code").call_with_output(&main, &[], &mut natively).expect("it runs");
        assert_eq!(String::from_utf8_lossy(&natively), text);
        let entry = overloaded(Type::Float).derived(Derivative::Cl).derived(Derivative::Rev);
        let jit = Jit::new(pipeline.program(), std::slice::from_ref(&entry), &info, &unoptimised());
        let args = [Value::Float(0.5), Value::Float(2.0)];
        let found = jit.expect("native code").call(&entry, &args).expect("it runs");
        assert_eq!(Ok(found), Interpreter::new(pipeline.program()).call(&entry, &args));
    });
}

fn cl_of_what_is_elsewhere_calls_it() {
    with_large_stack(|| {
        let mut pipeline = pipeline_of("functions.ks", FUNCTIONS);
        let elsewhere = FunName::base("elsewhere").derived(Derivative::Cl);
        pipeline.require(&elsewhere.derived(Derivative::Rev)).unwrap_or_else(|error| panic!("{error}"));
        let text = |name: &FunName| lm::notation::ks::def(&pipeline.program().defs[name], 100);
        assert_eq!(text(&elsewhere), "(def [CL elsewhere] Float (x : Float)\n  (elsewhere x))\n");
        assert!(
            text(&elsewhere.derived(Derivative::Rev)).contains("([rev elsewhere] x dr)"),
            "{}",
            text(&elsewhere.derived(Derivative::Rev))
        );
        let error = pipeline.require(&elsewhere.derived(Derivative::Fwd)).expect_err("[fwd elsewhere] is not given");
        assert_eq!(error.code(), "E306");
    });
}

/// A run-time error of `[CL f]` is at the place where f has it.
fn errors_have_their_places() {
    with_large_stack(|| {
        let mut pipeline = pipeline_of("functions.ks", FUNCTIONS);
        let second = FunName::base("second");
        pipeline.require(&second.derived(Derivative::Cl)).unwrap_or_else(|error| panic!("{error}"));
        let args = [Value::Integer(1), Value::vector(vec![Value::Float(1.0)])];
        let call = |name: &FunName| Interpreter::new(pipeline.program()).call(name, &args).expect_err("out of range");
        let error = call(&second.derived(Derivative::Cl));
        assert_eq!(error, call(&second));
        // An assertion comes before the term that it guards.
        let guarded = FunName::base("guarded").derived(Derivative::Cl);
        pipeline.require(&guarded).unwrap_or_else(|error| panic!("{error}"));
        let outcome = Interpreter::new(pipeline.program()).call(&guarded, &args);
        assert_eq!(outcome.expect_err("it is asserted").kind, ErrorKind::AssertFailed);
        assert!(FUNCTIONS[error.span.start as usize..].starts_with("(index (add i 1) v)"), "{error:?}");
    });
}

/// The interpreter, native code and f itself stop at the same place, though nothing uses what stops.
fn errors_of_unused_values_stay() {
    let text = "(def f Float ((v : Vec Float) (n : Integer))
  (let (unused (constVec n (index 0 v))) (sum v)))";
    with_large_stack(|| {
        let mut pipeline = pipeline_of("unused.ks", text);
        let f = FunName::base("f");
        let cl = f.derived(Derivative::Cl);
        pipeline.require(&cl).unwrap_or_else(|error| panic!("{error}"));
        let program = pipeline.program();
        let v = Value::Tensor(lm::tensor::Tensor::vector(vec![Value::Float(1.0)]).into());
        let at = [v, Value::Integer(-1)];
        let wanted = Interpreter::new(program).call(&f, &at);
        assert!(matches!(&wanted, Err(RuntimeError { kind: ErrorKind::NegativeSize(_), .. })), "{wanted:?}");
        assert_eq!(Interpreter::new(program).call(&cl, &at), wanted);
        let info = SourceInfo::new("unused.ks", text);
        let entries = [f.clone(), cl.clone()];
        let jit = Jit::new(program, &entries, &info, &unoptimised()).unwrap_or_else(|error| panic!("{error}"));
        for name in entries {
            assert_eq!(jit.call(&name, &at), wanted, "{name}");
        }
    });
}
