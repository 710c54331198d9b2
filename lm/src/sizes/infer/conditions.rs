//! What a condition says where it holds, or does not.

use super::{Shape, Walk};
use crate::prim::Prim;
use crate::term::{Expr, Kind, Op};
use crate::types::Type;

impl Walk<'_> {
    /// Learns that a condition has a value.
    pub(super) fn learn(&mut self, c: &Expr, value: bool) {
        let (p, args) = match c.kind() {
            Kind::Var(x) => {
                if let Some(c) = self.conditions.get(&x.id()).cloned() {
                    self.learn(&c, value);
                }
                return;
            }
            Kind::App(Op::Prim(p), args) => (*p, args.as_slice()),
            Kind::Let(_, body) => return self.learn(body, value),
            Kind::App(..) | Kind::Const(_) | Kind::Lam(..) => return,
        };
        match (p, value, args) {
            (Prim::And, true, [a, b]) | (Prim::Or, false, [a, b]) => {
                self.learn(a, value);
                self.learn(b, value);
            }
            (Prim::Not, _, [a]) => self.learn(a, !value),
            (Prim::Lt, true, [a, b]) | (Prim::Gte, false, [a, b]) | (Prim::Gt, true, [b, a]) => self.ordered(a, b, 1),
            (Prim::Lte, false, [b, a]) => self.ordered(a, b, 1),
            (Prim::Lte, true, [a, b]) | (Prim::Gt, false, [a, b]) | (Prim::Gte, true, [b, a]) => self.ordered(a, b, 0),
            (Prim::Lt, false, [b, a]) => self.ordered(a, b, 0),
            (Prim::InRange, true, [k, n]) => {
                self.ordered(&Expr::integer(0), k, 0);
                self.ordered(k, n, 1);
            }
            (Prim::Eq | Prim::SameSize, true, [a, b]) | (Prim::Ne, false, [a, b]) => {
                let [a, b] = [a, b].map(|e| self.seen(e));
                self.equal(&a, &b);
            }
            _ => {}
        }
    }

    /// a + gap <= b.
    fn ordered(&mut self, a: &Expr, b: &Expr, gap: i64) {
        if *a.ty() == Type::Integer {
            let [a, b] = [a, b].map(|e| {
                let shape = self.seen(e);
                self.number(&shape)
            });
            self.bounds.not_negative(b.minus(&a).shifted(-gap));
        }
    }

    fn equal(&mut self, a: &Shape, b: &Shape) {
        match (a, b) {
            (Shape::Integer(a), Shape::Integer(b)) => self.bounds.equate(a, b),
            (Shape::Tuple(a), Shape::Tuple(b)) => a.iter().zip(b).for_each(|(a, b)| self.equal(a, b)),
            _ => {}
        }
    }

    /// Returns the shape of a term that was looked at before.
    pub(super) fn seen(&mut self, e: &Expr) -> Shape {
        self.silent += 1;
        let shape = self.term(e);
        self.silent -= 1;
        shape
    }
}
