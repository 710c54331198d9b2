//! Random programs of one size n: `f`, and `point`, which gives an argument of f of that size.
//!
//! Each function calls the one before it, so calls are up to seven deep. A function is a block, a loop by tail
//! recursion, a recursion whose result is worked on, or one by halves; all recur along the vector `v` that every
//! function has as its last parameter. Terms have lets, conditionals, nested loops and folds, scans, tuples, and
//! vectors of vectors. So every program ends, and its work grows with n, at most by n^2.

mod terms;

use lm::random::SplitMix;

/// The options for generated programs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// At most so many functions below `f`.
    pub functions: usize,
    /// The greatest depth of terms.
    pub depth: usize,
    /// At most so many nodes in each function, leaves apart.
    pub nodes: usize,
}

/// Programs of all sizes, small ones too.
pub const ALL_SIZES: [Options; 4] = [
    Options { functions: 1, depth: 2, nodes: 4 },
    Options { functions: 3, depth: 3, nodes: 8 },
    Options { functions: 7, depth: 2, nodes: 3 },
    Options { functions: 7, depth: 4, nodes: 16 },
];

/// The program of that number, of the sequence of that seed.
pub fn program(seed: u64, number: u64) -> String {
    let options = ALL_SIZES[number as usize % ALL_SIZES.len()];
    let mut choices = SplitMix::new(lm::random::hash(seed) ^ number);
    let fewer = choices.draw() % (options.functions as u64 / 2 + 2);
    let functions = options.functions.saturating_sub(fewer as usize);
    let mut maker = Maker { choices, options, text: String::new(), made: Vec::new(), place: Place::default() };
    (0..functions).for_each(|i| maker.function(i));
    maker.entry();
    maker.text
}

/// Types, with sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ty {
    Float,
    /// An Integer from 0, below n.
    Index,
    /// An Integer from 0, below 3.
    Column,
    /// An operation on two Floats.
    Pair,
    /// A vector of 3 Floats.
    Row,
    /// A vector of n Floats.
    Vec,
    /// A vector of n rows.
    Rows,
}

impl Ty {
    fn text(self) -> &'static str {
        match self {
            Ty::Float => "Float",
            Ty::Index | Ty::Column => "Integer",
            Ty::Pair => "(Tuple Float Float)",
            Ty::Row | Ty::Vec => "(Vec Float)",
            Ty::Rows => "(Vec (Vec Float))",
        }
    }

    /// A value of the type in `point`, of size n.
    fn at_point(self, k: usize) -> String {
        let float = |at: &str| format!("(sub (mul 2.0 ($ranhashdoub {at})) 1.0)");
        let row = |at: &str| format!("(build 3 (lam (j : Integer) {}))", float(&format!("(add {at} j)")));
        let first = 1000 * k;
        match self {
            Ty::Float => float(&first.to_string()),
            Ty::Pair => format!("(tuple {} {})", float(&first.to_string()), float(&(first + 1).to_string())),
            Ty::Row => row(&first.to_string()),
            Ty::Vec => format!("(build n (lam (i : Integer) {}))", float(&format!("(add {first} i)"))),
            Ty::Rows => format!("(build n (lam (i : Integer) {}))", row(&format!("(add {first} (mul 3 i))"))),
            Ty::Index | Ty::Column => unreachable!("no parameter of a whole program"),
        }
    }
}

/// The kinds of recursion.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Block,
    Tail,
    Nested,
    Halves,
}

#[derive(Clone, Debug)]
struct Signature {
    name: String,
    kind: Kind,
    /// `v` and what recursion counts apart.
    params: Vec<Ty>,
    result: Ty,
    /// The rough cost of a call.
    cost: f64,
}

/// The size at which costs are estimated.
const N: f64 = 16.0;

/// The highest cost of a function, roughly.
const MOST_COST: f64 = 4_000.0;

/// The facts known at a place of the program.
#[derive(Clone, Debug, Default)]
struct Place {
    scope: Vec<(String, Ty)>,
    names: usize,
    nodes: usize,
    /// The rough number of times that the place is reached.
    times: f64,
    cost: f64,
}

struct Maker {
    choices: SplitMix,
    options: Options,
    text: String,
    made: Vec<Signature>,
    place: Place,
}

const VALUES: [Ty; 5] = [Ty::Float, Ty::Pair, Ty::Row, Ty::Vec, Ty::Rows];

impl Maker {
    fn choose(&mut self, n: usize) -> usize {
        (self.choices.draw() % n as u64) as usize
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.choose(from.len())].clone()
    }

    // Functions.

    fn function(&mut self, i: usize) {
        let kind = [Kind::Block, Kind::Block, Kind::Block, Kind::Tail, Kind::Nested, Kind::Halves][self.choose(6)];
        let result = self.pick(&[Ty::Float, Ty::Float, Ty::Pair, Ty::Row, Ty::Vec]);
        let mut params: Vec<Ty> = (0..self.choose(3)).map(|_| self.pick(&VALUES)).collect();
        if kind == Kind::Tail {
            params.insert(0, result);
        }
        let mut signature = Signature { name: format!("g{i}"), kind, params, result, cost: 0.0 };
        // Recursion is a loop: a vector at each level is work of n^2, and no more than that.
        let levels = if kind == Kind::Block { 1.0 } else { N };
        self.place = Place { nodes: self.options.nodes, times: levels, cost: 1.0, ..Place::default() };
        let params = self.parameters(&signature);
        let body = match kind {
            Kind::Block => self.block(result),
            Kind::Tail => self.tail(&signature),
            Kind::Nested => self.nested(&signature),
            Kind::Halves => self.halves(&signature),
        };
        self.text += &format!("(def {} {} ({params})\n  {body})\n\n", signature.name, result.text());
        signature.cost = self.place.cost;
        self.made.push(signature);
    }

    /// Binds the parameters, and gives them as text.
    fn parameters(&mut self, signature: &Signature) -> String {
        let mut texts = Vec::new();
        match signature.kind {
            Kind::Block => {}
            Kind::Tail | Kind::Nested => texts.push("(i : Integer)".to_string()),
            Kind::Halves => texts.push("(from : Integer) (to : Integer)".to_string()),
        }
        for ty in &signature.params {
            let name = self.bind(*ty);
            texts.push(format!("({name} : {})", ty.text()));
        }
        self.place.scope.push(("v".into(), Ty::Vec));
        texts.push("(v : (Vec Float))".into());
        texts.join(" ")
    }

    fn entry(&mut self) {
        let params: Vec<Ty> = (0..self.choose(3)).map(|_| self.pick(&VALUES)).collect();
        let result = self.pick(&[Ty::Float, Ty::Float, Ty::Float, Ty::Pair, Ty::Vec]);
        let signature = Signature { name: "f".into(), kind: Kind::Block, params, result, cost: 0.0 };
        self.place = Place { nodes: self.options.nodes, times: 1.0, cost: 1.0, ..Place::default() };
        let params = self.parameters(&signature);
        let body = self.block(result);
        let all: Vec<Ty> = signature.params.iter().copied().chain([Ty::Vec]).collect();
        let parts: Vec<String> = all.iter().enumerate().map(|(k, ty)| ty.at_point(k)).collect();
        let types: Vec<&str> = all.iter().map(|ty| ty.text()).collect();
        let (ty, point) = match parts.len() {
            1 => (types[0].to_string(), parts[0].clone()),
            _ => (format!("(Tuple {})", types.join(" ")), format!("(tuple {})", parts.join("\n    "))),
        };
        self.text += &format!("(def f {} ({params})\n  {body})\n\n", result.text());
        self.text += &format!("(def point {ty} (n : Integer)\n  {point})\n");
    }

    /// `s` at the end, else the same with another `s`.
    fn tail(&mut self, signature: &Signature) -> String {
        let state = self.place.scope[0].0.clone();
        let end = if self.choose(2) == 0 { self.once(|cx| cx.block(signature.result)) } else { state };
        let step = self.inside(|cx| {
            cx.place.scope.push(("i".into(), Ty::Index));
            let bindings = cx.bindings();
            let args = cx.arguments(&signature.params);
            with_bindings(&bindings, format!("({} (add i 1) {args}v)", signature.name))
        });
        format!("(if (gte i (size v)) {end}\n    {step})")
    }

    /// Something with the result of the call for the rest.
    fn nested(&mut self, signature: &Signature) -> String {
        let end = self.once(|cx| cx.block(signature.result));
        let step = self.inside(|cx| {
            cx.place.scope.push(("i".into(), Ty::Index));
            let bindings = cx.bindings();
            let call = format!("({} (add i 1) {}v)", signature.name, cx.arguments(&signature.params));
            let y = cx.bind(signature.result);
            let body = cx.using(&y, signature.result);
            with_bindings(&bindings, format!("(let ({y} {call})\n      {body})"))
        });
        format!("(if (gte i (size v)) {end}\n    {step})")
    }

    /// Something with the results for the two halves, of one element at least.
    fn halves(&mut self, signature: &Signature) -> String {
        let end = self.inside(|cx| {
            cx.place.scope.push(("from".into(), Ty::Index));
            cx.block(signature.result)
        });
        let step = self.inside(|cx| {
            cx.place.scope.push(("middle".into(), Ty::Index));
            let mut call = |from: &str, to: &str| {
                let args = cx.arguments(&signature.params);
                let call = format!("({} {from} {to} {args}v)", signature.name);
                (cx.bind(signature.result), call)
            };
            let ((y, first), (z, second)) = (call("from", "middle"), call("middle", "to"));
            let body = cx.using(&y, signature.result);
            format!(
                "(let ((middle (div (add from to) 2))\n          ({y} {first})\n          ({z} {second}))\n      \
                 {body})"
            )
        });
        format!("(if (lte (sub to from) 1)\n    {end}\n    {step})")
    }

    /// A term that the variable takes part in.
    fn using(&mut self, y: &str, ty: Ty) -> String {
        let e = self.expr(ty, 2);
        match ty {
            Ty::Float => format!("(add (mul 0.5 (sin {y})) {e})"),
            Ty::Pair => format!("(tuple (mul 0.5 (get$1$2 {y})) (sin (add (get$2$2 {y}) (get$1$2 {e}))))"),
            _ => format!("(ts_add (ts_scale 0.5 {y}) {e})"),
        }
    }

    fn arguments(&mut self, params: &[Ty]) -> String {
        params.iter().map(|ty| self.expr(*ty, 1) + " ").collect()
    }

    fn call(&mut self, ty: Ty) -> Option<String> {
        let place = &self.place;
        let may = |f: &&Signature| f.result == ty && f.cost * place.times + place.cost < MOST_COST;
        let fitting: Vec<Signature> = self.made.iter().filter(may).cloned().collect();
        let f = fitting.last()?.clone();
        let f = if self.choose(3) == 0 { self.pick(&fitting) } else { f };
        Some(self.call_of(&f))
    }

    fn call_of(&mut self, f: &Signature) -> String {
        self.place.cost += f.cost * self.place.times;
        let counts = match f.kind {
            Kind::Block => "",
            Kind::Tail | Kind::Nested => "0 ",
            Kind::Halves => "0 (size v) ",
        };
        let args = self.arguments(&f.params);
        format!("({} {counts}{args}v)", f.name)
    }

    // Variables.

    fn bind(&mut self, ty: Ty) -> String {
        let name = format!("{}{}", ["x", "y", "s", "t"][self.place.names % 4], self.place.names);
        self.place.names += 1;
        self.place.scope.push((name.clone(), ty));
        name
    }

    /// Something with variables of its own.
    fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.place.scope.len();
        let made = work(self);
        self.place.scope.truncate(outer);
        made
    }

    /// Something that is done once, though recursion goes on.
    fn once<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let times = std::mem::replace(&mut self.place.times, 1.0);
        let made = self.inside(work);
        self.place.times = times;
        made
    }

    /// The function of a loop.
    fn family(&mut self, parameter: Ty, times: f64, ty: Ty, d: usize) -> String {
        let before = self.place.times;
        self.place.times *= times;
        let text = self.inside(|cx| {
            let x = cx.bind(parameter);
            let body = if d > 0 && cx.choose(2) == 0 { cx.block_of(ty, d) } else { cx.expr(ty, d) };
            format!("(lam ({x} : {}) {body})", parameter.text())
        });
        self.place.times = before;
        text
    }

    fn may_loop(&self, times: f64) -> bool {
        self.place.nodes > 0 && self.place.times * times <= N * N * 3.0 && self.place.cost < MOST_COST
    }

    /// A variable of the type, one bound lately more often.
    fn variable(&mut self, ty: Ty) -> Option<String> {
        let known: Vec<String> =
            self.place.scope.iter().rev().filter(|(_, t)| *t == ty).map(|(name, _)| name.clone()).collect();
        let of = if self.choose(2) == 0 { known.len().min(2) } else { known.len() };
        (of > 0).then(|| known[self.choose(of)].clone())
    }

    // Terms.

    fn block(&mut self, ty: Ty) -> String {
        let depth = self.options.depth;
        self.inside(|cx| {
            let bindings = cx.bindings();
            let body = match cx.place.scope.iter().rev().find(|(name, _)| name != "v" && name != "i").cloned() {
                Some((y, t)) if t == ty => cx.using(&y, ty),
                _ => cx.expr(ty, depth),
            };
            with_bindings(&bindings, body)
        })
    }

    /// Bindings, with a call of the function before among them.
    fn bindings(&mut self) -> Vec<String> {
        let depth = self.options.depth - 1;
        let mut bindings: Vec<String> = (0..self.choose(3)).map(|_| self.binding(depth)).collect();
        if let Some(f) = self.made.last().cloned()
            && f.cost * self.place.times + self.place.cost < MOST_COST
        {
            let call = self.call_of(&f);
            bindings.push(format!("({} {call})", self.bind(f.result)));
        }
        bindings
    }

    fn block_of(&mut self, ty: Ty, d: usize) -> String {
        self.inside(|cx| {
            let bindings: Vec<String> = (0..1 + cx.choose(2)).map(|_| cx.binding(d - 1)).collect();
            with_bindings(&bindings, cx.expr(ty, d))
        })
    }

    fn binding(&mut self, depth: usize) -> String {
        let ty = self.pick(&[Ty::Float, Ty::Float, Ty::Float, Ty::Pair, Ty::Row, Ty::Vec, Ty::Rows]);
        let e = self.expr(ty, depth);
        if ty == Ty::Pair && self.choose(2) == 0 {
            let (a, b) = (self.bind(Ty::Float), self.bind(Ty::Float));
            return format!("(({a} {b}) {e})");
        }
        format!("({} {e})", self.bind(ty))
    }
}

/// The Floats of a state, as a factor of what its steps cost.
fn weight(ty: Ty) -> f64 {
    match ty {
        Ty::Vec | Ty::Rows => N,
        Ty::Row => 3.0,
        Ty::Float | Ty::Pair | Ty::Index | Ty::Column => 1.0,
    }
}

fn with_bindings(bindings: &[String], body: String) -> String {
    if bindings.is_empty() { body } else { format!("(let ({})\n      {body})", bindings.join("\n        ")) }
}
