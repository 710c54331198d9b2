//! Laws of maps under binders, of the passes `transpose` and `apply`.

use super::law::PassLaw;
use super::run::{applied, transposed};

#[rustfmt::skip]
pub(super) static LAWS: &[PassLaw] = &[
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
    PassLaw { name: "sum-of-places", source: "derived", pass: "transpose", run: transposed,
        text:   "⊕(build(n, λi. π(i)ᵀ ∘ m ⊕ p)) = V(build(n, λi. m)) ⊕ ⊕(build(n, λi. p))   when n is size(v), for π(i) of v",
        before: "(def [D f] (LM (Vec Float) Float) (v : Vec Float)
                   (lmAddV ($dummy Float) (build (size v) (lam (i : Integer)
                     (lmCompose (lmScale ($dummy Float) (index i v)) (lmIndex i v))))))",
        after:  "(def [Dt f] (LM Float (Vec Float)) (v : Vec Float)
                   (let (R (lmVCatV v (build (size v) (lam (i : Integer) (lmScale ($dummy Float) (index i v)))))) R))" },
    PassLaw { name: "build-of-places", source: "derived", pass: "transpose", run: transposed,
        text:   "V(build(n, λi. π(i) ∘ m)) = m   when n is size(v), for π(i) of v",
        before: "(def [D f] (LM (Vec Float) (Vec Float)) (v : Vec Float)
                   (let (Dy (lmScale v 2.0)) (lmVCatV v (build (size v) (lam (i : Integer) (lmCompose (lmIndex i v) Dy))))))",
        after:  "(def [Dt f] (LM (Vec Float) (Vec Float)) (v : Vec Float) (lmScale v 2.0))" },
    PassLaw { name: "sum-compose", source: "derived", pass: "transpose", run: transposed,
        text:   "⊕(build(n, λi. π(k)ᵀ ∘ m)) = π(k)ᵀ ∘ ⊕(build(n, λi. m))   of what reaches no place of its own, for a k of which v[k] was read",
        before: "(def [D f] (LM (Vec Float) Float) (v : Vec Float)
                   (let (x (index 0 v))
                     (lmAddV ($dummy Float) (build (size v) (lam (i : Integer)
                       (lmAdd (lmCompose (lmScale ($dummy Float) x) (lmIndex i v))
                              (lmCompose (lmScale ($dummy Float) (index i v)) (lmIndex 0 v))))))))",
        after:  "(def [Dt f] (LM Float (Vec Float)) (v : Vec Float)
                   (let ((x (index 0 v))
                         (R (lmVCatV v (build (size v) (lam (i : Integer) (lmScale ($dummy Float) x)))))
                         (R1 (lmAddV ($dummy Float) (build (size v) (lam (i : Integer) (lmScale ($dummy Float) (index i v))))))
                         (R2 (lmCompose (lmTranspose (lmIndex 0 v)) R1)))
                     (lmAdd R R2)))" },
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
    PassLaw { name: "apply-ones", source: "derived", pass: "apply", run: applied,
        text:   "lmSum(v)ᵀ ⊙ r = build(size(v), λi. r)",
        before: "(def f (Vec Float) ((v : Vec Float) (dr : Float)) (lmApply (lmTranspose (lmSum v)) dr))",
        after:  "(def f (Vec Float) ((v : Vec Float) (dr : Float)) (build (size v) (lam (i : Integer) dr)))" },
];
