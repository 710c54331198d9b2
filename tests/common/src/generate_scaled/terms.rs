//! Terms of random programs: for each type what there is, at random.

use super::{Maker, N, Ty, weight};

impl Maker {
    pub(super) fn expr(&mut self, ty: Ty, depth: usize) -> String {
        self.place.cost += self.place.times;
        if depth == 0 || self.place.nodes == 0 {
            return self.leaf(ty);
        }
        self.place.nodes -= 1;
        let d = depth - 1;
        let made = match self.choose(12) {
            0 => None,
            1 => self.call(ty),
            2 if d > 0 => Some(self.block_of(ty, d)),
            3 => {
                let c = self.condition(d);
                let yes = self.expr(ty, d);
                Some(format!("(if {c} {yes} {})", self.expr(ty, d)))
            }
            4 | 5 => self.fold(ty, d),
            _ => self.own(ty, d),
        };
        made.unwrap_or_else(|| self.leaf(ty))
    }

    fn condition(&mut self, d: usize) -> String {
        match (self.choose(3), self.variable(Ty::Index)) {
            (0, Some(i)) => format!("(lt (mul 2 {i}) (size v))"),
            (1, Some(i)) => format!("(eq {i} 1)"),
            _ => format!("(gt {} (add 0.123 {}))", self.expr(Ty::Float, d.min(1)), self.leaf(Ty::Float)),
        }
    }

    /// A fold over a vector, or over rows.
    fn fold(&mut self, ty: Ty, d: usize) -> Option<String> {
        let (of, element, times) =
            self.pick(&[(Ty::Vec, Ty::Float, N), (Ty::Row, Ty::Float, 3.0), (Ty::Rows, Ty::Row, N)]);
        if matches!(ty, Ty::Rows | Ty::Index | Ty::Column) || !self.may_loop(times * weight(ty)) {
            return None;
        }
        let (start, over) = (self.leaf(ty), self.expr(of, d.min(1)));
        let step = self.step(ty, element, times);
        Some(format!("(fold {step} {start} {over})"))
    }

    /// The function of a fold: of a pair of state and element.
    fn step(&mut self, state: Ty, element: Ty, times: f64) -> String {
        let before = self.place.times;
        self.place.times *= times;
        let text = self.inside(|cx| {
            let (s, x) = (cx.bind(state), cx.bind(element));
            let body = cx.using(&s, state);
            let pair = format!("(Tuple {} {})", state.text(), element.text());
            format!("(lam (p : {pair}) (let (({s} {x}) p) {body}))")
        });
        self.place.times = before;
        text
    }

    fn own(&mut self, ty: Ty, d: usize) -> Option<String> {
        match ty {
            Ty::Float => self.float(d),
            Ty::Pair => Some(format!("(tuple {} {})", self.expr(Ty::Float, d), self.expr(Ty::Float, d))),
            Ty::Row => self.row(d),
            Ty::Vec => self.vec(d),
            Ty::Rows => self.rows(d),
            Ty::Index | Ty::Column => None,
        }
    }

    /// Products have a bounded factor, so that values stay of moderate size.
    fn float(&mut self, d: usize) -> Option<String> {
        let two = |cx: &mut Self| (cx.expr(Ty::Float, d), cx.expr(Ty::Float, d));
        Some(match self.choose(20) {
            0..=2 => {
                let (a, b) = two(self);
                format!("({} {a} {b})", self.pick(&["add", "sub", "add", "max", "min"]))
            }
            3..=5 => {
                let (a, b) = two(self);
                format!("(mul ({} {a}) {b})", self.pick(&["sin", "tanh"]))
            }
            6 => {
                let (a, b) = two(self);
                format!("(div {a} (add 2.0 (sin {b})))")
            }
            7 => {
                let f = self.pick(&["exp", "cosh", "sqrt", "log"]);
                format!("({f} (add 1.5 (sin {})))", self.expr(Ty::Float, d))
            }
            8 | 9 => {
                let f = self.pick(&["sin", "cos", "tanh", "atan", "neg", "abs", "erf"]);
                format!("({f} {})", self.expr(Ty::Float, d))
            }
            10 => format!("(pow (sin {}) 3)", self.expr(Ty::Float, d)),
            11 => format!("(get${}$2 {})", 1 + self.choose(2), self.expr(Ty::Pair, d)),
            12 | 13 => {
                let of = self.pick(&[Ty::Vec, Ty::Row]);
                format!("(sum {})", self.expr(of, d))
            }
            14 => {
                let of = self.pick(&[Ty::Vec, Ty::Row, Ty::Pair]);
                format!("(ts_dot {} {})", self.expr(of, d), self.expr(of, d))
            }
            15 | 16 if self.may_loop(N) => {
                format!("(sumbuild (size v) {})", self.family(Ty::Index, N, Ty::Float, d))
            }
            17 if self.may_loop(N) => format!("(max {})", self.expr(Ty::Vec, d)),
            _ => return self.element(d),
        })
    }

    fn element(&mut self, d: usize) -> Option<String> {
        match (self.variable(Ty::Index), self.variable(Ty::Column)) {
            (Some(i), Some(j)) if self.choose(2) == 0 => {
                Some(format!("(index {j} (index {i} {}))", self.expr(Ty::Rows, d.min(1))))
            }
            (Some(i), _) => Some(format!("(index {i} {})", self.expr(Ty::Vec, d.min(1)))),
            (None, Some(j)) => Some(format!("(index {j} {})", self.expr(Ty::Row, d))),
            (None, None) => {
                let (j, row) = (self.choose(3), self.expr(Ty::Row, d));
                Some(format!("(index {j} {row})"))
            }
        }
    }

    fn row(&mut self, d: usize) -> Option<String> {
        Some(match self.choose(6) {
            0 => format!("(Vec_init {} {} 0.5)", self.expr(Ty::Float, d), self.expr(Ty::Float, d)),
            1 if self.may_loop(3.0) => format!("(build 3 {})", self.family(Ty::Column, 3.0, Ty::Float, d)),
            2 if self.may_loop(3.0) => {
                let f = self.family(Ty::Float, 3.0, Ty::Float, d);
                format!("(map {f} {})", self.expr(Ty::Row, d))
            }
            3 => {
                let i = self.variable(Ty::Index)?;
                format!("(index {i} {})", self.expr(Ty::Rows, d.min(1)))
            }
            4 if self.may_loop(N * 3.0) => format!("(sumbuild (size v) {})", self.family(Ty::Index, N, Ty::Row, d)),
            _ => self.space(Ty::Row, d),
        })
    }

    fn vec(&mut self, d: usize) -> Option<String> {
        if !self.may_loop(N) {
            return None;
        }
        Some(match self.choose(7) {
            0 | 1 => format!("(build (size v) {})", self.family(Ty::Index, N, Ty::Float, d)),
            2 => {
                let (from, of) = self.pick(&[(Ty::Float, Ty::Vec), (Ty::Row, Ty::Rows)]);
                let f = self.family(from, N, Ty::Float, d);
                format!("(map {f} {})", self.expr(of, d.min(1)))
            }
            3 => {
                let (a, b) = (self.bind(Ty::Float), self.bind(Ty::Float));
                let body = self.expr(Ty::Float, d);
                let scope = self.place.scope.len();
                self.place.scope.truncate(scope - 2);
                let f = format!("(lam (p : (Tuple Float Float)) (let (({a} {b}) p) {body}))");
                format!("(map2 {f} {} {})", self.expr(Ty::Vec, d.min(1)), self.leaf(Ty::Vec))
            }
            4 | 5 => {
                let (scan, start) = (self.pick(&["scanl", "scanr"]), self.leaf(Ty::Float));
                let over = self.expr(Ty::Vec, d.min(1));
                let step = self.step(Ty::Float, Ty::Float, N);
                format!("({} ({scan} {step} {start} {over}))", self.pick(&["shift1L", "shift1R"]))
            }
            _ => self.space(Ty::Vec, d),
        })
    }

    fn rows(&mut self, d: usize) -> Option<String> {
        if !self.may_loop(N * 3.0) {
            return None;
        }
        Some(match self.choose(3) {
            0 => format!("(build (size v) {})", self.family(Ty::Index, N, Ty::Row, d)),
            1 => {
                let f = self.family(Ty::Row, N, Ty::Row, d);
                format!("(map {f} {})", self.leaf(Ty::Rows))
            }
            _ => self.space(Ty::Rows, d),
        })
    }

    /// Sums and multiples.
    fn space(&mut self, ty: Ty, d: usize) -> String {
        if self.choose(2) == 0 {
            return format!("(ts_add {} {})", self.expr(ty, d), self.leaf(ty));
        }
        format!("(ts_scale (sin {}) {})", self.expr(Ty::Float, d), self.expr(ty, d))
    }

    fn leaf(&mut self, ty: Ty) -> String {
        if self.choose(8) > 0
            && let Some(x) = self.variable(ty)
        {
            return x;
        }
        match ty {
            Ty::Float => self.pick(&["1.0", "0.5", "-0.75", "1.25"]).into(),
            Ty::Index | Ty::Column => "0".into(),
            Ty::Pair => format!("(tuple {} 0.25)", self.leaf(Ty::Float)),
            Ty::Row => format!("(Vec_init {} 0.5 -0.25)", self.leaf(Ty::Float)),
            Ty::Vec => "v".into(),
            Ty::Rows => format!("(constVec (size v) {})", self.leaf(Ty::Row)),
        }
    }
}
