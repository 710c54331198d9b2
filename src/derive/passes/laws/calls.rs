//! Laws of calls at one point: of a function, of its derivatives, and of their halves.

use super::law::PassLaw;
use super::run::{halved_once, in_halves, merged, paired};

#[rustfmt::skip]
pub(super) static LAWS: &[PassLaw] = &[
    PassLaw { name: "call-jvp", source: "sec. 5.2", pass: "merge_calls", run: merged,
        text:   "let y = f(s) in .. let dy = fwd$f(s, ds) in b = let (y, dy) = jvp$f(s, ds) in .. b",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dx : Float)) (let ((y (g x)) (dy ([fwd g] x dx))) (mul y dy)))",
        after:  "(def f Float ((x : Float) (dx : Float)) (let ((y dy) ([jvp g] x dx)) (mul y dy)))" },
    PassLaw { name: "call-value", source: "sec. 5.2", pass: "merge_calls", run: merged,
        text:   "let (y, dy) = jvp$f(s, ds) in .. f(s) .. = let (y, dy) = jvp$f(s, ds) in .. y ..   likewise vjp$f, suffwdpass$f",
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
    PassLaw { name: "call-both", source: "sec. 5.2", pass: "merge_calls", run: merged,
        text:   "let y = f(s) in .. let t = jvp$f(s, ds) in b = let (y, dy) = jvp$f(s, ds) in .. let t = (y, dy) in b   likewise vjp$f, suffwdpass$f",
        before: "(def g Float (x : Float) (sin x))
                 (def f Float ((x : Float) (dx : Float)) (let ((y (g x)) (t ([jvp g] x dx))) (mul y (get$2$2 t))))",
        after:  "(def f Float ((x : Float) (dx : Float))
                   (let (((y dy) ([jvp g] x dx)) (t (tuple y dy))) (mul y (get$2$2 t))))" },
    PassLaw { name: "call-alone", source: "derived", pass: "pair_recursive_calls", run: paired,
        text:   "let y = f(s) in .. let t = vjp$f(s, dr) in b = let y = f(s) in .. let ds = rev$f(s, dr) in let t = (y, ds) in b   when y is in dr",
        before: "(def g Float (x : Float) (if (gt x 1.0) x (g (add x 1.0))))
                 (def f Float ((x : Float) (dr : Float))
                   (let ((y (g x)) (k (mul y dr)) (t ([vjp g] x k))) (mul y (get$2$2 t))))",
        after:  "(def f Float ((x : Float) (dr : Float))
                   (let ((y (g x)) (k (mul y dr)) (d ([rev g] x k)) (t (tuple y d))) (mul y (get$2$2 t))))" },
    PassLaw { name: "call-split", source: "sec. 6.1", pass: "merge_calls", run: in_halves,
        text:   "let y = f(s) in .. let ds = rev$f(s, dr) in b = let (y, r) = suffwdpass$f(s) in .. let ds = sufrevpass$f(dr, r) in b",
        before: "(def g Float (x : Float) (sin (mul x x)))
                 (def f Float ((x : Float) (dr : Float))
                   (let ((y (g x)) (k (mul y dr)) (ds ([rev g] x k))) (mul y ds)))",
        after:  "(def f Float ((x : Float) (dr : Float))
                   (let (((y r) ([suffwdpass g] x)) (k (mul y dr)) (ds ([sufrevpass g] k r))) (mul y ds)))" },
    PassLaw { name: "call-second-half", source: "sec. 6.1", pass: "merge_calls", run: in_halves,
        text:   "let (y, r) = suffwdpass$f(s) in .. rev$f(s, dr) .. = let (y, r) = suffwdpass$f(s) in .. sufrevpass$f(dr, r) ..",
        before: "(def g Float (x : Float) (sin (mul x x)))
                 (def f Float ((x : Float) (dr : Float))
                   (let (((y r) ([suffwdpass g] x)) (ds ([rev g] x dr))) (mul y ds)))",
        after:  "(def f Float ((x : Float) (dr : Float))
                   (let (((y r) ([suffwdpass g] x)) (ds ([sufrevpass g] dr r))) (mul y ds)))" },
    PassLaw { name: "call-halves", source: "sec. 6.1", pass: "merge_calls", run: halved_once,
        text:   "rev$f(s, dr) = let (y, r) = suffwdpass$f(s) in sufrevpass$f(dr, r)   likewise vjp$f, which gives y, too",
        before: "(def g Float (x : Float) (sin (mul x x)))
                 (def f Float ((x : Float) (dr : Float)) (let ((ds ([rev g] x dr)) (y (g x))) (mul y ds)))",
        after:  "(def f Float ((x : Float) (dr : Float))
                   (let (((z r) ([suffwdpass g] x)) (ds ([sufrevpass g] dr r)) (y (g x))) (mul y ds)))" },
];
