//! Random programs on arrays: well-typed, smooth, of several functions, as KS text.
//!
//! Types carry sizes, so that indices are in range and sizes that must agree do: `N` and `M` are sizes that a
//! point of the program fixes, others are constants, one more than a size, the value of an index, or that of
//! a variable that holds a row of no known size. Only what the language's checker sees is text.
//!
//! A program is made from a list of numbers, its choices; when they run out, every choice is the simplest
//! one. So proptest shrinks programs by shrinking the list.

use lm::random::SplitMix;
use lm::tensor::Tensor;
use lm::value::Value;
use proptest::prelude::*;
use std::sync::Arc;

/// What programs to make.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// At most so many functions (at least one).
    pub functions: usize,
    /// How deep terms are nested, at most.
    pub depth: usize,
    /// At most so many nodes in each function, leaves apart.
    pub nodes: usize,
}

/// Programs, as a proptest strategy.
pub fn programs(options: Options) -> impl Strategy<Value = Generated> {
    prop::collection::vec(0..5040u32, 0..400).prop_map(move |choices| program(&choices, options))
}

/// A program and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    /// KS text.
    pub text: String,
    /// In source order, those that take functions apart; each calls earlier ones, recursion apart.
    pub functions: Vec<Signature>,
    /// Whether a function calls itself.
    pub is_recursive: bool,
    /// Whether derivatives differ from finite differences on purpose.
    pub stops_gradients: bool,
}

/// A function as its callers see it.
#[derive(Clone, Debug)]
pub struct Signature {
    pub name: String,
    pub params: Vec<Ty>,
    pub result: Ty,
    /// The type of its first parameter, if that is a function.
    function: Option<(Ty, Ty)>,
    /// What a call costs, roughly, at sizes of 5.
    cost: f64,
}

/// Sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    N,
    M,
    Constant(usize),
    /// One more.
    Next(Box<Size>),
    /// The value of a variable, an index.
    Of(usize),
    /// That of the vector which a variable holds.
    Row(usize),
}

/// Types, with sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    Float,
    Integer,
    Bool,
    /// An Integer from 0, below the size.
    Index(Size),
    /// An Integer, the size itself.
    Length(Size),
    /// An Integer that a recursive function counts down.
    Count,
    Tuple(Vec<Ty>),
    Vec(Size, Box<Ty>),
    /// A vector of Floats of any size.
    Row,
    /// Rank 2.
    Matrix(Size, Size),
}

use Ty::{Bool, Float, Integer, Row};

fn vec(size: Size, element: Ty) -> Ty {
    Ty::Vec(size, Box::new(element))
}

impl Ty {
    /// KS spelling.
    pub fn text(&self) -> String {
        match self {
            Float => "Float".into(),
            Integer | Ty::Index(_) | Ty::Length(_) | Ty::Count => "Integer".into(),
            Bool => "Bool".into(),
            Ty::Tuple(parts) => {
                format!("(Tuple{})", parts.iter().map(|t| format!(" {}", t.text())).collect::<String>())
            }
            Ty::Vec(_, element) => format!("(Vec {})", element.text()),
            Row => "(Vec Float)".into(),
            Ty::Matrix(..) => "(Tensor 2 Float)".into(),
        }
    }

    /// Whether a value of this type is one of the other.
    fn fits(&self, other: &Ty) -> bool {
        match (self, other) {
            (Ty::Index(_) | Ty::Length(_) | Ty::Count, Integer) => true,
            (Ty::Vec(_, element), Row) => **element == Float,
            (Ty::Tuple(a), Ty::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.fits(b)),
            (Ty::Vec(m, a), Ty::Vec(n, b)) => m == n && a.fits(b),
            (a, b) => a == b,
        }
    }

    /// Made of Floats of known shape: what can be added.
    fn is_vector(&self) -> bool {
        match self {
            Float | Ty::Matrix(..) => true,
            Ty::Tuple(parts) => !parts.is_empty() && parts.iter().all(Ty::is_vector),
            Ty::Vec(_, element) => element.is_vector(),
            _ => false,
        }
    }

    fn is_scalar(&self) -> bool {
        match self {
            Float | Integer | Bool => true,
            Ty::Tuple(parts) => parts.iter().all(Ty::is_scalar),
            _ => false,
        }
    }

    /// Whether something of it can change.
    pub fn varies(&self) -> bool {
        match self {
            Float | Row | Ty::Matrix(..) => true,
            Ty::Tuple(parts) => parts.iter().any(Ty::varies),
            Ty::Vec(_, element) => element.varies(),
            _ => false,
        }
    }

    /// A random value, where there is one, for these N and M.
    pub fn value(&self, sizes: [usize; 2], random: &mut SplitMix) -> Option<Value> {
        let known = |size: &Size| match size {
            Size::N => sizes[0],
            Size::M => sizes[1],
            Size::Constant(n) => *n,
            other => panic!("{other:?} in a parameter"),
        };
        Some(match self {
            Float => Value::Float((random.draw() >> 11) as f64 / (1u64 << 51) as f64 - 2.0),
            Integer => Value::Integer((random.draw() % 6) as i64 - 1),
            Bool => Value::Bool(random.draw().is_multiple_of(2)),
            Ty::Index(size) if known(size) == 0 => return None,
            Ty::Index(size) => Value::Integer((random.draw() as usize % known(size)) as i64),
            Ty::Length(size) => Value::Integer(known(size) as i64),
            Ty::Count => Value::Integer((random.draw() % 4) as i64),
            Ty::Tuple(parts) => {
                Value::Tuple(parts.iter().map(|part| part.value(sizes, random)).collect::<Option<_>>()?)
            }
            Ty::Vec(size, element) => vector(known(size), element, sizes, random)?,
            Row => vector(random.draw() as usize % 4, &Float, sizes, random)?,
            Ty::Matrix(rows, columns) => {
                let size = vec![known(rows), known(columns)];
                let elements = (0..size[0] * size[1]).map(|_| Float.value(sizes, random)).collect::<Option<_>>()?;
                Value::Tensor(Arc::new(Tensor::new(size, elements)))
            }
        })
    }
}

fn vector(n: usize, element: &Ty, sizes: [usize; 2], random: &mut SplitMix) -> Option<Value> {
    Some(Value::vector((0..n).map(|_| element.value(sizes, random)).collect::<Option<_>>()?))
}

/// What a call may cost, in the rough measure of [`Signature::cost`].
const MOST_COST: f64 = 3_000.0;

/// The depth of recursion, at most.
const MOST_CALLS: i32 = 3;

/// The program of these choices.
pub fn program(choices: &[u32], options: Options) -> Generated {
    let mut maker = Maker {
        choices: choices.iter(),
        options,
        made: Generated::default(),
        callable: Vec::new(),
        scope: Vec::new(),
        next_id: 0,
        nodes: 0,
        loops: 0,
        times: 1.0,
        cost: 0.0,
        stops: false,
        applied: None,
        again: None,
    };
    maker.stops = maker.choose(8) == 7;
    let count = 1 + maker.choose(options.functions.max(1));
    for i in 0..count {
        maker.functions(i, i + 1 == count);
    }
    maker.made
}

#[derive(Clone)]
struct Variable {
    name: String,
    id: usize,
    ty: Ty,
}

/// The call of a recursive function from inside.
#[derive(Clone)]
struct Again {
    signature: Signature,
    calls_left: usize,
    /// The name of the parameter that counts.
    count: String,
}

struct Maker<'a> {
    choices: std::slice::Iter<'a, u32>,
    options: Options,
    made: Generated,
    callable: Vec<Signature>,
    scope: Vec<Variable>,
    next_id: usize,
    nodes: usize,
    loops: usize,
    /// How often the place is reached, roughly.
    times: f64,
    cost: f64,
    stops: bool,
    /// The parameter that is a function.
    applied: Option<(String, Ty, Ty)>,
    again: Option<Again>,
}

impl Maker<'_> {
    /// A number below `n`; 0 when the choices have run out.
    fn choose(&mut self, n: usize) -> usize {
        self.choices.next().map_or(0, |c| *c as usize % n)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.choose(from.len())].clone()
    }

    // Variables.

    /// Binds a variable. It hides none, but a Float.
    fn bind(&mut self, ty: &Ty) -> String {
        let mut name: String = self.pick(&["x", "y", "v", "i", "t1", "s", "x_1", "dr", "states", "n", "sin"]).into();
        let hides = |name: &str, scope: &[Variable]| scope.iter().any(|x| x.name == name && x.ty != Float);
        let of_function = self.applied.as_ref().map(|(f, ..)| f.clone());
        while hides(&name, &self.scope) || of_function.as_ref() == Some(&name) {
            name = format!("{name}{}", self.next_id);
        }
        let id = self.next_id;
        self.next_id += 1;
        let ty = if *ty == Row { vec(Size::Row(id), Float) } else { ty.clone() };
        self.scope.push(Variable { name: name.clone(), id, ty });
        name
    }

    fn visible(&self) -> Vec<Variable> {
        let hidden = |i: usize, x: &Variable| self.scope[i + 1..].iter().any(|later| later.name == x.name);
        let mut all: Vec<Variable> =
            self.scope.iter().enumerate().filter(|(i, x)| !hidden(*i, x)).map(|(_, x)| x.clone()).collect();
        all.reverse();
        all
    }

    /// Variables, and components of variables, of a type.
    fn known(&self, ty: &Ty) -> Vec<String> {
        let mut terms = Vec::new();
        for x in self.visible() {
            if x.ty.fits(ty) {
                terms.push(x.name);
            } else if let Ty::Tuple(parts) = &x.ty {
                let n = parts.len();
                let fitting = parts.iter().enumerate().filter(|(_, part)| part.fits(ty));
                terms.extend(fitting.map(|(k, _)| format!("(get${}${n} {})", k + 1, x.name)));
            }
        }
        terms
    }

    /// Binds a variable with a name of its own.
    fn bind_apart(&mut self, ty: &Ty) -> String {
        let name = self.bind(ty);
        let last = self.scope.len() - 1;
        if self.scope[..last].iter().any(|x| x.name == name) {
            self.scope[last].name = format!("{name}{}", self.scope[last].id);
        }
        self.scope[last].name.clone()
    }

    fn parameter(&mut self, ty: &Ty) -> String {
        let name = self.bind_apart(ty);
        format!("({name} : {})", ty.text())
    }

    /// Something with variables of its own.
    fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.len();
        let made = work(self);
        self.scope.truncate(outer);
        made
    }

    /// The body of a loop of a size.
    fn in_loop<T>(&mut self, size: &Size, work: impl FnOnce(&mut Self) -> T) -> T {
        let times = self.times;
        self.times *= count_of(size);
        self.loops += 1;
        let made = self.inside(work);
        self.loops -= 1;
        self.times = times;
        made
    }

    fn may_loop(&self, size: &Size) -> bool {
        self.loops < 3 && self.times * count_of(size) * 4.0 < MOST_COST && self.nodes > 0
    }

    // Sizes and indices.

    /// A term for a size.
    fn size(&self, size: &Size) -> Option<String> {
        let of = |x: &Variable| match &x.ty {
            Ty::Length(s) if s == size => Some(x.name.clone()),
            Ty::Vec(s, _) if s == size => Some(format!("(size {})", x.name)),
            Ty::Matrix(s, _) if s == size => Some(format!("(get$1$2 (size {}))", x.name)),
            Ty::Matrix(_, s) if s == size => Some(format!("(get$2$2 (size {}))", x.name)),
            Ty::Index(_) if Size::Of(x.id) == *size => Some(x.name.clone()),
            Ty::Tuple(parts) => parts.iter().enumerate().find_map(|(k, part)| match part {
                Ty::Vec(s, _) if s == size => Some(format!("(size (get${}${} {}))", k + 1, parts.len(), x.name)),
                _ => None,
            }),
            _ => None,
        };
        match size {
            Size::Constant(n) => Some(n.to_string()),
            Size::Next(before) => Some(format!("(add {} 1)", self.size(before)?)),
            _ => self.visible().iter().find_map(of),
        }
    }

    /// Sizes for which there are terms.
    fn sizes(&self) -> Vec<Size> {
        let mut all: Vec<Size> = [Size::N, Size::M].into_iter().filter(|s| self.size(s).is_some()).collect();
        for x in self.visible() {
            match &x.ty {
                Ty::Index(_) => all.push(Size::Of(x.id)),
                Ty::Vec(s @ Size::Row(_), _) => all.push(s.clone()),
                _ => {}
            }
        }
        if all.first() == Some(&Size::N) {
            all.insert(1, Size::N);
            all.push(Size::Next(Box::new(Size::N)));
        }
        all.extend([2, 1, 3, 0].map(Size::Constant));
        all
    }

    fn some_size(&mut self) -> Size {
        let all = self.sizes();
        self.pick(&all)
    }

    /// Terms for indices below a size.
    fn indices(&self, size: &Size) -> Vec<String> {
        let mut terms = Vec::new();
        let visible = self.visible();
        let bound = |x: &Variable| match &x.ty {
            Ty::Index(s) => Some(s.clone()),
            _ => None,
        };
        for x in &visible {
            let Some(s) = bound(x) else { continue };
            // Below an index, so below what that one is below of.
            let outer = visible.iter().find(|y| s == Size::Of(y.id)).and_then(bound);
            if s == *size || outer.as_ref() == Some(size) {
                terms.push(x.name.clone());
                if let Some(n) = self.size(size) {
                    terms.push(format!("(sub (sub {n} 1) {})", x.name));
                }
            }
            if matches!(size, Size::Next(before) if **before == s) {
                terms.extend([x.name.clone(), format!("(add {} 1)", x.name)]);
            }
        }
        match size {
            Size::Constant(0) => {}
            Size::Constant(n) => terms.extend(["0".into(), (n - 1).to_string()]),
            Size::Next(before) => terms.extend(["0".into()].into_iter().chain(self.size(before))),
            _ => {}
        }
        terms
    }

    fn can_make(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Index(size) => !self.indices(size).is_empty(),
            Ty::Length(size) => self.size(size).is_some(),
            Ty::Tuple(parts) => parts.iter().all(|part| self.can_make(part)),
            Ty::Vec(size, element) => {
                let of_indices = **element == Ty::Index(size.clone());
                self.size(size).is_some() && (of_indices || self.can_make(element))
            }
            Ty::Matrix(m, n) => self.size(m).is_some() && self.size(n).is_some(),
            Float | Integer | Bool | Ty::Count | Row => true,
        }
    }

    /// Whether there are arguments of the type.
    fn can_pass(&self, ty: &Ty) -> bool {
        self.can_make(ty) || !self.known(ty).is_empty()
    }

    fn argument(&mut self, ty: &Ty, depth: usize) -> String {
        if self.can_make(ty) {
            return self.expr(ty, depth);
        }
        let known = self.known(ty);
        self.pick(&known)
    }

    // Types.

    /// A type of what is only used inside.
    fn ty(&mut self, depth: usize) -> Ty {
        match self.choose(if depth == 0 { 5 } else { 12 }) {
            0..=2 => Float,
            3 => Integer,
            4 => Bool,
            5..=7 => vec(self.some_size(), Float),
            8 => Ty::Tuple((0..self.choose(4)).map(|_| self.ty(depth - 1)).collect()),
            9 => vec(self.some_size(), self.ty(depth - 1)),
            10 => Ty::Matrix(self.some_size(), self.some_size()),
            _ => Row,
        }
    }

    fn parameter_type(&mut self) -> Ty {
        let v = || vec(Size::N, Float);
        match self.choose(16) {
            0 | 1 => Float,
            2..=4 => v(),
            5 => vec(Size::M, Float),
            6 => Integer,
            7 => Ty::Tuple(vec![Float, v()]),
            8 => vec(Size::N, Row),
            9 => Ty::Matrix(Size::N, Size::M),
            10 => vec(Size::N, vec(Size::M, Float)),
            11 => vec(Size::N, Ty::Tuple(vec![Float, Float])),
            12 => vec(Size::N, Ty::Index(Size::N)),
            13 => Row,
            14 => vec(Size::N, Bool),
            _ => vec(Size::N, Ty::Tuple(vec![Integer, vec(Size::N, Float)])),
        }
    }

    // Functions.

    fn functions(&mut self, i: usize, is_last: bool) {
        self.scope.clear();
        let mut params: Vec<Ty> = (0..1 + self.choose(3)).map(|_| self.parameter_type()).collect();
        if is_last && !params.iter().any(Ty::varies) {
            params.push(vec(Size::N, Float));
        }
        if !is_last && matches!(params[0], Ty::Vec(Size::N, _)) {
            match self.choose(4) {
                1 => params.push(Ty::Index(Size::N)),
                2 => params.push(Ty::Length(Size::N)),
                _ => {}
            }
        }
        let kind = if is_last { 0 } else { self.choose(8) };
        self.applied = None;
        self.again = None;
        let mut signature =
            Signature { name: format!("f{i}"), params, result: Float, function: None, cost: f64::INFINITY };
        signature.result = self.inside(|cx| {
            signature.params.iter().for_each(|ty| drop(cx.bind(ty)));
            let result = match cx.choose(3) {
                0 => Float,
                _ => cx.ty(2),
            };
            let exported = |size: &Size| matches!(size, Size::N | Size::M | Size::Constant(_) | Size::Next(_));
            if sizes_of(&result).iter().all(exported) { result } else { Float }
        });
        match kind {
            0..=3 => self.plain(signature),
            4 => self.recursive(signature),
            5 => self.mutual(signature),
            _ => {
                let argument = self.pick(&[Float, vec(Size::Constant(2), Float), Ty::Tuple(vec![Float, Integer])]);
                let result = self.pick(&[Float, Float, Ty::Tuple(vec![Float, Float]), vec(Size::Constant(2), Float)]);
                signature.function = Some((argument, result));
                if kind == 6 { self.plain(signature) } else { self.recursive(signature) }
            }
        }
    }

    /// Starts a function: binds its parameters, and gives them as text.
    fn start(&mut self, signature: &Signature) -> String {
        self.scope.clear();
        (self.nodes, self.loops, self.times, self.cost) = (self.options.nodes, 0, 1.0, 1.0);
        let mut params = String::new();
        self.applied = signature.function.clone().map(|(s, t)| ("fun".to_string(), s, t));
        if let Some((s, t)) = &signature.function {
            params.push_str(&format!("(fun : (Lam {} {})) ", s.text(), t.text()));
        }
        let texts: Vec<String> = signature.params.iter().map(|ty| self.parameter(ty)).collect();
        params + &texts.join(" ")
    }

    fn define(&mut self, signature: &Signature, params: &str, body: &str) {
        let text = format!("(def {} {} ({params})\n  {body})\n", signature.name, signature.result.text());
        self.made.text.push_str(&text);
        if signature.function.is_none() {
            self.made.functions.push(signature.clone());
        }
    }

    fn plain(&mut self, mut signature: Signature) {
        let params = self.start(&signature);
        let body = self.block(&signature.result.clone(), self.options.depth);
        self.define(&signature, &params, &body);
        signature.cost = self.cost;
        self.callable.push(signature);
    }

    /// The parameter that counts comes first.
    fn recursive(&mut self, mut signature: Signature) {
        signature.params.insert(0, Ty::Count);
        let (params, body) = self.step(&signature, &signature);
        self.define(&signature, &params, &body);
        signature.cost = self.cost;
        self.callable.push(signature);
    }

    fn mutual(&mut self, mut one: Signature) {
        one.params.insert(0, Ty::Count);
        let mut other = Signature { name: format!("{}'", one.name), ..one.clone() };
        let (params, body) = self.step(&one, &other);
        self.define(&one, &params, &body);
        let cost = self.cost;
        let (params, body) = self.step(&other, &one);
        self.define(&other, &params, &body);
        one.cost = cost + self.cost;
        other.cost = one.cost;
        self.callable.extend([one, other]);
    }

    /// One of two branches ends.
    fn step(&mut self, signature: &Signature, next: &Signature) -> (String, String) {
        self.made.is_recursive = true;
        let params = self.start(signature);
        let count = self.scope[0].name.clone();
        let depth = self.options.depth;
        let end = self.expr(&signature.result.clone(), depth.min(2));
        self.again = Some(Again { signature: next.clone(), calls_left: 2, count: count.clone() });
        let mut body = self.block(&signature.result.clone(), depth);
        if self.again.as_ref().is_some_and(|again| again.calls_left == 2) {
            body = self.inside(|cx| cx.again(&signature.result.clone(), 1)).unwrap_or(body);
        }
        self.again = None;
        (params, format!("(if (lte {count} 0)\n      {end}\n      {body})"))
    }

    /// A call of the recursive function that is being made.
    fn again(&mut self, ty: &Ty, depth: usize) -> Option<String> {
        let Again { signature, calls_left, count } = self.again.clone()?;
        // The parameter may be hidden.
        let visible = self.visible().iter().any(|x| x.name == count && x.ty == Ty::Count);
        if !visible || calls_left == 0 || self.times > 5.0 || !signature.params.iter().all(|p| self.can_pass(p)) {
            return None;
        }
        let at = results(&signature.result, ty)?;
        let used = if self.loops > 0 { calls_left } else { 1 };
        self.again.as_mut().expect("it is there").calls_left -= used;
        self.cost *= if self.loops > 0 { self.times.powi(MOST_CALLS) } else { 2.7 };
        let mut args = vec![format!("(sub {count} 1)")];
        if let Some((f, ..)) = &self.applied {
            args.insert(0, f.clone());
        }
        args.extend(signature.params[1..].to_vec().iter().map(|ty| self.argument(ty, depth)));
        Some(at(format!("({} {})", signature.name, args.join(" "))))
    }

    fn call(&mut self, ty: &Ty, depth: usize) -> Option<String> {
        let fitting: Vec<Signature> = self.callable.iter().rev().cloned().collect();
        let fitting: Vec<Signature> = fitting
            .into_iter()
            .filter(|f| f.cost * self.times + self.cost < 4.0 * MOST_COST && results(&f.result, ty).is_some())
            .filter(|f| f.params.iter().all(|p| self.can_pass(p)))
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let f = self.pick(&fitting);
        self.cost += f.cost * self.times;
        let mut args = Vec::new();
        if let Some((s, t)) = &f.function {
            // What the function does, it may do often.
            let (times, loops) = (self.times, self.loops);
            (self.times, self.loops) = (self.times * 10.0, self.loops + 1);
            args.push(self.inside(|cx| {
                let x = cx.parameter(s);
                format!("(lam {x} {})", cx.expr(t, depth.min(2)))
            }));
            (self.times, self.loops) = (times, loops);
        }
        args.extend(f.params.iter().map(|ty| self.argument(ty, depth)));
        Some(results(&f.result, ty).expect("it fits")(format!("({} {})", f.name, args.join(" "))))
    }

    // Terms.

    /// A term, perhaps with bindings in front.
    fn block(&mut self, ty: &Ty, depth: usize) -> String {
        let count = self.choose(4);
        self.inside(|cx| {
            let bindings: Vec<String> = (0..count).map(|_| cx.binding(depth.saturating_sub(1))).collect();
            let body = cx.expr(ty, depth);
            if bindings.is_empty() { body } else { format!("(let ({}) {body})", bindings.join("\n        ")) }
        })
    }

    fn binding(&mut self, depth: usize) -> String {
        let ty = self.ty(2);
        let rhs = self.expr(&ty, depth);
        match &ty {
            Ty::Tuple(parts) if parts.len() > 1 && self.choose(2) == 0 => {
                let names: Vec<String> = parts.iter().map(|part| self.bind_apart(part)).collect();
                format!("(({}) {rhs})", names.join(" "))
            }
            _ => format!("({} {rhs})", self.bind(&ty)),
        }
    }

    fn expr(&mut self, ty: &Ty, depth: usize) -> String {
        self.cost += self.times;
        if depth == 0 || self.nodes == 0 {
            return self.leaf(ty);
        }
        self.nodes -= 1;
        let d = depth - 1;
        let made = match self.choose(12) {
            0 | 1 => None,
            2..=6 => self.own(ty, d),
            7 => Some(self.block(ty, d)),
            8 => self.again(ty, d).or_else(|| self.call(ty, d)),
            9 => self.call(ty, d).or_else(|| self.apply(ty, d)),
            _ => self.general(ty, d),
        };
        made.unwrap_or_else(|| self.leaf(ty))
    }

    /// A variable, a component of one, or something simple.
    fn leaf(&mut self, ty: &Ty) -> String {
        let known = self.known(ty);
        if !known.is_empty() && self.choose(6) < 5 {
            return self.pick(&known);
        }
        match ty {
            Float => self.pick(&["1.0", "0.5", "-0.75", "1.25"]).into(),
            Integer => self.pick(&["1", "2", "-3", "0"]).into(),
            Bool => self.pick(&["true", "false"]).into(),
            Ty::Count => self.pick(&["2", "1", "3", "0"]).into(),
            Ty::Index(size) => {
                let terms = self.indices(size);
                self.pick(&terms)
            }
            Ty::Length(size) => self.size(size).expect("it can be made"),
            Ty::Tuple(parts) => {
                format!("(tuple{})", parts.iter().map(|part| format!(" {}", self.leaf(part))).collect::<String>())
            }
            Ty::Vec(size, element) => match (size, self.size(size)) {
                (_, Some(n)) if matches!(**element, Ty::Index(_)) => {
                    format!("(build {n} {})", self.family(size, element, element, 0))
                }
                (Size::Constant(n), _) if *n > 0 && !element.is_array_of_arrays() => {
                    let parts: Vec<String> = (0..*n).map(|_| self.leaf(element)).collect();
                    format!("(Vec_init {})", parts.join(" "))
                }
                (_, Some(n)) => format!("(constVec {n} {})", self.leaf(element)),
                (_, None) => known[0].clone(),
            },
            Row => format!("(constVec 2 {})", self.leaf(&Float)),
            Ty::Matrix(m, n) => {
                let (m, n) = (self.size(m), self.size(n));
                let size = [m, n].map(|size| size.expect("it can be made")).join(" ");
                format!("(constVec (tuple {size}) {})", self.leaf(&Float))
            }
        }
    }

    /// A term of any type.
    fn general(&mut self, ty: &Ty, d: usize) -> Option<String> {
        match self.choose(12) {
            0..=2 => {
                let c = self.expr(&Bool, d);
                let (a, b) = (self.block(ty, d), self.expr(ty, d));
                Some(format!("(if {c} {a} {b})"))
            }
            3 => {
                let other = self.ty(1);
                let i = self.choose(2);
                let parts = if i == 0 { vec![ty.clone(), other] } else { vec![other, ty.clone()] };
                Some(format!("(get${}$2 {})", i + 1, self.expr(&Ty::Tuple(parts), d)))
            }
            4 | 5 => self.element(ty, d),
            6..=8 => self.fold(ty, d),
            9 if self.stops => {
                self.made.stops_gradients = true;
                Some(format!("(stop_gradient {})", self.expr(ty, d)))
            }
            9 => {
                let n = self.some_size();
                let n = self.size(&n)?;
                Some(format!("(assert (gte {n} 0) {})", self.expr(ty, d)))
            }
            _ => self.apply(ty, d),
        }
    }

    /// An application of the parameter that is a function.
    fn apply(&mut self, ty: &Ty, d: usize) -> Option<String> {
        let (f, s, t) = self.applied.clone()?;
        let at = results(&t, ty)?;
        self.cost += self.times * 20.0;
        Some(at(format!("({f} {})", self.expr(&s, d))))
    }

    fn index_of(&mut self, size: &Size) -> Option<String> {
        let terms = self.indices(size);
        (!terms.is_empty()).then(|| self.pick(&terms))
    }

    /// An element of a tensor: at an index in range, or, where it may not be, under a condition.
    fn element(&mut self, ty: &Ty, d: usize) -> Option<String> {
        let sizes = self.sizes();
        let (sure, unsure): (Vec<Size>, Vec<Size>) = sizes.into_iter().partition(|s| !self.indices(s).is_empty());
        if !sure.is_empty() && (unsure.is_empty() || self.choose(3) > 0) {
            let size = self.pick(&sure);
            let i = self.index_of(&size)?;
            return Some(format!("(index {i} {})", self.expr(&vec(size, ty.clone()), d)));
        }
        let size = self.pick(&unsure);
        let (i, v) = (self.expr(&Integer, d.min(1)), self.expr(&vec(size.clone(), ty.clone()), d));
        Some(self.inside(|cx| {
            // Not in the scope of each other.
            let k = cx.bind(&Integer);
            let w = cx.bind_apart(&vec(size, ty.clone()));
            let otherwise = cx.leaf(ty);
            let inside = format!("(and (gte {k} 0) (lt {k} (size {w})))");
            let (pair, of) = (format!("({k} {w})"), format!("(tuple {i} {v})"));
            format!("(let ({pair} {of}) (if {inside} (index {k} {w}) {otherwise}))")
        }))
    }

    /// The elements of a loop: their type, and a vector of them.
    fn elements(&mut self, d: usize) -> Option<(Size, Ty, String)> {
        let size = self.some_size();
        if !self.may_loop(&size) {
            return None;
        }
        if self.choose(4) == 3 {
            let n = self.size(&size)?;
            return Some((size.clone(), Ty::Index(size), format!("(build {n} (lam (i : Integer) i))")));
        }
        let ty = self.ty(1);
        let v = self.expr(&vec(size.clone(), ty.clone()), d);
        Some((size, ty, v))
    }

    /// A function from a state and an element to a state.
    fn stepping(&mut self, state: &Ty, size: &Size, element: &Ty, d: usize) -> String {
        self.in_loop(size, |cx| {
            let pair = Ty::Tuple(vec![state.clone(), element.clone()]);
            let t = cx.bind(&pair);
            let parameter = format!("(lam ({t} : {})", pair.text());
            if cx.choose(2) == 0 {
                let (a, x) = (cx.bind_apart(state), cx.bind_apart(element));
                let body = cx.block(state, d);
                return format!("{parameter} (let (({a} {x}) {t}) {body}))");
            }
            format!("{parameter} {})", cx.block(state, d))
        })
    }

    fn fold(&mut self, ty: &Ty, d: usize) -> Option<String> {
        let (size, element, v) = self.elements(d.min(2))?;
        let start = self.expr(ty, d.min(1));
        let f = self.stepping(ty, &size, &element, d);
        Some(format!("(fold {f} {start} {v})"))
    }

    /// `(lam (x : T) e)`, in a loop.
    fn family(&mut self, size: &Size, parameter: &Ty, ty: &Ty, d: usize) -> String {
        self.in_loop(size, |cx| {
            let x = cx.parameter(parameter);
            format!("(lam {x} {})", cx.block(ty, d))
        })
    }

    /// An operation that gives the type.
    fn own(&mut self, ty: &Ty, d: usize) -> Option<String> {
        match ty {
            Float => self.float(d),
            Integer => self.integer(d),
            Bool => self.bool(d),
            Ty::Index(size) => self.index_of(size),
            Ty::Length(_) | Ty::Count => None,
            Ty::Tuple(_) if ty.is_vector() && self.choose(3) == 2 => self.vector_space(ty, d),
            Ty::Tuple(parts) => Some(format!(
                "(tuple{})",
                parts.iter().map(|part| format!(" {}", self.expr(part, d))).collect::<String>()
            )),
            Ty::Vec(size, element) => self.vec(ty, size, element, d),
            Row => {
                let size = self.some_size();
                Some(self.expr(&vec(size, Float), d))
            }
            Ty::Matrix(m, n) => self.matrix(ty, m, n, d),
        }
    }

    fn floats<const K: usize>(&mut self, d: usize) -> [String; K] {
        [(); K].map(|_| self.expr(&Float, d))
    }

    /// Products have a bounded factor, so that values stay of moderate size.
    fn float(&mut self, d: usize) -> Option<String> {
        Some(match self.choose(22) {
            0 => {
                let [a, b] = self.floats(d);
                format!("(add {a} {b})")
            }
            1 => {
                let [a, b] = self.floats(d);
                format!("(sub {a} {b})")
            }
            2 | 3 => {
                let [a, b] = self.floats(d);
                format!("(mul (tanh {a}) {b})")
            }
            4 => {
                let [a, b] = self.floats(d);
                format!("(div {a} (add 2.0 (sin {b})))")
            }
            5 => {
                let f = self.pick(&["exp", "cosh", "sinh"]);
                let [a] = self.floats(d);
                format!("({f} (sin {a}))")
            }
            6 | 7 => {
                let f = self.pick(&["cos", "tanh", "atan", "erf", "neg", "stop"]);
                let [a] = self.floats(d);
                if f == "stop" { format!("(pow (sin {a}) 2)") } else { format!("({f} {a})") }
            }
            8 | 9 => {
                let sums = vec(self.some_size(), Float);
                let ty = self.pick(&[sums, Row]);
                format!("(sum {})", self.expr(&ty, d))
            }
            10 => {
                let n = self.some_size();
                let ty = self.pick(&[vec(n.clone(), Float), vec(n, Ty::Tuple(vec![Float, Float]))]);
                format!("(ts_dot {} {})", self.expr(&ty, d), self.expr(&ty, d))
            }
            11..=13 => return self.element(&Float, d),
            14 | 15 => return self.fold(&Float, d),
            16 => return self.largest("max", d),
            17 => {
                let (m, n) = (self.some_size(), self.some_size());
                let (i, j) = (self.index_of(&m)?, self.index_of(&n)?);
                format!("(index (tuple {i} {j}) {})", self.expr(&Ty::Matrix(m, n), d))
            }
            18 => {
                let f = self.pick(&["to_float", "bool_to_float"]);
                let ty = if f == "to_float" { Integer } else { Bool };
                format!("(mul 0.25 ({f} {}))", self.expr(&ty, d))
            }
            19 => {
                let (m, n) = (self.some_size(), self.some_size());
                format!("(sum {})", self.expr(&Ty::Matrix(m, n), d))
            }
            _ => return self.sumbuild(&Float, d),
        })
    }

    fn sumbuild(&mut self, ty: &Ty, d: usize) -> Option<String> {
        let size = self.some_size();
        if !self.may_loop(&size) {
            return None;
        }
        let n = self.size(&size)?;
        Some(format!("(sumbuild {n} {})", self.family(&size, &Ty::Index(size.clone()), ty, d)))
    }

    /// `max` and `imax`, of no vector that is empty.
    fn largest(&mut self, f: &str, d: usize) -> Option<String> {
        let sure: Vec<Size> = self
            .sizes()
            .into_iter()
            .filter(|s| matches!(s, Size::Next(_)) || matches!(s, Size::Constant(n) if *n > 0))
            .collect();
        let size = self.pick(&sure);
        Some(format!("({f} {})", self.expr(&vec(size, Float), d)))
    }

    fn integer(&mut self, d: usize) -> Option<String> {
        Some(match self.choose(10) {
            0 | 1 => {
                let f = self.pick(&["add", "sub"]);
                format!("({f} {} {})", self.expr(&Integer, d), self.expr(&Integer, d))
            }
            2 => format!("(neg {})", self.expr(&Integer, d)),
            3 => {
                let n = self.some_size();
                let ty = vec(n, self.ty(0));
                format!("(size {})", self.expr(&ty, d))
            }
            4 => return self.largest("imax", d),
            5 => {
                let ty = vec(self.some_size(), Integer);
                format!("(sum {})", self.expr(&ty, d))
            }
            6 => return self.sumbuild(&Integer, d),
            7 => {
                let all = self.sizes();
                let size = self.pick(&all);
                self.index_of(&size)?
            }
            _ => return self.element(&Integer, d),
        })
    }

    fn bool(&mut self, d: usize) -> Option<String> {
        Some(match self.choose(8) {
            0..=3 => {
                let f = self.pick(&["lt", "eq", "gte", "ne", "gt", "lte"]);
                format!("({f} {} {})", self.expr(&Integer, d.min(1)), self.expr(&Integer, d.min(1)))
            }
            4 | 5 => {
                let f = self.pick(&["lt", "gt"]);
                let [a, b] = self.floats(d);
                format!("({f} {a} (add 0.123 {b}))")
            }
            6 => {
                let f = self.pick(&["and", "or"]);
                format!("({f} {} {})", self.expr(&Bool, d), self.expr(&Bool, d))
            }
            _ => format!("(not {})", self.expr(&Bool, d)),
        })
    }

    /// Sums, multiples and the like.
    fn vector_space(&mut self, ty: &Ty, d: usize) -> Option<String> {
        Some(match self.choose(6) {
            0 => format!("(ts_add {} {})", self.expr(ty, d), self.expr(ty, d)),
            1 => {
                let [k] = self.floats(d.min(2));
                format!("(ts_scale (tanh {k}) {})", self.expr(ty, d))
            }
            2 => format!("(ts_neg {})", self.expr(ty, d)),
            3 => {
                let n = self.some_size();
                format!("(sum {})", self.expr(&vec(n, ty.clone()), d))
            }
            4 if matches!(ty, Ty::Vec(..)) => format!("(sub {} {})", self.expr(ty, d), self.expr(ty, d)),
            4 => format!("(ts_add {0} (ts_neg {0}))", self.expr(ty, d)),
            _ => return self.sumbuild(ty, d),
        })
    }

    fn vec(&mut self, ty: &Ty, size: &Size, element: &Ty, d: usize) -> Option<String> {
        let choice = if matches!(element, Ty::Index(_)) { 0 } else { self.choose(18) };
        if choice < 13 && choice != 5 && !self.may_loop(size) {
            return None;
        }
        let n = self.size(size);
        Some(match choice {
            0..=2 => format!("(build {} {})", n?, self.family(size, &Ty::Index(size.clone()), element, d)),
            3 | 4 => {
                let from = self.ty(1);
                let v = self.expr(&vec(size.clone(), from.clone()), d);
                format!("(map {} {v})", self.family(size, &from, element, d))
            }
            5 => format!("(constVec {} {})", n?, self.expr(element, d)),
            6 => {
                let (a, b) = (self.ty(0), self.ty(1));
                let (v, w) = (self.expr(&vec(size.clone(), a.clone()), d), self.expr(&vec(size.clone(), b.clone()), d));
                format!("(map2 {} {v} {w})", self.family(size, &Ty::Tuple(vec![a, b]), element, d))
            }
            7..=9 => match size {
                Size::Next(before) => {
                    if !self.may_loop(before) {
                        return None;
                    }
                    let f = self.pick(&["scanl", "scanr"]);
                    let from = self.ty(1);
                    let v = self.expr(&vec((**before).clone(), from.clone()), d.min(2));
                    let start = self.expr(element, d.min(1));
                    format!("({f} {} {start} {v})", self.stepping(element, before, &from, d))
                }
                _ if n.is_some() => {
                    let f = self.pick(&["shift1L", "shift1R"]);
                    let longer = vec(Size::Next(Box::new(size.clone())), element.clone());
                    format!("({f} {})", self.expr(&longer, d))
                }
                _ => return None,
            },
            10 | 11 if element.is_scalar() && (element.is_vector() || *element == Integer) => {
                let count = self.some_size();
                if !self.may_loop(&count) {
                    return None;
                }
                let pairs = self.in_loop(&count, |cx| {
                    let k = cx.parameter(&Ty::Index(count.clone()));
                    let i = cx.index_of(size)?;
                    Some(format!("(lam {k} (tuple {i} {}))", cx.block(element, d)))
                })?;
                format!("(buildFromSparse {} {} {pairs})", n?, self.size(&count)?)
            }
            12 => match element {
                Ty::Vec(columns, part) if part.is_vector() => {
                    let columns = self.size(columns)?;
                    format!("(diag {} {columns} {})", n?, self.family(size, &Ty::Index(size.clone()), part, d))
                }
                _ => {
                    let other = self.ty(1);
                    let i = self.choose(2);
                    let parts = if i == 0 { vec![element.clone(), other] } else { vec![other, element.clone()] };
                    let pairs = self.expr(&vec(size.clone(), Ty::Tuple(parts)), d);
                    format!("(get${}$2 (unzip {pairs}))", i + 1)
                }
            },
            13 if element.is_vector() => {
                let i = self.expr(&Integer, d.min(1));
                format!("(deltaVec {} {i} {})", n?, self.expr(element, d))
            }
            14 if *element == Float => match self.choose(4) {
                0 => {
                    let columns = self.some_size();
                    let m = self.expr(&Ty::Matrix(size.clone(), columns.clone()), d);
                    // Both sizes of the result's matrix have to be known where it is made.
                    n?;
                    format!("(mul {m} {})", self.expr(&vec(columns, Float), d))
                }
                1 => format!("(sub {} {})", self.expr(ty, d), self.expr(&Float, d)),
                2 => format!("(mul 0.5 {})", self.expr(ty, d)),
                _ => format!("(exp (ts_scale 0.1 (map (lam (x : Float) (sin x)) {})))", self.expr(ty, d)),
            },
            _ if ty.is_vector() => return self.vector_space(ty, d),
            _ => match size {
                Size::Constant(k) if *k > 0 => {
                    let parts: Vec<String> = (0..*k).map(|_| self.expr(element, d)).collect();
                    format!("(Vec_init {})", parts.join(" "))
                }
                _ => return None,
            },
        })
    }

    fn matrix(&mut self, ty: &Ty, m: &Size, n: &Size, d: usize) -> Option<String> {
        if !self.may_loop(m) {
            return None;
        }
        Some(match self.choose(4) {
            0 | 1 => {
                let size = format!("(tuple {} {})", self.size(m)?, self.size(n)?);
                let body = self.in_loop(m, |cx| {
                    cx.in_loop(n, |cx| {
                        let pair = Ty::Tuple(vec![Ty::Index(m.clone()), Ty::Index(n.clone())]);
                        let ij = cx.bind(&pair);
                        let (i, j) = (cx.bind(&Ty::Index(m.clone())), cx.bind(&Ty::Index(n.clone())));
                        let body = cx.block(&Float, d);
                        format!("(lam ({ij} : (Tuple Integer Integer)) (let (({i} {j}) {ij}) {body}))")
                    })
                });
                format!("(build {size} {body})")
            }
            2 => {
                let v = self.expr(ty, d);
                format!("(map {} {v})", self.family(m, &Float, &Float, d))
            }
            _ => return self.vector_space(ty, d),
        })
    }
}

impl Ty {
    fn is_array_of_arrays(&self) -> bool {
        matches!(self, Ty::Vec(..) | Ty::Matrix(..))
    }
}

fn count_of(size: &Size) -> f64 {
    match size {
        Size::Constant(n) => (*n).max(1) as f64,
        _ => 5.0,
    }
}

fn sizes_of(ty: &Ty) -> Vec<Size> {
    match ty {
        Ty::Index(size) | Ty::Length(size) => vec![size.clone()],
        Ty::Vec(size, element) => [vec![size.clone()], sizes_of(element)].concat(),
        Ty::Tuple(parts) => parts.iter().flat_map(sizes_of).collect(),
        Ty::Matrix(m, n) => vec![m.clone(), n.clone()],
        Float | Integer | Bool | Ty::Count | Row => vec![],
    }
}

/// How a result gives a value of a type: itself, or a component.
fn results(result: &Ty, ty: &Ty) -> Option<Box<dyn Fn(String) -> String>> {
    if result.fits(ty) {
        return Some(Box::new(|call| call));
    }
    let Ty::Tuple(parts) = result else { return None };
    let (k, n) = (parts.iter().position(|part| part.fits(ty))?, parts.len());
    Some(Box::new(move |call| format!("(get${}${n} {call})", k + 1)))
}
