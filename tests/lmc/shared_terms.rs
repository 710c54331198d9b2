//! Definitions may share terms: what is the only use of a value in one of them may be one of several in another.

use common::agreement::{all_ways, ways_agree_at, with_unoptimised_jacobians};
use lm::term::FunName;
use lm::value::Value;
use lmc::derive::call_order;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use lmc::ks::front;
use lmc::ks::source::Source;

/// The Jacobian of `g` has the sum in it, and uses its first term more often than `g` does.
const PROGRAM: &str = "
(def f (Tuple (Vec Float)) ((k : Integer) (v : Vec Float))
  (if (lte k 0) (tuple (Vec_init 1.25 0.5 1.0)) (g (sub k 1) v)))
(def g (Tuple (Vec Float)) ((k : Integer) (v : Vec Float))
  (if (lte k 0)
      (tuple (Vec_init 0.5 1.25 -0.75))
      (let (s (get$1$1 (f (sub k 1) v)))
        (tuple (ts_add s (map (lam (x : Float) (assert (gte (size v) 0) x))
                              (scanl (lam (t : Tuple Float Bool) (let (u v) -0.75)) 1.25 (Vec_init true true))))))))
";

#[test]
fn a_value_is_taken_only_where_it_is_used_once() {
    let source = Source::new("shared.ks", PROGRAM);
    let mut pipeline = Pipeline::new(front::load(&source).expect("it reads"));
    let [f, g] = ["f", "g"].map(FunName::base);
    let mut called = [all_ways(&f), all_ways(&g)].concat();
    let stages = [&f, &g].map(|name| pipeline.stages(name, false).expect("it is derived"));
    stages.iter().flatten().for_each(|stage| call_order::calls(&stage.def.body, &mut called));
    called.iter().for_each(|name| pipeline.require(name).expect("it is derived"));
    let unoptimised = with_unoptimised_jacobians(&pipeline, &stages);
    let v = Value::vector(vec![Value::Float(1.0); 2]);
    for (k, name) in (0..5).flat_map(|k| [(k, &f), (k, &g)]) {
        let point = [Value::Integer(k), v.clone()];
        let agree = ways_agree_at(pipeline.program(), &unoptimised, name, &point, &mut Random::new(2));
        agree.unwrap_or_else(|why| panic!("{name} at {k}: {why}"));
    }
}
