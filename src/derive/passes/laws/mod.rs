//! Lists the laws that passes apply: laws with binders, which no pattern of `lm`'s table can express.
//!
//! One row has the law, and an instance of it as a program before and after. `lmc laws` lists them with the others.
//! The test `tests/lmc/pass_laws.rs` runs the pass on each instance, compares the result with the row, and both values
//! with each other.

mod run;

use lm::term::{Def, Supply};
use run::{
    applied, carried, fused, in_place, inlined, inlined_maps, merged, normalised, paired, shared, simplified,
    transposed, with_arrays_fused, with_destinations, with_maps_applied, with_residuals, without_dead,
    without_dead_components,
};

/// A law of a pass.
#[derive(Debug)]
pub struct PassLaw {
    /// The name.
    pub name: &'static str,
    /// The source.
    pub source: &'static str,
    /// The law.
    pub text: &'static str,
    /// The name of the pass that applies it.
    pub pass: &'static str,
    /// Runs that pass on the instance.
    pub run: fn(&Def, &mut Supply) -> Def,
    /// An instance of the left side: a definition in KS-Lisp.
    pub before: &'static str,
    /// The result of the pass.
    pub after: &'static str,
}

#[rustfmt::skip]
/// The table.
pub static PASS_LAWS: &[PassLaw] = &[
    PassLaw { name: "call-inline", source: "ours", pass: "inline_marked", run: in_place,
        text:   "$inline(f(e)) = let x = e in b   when f(x) = b",
        before: "(def g Float (y : Float) (mul y y))
                 (def f Float (x : Float) (g (sin x)))",
        after:  "(def f Float (x : Float) (let (y (sin x)) (mul y y)))" },
    PassLaw { name: "let-atom", source: "sec. 3", pass: "simplify", run: simplified,
        text:   "let x = a in b = b[x := a]   when a is a variable, a constant, or a short tuple of such",
        before: "(def f Float (x : Float) (let (y x) (sin y)))",
        after:  "(def f Float (x : Float) (sin x))" },
    PassLaw { name: "let-tuple", source: "sec. 1", pass: "simplify", run: simplified,
        text:   "let (x, ..) = (e, ..) in b = let x = e in .. b",
        before: "(def f Float (x : Float) (let ((a b) (tuple (sin x) (cos x))) (mul a b)))",
        after:  "(def f Float (x : Float) (let ((a (sin x)) (b (cos x))) (mul a b)))" },
    PassLaw { name: "let-once", source: "sec. 3", pass: "simplify", run: simplified,
        text:   "let Dx = m in b = b[Dx := m]   when Dx occurs once in b",
        before: "(def [D f] (LM Float Float) (x : Float)
                   (let (Dy (lmAdd (lmScale x x) (lmCompose (lmDot x) (lmScaleR x)))) (lmTranspose Dy)))",
        after:  "(def [D f] (LM Float Float) (x : Float) (lmTranspose (lmScale ($dummy Float) (add x (mul x x)))))" },
    PassLaw { name: "let-free", source: "sec. 3", pass: "simplify", run: simplified,
        text:   "let Dx = m in b = b[Dx := m]   when m is free to copy",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float) (let (Dy (lmScale ($dummy Float) x)) (lmVCat Dy Dy)))",
        after:  "(def [D f] (LM Float (Tuple Float Float)) (x : Float) (lmVCat (lmScale ($dummy Float) x) (lmScale ($dummy Float) x)))" },
    PassLaw { name: "let-scale", source: "sec. 3", pass: "simplify", run: simplified,
        text:   "let Dx = S(e) in b = let k = e in b[Dx := S(k)]",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (Dy (lmScale ($dummy Float) (sin x))) (lmVCat Dy Dy)))",
        after:  "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (k (sin x)) (lmVCat (lmScale ($dummy Float) k) (lmScale ($dummy Float) k))))" },
    PassLaw { name: "let-transpose", source: "derived", pass: "transpose", run: transposed,
        text:   "(let Dx = m in b)ᵀ = let Rx = the sum of what reaches Dx in b in .. mᵀ ∘ Rx ..",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (Dy (lmCompose (lmScale ($dummy Float) x) (lmScale ($dummy Float) (sin x)))) (lmVCat Dy Dy)))",
        after:  "(def [Dt f] (LM (Tuple Float Float) Float) (x : Float)
                   (let (Ry (lmAdd (lmGet$1$2 ($dummy (Tuple Float Float))) (lmGet$2$2 ($dummy (Tuple Float Float)))))
                     (lmCompose (lmScale ($dummy Float) (sin x)) (lmCompose (lmScale ($dummy Float) x) Ry))))" },
    PassLaw { name: "transpose-let", source: "derived", pass: "transpose", run: transposed,
        text:   "(let x = e in m)ᵀ = let x = e in mᵀ",
        before: "(def [D f] (LM Float Float) (x : Float) (let (k (sin x)) (lmScale ($dummy Float) k)))",
        after:  "(def [Dt f] (LM Float Float) (x : Float) (let (k (sin x)) (lmScale ($dummy Float) k)))" },
    PassLaw { name: "compose-add", source: "derived", pass: "transpose", run: transposed,
        text:   "(Dxᵀ ∘ p) ⊕ (Dxᵀ ∘ q) = Dxᵀ ∘ (p ⊕ q)",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (Dy (lmScale ($dummy Float) x)) (lmVCat Dy Dy)))",
        after:  "(def [Dt f] (LM (Tuple Float Float) Float) (x : Float)
                   (let (Ry (lmAdd (lmGet$1$2 ($dummy (Tuple Float Float))) (lmGet$2$2 ($dummy (Tuple Float Float)))))
                     (lmCompose (lmScale ($dummy Float) x) Ry)))" },
    PassLaw { name: "hcat-get", source: "derived", pass: "transpose", run: transposed,
        text:   "⋈(m1ᵀ, .., mnᵀ) ∘ p = (m1ᵀ ∘ π1 ∘ p) ⊕ .. ⊕ (mnᵀ ∘ πn ∘ p)",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float) (lmVCat (lmScale ($dummy Float) x) (lmScale ($dummy Float) 2.0)))",
        after:  "(def [Dt f] (LM (Tuple Float Float) Float) (x : Float)
                   (lmAdd (lmCompose (lmScale ($dummy Float) x) (lmGet$1$2 ($dummy (Tuple Float Float))))
                          (lmCompose (lmScale ($dummy Float) 2.0) (lmGet$2$2 ($dummy (Tuple Float Float))))))" },
    PassLaw { name: "gather", source: "derived", pass: "transpose", run: transposed,
        text:   "if c then (Dxᵀ ∘ p) ⊕ (Dyᵀ ∘ q) else .. = let R = if c then p × q else .. in (Dxᵀ ∘ π1 ∘ R) ⊕ (Dyᵀ ∘ π2 ∘ R)   likewise for sums over a build",
        before: "(def [D f] (LM (Tuple Float Float) Float) ((c : Bool) (x : Float))
                   (let ((Dx (lmGet$1$2 ($dummy (Tuple Float Float)))) (Dy (lmGet$2$2 ($dummy (Tuple Float Float)))))
                     (if c (lmAdd Dx Dy) (lmCompose (lmScale ($dummy Float) x) Dx))))",
        after:  "(def [Dt f] (LM Float (Tuple Float Float)) ((c : Bool) (x : Float))
                   (let ((R (if c (lmVCat (lmOne ($dummy Float)) (lmOne ($dummy Float)))
                                  (lmVCat (lmScale ($dummy Float) x) (lmZero ($dummy Float) ($dummy Float)))))
                         (Ry (lmCompose (lmGet$2$2 ($dummy (Tuple Float Float))) R))
                         (Rx (lmCompose (lmGet$1$2 ($dummy (Tuple Float Float))) R)))
                     (lmVCat Rx Ry)))" },
    PassLaw { name: "if-compose", source: "derived", pass: "transpose", run: transposed,
        text:   "(if c then mᵀ else nᵀ) ∘ p = if c then mᵀ ∘ p else nᵀ ∘ p",
        before: "(def [D f] (LM Float Float) ((c : Bool) (x : Float))
                   (lmCompose (lmDot x) (if c (lmScaleR x) (lmScale ($dummy Float) 2.0))))",
        after:  "(def [Dt f] (LM Float Float) ((c : Bool) (x : Float))
                   (let (R (if c (lmScale ($dummy Float) (mul x x)) (lmScale ($dummy Float) (mul 2.0 x)))) R))" },
    PassLaw { name: "transpose-to", source: "derived", pass: "transpose", run: transposed,
        text:   "lmTo(w, m)ᵀ ∘ p = mᵀ ∘ p",
        before: "(def [D f] (LM Float Float) (x : Float) (lmTo ($dummy Float) (lmScale ($dummy Float) x)))",
        after:  "(def [Dt f] (LM Float Float) (x : Float) (lmScale ($dummy Float) x))" },
    PassLaw { name: "apply-let", source: "derived", pass: "apply", run: applied,
        text:   "(let x = e in m) ⊙ v = let x = e in m ⊙ v",
        before: "(def f Float ((x : Float) (dx : Float)) (lmApply (let (k (sin x)) (lmScale ($dummy Float) k)) dx))",
        after:  "(def f Float ((x : Float) (dx : Float)) (let (k (sin x)) (mul k dx)))" },
    PassLaw { name: "let-apply", source: "derived", pass: "apply", run: applied,
        text:   "(let Dx = m in b) ⊙ v = let dx = m ⊙ v in b ⊙ v, where Dx ⊙ v is read as dx",
        before: "(def f (Tuple Float Float) ((x : Float) (dx : Float))
                   (lmApply (let (Dy (lmScale ($dummy Float) x)) (lmVCat Dy Dy)) dx))",
        after:  "(def f (Tuple Float Float) ((x : Float) (dx : Float)) (let (dy (mul x dx)) (tuple dy dy)))" },
    PassLaw { name: "call-fwd", source: "Fig. 6", pass: "apply", run: applied,
        text:   "∂f(s) ⊙ ds = fwd$f(s, ds)",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dx : Float)) (lmApply ([D g] x) dx))",
        after:  "(def f Float ((x : Float) (dx : Float)) ([fwd g] x dx))" },
    PassLaw { name: "call-rev", source: "Fig. 6", pass: "apply", run: applied,
        text:   "∂f(s)ᵀ ⊙ dr = rev$f(s, dr)",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dr : Float)) (lmApply (lmTranspose ([D g] x)) dr))",
        after:  "(def f Float ((x : Float) (dr : Float)) ([rev g] x dr))" },
    PassLaw { name: "call-recorded", source: "sec. 5.4", pass: "apply", run: applied,
        text:   "(∂f at the point of r)ᵀ ⊙ dr = sufrevpass$f(dr, r)",
        before: "(def g Float (x : Float) (sin (mul x x)))
                 (def f Float ((x : Float) (r : Float) (dr : Float))
                   (lmApply (lmTranspose ($jacobian_at g r ($dummy Float) ($dummy Float))) dr))",
        after:  "(def f Float ((x : Float) (r : Float) (dr : Float)) ([sufrevpass g] dr r))" },
    PassLaw { name: "let-dead", source: "sec. 3", pass: "dce", run: without_dead,
        text:   "let x = e in b = b   when x is not in b, and e does not print",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (cos y))) x))",
        after:  "(def f Float (x : Float) x)" },
    PassLaw { name: "if-component", source: "derived", pass: "dce", run: without_dead,
        text:   "let (x, u) = if c then (e, v) else (f, w) in b = let x = if c then e else f in b   when u is not in b",
        before: "(def f Float (x : Float)
                   (let ((y u) (if (gt x 0.0) (tuple (sin x) x) (tuple x (cos x)))) y))",
        after:  "(def f Float (x : Float) (let (y (if (gt x 0.0) (sin x) x)) y))" },
    PassLaw { name: "let-name", source: "sec. 5.1", pass: "anf", run: normalised,
        text:   "e[e'] = let t = e' in e[t]",
        before: "(def f Float (x : Float) (mul (sin x) x))",
        after:  "(def f Float (x : Float) (let (t (sin x)) (mul t x)))" },
    PassLaw { name: "let-let", source: "sec. 5.1", pass: "anf", run: normalised,
        text:   "let x = (let y = e in b) in c = let y = e in let x = b in c",
        before: "(def f Float (x : Float) (let (y (let (z (sin x)) (cos z))) (mul y x)))",
        after:  "(def f Float (x : Float) (let ((z (sin x)) (y (cos z))) (mul y x)))" },
    PassLaw { name: "let-result", source: "sec. 9", pass: "inline_single_uses", run: inlined,
        text:   "let (x, y) = e in (x, y) = e",
        before: "(def g (Tuple Float Float) (x : Float) (tuple x x))
                 (def f (Tuple Float Float) (x : Float) (let ((y z) (g x)) (tuple y z)))",
        after:  "(def f (Tuple Float Float) (x : Float) (g x))" },
    PassLaw { name: "fold-scanl", source: "derived", pass: "cse", run: shared,
        text:   "let y = fold(f, a, v) in .. let s = scanl(f, a, v) in b = let s = scanl(f, a, v) in let y = s[size(v)] in .. b",
        before: "(def f Float ((a : Float) (v : Vec Float))
                   (let ((y (fold (lam (p : Tuple Float Float) (let ((s x) p) (mul s x))) a v))
                         (t (scanl (lam (p : Tuple Float Float) (let ((s x) p) (mul s x))) a v)))
                     (mul y (index 0 t))))",
        after:  "(def f Float ((a : Float) (v : Vec Float))
                   (let ((t (scanl (lam (p : Tuple Float Float) (let ((s x) p) (mul s x))) a v)) (y (index (size v) t)))
                     (mul y (index 0 t))))" },
    PassLaw { name: "if-equal", source: "derived", pass: "cse", run: shared,
        text:   "let (x, y) = if c then (a, a) else (b, b) in e = let (x, y) = if c then (a, a) else (b, b) in e[y := x]",
        before: "(def f Float ((c : Bool) (x : Float))
                   (let ((y z) (if c (tuple x x) (tuple 1.0 1.0))) (mul y z)))",
        after:  "(def f Float ((c : Bool) (x : Float))
                   (let ((y z) (if c (tuple x x) (tuple 1.0 1.0))) (mul y y)))" },
    PassLaw { name: "let-share", source: "sec. 5.1", pass: "cse", run: shared,
        text:   "let x = e in .. e .. = let x = e in .. x ..",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (sin x))) (mul y z)))",
        after:  "(def f Float (x : Float) (let (y (sin x)) (mul y y)))" },
    PassLaw { name: "if-merge", source: "derived", pass: "merge_calls", run: merged,
        text:   "let x = if c then a else b in .. let y = if c then a' else b' in e = let (x, y) = if c then (a, a') else (b, b') in .. e",
        before: "(def f Float ((c : Bool) (x : Float))
                   (let ((y (if c (sin x) x)) (z (if c (cos x) x))) (mul y z)))",
        after:  "(def f Float ((c : Bool) (x : Float))
                   (let ((y z) (if c (let ((a (sin x)) (b (cos x))) (tuple a b)) (tuple x x))) (mul y z)))" },
    PassLaw { name: "call-jvp", source: "sec. 5.2", pass: "merge_calls", run: merged,
        text:   "let y = f(s) in .. let dy = fwd$f(s, ds) in b = let (y, dy) = jvp$f(s, ds) in .. b",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dx : Float)) (let ((y (g x)) (dy ([fwd g] x dx))) (mul y dy)))",
        after:  "(def f Float ((x : Float) (dx : Float)) (let ((y dy) ([jvp g] x dx)) (mul y dy)))" },
    PassLaw { name: "call-value", source: "sec. 5.2", pass: "merge_calls", run: merged,
        text:   "let (y, dy) = jvp$f(s, ds) in .. f(s) .. = let (y, dy) = jvp$f(s, ds) in .. y ..   likewise vjp$f",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dx : Float)) (let ((t ([jvp g] x dx)) (y (g x))) (mul y (get$2$2 t))))",
        after:  "(def f Float ((x : Float) (dx : Float)) (let ((t ([jvp g] x dx)) (y (get$1$2 t))) (mul y (get$2$2 t))))" },
    PassLaw { name: "call-vjp", source: "sec. 5.2", pass: "pair_recursive_calls", run: paired,
        text:   "let y = f(s) in .. let ds = rev$f(s, dr) in b = .. let (y, ds) = vjp$f(s, dr) in .. b   when f calls itself, and y is not in dr",
        before: "(def g Float (x : Float) (if (gt x 1.0) x (g (add x 1.0))))
                 (def f Float ((x : Float) (dr : Float))
                   (let ((y (g x)) (z (sin y)) (k (mul 2.0 dr)) (ds ([rev g] x k))) (mul z ds)))",
        after:  "(def f Float ((x : Float) (dr : Float))
                   (let ((k (mul 2.0 dr)) ((a b) ([vjp g] x k)) (y a) (ds b) (z (sin y))) (mul z ds)))" },
    PassLaw { name: "sumbuild-fuse", source: "derived", pass: "fuse_sums", run: fused,
        text:   "let a = sumbuild(n, λi. d) in .. let b = sumbuild(n, λi. e) in c = let (a, b) = sumbuild(n, λi. (d, e)) in .. c   when d and e share work",
        before: "(def f Float ((n : Integer) (x : Float))
                   (let ((a (sumbuild n (lam (i : Integer) (let (y (to_float i)) (sin y)))))
                         (b (sumbuild n (lam (j : Integer) (let ((u (to_float j)) (v (sin u))) (mul v x))))))
                     (mul a b)))",
        after:  "(def f Float ((n : Integer) (x : Float))
                   (let (((s t) (sumbuild (tuple ($dummy Float) ($dummy Float)) n (lam (i : Integer)
                           (let ((y (to_float i)) (p (sin y)) (u (to_float i)) (v (sin u)) (q (mul v x))) (tuple p q)))))
                         (a s)
                         (b t))
                     (mul a b)))" },
    PassLaw { name: "let-single-use", source: "sec. 9", pass: "inline_single_uses", run: inlined,
        text:   "let t = e in b = b[t := e]   when t occurs once in b, not in a function, and the line stays short",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (cos y))) (mul z x)))",
        after:  "(def f Float (x : Float) (mul (cos (sin x)) x))" },
    PassLaw { name: "let-zero", source: "derived", pass: "inline_single_uses", run: inlined,
        text:   "let t = ts_zero(w) in b = b[t := ts_zero(w)]   when b only adds t, or gives it",
        before: "(def f (Tuple (Vec Float) (Vec Float)) (v : Vec Float)
                   (let (t (ts_zero v)) (tuple (ts_add v t) (ts_add t v))))",
        after:  "(def f (Tuple (Vec Float) (Vec Float)) (v : Vec Float)
                   (tuple (ts_add v (ts_zero v)) (ts_add (ts_zero v) v)))" },
    PassLaw { name: "transpose-build", source: "derived", pass: "transpose", run: transposed,
        text:   "V(build(n, λi. m))ᵀ = ⊕(build(n, λi. mᵀ ∘ π(i)))",
        before: "(def [D f] (LM Float (Vec Float)) (v : Vec Float)
                   (lmVCatV v (build (size v) (lam (i : Integer) (lmScale ($dummy Float) (index i v))))))",
        after:  "(def [Dt f] (LM (Vec Float) Float) (v : Vec Float)
                   (let (R (lmAddV ($dummy Float) (build (size v) (lam (i : Integer)
                             (lmCompose (lmScale ($dummy Float) (index i v)) (lmIndex i v))))))
                     R))" },
    PassLaw { name: "transpose-sum", source: "derived", pass: "transpose", run: transposed,
        text:   "⊕(build(n, λi. m))ᵀ = ⊕(build(n, λi. mᵀ))",
        before: "(def [D f] (LM (Tuple Float Float) Float) (v : Vec Float)
                   (lmAddV ($dummy Float) (build (size v) (lam (i : Integer)
                     (lmHCat (lmScale ($dummy Float) (index i v)) (lmOne ($dummy Float)))))))",
        after:  "(def [Dt f] (LM Float (Tuple Float Float)) (v : Vec Float)
                   (let (R (lmAddV ($dummy (Tuple Float Float)) (build (size v) (lam (i : Integer)
                             (lmVCat (lmScale ($dummy Float) (index i v)) (lmOne ($dummy Float)))))))
                     R))" },
    PassLaw { name: "transpose-fold", source: "Figs. 12-15", pass: "transpose", run: transposed,
        text:   "lmFold(n, λi. M(i))ᵀ = lmFold(n, λk. M(n - 1 - k)ᵀ)",
        before: "(def [D f] (LM (Tuple Float Float) (Tuple Float Float)) (v : Vec Float)
                   (lmFold (size v) ($dummy (Tuple Float Float)) ($dummy (Tuple Float Float))
                     (lam (i : Integer)
                       (lmVCat (lmHCat (lmScale ($dummy Float) (index i v)) (lmOne ($dummy Float)))
                               (lmGet$1$2 ($dummy (Tuple Float Float)))))))",
        after:  "(def [Dt f] (LM (Tuple Float Float) (Tuple Float Float)) (v : Vec Float)
                   (lmFold (size v) ($dummy (Tuple Float Float)) ($dummy (Tuple Float Float))
                     (lam (k : Integer) (let (i (sub (sub (size v) 1) k))
                       (lmVCat (lmAdd (lmCompose (lmScale ($dummy Float) (index i v)) (lmGet$1$2 ($dummy (Tuple Float Float))))
                                      (lmGet$2$2 ($dummy (Tuple Float Float))))
                               (lmGet$1$2 ($dummy (Tuple Float Float))))))))" },
    PassLaw { name: "apply-build", source: "derived", pass: "apply", run: applied,
        text:   "V(build(n, λi. m)) ⊙ x = build(n, λi. m ⊙ x)",
        before: "(def f (Vec Float) ((v : Vec Float) (dx : Float))
                   (lmApply (lmVCatV v (build (size v) (lam (i : Integer) (lmScale ($dummy Float) (index i v))))) dx))",
        after:  "(def f (Vec Float) ((v : Vec Float) (dx : Float))
                   (build (size v) (lam (i : Integer) (mul (index i v) dx))))" },
    PassLaw { name: "apply-sumbuild", source: "derived", pass: "apply", run: applied,
        text:   "⊕(build(n, λi. m)) ⊙ x = sumbuild(n, λi. m ⊙ x)",
        before: "(def f Float ((v : Vec Float) (dx : Float))
                   (lmApply (lmAddV ($dummy Float) (build (size v) (lam (i : Integer) (lmScale ($dummy Float) (index i v))))) dx))",
        after:  "(def f Float ((v : Vec Float) (dx : Float))
                   (sumbuild ($dummy Float) (size v) (lam (i : Integer) (mul (index i v) dx))))" },
    PassLaw { name: "apply-fold", source: "Figs. 12-15", pass: "apply", run: applied,
        text:   "lmFold(n, λi. M(i)) ⊙ (s, c) = $loop(n, λ(i, s). M(i) ⊙ (s, c), s)",
        before: "(def f (Tuple Float Float) ((v : Vec Float) (ds : Float) (dc : Float))
                   (lmApply (lmFold (size v) ($dummy (Tuple Float Float)) ($dummy (Tuple Float Float))
                              (lam (i : Integer)
                                (lmVCat (lmHCat (lmScale ($dummy Float) (index i v)) (lmOne ($dummy Float)))
                                        (lmGet$1$2 ($dummy (Tuple Float Float))))))
                            (tuple ds dc)))",
        after:  "(def f (Tuple Float Float) ((v : Vec Float) (ds : Float) (dc : Float))
                   ($loop (size v)
                          (lam (p : Tuple Integer Float) (let ((i s) p) (tuple (add (mul (index i v) s) dc) s)))
                          ds
                          ($dummy Float)))" },
    PassLaw { name: "fold-pairs", source: "Figs. 12-15", pass: "carry_states", run: carried,
        text:   "let s = scanl(f, a, v) in let t = $loop(n, λ(i, r). e[s[i]], b, w) in c[s[n]] = \
                 let ((y, r), z) = $loop(n, λ(i, (x, r)). let (r', z) = e[x] in ((f(x, v[i]), r'), z), (a, b), w) in \
                 let t = (r, z) in c[y]   when n is the size of v",
        before: "(def f Float ((a : Float) (v : Vec Float) (b : Float))
                   (let ((n (size v))
                         (s (scanl (lam (q : Tuple Float Float) (let ((x e) q) (mul x e))) a v))
                         (t ($loop n (lam (p : Tuple Integer Float)
                                       (let (((i r) p) (x (index i s)) (next (add r x)) (none (tuple))) (tuple next none)))
                                     b
                                     (tuple)))
                         (y (index n s)))
                     (mul y (get$1$2 t))))",
        after:  "(def f Float ((a : Float) (v : Vec Float) (b : Float))
                   (let ((n (size v))
                         (both ($loop n
                                      (lam (p : Tuple Integer (Tuple Float Float))
                                        (let (((i t) p) ((x r) t) (e (index i v)) (q (tuple x e)) ((x1 e1) q) (y (mul x1 e1))
                                              (p1 (tuple i r)) ((i1 r1) p1) (x2 x) (next (add r1 x2)) (none (tuple))
                                              ((r2 z) (tuple next none)) (pair (tuple y r2)))
                                          (tuple pair z)))
                                      (tuple a b)
                                      (tuple)))
                         (ends (get$1$2 both)) (z (get$2$2 both)) (x (get$1$2 ends)) (r (get$2$2 ends)) (t (tuple r z)) (y x))
                     (mul y (get$1$2 t))))" },
    PassLaw { name: "apply-ones", source: "derived", pass: "apply", run: applied,
        text:   "lmSum(v)ᵀ ⊙ r = build(size(v), λi. r)",
        before: "(def f (Vec Float) ((v : Vec Float) (dr : Float)) (lmApply (lmTranspose (lmSum v)) dr))",
        after:  "(def f (Vec Float) ((v : Vec Float) (dr : Float)) (build (size v) (lam (i : Integer) dr)))" },
    PassLaw { name: "let-share-function", source: "sec. 5.1", pass: "cse", run: shared,
        text:   "let v = build(n, λi. e) in .. build(n, λj. e[i := j]) .. = let v = build(n, λi. e) in .. v ..",
        before: "(def f Float (n : Integer)
                   (let ((v (build n (lam (i : Integer) (let (x (to_float i)) (sin x)))))
                         (w (build n (lam (j : Integer) (let (y (to_float j)) (sin y)))))
                         (a (sum v)) (b (sum w)))
                     (mul a b)))",
        after:  "(def f Float (n : Integer)
                   (let ((v (build n (lam (i : Integer) (let (x (to_float i)) (sin x)))))
                         (a (sum v)))
                     (mul a a)))" },
    PassLaw { name: "build-residual", source: "ours", pass: "hoist_residuals", run: with_residuals,
        text:   "build n (λi. let x = e in b) = let t = build n (λi. e) in build n (λi. let x = t[i] in b)   when b depends on a direction, and e does not",
        before: "(def f (Vec Float) ((v : Vec Float) (dr : Float))
                   (build (size v) (lam (i : Integer) (let ((x (index i v)) (y (exp x))) (mul y (mul x dr))))))",
        after:  "(def f (Vec Float) ((v : Vec Float) (dr : Float))
                   (let (t (build (size v) (lam (i : Integer) (let ((x (index i v)) (y (exp x))) y))))
                     (build (size v) (lam (i : Integer) (let ((y (index i t)) (x (index i v))) (mul y (mul x dr)))))))" },
    PassLaw { name: "sumbuild-residual", source: "ours", pass: "hoist_residuals", run: with_residuals,
        text:   "sumbuild n (λi. let x = e in b) = let t = build n (λi. e) in sumbuild n (λi. let x = t[i] in b)   when b depends on a direction, and e does not",
        before: "(def f Float ((v : Vec Float) (dr : Float))
                   (sumbuild (size v) (lam (i : Integer) (let (y (exp (index i v))) (mul y dr)))))",
        after:  "(def f Float ((v : Vec Float) (dr : Float))
                   (let (t (build (size v) (lam (i : Integer) (let (y (exp (index i v))) y))))
                     (sumbuild (size v) (lam (i : Integer) (let (y (index i t)) (mul y dr))))))" },
    PassLaw { name: "into-rev", source: "derived", pass: "add_destinations", run: with_destinations,
        text:   "rev$f(s, dr) = $into(s, rev$f(s, dr))   when f calls itself",
        before: "(def g Float ((v : Vec Float) (n : Integer)) (if (lte n 0) (sum v) (mul 2.0 (g v (sub n 1)))))
                 (def f (Vec Float) ((v : Vec Float) (dr : Float)) (get$1$2 ([rev g] (tuple v 2) dr)))",
        after:  "(def f (Vec Float) ((v : Vec Float) (dr : Float)) (get$1$2 ($into (tuple v 2) ([rev g] (tuple v 2) dr))))" },
    PassLaw { name: "into-half", source: "derived", pass: "add_destinations", run: with_destinations,
        text:   "let (y, r) = suffwdpass$f(s) in .. sufrevpass$f(dr, r) .. = let (y, r) = suffwdpass$f(s) in .. $into(s, sufrevpass$f(dr, r)) ..   when f calls itself",
        before: "(def g Float ((v : Vec Float) (n : Integer))
                   (if (lte n 0) (sum v) (let (y (g v (sub n 1))) (mul y y))))
                 (def f (Vec Float) ((v : Vec Float) (dr : Float))
                   (let ((y r) ([suffwdpass g] v 2)) (get$1$2 ([sufrevpass g] (mul y dr) r))))",
        after:  "(def f (Vec Float) ((v : Vec Float) (dr : Float))
                   (let ((y r) ([suffwdpass g] v 2)) (get$1$2 ($into (tuple v 2) ([sufrevpass g] (mul y dr) r)))))" },
    PassLaw { name: "build-component", source: "ours", pass: "dead_components", run: without_dead_components,
        text:   "let p = build(n, λi. (e1, .., en)) in b = let p = build(n, λi. ek) in b   when b reads p[j].k only",
        before: "(def f Float (x : Float)
                   (let ((p (build 3 (lam (i : Integer) (tuple x i)))) ((y j) (index 1 p))) (add y y)))",
        after:  "(def f Float (x : Float) (let ((p (build 3 (lam (i : Integer) x))) (y (index 1 p))) (add y y)))" },
    PassLaw { name: "scanl-component", source: "ours", pass: "dead_components", run: without_dead_components,
        text:   "let p = scanl(f, (a, b), v) in b = let p = scanl(f.1, a, v) in b   when b and f read p[j].1 only",
        before: "(def f Float ((x : Float) (a : Tuple Float Integer) (v : Vec Float))
                   (let ((p (scanl (lam (q : Tuple (Tuple Float Integer) Float)
                               (let (((s y) q) (z (get$1$2 s))) (tuple z 1))) a v))
                         ((y j) (index 1 p)))
                     (add y y)))",
        after:  "(def f Float ((x : Float) (a : Tuple Float Integer) (v : Vec Float))
                   (let ((p (scanl (lam (q : Tuple Float Float) (let (((s y) q) (z s)) z)) (get$1$2 a) v)) (y (index 1 p)))
                     (add y y)))" },
    PassLaw { name: "build-copy", source: "ours", pass: "dead_components", run: without_dead_components,
        text:   "let p = build(n, f) in build(n, λi. p[i]) = p",
        before: "(def f Float (x : Float)
                   (let ((p (build 3 (lam (i : Integer) x))) (y (build 3 (lam (i : Integer) (index i p))))) (index 1 y)))",
        after:  "(def f Float (x : Float) (let ((p (build 3 (lam (i : Integer) x))) (y p)) (index 1 y)))" },
    PassLaw { name: "call-transposed", source: "derived", pass: "inline_maps", run: inlined_maps,
        text:   "[Dt f](a) = (∂f(a))ᵀ",
        before: "(def g Float (x : Float) (sin x)) (def f Float (x : Float) (lmApply ([Dt g] x) 2.0))",
        after:  "(def f Float (x : Float) (lmApply (lmTranspose ([D g] x)) 2.0))" },
    PassLaw { name: "call-tupled", source: "derived", pass: "inline_maps", run: inlined_maps,
        text:   "[tupled f](a) = (f(a), ∂f(a))",
        before: "(def g Float (x : Float) (sin x)) (def f (Tuple Float (LM Float Float)) (x : Float) ([tupled g] x))",
        after:  "(def f (Tuple Float (LM Float Float)) (x : Float) (tuple (g x) ([D g] x)))" },
    PassLaw { name: "call-polymorphic", source: "derived", pass: "inline_maps", run: inlined_maps,
        text:   "[polymorphic f](a, m) = (f(a), ∂f(a) ∘ m)",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float (x : Float) (lmApply (get$2$2 ([polymorphic g] x (lmOne 1.0))) 2.0))",
        after:  "(def f Float (x : Float) (lmApply (get$2$2 (let (t (lmOne 1.0)) (tuple (g x) (lmCompose ([D g] x) t)))) 2.0))" },
    PassLaw { name: "call-polymorphicR", source: "derived", pass: "inline_maps", run: inlined_maps,
        text:   "[polymorphicR f](a, m) = (f(a), m ∘ (∂f(a))ᵀ)",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float (x : Float) (lmApply (get$2$2 ([polymorphicR g] x (lmOne 1.0))) 2.0))",
        after:  "(def f Float (x : Float) (lmApply (get$2$2 (let (t (lmOne 1.0)) (tuple (g x) (lmCompose t (lmTranspose ([D g] x)))))) 2.0))" },
    PassLaw { name: "call-map", source: "derived", pass: "inline_maps", run: inlined_maps,
        text:   "f(a, ..) = let x = a, .. in b   when f(x, ..) = b takes or gives a linear map",
        before: "(def twice Float (m : LM Float Float) (lmApply m (lmApply m 1.0))) (def f Float (x : Float) (twice (lmScale 1.0 x)))",
        after:  "(def f Float (x : Float) (let (m (lmScale 1.0 x)) (lmApply m (lmApply m 1.0))))" },
    PassLaw { name: "call-jacobian", source: "sec. 3", pass: "inline_maps", run: inlined_maps,
        text:   "∂f(a) = let x = a in m   where ∂f(x) = m",
        before: "(def double Float (x : Float) (add x x)) (def f Float (x : Float) (lmApply ([D double] x) 3.0))",
        after:  "(def f Float (x : Float) (lmApply (let (y x) (lmScale 1.0 2.0)) 3.0))" },
    PassLaw { name: "let-map", source: "sec. 3", pass: "apply_maps", run: with_maps_applied,
        text:   "let m = e in b = b[m := e]   where a linear map, or a tuple or tensor of such, is bound",
        before: "(def f Float (x : Float) (let (m (lmScale 1.0 x)) (lmApply m 2.0)))",
        after:  "(def f Float (x : Float) (let (t (mul x 2.0)) t))" },
    PassLaw { name: "index-family", source: "derived", pass: "apply_maps", run: with_maps_applied,
        text:   "index(k, build(n, λi. m)) = let i = index(k, build(n, λj. j)) in m   for maps m",
        before: "(def f Float ((k : Integer) (x : Float))
                   (lmApply (index k (build 3 (lam (i : Integer) (lmScale 1.0 (to_float i))))) x))",
        after:  "(def f Float ((k : Integer) (x : Float))
                   (let ((t (index k (build 3 (lam (j : Integer) j)))) (i t) (s (to_float i))) (mul s x)))" },
    PassLaw { name: "let-branch", source: "derived", pass: "arrays", run: with_arrays_fused,
        text:   "let x = e in if c then b else ts_zero(w) = if c then let x = e in b else ts_zero(w)",
        before: "(def f Float ((c : Bool) (x : Float)) (let (y (exp x)) (if c (mul y y) (ts_zero x))))",
        after:  "(def f Float ((c : Bool) (x : Float)) (if c (let (y (exp x)) (mul y y)) (ts_zero x)))" },
    PassLaw { name: "apply-assert", source: "derived", pass: "apply_maps", run: with_maps_applied,
        text:   "assert(c, m) ⊙ x = assert(c, m ⊙ x), x ⊙ᴿ assert(c, m) = assert(c, x ⊙ᴿ m)",
        before: "(def f Float ((c : Bool) (x : Float)) (lmApply (assert c (lmScale 1.0 x)) x))",
        after:  "(def f Float ((c : Bool) (x : Float)) (assert c (mul x x)))" },
    PassLaw { name: "reverse-sumbuild", source: "derived", pass: "apply_maps", run: with_maps_applied,
        text:   "r ⊙ᴿ ⊕(build(n, λi. m)) = sumbuild(n, λi. r ⊙ᴿ m)",
        before: "(def f Float ((v : Vec Float) (r : Float))
                   (lmApplyR r (lmAddV 1.0 (build (size v) (lam (i : Integer) (lmScale 1.0 (index i v)))))))",
        after:  "(def f Float ((v : Vec Float) (r : Float))
                   (let (t (size v)) (sumbuild t (lam (i : Integer) (let (s (index i v)) (mul s r))))))" },
    PassLaw { name: "reverse-fold", source: "derived", pass: "apply_maps", run: with_maps_applied,
        text:   "(rs, rc) ⊙ᴿ lmFold(n, λi. M) = the loop of (rs, rc) := (rs, rc) ⊙ᴿ M, backwards",
        before: "(def f (Tuple Float Float) ((k : Float) (r : Tuple Float Float))
                   (lmApplyR r (lmFold 3 (tuple 1.0 1.0) (tuple 1.0 1.0) (lam (i : Integer) (lmScale (tuple 1.0 1.0) k)))))",
        after:  "(def f (Tuple Float Float) ((k : Float) (r : Tuple Float Float))
                   (let (rc (get$2$2 r))
                     ($loop 3 (lam (p : Tuple Integer Float)
                         (let (((j ds) p) (i (sub (sub 3 1) j))) (ts_scale k (tuple ds rc))))
                       (get$1$2 r) ($dummy Float))))" },
];
