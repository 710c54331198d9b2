//! Terms that are tensors, and what is made of vectors.

use super::*;

impl Maker<'_> {
    /// Sums, multiples and the like.
    pub(super) fn vector_space(&mut self, ty: &Ty, d: usize) -> Option<String> {
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

    pub(super) fn vec(&mut self, ty: &Ty, size: &Size, element: &Ty, d: usize) -> Option<String> {
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

    pub(super) fn matrix(&mut self, ty: &Ty, m: &Size, n: &Size, d: usize) -> Option<String> {
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
