//! Laws of primitives on arrays that no derivation has rules for, of the pass `expand_arrays`, and of folds, of the passes
//! `closed_folds` and `folds_of_maps`.

use super::law::PassLaw;
use super::run::{with_arrays_expanded, with_folds_closed, with_maps_of_folds};

#[rustfmt::skip]
pub(super) static LAWS: &[PassLaw] = &[
    PassLaw { name: "map2-build", source: "ours", pass: "expand_arrays", run: with_arrays_expanded,
        text:   "map2(f, v, w) = build($common_size(v, w), λk. f((v[k], w[k])))",
        before: "(def f (Vec Float) ((v : Vec Float) (w : Vec Float))
                   (map2 (lam (t : Tuple Float Float) (mul (get$1$2 t) (get$2$2 t))) v w))",
        after:  "(def f (Vec Float) ((v : Vec Float) (w : Vec Float))
                   (build ($common_size v w)
                          (lam (k : Integer)
                            (let (t (tuple (index k v) (index k w))) (mul (get$1$2 t) (get$2$2 t))))))" },
    PassLaw { name: "reduce-fold", source: "ours", pass: "expand_arrays", run: with_arrays_expanded,
        text:   "reduce(f, a, v) = fold(f, a, v)",
        before: "(def f Float (v : Vec Float) (reduce (lam (t : Tuple Float Float) (mul (get$1$2 t) (get$2$2 t))) 1.0 v))",
        after:  "(def f Float (v : Vec Float)
                   (fold (lam (t : Tuple Float Float) (mul (get$1$2 t) (get$2$2 t))) 1.0 v))" },
    PassLaw { name: "scanr-scanl", source: "ours", pass: "expand_arrays", run: with_arrays_expanded,
        text:   "scanr(f, a, v) = let n = size(v) in let r = scanl(f, a, build(n, λk. v[n - 1 - k])) in build(n + 1, λk. r[n - k])",
        before: "(def f (Vec Float) (v : Vec Float)
                   (scanr (lam (t : Tuple Float Float) (sub (get$1$2 t) (get$2$2 t))) 1.0 v))",
        after:  "(def f (Vec Float) (v : Vec Float)
                   (let ((n (size v))
                         (r (scanl (lam (t : Tuple Float Float) (sub (get$1$2 t) (get$2$2 t))) 1.0
                                   (build n (lam (k : Integer) (index (sub (sub n 1) k) v))))))
                     (build (add n 1) (lam (k : Integer) (index (sub n k) r)))))" },
    PassLaw { name: "shift1L-build", source: "ours", pass: "expand_arrays", run: with_arrays_expanded,
        text:   "shift1L(v) = let n = size(v) in build(if n == 0 then 0 else n - 1, λk. v[k + 1])",
        before: "(def f (Vec Float) (v : Vec Float) (shift1L v))",
        after:  "(def f (Vec Float) (v : Vec Float)
                   (let (n (size v))
                     (build (if (eq n 0) 0 (sub n 1)) (lam (k : Integer) (index (add k 1) v)))))" },
    PassLaw { name: "shift1R-build", source: "ours", pass: "expand_arrays", run: with_arrays_expanded,
        text:   "shift1R(v) = let n = size(v) in build(if n == 0 then 0 else n - 1, λk. v[k])",
        before: "(def f (Vec Float) (v : Vec Float) (shift1R v))",
        after:  "(def f (Vec Float) (v : Vec Float)
                   (let (n (size v)) (build (if (eq n 0) 0 (sub n 1)) (lam (k : Integer) (index k v)))))" },
    PassLaw { name: "shift1L-of-some", source: "ours", pass: "expand_arrays", run: with_arrays_expanded,
        text:   "shift1L(v) = build(size(v) - 1, λk. v[k + 1])   when v is scanl(f, a, w), scanr(f, a, w) or a literal",
        before: "(def f (Vec Float) (x : Float) (shift1L (Vec_init x 2.0)))",
        after:  "(def f (Vec Float) (x : Float)
                   (let (w (Vec_init x 2.0)) (build (sub (size w) 1) (lam (k : Integer) (index (add k 1) w)))))" },
    PassLaw { name: "shift1R-of-some", source: "ours", pass: "expand_arrays", run: with_arrays_expanded,
        text:   "shift1R(v) = build(size(v) - 1, λk. v[k])   when v is scanl(f, a, w), scanr(f, a, w) or a literal",
        before: "(def f (Vec Float) (x : Float) (shift1R (Vec_init x 2.0)))",
        after:  "(def f (Vec Float) (x : Float)
                   (let (w (Vec_init x 2.0)) (build (sub (size w) 1) (lam (k : Integer) (index k w)))))" },
    PassLaw { name: "fold-of-sum", source: "003 sec. 5", pass: "closed_folds", run: with_folds_closed,
        text:   "fold(λ(s, x). s + e{x}, 0.0, v) = sumbuild(size(v), λi. e{v[i]})   likewise s - e, and pairs of such",
        before: "(def f Float (v : Vec Float) (fold (lam (p : Tuple Float Float) (let ((s x) p) (add s (mul x x)))) 0.0 v))",
        after:  "(def f Float (v : Vec Float)
                   (sumbuild (size v) (lam (i : Integer) (let (x (index i v)) (mul x x)))))" },
    PassLaw { name: "fold-of-choice", source: "derived", pass: "closed_folds", run: with_folds_closed,
        text:   "fold(λ(s, x). if c{s, x} then e{x} else s, a, v) = let p = $place(λ(s, x). c{s, x}, λx. e{x}, a, v) in \
                 if 0 <= p then e{v[p]} else a   likewise max and min",
        before: "(def f Float ((a : Float) (v : Vec Float))
                   (fold (lam (p : Tuple Float Float) (let ((s x) p) (max s x))) a v))",
        after:  "(def f Float ((a : Float) (v : Vec Float))
                   (let (k ($place (lam (q : Tuple Float Float)
                                     (let ((s x) q) (not (gte s x)))) (lam (y : Float) y) a v))
                     (if (lte 0 k) (let (x (index k v)) x) a)))" },
    PassLaw { name: "fold-of-invariant", source: "ours", pass: "closed_folds", run: with_folds_closed,
        text:   "fold(λ((a, s), x). (a, e{a, s, x}), (b, c), v) = (b, fold(λ(s, x). e{b, s, x}, c, v))",
        before: "(def f (Tuple (Vec Float) Float) ((b : Vec Float) (c : Float) (v : Vec Float))
                   (fold (lam (p : Tuple (Tuple (Vec Float) Float) Float)
                           (let (((as x) p) ((a s) as)) (tuple a (mul s (mul x (sum a))))))
                         (tuple b c) v))",
        after:  "(def f (Tuple (Vec Float) Float) ((b : Vec Float) (c : Float) (v : Vec Float))
                   (let (d (fold (lam (q : Tuple Float Float)
                                   (let ((p (tuple (tuple b (get$1$2 q)) (get$2$2 q)))
                                         ((as x) p)
                                         ((a s) as))
                                     (mul s (mul x (sum a)))))
                                 c v))
                     (tuple b d)))" },
    PassLaw { name: "fold-of-map", source: "ours", pass: "folds_of_maps", run: with_maps_of_folds,
        text:   "fold(λ(s, x). build(size(s), λk. e{s[k], x, k}), a, v) = build(size(a), λk. fold(λ(t, x). e{t, x, k}, a[k], v))",
        before: "(def f (Vec Float) ((a : Vec Float) (v : Vec Float))
                   (fold (lam (p : Tuple (Vec Float) Float)
                           (let ((s x) p) (build (size s) (lam (k : Integer) (mul x (sin (index k s)))))))
                         a v))",
        after:  "(def f (Vec Float) ((a : Vec Float) (v : Vec Float))
                   (let (n (size a))
                     (build n (lam (k : Integer)
                       (fold (lam (p : Tuple Float Float)
                               (let (((t x) p) (y x)) (mul y (sin t))))
                             (index k a) v)))))" },
];
