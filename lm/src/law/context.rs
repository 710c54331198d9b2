//! Tells a law what is known where it is applied: the spaces of maps, and facts of indices, sizes and names.

use crate::facts::Facts;
use crate::prim::Prim;
use crate::scope::free_variables;
use crate::term::{Binding, Expr, Fun, Kind, Op, Pattern, Var};
use crate::types::Type;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// What is known where a law is applied.
#[derive(Debug, Default)]
pub struct Context {
    /// The spaces of the maps in scope.
    pub spaces: Spaces,
    /// What holds there of indices, sizes and names.
    pub facts: Facts,
    /// Whether laws are applied where they save nothing, too: for tests of what they mean.
    pub at_any_cost: bool,
}

/// Returns a witness of a linear map's domain, when it can be told from the map.
pub fn domain(m: &Expr) -> Option<Expr> {
    Spaces::default().domain(m)
}

/// Returns a witness of a linear map's codomain, when it can be told from the map.
pub fn codomain(m: &Expr) -> Option<Expr> {
    Spaces::default().codomain(m)
}

/// Witnesses of the spaces of linear maps, among them variables.
#[derive(Debug, Default)]
pub struct Spaces(FxHashMap<u32, [Option<Expr>; 2]>);

impl Spaces {
    /// Makes the spaces of `m` those of the variable.
    pub fn bind(&mut self, x: &Var, m: &Expr) {
        self.0.insert(x.id(), [self.domain(m), self.codomain(m)]);
    }

    /// Makes a witness the codomain of a variable.
    pub fn bind_codomain(&mut self, x: &Var, witness: Expr) {
        self.0.entry(x.id()).or_default()[1] = Some(witness);
    }

    /// Returns a witness of a linear map's domain, when it can be told from the map.
    pub fn domain(&self, m: &Expr) -> Option<Expr> {
        self.within(None, &[], &Known::default()).domain(m)
    }

    /// Returns a witness of a linear map's codomain, when it can be told from the map.
    pub fn codomain(&self, m: &Expr) -> Option<Expr> {
        self.within(None, &[], &Known::default()).codomain(m)
    }

    fn within<'a>(&'a self, outer: Option<&'a Within<'a>>, bindings: &'a [Binding], known: &'a Known) -> Within<'a> {
        Within { spaces: self, outer, bindings, known }
    }
}

/// The spaces of variables that blocks in a map bind, once they were asked for: domain and codomain.
type Known = RefCell<FxHashMap<(u32, bool), Option<Expr>>>;

/// The place of a map within blocks of another.
#[derive(Clone, Copy)]
struct Within<'a> {
    spaces: &'a Spaces,
    outer: Option<&'a Within<'a>>,
    /// The bindings of the innermost block.
    bindings: &'a [Binding],
    known: &'a Known,
}

impl Within<'_> {
    fn domain(&self, m: &Expr) -> Option<Expr> {
        self.space(m, m.ty().as_lm()?.0, true)
    }

    fn codomain(&self, m: &Expr) -> Option<Expr> {
        self.space(m, m.ty().as_lm()?.1, false)
    }

    /// Returns the space of a variable: as it was bound, or that of the map that a block around binds to it.
    fn of_variable(&self, x: &Var, ty: &Type, of_domain: bool) -> Option<Expr> {
        if let Some(spaces) = self.spaces.0.get(&x.id()) {
            return spaces[usize::from(!of_domain)].clone();
        }
        let key = (x.id(), of_domain);
        if let Some(space) = self.known.borrow().get(&key) {
            return space.clone();
        }
        let is_its = |b: &&Binding| matches!(&b.pattern, Pattern::Var(y) if y == x);
        let mut within = self;
        let binding = loop {
            match within.bindings.iter().find(is_its) {
                Some(binding) => break binding,
                None => within = within.outer?,
            }
        };
        let space = within.space(&binding.rhs, ty, of_domain);
        self.known.borrow_mut().insert(key, space.clone());
        space
    }

    fn space(&self, m: &Expr, ty: &Type, of_domain: bool) -> Option<Expr> {
        if ty.has_fixed_shape() {
            return Some(Expr::dummy(ty.clone()));
        }
        let (p, args) = match m.kind() {
            Kind::Var(x) => return self.of_variable(x, ty, of_domain),
            Kind::App(Op::Prim(p), args) => (p, args),
            Kind::App(Op::LmGet(i, _), args) => {
                return Some(if of_domain { args[0].clone() } else { Expr::get(*i, args[0].clone()) });
            }
            Kind::App(Op::JacobianOfFun(f), args) => {
                let value = Fun { name: f.name.unrestricted(), ..(**f).clone() };
                let value = || Expr::app(Op::Call(Arc::new(value.clone())), args.clone());
                return Some(if of_domain { f.varying_of(args) } else { value() });
            }
            Kind::App(Op::JacobianAt(_), args) => return Some(args[if of_domain { 1 } else { 2 }].clone()),
            Kind::Let(bindings, body) => {
                let bound: Vec<&Var> = bindings.iter().flat_map(|b| b.pattern.vars()).collect();
                let within = self.spaces.within(Some(self), bindings, self.known);
                return within.space_outside(body, ty, of_domain, &bound);
            }
            Kind::App(Op::Assert, args) => return self.space(&args[1], ty, of_domain),
            Kind::App(Op::If, args) => {
                return match [&args[1], &args[2]].map(|branch| self.space(branch, ty, of_domain)) {
                    // A witness may be what only its branch has.
                    [Some(yes), Some(no)] if yes != no => Some(Expr::conditional(args[0].clone(), yes, no)),
                    [Some(yes), Some(_)] => Some(yes),
                    // Both have the argument's space.
                    [one, other] if of_domain => one.or(other),
                    _ => None,
                };
            }
            _ => return None,
        };
        match (p, of_domain) {
            (Prim::LmZero, true) | (Prim::LmOne | Prim::LmScale, _) => Some(args[0].clone()),
            (Prim::LmZero, false) => Some(args[1].clone()),
            (Prim::LmScaleR, false) | (Prim::LmDot, true) => Some(args[0].clone()),
            (Prim::LmAdd, _) => self.space(&args[0], ty, of_domain).or_else(|| self.space(&args[1], ty, of_domain)),
            (Prim::LmCompose, true) => self.domain(&args[1]),
            (Prim::LmCompose, false) => self.codomain(&args[0]),
            (Prim::LmTranspose, true) => self.codomain(&args[0]),
            (Prim::LmTranspose, false) => self.domain(&args[0]),
            (Prim::LmVCat, true) => args.iter().find_map(|m| self.domain(m)),
            (Prim::LmVCat, false) => {
                Some(Expr::tuple(args.iter().map(|m| self.codomain(m)).collect::<Option<Vec<_>>>()?))
            }
            (Prim::LmHCat, true) => Some(Expr::tuple(args.iter().map(|m| self.domain(m)).collect::<Option<Vec<_>>>()?)),
            (Prim::LmHCat, false) => args.iter().find_map(|m| self.codomain(m)),
            (Prim::LmVCatV, false) if args.len() == 2 => Some(args[0].clone()),
            (Prim::LmAddV | Prim::LmTo, false) => Some(args[0].clone()),
            (Prim::LmTo, true) => self.domain(&args[1]),
            (Prim::LmVCatV | Prim::LmAddV, true) => self.domain_of_family(args.last()?),
            (Prim::LmIndex, true) => Some(args[1].clone()),
            (Prim::LmIndex, false) => Some(Expr::prim(Prim::Index, args.clone())),
            (Prim::LmSum, true) => Some(args[0].clone()),
            (Prim::LmFold, true) => Some(args[1].clone()),
            (Prim::LmFold, false) => Some(args[2].clone()),
            _ => None,
        }
    }

    /// Returns a witness without some variables. Where a conditional's depends on them, that of a branch may not.
    fn space_outside(&self, m: &Expr, ty: &Type, of_domain: bool, bound: &[&Var]) -> Option<Expr> {
        let whole = self.space(m, ty, of_domain).and_then(|witness| without(witness, bound));
        whole.or_else(|| match m.args_of(&Op::If) {
            Some([_, branches @ ..]) if of_domain => {
                branches.iter().find_map(|branch| self.space_outside(branch, ty, true, bound))
            }
            _ => None,
        })
    }

    /// Returns the domain that all maps of a tensor of maps have.
    fn domain_of_family(&self, maps: &Expr) -> Option<Expr> {
        match maps.kind() {
            Kind::App(Op::Prim(Prim::VecInit), maps) => maps.iter().find_map(|m| self.domain(m)),
            Kind::App(Op::Prim(Prim::Build), args) => match args[1].kind() {
                Kind::Lam(i, m) => self.space_outside(m, m.ty().as_lm()?.0, true, &[i]),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns the term, unless it mentions one of the variables.
fn without(e: Expr, variables: &[&Var]) -> Option<Expr> {
    let free = free_variables(&e);
    (!variables.iter().any(|x| free.contains(x))).then_some(e)
}
