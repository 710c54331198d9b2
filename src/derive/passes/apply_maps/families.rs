//! Applies tensors of maps, and folds of maps.

use super::{ApplyMaps, Made, Side};
use lm::law::{component_source, name_it, sum};
use lm::prim::Prim;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Span, Var};
use lm::types::Type;

impl ApplyMaps<'_, '_> {
    /// Applies V(v), H(v) or the sum of a tensor of maps.
    pub(super) fn family(
        &mut self,
        p: Prim,
        side: Side,
        args: &[Expr],
        x: &Expr,
        out: &mut Vec<Binding>,
    ) -> Made<Expr> {
        let maps = args.last().expect("an operator on maps has them");
        let law = match (p, side) {
            (Prim::LmVCatV, Side::Left) => "apply-vcatv",
            (Prim::LmVCatV, Side::Right) => "reverse-vcatv",
            (Prim::LmHCatV, Side::Left) => "apply-hcatv",
            (Prim::LmHCatV, Side::Right) => "reverse-hcatv",
            (_, Side::Left) => "apply-sumbuild",
            (_, Side::Right) => "reverse-sumbuild",
        };
        if let Kind::App(Op::If, branches) = maps.kind() {
            let of = |branch: &Expr| {
                let (bindings, maps) = branch.as_block();
                let whole = Expr::prim(p, [&args[..args.len() - 1], std::slice::from_ref(maps)].concat());
                Expr::block(bindings.to_vec(), whole)
            };
            let chosen = Expr::conditional(branches[0].clone(), of(&branches[1]), of(&branches[2]));
            return self.apply(side, &chosen, x, out);
        }
        if !is_family(maps) || !self.cx.rewrites.may(law) {
            return Ok(side.applied(&Expr::prim(p, args.to_vec()), x));
        }
        let takes_elements = matches!((p, side), (Prim::LmVCatV, Side::Right) | (Prim::LmHCatV, Side::Left));
        let of = |i: Expr| if takes_elements { Expr::prim(Prim::Index, [i, x.clone()]) } else { x.clone() };
        let images = self.images(side, maps, &of)?;
        Ok(match law {
            "apply-vcatv" | "reverse-hcatv" => images,
            _ => summed(p, side, args, images),
        })
    }

    /// Returns the tensor of what a map of each index gives for its vector.
    fn images(&mut self, side: Side, maps: &Expr, x: &dyn Fn(Expr) -> Expr) -> Made<Expr> {
        let mut image = |m: &Expr, i: Expr| {
            self.scoped(|pass, out| {
                let x = pass.name_it(x(i), out);
                let (bindings, m) = m.as_block();
                bindings.iter().try_for_each(|b| pass.binding(b, out))?;
                pass.apply(side, m, &x, out)
            })
        };
        match maps.kind() {
            Kind::App(op, parts) if *op == Op::Prim(Prim::VecInit) => {
                let numbered = parts.iter().enumerate();
                let images = numbered.map(|(k, m)| image(m, Expr::integer(k as i64))).collect::<Made<Vec<_>>>()?;
                Ok(Expr::app(op.clone(), images))
            }
            Kind::App(op, args) => {
                let Kind::Lam(i, m) = args[1].kind() else { unreachable!("a family is over a function") };
                let image = image(m, Expr::var(i))?;
                Ok(Expr::app(op.clone(), vec![args[0].clone(), Expr::lam(i.clone(), image)]))
            }
            _ => unreachable!("a family is an operator"),
        }
    }

    /// Returns the loop for `lmFold(n, λi. M(i)) ⊙ (ds, dc)`; for `(rs, rc) ⊙ᴿ lmFold(n, λi. M(i))`, which goes from
    /// the last step to the first.
    pub(super) fn recurrence(&mut self, side: Side, fold: &[Expr], x: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        let [n, from, to, f] = fold else { panic!("lmFold has four arguments") };
        let Kind::Lam(i, body) = f.kind() else { unreachable!("the steps are known") };
        let [start, input] = [1, 2].map(|k| Expr::get(k, x.clone()));
        let input = self.name_it(input, out);
        let p = self.cx.supply.fresh("p", Type::tuple([Type::Integer, start.ty().clone()]));
        let ds = self.cx.supply.fresh("ds", start.ty().clone());
        let pair = |step: &Var| Binding { pattern: Pattern::Tuple(vec![step.clone(), ds.clone()]), rhs: Expr::var(&p) };
        let (first, gives) = match side {
            Side::Left => (vec![pair(i)], to),
            Side::Right => {
                let k = self.cx.supply.fresh("k", Type::Integer);
                let last = Expr::prim(Prim::Sub, [n.clone(), Expr::integer(1)]);
                let back = Expr::prim(Prim::Sub, [last, Expr::var(&k)]);
                (vec![pair(&k), Binding { pattern: Pattern::Var(i.clone()), rhs: back }], from)
            }
        };
        let step = self.scoped(|pass, out| {
            out.extend(first);
            let (bindings, m) = body.as_block();
            bindings.iter().try_for_each(|b| pass.binding(b, out))?;
            pass.apply(side, m, &Expr::tuple([Expr::var(&ds), input]), out)
        })?;
        let step = Expr::lam(p.clone(), step);
        let outputs = Expr::witness(&Expr::get(2, component_source(gives)));
        Ok(Expr::prim(Prim::Loop, [n.clone(), step, start, outputs]))
    }

    /// Returns the k-th map of a tensor whose maps are known. An index that is out of range fails as that of a tensor
    /// of numbers does.
    pub(super) fn element(&mut self, k: &Expr, maps: &Expr, place: Span, out: &mut Vec<Binding>) -> Expr {
        let j = self.cx.supply.fresh("j", k.ty().clone());
        let numbers = Expr::prim(Prim::Build, [size_of_family(maps), Expr::lam(j.clone(), Expr::var(&j))]);
        let k = Expr::prim(Prim::Index, [k.clone(), numbers]).at(place);
        let k = name_it(&k, self.cx.supply, out);
        match maps.kind() {
            Kind::App(Op::Prim(Prim::VecInit), parts) => {
                let is = |i: usize| Expr::prim(Prim::Eq, [k.clone(), Expr::integer(i as i64)]);
                let (last, parts) = parts.split_last().expect("a literal has elements");
                let mut chosen = last.clone();
                for (i, m) in parts.iter().enumerate().rev() {
                    let c = name_it(&is(i), self.cx.supply, out);
                    chosen = Expr::conditional(c, m.clone(), chosen);
                }
                chosen
            }
            Kind::App(_, args) => {
                let Kind::Lam(i, m) = args[1].kind() else { unreachable!("a family is over a function") };
                Expr::block(vec![Binding { pattern: Pattern::Var(i.clone()), rhs: k }], m.clone())
            }
            _ => unreachable!("a family is an operator"),
        }
    }
}

/// Returns whether the maps of a tensor are known: those of a literal, or of a function of the index.
pub(super) fn is_family(maps: &Expr) -> bool {
    match maps.kind() {
        Kind::App(Op::Prim(Prim::VecInit), _) => true,
        Kind::App(Op::Prim(Prim::Build), args) => matches!(args[1].kind(), Kind::Lam(..)),
        _ => false,
    }
}

pub(super) fn size_of_family(maps: &Expr) -> Expr {
    match maps.kind() {
        Kind::App(Op::Prim(Prim::VecInit), parts) => Expr::integer(parts.len() as i64),
        Kind::App(_, args) => args[0].clone(),
        _ => unreachable!("a family is an operator"),
    }
}

/// Returns the sum of the images of maps.
fn summed(p: Prim, side: Side, args: &[Expr], images: Expr) -> Expr {
    let parts = images.args_of_prim(Prim::Build).map(<[Expr]>::to_vec);
    match (parts, images.args_of_prim(Prim::VecInit)) {
        (Some(parts), _) if args.len() == 2 && p != Prim::LmVCatV && side == Side::Left => {
            Expr::prim(Prim::SumBuild, [args[..1].to_vec(), parts].concat())
        }
        (Some(parts), _) => Expr::prim(Prim::SumBuild, parts),
        (None, Some(parts)) => sum(parts.to_vec()).unwrap_or_else(|| Expr::prim(Prim::Sum, [images.clone()])),
        _ => Expr::prim(Prim::Sum, [images]),
    }
}
