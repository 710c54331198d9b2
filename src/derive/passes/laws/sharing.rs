//! Laws by which work is done once, of the passes from `cse` on, and of folds and loops after them.

use super::law::PassLaw;
use super::run::{
    carried, fused, fused_once, merged, shared, taken_apart, with_arrays_fused, with_destinations,
    with_elements_shared, with_literal_zeros, with_one_hots_sunk, with_pairs_split, with_residuals,
    with_sums_in_destinations, without_dead_components,
};

#[rustfmt::skip]
pub(super) static LAWS: &[PassLaw] = &[
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
    PassLaw { name: "let-share", source: "sec. 5.1; Fig. 8a5 (ICFP)", pass: "cse", run: shared,
        text:   "let x = e in .. e .. = let x = e in .. x ..",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (sin x))) (mul y z)))",
        after:  "(def f Float (x : Float) (let (y (sin x)) (mul y y)))" },
    PassLaw { name: "if-merge", source: "derived", pass: "merge_calls", run: merged,
        text:   "let x = if c then a else b in .. let y = if c then a' else b' in e = let (x, y) = if c then (a, a') else (b, b') in .. e",
        before: "(def f Float ((c : Bool) (x : Float))
                   (let ((y (if c (sin x) x)) (z (if c (cos x) x))) (mul y z)))",
        after:  "(def f Float ((c : Bool) (x : Float))
                   (let ((y z) (if c (let ((a (sin x)) (b (cos x))) (tuple a b)) (tuple x x))) (mul y z)))" },
    PassLaw { name: "if-cut", source: "sec. 6.1", pass: "merge_calls", run: merged,
        text:   "let x = if c then (let u = p in b) else e in d = let u = if c then p else _ in let x = if c then b else e in d   before if-merge",
        before: "(def f Float ((c : Bool) (x : Float))
                   (let ((y (if c (sin x) x)) (z (sin y)) (w (if c (let (u (cos x)) (mul u z)) z))) (mul y w)))",
        after:  "(def f Float ((c : Bool) (x : Float))
                   (let (((y u) (if c (let ((b (cos x)) (a (sin x))) (tuple a b)) (tuple x ($dummy Float))))
                         (z (sin y))
                         (w (if c (mul u z) z)))
                     (mul y w)))" },
    PassLaw { name: "let-whole", source: "derived", pass: "merge_calls", run: merged,
        text:   "let (x, ..) = f(s) in b = let t = f(s) in let (x, ..) = t in b",
        before: "(def g (Tuple Float Float) (x : Float) (tuple x (sin x)))
                 (def f Float (x : Float) (let ((y z) (g x)) (mul y z)))",
        after:  "(def f Float (x : Float) (let ((t (g x)) ((y z) t)) (mul y z)))" },
    PassLaw { name: "let-sooner", source: "derived", pass: "merge_calls", run: merged,
        text:   "let x = e in .. let t = (x, ..) in b = let x = e in let t = (x, ..) in .. b   likewise components of x",
        before: "(def f Float (x : Float) (let ((y (sin x)) (z (cos y)) (t (tuple x y))) (mul z (get$1$2 t))))",
        after:  "(def f Float (x : Float) (let ((y (sin x)) (t (tuple x y)) (z (cos y))) (mul z (get$1$2 t))))" },
    PassLaw { name: "sum-of-build", source: "derived", pass: "fuse_sums", run: fused_once,
        text:   "let v = build(n, f) in .. sum(v) .. = .. sumbuild(n, f) ..   when v is not used elsewhere, before sumbuild-fuse",
        before: "(def f Float ((n : Integer) (x : Float))
                   (let ((v (build n (lam (i : Integer) (let (y (to_float i)) (sin y)))))
                         (a (sum v))
                         (b (sumbuild n (lam (j : Integer) (let ((u (to_float j)) (w (sin u))) (mul w x))))))
                     (mul a b)))",
        after:  "(def f Float ((n : Integer) (x : Float))
                   (let ((a (sumbuild n (lam (i : Integer) (let (y (to_float i)) (sin y)))))
                         (b (sumbuild n (lam (j : Integer) (let ((u (to_float j)) (w (sin u))) (mul w x))))))
                     (mul a b)))" },
    PassLaw { name: "sumbuild-fuse", source: "derived", pass: "fuse_sums", run: fused,
        text:   "let a = sumbuild(n, λi. d) in .. let b = sumbuild(n, λi. e) in c = let (a, b) = sumbuild(n, λi. (d, e)) in .. c   when d and e share work",
        before: "(def f Float ((n : Integer) (x : Float))
                   (let ((a (sumbuild n (lam (i : Integer) (let (y (to_float i)) (sin y)))))
                         (b (sumbuild n (lam (j : Integer) (let ((u (to_float j)) (v (sin u))) (mul v x))))))
                     (mul a b)))",
        after:  "(def f Float ((n : Integer) (x : Float))
                   (let (((s t) (sumbuild n (lam (i : Integer)
                           (let ((y (to_float i)) (p (sin y)) (q (mul p x))) (tuple p q)))))
                         (a s)
                         (b t))
                     (mul a b)))" },
    PassLaw { name: "element-share", source: "derived", pass: "share_elements", run: with_elements_shared,
        text:   "let v = build(n, λi. e{i}) in .. build(n, λj. .. e{j} ..) = let v = build(n, λi. e{i}) in .. build(n, λj. .. v[j] ..)   \
                 when e{} is a square root or a function of the C library",
        before: "(def f (Vec Float) (x : Vec Float)
                   (let ((n (size x))
                         (y (build n (lam (i : Integer) (let (a (index i x)) (exp a)))))
                         (s (sum y)))
                     (build n (lam (j : Integer) (let ((b (index j x)) (c (exp b))) (mul c s))))))",
        after:  "(def f (Vec Float) (x : Vec Float)
                   (let ((n (size x))
                         (y (build n (lam (i : Integer) (let (a (index i x)) (exp a)))))
                         (s (sum y)))
                     (build n (lam (j : Integer) (let ((b (index j x)) (c (index j y))) (mul c s))))))" },
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
    PassLaw { name: "into-vjp", source: "derived", pass: "add_destinations", run: with_destinations,
        text:   "vjp$f(s, dr) = $into(((), s), vjp$f(s, dr))   when f calls itself, and its values have one shape",
        before: "(def g Float ((v : Vec Float) (n : Integer)) (if (lte n 0) (sum v) (mul 2.0 (g v (sub n 1)))))
                 (def f (Vec Float) ((v : Vec Float) (dr : Float)) (get$1$2 (get$2$2 ([vjp g] (tuple v 2) dr))))",
        after:  "(def f (Vec Float) ((v : Vec Float) (dr : Float))
                   (get$1$2 (get$2$2 ($into (tuple (tuple) (tuple v 2)) ([vjp g] (tuple v 2) dr)))))" },
    PassLaw { name: "into-sum", source: "ours", pass: "add_destinations", run: with_sums_in_destinations,
        text:   "let t = $into(s, e) in t.i + t.j = $into(s.i, let t = $into(s, e) in t.i + t.j)   when nothing else reads t",
        before: "(def g Float ((v : Vec Float) (w : Vec Float) (n : Integer))
                   (if (lte n 0) (sum v) (mul 2.0 (g w v (sub n 1)))))
                 (def f (Vec Float) ((v : Vec Float) (dr : Float))
                   (let (t ($into (tuple v v 2) ([rev g] (tuple v v 2) dr))) (add (get$1$3 t) (get$2$3 t))))",
        after:  "(def f (Vec Float) ((v : Vec Float) (dr : Float))
                   ($into v (let (t ($into (tuple v v 2) ([rev g] (tuple v v 2) dr))) (add (get$1$3 t) (get$2$3 t)))))" },
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
    PassLaw { name: "one-hot-sink", source: "ours", pass: "sink_one_hots", run: with_one_hots_sunk,
        text:   "let t = $delta_at(v, k, x) in if c then e{t} else t = if c then let t = $delta_at(v, k, x) in e{t} else let t = $delta_at(v, k, x) in t",
        before: "(def f (Vec Float) ((x : Float) (v : Vec Float) (c : Bool))
                   (let (t ($delta_at v 0 x)) (if c (build 2 (lam (i : Integer) (index i t))) t)))",
        after:  "(def f (Vec Float) ((x : Float) (v : Vec Float) (c : Bool))
                   (if c (let (t ($delta_at v 0 x)) (build 2 (lam (i : Integer) (index i t)))) (let (t ($delta_at v 0 x)) t)))" },
    PassLaw { name: "pairs-loop", source: "derived", pass: "split_pairs", run: with_pairs_split,
        text:   "$loop(n, λp. a + b, s, w) = $loop(n, λp. (a.1 + b.1, a.2 + b.2), s, w)",
        before: "(def f (Tuple Float (Vec Float)) ((x : Float) (v : Vec Float))
                   ($loop 3 (lam (p : Tuple Integer Float)
                              (let (((i s) p) (a (tuple s v)) (b (tuple x v))) (ts_add a b))) x v))",
        after:  "(def f (Tuple Float (Vec Float)) ((x : Float) (v : Vec Float))
                   ($loop 3 (lam (p : Tuple Integer Float)
                              (let (((i s) p) (a (tuple s v)) (b (tuple x v)))
                                (tuple (add (get$1$2 a) (get$1$2 b)) (ts_add (get$2$2 a) (get$2$2 b))))) x v))" },
    PassLaw { name: "pairs-get", source: "derived", pass: "split_pairs", run: with_pairs_split,
        text:   "let t = a + b in .. t.1 .. t.2 .. = .. a.1 + b.1 .. a.2 + b.2 ..   when each component is read once",
        before: "(def f Float ((a : Tuple Float (Vec Float)) (b : Tuple Float (Vec Float)))
                   (let (t (ts_add a b)) (mul (get$1$2 t) (sum (get$2$2 t)))))",
        after:  "(def f Float ((a : Tuple Float (Vec Float)) (b : Tuple Float (Vec Float)))
                   (mul (add (get$1$2 a) (get$1$2 b)) (sum (ts_add (get$2$2 a) (get$2$2 b)))))" },
    PassLaw { name: "zero-literal", source: "derived", pass: "literal_zeros", run: with_literal_zeros,
        text:   "ts_zero(w) = 0.0, or a tuple of such   when all values of its type have one shape; ts_zero($dummy) in build(n, λk. if k == i then x else ts_zero(w))",
        before: "(def f (Tuple Float (Vec Float)) (x : Float)
                   (tuple (ts_zero x) (build 3 (lam (k : Integer) (if (eq k 1) x (ts_zero x))))))",
        after:  "(def f (Tuple Float (Vec Float)) (x : Float)
                   (tuple 0.0 (build 3 (lam (k : Integer) (if (eq k 1) x (ts_zero ($dummy Float)))))))" },
    PassLaw { name: "dual-apart", source: "Fig. 8g (ICFP)", pass: "apart", run: taken_apart,
        text:   "[dual f](zip(s, ds)) = zip(f(s), fwd$f(s, ds))   with a loop for values and one for tangents of each loop",
        before: "(def [dual f] (Tuple Float Float) (x : Tuple Float Float)
                   (let ((v (get$1$2 x)) (dv (get$2$2 x)) (y (sin v)) (dy (mul (cos v) dv))) (tuple y dy)))",
        after:  "(def [jvp f] (Tuple Float Float) ((x : Float) (dx : Float))
                   (let ((y (sin x)) (dy (cos x)) (dy_1 (mul dy dx))) (tuple y dy_1)))" },
    PassLaw { name: "let-branch", source: "derived", pass: "arrays", run: with_arrays_fused,
        text:   "let x = e in if c then b else ts_zero(w) = if c then let x = e in b else ts_zero(w)",
        before: "(def f Float ((c : Bool) (x : Float)) (let (y (exp x)) (if c (mul y y) (ts_zero x))))",
        after:  "(def f Float ((c : Bool) (x : Float)) (if c (let (y (exp x)) (mul y y)) (ts_zero x)))" },
    PassLaw { name: "let-components", source: "derived", pass: "arrays", run: with_arrays_fused,
        text:   "let x = (e, ..) in b = let y = e in .. b[x := (y, ..)]",
        before: "(def f Float (x : Float) (let (t (tuple (exp x) (sin x))) (mul (get$1$2 t) (mul (get$1$2 t) (get$2$2 t)))))",
        after:  "(def f Float (x : Float) (let (y (exp x)) (mul y (mul y (sin x)))))" },
    PassLaw { name: "step-components", source: "derived", pass: "arrays", run: with_arrays_fused,
        text:   "λp. e[p.1, p.2] = λp. let (i, s) = p in e[i, s]   for the step of a loop",
        before: "(def f Float (v : Vec Float) (fold (lam (p : Tuple Float Float) (mul (get$1$2 p) (exp (get$2$2 p)))) 1.0 v))",
        after:  "(def f Float (v : Vec Float)
                   (fold (lam (p : Tuple Float Float) (let ((s x) p) (mul s (exp x)))) 1.0 v))" },
    PassLaw { name: "let-early", source: "Fig. 8a7 (ICFP)", pass: "arrays", run: with_arrays_fused,
        text:   "build(n, λj. let t = e in b) = let t = e in build(n, λj. b)   when j is not in e, and e has a value",
        before: "(def f (Vec Float) (v : Vec Float)
                   (build (size v) (lam (j : Integer)
                     (let (t (build 2 (lam (i : Integer) (exp (to_float i)))))
                       (mul (add (index 0 t) (index 1 t)) (index j v))))))",
        after:  "(def f (Vec Float) (v : Vec Float)
                   (let (t (build 2 (lam (i : Integer) (exp (to_float i)))))
                     (build (size v) (lam (j : Integer) (mul (add (index 0 t) (index 1 t)) (index j v))))))" },
    PassLaw { name: "let-early-array", source: "Fig. 8a7 (ICFP)", pass: "arrays", run: with_arrays_fused,
        text:   "build(n, λj. let t = build(m, f) in b) = let t = build(if 0 < n then m else 0, f) in build(n, λj. b)   when j is not in m and f",
        before: "(def f (Vec Float) (v : Vec Float)
                   (build (size v) (lam (j : Integer)
                     (let (t (build 2 (lam (i : Integer) (exp (index i v)))))
                       (mul (add (index 0 t) (index 1 t)) (index j v))))))",
        after:  "(def f (Vec Float) (v : Vec Float)
                   (let (t (build (if (lt 0 (size v)) 2 0) (lam (i : Integer) (exp (index i v)))))
                     (build (size v) (lam (j : Integer) (mul (add (index 0 t) (index 1 t)) (index j v))))))" },
    PassLaw { name: "let-early-axis", source: "derived", pass: "arrays", run: with_arrays_fused,
        text:   "build((n, m), λj. e[s[j.1]]) = let t = build(n, λk. s[k]) in build((n, m), λj. e[t[j.1]])   when s is a loop that has a value",
        before: "(def f (Tensor 2 Float) (v : Vec Float)
                   (build (tuple (size v) 2) (lam (j : Tuple Integer Integer)
                     (mul (to_float (get$2$2 j)) (sumbuild 3 (lam (i : Integer) (mul (to_float i) (index (get$1$2 j) v))))))))",
        after:  "(def f (Tensor 2 Float) (v : Vec Float)
                   (let (t (build (size v) (lam (k : Integer)
                             (sumbuild 3 (lam (i : Integer) (mul (to_float i) (index k v)))))))
                     (build (tuple (size v) 2) (lam (j : Tuple Integer Integer)
                       (mul (to_float (get$2$2 j)) (index (get$1$2 j) t))))))" },
];
