//! The scope of generated terms: variables, sizes, indices.

use super::*;

impl Maker<'_> {
    /// A number below `n`; 0 when the choices have run out.
    pub(super) fn choose(&mut self, n: usize) -> usize {
        self.choices.next().map_or(0, |c| *c as usize % n)
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.choose(from.len())].clone()
    }

    // Variables.

    /// Binds a variable. It hides none, but a Float.
    pub(super) fn bind(&mut self, ty: &Ty) -> String {
        let mut name: String = self.pick(&["x", "y", "v", "i", "t1", "s", "x_1", "dr", "states", "n", "sin"]).into();
        let hides = |name: &str, scope: &[Variable]| scope.iter().any(|x| x.name == name && x.ty != Float);
        let of_function = self.applied.as_ref().map(|(f, ..)| f.clone());
        while hides(&name, &self.scope) || of_function.as_ref() == Some(&name) {
            name = format!("{name}{}", self.next_id);
        }
        let id = self.next_id;
        self.next_id += 1;
        let ty = if *ty == Row { vec(Size::Row(id), Float) } else { ty.clone() };
        self.scope.push(Variable { name: name.clone(), id, ty });
        name
    }

    pub(super) fn visible(&self) -> Vec<Variable> {
        let hidden = |i: usize, x: &Variable| self.scope[i + 1..].iter().any(|later| later.name == x.name);
        let mut all: Vec<Variable> =
            self.scope.iter().enumerate().filter(|(i, x)| !hidden(*i, x)).map(|(_, x)| x.clone()).collect();
        all.reverse();
        all
    }

    /// Variables, and components of variables, of a type.
    pub(super) fn known(&self, ty: &Ty) -> Vec<String> {
        let mut terms = Vec::new();
        for x in self.visible() {
            if x.ty.fits(ty) {
                terms.push(x.name);
            } else if let Ty::Tuple(parts) = &x.ty {
                let n = parts.len();
                let fitting = parts.iter().enumerate().filter(|(_, part)| part.fits(ty));
                terms.extend(fitting.map(|(k, _)| format!("(get${}${n} {})", k + 1, x.name)));
            }
        }
        terms
    }

    /// Binds a variable with a name of its own.
    pub(super) fn bind_apart(&mut self, ty: &Ty) -> String {
        let name = self.bind(ty);
        let last = self.scope.len() - 1;
        if self.scope[..last].iter().any(|x| x.name == name) {
            self.scope[last].name = format!("{name}{}", self.scope[last].id);
        }
        self.scope[last].name.clone()
    }

    pub(super) fn parameter(&mut self, ty: &Ty) -> String {
        let name = self.bind_apart(ty);
        format!("({name} : {})", ty.text())
    }

    /// Something with variables of its own.
    pub(super) fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.len();
        let made = work(self);
        self.scope.truncate(outer);
        made
    }

    /// The body of a loop of a size.
    pub(super) fn in_loop<T>(&mut self, size: &Size, work: impl FnOnce(&mut Self) -> T) -> T {
        let times = self.times;
        self.times *= count_of(size);
        self.loops += 1;
        let made = self.inside(work);
        self.loops -= 1;
        self.times = times;
        made
    }

    pub(super) fn may_loop(&self, size: &Size) -> bool {
        self.loops < 3 && self.times * count_of(size) * 4.0 < MOST_COST && self.nodes > 0
    }

    // Sizes and indices.

    /// A term for a size.
    pub(super) fn size(&self, size: &Size) -> Option<String> {
        let of = |x: &Variable| match &x.ty {
            Ty::Length(s) if s == size => Some(x.name.clone()),
            Ty::Vec(s, _) if s == size => Some(format!("(size {})", x.name)),
            Ty::Matrix(s, _) if s == size => Some(format!("(get$1$2 (size {}))", x.name)),
            Ty::Matrix(_, s) if s == size => Some(format!("(get$2$2 (size {}))", x.name)),
            Ty::Index(_) if Size::Of(x.id) == *size => Some(x.name.clone()),
            Ty::Tuple(parts) => parts.iter().enumerate().find_map(|(k, part)| match part {
                Ty::Vec(s, _) if s == size => Some(format!("(size (get${}${} {}))", k + 1, parts.len(), x.name)),
                _ => None,
            }),
            _ => None,
        };
        match size {
            Size::Constant(n) => Some(n.to_string()),
            Size::Next(before) => Some(format!("(add {} 1)", self.size(before)?)),
            _ => self.visible().iter().find_map(of),
        }
    }

    /// Sizes for which there are terms.
    pub(super) fn sizes(&self) -> Vec<Size> {
        let mut all: Vec<Size> = [Size::N, Size::M].into_iter().filter(|s| self.size(s).is_some()).collect();
        for x in self.visible() {
            match &x.ty {
                Ty::Index(_) => all.push(Size::Of(x.id)),
                Ty::Vec(s @ Size::Row(_), _) => all.push(s.clone()),
                _ => {}
            }
        }
        if all.first() == Some(&Size::N) {
            all.insert(1, Size::N);
            all.push(Size::Next(Box::new(Size::N)));
        }
        all.extend([2, 1, 3, 0].map(Size::Constant));
        all
    }

    pub(super) fn some_size(&mut self) -> Size {
        let all = self.sizes();
        self.pick(&all)
    }

    /// Terms for indices below a size.
    pub(super) fn indices(&self, size: &Size) -> Vec<String> {
        let mut terms = Vec::new();
        let visible = self.visible();
        let bound = |x: &Variable| match &x.ty {
            Ty::Index(s) => Some(s.clone()),
            _ => None,
        };
        for x in &visible {
            let Some(s) = bound(x) else { continue };
            // Below an index, so below what that one is below of.
            let outer = visible.iter().find(|y| s == Size::Of(y.id)).and_then(bound);
            if s == *size || outer.as_ref() == Some(size) {
                terms.push(x.name.clone());
                if let Some(n) = self.size(size) {
                    terms.push(format!("(sub (sub {n} 1) {})", x.name));
                }
            }
            if matches!(size, Size::Next(before) if **before == s) {
                terms.extend([x.name.clone(), format!("(add {} 1)", x.name)]);
            }
        }
        match size {
            Size::Constant(0) => {}
            Size::Constant(n) => terms.extend(["0".into(), (n - 1).to_string()]),
            Size::Next(before) => terms.extend(["0".into()].into_iter().chain(self.size(before))),
            _ => {}
        }
        terms
    }

    pub(super) fn can_make(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Index(size) => !self.indices(size).is_empty(),
            Ty::Length(size) => self.size(size).is_some(),
            Ty::Tuple(parts) => parts.iter().all(|part| self.can_make(part)),
            Ty::Vec(size, element) => {
                let of_indices = **element == Ty::Index(size.clone());
                self.size(size).is_some() && (of_indices || self.can_make(element))
            }
            Ty::Matrix(m, n) => self.size(m).is_some() && self.size(n).is_some(),
            Float | Integer | Bool | Ty::Count | Row => true,
        }
    }

    /// Returns whether arguments of the type are in scope.
    pub(super) fn can_pass(&self, ty: &Ty) -> bool {
        self.can_make(ty) || !self.known(ty).is_empty()
    }

    pub(super) fn argument(&mut self, ty: &Ty, depth: usize) -> String {
        if self.can_make(ty) {
            return self.expr(ty, depth);
        }
        let known = self.known(ty);
        self.pick(&known)
    }
}
