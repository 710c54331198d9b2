//! Laws of linear maps in programs, of the passes `inline_maps` and `apply_maps`.

use super::law::PassLaw;
use super::run::{inlined_maps, with_maps_applied};

#[rustfmt::skip]
pub(super) static LAWS: &[PassLaw] = &[
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
    PassLaw { name: "get-tuple", source: "derived", pass: "apply_maps", run: with_maps_applied,
        text:   "(e1, .., en).i = ei, (if c then a else b).i = if c then a.i else b.i   where the tuple has linear maps",
        before: "(def f Float (x : Float) (lmApply (get$2$2 (let (y (sin x)) (tuple y (lmScale 1.0 y)))) 2.0))",
        after:  "(def f Float (x : Float) (let (y (sin x)) (mul y 2.0)))" },
    PassLaw { name: "size-of-family", source: "derived", pass: "apply_maps", run: with_maps_applied,
        text:   "size(build(n, λi. m)) = n, size([m1, .., mn]) = n   for linear maps",
        before: "(def f Integer (x : Float) (size (build 3 (lam (i : Integer) (lmScale 1.0 x)))))",
        after:  "(def f Integer (x : Float) 3)" },
    PassLaw { name: "add-lambda", source: "derived", pass: "apply_maps", run: with_maps_applied,
        text:   "(λi. a) + (λi. b) = λi. a + b",
        before: "(def f Float (x : Float)
                   (sum (build 3 (lmApply (lmAdd (lmL (lam (i : Integer) (lmScale 1.0 x))) (lmL (lam (j : Integer) (lmScale 1.0 2.0)))) x))))",
        after:  "(def f Float (x : Float) (sum (build 3 (lam (i : Integer) (add (mul x x) (let (j i) (mul 2.0 x)))))))" },
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
