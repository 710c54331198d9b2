//! Laws of Fig. 6, which the trace of the full Jacobian names. Each instance has the whole Jacobian of its function.

use super::law::PassLaw;
use super::run::derived;

#[rustfmt::skip]
pub(super) static LAWS: &[PassLaw] = &[
    PassLaw { name: "nabla-function", source: "Fig. 6", pass: "jacobian", run: derived,
        text:   "∂f(x) = let ∂x = 1 in ∇[e]   when f(x) = e",
        before: "(def f Float (x : Float) x)",
        after:  "(def [D f] (LM Float Float) (x : Float)
                  (let (Dx (lmOne ($dummy Float)))
                    Dx))" },
    PassLaw { name: "nabla-variable", source: "Fig. 6", pass: "jacobian", run: derived,
        text:   "∇[x] = ∂x",
        before: "(def f Float ((x : Float) (y : Float)) (let (z y) z))",
        after:  "(def [D f] (LM (Tuple Float Float) Float) ((x : Float) (y : Float))
                  (let ((Dx (lmGet$1$2 ($dummy (Tuple Float Float))))
                        (Dy (lmGet$2$2 ($dummy (Tuple Float Float))))
                        (z y)
                        (Dz Dy))
                    Dz))" },
    PassLaw { name: "nabla-constant", source: "Fig. 6", pass: "jacobian", run: derived,
        text:   "∇[k] = 0   likewise for all that cannot vary",
        before: "(def f Float (x : Float) (let ((n 2) (k 3.0)) k))",
        after:  "(def [D f] (LM Float Float) (x : Float)
                  (let ((Dx (lmOne ($dummy Float)))
                        (n 2)
                        (k 3.0))
                    (lmZero ($dummy Float) ($dummy Float))))" },
    PassLaw { name: "nabla-tuple", source: "Fig. 6", pass: "jacobian", run: derived,
        text:   "∇[(e1, .., en)] = ∇[e1] × .. × ∇[en]",
        before: "(def f (Tuple Float Float) (x : Float) (let (t (tuple x x)) t))",
        after:  "(def [D f] (LM Float (Tuple Float Float)) (x : Float)
                  (let ((Dx (lmOne ($dummy Float)))
                        (t (tuple x x))
                        (Dt (lmVCat Dx Dx)))
                    Dt))" },
    PassLaw { name: "nabla-get", source: "Fig. 6", pass: "jacobian", run: derived,
        text:   "∇[e.i] = π(i,n) ∘ ∇[e]",
        before: "(def f Float (t : Tuple Float Float) (let (x (get$2$2 t)) x))",
        after:  "(def [D f] (LM (Tuple Float Float) Float) (t : (Tuple Float Float))
                  (let ((Dt (lmOne ($dummy (Tuple Float Float))))
                        (x (get$2$2 t))
                        (Dx (lmCompose (lmGet$2$2 ($dummy (Tuple Float Float))) Dt)))
                    Dx))" },
    PassLaw { name: "nabla-call", source: "Fig. 6", pass: "jacobian", run: derived,
        text:   "∇[f(e)] = ∂f(e) ∘ ∇[e]",
        before: "(def f Float ((x : Float) (y : Float)) (let (z (mul x y)) z))",
        after:  "(def [D f] (LM (Tuple Float Float) Float) ((x : Float) (y : Float))
                  (let ((Dx (lmGet$1$2 ($dummy (Tuple Float Float))))
                        (Dy (lmGet$2$2 ($dummy (Tuple Float Float))))
                        (z (mul x y))
                        (Dz (lmCompose ([D mul] x y) (lmVCat Dx Dy))))
                    Dz))" },
    PassLaw { name: "nabla-if", source: "Fig. 6", pass: "jacobian", run: derived,
        text:   "∇[if b then e1 else e2] = if b then ∇[e1] else ∇[e2]",
        before: "(def f Float ((c : Bool) (x : Float)) (let (y (if c x 1.0)) y))",
        after:  "(def [D f] (LM (Tuple Bool Float) Float) ((c : Bool) (x : Float))
                  (let ((Dx (lmGet$2$2 ($dummy (Tuple Bool Float))))
                        (y (if c x 1.0))
                        (Dy (if c Dx (lmZero ($dummy (Tuple Bool Float)) ($dummy Float)))))
                    Dy))" },
    PassLaw { name: "nabla-assert", source: "derived", pass: "jacobian", run: derived,
        text:   "∇[assert(b, e)] = ∇[e]",
        before: "(def f Float ((c : Bool) (x : Float)) (let (y (assert c x)) y))",
        after:  "(def [D f] (LM (Tuple Bool Float) Float) ((c : Bool) (x : Float))
                  (let ((Dx (lmGet$2$2 ($dummy (Tuple Bool Float))))
                        (y (assert c x))
                        (Dy Dx))
                    Dy))" },
    PassLaw { name: "nabla-build", source: "Fig. 2", pass: "jacobian", run: derived,
        text:   "∇[build(n, λi. e)] = V(build(n, λi. ∇[e]))",
        before: "(def f (Vec Float) ((n : Integer) (x : Float)) (let (v (build n (lam (i : Integer) x))) v))",
        after:  "(def [D f] (LM (Tuple Integer Float) (Vec Float)) ((n : Integer) (x : Float))
                  (let ((Dx (lmGet$2$2 ($dummy (Tuple Integer Float))))
                        (v (build n (lam (i : Integer) x)))
                        (Dv (lmVCatV v (build n (lam (i_1 : Integer) Dx)))))
                    Dv))" },
    PassLaw { name: "nabla-sumbuild", source: "Fig. 2", pass: "jacobian", run: derived,
        text:   "∇[sumbuild(n, λi. e)] = ⊕(build(n, λi. ∇[e]))",
        before: "(def f Float ((n : Integer) (x : Float)) (let (y (sumbuild n (lam (i : Integer) x))) y))",
        after:  "(def [D f] (LM (Tuple Integer Float) Float) ((n : Integer) (x : Float))
                  (let ((Dx (lmGet$2$2 ($dummy (Tuple Integer Float))))
                        (y (sumbuild n (lam (i : Integer) x)))
                        (Dy (lmAddV ($dummy Float) (build n (lam (i_1 : Integer) Dx)))))
                    Dy))" },
    PassLaw { name: "nabla-vector", source: "Fig. 2", pass: "jacobian", run: derived,
        text:   "∇[Vec_init(e1, .., en)] = V([∇[e1], .., ∇[en]])",
        before: "(def f (Vec Float) (x : Float) (let (v (Vec_init x x)) v))",
        after:  "(def [D f] (LM Float (Vec Float)) (x : Float)
                  (let ((Dx (lmOne ($dummy Float)))
                        (v (Vec_init x x))
                        (Dv (lmVCatV v (Vec_init Dx Dx))))
                    Dv))" },
    PassLaw { name: "nabla-unzip", source: "derived", pass: "jacobian", run: derived,
        text:   "∇[unzip(v)] = V(build(n, λi. π1 ∘ π(i) ∘ ∇[v])) × ..   when v has n elements",
        before: "(def f (Tuple (Vec Float) (Vec Float)) (v : Vec (Tuple Float Float)) (let (t (unzip v)) t))",
        after:  "(def [D f] (LM (Vec (Tuple Float Float)) (Tuple (Vec Float) (Vec Float))) (v : (Vec (Tuple Float Float)))
                  (let ((Dv (lmOne v))
                        (t (unzip v))
                        (Dt
                          (lmVCat
                            (lmVCatV
                              (get$1$2 t)
                              (build
                                (size v)
                                (lam (i : Integer)
                                  (lmCompose
                                    (lmGet$1$2 ($dummy (Tuple Float Float)))
                                    (lmCompose (lmIndex i v) Dv)))))
                            (lmVCatV
                              (get$2$2 t)
                              (build
                                (size v)
                                (lam (i_1 : Integer)
                                  (lmCompose
                                    (lmGet$2$2 ($dummy (Tuple Float Float)))
                                    (lmCompose (lmIndex i_1 v) Dv))))))))
                    Dt))" },
    PassLaw { name: "nabla-index", source: "Fig. 2", pass: "jacobian", run: derived,
        text:   "∇[v[i]] = π(i) ∘ ∇[v]",
        before: "(def f Float ((v : Vec Float) (x : Float)) (let (y (index 1 v)) y))",
        after:  "(def [D f] (LM (Tuple (Vec Float) Float) Float) ((v : (Vec Float)) (x : Float))
                  (let ((Dv (lmGet$1$2 (tuple v x)))
                        (Dx (lmGet$2$2 (tuple v x)))
                        (y (index 1 v))
                        (Dy (lmCompose (lmIndex 1 v) Dv)))
                    Dy))" },
    PassLaw { name: "nabla-sum", source: "Fig. 2", pass: "jacobian", run: derived,
        text:   "∇[sum(v)] = lmSum(v) ∘ ∇[v]",
        before: "(def f Float ((v : Vec Float) (x : Float)) (let (y (sum v)) y))",
        after:  "(def [D f] (LM (Tuple (Vec Float) Float) Float) ((v : (Vec Float)) (x : Float))
                  (let ((Dv (lmGet$1$2 (tuple v x)))
                        (Dx (lmGet$2$2 (tuple v x)))
                        (y (sum v))
                        (Dy (lmCompose (lmSum v) Dv)))
                    Dy))" },
    PassLaw { name: "nabla-delta", source: "derived", pass: "jacobian", run: derived,
        text:   "∇[$delta_at(w, i, x)] = π(i)ᵀ ∘ ∇[x]",
        before: "(def f (Vec Float) ((v : Vec Float) (x : Float)) (let (y ($delta_at v 1 x)) y))",
        after:  "(def [D f] (LM (Tuple (Vec Float) Float) (Vec Float)) ((v : (Vec Float)) (x : Float))
                  (let ((Dv (lmGet$1$2 (tuple v x)))
                        (Dx (lmGet$2$2 (tuple v x)))
                        (y ($delta_at v 1 x))
                        (Dy (lmCompose (lmTranspose (lmIndex 1 y)) Dx)))
                    Dy))" },
    PassLaw { name: "nabla-into", source: "derived", pass: "jacobian", run: derived,
        text:   "∇[$into(s, e)] = ∇[e]",
        before: "(def f (Vec Float) ((v : Vec Float) (x : Float)) (let (y ($into v v)) y))",
        after:  "(def [D f] (LM (Tuple (Vec Float) Float) (Vec Float)) ((v : (Vec Float)) (x : Float))
                  (let ((Dv (lmGet$1$2 (tuple v x)))
                        (Dx (lmGet$2$2 (tuple v x)))
                        (y ($into v v))
                        (Dy Dv))
                    Dy))" },
    PassLaw { name: "nabla-add-at", source: "derived", pass: "jacobian", run: derived,
        text:   "∇[$add_at(v, pairs)] = ∇[v] ⊕ the sum of π(i)ᵀ ∘ ∇[x] for all pairs (i, x)",
        before: "(def f (Vec Float) ((v : Vec Float) (x : Float)) (let ((p (build 2 (lam (i : Integer) (tuple i x)))) (y ($add_at v p))) y))",
        after:  "(def [D f] (LM (Tuple (Vec Float) Float) (Vec Float)) ((v : (Vec Float)) (x : Float))
                  (let ((Dv (lmGet$1$2 (tuple v x)))
                        (Dx (lmGet$2$2 (tuple v x)))
                        (p (build 2 (lam (i : Integer) (tuple i x))))
                        (Dp
                          (lmVCatV
                            p
                            (build 2 (lam (i_1 : Integer) (lmVCat (lmZero (tuple v x) ($dummy Integer)) Dx)))))
                        (y ($add_at v p))
                        (Dy
                          (lmAdd
                            Dv
                            (lmAddV
                              y
                              (build
                                (size p)
                                (lam (k : Integer)
                                  (let (p_1 (index k p))
                                    (lmCompose
                                      (lmTranspose (lmIndex (get$1$2 p_1) y))
                                      (lmCompose
                                        (lmGet$2$2 ($dummy (Tuple Integer Float)))
                                        (lmCompose (lmIndex k p) Dp))))))))))
                    Dy))" },
    PassLaw { name: "nabla-fold", source: "Figs. 12-15", pass: "jacobian", run: derived,
        text:   "∇[fold(λ(s, x). e, a, v)] = π1 ∘ lmFold(n, λi. ∇[e]) ∘ (∇[a] × ∇[v])   likewise scans and loops",
        before: "(def f Float ((a : Float) (v : Vec Float)) (let (y (fold (lam (p : Tuple Float Float) (let ((s x) p) (mul s x))) a v)) y))",
        after:  "(def [D f] (LM (Tuple Float (Vec Float)) Float) ((a : Float) (v : (Vec Float)))
                  (let ((Da (lmGet$1$2 (tuple a v)))
                        (Dv (lmGet$2$2 (tuple a v)))
                        (n (size v))
                        (states
                          (scanl
                            (lam (p : (Tuple Float Float))
                              (let ((s x) p)
                                (mul s x)))
                            a
                            v))
                        (y (index n states))
                        (Dy
                          (lmCompose
                            (lmGet$1$2 ($dummy (Tuple Float (Tuple))))
                            (lmCompose
                              (lmFold
                                n
                                (tuple a v)
                                ($dummy (Tuple Float (Tuple)))
                                (lam (i : Integer)
                                  (let ((s_1 (index i states))
                                        (Ds (lmGet$1$2 (tuple s_1 v)))
                                        (Dv_1 (lmGet$2$2 (tuple s_1 v)))
                                        (x_1 (index i v))
                                        (Dx (lmCompose (lmIndex i v) Dv_1))
                                        (p_1 (tuple s_1 x_1))
                                        (Dp (lmVCat Ds Dx))
                                        ((s_2 x_2) p_1)
                                        (Dt Dp)
                                        (Ds_1 (lmCompose (lmGet$1$2 ($dummy (Tuple Float Float))) Dt))
                                        (Dx_1 (lmCompose (lmGet$2$2 ($dummy (Tuple Float Float))) Dt)))
                                    (lmVCat
                                      (lmCompose ([D mul] s_2 x_2) (lmVCat Ds_1 Dx_1))
                                      (lmZero (tuple s_1 v) ($dummy (Tuple)))))))
                              (lmVCat Da Dv)))))
                    Dy))" },
];
