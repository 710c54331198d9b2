//! Lists the laws: the rewrites that the optimiser may do, and nothing else.
//!
//! A law is a line of `laws/linear.laws` or `laws/arrays.laws`, a row of `native::NATIVE`, or the derivative of a row of the primitives'
//! table. [`Law::rewrite`] applies one at the root of a term; `strategy` says where and in which order.

pub mod check;
mod choices;
mod condition;
mod context;
mod elements;
mod factors;
pub mod instance;
mod linear_step;
mod matching;
mod matrix;
mod native;
mod one_hot;
mod parse;
mod pattern;
mod rule;
mod step;
mod unzips;

pub use context::{Context, Spaces, codomain, domain};
pub use matching::{name_it, sum};
pub use native::{Head, component_source};
pub use one_hot::is_one_hot;
pub use rule::{Named, without_names};

use crate::notation::ks;
use crate::prim::{self, JacobianRule, Prim};
use crate::scope::{binders, renamed};
use crate::term::{Binding, Expr, Kind, Op, Rule, Span, Supply, place};
use crate::types::Type;
use condition::Condition;
use indexmap::IndexMap;
use matching::{Builder, Subst};
use pattern::Pat;
use std::sync::{Arc, LazyLock};

/// A law.
#[derive(Debug)]
pub struct Law {
    /// The name.
    pub name: Arc<str>,
    /// The figure or section it comes from; `derived` when it follows from others.
    pub source: String,
    /// The law itself.
    pub text: String,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Equation(Equation),
    Native(native::Rewrite, Option<Head>),
    Rule(Rule, Arc<Named>),
}

/// A law as two sides.
#[derive(Debug)]
struct Equation {
    lhs: Pat,
    rhs: Pat,
    /// The metavariables that the right side uses more than once.
    copied: Vec<Arc<str>>,
    /// What has to hold.
    conditions: Vec<Condition>,
    /// Whether `e` under a λ is a term without its binder, which `e{i}` may mention.
    is_strict: bool,
}

impl Law {
    /// Returns a law from its text, `left = right` or `left = right when conditions`, as in the table. Panics when it is
    /// malformed.
    pub fn equation(name: &str, source: &str, text: &str) -> Law {
        Law::of_text(name, source, text, false)
    }

    fn of_text(name: &str, source: &str, text: &str, is_strict: bool) -> Law {
        let (lhs, rest) = text.split_once(" = ").unwrap_or_else(|| panic!("law {name} has no ` = `"));
        let (rhs, conditions) = match rest.split_once(" when ") {
            Some((rhs, conditions)) => (rhs, condition::read(conditions)),
            None => (rest, Vec::new()),
        };
        Law::of_sides(name, source, text, parse::side(lhs), parse::side(rhs), conditions, is_strict)
    }

    fn of_sides(
        name: &str,
        source: &str,
        text: &str,
        lhs: Pat,
        rhs: Pat,
        conditions: Vec<Condition>,
        is_strict: bool,
    ) -> Law {
        let uses = rhs.uses(&lhs.sequences());
        let copied = uses.into_iter().filter(|(_, n)| *n > 1).map(|(name, _)| name).collect();
        let body = Body::Equation(Equation { lhs, rhs, copied, conditions, is_strict });
        Law { name: name.into(), source: source.into(), text: text.into(), body }
    }

    /// Returns a rule of a program, for the definition that has these names.
    pub fn of_rule(rule: &Rule, names: &Arc<Named>) -> Law {
        const WIDTH: usize = 100;
        let text = format!("{} = {}", ks::expr(&rule.template, WIDTH), ks::expr(&rule.replacement, WIDTH));
        let rule = Rule { template: rule::without_names(&rule.template), ..rule.clone() };
        Law { name: rule.name.clone(), source: "rule".into(), text, body: Body::Rule(rule, names.clone()) }
    }

    /// Returns whether the law is one of `laws/arrays.laws`, whose sides may fail: the right one only where the left one
    /// does.
    pub fn is_of_arrays(&self) -> bool {
        matches!(&self.body, Body::Equation(Equation { is_strict: true, .. }))
    }

    /// Returns the operator at the root of the left side; `None` for any.
    pub fn head(&self) -> Option<Head> {
        match &self.body {
            Body::Native(_, head) => *head,
            Body::Rule(rule, _) => Head::of(&rule.template),
            Body::Equation(Equation { lhs: Pat::App(op, _), .. }) => match op {
                Op::Prim(p) => Some(Head::Prim(*p)),
                Op::If => Some(Head::If),
                Op::Tuple => Some(Head::Tuple),
                Op::JacobianOf(_) => Some(Head::Jacobian),
                Op::Get(..) => Some(Head::Get),
                Op::Assert
                | Op::Dummy
                | Op::Call(_)
                | Op::JacobianOfFun(_)
                | Op::JacobianAt(_)
                | Op::LmGet(..)
                | Op::Pack(_)
                | Op::Unpack(_) => None,
            },
            Body::Equation(_) => None,
        }
    }

    /// Returns the maps that the right side uses more than once, so that they must be free to copy.
    pub fn copied_maps(&self) -> Vec<&str> {
        match &self.body {
            Body::Equation(Equation { copied, .. }) => {
                copied.iter().map(|n| &**n).filter(|n| "mnp".contains(n)).collect()
            }
            Body::Native(..) | Body::Rule(..) => Vec::new(),
        }
    }

    /// Returns the term that the law makes of `e`, or `None` where it does not apply.
    ///
    /// If the right side uses a vector more than once, a new binding on `floats` names the vector. A map that it
    /// uses more than once must be free to copy. The new term has the type of the old.
    pub fn rewrite(&self, e: &Expr, supply: &mut Supply, floats: &mut Vec<Binding>) -> Option<Expr> {
        self.rewrite_among(e, supply, floats, &Context::default())
    }

    /// Does the same as [`Law::rewrite`], with what is known in scope.
    pub fn rewrite_among(
        &self,
        e: &Expr,
        supply: &mut Supply,
        floats: &mut Vec<Binding>,
        cx: &Context,
    ) -> Option<Expr> {
        let before = floats.len();
        let new = match &self.body {
            Body::Native(rewrite, _) => {
                let new = rewrite(e, cx)?;
                // A term that stood for a name may stay bound to it.
                if binders(&new).is_subset(&binders(e)) { new } else { renamed(&new, supply) }
            }
            Body::Rule(rule, names) => rule::rewrite(rule, names, e, supply, floats)?,
            Body::Equation(Equation { lhs, rhs, copied, conditions, is_strict }) => {
                let repeats_names = conditions.iter().any(Condition::is_about_directions);
                let mut subst = Subst::new(*is_strict, repeats_names);
                if !matching::matches(lhs, e, &mut subst, &cx.facts) {
                    return None;
                }
                let holds = |condition: &Condition, supply: &mut Supply| {
                    condition.holds(&cx.facts, &mut |p| Builder { subst: &subst, whole: e, supply, cx }.build(p))
                };
                let needed = conditions.iter().filter(|c| !cx.at_any_cost || !c.is_of_cost());
                if !needed.into_iter().all(|condition| holds(condition, supply)) {
                    return None;
                }
                let mut named = Vec::new();
                for name in copied {
                    // A sequence's elements are each used once, or are atoms by the law's own shape.
                    let Some(term) = subst.term(name).cloned() else {
                        continue;
                    };
                    match term.ty() {
                        Type::LM(..) if is_free_to_copy(&term) => {}
                        Type::LM(..) => return None,
                        _ => subst.replace(name, name_it(&term, supply, &mut named)),
                    }
                }
                let new = Builder { subst: &subst, whole: e, supply, cx }.build(rhs)?;
                if new.ty() == e.ty() {
                    floats.append(&mut named);
                }
                new
            }
        };
        // A law fires only where both sides have the same type: `lmScaleR(k) = S(k)` says so for Floats.
        let span = place_of(e);
        (new.ty() == e.ty()).then(|| {
            place(&mut floats[before..], span);
            new.placed(span)
        })
    }
}

/// Returns the place in the source of what a law makes of a term: the place of the term. For a transpose, or the
/// application of a map, returns the place of the map. For a term of several maps without a place, returns that of
/// the first.
fn place_of(e: &Expr) -> Span {
    let Kind::App(_, args) = e.kind() else { return e.span() };
    let mut maps = args.iter().filter(|a| a.ty().as_lm().is_some() && a.span() != Span::default());
    match (maps.next(), maps.next()) {
        (Some(map), None) => map.span(),
        (Some(map), Some(_)) if e.span() == Span::default() => map.span(),
        _ => e.span(),
    }
}

/// The most parts of a juxtaposition of maps that is copied, if its parts are free to copy.
const SHORT: usize = 4;

/// Returns whether a copy of the map copies no work: a variable, 0, 1, a projection, a scale by an atom, or a few of
/// these side by side. A sum and a dot product go through a vector wherever they are applied: in a loop that would be
/// each time.
pub fn is_free_to_copy(m: &Expr) -> bool {
    match m.kind() {
        Kind::Var(_) => true,
        Kind::App(Op::Prim(Prim::LmZero | Prim::LmOne), args) => args.iter().all(is_shape),
        Kind::App(Op::Prim(Prim::LmScale), args) => is_shape(&args[0]) && args[1].is_atom(),
        Kind::App(Op::Prim(Prim::LmScaleR | Prim::LmDot), args) => {
            args.iter().all(Expr::is_atom) && m.ty().as_lm().is_some_and(|(s, _)| s.has_fixed_shape())
        }
        Kind::App(Op::Prim(Prim::LmIndex), args) => is_shape(&args[0]) && is_shape(&args[1]),
        Kind::App(Op::Prim(Prim::LmTranspose), args) => {
            args[0].args_of_prim(Prim::LmSum).is_some_and(|sum| sum.iter().all(is_shape))
        }
        // What sends one vector to all elements: an element of it is the vector again.
        Kind::App(Op::Prim(Prim::LmCompose), args) => {
            let selects = |m: &Expr| matches!(m.kind(), Kind::App(Op::LmGet(..), _));
            (is_spread(&args[0]) || args.iter().all(selects)) && args.iter().all(is_free_to_copy)
        }
        Kind::App(Op::Prim(Prim::LmVCat), args) => args.len() <= SHORT && args.iter().all(is_free_to_copy),
        Kind::App(Op::LmGet(..), args) => is_shape(&args[0]),
        Kind::Const(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Returns whether a map sends one vector to all elements of a tensor: `lmSum(v)ᵀ`.
pub fn is_spread(m: &Expr) -> bool {
    m.args_of_prim(Prim::LmTranspose).is_some_and(|m| m[0].args_of_prim(Prim::LmSum).is_some())
}

/// Returns whether the term is built of names only: as a witness, or an index, it costs nothing.
fn is_shape(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Tuple | Op::Get(..), args) => args.iter().all(is_shape),
        _ => e.is_atom(),
    }
}

/// Returns every law by name, in the order of the tables.
pub fn all() -> &'static IndexMap<Arc<str>, Arc<Law>> {
    static LAWS: LazyLock<IndexMap<Arc<str>, Arc<Law>>> = LazyLock::new(|| {
        let linear = include_str!("../../laws/linear.laws").lines().filter_map(|line| read_line(line, false));
        let arrays = include_str!("../../laws/arrays.laws").lines().filter_map(|line| read_line(line, true));
        let table = linear.chain(arrays);
        let native = [
            native::NATIVE,
            matrix::MATRIX,
            one_hot::ONE_HOT,
            linear_step::LINEAR_STEP,
            factors::FACTORS,
            elements::ELEMENTS,
            unzips::UNZIPS,
            choices::CHOICES,
        ]
        .into_iter();
        let native = native.flatten().map(|n| Law {
            name: n.name.into(),
            source: n.source.into(),
            text: n.text.into(),
            body: Body::Native(n.rewrite, n.head),
        });
        let jacobians = prim::ALL.iter().filter_map(|&p| derivative_law(p));
        let laws: Vec<Law> = table.chain(native).chain(jacobians).collect();
        let mut by_name = IndexMap::new();
        for law in laws {
            check::well_typed(&law);
            let name = law.name.clone();
            assert!(by_name.insert(name, Arc::new(law)).is_none(), "two laws of one name");
        }
        by_name
    });
    &LAWS
}

/// Returns the law of that name. Panics when there is none: schedules are part of the program.
pub fn named(name: &str) -> &'static Arc<Law> {
    all().get(name).unwrap_or_else(|| panic!("there is no law `{name}`"))
}

/// Reads a line `name source law`, columns two blanks or more apart; returns `None` for a comment or an empty line.
fn read_line(line: &str, is_strict: bool) -> Option<Law> {
    if line.trim().is_empty() || line.starts_with('#') {
        return None;
    }
    let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
    match columns[..] {
        [name, source, text] => Some(Law::of_text(name, source, text, is_strict)),
        _ => panic!("law `{line}` is not a name, a source and a law, at least two blanks apart"),
    }
}

/// Returns `∂p(x, y) = ...`.
fn derivative_law(p: Prim) -> Option<Law> {
    let JacobianRule::Law(rhs) = p.jacobian() else {
        return None;
    };
    let metas: Vec<Pat> = ["x", "y", "z"][..arity(p)].iter().map(|n| Pat::Meta((*n).into())).collect();
    let params = ["x", "y", "z"][..arity(p)].join(", ");
    let lhs = Pat::App(Op::JacobianOf(p), metas);
    let text = format!("∂{}({params}) = {rhs}", p.name());
    Some(Law::of_sides(&format!("jacobian-{}", p.name()), "Fig. 2", &text, lhs, parse::side(rhs), Vec::new(), false))
}

fn arity(p: Prim) -> usize {
    let rule = &p.rules()[0];
    (1..=3).find(|&n| rule.at_arity(n).is_some()).expect("a differentiable primitive has arguments")
}

/// Returns the Jacobian `∂p(args)` of a primitive at atoms: the right side of its derivative law, or the zero map
/// where the result does not depend smoothly on the arguments.
///
/// Panics for a primitive that derivations handle themselves.
pub fn jacobian_of(p: Prim, args: &[Expr]) -> Expr {
    let whole = Expr::app(Op::JacobianOf(p), args.to_vec());
    match p.jacobian() {
        JacobianRule::Law(_) if whole.ty().as_lm().expect("a Jacobian").1.is_differentiable() => {
            let law = named(&format!("jacobian-{}", p.name()));
            let (mut supply, mut floats) = (Supply::default(), Vec::new());
            let jacobian = law.rewrite(&whole, &mut supply, &mut floats);
            assert!(floats.is_empty(), "the Jacobian of {} is taken at atoms", p.name());
            jacobian.unwrap_or_else(|| panic!("no derivative of {} at {}", p.name(), whole.ty()))
        }
        JacobianRule::Law(_) | JacobianRule::Zero => {
            let s = if let [one] = args { one.clone() } else { Expr::tuple(args.to_vec()) };
            let t = Expr::app(Op::Prim(p), args.to_vec());
            Expr::prim(Prim::LmZero, [Expr::witness(&s), Expr::witness(&t)])
        }
        JacobianRule::Structural => panic!("{} is differentiated by the derivation itself", p.name()),
    }
}
