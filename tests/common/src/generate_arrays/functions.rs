//! Functions: their types, how they call themselves and each other.

use super::*;

impl Maker<'_> {
    // Types.

    /// A type of what is only used inside.
    pub(super) fn ty(&mut self, depth: usize) -> Ty {
        match self.choose(if depth == 0 { 5 } else { 12 }) {
            0..=2 => Float,
            3 => Integer,
            4 => Bool,
            5..=7 => vec(self.some_size(), Float),
            8 => Ty::Tuple((0..self.choose(4)).map(|_| self.ty(depth - 1)).collect()),
            9 => vec(self.some_size(), self.ty(depth - 1)),
            10 => Ty::Matrix(self.some_size(), self.some_size()),
            _ => Row,
        }
    }

    pub(super) fn parameter_type(&mut self) -> Ty {
        let v = || vec(Size::N, Float);
        match self.choose(16) {
            0 | 1 => Float,
            2..=4 => v(),
            5 => vec(Size::M, Float),
            6 => Integer,
            7 => Ty::Tuple(vec![Float, v()]),
            8 => vec(Size::N, Row),
            9 => Ty::Matrix(Size::N, Size::M),
            10 => vec(Size::N, vec(Size::M, Float)),
            11 => vec(Size::N, Ty::Tuple(vec![Float, Float])),
            12 => vec(Size::N, Ty::Index(Size::N)),
            13 => Row,
            14 => vec(Size::N, Bool),
            _ => vec(Size::N, Ty::Tuple(vec![Integer, vec(Size::N, Float)])),
        }
    }

    // Functions.

    pub(super) fn functions(&mut self, i: usize, is_last: bool) {
        self.scope.clear();
        let mut params: Vec<Ty> = (0..1 + self.choose(3)).map(|_| self.parameter_type()).collect();
        if is_last && !params.iter().any(Ty::varies) {
            params.push(vec(Size::N, Float));
        }
        if !is_last && matches!(params[0], Ty::Vec(Size::N, _)) {
            match self.choose(4) {
                1 => params.push(Ty::Index(Size::N)),
                2 => params.push(Ty::Length(Size::N)),
                _ => {}
            }
        }
        let kind = if is_last { 0 } else { self.choose(8) };
        self.applied = None;
        self.again = None;
        let mut signature =
            Signature { name: format!("f{i}"), params, result: Float, function: None, cost: f64::INFINITY };
        signature.result = self.inside(|cx| {
            signature.params.iter().for_each(|ty| drop(cx.bind(ty)));
            let result = match cx.choose(3) {
                0 => Float,
                _ => cx.ty(2),
            };
            let exported = |size: &Size| matches!(size, Size::N | Size::M | Size::Constant(_) | Size::Next(_));
            if sizes_of(&result).iter().all(exported) { result } else { Float }
        });
        match kind {
            0..=3 => self.plain(signature),
            4 => self.recursive(signature),
            5 => self.mutual(signature),
            _ => {
                let argument = self.pick(&[Float, vec(Size::Constant(2), Float), Ty::Tuple(vec![Float, Integer])]);
                let result = self.pick(&[Float, Float, Ty::Tuple(vec![Float, Float]), vec(Size::Constant(2), Float)]);
                signature.function = Some((argument, result));
                if kind == 6 { self.plain(signature) } else { self.recursive(signature) }
            }
        }
    }

    /// Starts a function: binds its parameters, and gives them as text.
    pub(super) fn start(&mut self, signature: &Signature) -> String {
        self.scope.clear();
        (self.nodes, self.loops, self.times, self.cost) = (self.options.nodes, 0, 1.0, 1.0);
        let mut params = String::new();
        self.applied = signature.function.clone().map(|(s, t)| ("fun".to_string(), s, t));
        if let Some((s, t)) = &signature.function {
            params.push_str(&format!("(fun : (Lam {} {})) ", s.text(), t.text()));
        }
        let texts: Vec<String> = signature.params.iter().map(|ty| self.parameter(ty)).collect();
        params + &texts.join(" ")
    }

    pub(super) fn define(&mut self, signature: &Signature, params: &str, body: &str) {
        let text = format!("(def {} {} ({params})\n  {body})\n", signature.name, signature.result.text());
        self.made.text.push_str(&text);
        if signature.function.is_none() {
            self.made.functions.push(signature.clone());
        }
    }

    pub(super) fn plain(&mut self, mut signature: Signature) {
        let params = self.start(&signature);
        let body = self.block(&signature.result.clone(), self.options.depth);
        self.define(&signature, &params, &body);
        signature.cost = self.cost;
        self.callable.push(signature);
    }

    /// The parameter that counts comes first.
    pub(super) fn recursive(&mut self, mut signature: Signature) {
        signature.params.insert(0, Ty::Count);
        let (params, body) = self.step(&signature, &signature);
        self.define(&signature, &params, &body);
        signature.cost = self.cost;
        self.callable.push(signature);
    }

    pub(super) fn mutual(&mut self, mut one: Signature) {
        one.params.insert(0, Ty::Count);
        let mut other = Signature { name: format!("{}'", one.name), ..one.clone() };
        let (params, body) = self.step(&one, &other);
        self.define(&one, &params, &body);
        let cost = self.cost;
        let (params, body) = self.step(&other, &one);
        self.define(&other, &params, &body);
        one.cost = cost + self.cost;
        other.cost = one.cost;
        self.callable.extend([one, other]);
    }

    /// One of two branches ends.
    pub(super) fn step(&mut self, signature: &Signature, next: &Signature) -> (String, String) {
        self.made.is_recursive = true;
        let params = self.start(signature);
        let count = self.scope[0].name.clone();
        let depth = self.options.depth;
        let end = self.expr(&signature.result.clone(), depth.min(2));
        self.again = Some(Again { signature: next.clone(), calls_left: 2, count: count.clone() });
        let mut body = self.block(&signature.result.clone(), depth);
        if self.again.as_ref().is_some_and(|again| again.calls_left == 2) {
            body = self.inside(|cx| cx.again(&signature.result.clone(), 1)).unwrap_or(body);
        }
        self.again = None;
        (params, format!("(if (lte {count} 0)\n      {end}\n      {body})"))
    }

    /// A call of the recursive function that is being made.
    pub(super) fn again(&mut self, ty: &Ty, depth: usize) -> Option<String> {
        let Again { signature, calls_left, count } = self.again.clone()?;
        // The parameter may be hidden.
        let visible = self.visible().iter().any(|x| x.name == count && x.ty == Ty::Count);
        if !visible || calls_left == 0 || self.times > 5.0 || !signature.params.iter().all(|p| self.can_pass(p)) {
            return None;
        }
        let at = results(&signature.result, ty)?;
        let used = if self.loops > 0 { calls_left } else { 1 };
        self.again.as_mut().expect("it is there").calls_left -= used;
        self.cost *= if self.loops > 0 { self.times.powi(MOST_CALLS) } else { 2.7 };
        let mut args = vec![format!("(sub {count} 1)")];
        if let Some((f, ..)) = &self.applied {
            args.insert(0, f.clone());
        }
        args.extend(signature.params[1..].to_vec().iter().map(|ty| self.argument(ty, depth)));
        Some(at(format!("({} {})", signature.name, args.join(" "))))
    }

    pub(super) fn call(&mut self, ty: &Ty, depth: usize) -> Option<String> {
        let fitting: Vec<Signature> = self.callable.iter().rev().cloned().collect();
        let fitting: Vec<Signature> = fitting
            .into_iter()
            .filter(|f| f.cost * self.times + self.cost < 4.0 * MOST_COST && results(&f.result, ty).is_some())
            .filter(|f| f.params.iter().all(|p| self.can_pass(p)))
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let f = self.pick(&fitting);
        self.cost += f.cost * self.times;
        let mut args = Vec::new();
        if let Some((s, t)) = &f.function {
            // The body may run many times.
            let (times, loops) = (self.times, self.loops);
            (self.times, self.loops) = (self.times * 10.0, self.loops + 1);
            args.push(self.inside(|cx| {
                let x = cx.parameter(s);
                format!("(lam {x} {})", cx.expr(t, depth.min(2)))
            }));
            (self.times, self.loops) = (times, loops);
        }
        args.extend(f.params.iter().map(|ty| self.argument(ty, depth)));
        Some(results(&f.result, ty).expect("it fits")(format!("({} {})", f.name, args.join(" "))))
    }
}

/// The way to get a value of a type from a result: the whole, or a component.
pub(super) fn results(result: &Ty, ty: &Ty) -> Option<Box<dyn Fn(String) -> String>> {
    if result.fits(ty) {
        return Some(Box::new(|call| call));
    }
    let Ty::Tuple(parts) = result else { return None };
    let (k, n) = (parts.iter().position(|part| part.fits(ty))?, parts.len());
    Some(Box::new(move |call| format!("(get${}${n} {call})", k + 1)))
}
