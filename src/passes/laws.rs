//! The laws that passes apply: those with binders, which no pattern of `lm`'s table can say.
//!
//! One row each: the law, and an instance of it as a program before and after. `lmc laws` lists them
//! with the others; the test `tests/pass_laws.rs` runs the pass on each instance, compares the result
//! with the row, and both values with each other.

use super::{apply, cse, dead, merge, simplify, tidy, transpose};
use crate::schedule::strategy;
use lm::effect::Effects;
use lm::rewriter::Rewriter;
use lm::term::{Def, Supply};

/// A law of a pass.
#[derive(Debug)]
pub struct PassLaw {
    /// The name.
    pub name: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The law.
    pub text: &'static str,
    /// The pass that applies it.
    pub run: fn(&Def, &mut Supply) -> Def,
    /// An instance of the left side: a definition in KS-Lisp.
    pub before: &'static str,
    /// What the pass makes of it.
    pub after: &'static str,
}

#[rustfmt::skip]
/// The table.
pub static PASS_LAWS: &[PassLaw] = &[
    PassLaw { name: "let-atom", source: "sec. 3", run: simplified,
        text:   "let x = a in b = b[x := a]   when a is a variable or a constant",
        before: "(def f Float (x : Float) (let (y x) (sin y)))",
        after:  "(def f Float (x : Float) (sin x))" },
    PassLaw { name: "let-tuple", source: "sec. 1", run: simplified,
        text:   "let (x, ..) = (e, ..) in b = let x = e in .. b",
        before: "(def f Float (x : Float) (let ((a b) (tuple (sin x) (cos x))) (mul a b)))",
        after:  "(def f Float (x : Float) (let ((a (sin x)) (b (cos x))) (mul a b)))" },
    PassLaw { name: "let-once", source: "sec. 3", run: simplified,
        text:   "let Dx = m in b = b[Dx := m]   when Dx occurs once in b",
        before: "(def [D f] (LM Float Float) (x : Float)
                   (let (Dy (lmAdd (lmScale x x) (lmCompose (lmDot x) (lmScaleR x)))) (lmTranspose Dy)))",
        after:  "(def [D f] (LM Float Float) (x : Float) (lmTranspose (lmScale ($dummy Float) (add x (mul x x)))))" },
    PassLaw { name: "let-free", source: "sec. 3", run: simplified,
        text:   "let Dx = m in b = b[Dx := m]   when m is free to copy",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float) (let (Dy (lmScale ($dummy Float) x)) (lmVCat Dy Dy)))",
        after:  "(def [D f] (LM Float (Tuple Float Float)) (x : Float) (lmVCat (lmScale ($dummy Float) x) (lmScale ($dummy Float) x)))" },
    PassLaw { name: "let-scale", source: "sec. 3", run: simplified,
        text:   "let Dx = S(e) in b = let k = e in b[Dx := S(k)]",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (Dy (lmScale ($dummy Float) (sin x))) (lmVCat Dy Dy)))",
        after:  "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (k (sin x)) (lmVCat (lmScale ($dummy Float) k) (lmScale ($dummy Float) k))))" },
    PassLaw { name: "let-transpose", source: "Fig. 5", run: transposed,
        text:   "(let Dx = m in b)ᵀ = let Rx = the sum of what reaches Dx in b in .. mᵀ ∘ Rx ..",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (Dy (lmCompose (lmScale ($dummy Float) x) (lmScale ($dummy Float) (sin x)))) (lmVCat Dy Dy)))",
        after:  "(def [Dt f] (LM (Tuple Float Float) Float) (x : Float)
                   (let (Ry (lmAdd (lmGet$1$2 ($dummy (Tuple Float Float))) (lmGet$2$2 ($dummy (Tuple Float Float)))))
                     (lmCompose (lmScale ($dummy Float) (sin x)) (lmCompose (lmScale ($dummy Float) x) Ry))))" },
    PassLaw { name: "let-apply", source: "Fig. 4", run: applied,
        text:   "(let Dx = m in b) ⊙ v = let dx = m ⊙ v in b ⊙ v, where Dx ⊙ v is read as dx",
        before: "(def f (Tuple Float Float) ((x : Float) (dx : Float))
                   (lmApply (let (Dy (lmScale ($dummy Float) x)) (lmVCat Dy Dy)) dx))",
        after:  "(def f (Tuple Float Float) ((x : Float) (dx : Float)) (let (dy (mul x dx)) (tuple dy dy)))" },
    PassLaw { name: "call-fwd", source: "Fig. 6", run: applied,
        text:   "∂f(s) ⊙ ds = fwd$f(s, ds)",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dx : Float)) (lmApply ([D g] x) dx))",
        after:  "(def f Float ((x : Float) (dx : Float)) ([fwd g] x dx))" },
    PassLaw { name: "call-rev", source: "Fig. 6", run: applied,
        text:   "∂f(s)ᵀ ⊙ dr = rev$f(s, dr)",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dr : Float)) (lmApply (lmTranspose ([D g] x)) dr))",
        after:  "(def f Float ((x : Float) (dr : Float)) ([rev g] x dr))" },
    PassLaw { name: "let-dead", source: "sec. 3", run: without_dead,
        text:   "let x = e in b = b   when x is not in b, and e does not print",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (cos y))) x))",
        after:  "(def f Float (x : Float) x)" },
    PassLaw { name: "if-component", source: "derived", run: without_dead,
        text:   "let (x, u) = if c then (e, v) else (f, w) in b = let x = if c then e else f in b   when u is not in b",
        before: "(def f Float (x : Float)
                   (let ((y u) (if (gt x 0.0) (tuple (sin x) x) (tuple x (cos x)))) y))",
        after:  "(def f Float (x : Float) (let (y (if (gt x 0.0) (sin x) x)) y))" },
    PassLaw { name: "let-share", source: "sec. 5.1", run: shared,
        text:   "let x = e in .. e .. = let x = e in .. x ..",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (sin x))) (mul y z)))",
        after:  "(def f Float (x : Float) (let (y (sin x)) (mul y y)))" },
    PassLaw { name: "if-merge", source: "derived", run: merged,
        text:   "let x = if c then a else b in .. let y = if c then a' else b' in e = let (x, y) = if c then (a, a') else (b, b') in .. e",
        before: "(def f Float ((c : Bool) (x : Float))
                   (let ((y (if c (sin x) x)) (z (if c (cos x) x))) (mul y z)))",
        after:  "(def f Float ((c : Bool) (x : Float))
                   (let ((y z) (if c (let ((a (sin x)) (b (cos x))) (tuple a b)) (tuple x x))) (mul y z)))" },
    PassLaw { name: "call-jvp", source: "sec. 5.2", run: merged,
        text:   "let y = f(s) in .. let dy = fwd$f(s, ds) in b = let (y, dy) = jvp$f(s, ds) in .. b",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dx : Float)) (let ((y (g x)) (dy ([fwd g] x dx))) (mul y dy)))",
        after:  "(def f Float ((x : Float) (dx : Float)) (let ((y dy) ([jvp g] x dx)) (mul y dy)))" },
    PassLaw { name: "let-single-use", source: "sec. 9", run: tidied,
        text:   "let t = e in b = b[t := e]   when t occurs once in b, not in a function, and the line stays short",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (cos y))) (mul z x)))",
        after:  "(def f Float (x : Float) (mul (cos (sin x)) x))" },
];

/// More than any instance takes.
const FUEL: usize = 10_000;

fn simplified(def: &Def, supply: &mut Supply) -> Def {
    let simple = simplify::simplify(def, strategy("jacobian"), &mut Rewriter::new(supply, FUEL));
    simple.expect("an instance is small")
}

fn transposed(def: &Def, supply: &mut Supply) -> Def {
    let mut name = def.fun.name.clone();
    name.derivations[0] = "Dt".into();
    let transposed = transpose::transpose(def, name, strategy("transpose"), &mut Rewriter::new(supply, FUEL));
    transposed.expect("an instance is small")
}

fn applied(def: &Def, supply: &mut Supply) -> Def {
    apply::apply(def, strategy("apply"), &mut Rewriter::new(supply, FUEL)).expect("an instance is small")
}

fn without_dead(def: &Def, _: &mut Supply) -> Def {
    dead::dead(def, &Effects::default())
}

fn shared(def: &Def, _: &mut Supply) -> Def {
    cse::cse(def, &Effects::default())
}

fn merged(def: &Def, supply: &mut Supply) -> Def {
    merge::merge(def, &merge::Records::new(), &[], &Effects::default(), supply)
}

fn tidied(def: &Def, _: &mut Supply) -> Def {
    tidy::inline_single_uses(def, &Effects::default())
}
