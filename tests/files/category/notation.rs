//! Tests the notation of terms.

use super::*;
use lm::rewrites::Rewrites;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!("category": terms_read_as_in_the_notes, unpruned_terms_have_the_whole_environment)
}

const PRINTED: &str = "
(def f2 Float (x : Float) (let ((y (mul x x)) (z (add x y))) (mul y z)))
(def g Float ((c : Bool) (v : Vec Float) (p : Tuple Float Float))
  (let ((a b) p)
    (if c
      (fold (lam (s : Tuple Float Float) (let ((acc x) s) (add (mul acc x) a))) 1.0 v)
      (sum (build (size v) (lam (i : Integer) (mul (index i v) (f2 b))))))))
(def swapped (Tuple Float Float) ((x : Float) (y : Float)) (tuple y x))
(def seven Integer () 7)";

const PLAIN: &str = "\
f2 : Float => Float
  = L(y, (I, I) ; F(mul),
    L(z, F(add),
    P[2,3/3] ; F(mul)))
g : (Bool, (Vec Float), (Tuple Float Float)) => Float
  = L((a, b), P[3/3],
    P[1,2,4,5/5] ;
    IF(P[1/4],
       P[2,3/4] ;
       B[fold](s,
               P[2,3/3] ;
               L((acc, x), P[2/2],
               P[1,3,4/4] ;
               L(t, P[2,3/3] ; F(mul),
               P[4,1/4] ; F(add))),
               P[/2] ; K(1.0),
               P[1/2]),
       P[2,4/4] ;
       L(t_1, P[1/2] ; F(size),
       L(t_2,
         B(P[3/3],
           i,
           P[1,2,4/4] ;
           L(t_3, P[3,1/3] ; F(index),
           P[2,4/4] ;
           L(t_4, P[1/2] ; F(f2),
           P[2,3/3] ; F(mul)))),
       P[4/4] ; F(sum)))))
swapped : (Float, Float) => (Tuple Float Float)
  = P[2,1/2]
seven : () => Integer
  = K(7)
";

/// The functions of a text, pruned.
fn printed(text: &str, format: Format, width: usize) -> String {
    with_large_stack(|| {
        let program = pipeline_of("printed.ks", text).into_program();
        let mut supply = program.supply.clone();
        let pruned =
            program.defs.values().map(|def| cl::prune(&cl::convert(&anf::anf(def, &mut supply, &mut Rewrites::all()))));
        pruned.map(|def| print::definition(&def, format, width) + "\n").collect()
    })
}

fn terms_read_as_in_the_notes() {
    assert_eq!(printed(PRINTED, Format::Plain, 40), PLAIN);
    let signs = printed(PRINTED, Format::Signs, 100);
    let f2 = "f2 : Float ⇒ Float\n  = 𝓛(y, (𝓘, 𝓘) ; 𝓕(*),\n    𝓛(z, 𝓕(+),\n    𝓟[2,3/3] ; 𝓕(*)))\n";
    assert!(signs.starts_with(f2), "{signs}");
    assert!(printed(PRINTED, Format::Plain, 100).lines().all(|line| line.chars().count() <= 100));
}

fn unpruned_terms_have_the_whole_environment() {
    let shown = with_large_stack(|| {
        let mut pipeline = pipeline_of("printed.ks", PRINTED);
        print::definition(&pipeline.in_category(&FunName::base("f2")).expect("it is converted"), Format::Plain, 100)
    });
    let expected = "f2 : Float => Float\n  = L(y, (I, I) ; F(mul),\n    L(z, (P[1/2], P[2/2]) ; F(add),\n    \
        (P[2/3], P[3/3]) ; F(mul)))";
    assert_eq!(shown, expected);
}
