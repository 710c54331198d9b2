//! Random programs of one size n: `f`, and `point`, which gives an argument of f of that size.
//!
//! Each function calls the one before it, so calls are up to seven deep. A function is a block, a loop by tail
//! recursion, a recursion whose result is worked on, or one by halves; all recur along the vector `v` that every
//! function has as its last parameter. Terms have lets, conditionals, nested loops and folds, scans, tuples, and
//! vectors of vectors. So every program ends, and its work grows with n, at most by n^2.

use lm::random::SplitMix;

/// What programs to make.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// At most so many functions below `f`.
    pub functions: usize,
    /// How deep terms are nested, at most.
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
    /// Of two Floats.
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

/// How a function recurs.
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
    /// What a call costs, roughly.
    cost: f64,
}

/// The size at which costs are estimated.
const N: f64 = 16.0;

/// What a function may cost, roughly.
const MOST_COST: f64 = 4_000.0;

/// What is known at a place of the program.
#[derive(Clone, Debug, Default)]
struct Place {
    scope: Vec<(String, Ty)>,
    names: usize,
    nodes: usize,
    /// How often the place is reached, roughly.
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
                "(let ((middle (div (add from to) 2))\n          ({y} {first})\n          ({z} {second}))\n      {body})"
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

    fn expr(&mut self, ty: Ty, depth: usize) -> String {
        self.place.cost += self.place.times;
        if depth == 0 || self.place.nodes == 0 {
            return self.leaf(ty);
        }
        self.place.nodes -= 1;
        let d = depth - 1;
        let made = match self.choose(12) {
            0 => None,
            1 => self.call(ty),
            2 if d > 0 => Some(self.block_of(ty, d)),
            3 => {
                let c = self.condition(d);
                let yes = self.expr(ty, d);
                Some(format!("(if {c} {yes} {})", self.expr(ty, d)))
            }
            4 | 5 => self.fold(ty, d),
            _ => self.own(ty, d),
        };
        made.unwrap_or_else(|| self.leaf(ty))
    }

    fn condition(&mut self, d: usize) -> String {
        match (self.choose(3), self.variable(Ty::Index)) {
            (0, Some(i)) => format!("(lt (mul 2 {i}) (size v))"),
            (1, Some(i)) => format!("(eq {i} 1)"),
            _ => format!("(gt {} (add 0.123 {}))", self.expr(Ty::Float, d.min(1)), self.leaf(Ty::Float)),
        }
    }

    /// A fold over a vector, or over rows.
    fn fold(&mut self, ty: Ty, d: usize) -> Option<String> {
        let (of, element, times) =
            self.pick(&[(Ty::Vec, Ty::Float, N), (Ty::Row, Ty::Float, 3.0), (Ty::Rows, Ty::Row, N)]);
        if matches!(ty, Ty::Rows | Ty::Index | Ty::Column) || !self.may_loop(times * weight(ty)) {
            return None;
        }
        let (start, over) = (self.leaf(ty), self.expr(of, d.min(1)));
        let step = self.step(ty, element, times);
        Some(format!("(fold {step} {start} {over})"))
    }

    /// The function of a fold: of a pair of state and element.
    fn step(&mut self, state: Ty, element: Ty, times: f64) -> String {
        let before = self.place.times;
        self.place.times *= times;
        let text = self.inside(|cx| {
            let (s, x) = (cx.bind(state), cx.bind(element));
            let body = cx.using(&s, state);
            let pair = format!("(Tuple {} {})", state.text(), element.text());
            format!("(lam (p : {pair}) (let (({s} {x}) p) {body}))")
        });
        self.place.times = before;
        text
    }

    fn own(&mut self, ty: Ty, d: usize) -> Option<String> {
        match ty {
            Ty::Float => self.float(d),
            Ty::Pair => Some(format!("(tuple {} {})", self.expr(Ty::Float, d), self.expr(Ty::Float, d))),
            Ty::Row => self.row(d),
            Ty::Vec => self.vec(d),
            Ty::Rows => self.rows(d),
            Ty::Index | Ty::Column => None,
        }
    }

    /// Products have a bounded factor, so that values stay of moderate size.
    fn float(&mut self, d: usize) -> Option<String> {
        let two = |cx: &mut Self| (cx.expr(Ty::Float, d), cx.expr(Ty::Float, d));
        Some(match self.choose(20) {
            0..=2 => {
                let (a, b) = two(self);
                format!("({} {a} {b})", self.pick(&["add", "sub", "add", "max", "min"]))
            }
            3..=5 => {
                let (a, b) = two(self);
                format!("(mul ({} {a}) {b})", self.pick(&["sin", "tanh"]))
            }
            6 => {
                let (a, b) = two(self);
                format!("(div {a} (add 2.0 (sin {b})))")
            }
            7 => {
                let f = self.pick(&["exp", "cosh", "sqrt", "log"]);
                format!("({f} (add 1.5 (sin {})))", self.expr(Ty::Float, d))
            }
            8 | 9 => {
                let f = self.pick(&["sin", "cos", "tanh", "atan", "neg", "abs", "erf"]);
                format!("({f} {})", self.expr(Ty::Float, d))
            }
            10 => format!("(pow (sin {}) 3)", self.expr(Ty::Float, d)),
            11 => format!("(get${}$2 {})", 1 + self.choose(2), self.expr(Ty::Pair, d)),
            12 | 13 => {
                let of = self.pick(&[Ty::Vec, Ty::Row]);
                format!("(sum {})", self.expr(of, d))
            }
            14 => {
                let of = self.pick(&[Ty::Vec, Ty::Row, Ty::Pair]);
                format!("(ts_dot {} {})", self.expr(of, d), self.expr(of, d))
            }
            15 | 16 if self.may_loop(N) => {
                format!("(sumbuild (size v) {})", self.family(Ty::Index, N, Ty::Float, d))
            }
            17 if self.may_loop(N) => format!("(max {})", self.expr(Ty::Vec, d)),
            _ => return self.element(d),
        })
    }

    fn element(&mut self, d: usize) -> Option<String> {
        match (self.variable(Ty::Index), self.variable(Ty::Column)) {
            (Some(i), Some(j)) if self.choose(2) == 0 => {
                Some(format!("(index {j} (index {i} {}))", self.expr(Ty::Rows, d.min(1))))
            }
            (Some(i), _) => Some(format!("(index {i} {})", self.expr(Ty::Vec, d.min(1)))),
            (None, Some(j)) => Some(format!("(index {j} {})", self.expr(Ty::Row, d))),
            (None, None) => {
                let (j, row) = (self.choose(3), self.expr(Ty::Row, d));
                Some(format!("(index {j} {row})"))
            }
        }
    }

    fn row(&mut self, d: usize) -> Option<String> {
        Some(match self.choose(6) {
            0 => format!("(Vec_init {} {} 0.5)", self.expr(Ty::Float, d), self.expr(Ty::Float, d)),
            1 if self.may_loop(3.0) => format!("(build 3 {})", self.family(Ty::Column, 3.0, Ty::Float, d)),
            2 if self.may_loop(3.0) => {
                let f = self.family(Ty::Float, 3.0, Ty::Float, d);
                format!("(map {f} {})", self.expr(Ty::Row, d))
            }
            3 => {
                let i = self.variable(Ty::Index)?;
                format!("(index {i} {})", self.expr(Ty::Rows, d.min(1)))
            }
            4 if self.may_loop(N * 3.0) => format!("(sumbuild (size v) {})", self.family(Ty::Index, N, Ty::Row, d)),
            _ => self.space(Ty::Row, d),
        })
    }

    fn vec(&mut self, d: usize) -> Option<String> {
        if !self.may_loop(N) {
            return None;
        }
        Some(match self.choose(7) {
            0 | 1 => format!("(build (size v) {})", self.family(Ty::Index, N, Ty::Float, d)),
            2 => {
                let (from, of) = self.pick(&[(Ty::Float, Ty::Vec), (Ty::Row, Ty::Rows)]);
                let f = self.family(from, N, Ty::Float, d);
                format!("(map {f} {})", self.expr(of, d.min(1)))
            }
            3 => {
                let (a, b) = (self.bind(Ty::Float), self.bind(Ty::Float));
                let body = self.expr(Ty::Float, d);
                let scope = self.place.scope.len();
                self.place.scope.truncate(scope - 2);
                let f = format!("(lam (p : (Tuple Float Float)) (let (({a} {b}) p) {body}))");
                format!("(map2 {f} {} {})", self.expr(Ty::Vec, d.min(1)), self.leaf(Ty::Vec))
            }
            4 | 5 => {
                let (scan, start) = (self.pick(&["scanl", "scanr"]), self.leaf(Ty::Float));
                let over = self.expr(Ty::Vec, d.min(1));
                let step = self.step(Ty::Float, Ty::Float, N);
                format!("({} ({scan} {step} {start} {over}))", self.pick(&["shift1L", "shift1R"]))
            }
            _ => self.space(Ty::Vec, d),
        })
    }

    fn rows(&mut self, d: usize) -> Option<String> {
        if !self.may_loop(N * 3.0) {
            return None;
        }
        Some(match self.choose(3) {
            0 => format!("(build (size v) {})", self.family(Ty::Index, N, Ty::Row, d)),
            1 => {
                let f = self.family(Ty::Row, N, Ty::Row, d);
                format!("(map {f} {})", self.leaf(Ty::Rows))
            }
            _ => self.space(Ty::Rows, d),
        })
    }

    /// Sums and multiples.
    fn space(&mut self, ty: Ty, d: usize) -> String {
        if self.choose(2) == 0 {
            return format!("(ts_add {} {})", self.expr(ty, d), self.leaf(ty));
        }
        format!("(ts_scale (sin {}) {})", self.expr(Ty::Float, d), self.expr(ty, d))
    }

    fn leaf(&mut self, ty: Ty) -> String {
        if self.choose(8) > 0
            && let Some(x) = self.variable(ty)
        {
            return x;
        }
        match ty {
            Ty::Float => self.pick(&["1.0", "0.5", "-0.75", "1.25"]).into(),
            Ty::Index | Ty::Column => "0".into(),
            Ty::Pair => format!("(tuple {} 0.25)", self.leaf(Ty::Float)),
            Ty::Row => format!("(Vec_init {} 0.5 -0.25)", self.leaf(Ty::Float)),
            Ty::Vec => "v".into(),
            Ty::Rows => format!("(constVec (size v) {})", self.leaf(Ty::Row)),
        }
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
