//! Terms of any type: bindings, conditionals, calls, elements, folds.

use super::*;

impl Maker<'_> {
    // Terms.

    /// A term, perhaps with bindings in front.
    pub(super) fn block(&mut self, ty: &Ty, depth: usize) -> String {
        let count = self.choose(4);
        self.inside(|cx| {
            let bindings: Vec<String> = (0..count).map(|_| cx.binding(depth.saturating_sub(1))).collect();
            let body = cx.expr(ty, depth);
            if bindings.is_empty() { body } else { format!("(let ({}) {body})", bindings.join("\n        ")) }
        })
    }

    pub(super) fn binding(&mut self, depth: usize) -> String {
        let ty = self.ty(2);
        let rhs = self.expr(&ty, depth);
        match &ty {
            Ty::Tuple(parts) if parts.len() > 1 && self.choose(2) == 0 => {
                let names: Vec<String> = parts.iter().map(|part| self.bind_apart(part)).collect();
                format!("(({}) {rhs})", names.join(" "))
            }
            _ => format!("({} {rhs})", self.bind(&ty)),
        }
    }

    pub(super) fn expr(&mut self, ty: &Ty, depth: usize) -> String {
        self.cost += self.times;
        if depth == 0 || self.nodes == 0 {
            return self.leaf(ty);
        }
        self.nodes -= 1;
        let d = depth - 1;
        let made = match self.choose(12) {
            0 | 1 => None,
            2..=6 => self.own(ty, d),
            7 => Some(self.block(ty, d)),
            8 => self.again(ty, d).or_else(|| self.call(ty, d)),
            9 => self.call(ty, d).or_else(|| self.apply(ty, d)),
            _ => self.general(ty, d),
        };
        made.unwrap_or_else(|| self.leaf(ty))
    }

    /// A variable, a component of one, or something simple.
    pub(super) fn leaf(&mut self, ty: &Ty) -> String {
        let known = self.known(ty);
        if !known.is_empty() && self.choose(6) < 5 {
            return self.pick(&known);
        }
        match ty {
            Float => self.pick(&["1.0", "0.5", "-0.75", "1.25"]).into(),
            Integer => self.pick(&["1", "2", "-3", "0"]).into(),
            Bool => self.pick(&["true", "false"]).into(),
            Ty::Count => self.pick(&["2", "1", "3", "0"]).into(),
            Ty::Index(size) => {
                let terms = self.indices(size);
                self.pick(&terms)
            }
            Ty::Length(size) => self.size(size).expect("it can be made"),
            Ty::Tuple(parts) => {
                format!("(tuple{})", parts.iter().map(|part| format!(" {}", self.leaf(part))).collect::<String>())
            }
            Ty::Vec(size, element) => match (size, self.size(size)) {
                (_, Some(n)) if matches!(**element, Ty::Index(_)) => {
                    format!("(build {n} {})", self.family(size, element, element, 0))
                }
                (Size::Constant(n), _) if *n > 0 && !element.is_array_of_arrays() => {
                    let parts: Vec<String> = (0..*n).map(|_| self.leaf(element)).collect();
                    format!("(Vec_init {})", parts.join(" "))
                }
                (_, Some(n)) => format!("(constVec {n} {})", self.leaf(element)),
                (_, None) => known[0].clone(),
            },
            Row => format!("(constVec 2 {})", self.leaf(&Float)),
            Ty::Matrix(m, n) => {
                let (m, n) = (self.size(m), self.size(n));
                let size = [m, n].map(|size| size.expect("it can be made")).join(" ");
                format!("(constVec (tuple {size}) {})", self.leaf(&Float))
            }
        }
    }

    /// A term of any type.
    pub(super) fn general(&mut self, ty: &Ty, d: usize) -> Option<String> {
        match self.choose(12) {
            0..=2 => {
                let c = self.expr(&Bool, d);
                let (a, b) = (self.block(ty, d), self.expr(ty, d));
                Some(format!("(if {c} {a} {b})"))
            }
            3 => {
                let other = self.ty(1);
                let i = self.choose(2);
                let parts = if i == 0 { vec![ty.clone(), other] } else { vec![other, ty.clone()] };
                Some(format!("(get${}$2 {})", i + 1, self.expr(&Ty::Tuple(parts), d)))
            }
            4 | 5 => self.element(ty, d),
            6..=8 => self.fold(ty, d),
            9 if self.stops => {
                self.made.stops_gradients = true;
                Some(format!("(stop_gradient {})", self.expr(ty, d)))
            }
            9 => {
                let n = self.some_size();
                let n = self.size(&n)?;
                Some(format!("(assert (gte {n} 0) {})", self.expr(ty, d)))
            }
            _ => self.apply(ty, d),
        }
    }

    /// An application of the parameter that is a function.
    pub(super) fn apply(&mut self, ty: &Ty, d: usize) -> Option<String> {
        let (f, s, t) = self.applied.clone()?;
        let at = results(&t, ty)?;
        self.cost += self.times * 20.0;
        Some(at(format!("({f} {})", self.expr(&s, d))))
    }

    pub(super) fn index_of(&mut self, size: &Size) -> Option<String> {
        let terms = self.indices(size);
        (!terms.is_empty()).then(|| self.pick(&terms))
    }

    /// An element of a tensor: at an index in range, or, where it may not be, under a condition.
    pub(super) fn element(&mut self, ty: &Ty, d: usize) -> Option<String> {
        let sizes = self.sizes();
        let (sure, unsure): (Vec<Size>, Vec<Size>) = sizes.into_iter().partition(|s| !self.indices(s).is_empty());
        if !sure.is_empty() && (unsure.is_empty() || self.choose(3) > 0) {
            let size = self.pick(&sure);
            let i = self.index_of(&size)?;
            return Some(format!("(index {i} {})", self.expr(&vec(size, ty.clone()), d)));
        }
        let size = self.pick(&unsure);
        let (i, v) = (self.expr(&Integer, d.min(1)), self.expr(&vec(size.clone(), ty.clone()), d));
        Some(self.inside(|cx| {
            // Not in the scope of each other.
            let k = cx.bind(&Integer);
            let w = cx.bind_apart(&vec(size, ty.clone()));
            let otherwise = cx.leaf(ty);
            let inside = format!("(and (gte {k} 0) (lt {k} (size {w})))");
            let (pair, of) = (format!("({k} {w})"), format!("(tuple {i} {v})"));
            format!("(let ({pair} {of}) (if {inside} (index {k} {w}) {otherwise}))")
        }))
    }

    /// The elements of a loop: their type, and a vector of them.
    pub(super) fn elements(&mut self, d: usize) -> Option<(Size, Ty, String)> {
        let size = self.some_size();
        if !self.may_loop(&size) {
            return None;
        }
        if self.choose(4) == 3 {
            let n = self.size(&size)?;
            return Some((size.clone(), Ty::Index(size), format!("(build {n} (lam (i : Integer) i))")));
        }
        let ty = self.ty(1);
        let v = self.expr(&vec(size.clone(), ty.clone()), d);
        Some((size, ty, v))
    }

    /// A function from a state and an element to a state.
    pub(super) fn stepping(&mut self, state: &Ty, size: &Size, element: &Ty, d: usize) -> String {
        self.in_loop(size, |cx| {
            let pair = Ty::Tuple(vec![state.clone(), element.clone()]);
            let t = cx.bind(&pair);
            let parameter = format!("(lam ({t} : {})", pair.text());
            if cx.choose(2) == 0 {
                let (a, x) = (cx.bind_apart(state), cx.bind_apart(element));
                let body = cx.block(state, d);
                return format!("{parameter} (let (({a} {x}) {t}) {body}))");
            }
            format!("{parameter} {})", cx.block(state, d))
        })
    }

    pub(super) fn fold(&mut self, ty: &Ty, d: usize) -> Option<String> {
        let (size, element, v) = self.elements(d.min(2))?;
        let start = self.expr(ty, d.min(1));
        let f = self.stepping(ty, &size, &element, d);
        Some(format!("(fold {f} {start} {v})"))
    }

    /// `(lam (x : T) e)`, in a loop.
    pub(super) fn family(&mut self, size: &Size, parameter: &Ty, ty: &Ty, d: usize) -> String {
        self.in_loop(size, |cx| {
            let x = cx.parameter(parameter);
            format!("(lam {x} {})", cx.block(ty, d))
        })
    }

    /// An operation that gives the type.
    pub(super) fn own(&mut self, ty: &Ty, d: usize) -> Option<String> {
        match ty {
            Float => self.float(d),
            Integer => self.integer(d),
            Bool => self.bool(d),
            Ty::Index(size) => self.index_of(size),
            Ty::Length(_) | Ty::Count => None,
            Ty::Tuple(_) if ty.is_vector() && self.choose(3) == 2 => self.vector_space(ty, d),
            Ty::Tuple(parts) => Some(format!(
                "(tuple{})",
                parts.iter().map(|part| format!(" {}", self.expr(part, d))).collect::<String>()
            )),
            Ty::Vec(size, element) => self.vec(ty, size, element, d),
            Row => {
                let size = self.some_size();
                Some(self.expr(&vec(size, Float), d))
            }
            Ty::Matrix(m, n) => self.matrix(ty, m, n, d),
        }
    }
}
