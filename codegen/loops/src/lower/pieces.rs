//! Makes functions for C of those whose arguments or results C gets in pieces.
//!
//! ```text
//! [pieces f](p1, .., pn) = let r = f(whole(p1), .., whole(pn)) in pieces(r)
//!
//! type                   whole(pieces)                                        pieces(v)
//! Tensor d (T1, T2)      build(size(v1), \i. (v1[i], v2[i]))                  build(size(v), \i. v[i].1), ..
//! Vec (Vec T)            build(size(o) - 1, \i.                               o = scanl(+, 0, \i. size(v[i]))
//!                          build(o[i+1] - o[i], \j. each[o[i] + j]))          each = build(o[n], \k. v[i][k - o[i]])
//! a tangent that         the zero of the shape that the argument or           none
//! cannot vary            the result of the function has
//! ```
//!
//! In `each`, i is the row of element k: the number of rows that end before it or at it. A sum of marks at the ends of
//! rows counts them.

use crate::constant::{has_constant, is_constant};
use crate::interface::{is_whole, pieces};
use crate::labels::{Label, Labels, Like, View};
use lm::prim::Prim;
use lm::shape;
use lm::term::{Binding, Def, Derivative, Expr, Fun, Kind, Op, Path, Pattern, Program, Span, Supply, Var, Version};
use lm::types::Type;
use std::collections::VecDeque;
use std::sync::Arc;

/// Returns `[pieces f]`; `None` where C knows all types of f as they are, or knows some of them in no way.
pub(super) fn in_pieces(program: &Program, def: &Def, supply: &mut Supply) -> Option<Def> {
    let labels = Labels::of(program, def);
    let inputs = labels.inputs.iter().zip(def.params.iter().map(Var::ty));
    let is_in_pieces = |(label, ty): (&Label, &Type)| !is_whole_for_c(label, ty);
    if !inputs.clone().chain([(&labels.output, &def.fun.result)]).any(is_in_pieces) {
        return None;
    }
    let mut terms = Terms { program, supply, bindings: Vec::new() };
    let mut inputs_of_c = Inputs::default();
    for (i, (label, ty)) in inputs.enumerate() {
        terms.input(label, ty, vec![i + 1], &mut inputs_of_c)?;
    }
    let args: Vec<Expr> = (1..=def.params.len()).map(|i| inputs_of_c.at(&vec![i])).collect();
    let call = terms.checked_call(&def.fun, args);
    let result = terms.named(call);
    let mut results = Vec::new();
    terms.output(&labels.output, &def.fun.result, &result, &mut results)?;
    let result = if results.len() == 1 { results.remove(0) } else { Expr::tuple(results) };
    let body = placed(&Expr::block(terms.bindings, result), def.body.span());
    Some(Def::new(def.fun.name.version(Version::Pieces), inputs_of_c.params, body))
}

fn is_whole_for_c(label: &Label, ty: &Type) -> bool {
    match label.view(ty) {
        View::Parts(labels, types) => labels.iter().zip(types).all(|(label, ty)| is_whole_for_c(label, ty)),
        View::Leaf(_, like) => is_whole(ty, like.is_some()),
    }
}

/// The parameters of `[pieces f]`, and what they make: the parts of f's arguments, each after its own parts.
#[derive(Default)]
struct Inputs {
    params: Vec<Var>,
    parts: Vec<(Path, Expr)>,
}

impl Inputs {
    /// Returns the part of the arguments at a path.
    fn at(&self, path: &Path) -> Expr {
        let above = self.parts.iter().filter(|(known, _)| path.starts_with(known));
        let (known, e) = above.max_by_key(|(known, _)| known.len()).expect("the part comes before what is like it");
        path[known.len()..].iter().fold(e.clone(), |e, i| Expr::get(*i, e))
    }
}

/// The terms of a definition, and the bindings that they need, in order.
struct Terms<'a> {
    program: &'a Program,
    supply: &'a mut Supply,
    bindings: Vec<Binding>,
}

impl Terms<'_> {
    /// Returns a call, after a check that the arguments have the sizes that the type of the function says.
    fn checked_call(&mut self, fun: &Arc<Fun>, args: Vec<Expr>) -> Expr {
        let Some(signature) = self.program.signature(fun) else { return Expr::app(Op::Call(fun.clone()), args) };
        let args: Vec<Expr> = args.into_iter().map(|arg| self.named(arg)).collect();
        let condition = signature.condition(signature.relations(), &args, self.supply);
        let call = Expr::app(Op::Call(fun.clone()), args);
        condition.map_or(call.clone(), |condition| Expr::app(Op::Assert, vec![condition, call]))
    }

    fn named(&mut self, rhs: Expr) -> Expr {
        let x = self.supply.fresh("t", rhs.ty().clone());
        self.bindings.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
        Expr::var(&x)
    }

    /// Returns `build n (\i. f(i))`, of a rank.
    fn build(&mut self, rank: usize, n: Expr, f: impl FnOnce(&mut Terms, &Expr) -> Expr) -> Expr {
        let i = self.supply.fresh("i", Type::index(rank));
        let mut inner = Terms { program: self.program, supply: self.supply, bindings: Vec::new() };
        let element = f(&mut inner, &Expr::var(&i));
        let body = Expr::block(inner.bindings, element);
        Expr::prim(Prim::Build, [n, Expr::lam(i, body)])
    }

    /// Adds a part of the arguments, and the parameters that it takes; `None` where C does not know it.
    fn input(&mut self, label: &Label, ty: &Type, path: Path, inputs: &mut Inputs) -> Option<Expr> {
        let value = match label.view(ty) {
            View::Parts(labels, types) => {
                let parts = labels.iter().zip(types).enumerate();
                let part = |(i, (label, ty))| self.input(label, ty, [&path[..], &[i + 1]].concat(), inputs);
                Expr::tuple(parts.map(part).collect::<Option<Vec<_>>>()?)
            }
            View::Leaf(name, like) => {
                let pieces = pieces(name, ty, like.is_some()).ok()?.into_iter();
                let vars: Vec<Var> = pieces.map(|(name, ty)| self.supply.fresh(&name, ty)).collect();
                let shape = like.filter(|_| has_constant(ty)).map(|like| self.shape(like, inputs));
                let value = self.whole(ty, &mut vars.iter().map(Expr::var).collect(), shape.as_ref());
                inputs.params.extend(vars);
                if value.is_atom() { value } else { self.named(value) }
            }
        };
        inputs.parts.push((path, value.clone()));
        Some(value)
    }

    /// Returns the shape of a tangent.
    fn shape(&mut self, like: &Like, inputs: &Inputs) -> Expr {
        let shape = match like {
            Like::Part(path) => shape::of_term(inputs.at(path), self.supply),
            Like::Result { function, args, part } => {
                let args = args.iter().map(|path| inputs.at(path)).collect();
                part.iter().fold(self.shape_of_result(function, args), |shape, i| Expr::get(*i, shape))
            }
            Like::Unknown => panic!("inputs of unknown shape have plain names"),
        };
        self.named(shape)
    }

    /// Returns the shape of a function's result, by the function for it where there is one.
    fn shape_of_result(&mut self, function: &Arc<Fun>, args: Vec<Expr>) -> Expr {
        match self.program.defs.get(&function.name.derived(Derivative::Shape)) {
            Some(def) => self.named(Expr::app(Op::Call(def.fun.clone()), args)),
            None => shape::of_term(self.named(Expr::app(Op::Call(function.clone()), args)), self.supply),
        }
    }

    /// Returns a value of a type, of its pieces. A tangent that is not whole has a shape.
    fn whole(&mut self, ty: &Type, given: &mut VecDeque<Expr>, shape: Option<&Expr>) -> Expr {
        match ty {
            _ if shape.is_none() && is_whole(ty, false) => given.pop_front().expect("there is a piece for each type"),
            _ if is_constant(ty)
                && let Some(shape) = shape =>
            {
                shape::zeros(ty, shape, self.supply).expect("every tangent type has a zero")
            }
            Type::Tuple(parts) => {
                let shape = |i, ty| shape.filter(|_| has_constant(ty)).map(|shape| Expr::get(i + 1, shape.clone()));
                let part = |(i, part)| self.whole(part, given, shape(i, part).as_ref());
                Expr::tuple(parts.iter().enumerate().map(part).collect::<Vec<_>>())
            }
            Type::Tensor(rank, element) => match &**element {
                Type::Tuple(parts) => {
                    let column = |(i, part): (usize, &Type)| {
                        let ty = Type::Tensor(*rank, Arc::new(part.clone()));
                        let shape =
                            shape.filter(|_| has_constant(&ty)).map(|s| self.shape_of_column(*rank, i, part, s));
                        self.whole(&ty, given, shape.as_ref())
                    };
                    let columns = parts.iter().enumerate().map(column).collect();
                    self.zipped(*rank, columns)
                }
                _ => {
                    let offsets = given.pop_front().expect("there are offsets");
                    let shape = shape.map(|shape| self.offsets_and_elements(shape).1);
                    let each = self.whole(element, given, shape.as_ref());
                    self.rows(&offsets, each)
                }
            },
            _ => panic!("{ty} is a piece"),
        }
    }

    /// Returns the shape of the tensor of i-th components, from that of a tensor of tuples with tensors.
    fn shape_of_column(&mut self, rank: usize, i: usize, part: &Type, shape: &Expr) -> Expr {
        let shape = match part.has_fixed_shape() {
            true => size(shape),
            false => self.build(rank, size(shape), |_, k| Expr::get(i + 1, at(k, shape))),
        };
        self.named(shape)
    }

    /// Returns the tensor of tuples; its columns must be of one size.
    fn zipped(&mut self, rank: usize, columns: Vec<Expr>) -> Expr {
        let columns: Vec<Expr> = columns.into_iter().map(|column| self.named(column)).collect();
        let mut size = size(&columns[0]);
        for column in &columns[1..] {
            let units = self.build(rank, size, |_, _| Expr::tuple([]));
            size = Expr::prim(Prim::CommonSize, [units, column.clone()]);
        }
        self.build(rank, size, |_, i| Expr::tuple(columns.iter().map(|column| at(i, column)).collect::<Vec<_>>()))
    }

    /// Returns the vector of vectors whose elements are those of `each`.
    fn rows(&mut self, offsets: &Expr, each: Expr) -> Expr {
        let each = self.named(each);
        let n = Expr::prim(Prim::Sub, [size(offsets), Expr::integer(1)]);
        self.build(1, n, |terms, i| {
            let start = terms.named(at(i, offsets));
            let length = Expr::prim(Prim::Sub, [at(&add(i, &Expr::integer(1)), offsets), start.clone()]);
            terms.build(1, length, |_, j| at(&add(&start, j), &each))
        })
    }

    /// Appends the pieces of a part of the result, which is a variable; `None` where C does not know it.
    fn output(&mut self, label: &Label, ty: &Type, value: &Expr, out: &mut Vec<Expr>) -> Option<()> {
        match label.view(ty) {
            View::Parts(labels, types) => {
                for (i, (label, ty)) in labels.iter().zip(types).enumerate() {
                    let part = self.named(Expr::get(i + 1, value.clone()));
                    self.output(label, ty, &part, out)?;
                }
            }
            View::Leaf(name, like) => {
                pieces(name, ty, like.is_some()).ok()?;
                self.split(ty, value, like.is_some(), out);
            }
        }
        Some(())
    }

    /// Appends the pieces of a value, which is a variable.
    fn split(&mut self, ty: &Type, value: &Expr, is_tangent: bool, out: &mut Vec<Expr>) {
        match ty {
            _ if is_tangent && is_constant(ty) => {}
            _ if is_whole(ty, is_tangent) => out.push(value.clone()),
            Type::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    let component = self.named(Expr::get(i + 1, value.clone()));
                    self.split(part, &component, is_tangent, out);
                }
            }
            Type::Tensor(rank, element) => match &**element {
                Type::Tuple(parts) => {
                    let columns = parts.iter().map(|part| Type::Tensor(*rank, Arc::new(part.clone()))).enumerate();
                    for (k, ty) in columns.filter(|(_, ty)| !(is_tangent && is_constant(ty))) {
                        let column = self.build(*rank, size(value), |_, i| Expr::get(k + 1, at(i, value)));
                        let column = self.named(column);
                        self.split(&ty, &column, is_tangent, out);
                    }
                }
                _ => {
                    let (offsets, each) = self.offsets_and_elements(value);
                    out.push(offsets);
                    self.split(element, &each, is_tangent, out);
                }
            },
            _ => panic!("{ty} is a piece"),
        }
    }

    /// Returns where the rows of a vector of vectors start and end, and their elements one after the other.
    fn offsets_and_elements(&mut self, rows: &Expr) -> (Expr, Expr) {
        let one = Expr::integer(1);
        let lengths = self.build(1, size(rows), |_, i| size(&at(i, rows)));
        let offsets = self.sums(lengths);
        let total = self.named(at(&size(rows), &offsets));
        let zeros = self.build(1, add(&total, &one), |_, _| Expr::integer(0));
        let ends = self.build(1, size(rows), |_, i| Expr::tuple([at(&add(i, &one), &offsets), one.clone()]));
        let marks = Expr::prim(Prim::AddAt, [zeros, ends]);
        let row_of = self.sums(marks);
        let each = self.build(1, total, |terms, k| {
            let i = terms.named(at(&add(k, &one), &row_of));
            let j = Expr::prim(Prim::Sub, [k.clone(), at(&i, &offsets)]);
            at(&j, &at(&i, rows))
        });
        (offsets, self.named(each))
    }

    /// Returns the sums of the first 0, 1, .. elements of a vector of Integers.
    fn sums(&mut self, v: Expr) -> Expr {
        let pair = self.supply.fresh("t", Type::tuple([Type::Integer, Type::Integer]));
        let sum = add(&Expr::get(1, Expr::var(&pair)), &Expr::get(2, Expr::var(&pair)));
        let sums = Expr::prim(Prim::Scanl, [Expr::lam(pair, sum), Expr::integer(0), v]);
        self.named(sums)
    }
}

/// Puts all parts of a term at one place, where errors are reported.
fn placed(e: &Expr, span: Span) -> Expr {
    let placed_parts = e.map_children(|child| placed(child, span));
    if let Kind::Let(..) = e.kind() { placed_parts } else { placed_parts.at(span) }
}

fn size(tensor: &Expr) -> Expr {
    Expr::prim(Prim::Size, [tensor.clone()])
}

fn at(i: &Expr, tensor: &Expr) -> Expr {
    Expr::prim(Prim::Index, [i.clone(), tensor.clone()])
}

fn add(a: &Expr, b: &Expr) -> Expr {
    Expr::prim(Prim::Add, [a.clone(), b.clone()])
}
