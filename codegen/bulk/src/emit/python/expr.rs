//! The text of each operation.

use super::printer::{ATOM, Printer, Term};
use crate::ir::{Fun, Id, Op, Reduction, Scalar, Spec};
use lm::libm::Libm;
use lm::term::Constant;

/// Longer texts get a variable.
const LONG: usize = 44;

/// A place along one dimension, in brackets.
enum Along {
    All,
    One(String),
    Part { start: Option<Id>, size: Id },
}

impl Printer<'_, '_> {
    /// Returns a node as an operand: its variable, or its text.
    pub(super) fn term(&mut self, id: Id) -> Term {
        if let Some(name) = self.variables.get(&id) {
            return Term::atom(name.clone());
        }
        let term = self.text_of(id);
        let is_view = matches!(self.function.node(id).op, Op::Constant(_) | Op::Spread(_));
        if is_view || (self.uses[id.index()] <= 1 && term.text.len() <= LONG) {
            return term;
        }
        self.assign(id, term)
    }

    /// Gives a node a variable.
    pub(super) fn assign(&mut self, id: Id, term: Term) -> Term {
        let name = match self.function.node(id).name.clone() {
            Some(name) => self.names.fresh(&name),
            None => self.names.temporary(),
        };
        self.line(format!("{name} = {}", term.text));
        self.variables.insert(id, name.clone());
        Term::atom(name)
    }

    fn thick(&self, id: Id) -> &[bool] {
        &self.thick[id.index()]
    }

    fn is_whole(&self, id: Id) -> bool {
        self.thick(id).iter().all(|&thick| thick)
    }

    /// Returns a node with all its elements.
    pub(super) fn whole(&mut self, id: Id) -> Term {
        if self.is_whole(id) {
            return self.term(id);
        }
        let dims = self.function.node(id).dims.clone();
        let shape = self.shape(&dims);
        let node = self.function.node(id);
        if let (Op::Spread(axes), Op::Constant(c)) = (&node.op, &self.function.node(node.args[0]).op)
            && axes.is_empty()
        {
            let kind = self.dtype(node.scalar);
            return Term::atom(match c {
                Constant::Float(x) if x.to_bits() == 0 => format!("{}({shape})", self.np("zeros")),
                _ => {
                    let number = self.text_of(node.args[0]).text;
                    format!("{}({shape}, {number}, dtype={kind})", self.np("full"))
                }
            });
        }
        let text = self.term(id).text;
        Term::atom(format!("{}({text}, {shape})", self.np("broadcast_to")))
    }

    pub(super) fn dtype(&self, scalar: Scalar) -> &'static str {
        match scalar {
            Scalar::Float => "float",
            Scalar::Integer => "int",
            Scalar::Bool => "bool",
        }
    }

    /// Returns sizes as a tuple.
    pub(super) fn shape(&mut self, dims: &[Id]) -> String {
        let sizes: Vec<String> = dims.iter().map(|&size| self.size(size)).collect();
        match sizes.as_slice() {
            [one] => format!("({one},)"),
            several => format!("({})", several.join(", ")),
        }
    }

    /// Returns a size as a Python number.
    pub(super) fn size(&mut self, id: Id) -> String {
        let term = self.term(id);
        if self.is_fixed(id) { term.text } else { format!("int({})", term.text) }
    }

    /// Returns the text of a node, whatever variable it has.
    pub(super) fn text_of(&mut self, id: Id) -> Term {
        let node = self.function.node(id).clone();
        let args = node.args.clone();
        match &node.op {
            Op::Constant(c) => self.constant(c),
            Op::Each(fun) if self.is_fixed(id) => self.number(*fun, &args),
            Op::Each(fun) => self.each(*fun, &args, id),
            Op::Iota => {
                let n = self.size(node.dims[0]);
                Term::atom(format!("{}({n})", self.np("arange")))
            }
            Op::Spread(axes) => self.spread(args[0], axes, node.dims.len()),
            Op::Permute(axes) => {
                let whole = self.whole(args[0]).within(ATOM);
                Term::atom(match axes.as_slice() {
                    [1, 0] => format!("{whole}.T"),
                    _ => format!("{}({whole}, {axes:?})", self.np("transpose")),
                })
            }
            Op::Reduce(how, axis) => self.reduce(*how, args[0], *axis),
            Op::Slice(axis) => {
                let part = Along::Part { start: Some(args[1]), size: node.dims[*axis] };
                self.indexed(args[0], *axis, part)
            }
            Op::Window(axis) => {
                self.module.needed.insert("_window");
                let (whole, start) = (self.whole(args[0]).text, self.size(args[1]));
                let n = self.size(node.dims[*axis]);
                Term::atom(format!("_window({whole}, {axis}, {start}, {n})"))
            }
            Op::Reverse(axis) => self.indexed(args[0], *axis, Along::One("::-1".into())),
            Op::At(axis) => {
                let place = self.term(args[1]).text;
                match self.is_inside(args[1], args[0], *axis) {
                    true => self.indexed(args[0], *axis, Along::One(place)),
                    false => self.elements(args[0], *axis, &[place]),
                }
            }
            Op::Gather(axis) => {
                let places = self.places(&args[1..]);
                if self.is_jax() || args[1..].iter().any(|&place| self.may_be_of_nothing(place)) {
                    return self.elements(args[0], *axis, &places);
                }
                let whole = self.whole(args[0]).within(ATOM);
                let before = ":, ".repeat(*axis);
                Term::atom(format!("{whole}[{before}{}]", places.join(", ")))
            }
            Op::Scatter => self.scatter(&args),
            Op::Stack(axis) | Op::Concat(axis) => {
                let name = if matches!(node.op, Op::Stack(_)) { "stack" } else { "concatenate" };
                let parts: Vec<String> = args.iter().map(|&arg| self.whole(arg).text).collect();
                let axis = if *axis == 0 { String::new() } else { format!(", axis={axis}") };
                Term::atom(format!("{}([{}]{axis})", self.np(name), parts.join(", ")))
            }
            Op::Contract(spec) => self.contract(spec, args[0], args[1]),
            Op::Input(_) | Op::InputSize(..) | Op::Parameter | Op::If(_) | Op::Loop(_) | Op::Part(_) | Op::Check(_) => {
                unreachable!("{:?} has a variable", node.op)
            }
            Op::Guarded(_) => {
                unreachable!("{:?} is for derivations", node.op)
            }
        }
    }

    fn constant(&self, c: &Constant) -> Term {
        match c {
            Constant::Float(x) if x.is_nan() => Term::atom(self.np("nan")),
            Constant::Float(x) if x.is_infinite() && *x > 0.0 => Term::atom(self.np("inf")),
            Constant::Float(x) if x.is_infinite() => Term { text: format!("-{}", self.np("inf")), binds: 11 },
            Constant::Float(x) => {
                let text = format!("{x:?}");
                Term { binds: if text.starts_with('-') { 11 } else { ATOM }, text }
            }
            Constant::Integer(n) => Term { text: n.to_string(), binds: if *n < 0 { 11 } else { ATOM } },
            Constant::Bool(b) => Term::atom(if *b { "True" } else { "False" }),
            Constant::String(_) => unreachable!("text is refused"),
        }
    }

    fn infix(&mut self, op: &str, binds: u8, args: &[Id]) -> Term {
        let (left, right) = (self.term(args[0]), self.term(args[1]));
        // Comparisons do not chain; others associate to the left.
        let first = if binds == 4 { 5 } else { binds };
        Term { text: format!("{} {op} {}", left.within(first), right.within(binds + 1)), binds }
    }

    fn call(&mut self, name: String, args: &[Id]) -> Term {
        let args: Vec<String> = args.iter().map(|&arg| self.term(arg).text).collect();
        Term::atom(format!("{name}({})", args.join(", ")))
    }

    /// Returns an operation on Python numbers.
    fn number(&mut self, fun: Fun, args: &[Id]) -> Term {
        match fun {
            Fun::And => self.infix("and", 2, args),
            Fun::Or => self.infix("or", 1, args),
            Fun::Not => {
                let of = self.term(args[0]);
                Term { text: format!("not {}", of.within(3)), binds: 3 }
            }
            Fun::Abs => self.call("abs".into(), args),
            Fun::Div => self.helper("_quotient", args),
            Fun::Select => {
                let parts: Vec<String> = args.iter().map(|&arg| self.term(arg).within(1)).collect();
                Term { text: format!("{} if {} else {}", parts[1], parts[0], parts[2]), binds: 0 }
            }
            other => self.operation(other, args),
        }
    }

    fn helper(&mut self, name: &'static str, args: &[Id]) -> Term {
        self.module.needed.insert(name);
        self.call(name.into(), args)
    }

    fn each(&mut self, fun: Fun, args: &[Id], id: Id) -> Term {
        match fun {
            Fun::And => self.infix("&", 7, args),
            Fun::Or => self.infix("|", 5, args),
            Fun::Not => self.call(self.np("logical_not"), args),
            Fun::Abs => self.call(self.np("abs"), args),
            Fun::Div if self.function.node(id).scalar == Scalar::Integer => self.helper("_quotient", args),
            Fun::Select => self.call(self.np("where"), args),
            other => self.operation(other, args),
        }
    }

    fn operation(&mut self, fun: Fun, args: &[Id]) -> Term {
        match fun {
            Fun::Add => self.infix("+", 9, args),
            Fun::Sub => self.infix("-", 9, args),
            Fun::Mul => self.infix("*", 10, args),
            Fun::Div => self.infix("/", 10, args),
            Fun::Gt => self.infix(">", 4, args),
            Fun::Lt => self.infix("<", 4, args),
            Fun::Gte => self.infix(">=", 4, args),
            Fun::Lte => self.infix("<=", 4, args),
            Fun::Eq => self.infix("==", 4, args),
            Fun::Ne => self.infix("!=", 4, args),
            Fun::Neg => {
                let of = self.term(args[0]);
                Term { text: format!("-{}", of.within(11)), binds: 11 }
            }
            Fun::Sqrt => self.call(self.np("sqrt"), args),
            Fun::Powi => self.helper("_powi", args),
            Fun::ToFloat | Fun::BoolToFloat => self.call(self.np("float64"), args),
            Fun::ToInteger => self.helper("_to_integer", args),
            Fun::Hash => self.helper("_hash", args),
            Fun::Libm(f) => match function(f) {
                Ok(name) => self.call(self.np(name), args),
                Err(helper) => self.helper(helper, args),
            },
            Fun::And | Fun::Or | Fun::Not | Fun::Abs | Fun::Select => unreachable!("{fun:?} has a text of its own"),
            Fun::Stop | Fun::Used => unreachable!("{fun:?} is for derivations"),
        }
    }

    fn spread(&mut self, inner: Id, axes: &[usize], rank: usize) -> Term {
        let thick = self.thick(inner).to_vec();
        let term = self.term(inner);
        let Some(first) = thick.iter().position(|&thick| thick) else { return term };
        let kept = &axes[first..];
        let index: Vec<&str> = (kept[0]..rank).map(|axis| if kept.contains(&axis) { ":" } else { "None" }).collect();
        match index.contains(&"None") {
            true => Term::atom(format!("{}[{}]", term.within(ATOM), index.join(", "))),
            false => term,
        }
    }

    fn reduce(&mut self, how: Reduction, of: Id, axis: usize) -> Term {
        let thick = self.thick(of).to_vec();
        let rank = thick.len();
        let (term, first) = match thick[axis] {
            true => (self.term(of), thick.iter().position(|&thick| thick).expect("the axis itself")),
            false => (self.whole(of), 0),
        };
        let axis = if rank == 1 { String::new() } else { format!(", axis={}", axis - first) };
        let name = match how {
            Reduction::Sum => "sum",
            Reduction::All => "all",
            Reduction::Max | Reduction::Largest => "max",
            Reduction::Argmax => {
                self.module.needed.insert("_argmax");
                return Term::atom(format!("_argmax({}{axis})", term.text));
            }
        };
        let initial = match how {
            Reduction::Max => ", initial=0".to_string(),
            Reduction::Largest => format!(", initial=-{}", self.np("inf")),
            _ => String::new(),
        };
        Term::atom(format!("{}({}{axis}{initial})", self.np(name), term.text))
    }

    /// Returns an array with brackets behind it that say something of one axis.
    fn indexed(&mut self, of: Id, axis: usize, along: Along) -> Term {
        let whole = self.whole(of).within(ATOM);
        let part = self.along(along);
        Term::atom(format!("{whole}[{}{part}]", ":, ".repeat(axis)))
    }

    fn along(&mut self, along: Along) -> String {
        match along {
            Along::All => ":".into(),
            Along::One(place) => place,
            Along::Part { start, size } => {
                let n = self.term(size).within(9);
                let Some(start) = start.filter(|&start| self.function.number(start) != Some(0)) else {
                    return format!(":{n}");
                };
                if self.is_jax() && !self.is_fixed(start) {
                    let start = self.term(start).within(10);
                    return format!("{start} + jnp.arange({n})");
                }
                let start = self.term(start).within(9);
                format!("{start}:{start} + {n}")
            }
        }
    }

    /// Returns indices that broadcast to the size of all of them.
    fn places(&mut self, places: &[Id]) -> Vec<String> {
        let mut all = vec![false; self.function.node(places[0]).dims.len()];
        for &place in places {
            all.iter_mut().zip(self.thick(place)).for_each(|(all, one)| *all |= *one);
        }
        let is_covered = all.iter().all(|&thick| thick);
        let text = |printer: &mut Self, (k, &place): (usize, &Id)| match k == 0 && !is_covered {
            true => printer.whole(place).text,
            false => printer.term(place).text,
        };
        places.iter().enumerate().map(|place| text(self, place)).collect()
    }

    /// Returns elements of an array that may have none.
    fn elements(&mut self, of: Id, axis: usize, places: &[String]) -> Term {
        self.module.needed.insert("_elements");
        let whole = self.whole(of).text;
        Term::atom(format!("_elements({whole}, {axis}, ({},))", places.join(", ")))
    }

    /// Returns whether a place is known to be in an array, by a check that came before, or by what it is.
    fn is_inside(&self, place: Id, of: Id, axis: usize) -> bool {
        let function = self.function;
        let size = function.node(of).dims[axis];
        match &function.node(place).op {
            Op::Reduce(Reduction::Argmax, along) => {
                let searched = function.node(function.node(place).args[0]).dims[*along];
                searched == size && self.some.contains(&size)
            }
            // JAX traces what is not reached, and there arrays may have no elements.
            _ if self.is_jax() => false,
            Op::Constant(Constant::Integer(k)) if function.number(size).is_some_and(|n| *k < n) => true,
            _ => self.below.contains(&(place, size)) || self.counts.get(&place) == Some(&size),
        }
    }

    /// Returns whether an index stands for a place that nothing uses, so that there may be no such place.
    fn may_be_of_nothing(&self, place: Id) -> bool {
        let node = self.function.node(place);
        match &node.op {
            Op::Spread(_) => self.may_be_of_nothing(node.args[0]),
            // A place that is chosen by a condition, or one number whether it holds or not.
            Op::Each(Fun::Select) | Op::Constant(_) => true,
            _ => false,
        }
    }

    fn scatter(&mut self, args: &[Id]) -> Term {
        let (base, x) = (args[0], args[1]);
        let (index, x, has_one) = match self.runs(&args[2..], args[0]) {
            Some((parts, order)) => {
                let has_one = parts.len() > order.len();
                let rest = order.len()..self.function.node(x).dims.len();
                let is_sorted = order.is_sorted();
                let index: Vec<String> = parts.into_iter().map(|part| self.along(part)).collect();
                let order: Vec<usize> = order.into_iter().chain(rest).collect();
                let x = match is_sorted {
                    true => self.term(x).text,
                    false => {
                        let whole = self.whole(x).text;
                        format!("{}({whole}, {order:?})", self.np("transpose"))
                    }
                };
                (index, x, has_one)
            }
            None => (self.places(&args[2..]), self.term(x).text, false),
        };
        let base = self.whole(base);
        let index = index.join(", ");
        match self.is_jax() && index.contains(':') && !has_one && !index.contains('[') {
            true => Term::atom(format!("{}.at[{index}].add({x})", base.within(ATOM))),
            false => {
                self.module.needed.insert("_add_at");
                let index =
                    if index.contains(':') { format!("{}[{index}]", self.np("s_")) } else { format!("({index},)") };
                Term::atom(format!("_add_at({}, {index}, {x})", base.text))
            }
        }
    }

    /// Returns indices as parts of the array, if each runs along an axis of its own or along none, and the order of these
    /// axes.
    fn runs(&mut self, places: &[Id], of: Id) -> Option<(Vec<Along>, Vec<usize>)> {
        let rank = self.function.node(places[0]).dims.len();
        let (mut parts, mut order) = (Vec::new(), Vec::new());
        for (k, &place) in places.iter().enumerate() {
            let line = crate::emit::line::of(self.function, place)?;
            let Some(axis) = line.axis else {
                let place = self.term(line.start?).text;
                parts.push(Along::One(place));
                continue;
            };
            if order.contains(&axis) || line.start.is_some_and(|start| self.is_jax() && !self.is_fixed(start)) {
                return None;
            }
            order.push(axis);
            let size = self.function.node(place).dims[axis];
            parts.push(match line.start {
                None if size == self.function.node(of).dims[k] => Along::All,
                start => Along::Part { start, size },
            });
        }
        (rank > 0 && order.len() == rank).then_some((parts, order))
    }

    fn contract(&mut self, spec: &Spec, a: Id, b: Id) -> Term {
        let (left, right) = (self.whole(a), self.whole(b));
        let product = |left: String, right: String| Term { text: format!("{left} @ {right}"), binds: 10 };
        let transposed = |term: &Term| format!("{}.T", term.within(ATOM));
        match spec.einsum().as_str() {
            "a,a->" | "ab,b->a" | "a,ab->b" | "ab,bc->ac" => product(left.within(10), right.within(11)),
            "ab,a->b" => product(right.within(10), left.within(11)),
            "a,ba->b" => product(right.within(10), left.within(11)),
            "ab,cb->ac" => product(left.within(10), transposed(&right)),
            "ab,ac->bc" => product(transposed(&left), right.within(11)),
            "ab,cb->ca" => product(right.within(10), transposed(&left)),
            "ab,ca->cb" => product(right.within(10), left.within(11)),
            "ab,ac->cb" => product(transposed(&right), left.within(11)),
            einsum => {
                let optimize = if self.is_jax() { "" } else { ", optimize=True" };
                let name = self.np("einsum");
                Term::atom(format!("{name}(\"{einsum}\", {}, {}{optimize})", left.text, right.text))
            }
        }
    }
}

/// Returns the name of a function of the C library in both libraries, or the run-time support that has it.
fn function(f: Libm) -> Result<&'static str, &'static str> {
    Ok(match f {
        Libm::Log => "log",
        Libm::Exp => "exp",
        Libm::Expm1 => "expm1",
        Libm::Sin => "sin",
        Libm::Cos => "cos",
        Libm::Tan => "tan",
        Libm::Sinh => "sinh",
        Libm::Cosh => "cosh",
        Libm::Tanh => "tanh",
        Libm::Asin => "arcsin",
        Libm::Acos => "arccos",
        Libm::Atan => "arctan",
        Libm::Atan2 => "arctan2",
        Libm::Pow => "power",
        Libm::Erf => return Err("_erf"),
        Libm::Lgamma => return Err("_lgamma"),
    })
}
