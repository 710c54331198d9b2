//! Represents terms: immutable, shared, each node with its type, its place in the source and its size.

use super::{Constant, Op, Span, Var};
use crate::prim::Prim;
use crate::types::Type;
use std::sync::Arc;

/// The left side of a let.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// `x`.
    Var(Var),
    /// `(x1, ..., xn)`, the components of a tuple.
    Tuple(Vec<Var>),
}

impl Pattern {
    /// Returns the variables bound.
    pub fn vars(&self) -> &[Var] {
        match self {
            Pattern::Var(x) => std::slice::from_ref(x),
            Pattern::Tuple(xs) => xs,
        }
    }
}

/// `pattern = rhs`.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The variables.
    pub pattern: Pattern,
    /// The term.
    pub rhs: Expr,
}

/// Places the terms bound, as [`Expr::placed`] says.
pub fn place(bindings: &mut [Binding], span: Span) {
    bindings.iter_mut().for_each(|b| b.rhs.take_place(span));
}

/// The shapes of a term.
#[derive(Debug, PartialEq)]
pub enum Kind {
    /// A literal.
    Const(Constant),
    /// A local variable.
    Var(Var),
    /// An operator and its arguments.
    App(Op, Vec<Expr>),
    /// A block of sequential bindings (at least one) and a body that is no block itself.
    Let(Vec<Binding>, Expr),
    /// A function, only as an argument.
    Lam(Var, Expr),
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    ty: Type,
    span: Span,
    size: usize,
}

/// A typed term. Cheap to clone; equal when the structure is (places in the source do not count).
#[derive(Clone, Debug)]
pub struct Expr(Arc<Node>);

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.size == other.0.size && self.0.ty == other.0.ty && self.0.kind == other.0.kind)
    }
}

impl Expr {
    fn new(kind: Kind, ty: Type, span: Span) -> Expr {
        let size = 1 + match &kind {
            Kind::Const(_) | Kind::Var(_) => 0,
            Kind::App(_, args) => args.iter().map(Expr::size).sum(),
            Kind::Let(bindings, body) => bindings.iter().map(|b| b.rhs.size()).sum::<usize>() + body.size(),
            Kind::Lam(_, body) => body.size(),
        };
        Expr(Arc::new(Node { kind, ty, span, size }))
    }

    /// Returns a literal.
    pub fn constant(c: Constant) -> Expr {
        let ty = c.ty();
        Expr::new(Kind::Const(c), ty, Span::default())
    }

    /// Returns a Float literal.
    pub fn float(x: f64) -> Expr {
        Expr::constant(Constant::Float(x))
    }

    /// Returns an Integer literal.
    pub fn integer(i: i64) -> Expr {
        Expr::constant(Constant::Integer(i))
    }

    /// Returns a variable's use.
    pub fn var(x: &Var) -> Expr {
        Expr::new(Kind::Var(x.clone()), x.ty().clone(), Span::default())
    }

    /// Returns `op(args)`; `None` when the arguments do not fit the operator.
    ///
    /// `Op::Dummy`, whose type is not found from its arguments, has [`Expr::dummy`].
    pub fn try_app(op: Op, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let types: Vec<Type> = args.iter().map(|a| a.ty().clone()).collect();
        let ty = op.result(&types)?;
        Some(Expr::new(Kind::App(op, args), ty, span))
    }

    /// Returns `op(args)`. Panics when the arguments do not fit: that is a bug of the caller.
    pub fn app(op: Op, args: Vec<Expr>) -> Expr {
        let types: Vec<Type> = args.iter().map(|a| a.ty().clone()).collect();
        match op.result(&types) {
            Some(ty) => Expr::new(Kind::App(op, args), ty, Span::default()),
            None => panic!("ill-typed term: {op:?} applied to {}", Type::tuple(types)),
        }
    }

    /// Returns a primitive's application. Panics when the arguments do not fit.
    pub fn prim(p: Prim, args: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::app(Op::Prim(p), args.into_iter().collect())
    }

    /// Returns `(e1, ..., en)`.
    pub fn tuple(parts: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::app(Op::Tuple, parts.into_iter().collect())
    }

    /// Returns the i-th component (1-based) of a tuple; of a literal tuple, the component itself.
    pub fn get(i: usize, tuple: Expr) -> Expr {
        match tuple.kind() {
            Kind::App(Op::Tuple, parts) => parts[i - 1].clone(),
            _ => {
                let n = tuple.ty().as_tuple().expect("get of a tuple").len();
                Expr::app(Op::Get(i, n), vec![tuple])
            }
        }
    }

    /// Returns `if c then a else b`.
    pub fn conditional(c: Expr, a: Expr, b: Expr) -> Expr {
        Expr::app(Op::If, vec![c, a, b])
    }

    /// Returns a value of type `ty` that is never read.
    pub fn dummy(ty: Type) -> Expr {
        Expr::new(Kind::App(Op::Dummy, vec![]), ty, Span::default())
    }

    /// Returns a witness of the shape of `e`: `e` itself, or, where the type alone gives the shape, a dummy.
    pub fn witness(e: &Expr) -> Expr {
        if e.ty().has_fixed_shape() { Expr::dummy(e.ty().clone()) } else { e.clone() }
    }

    /// Returns a block; nested blocks in the body are joined, an empty block is its body.
    pub fn block(mut bindings: Vec<Binding>, body: Expr) -> Expr {
        let mut body = body;
        while let Kind::Let(inner, result) = body.kind() {
            bindings.extend(inner.iter().cloned());
            let result = result.clone();
            body = result;
        }
        if bindings.is_empty() {
            return body;
        }
        let (ty, span) = (body.ty().clone(), body.span());
        Expr::new(Kind::Let(bindings, body), ty, span)
    }

    /// Returns `λx. body`.
    pub fn lam(x: Var, body: Expr) -> Expr {
        let ty = Type::lam(x.ty().clone(), body.ty().clone());
        Expr::new(Kind::Lam(x, body), ty, Span::default())
    }

    /// Returns the term with another place in the source.
    pub fn at(self, span: Span) -> Expr {
        match Arc::try_unwrap(self.0) {
            Ok(node) => Expr(Arc::new(Node { span, ..node })),
            Err(shared) => Expr::rebuild(&Expr(shared), span),
        }
    }

    /// Returns the term with a place in the source, if it has none and is no atom. The terms inside it get the place,
    /// too, down to those that have one or that other terms share. So a term that was just made of others has the
    /// place of the term that it replaces.
    pub fn placed(mut self, span: Span) -> Expr {
        self.take_place(span);
        self
    }

    fn take_place(&mut self, span: Span) {
        if self.0.span != Span::default() || span == Span::default() || self.is_atom() {
            return;
        }
        match Arc::get_mut(&mut self.0) {
            Some(_) => self.place(span),
            // Others have it, too: theirs stays without a place.
            None => *self = Expr::rebuild(self, span),
        }
    }

    /// Returns the term with a place for each node: its own place, or the place of the term around it, or `span`.
    pub fn placed_throughout(&self, span: Span) -> Expr {
        if self.is_atom() {
            return self.clone();
        }
        let span = if self.span() == Span::default() { span } else { self.span() };
        let inner = self.map_children(|e| e.placed_throughout(span));
        if inner.span() == span { inner } else { inner.at(span) }
    }

    fn place(&mut self, span: Span) {
        let Some(node) = Arc::get_mut(&mut self.0).filter(|node| node.span == Span::default()) else { return };
        node.span = span;
        match &mut node.kind {
            Kind::Const(_) | Kind::Var(_) => {}
            Kind::App(_, args) => args.iter_mut().for_each(|a| a.place(span)),
            Kind::Let(bindings, body) => {
                bindings.iter_mut().for_each(|b| b.rhs.place(span));
                body.place(span);
            }
            Kind::Lam(_, body) => body.place(span),
        }
    }

    fn rebuild(e: &Expr, span: Span) -> Expr {
        let kind = match e.kind() {
            Kind::Const(c) => Kind::Const(c.clone()),
            Kind::Var(x) => Kind::Var(x.clone()),
            Kind::App(op, args) => Kind::App(op.clone(), args.clone()),
            Kind::Let(bindings, body) => Kind::Let(bindings.clone(), body.clone()),
            Kind::Lam(x, body) => Kind::Lam(x.clone(), body.clone()),
        };
        Expr::new(kind, e.ty().clone(), span)
    }

    /// Returns the term's shape.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Returns the term's type.
    pub fn ty(&self) -> &Type {
        &self.0.ty
    }

    /// Returns the place of the term in the source, if it has one.
    pub fn span(&self) -> Span {
        self.0.span
    }

    /// Returns the number of nodes, shared ones counted at each use.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// Returns an address that identifies this very node as long as it lives.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Returns whether the term is a constant, a variable or a dummy: free to copy.
    pub fn is_atom(&self) -> bool {
        match self.kind() {
            Kind::Const(_) | Kind::Var(_) | Kind::App(Op::Dummy, _) => true,
            Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
        }
    }

    /// Returns whether the term is a tuple of at most three atoms: it costs nothing, and reads better where it is used.
    pub fn is_short_tuple(&self) -> bool {
        const SHORT: usize = 3;
        self.args_of(&Op::Tuple).is_some_and(|parts| parts.len() <= SHORT && parts.iter().all(Expr::is_atom))
    }

    /// Returns the variable, when the term is one.
    pub fn as_var(&self) -> Option<&Var> {
        match self.kind() {
            Kind::Var(x) => Some(x),
            _ => None,
        }
    }

    /// Returns the arguments, when the term is an application of `op`.
    pub fn args_of(&self, op: &Op) -> Option<&[Expr]> {
        match self.kind() {
            Kind::App(o, args) if o == op => Some(args),
            _ => None,
        }
    }

    /// Returns the arguments, when the term is an application of the primitive `p`.
    pub fn args_of_prim(&self, p: Prim) -> Option<&[Expr]> {
        self.args_of(&Op::Prim(p))
    }

    /// Returns the bindings and result of a block; of any other term, no bindings and itself.
    pub fn as_block(&self) -> (&[Binding], &Expr) {
        match self.kind() {
            Kind::Let(bindings, body) => (bindings, body),
            _ => (&[], self),
        }
    }

    /// Returns the node with every child replaced by `f` of it; the node itself when none changed.
    ///
    /// Visits the children in order of evaluation. Panics when a child's type changes.
    pub fn map_children(&self, mut f: impl FnMut(&Expr) -> Expr) -> Expr {
        let mut changed = false;
        let mut go = |e: &Expr| {
            let new = f(e);
            changed |= new.address() != e.address();
            new
        };
        let new = match self.kind() {
            Kind::Const(_) | Kind::Var(_) => return self.clone(),
            Kind::App(op, args) => {
                let args: Vec<Expr> = args.iter().map(&mut go).collect();
                if !changed {
                    return self.clone();
                }
                if matches!(op, Op::Dummy) {
                    return self.clone();
                }
                let built = Expr::try_app(op.clone(), args, self.span());
                built.unwrap_or_else(|| panic!("a rewritten argument of {op:?} does not fit it"))
            }
            Kind::Let(bindings, body) => {
                let bindings = bindings.iter().map(|b| Binding { pattern: b.pattern.clone(), rhs: go(&b.rhs) });
                let bindings = bindings.collect();
                Expr::block(bindings, go(body))
            }
            Kind::Lam(x, body) => Expr::lam(x.clone(), go(body)).at(self.span()),
        };
        if changed { new } else { self.clone() }
    }
}
