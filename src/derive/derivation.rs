//! Names the derivations of derivatives, among which options and `gdef` choose.

/// A way to the derivatives of a function. All ways give functions of the same names, types and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Derivation {
    /// The full Jacobian, S -> (LM S T), and its transpose (working notes, Fig. 6).
    #[default]
    Jacobian,
    /// Each value paired with its linear map, S -> (T, LM S T) (Fig. 7).
    Tupled,
    /// Linear map in, linear map out, (S, LM a S) -> (T, LM a T) (Fig. 8).
    Polymorphic,
    /// A forward half that records and a reverse half that consumes, through the category language (sec. 6).
    Split,
    /// Dual numbers, D(S) -> D(T); gradients by loops over directions (*Efficient differentiable programming in a
    /// functional array-processing language*, Fig. 7).
    Dual,
    /// Lists of steps, each a function of one argument, and a sweep backward over them (*Denotationally correct, purely
    /// functional, efficient reverse-mode automatic differentiation*, Figs. 6-10).
    Unary,
    /// Operations on whole arrays first, then the full Jacobian of these (*Dual-numbers reverse AD for functional array
    /// languages*, Figs. 9-18).
    DualArrays,
}

impl Derivation {
    /// All derivations, in the order of the papers.
    pub const ALL: [Derivation; 7] = [
        Derivation::Jacobian,
        Derivation::Tupled,
        Derivation::Polymorphic,
        Derivation::Split,
        Derivation::Dual,
        Derivation::Unary,
        Derivation::DualArrays,
    ];

    /// The derivations that take every program that has derivatives. `dual-arrays` takes those that have a form in whole
    /// arrays.
    pub const OF_ALL_PROGRAMS: [Derivation; 6] = [
        Derivation::Jacobian,
        Derivation::Tupled,
        Derivation::Polymorphic,
        Derivation::Split,
        Derivation::Dual,
        Derivation::Unary,
    ];

    /// The derivations of which the operations of reverse mode are bounded by those of the value (`docs/bound.md`). `dual`
    /// takes a tangent for each number of the argument.
    pub const BOUNDED: [Derivation; 5] =
        [Derivation::Jacobian, Derivation::Tupled, Derivation::Polymorphic, Derivation::Split, Derivation::Unary];

    /// Returns whether a bound is asked of its gradients: not by `dual`.
    pub fn has_bound(self) -> bool {
        self != Derivation::Dual
    }

    /// Returns its name in options and in `gdef`.
    pub fn name(self) -> &'static str {
        match self {
            Derivation::Jacobian => "jacobian",
            Derivation::Tupled => "tupled",
            Derivation::Polymorphic => "polymorphic",
            Derivation::Split => "split",
            Derivation::Dual => "dual",
            Derivation::Unary => "unary",
            Derivation::DualArrays => "dual-arrays",
        }
    }

    /// Returns the derivation of that name.
    pub fn named(name: &str) -> Option<Derivation> {
        Derivation::ALL.into_iter().find(|derivation| derivation.name() == name)
    }
}
