//! The demos that come with `lmc`: programs of `demos/`, one row each.

/// A demo.
#[derive(Debug)]
pub struct Demo {
    /// The name for `lmc demo`.
    pub name: &'static str,
    /// The function that is derived.
    pub fun: &'static str,
    /// The subject of the demo.
    pub shows: &'static str,
    /// The program's text.
    pub text: &'static str,
}

macro_rules! demos {
    ($(#[$doc:meta])* $table:ident: $($name:literal $fun:literal $shows:literal;)*) => {
        $(#[$doc])*
        pub static $table: &[Demo] = &[$(Demo {
            name: $name,
            fun: $fun,
            shows: $shows,
            text: include_str!(concat!("../demos/", $name, ".ks")),
        }),*];
    };
}

demos! {
    /// The table.
    DEMOS:
    "ex1" "f1" "one product, two inputs";
    "ex2" "f2" "the example of the working notes, sec. 9";
    "ex3" "f3" "a conditional: only the branch taken is differentiated";
    "ex4" "f4" "a tuple result: polar to Cartesian coordinates";
    "ex5" "f5" "calls: value and derivative of a callee share their work";
    "ex6" "f6" "a long chain of doublings: linear in size, where copying maps would cost 2^60";
    "ex7" "f7" "kinks: abs, max and min";
    "ex8" "f8" "a diamond of lets under a conditional";
    "ex9" "f9" "special functions: lgamma, erf, atan2, pow";
    "ex10" "f10" "a chain of 60 calls, each sent through both halves of its reverse derivative once";
    "ex11" "f11" "a derivative written by hand, [rev f], takes precedence";
    "lse" "lse" "log-sum-exp";
    "gmm" "gmm" "the log posterior of a Gaussian mixture model";
    "ba" "ba" "bundle adjustment: cameras and points from what the cameras see";
    "lstm" "lstm" "the loss of a recurrent network: long short-term memory";
    "kmeans" "kmeans" "the cost of k-means clustering";
    "cnn" "cnn" "the loss of a convolutional network";
    "black_scholes" "black_scholes" "prices of call options";
    "ode" "ode" "a differential equation, integrated by a Runge-Kutta method";
    "det" "det" "a determinant by Gaussian elimination with partial pivoting";
    "minors" "minors" "a determinant by expansion along the first row, which is recursive";
    "paper004" "fig4" "examples of the report on dual numbers with Delta terms; `--derivation delta` traces them";
}
