//! Explains a law: the meanings of its signs, the passes that apply it, and an instance.

use crate::derive::passes::laws::{self, PassLaw};
use crate::derive::schedule::Strategies;
use lm::law::{self, Context, Law};
use lm::notation::infix::{Format, term};
use lm::notation::names::Names;
use lm::term::{Expr, Supply};
use lm::types::Type;
use std::fmt::Write;

/// The meanings of the signs in laws: the sign, an example, its meaning.
const SIGNS: &[(&str, &str, &str)] = &[
    ("⊙ᴿ", "r ⊙ᴿ m", "the reverse application of m to the cotangent r, which is mᵀ ⊙ r"),
    ("⊙ ", "m ⊙ x", "the map m applied to the vector x"),
    ("∇", "∇[e]", "the Jacobian of the term e with respect to the argument of the function around it"),
    ("∘", "m ∘ n", "first n, then m"),
    ("⊕", "m ⊕ n", "the sum of two maps"),
    ("ᵀ", "mᵀ", "the transpose of m: the map of cotangents, from the result back to the argument"),
    ("×", "×(m ..)", "one argument, a tuple of results: x gives (m ⊙ x ..)"),
    ("⋈", "⋈(m ..)", "a tuple of arguments, the sum of the results: (x ..) gives m ⊙ x + .."),
    ("∂", "∂f(s)", "the Jacobian of f at the point s, a linear map"),
    ("S(", "S(k)", "the scale by k; S(s, k) names its space by a vector s of it"),
    ("0(", "0(s, t)", "the zero map, from the space of s to that of t"),
    ("1(", "1(s)", "the identity map of the space of s"),
    ("lmScaleR(", "lmScaleR(v)", "the map from a Float r to the vector r * v"),
    ("lmDot(", "lmDot(v)", "the map from a vector x to the Float v • x"),
    ("lmIndex(", "lmIndex(i, v)", "the map from tensors like v to the element at i"),
    ("lmSum(", "lmSum(v)", "the map from tensors like v to the sum of the elements"),
    ("lmTo(", "lmTo(t, m)", "the map m, with a vector t of the space that it leads to"),
    ("lmAddV(", "lmAddV(w, v)", "the sum of a tensor v of maps, to the space of w"),
    ("⊕(build", "⊕(v)", "the sum of a tensor v of maps"),
    (
        "lmFold(",
        "lmFold(n, f)",
        "n steps from (state, input) to (state, output), step i by the map f(i); outputs add up",
    ),
    ("π(", "π(i)", "the map from tensors to their element i; of a tuple, π(i,n), to component i of n"),
    ("$delta_at(", "$delta_at(w, i, x)", "zero, of the shape of w, but x at i"),
    ("sumbuild(", "sumbuild(w, n, f)", "the sum of f(i) for all i below n, of the shape of w"),
    ("$loop(", "$loop(n, f, s)", "n steps from s, each by f; the last state and the sum of the outputs"),
    ("$into(", "$into(s, e)", "the value of e, which adds it up in one place of the shape of s"),
    ("•", "v • w", "the dot product"),
    ("Σ(", "Σ(x ..)", "the sum of the vectors"),
    ("ts_zero(", "ts_zero(w)", "the zero vector of the shape of w"),
    ("cod(", "cod(m)", "the space that m leads to"),
    (" ..)", "..", "the same for each of a sequence"),
    ("V(", "V(v)", "a vector v of maps as one map to vectors"),
    ("H(", "H(v)", "a vector v of maps as one map from vectors"),
    ("L(", "L(λi. m)", "a function from i to maps, as one map to functions"),
    ("L'(", "L'(λi. m)", "a function from i to maps, as one map from functions"),
];

/// The purpose of each family of laws, by a part of their names. The first row that fits applies.
const FAMILIES: &[(&str, &str)] = &[
    (
        "apply-",
        "It says what a map does to a vector. The last stage of a derivation applies such laws until no map is left.",
    ),
    ("reverse-", "It says what a map does to a cotangent, in reverse application."),
    ("transpose-", "It carries transposition inwards, towards maps that are their own transposes or have simple ones."),
    (
        "jacobian-",
        "It is the derivative of a primitive: the map from tangents of its arguments to the tangent of its result.",
    ),
    (
        "vector-",
        "It simplifies tangents and cotangents. Zeros here are zero vectors, not literals: arithmetic of the \
         program\nis left as it is written.",
    ),
    ("fold-of-", "It writes a fold in a form whose derivative needs fewer states, or none."),
    ("fold-", "It computes with literals at compile time."),
    ("call-", "It says what a call of a derivative is, or makes one call of several."),
    ("let-", "It moves, merges or removes bindings."),
    ("if-", "It simplifies conditionals."),
    ("loop-", "It does in one loop what two would do."),
    ("sumbuild-fuse", "It does in one loop what two would do."),
    ("sum-of-build", "It makes a sum of elements one over a range, so that it can be fused with others."),
    ("nabla-", "It is a rule by which the Jacobian of a function is made."),
    ("pairs-", "It adds pairs component by component."),
    ("zero-literal", "It writes a zero as a literal, after the last law on zeros."),
    ("into-", "It says where a derivative adds up what it gives."),
    ("", "It makes a map simpler."),
];

const OF_ARRAYS: &str = "It fuses loops, or drops zeros of tangents. Zeros here are zero vectors, not literals. A letter \
                         with braces is a\nterm in which the binder may occur, with another term in the place of the binder.";

/// Returns the purpose of a law, from its name.
fn family(name: &str) -> &'static str {
    FAMILIES.iter().find(|(prefix, _)| name.starts_with(prefix)).expect("the last one fits all").1
}

/// Returns the law of that name, at length.
pub fn law(name: &str) -> Option<String> {
    if let Some(law) = law::all().get(name) {
        return Some(matched(law));
    }
    laws::all().find(|law| law.name == name).map(of_pass)
}

/// Returns a law that the engine matches.
fn matched(law: &Law) -> String {
    let family = if law.is_of_arrays() { OF_ARRAYS } else { family(&law.name) };
    let mut text = opening(&law.name, &law.source, &law.text, family);
    let copied = law.copied_maps();
    if !copied.is_empty() {
        let maps = copied.join(" and ");
        let _ = writeln!(
            text,
            "\nIts right side uses {maps} more than once. So it is applied only where {maps} is free to copy: a \
             variable,\n\
             0, 1, a projection, or a scale by a variable or literal. Otherwise work would be done twice."
        );
    }
    let strategies = Strategies::default();
    let users: Vec<String> = strategies
        .strategies()
        .filter(|schedule| schedule.strategy.laws().iter().any(|used| used.name == law.name))
        .map(|schedule| format!("    {:<10} {}\n", schedule.name, schedule.purpose))
        .collect();
    match users.is_empty() {
        true => text.push_str("\nNo schedule applies it so far: it is stated, and tested, all the same.\n"),
        false => {
            let _ = write!(text, "\nThe schedules that apply it (`lmc laws --schedule`):\n\n{}", users.concat());
        }
    }
    if let Some((before, after)) = instance(law) {
        let _ = write!(text, "\nAn instance, as `lmc demo --trace` prints it:\n\n    {before}\n  = {after}\n");
    }
    text
}

/// Returns a law that a pass applies.
fn of_pass(law: &PassLaw) -> String {
    let mut text = opening(law.name, law.source, law.text, family(law.name));
    let lines = |program: &str| {
        let laid_out = crate::ks::fmt::format(program).expect("instances are read by a test");
        laid_out.lines().map(|line| format!("    {line}").trim_end().to_string() + "\n").collect::<String>()
    };
    let _ = write!(text, "\nA program, and what the law makes of it:\n\n{}", lines(law.before));
    let _ = write!(text, "\n    becomes\n\n{}", lines(law.after));
    text
}

fn opening(name: &str, source: &str, law: &str, family: &str) -> String {
    let source = match (source, source.strip_suffix(" (ICFP)")) {
        ("derived", _) => "follows from the laws of the working notes".into(),
        (_, Some(figure)) => format!("Efficient differentiable programming .., ICFP 2019, {figure}"),
        (place, None) => format!("working notes, {place}"),
    };
    let mut text = format!("{name}: a law ({source})\n\n    {law}\n\n{family}\n");
    let signs = SIGNS.iter().filter(|(sign, ..)| law.contains(sign));
    let signs: Vec<String> = signs.map(|(_, example, meaning)| format!("    {example:<18} {meaning}\n")).collect();
    if !signs.is_empty() {
        let _ = write!(text, "\n{}", signs.concat());
    }
    text
}

/// Returns an instance of the left side whose parts are variables, and what the law makes of it. None for a law that
/// fires only on literals or other special terms.
fn instance(law: &Law) -> Option<(String, String)> {
    const LENGTH: usize = 2;
    let mut supply = Supply::default();
    let mut variable = |supply: &mut Supply, name: &str, ty: &Type| Expr::var(&supply.fresh(name, ty.clone()));
    let before = law::instance::instance(law, LENGTH, &mut || Type::Float, &mut variable, &mut supply)?;
    let mut bindings = Vec::new();
    let cx = Context { at_any_cost: true, ..Context::default() };
    let after = law.rewrite_among(&before, &mut supply, &mut bindings, &cx)?;
    let after = Expr::block(bindings, after);
    let names = Names::of_term(&Expr::tuple([before.clone(), after.clone()]));
    const WIDTH: usize = 500;
    let shown = |e: &Expr| term(e, &names, Format::Plain, WIDTH);
    Some((shown(&before), shown(&after)))
}
