//! Tests the notation of terms.

use super::*;
use common::category::same;
use lm::rewrites::Rewrites;
use lm::timing::Timings;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::figures::fig09_11_category::write;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = alone!(
        "category": terms_read_as_in_the_notes, unpruned_terms_have_the_whole_environment,
        expressions_read_as_terms, mistakes_in_expressions_are_found
    );
    tests.extend(each::demo("category::stages_read_back", stages_read_back));
    tests
}

/// The stages of a demo in CL, behind the demo's program.
fn stages_read_back(demo: &Demo) -> Outcome {
    let source = Source::new(demo.name, demo.text);
    let checked = front::load_for(&source, Derivation::Split, &Timings::default()).map_err(|e| format!("{e:?}"))?;
    let mut pipeline = Pipeline::new(checked);
    let stages = pipeline.stages(&FunName::base(demo.fun), false).map_err(|error| error.to_string())?;
    let stages: Vec<Def> = stages.into_iter().filter_map(|stage| stage.category).collect();
    assert!(stages.len() >= 2, "{stages:?}");
    let program = lm::notation::ks::program(pipeline.program(), 100);
    for stage in stages {
        let text = format!("{program}\n{}", write::definition(&stage, 100));
        let read = front::load_stage_with_categories(&Source::new("stage.ks", &text));
        let (_, read) = read.map_err(|errors| format!("{errors:?}\n{text}"))?;
        assert!(read.len() == 1 && same(&read[0], &stage), "{read:?} for {stage:?}");
    }
    Ok(())
}

const EXPRESSION: &str = "\
(cl g Float ((c : Bool) (v : (Vec Float)) (p : (Tuple Float Float)))
  (L (a b) (P (3) 3)
  (seq (P (1 2 4 5) 5)
    (if
      (P (1) 4)
      (seq (P (2 3) 4)
        (B fold
          (lam (s : (Tuple Float Float))
            (seq (P (2 3) 3)
            (L (acc x) (P (2) 2)
            (seq (P (1 3 4) 4)
            (L t (seq (P (2 3) 3) (F mul))
            (seq (P (4 1) 4) (F add)))))))
          (seq (P () 2) (K 1.0))
          (P (1) 2)))
      (seq (P (2 4) 4)
      (L t_1 (seq (P (1) 2) (F size))
      (L t_2
        (B build
          (P (3) 3)
          (lam (i : Integer)
            (seq (P (1 2 4) 4)
            (L t_3 (seq (P (3 1) 3) (F index))
            (seq (P (2 4) 4)
            (L t_4 (seq (P (1) 2) (F f2))
            (seq (P (2 3) 3) (F mul))))))))
      (seq (P (4) 4) (F sum)))))))))
";

fn expressions_read_as_terms() {
    let g = pruned(PRINTED).into_iter().find(|def| *def.fun.name.base == *"g").expect("it is there");
    assert_eq!(write::definition(&g, 70), EXPRESSION);
}

fn mistakes_in_expressions_are_found() {
    let wrong = [
        ("(cl f Float (x : Float))", "malformed definition"),
        ("(cl f Float (x : Flaot) I)", "malformed type"),
        ("(cl f Float (x : Float) (Q 1))", "malformed term of CL"),
        ("(cl f Float (x : Float) (F nowhere))", "unknown function `nowhere`"),
        ("(cl f Float (x : Float) (F (mul)))", "malformed operator"),
        ("(cl f Float (x : Float) (L (a b) I (P (1) 3)))", "malformed pattern"),
        ("(cl f Float (x : Float) (F not))", "F(not) is ill-typed"),
        ("(cl f Float (x : Float) (seq (P (2) 1) (F sin)))", "P[2/1] is ill-typed"),
        ("(cl f Integer (x : Float) I)", "it gives Float"),
    ];
    for (text, why) in wrong {
        let errors = front::load_stage(&Source::new("stage.ks", text)).expect_err("it is wrong");
        assert!(errors[0].message.contains(why) && errors[0].span.is_some(), "{text}: {errors:?}");
    }
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
fn pruned(text: &str) -> Vec<Def> {
    with_large_stack(|| {
        let program = pipeline_of("printed.ks", text).into_program();
        let mut supply = program.supply.clone();
        let mut normal = |def| anf::anf(def, &mut supply, &mut Rewrites::all());
        program.defs.values().map(|def| cl::prune(&cl::convert(&normal(def)))).collect()
    })
}

fn printed(text: &str, format: Format, width: usize) -> String {
    pruned(text).iter().map(|def| print::definition(def, format, width) + "\n").collect()
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
