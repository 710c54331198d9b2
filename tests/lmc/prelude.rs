//! The values of the prelude's functions, against a computation with 60 digits.

use lm::interp::Interpreter;
use lm::term::{FunName, Program};
use lm::value::Value;
use lmc::ks::front::prelude;

/// x and digamma(x); none of these x is near a zero of digamma.
const DIGAMMA: &[(f64, f64)] = &[
    (1e-08, -100000000.57721564),
    (0.001, -1000.5755719318103),
    (0.1, -10.423754940411076),
    (0.5, -1.9635100260214235),
    (1.0, -0.5772156649015329),
    (1.25, -0.22745353337626542),
    (1.75, 0.24747245354686118),
    (2.0, 0.42278433509846713),
    (3.3, 1.0348224890596216),
    (5.5, 1.6110931485817512),
    (9.99, 2.250700372831201),
    (10.0, 2.251752589066721),
    (10.01, 2.2528037003181356),
    (19.5, 2.944554343425595),
    (20.0, 2.970523992242149),
    (25.5, 3.2189424728839198),
    (100.0, 4.600161852738087),
    (12345.678, 9.421020820741761),
    (10000000000.0, 23.025850929890456),
    (1e+300, 690.7755278982137),
    (-1e-08, 99999999.42278431),
    (-0.1, 9.245073050052948),
    (-0.25, 2.9141391202135276),
    (-0.75, -2.894120200042932),
    (-1.25, 3.714139120213528),
    (-2.7, -1.1153471291406896),
    (-9.3, 4.56531611494131),
    (-10.4, 3.409878305635927),
    (-100.25, 7.754238959208646),
    (-1000.7, 4.626453932621574),
    (-0.9999, -9999.576951174615),
    (-123456.25, 14.865238824878356),
];

fn digamma(program: &Program, x: f64) -> f64 {
    let value = Interpreter::new(program).call(&FunName::base("digamma"), &[Value::Float(x)]);
    value.expect("no error").as_float().expect("a Float")
}

#[test]
fn digamma_is_accurate() {
    lmc::with_large_stack(|| {
        let program = Program { defs: prelude(), ..Program::default() };
        for &(x, expected) in DIGAMMA {
            let found = digamma(&program, x);
            let error = ((found - expected) / expected).abs();
            assert!(error < 1e-14, "digamma({x}) = {found}, not {expected}: relative error {error:e}");
        }
        for pole in [0.0, -0.0, -1.0, -17.0, -1e20, f64::NEG_INFINITY, f64::NAN] {
            assert!(digamma(&program, pole).is_nan(), "{pole}");
        }
        assert_eq!(digamma(&program, f64::INFINITY), f64::INFINITY);
    });
}
