//! Random programs: well-typed, of several functions, each calling only earlier ones.
//!
//! A program is made from a list of numbers, its choices; when they run out, every choice is the
//! simplest one. So proptest shrinks programs by shrinking the list.

use lm::libm::{self, Libm};
use lm::notation::ks;
use lm::prim::Prim;
use lm::term::{Binding, Constant, Def, Expr, Fun, FunName, Op, Pattern, Program, Supply, Var};
use lm::types::Type;
use proptest::prelude::*;
use std::sync::Arc;

/// The options for generated programs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Only primitives that are smooth and well-conditioned, values of moderate size, conditions
    /// on discrete values only: derivatives can be compared with finite differences. No effects.
    pub smooth: bool,
    /// At most so many functions (at least one).
    pub functions: usize,
    /// The greatest depth of terms.
    pub depth: usize,
}

/// Programs of a kind, as a proptest strategy.
pub fn programs(options: Options) -> impl Strategy<Value = Program> {
    prop::collection::vec(any::<u32>(), 0..400).prop_map(move |choices| program(&choices, options))
}

/// The program of these choices. Its last function calls the others, if any does.
pub fn program(choices: &[u32], options: Options) -> Program {
    let mut maker =
        Maker { choices: choices.iter(), options, supply: Supply::default(), funs: Vec::new(), scope: Vec::new() };
    let mut program = Program::default();
    for i in 0..=maker.choose(options.functions.max(1)) {
        let def = maker.def(i);
        maker.funs.push(def.fun.clone());
        program.defs.insert(def.fun.name.clone(), def);
    }
    program.supply = maker.supply;
    program
}

/// The program as KS text.
pub fn text(program: &Program) -> String {
    ks::program(program, 80)
}

struct Maker<'a> {
    choices: std::slice::Iter<'a, u32>,
    options: Options,
    supply: Supply,
    funs: Vec<Arc<Fun>>,
    scope: Vec<Var>,
}

impl Maker<'_> {
    /// A number below `n`; 0 when the choices have run out.
    fn choose(&mut self, n: usize) -> usize {
        self.choices.next().map_or(0, |c| *c as usize % n)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.choose(from.len())]
    }

    fn ty(&mut self, depth: usize) -> Type {
        match self.choose(if depth == 0 { 6 } else { 9 }) {
            0..=3 => Type::Float,
            4 => Type::Integer,
            5 => Type::Bool,
            _ => {
                let n = self.choose(4);
                Type::tuple((0..n).map(|_| self.ty(depth - 1)))
            }
        }
    }

    fn fresh(&mut self, ty: Type) -> Var {
        // Names that clash with each other and with functions.
        let name = self.pick(&["x", "y", "x_1", "f0", "sin", "t"]);
        self.supply.fresh(name, ty)
    }

    fn def(&mut self, i: usize) -> Def {
        let params: Vec<Type> = (0..[1, 2, 3, 0][self.choose(4)]).map(|_| self.ty(2)).collect();
        let params: Vec<Var> = params.into_iter().map(|ty| self.fresh(ty)).collect();
        let result = self.ty(2);
        self.scope = params.clone();
        let body = self.block(&result, self.options.depth);
        let types: Vec<Type> = params.iter().map(|x| x.ty().clone()).collect();
        let fun = Fun { name: self.name(i, &types), params: types, result };
        Def { fun: Arc::new(fun), params, body }
    }

    /// A name: new, or that of an overload, or of a built-in.
    fn name(&mut self, i: usize, params: &[Type]) -> FunName {
        let argument = match params {
            [one] => one.clone(),
            many => Type::tuple(many.iter().cloned()),
        };
        let overload = FunName { overload: Some(argument), ..FunName::base("g") };
        let builtin = FunName::base("sin");
        let is_new = |name: &FunName| self.funs.iter().all(|f| f.name != *name);
        let (overload_is_new, builtin_is_new) = (is_new(&overload), is_new(&builtin));
        match self.choose(4) {
            1 if overload_is_new => overload,
            2 if builtin_is_new && *params == [Type::Float] && !self.options.smooth => builtin,
            _ => FunName::base(&format!("f{i}")),
        }
    }

    /// A term, perhaps with bindings in front.
    fn block(&mut self, ty: &Type, depth: usize) -> Expr {
        let outer = self.scope.len();
        let count = self.choose(4);
        let bindings: Vec<Binding> = (0..count).map(|_| self.binding(depth)).collect();
        let body = self.expr(ty, depth);
        self.scope.truncate(outer);
        Expr::block(bindings, body)
    }

    fn binding(&mut self, depth: usize) -> Binding {
        let ty = self.ty(2);
        let rhs = self.expr(&ty, depth.saturating_sub(1));
        let pattern = match ty.as_tuple() {
            Some(parts) if self.choose(2) == 0 => {
                Pattern::Tuple(parts.iter().map(|part| self.fresh(part.clone())).collect())
            }
            Some(_) | None => Pattern::Var(self.fresh(ty)),
        };
        self.scope.extend(pattern.vars().iter().cloned());
        Binding { pattern, rhs }
    }

    fn expr(&mut self, ty: &Type, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.choose(8) {
            0 | 1 => self.leaf(ty),
            2..=4 => self.operation(ty, depth - 1),
            5 => self.call(ty, depth - 1),
            6 => {
                let c = self.expr(&Type::Bool, depth - 1);
                let (a, b) = (self.block(ty, depth - 1), self.expr(ty, depth - 1));
                Expr::conditional(c, a, b)
            }
            _ => self.component(ty, depth - 1),
        }
    }

    /// A variable, a component of one, or a literal.
    fn leaf(&mut self, ty: &Type) -> Expr {
        let known: Vec<Var> = self.scope.iter().rev().filter(|x| x.ty() == ty).cloned().collect();
        if !known.is_empty() && self.choose(5) < 4 {
            let i = self.choose(known.len());
            return Expr::var(&known[i]);
        }
        match ty {
            Type::Float if self.options.smooth => Expr::float(self.pick(&[1.0, 0.5, -0.75, 1.25])),
            Type::Float => Expr::float(self.pick(&[1.0, -0.0, 0.1, 1e300, -2.5e-7, 3.0, 1e16])),
            Type::Integer if self.options.smooth => Expr::integer(self.pick(&[1, 2, -3])),
            Type::Integer => Expr::integer(self.pick(&[1, 0, -7, i64::MAX, i64::MIN])),
            Type::Bool => Expr::constant(Constant::Bool(self.choose(2) == 0)),
            Type::Tuple(parts) => Expr::tuple(parts.iter().map(|part| self.leaf(part)).collect::<Vec<_>>()),
            Type::String | Type::Tensor(..) | Type::Lam(..) | Type::LM(..) | Type::Record(_) => Expr::dummy(ty.clone()),
        }
    }

    fn component(&mut self, ty: &Type, depth: usize) -> Expr {
        let (i, n) = (self.choose(2), 2);
        let mut parts = vec![self.ty(1), self.ty(1)];
        parts[i] = ty.clone();
        let tuple = self.expr(&Type::tuple(parts), depth);
        Expr::app(Op::Get(i + 1, n), vec![tuple])
    }

    fn call(&mut self, ty: &Type, depth: usize) -> Expr {
        let fitting: Vec<Arc<Fun>> = self.funs.iter().filter(|f| f.result == *ty).cloned().collect();
        if fitting.is_empty() {
            return self.operation(ty, depth);
        }
        let i = self.choose(fitting.len());
        let args = fitting[i].params.iter().map(|param| self.expr(param, depth)).collect();
        Expr::app(Op::Call(fitting[i].clone()), args)
    }

    fn operation(&mut self, ty: &Type, depth: usize) -> Expr {
        match ty {
            Type::Float if self.options.smooth => self.smooth(depth),
            Type::Float => self.float(depth),
            Type::Integer => self.integer(depth),
            Type::Bool => self.bool(depth),
            Type::Tuple(parts) => self.tuple(ty, &parts.clone(), depth),
            Type::String | Type::Tensor(..) | Type::Lam(..) | Type::LM(..) | Type::Record(_) => self.leaf(ty),
        }
    }

    fn prim(&mut self, p: Prim, args: &[Type], depth: usize) -> Expr {
        let args: Vec<Expr> = args.iter().map(|ty| self.expr(ty, depth)).collect();
        Expr::prim(p, args)
    }

    /// Products have a bounded factor, so that values stay of moderate size.
    fn smooth(&mut self, depth: usize) -> Expr {
        use Type::Float;
        match self.choose(8) {
            0 | 1 => self.prim(Prim::Add, &[Float, Float], depth),
            2 => self.prim(Prim::Sub, &[Float, Float], depth),
            3 | 4 => {
                let bounded = self.prim(Prim::Libm(Libm::Tanh), &[Float], depth);
                Expr::prim(Prim::Mul, [bounded, self.expr(&Float, depth)])
            }
            5 => {
                let square = self.prim(Prim::Libm(Libm::Sin), &[Float], depth);
                let divisor = Expr::prim(Prim::Add, [Expr::float(2.0), square]);
                Expr::prim(Prim::Div, [self.expr(&Float, depth), divisor])
            }
            6 => {
                let p = self.pick(&[Prim::Libm(Libm::Exp), Prim::Libm(Libm::Cosh), Prim::Libm(Libm::Sinh)]);
                Expr::prim(p, [self.prim(Prim::Libm(Libm::Sin), &[Float], depth)])
            }
            _ => {
                let p = self.pick(&[
                    Prim::Libm(Libm::Sin),
                    Prim::Libm(Libm::Cos),
                    Prim::Libm(Libm::Tanh),
                    Prim::Libm(Libm::Atan),
                    Prim::Libm(Libm::Erf),
                    Prim::Neg,
                ]);
                self.prim(p, &[Float], depth)
            }
        }
    }

    fn float(&mut self, depth: usize) -> Expr {
        use Prim::*;
        use Type::{Float, Integer};
        match self.choose(8) {
            0..=2 => {
                let p = self.pick(&[vec![Add, Sub, Mul, Div, Min, Max], functions(2)].concat());
                self.prim(p, &[Float, Float], depth)
            }
            3 | 4 => {
                let p = self.pick(&[vec![Neg, Abs, Sqrt, StopGradient, Trace], functions(1)].concat());
                self.prim(p, &[Float], depth)
            }
            5 => self.prim(Powi, &[Float, Integer], depth),
            6 => match self.choose(3) {
                0 => self.prim(ToFloat, &[Integer], depth),
                1 => self.prim(BoolToFloat, &[Type::Bool], depth),
                _ => self.prim(Ranhashdoub, &[Integer], depth),
            },
            _ => {
                // With discrete parts it is no primitive: the checker takes it apart.
                let ty = Some(self.ty(1)).filter(|ty| ty.tangent() == *ty).unwrap_or(Float);
                self.prim(Dot, &[ty.clone(), ty], depth)
            }
        }
    }

    fn integer(&mut self, depth: usize) -> Expr {
        use Type::{Float, Integer};
        let effects = if self.options.smooth { 3 } else { 6 };
        match self.choose(effects) {
            0 | 1 => {
                let p = self.pick(&[Prim::Add, Prim::Sub, Prim::Mul]);
                self.prim(p, &[Integer, Integer], depth)
            }
            2 => self.prim(Prim::Neg, &[Integer], depth),
            3 => self.prim(Prim::Div, &[Integer, Integer], depth),
            4 => self.prim(Prim::ToInteger, &[Float], depth),
            _ => {
                let text = Expr::constant(Constant::String(self.pick(&["a", "\"\\\n", "λ"]).into()));
                let args: Vec<Type> = (0..self.choose(3)).map(|_| self.ty(1)).collect();
                let args = args.iter().map(|ty| self.expr(ty, depth)).collect::<Vec<_>>();
                Expr::prim(Prim::Print, args.into_iter().chain([text]))
            }
        }
    }

    /// In smooth programs of Integers and Bools only.
    fn bool(&mut self, depth: usize) -> Expr {
        let number = if self.options.smooth { Type::Integer } else { self.pick_number() };
        match self.choose(4) {
            0 => {
                let p = self.pick(&[Prim::Gt, Prim::Lt, Prim::Gte, Prim::Lte]);
                self.prim(p, &[number.clone(), number], depth)
            }
            1 => {
                let ty = if self.options.smooth { Type::Integer } else { self.ty(1) };
                let p = self.pick(&[Prim::Eq, Prim::Ne]);
                self.prim(p, &[ty.clone(), ty], depth)
            }
            2 => {
                let p = self.pick(&[Prim::And, Prim::Or]);
                self.prim(p, &[Type::Bool, Type::Bool], depth)
            }
            _ => self.prim(Prim::Not, &[Type::Bool], depth),
        }
    }

    fn pick_number(&mut self) -> Type {
        if self.choose(2) == 0 { Type::Float } else { Type::Integer }
    }

    fn tuple(&mut self, ty: &Type, parts: &[Type], depth: usize) -> Expr {
        if ty.tangent() != *ty || self.choose(3) > 0 {
            return Expr::tuple(parts.iter().map(|part| self.expr(part, depth)).collect::<Vec<_>>());
        }
        match self.choose(4) {
            0 => self.prim(Prim::Add, &[ty.clone(), ty.clone()], depth),
            1 => self.prim(Prim::Sub, &[ty.clone(), ty.clone()], depth),
            2 => {
                let scale = self.prim(Prim::Libm(Libm::Sin), &[Type::Float], depth);
                Expr::prim(Prim::Mul, [scale, self.expr(ty, depth)])
            }
            _ => self.prim(Prim::Neg, std::slice::from_ref(ty), depth),
        }
    }
}

/// The functions of the C library with so many arguments.
fn functions(arity: usize) -> Vec<Prim> {
    libm::ALL.iter().filter(|f| f.arity() == arity).map(|f| Prim::Libm(*f)).collect()
}
