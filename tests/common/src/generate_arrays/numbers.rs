//! Terms that are numbers or Bools.

use super::*;

impl Maker<'_> {
    pub(super) fn floats<const K: usize>(&mut self, d: usize) -> [String; K] {
        [(); K].map(|_| self.expr(&Float, d))
    }

    /// Products have a bounded factor, so that values stay of moderate size.
    pub(super) fn float(&mut self, d: usize) -> Option<String> {
        Some(match self.choose(22) {
            0 => {
                let [a, b] = self.floats(d);
                format!("(add {a} {b})")
            }
            1 => {
                let [a, b] = self.floats(d);
                format!("(sub {a} {b})")
            }
            2 | 3 => {
                let [a, b] = self.floats(d);
                format!("(mul (tanh {a}) {b})")
            }
            4 => {
                let [a, b] = self.floats(d);
                format!("(div {a} (add 2.0 (sin {b})))")
            }
            5 => {
                let f = self.pick(&["exp", "cosh", "sinh"]);
                let [a] = self.floats(d);
                format!("({f} (sin {a}))")
            }
            6 | 7 => {
                let f = self.pick(&["cos", "tanh", "atan", "erf", "neg", "stop"]);
                let [a] = self.floats(d);
                if f == "stop" { format!("(pow (sin {a}) 2)") } else { format!("({f} {a})") }
            }
            8 | 9 => {
                let sums = vec(self.some_size(), Float);
                let ty = self.pick(&[sums, Row]);
                format!("(sum {})", self.expr(&ty, d))
            }
            10 => {
                let n = self.some_size();
                let ty = self.pick(&[vec(n.clone(), Float), vec(n, Ty::Tuple(vec![Float, Float]))]);
                format!("(ts_dot {} {})", self.expr(&ty, d), self.expr(&ty, d))
            }
            11..=13 => return self.element(&Float, d),
            14 | 15 => return self.fold(&Float, d),
            16 => return self.largest("max", d),
            17 => {
                let (m, n) = (self.some_size(), self.some_size());
                let (i, j) = (self.index_of(&m)?, self.index_of(&n)?);
                format!("(index (tuple {i} {j}) {})", self.expr(&Ty::Matrix(m, n), d))
            }
            18 => {
                let f = self.pick(&["to_float", "bool_to_float"]);
                let ty = if f == "to_float" { Integer } else { Bool };
                format!("(mul 0.25 ({f} {}))", self.expr(&ty, d))
            }
            19 => {
                let (m, n) = (self.some_size(), self.some_size());
                format!("(sum {})", self.expr(&Ty::Matrix(m, n), d))
            }
            _ => return self.sumbuild(&Float, d),
        })
    }

    pub(super) fn sumbuild(&mut self, ty: &Ty, d: usize) -> Option<String> {
        let size = self.some_size();
        if !self.may_loop(&size) {
            return None;
        }
        let n = self.size(&size)?;
        Some(format!("(sumbuild {n} {})", self.family(&size, &Ty::Index(size.clone()), ty, d)))
    }

    /// `max` and `imax`, of no vector that is empty.
    pub(super) fn largest(&mut self, f: &str, d: usize) -> Option<String> {
        let sure: Vec<Size> = self
            .sizes()
            .into_iter()
            .filter(|s| matches!(s, Size::Next(_)) || matches!(s, Size::Constant(n) if *n > 0))
            .collect();
        let size = self.pick(&sure);
        Some(format!("({f} {})", self.expr(&vec(size, Float), d)))
    }

    pub(super) fn integer(&mut self, d: usize) -> Option<String> {
        Some(match self.choose(10) {
            0 | 1 => {
                let f = self.pick(&["add", "sub"]);
                format!("({f} {} {})", self.expr(&Integer, d), self.expr(&Integer, d))
            }
            2 => format!("(neg {})", self.expr(&Integer, d)),
            3 => {
                let n = self.some_size();
                let ty = vec(n, self.ty(0));
                format!("(size {})", self.expr(&ty, d))
            }
            4 => return self.largest("imax", d),
            5 => {
                let ty = vec(self.some_size(), Integer);
                format!("(sum {})", self.expr(&ty, d))
            }
            6 => return self.sumbuild(&Integer, d),
            7 => {
                let all = self.sizes();
                let size = self.pick(&all);
                self.index_of(&size)?
            }
            _ => return self.element(&Integer, d),
        })
    }

    pub(super) fn bool(&mut self, d: usize) -> Option<String> {
        Some(match self.choose(8) {
            0..=3 => {
                let f = self.pick(&["lt", "eq", "gte", "ne", "gt", "lte"]);
                format!("({f} {} {})", self.expr(&Integer, d.min(1)), self.expr(&Integer, d.min(1)))
            }
            4 | 5 => {
                let f = self.pick(&["lt", "gt"]);
                let [a, b] = self.floats(d);
                format!("({f} {a} (add 0.123 {b}))")
            }
            6 => {
                let f = self.pick(&["and", "or"]);
                format!("({f} {} {})", self.expr(&Bool, d), self.expr(&Bool, d))
            }
            _ => format!("(not {})", self.expr(&Bool, d)),
        })
    }
}
