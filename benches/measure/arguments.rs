//! Arguments of the demos that benches measure them with.

/// An expression for all arguments of a demo, a tuple where there are several.
pub struct Arguments {
    /// The demo.
    pub demo: &'static str,
    /// The name of their size.
    pub size: &'static str,
    /// The expression.
    pub text: &'static str,
}

pub const LSE: Arguments = Arguments {
    demo: "lse",
    size: "100,000 numbers",
    text: "(build 100000 (lam (i : Integer) (mul 4.0 ($ranhashdoub i))))",
};
pub const GMM: Arguments =
    Arguments { demo: "gmm", size: "1,000 points, dimension 10, 25 Gaussians", text: "(model 1000 25 10)" };
pub const BA: Arguments = Arguments {
    demo: "ba",
    size: "20 cameras, 1,000 points, 5,000 observations",
    text: "(tuple
           (build 20 (lam (i : Integer) (Vec_init 0.3 -0.2 ($ranhashdoub i) 0.1 -0.4 0.2 1.5 0.05 -0.02 0.1 -0.03)))
           (build 1000 (lam (i : Integer)
             (Vec_init ($ranhashdoub i) ($ranhashdoub (add i 2000)) (add 3.0 ($ranhashdoub (add i 4000))))))
           (build 5000 (lam (i : Integer) ($ranhashdoub i)))
           (build 5000 (lam (i : Integer)
             (tuple (to_integer (mul 20.0 ($ranhashdoub i))) (to_integer (mul 1000.0 ($ranhashdoub (add i 6000)))))))
           (build 5000 (lam (i : Integer) (Vec_init ($ranhashdoub i) 0.5))))",
};
pub const LSTM: Arguments =
    Arguments { demo: "lstm", size: "2 layers of 14 cells, 1,024 characters", text: "(network 2 14 1024)" };
pub const KMEANS: Arguments = Arguments {
    demo: "kmeans",
    size: "10,000 points of dimension 4, 20 centroids",
    text: "(tuple (random_rows 0 10000 4) (random_rows 90000 20 4))",
};
pub const CNN: Arguments = Arguments {
    demo: "cnn",
    size: "10 pictures of 28 x 28, kernels 6 and 16 of 5 x 5",
    text: "(tuple (random 1000 (tuple 6 1 5 5)) (random 2000 6) (random 3000 (tuple 16 6 5 5)) (random 4000 16)
                (random 5000 (tuple 10 16 4 4)) (random 6000 10)
                (build 10 (lam (i : Integer) (random (mul 10000 (add i 1)) (tuple 1 28 28))))
                (build 10 (lam (i : Integer) i)) 2)",
};
pub const BLACK_SCHOLES: Arguments = Arguments {
    demo: "black_scholes",
    size: "10,000 options",
    text: "(tuple (build 10000 (lam (i : Integer) (add 40.0 (mul 80.0 ($ranhashdoub i)))))
                (build 10000 (lam (i : Integer) (add 40.0 (mul 80.0 ($ranhashdoub (add i 20000))))))
                0.1
                (build 10000 (lam (i : Integer) (add 0.1 ($ranhashdoub (add i 40000)))))
                (build 10000 (lam (i : Integer) (add 0.5 ($ranhashdoub (add i 60000))))))",
};
pub const ODE: Arguments = Arguments {
    demo: "ode",
    size: "20 species, 1,000 steps",
    text: "(tuple (build 20 (lam (i : Integer) (sub ($ranhashdoub i) 0.5)))
                (build (tuple 20 20) (lam (ij : Tuple Integer Integer)
                  (neg ($ranhashdoub (add 100 (add (mul 20 (get$1$2 ij)) (get$2$2 ij)))))))
                (build 20 (lam (i : Integer) (add 0.5 ($ranhashdoub (add 900 i)))))
                1.0
                1000)",
};
pub const DET: Arguments = Arguments { demo: "det", size: "50 x 50", text: "(random_matrix 0 50)" };
pub const MINORS: Arguments = Arguments { demo: "minors", size: "7 x 7", text: "(random_matrix 0 7)" };

/// All of them. The other demos take numbers.
pub const ARGUMENTS: [Arguments; 10] = [LSE, GMM, BA, LSTM, KMEANS, CNN, BLACK_SCHOLES, ODE, DET, MINORS];
