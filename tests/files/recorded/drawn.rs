//! Random programs: derivatives by all derivations agree, and of second order with differences.

use super::*;
use lm::term::Derivative;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!(
        "recorded": random_programs_on_arrays_agree, random_programs_on_numbers_agree,
        second_derivatives_agree_with_finite_differences
    )
}

fn random_programs_on_arrays_agree() {
    let options = match random::large() {
        true => generate_arrays::Options { functions: 6, depth: 5, nodes: 20 },
        false => generate_arrays::Options { functions: 3, depth: 3, nodes: 9 },
    };
    programs_on_arrays(random::cases(150), options);
}

fn programs_on_arrays(cases: u32, options: generate_arrays::Options) {
    let mut draws = SplitMix::new(random::seed());
    let mut points = 0;
    for _ in 0..cases {
        let length = draws.draw() % 160;
        let choices: Vec<u32> = (0..length).map(|_| (draws.draw() % 5040) as u32).collect();
        let made = generate_arrays::program(&choices, options);
        points += with_large_stack(|| arrays_agree(&made).unwrap_or_else(|why| panic!("{why}\n{}", made.text)));
    }
    assert!(points > cases as usize, "only {points} points");
}

/// Compares all functions at several sizes. Gives the number of points.
fn arrays_agree(made: &generate_arrays::Generated) -> Result<usize, String> {
    const SIZES: [[usize; 2]; 5] = [[2, 3], [3, 2], [1, 5], [0, 2], [2, 0]];
    let names = |_: &Pipeline| made.functions.iter().map(|f| FunName::base(&f.name)).collect();
    let mut ways = Ways::new(&made.text, names)?;
    let mut points = 0;
    for f in &made.functions {
        let mut random = SplitMix::new(3);
        for sizes in SIZES {
            points += usize::from(agree_somewhere(&ways, f, sizes, &mut random)?);
        }
    }
    let last = made.functions.last().expect("there is a function");
    ways.recorded.iter_mut().try_for_each(|p| varying_alone(p, last))?;
    ways.recorded.iter().try_for_each(|p| costs_a_multiple(p, last))?;
    Ok(points)
}

/// Compares a function at a point of these sizes, or at another one where rounding decides. Gives whether there is one.
fn agree_somewhere(ways: &Ways, f: &Signature, sizes: [usize; 2], random: &mut SplitMix) -> Result<bool, String> {
    let mut by_rounding = String::new();
    for _ in 0..8 {
        let Some(whole) = argument_of(f, sizes, random) else { return Ok(false) };
        match ways.compare_at(&FunName::base(&f.name), &whole, &mut Random::new(2))? {
            Compared::Agree => return Ok(true),
            Compared::WithoutValue => return Ok(false),
            Compared::ByRounding(why) => by_rounding = why,
        }
    }
    Err(format!("rounding decides at every point: {by_rounding}"))
}

/// Operations of the reverse derivative for each of the function: arithmetic, moves, steps of loops, and what is
/// read and given, as `derivatives_of_arrays` counts them.
fn costs_a_multiple(p: &Pipeline, f: &Signature) -> Result<(), String> {
    const BOUND: f64 = 20.0;
    let name = FunName::base(&f.name);
    let count = |name: &FunName, args: &[Value]| {
        let mut interpreter = Interpreter::new(p.program());
        let value = interpreter.call(name, args).ok()?;
        let counts = interpreter.counts;
        Some((value, (counts.arithmetic() + counts.moves + counts.steps) as f64, counts.shared as f64))
    };
    let mut before = f64::INFINITY;
    for n in [6, 12, 24] {
        let Some(whole) = argument_of(f, [n, n], &mut SplitMix::new(6)) else { return Ok(()) };
        let args = match &whole {
            Value::Tuple(parts) if f.params.len() > 1 => parts.clone(),
            _ => vec![whole.clone()],
        };
        let Some((y, primal, shared)) = count(&name, &args) else { return Ok(()) };
        if primal + shared > 20_000.0 {
            return Ok(());
        }
        let (ends, dr) = ((whole.floats().len() + y.floats().len()) as f64, Random::new(7).direction(&y));
        let Some((_, reverse, _)) = count(&name.derived(Derivative::Rev), &[whole, dr]) else { return Ok(()) };
        let ratio = reverse / (primal + shared + ends + 10.0);
        if ratio > BOUND || ratio > 8.0 && ratio > 1.5 * before {
            return Err(format!("{name}: {ratio} at {n}, {before} at half of that"));
        }
        before = ratio;
    }
    Ok(())
}

fn argument_of(f: &Signature, sizes: [usize; 2], random: &mut SplitMix) -> Option<Value> {
    let parts = f.params.iter().map(|ty| ty.value(sizes, random)).collect::<Option<Vec<Value>>>()?;
    Some(if let [one] = parts.as_slice() { one.clone() } else { Value::Tuple(parts) })
}

/// `[rev [wrt$k f]]` against `[rev f]`.
fn varying_alone(p: &mut Pipeline, f: &Signature) -> Result<(), String> {
    let name = FunName::base(&f.name);
    let Some(whole) = argument_of(f, [2, 3], &mut SplitMix::new(3)) else { return Ok(()) };
    let args = match &whole {
        Value::Tuple(parts) if f.params.len() > 1 => parts.clone(),
        _ => vec![whole.clone()],
    };
    let Ok(y) = Interpreter::new(p.program()).call(&name, &args) else { return Ok(()) };
    let at = [whole, Random::new(4).direction(&y)];
    for k in (0..f.params.len()).filter(|k| f.params[*k].varies()) {
        let restricted = name.restricted(&[vec![k + 1]]).derived(Derivative::Rev);
        p.require(&restricted).map_err(|error| error.to_string())?;
        let call = |name: &FunName| Interpreter::new(p.program()).call(name, &at).map_err(|e| format!("{name}: {e}"));
        let (found, all) = (call(&restricted)?, call(&name.derived(Derivative::Rev))?);
        let wanted = match all {
            Value::Tuple(parts) if f.params.len() > 1 => parts[k].clone(),
            one => one,
        };
        if wanted.floats().iter().all(|x| x.is_finite()) && distance(&found, &wanted) > CLOSE {
            return Err(format!("{restricted}: {found} for {wanted}"));
        }
    }
    Ok(())
}

fn random_programs_on_numbers_agree() {
    let mut draws = SplitMix::new(random::seed());
    for _ in 0..random::cases(150) {
        let choices: Vec<u32> = (0..draws.draw() % 300).map(|_| draws.draw() as u32).collect();
        let made = generate::program(&choices, generate::Options { smooth: true, functions: 3, depth: 4 });
        let text = generate::text(&made);
        with_large_stack(|| {
            let ways = Ways::new(&text, |p| p.program().defs.keys().cloned().collect::<Vec<_>>());
            let ways = ways.unwrap_or_else(|why| panic!("{why}\n{text}"));
            for def in made.defs.values() {
                let mut random = Random::new(1);
                // Where rounding decides a comparison, it must hold at another point.
                let holds = (0..8).any(|_| {
                    let whole = random.point(&def.fun.argument());
                    let compared = ways.compare_at(&def.fun.name, &whole, &mut random);
                    match compared.unwrap_or_else(|why| panic!("{why}\n{text}")) {
                        Compared::Agree | Compared::WithoutValue => true,
                        Compared::ByRounding(why) => {
                            println!("decided by rounding: {why}");
                            false
                        }
                    }
                });
                assert!(holds, "rounding decides at every point\n{text}");
            }
        });
    }
}

/// Derivatives of `[rev f]`: of what reads records.
fn second_derivatives_agree_with_finite_differences() {
    let mut draws = SplitMix::new(random::seed());
    let mut points = 0;
    for _ in 0..random::cases(60) {
        let choices: Vec<u32> = (0..draws.draw() % 120).map(|_| (draws.draw() % 5040) as u32).collect();
        let options = generate_arrays::Options { functions: 2, depth: 3, nodes: 6 };
        let made = generate_arrays::program(&choices, options);
        if made.is_recursive || made.stops_gradients {
            continue;
        }
        points += with_large_stack(|| second_derivatives(&made).unwrap_or_else(|why| panic!("{why}\n{}", made.text)));
    }
    assert!(points > 20, "only {points} points");
}

fn second_derivatives(made: &generate_arrays::Generated) -> Result<usize, String> {
    let f = made.functions.last().expect("there is a function");
    let name = FunName::base(&f.name);
    let mut points = 0;
    for derivation in RECORDED {
        let mut p = pipeline(&made.text, derivation);
        let first = name.derived(Derivative::Rev);
        gradcheck::prepare(&mut p, &first).map_err(|error| error.to_string())?;
        let mut random = SplitMix::new(3);
        let at = [[2, 3], [3, 1], [0, 2]].iter().filter_map(|sizes| {
            let whole = argument_of(f, *sizes, &mut random)?;
            let args = match &whole {
                Value::Tuple(parts) if f.params.len() > 1 => parts.clone(),
                _ => vec![whole.clone()],
            };
            let y = Interpreter::new(p.program()).call(&name, &args).ok()?;
            Some(Value::Tuple(vec![whole, Random::new(2).direction(&y)]))
        });
        let at: Vec<Value> = at.collect();
        // A function that stops everywhere has no derivative to compare.
        if at.is_empty() {
            continue;
        }
        let report = gradcheck::check_at(&p, None, &first, &at, 1);
        if !report.agrees() {
            return Err(format!("{first} by {}: {report:?}", derivation.name()));
        }
        points += report.points;
    }
    Ok(points)
}
