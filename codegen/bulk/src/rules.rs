//! The rules of the bulk operation transform and of whole arrays, by name.
//!
//! One walk over a term ([`lower`](crate::lower())) and the laws of the [`builder`](crate::builder) apply them. A function
//! knows which it took, and where: [`Function::rules`](crate::ir::Function::rules). `tests/cases/bulk/rules.ks` has a
//! function for each rule, which the evaluators are compared on.
//!
//! `B` stands for `build n (λi. .)`. A rule of the paper that is taken otherwise says so in its text.
//!
//! Source: *Dual-numbers reverse AD for functional array languages* (004), Figs. 9 to 11 and 17.

/// What a rule is called, where it is from, and what it says.
#[derive(Debug)]
pub struct Row {
    /// The rule.
    pub rule: Rule,
    /// Its name.
    pub name: &'static str,
    /// The paper and figure, or `derived`.
    pub source: &'static str,
    /// The equation.
    pub text: &'static str,
}

macro_rules! rules {
    ($($rule:ident, $name:literal, $source:literal, $text:literal;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // the table says what each is
        pub enum Rule { $($rule),* }

        /// All rules, in the order of the figures.
        pub const RULES: &[Row] =
            &[$(Row { rule: Rule::$rule, name: $name, source: $source, text: $text }),*];
    };
}

rules! {
    BulkIota, "bulk-iota", "004 Fig. 9", "B i = iota n";
    BulkSame, "bulk-same", "004 Fig. 9", "B t = replicate n t   i not in t: it has no axis, and is spread where one is needed";
    BulkLet, "bulk-let", "004 Fig. 9", "B (let x = v in u) = let x = B v in B u[x := x[i]]";
    BulkLetOut, "bulk-let-out", "004 Fig. 9", "B (let x = v in u) = let x = v in B u   i not in v";
    BulkIf, "bulk-if", "004 Fig. 9", "B (if c then t else u) = select (B c) (B t under c) (B u under not c)";
    BulkEach, "bulk-each", "004 Fig. 9", "B (op t ..) = each op (B t) ..";
    BulkReduce, "bulk-reduce", "004 Fig. 9", "B (sum t) = reduce sum (B t), along the axis after i's";
    BulkScatter, "bulk-scatter", "004 Fig. 9", "B (scatter t e) = scatter (B t) (i, e)";
    BulkStack, "bulk-stack", "004 Fig. 9", "B [t, ..] = stack (B t) .., along the axis after i's";
    BulkTuple, "bulk-tuple", "derived", "B (t, ..) = (B t, ..)";
    BulkCall, "bulk-call", "derived", "B (f t) = B (the body of f at t)   f does not call itself";
    BulkFold, "bulk-fold", "derived", "B (fold f s v) = fold (λ(s, x). B (f (s[i], x[i]))) (B s) (B v)   the size of v has no i";
    BulkTriangle, "bulk-triangle", "derived", "B (sumbuild e (λj. t)) = reduce sum (select (j < e) (B t) 0)   up to the largest e";
    IndexAxis, "index-axis", "004 Fig. 10", "(build n (λi. t))[e] = a part of t's array along the axis of i   in place of moving index inwards";
    IndexSpread, "index-spread", "004 Fig. 10", "(replicate n t)[e] = t";
    IndexStack, "index-stack", "004 Fig. 10", "[t, u, ..][0] = t   a number as index";
    IndexIota, "index-iota", "derived", "(iota n)[e] = e";
    IndexSlice, "index-slice", "derived", "(slice a s)[e] = a[e + s]";
    BulkIndexOut, "bulk-index-out", "004 Fig. 11", "B a[e] = gather a (λi. e)   i not in a";
    BulkIndex, "bulk-index", "004 Fig. 11", "B t[e] = gather (B t) (λi. (i, e))";
    IndexRun, "index-run", "derived", "B a[i + s] = slice a s, reversed for -i   no gather";
    IndexWindow, "index-window", "derived", "B a[i + s] = window a s, with zeros outside of a   under a condition";
    SliceWhole, "slice-whole", "derived", "slice a 0 = a   as long as a";
    EachSpread, "each-spread", "derived", "each op (spread a) (spread b) = spread (each op a b)   the same axes";
    EachUnit, "each-unit", "derived", "x + 0 = x, x 1 = x, --x = x, x + -y = x - y, c and true = c, ..";
    EachNumbers, "each-numbers", "derived", "each op of numbers that are known = their value";
    SelectKnown, "select-known", "derived", "select true a b = a, select c a a = a";
    SpreadSpread, "spread-spread", "derived", "spread (spread a) = spread a";
    PermutePermute, "permute-permute", "derived", "permute (permute a) = permute a; of a spread, a spread; of a contract, a contract";
    GatherSpread, "gather-spread", "derived", "gather (spread a) e = spread (gather a e)   of the indices that a varies along";
    ReverseReverse, "reverse-reverse", "derived", "reverse (reverse a) = a";
    ReverseLine, "reverse-line", "derived", "reverse (iota n) = n - 1 - iota n";
    SumSpread, "sum-spread", "derived", "sum (spread a) = n a, or spread (sum a)";
    SumOutOfNeg, "sum-neg", "derived", "sum (-a) = -(sum a)";
    SumOutOfQuotient, "sum-quotient", "derived", "sum (a / b) = (sum a) / b   b does not vary";
    SumOutOfProduct, "sum-factor", "derived", "sum (a b) = a (sum b)   a does not vary";
    SumContract, "sum-product", "derived", "sum (a b) = contract a b   both vary, along different axes: no array of all products";
    SumOfContract, "sum-contract", "derived", "sum (contract a b) = contract a b, of fewer axes";
    SumOfSelect, "sum-select", "derived", "sum (select c a b) = select c (sum a) (sum b)   c does not vary";
    SumOfSum, "sum-sum", "derived", "sum (a + b) = sum a + sum b   neither array is needed whole";
    SumOfLoop, "sum-loop", "derived", "sum (loop s) = loop (sum s)   s is only added to";
    SumOfScatter, "sum-scatter", "derived", "sum (scatter x e) = scatter (sum x) e, or of fewer indices";
    ScatterLine, "scatter-line", "derived", "scatter 0 x i = permute x   each place once";
    ScatterReverse, "scatter-reverse", "derived", "scatter 0 x (n - 1 - i) = reverse x";
    ScatterWindow, "scatter-window", "derived", "scatter 0 x (i + s) = window x -s   each place at most once";
    ScatterScatter, "scatter-scatter", "derived", "scatter 0 (scatter 0 x e) f = scatter 0 x (f, e)";
    AddScatter, "add-scatter", "derived", "a + scatter 0 x e = scatter a x e";
    NegScatter, "neg-scatter", "derived", "-(scatter 0 x e) = scatter 0 (-x) e";
    SelectScatter, "select-scatter", "derived", "select c (scatter 0 x e) 0 = scatter 0 (select c x 0) e";
    FoldSum, "fold-sum", "derived", "fold (λ(s, x). s + t) a v = a + reduce sum (B t)   s is not in t";
    LoopSame, "loop-same", "derived", "loop n s (λi s. s) = s";
    LoopBest, "loop-best", "derived", "loop n s (λi s. if a[i] > s then a[i] else s) = the larger of s and the largest of a; its place";
}

impl Rule {
    /// Returns its row of the table.
    pub fn row(self) -> &'static Row {
        &RULES[self as usize]
    }
}
