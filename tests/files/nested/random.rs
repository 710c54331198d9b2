//! Second derivatives of random programs.

use super::*;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!("nested": second_derivatives_of_random_programs, second_derivatives_of_random_programs_on_arrays,
        columns_of_random_programs_on_arrays)
}

/// The least number of second derivatives other than zero to compare.
const FEWEST: usize = 50;

fn second_derivatives_of_random_programs() {
    let smooth = generate::programs(generate::Options { smooth: true, functions: 4, depth: 4 });
    let compared = AtomicUsize::new(0);
    let outcome = with_large_stack(|| {
        TestRunner::new(common::random::config(80)).run(&smooth.prop_map(Box::new), |program| {
            let (mut p, functions) = curved(&generate::text(&program));
            for (_, f) in functions {
                let argument = p.program().defs[&f].fun.argument();
                let point = Random::new(8).point(&argument);
                of_random(&mut p, &f, &point, &compared, agreement_of_orders).map_err(TestCaseError::fail)?;
            }
            Ok(())
        })
    });
    judge_all(outcome, "second derivatives", |program| generate::text(program), compared);
}

fn second_derivatives_of_random_programs_on_arrays() {
    on_arrays(40, "second derivatives", agreement_of_orders);
}

/// The gradient by columns, without the zeros of the directions, is the gradient by rows and the one by `[rev f]`.
fn columns_of_random_programs_on_arrays() {
    on_arrays(150, "gradients", |p, f, point| {
        let whole = arguments(p, f, point);
        let gradient = call(p, &f.derived(Derivative::Rev), &[point.clone(), Value::Float(1.0)]).floats();
        let scale = gradient.iter().fold(1.0, |scale: f64, x| scale.max(x.abs()));
        for way in [Derivative::JacFwd, Derivative::JacRev] {
            let found = call(p, &f.derived(way.clone()), &whole).floats();
            let same = found.len() == gradient.len()
                && found.iter().zip(&gradient).all(|(a, b)| is_close(*a, *b, scale) || a.is_nan() || b.is_nan());
            if !same {
                return Err(format!("[{way} {f}] at {point}: {found:?}, not {gradient:?}"));
            }
        }
        Ok(gradient.iter().any(|x| *x != 0.0))
    });
}

/// Compares derivatives of random programs on arrays, of so many; `holds` tells whether they are not zero.
fn on_arrays(count: u32, what: &str, holds: fn(&mut Pipeline, &FunName, &Value) -> Result<bool, String>) {
    let options = generate_arrays::Options { functions: 4, depth: 5, nodes: 16 };
    let compared = AtomicUsize::new(0);
    let outcome = with_large_stack(|| {
        let config = Config { max_shrink_iters: 200, ..common::random::config(count) };
        TestRunner::new(config).run(&generate_arrays::programs(options), |generated| {
            let (mut p, curved) = curved(&generated.text);
            for function in &generated.functions {
                let Some((_, f)) = curved.iter().find(|(f, _)| *f.base == *function.name) else { continue };
                let mut random = lm::random::SplitMix::new(3);
                for sizes in [[2, 3], [0, 2]] {
                    let parts = function.params.iter().map(|ty| ty.value(sizes, &mut random));
                    let Some(mut parts) = parts.collect::<Option<Vec<Value>>>() else { continue };
                    let point = if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) };
                    of_random(&mut p, f, &point, &compared, holds).map_err(TestCaseError::fail)?;
                }
            }
            Ok(())
        })
    });
    judge_all(outcome, what, |generated| generated.text.clone(), compared);
}

/// A program, and for each of its functions f that can vary one that bends its value, |f(s)|^2 sin(|f(s)|^2): random
/// functions tend to be linear.
fn curved(text: &str) -> (Pipeline, Vec<(FunName, FunName)>) {
    let mut all = text.to_string();
    let mut functions = Vec::new();
    for (i, def) in pipeline(text).program().defs.values().enumerate() {
        let fun = &def.fun;
        let varies = fun.argument().is_differentiable() && fun.result.is_differentiable();
        if varies && fun.name.overload.is_none() && !fun.name.base.contains('$') {
            let (params, args): (String, String) =
                fun.params.iter().enumerate().map(|(k, ty)| (format!("(z{k} : {ty}) "), format!(" z{k}"))).unzip();
            let call = format!("({}{args})", fun.name.base);
            all += &format!("\n(def curved{i} Float ({params}) (let ((z {call}) (z (ts_dot z z))) (mul z (sin z))))");
            functions.push((fun.name.clone(), FunName::base(&format!("curved{i}"))));
        }
    }
    (pipeline(&all), functions)
}

fn judge_all<T: std::fmt::Debug>(
    outcome: Result<(), TestError<T>>,
    what: &str,
    text: impl Fn(&T) -> String,
    compared: AtomicUsize,
) {
    match outcome {
        Ok(()) => {
            let compared = compared.into_inner();
            println!("{compared} {what} that are not zero");
            assert!(compared >= FEWEST, "only {compared} {what} are not zero");
        }
        Err(TestError::Fail(why, program)) => panic!("{why}\nsmallest program:\n{}", text(&program)),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// The points at which the function has a value.
fn of_random(
    p: &mut Pipeline,
    f: &FunName,
    point: &Value,
    compared: &AtomicUsize,
    holds: fn(&mut Pipeline, &FunName, &Value) -> Result<bool, String>,
) -> Result<(), String> {
    let value = Interpreter::new(p.program()).call(f, &arguments(p, f, point));
    if value.is_ok_and(|value| value.floats().iter().all(|x| x.is_finite())) && holds(p, f, point)? {
        compared.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
