//! Laws of names, calls and normal form, of the passes `anf`, `simplify`, `dce`, `inline_single_uses`, `inline_marked` and
//! `independent_arguments`.

use super::law::PassLaw;
use super::run::{in_place, independent, inlined, normalised, simplified, without_dead};

#[rustfmt::skip]
pub(super) static LAWS: &[PassLaw] = &[
    PassLaw { name: "call-inline", source: "ours", pass: "inline_marked", run: in_place,
        text:   "$inline(f(e)) = let x = e in b   when f(x) = b",
        before: "(def g Float (y : Float) (mul y y))
                 (def f Float (x : Float) (g (sin x)))",
        after:  "(def f Float (x : Float) (let (y (sin x)) (mul y y)))" },
    PassLaw { name: "call-independent", source: "ours", pass: "independent_arguments", run: independent,
        text:   "f(v, w) = f(stop_gradient(v), w)   when f(v, w) depends on no number of v",
        before: "(def g Float ((v : Vec Float) (y : Float)) (mul y (to_float (size v))))
                 (def f Float ((v : Vec Float) (x : Float)) (g v (sin x)))",
        after:  "(def f Float ((v : Vec Float) (x : Float)) (g (stop_gradient v) (sin x)))" },
    PassLaw { name: "size-share", source: "derived", pass: "simplify", run: simplified,
        text:   "let n = size(v) in .. let m = size(w) in b = let n = size(v) in .. b[m := n]   when v and w have one size",
        before: "(def f (Vec Float) (x : Vec Float)
                   (let ((n (size x)) (v (build n (lam (i : Integer) (sin (index i x))))) (m (size v)))
                     (build m (lam (i : Integer) (mul 2.0 (index i v))))))",
        after:  "(def f (Vec Float) (x : Vec Float)
                   (let ((n (size x)) (v (build n (lam (i : Integer) (sin (index i x))))))
                     (build n (lam (i : Integer) (mul 2.0 (index i v))))))" },
    PassLaw { name: "let-atom", source: "sec. 3; Fig. 8a2 (ICFP)", pass: "simplify", run: simplified,
        text:   "let x = a in b = b[x := a]   when a is a variable, a constant, or a short tuple of such",
        before: "(def f Float (x : Float) (let (y x) (sin y)))",
        after:  "(def f Float (x : Float) (sin x))" },
    PassLaw { name: "let-tuple", source: "sec. 1", pass: "simplify", run: simplified,
        text:   "let (x, ..) = (e, ..) in b = let x = e in .. b",
        before: "(def f Float (x : Float) (let ((a b) (tuple (sin x) (cos x))) (mul a b)))",
        after:  "(def f Float (x : Float) (let ((a (sin x)) (b (cos x))) (mul a b)))" },
    PassLaw { name: "let-once", source: "sec. 3; Fig. 8a2 (ICFP)", pass: "simplify", run: simplified,
        text:   "let Dx = m in b = b[Dx := m]   when Dx occurs once in b",
        before: "(def [D f] (LM Float Float) (x : Float)
                   (let (Dy (lmAdd (lmScale x x) (lmCompose (lmDot x) (lmScaleR x)))) (lmTranspose Dy)))",
        after:  "(def [D f] (LM Float Float) (x : Float) (lmTranspose (lmScale ($dummy Float) (add x (mul x x)))))" },
    PassLaw { name: "let-free", source: "sec. 3", pass: "simplify", run: simplified,
        text:   "let Dx = m in b = b[Dx := m]   when m is free to copy",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float) (let (Dy (lmScale ($dummy Float) x)) (lmVCat Dy Dy)))",
        after:  "(def [D f] (LM Float (Tuple Float Float)) (x : Float) (lmVCat (lmScale ($dummy Float) x) (lmScale ($dummy Float) x)))" },
    PassLaw { name: "let-vcat", source: "sec. 3", pass: "simplify", run: simplified,
        text:   "let Dx = m × n in b = let Dy = m in let Dz = n in b[Dx := Dy × Dz]   when b only has π(i,2) ∘ Dx",
        before: "(def [D f] (LM (Tuple Float (Vec Float)) (Tuple Float Float)) ((x : Float) (v : Vec Float))
                   (let (Dt (lmVCat (lmGet$1$2 (tuple x v)) (lmCompose (lmIndex 0 v) (lmGet$2$2 (tuple x v)))))
                     (lmVCat (lmCompose (lmScale ($dummy Float) x) (lmCompose (lmGet$2$2 ($dummy (Tuple Float Float))) Dt))
                             (lmAdd (lmCompose (lmGet$1$2 ($dummy (Tuple Float Float))) Dt)
                                    (lmCompose (lmGet$2$2 ($dummy (Tuple Float Float))) Dt)))))",
        after:  "(def [D f] (LM (Tuple Float (Vec Float)) (Tuple Float Float)) ((x : Float) (v : Vec Float))
                   (let (Dt (lmCompose (lmIndex 0 v) (lmGet$2$2 (tuple x v))))
                     (lmVCat (lmCompose (lmScale ($dummy Float) x) Dt) (lmAdd (lmGet$1$2 (tuple x v)) Dt))))" },
    PassLaw { name: "let-scale", source: "sec. 3", pass: "simplify", run: simplified,
        text:   "let Dx = S(e) in b = let k = e in b[Dx := S(k)]",
        before: "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (Dy (lmScale ($dummy Float) (sin x))) (lmVCat Dy Dy)))",
        after:  "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                   (let (k (sin x)) (lmVCat (lmScale ($dummy Float) k) (lmScale ($dummy Float) k))))" },
    PassLaw { name: "let-dead", source: "sec. 3; Fig. 8a3 (ICFP)", pass: "dce", run: without_dead,
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
    PassLaw { name: "let-let", source: "sec. 5.1; Fig. 8a4 (ICFP)", pass: "anf", run: normalised,
        text:   "let x = (let y = e in b) in c = let y = e in let x = b in c",
        before: "(def f Float (x : Float) (let (y (let (z (sin x)) (cos z))) (mul y x)))",
        after:  "(def f Float (x : Float) (let ((z (sin x)) (y (cos z))) (mul y x)))" },
    PassLaw { name: "let-result", source: "sec. 9", pass: "inline_single_uses", run: inlined,
        text:   "let (x, y) = e in (x, y) = e",
        before: "(def g (Tuple Float Float) (x : Float) (tuple x x))
                 (def f (Tuple Float Float) (x : Float) (let ((y z) (g x)) (tuple y z)))",
        after:  "(def f (Tuple Float Float) (x : Float) (g x))" },
    PassLaw { name: "let-single-use", source: "sec. 9; Fig. 8a2 (ICFP)", pass: "inline_single_uses", run: inlined,
        text:   "let t = e in b = b[t := e]   when t occurs once in b, not in a function, and the line stays short",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (cos y))) (mul z x)))",
        after:  "(def f Float (x : Float) (mul (cos (sin x)) x))" },
    PassLaw { name: "let-zero", source: "derived", pass: "inline_single_uses", run: inlined,
        text:   "let t = ts_zero(w) in b = b[t := ts_zero(w)]   when b only adds t, or gives it",
        before: "(def f (Tuple (Vec Float) (Vec Float)) (v : Vec Float)
                   (let (t (ts_zero v)) (tuple (ts_add v t) (ts_add t v))))",
        after:  "(def f (Tuple (Vec Float) (Vec Float)) (v : Vec Float)
                   (tuple (ts_add v (ts_zero v)) (ts_add (ts_zero v) v)))" },
];
