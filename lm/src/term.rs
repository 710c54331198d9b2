//! Terms: the one language of programs, linear maps and everything between.
//!
//!   e ::= constant | x | op(e1, ..., en) | let { p1 = e1; ...; pn = en } e | λx. e
//!
//! Every node carries its type, so ill-typed terms cannot be built. Every binder of a definition is
//! a different variable (see [`Supply`]), so substitution never captures. A let is a flat block of
//! bindings, each in scope of the later ones: a program of ten thousand lets is one node.
//!
//! Source: working notes, Fig. 1, with linear maps as terms (Fig. 3).

use crate::prim::Prim;
use crate::types::Type;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A literal.
#[derive(Clone, Debug)]
pub enum Constant {
    /// Equal when the bits are, so that `0.0` and `-0.0` stay distinct.
    Float(f64),
    /// 64-bit signed.
    Integer(i64),
    /// `true` or `false`.
    Bool(bool),
    /// Text.
    String(Arc<str>),
}

impl Constant {
    /// The literal's type.
    pub fn ty(&self) -> Type {
        match self {
            Constant::Float(_) => Type::Float,
            Constant::Integer(_) => Type::Integer,
            Constant::Bool(_) => Type::Bool,
            Constant::String(_) => Type::String,
        }
    }
}

impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        match (self, other) {
            (Constant::Float(a), Constant::Float(b)) => a.to_bits() == b.to_bits(),
            (Constant::Integer(a), Constant::Integer(b)) => a == b,
            (Constant::Bool(a), Constant::Bool(b)) => a == b,
            (Constant::String(a), Constant::String(b)) => a == b,
            (Constant::Float(_) | Constant::Integer(_) | Constant::Bool(_) | Constant::String(_), _) => false,
        }
    }
}

impl Eq for Constant {}

impl Hash for Constant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Constant::Float(x) => x.to_bits().hash(state),
            Constant::Integer(i) => i.hash(state),
            Constant::Bool(b) => b.hash(state),
            Constant::String(s) => s.hash(state),
        }
    }
}

/// A local variable. Two variables are the same when their numbers are.
#[derive(Clone, Debug)]
pub struct Var {
    name: Arc<str>,
    id: u32,
    ty: Type,
}

impl Var {
    /// The name shown to people; not unique.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The number, unique in a definition.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The variable's type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }
}

impl PartialEq for Var {
    fn eq(&self, other: &Var) -> bool {
        self.id == other.id
    }
}

impl Eq for Var {}

impl Hash for Var {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// The source of fresh variables. One supply serves a whole program.
#[derive(Clone, Debug, Default)]
pub struct Supply(u32);

impl Supply {
    /// A variable that no other has the number of.
    pub fn fresh(&mut self, name: &str, ty: Type) -> Var {
        self.0 += 1;
        Var { name: name.into(), id: self.0, ty }
    }
}

/// A place in the source text: byte offsets into one file. `Span::default()` is no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// The name of a top-level function: derivations, outermost first, then the base name, then the
/// argument type where the base name is overloaded.
///
/// Shown as `f`, `[f T]`, `[fwd f]`, `[fwd [rev [f T]]]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunName {
    /// Such as `fwd`, `rev`; empty for a function as written.
    pub derivations: Vec<Arc<str>>,
    /// The name in the source.
    pub base: Arc<str>,
    /// The argument type, when several functions share the base name.
    pub overload: Option<Type>,
}

impl FunName {
    /// A function as written, not overloaded.
    pub fn base(name: &str) -> FunName {
        FunName { derivations: Vec::new(), base: name.into(), overload: None }
    }

    /// `[derivation self]`.
    pub fn derived(&self, derivation: &str) -> FunName {
        let mut name = self.clone();
        name.derivations.insert(0, derivation.into());
        name
    }
}

impl fmt::Display for FunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.derivations.iter().try_for_each(|d| write!(f, "[{d} "))?;
        match &self.overload {
            Some(ty) => write!(f, "[{} {ty}]", self.base)?,
            None => write!(f, "{}", self.base)?,
        }
        self.derivations.iter().try_for_each(|_| write!(f, "]"))
    }
}

/// A top-level function as a call sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fun {
    /// Its name.
    pub name: FunName,
    /// One type per parameter.
    pub params: Vec<Type>,
    /// The result type.
    pub result: Type,
}

impl Fun {
    /// The type S of `f : S -> T`: the parameter's type, or the tuple of all of them.
    pub fn argument(&self) -> Type {
        match self.params.as_slice() {
            [one] => one.clone(),
            many => Type::tuple(many.iter().cloned()),
        }
    }
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `(e1, ..., en)`.
    Tuple,
    /// `get$i$n`, 1-based.
    Get(usize, usize),
    /// `if c then a else b`; only the chosen branch is evaluated.
    If,
    /// `assert c e`: e, or an error when c is false.
    Assert,
    /// A value of the node's type that nobody looks at.
    Dummy,
    /// A primitive.
    Prim(Prim),
    /// A call of a top-level function, one argument per parameter.
    Call(Arc<Fun>),
    /// The Jacobian `∂p(e1, ..., en)` of a primitive (`D*(x, y)` in the notes): a linear map from
    /// the argument, or from the tuple of all of them.
    JacobianOf(Prim),
    /// The Jacobian `∂f(e1, ..., en)` of a top-level function.
    JacobianOfFun(Arc<Fun>),
    /// The linear map that selects the i-th component of an n-tuple, 1-based. Its argument is a
    /// witness of the tuple.
    LmGet(usize, usize),
}

/// What a let binds.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// `x`.
    Var(Var),
    /// `(x1, ..., xn)`, the components of a tuple.
    Tuple(Vec<Var>),
}

impl Pattern {
    /// The variables bound.
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

    /// A literal.
    pub fn constant(c: Constant) -> Expr {
        let ty = c.ty();
        Expr::new(Kind::Const(c), ty, Span::default())
    }

    /// A Float literal.
    pub fn float(x: f64) -> Expr {
        Expr::constant(Constant::Float(x))
    }

    /// An Integer literal.
    pub fn integer(i: i64) -> Expr {
        Expr::constant(Constant::Integer(i))
    }

    /// A variable's use.
    pub fn var(x: &Var) -> Expr {
        Expr::new(Kind::Var(x.clone()), x.ty.clone(), Span::default())
    }

    /// `op(args)`; `None` when the arguments do not fit the operator.
    ///
    /// `Op::Dummy`, whose type is not found from its arguments, has [`Expr::dummy`].
    pub fn try_app(op: Op, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let types: Vec<Type> = args.iter().map(|a| a.ty().clone()).collect();
        let ty = op.result(&types)?;
        Some(Expr::new(Kind::App(op, args), ty, span))
    }

    /// `op(args)`. Panics when the arguments do not fit: that is a bug of the caller.
    pub fn app(op: Op, args: Vec<Expr>) -> Expr {
        let types: Vec<Type> = args.iter().map(|a| a.ty().clone()).collect();
        match op.result(&types) {
            Some(ty) => Expr::new(Kind::App(op, args), ty, Span::default()),
            None => panic!("ill-typed term: {op:?} applied to {}", Type::tuple(types)),
        }
    }

    /// A primitive's application. Panics when the arguments do not fit.
    pub fn prim(p: Prim, args: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::app(Op::Prim(p), args.into_iter().collect())
    }

    /// `(e1, ..., en)`.
    pub fn tuple(parts: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::app(Op::Tuple, parts.into_iter().collect())
    }

    /// The i-th component (1-based) of a tuple; of a literal tuple, the component itself.
    pub fn get(i: usize, tuple: Expr) -> Expr {
        match tuple.kind() {
            Kind::App(Op::Tuple, parts) => parts[i - 1].clone(),
            _ => {
                let n = tuple.ty().as_tuple().expect("get of a tuple").len();
                Expr::app(Op::Get(i, n), vec![tuple])
            }
        }
    }

    /// `if c then a else b`.
    pub fn conditional(c: Expr, a: Expr, b: Expr) -> Expr {
        Expr::app(Op::If, vec![c, a, b])
    }

    /// A value of type `ty` that nobody looks at.
    pub fn dummy(ty: Type) -> Expr {
        Expr::new(Kind::App(Op::Dummy, vec![]), ty, Span::default())
    }

    /// A witness of the shape of `e`: `e` itself, or, where the type alone gives the shape, a dummy.
    pub fn witness(e: &Expr) -> Expr {
        if e.ty().has_fixed_shape() { Expr::dummy(e.ty().clone()) } else { e.clone() }
    }

    /// A block; nested blocks in the body are joined, an empty block is its body.
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

    /// `λx. body`.
    pub fn lam(x: Var, body: Expr) -> Expr {
        let ty = Type::lam(x.ty.clone(), body.ty().clone());
        Expr::new(Kind::Lam(x, body), ty, Span::default())
    }

    /// The same term at another place in the source.
    pub fn at(self, span: Span) -> Expr {
        match Arc::try_unwrap(self.0) {
            Ok(node) => Expr(Arc::new(Node { span, ..node })),
            Err(shared) => Expr::rebuild(&Expr(shared), span),
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

    /// The term's shape.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// The term's type.
    pub fn ty(&self) -> &Type {
        &self.0.ty
    }

    /// Where the term stands in the source, if anywhere.
    pub fn span(&self) -> Span {
        self.0.span
    }

    /// The number of nodes, shared ones counted at each use.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// An address that stands for this very node as long as it lives.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Whether the term is a constant, a variable or a dummy: free to copy.
    pub fn is_atom(&self) -> bool {
        match self.kind() {
            Kind::Const(_) | Kind::Var(_) | Kind::App(Op::Dummy, _) => true,
            Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
        }
    }

    /// The variable, when the term is one.
    pub fn as_var(&self) -> Option<&Var> {
        match self.kind() {
            Kind::Var(x) => Some(x),
            _ => None,
        }
    }

    /// The arguments, when the term is an application of `op`.
    pub fn args_of(&self, op: &Op) -> Option<&[Expr]> {
        match self.kind() {
            Kind::App(o, args) if o == op => Some(args),
            _ => None,
        }
    }

    /// The arguments, when the term is an application of the primitive `p`.
    pub fn args_of_prim(&self, p: Prim) -> Option<&[Expr]> {
        self.args_of(&Op::Prim(p))
    }

    /// The bindings and result of a block; of any other term, no bindings and itself.
    pub fn as_block(&self) -> (&[Binding], &Expr) {
        match self.kind() {
            Kind::Let(bindings, body) => (bindings, body),
            _ => (&[], self),
        }
    }

    /// The same node with every child replaced by `f` of it; the node itself when none changed.
    ///
    /// Children are visited in order of evaluation. Panics when a child's type changes.
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

impl Op {
    /// The result type for the given argument types, or `None` when they do not fit (and for
    /// `Dummy`, whose type nothing tells).
    pub fn result(&self, args: &[Type]) -> Option<Type> {
        match (self, args) {
            (Op::Tuple, _) => Some(Type::tuple(args.iter().cloned())),
            (Op::Get(i, n), [Type::Tuple(parts)]) if parts.len() == *n => parts.get(i - 1).cloned(),
            (Op::If, [Type::Bool, a, b]) if a == b => Some(a.clone()),
            (Op::Assert, [Type::Bool, t]) => Some(t.clone()),
            (Op::Prim(p), _) => p.result(args),
            (Op::Call(f), _) if f.params == args => Some(f.result.clone()),
            (Op::JacobianOfFun(f), _) if f.params == args => Some(Type::lm(f.argument(), f.result.clone())),
            (Op::JacobianOf(p), [one]) => Some(Type::lm(one.clone(), p.result(args)?)),
            (Op::JacobianOf(p), _) => Some(Type::lm(Type::tuple(args.iter().cloned()), p.result(args)?)),
            (Op::LmGet(i, n), [Type::Tuple(parts)]) if parts.len() == *n => {
                Some(Type::lm(Type::Tuple(parts.clone()), parts.get(i - 1)?.clone()))
            }
            (Op::Get(..) | Op::If | Op::Assert | Op::Dummy | Op::Call(_) | Op::JacobianOfFun(_) | Op::LmGet(..), _) => {
                None
            }
        }
    }
}

/// A top-level function with its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Name and types.
    pub fun: Arc<Fun>,
    /// One variable per parameter.
    pub params: Vec<Var>,
    /// The body; its free variables are the parameters.
    pub body: Expr,
}

impl Def {
    /// A definition. Panics when the body's type is not the function's result type.
    pub fn new(name: FunName, params: Vec<Var>, body: Expr) -> Def {
        let types = params.iter().map(|p| p.ty().clone()).collect();
        let fun = Fun { name, params: types, result: body.ty().clone() };
        Def { fun: Arc::new(fun), params, body }
    }
}

/// A checked program: definitions in source order, by name.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The definitions.
    pub defs: indexmap::IndexMap<FunName, Def>,
    /// Fresh variables for whatever rewrites the program.
    pub supply: Supply,
}
