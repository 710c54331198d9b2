//! Names for variables in print: each variable of a definition has its own, the one it was given
//! where that is free, and always one that the reader takes for a variable.

use crate::term::{Def, Expr, Kind, Op, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The names of the variables of a definition or term.
#[derive(Clone, Debug, Default)]
pub struct Names {
    given: FxHashMap<u32, String>,
    taken: FxHashSet<String>,
    /// The last number given to a name that several variables have.
    last: FxHashMap<String, usize>,
}

const RESERVED: [&str; 13] =
    ["def", "edef", "gdef", "rule", "let", "if", "assert", "lam", "tuple", "true", "false", ":", "$dummy"];

impl Names {
    /// Names for a definition's parameters and for the variables of its body.
    pub fn of(def: &Def) -> Names {
        let mut names = Names::default();
        names.keep_calls(&def.body);
        def.params.iter().for_each(|x| names.give(x));
        names.give_all(&def.body);
        names
    }

    /// Names for a term's variables, the free ones too.
    pub fn of_term(e: &Expr) -> Names {
        let mut names = Names::default();
        names.keep_calls(e);
        names.give_all(e);
        names
    }

    /// Names for variables, in order.
    pub fn of_variables<'a>(variables: impl IntoIterator<Item = &'a Var>) -> Names {
        let mut names = Names::default();
        variables.into_iter().for_each(|x| names.give(x));
        names
    }

    /// Names for forms of a definition, in order.
    pub fn of_forms<'a>(def: &Def, forms: impl IntoIterator<Item = &'a Expr>) -> Names {
        let mut names = Names::of(def);
        for form in forms {
            names.keep_calls(form);
            names.give_all(form);
        }
        names
    }

    /// Names for a definition of which another form follows, `next`: the variables that both have keep their names, and
    /// others have names that neither gives to another variable, those of `wanted` where they are free.
    pub fn before(def: &Def, next: &Def, names: &Names, wanted: &Names) -> Names {
        let mut kept = FxHashMap::default();
        let mut keep = |x: &Var| {
            kept.insert(x.id(), x.clone());
        };
        next.params.iter().for_each(&mut keep);
        bound(&next.body, &mut keep);
        let mut all = Names { taken: names.taken.clone(), ..Names::default() };
        let mut name = |x: &Var| {
            if kept.get(&x.id()).is_some_and(|y: &Var| y.name() == x.name() && y.ty() == x.ty()) {
                all.given.insert(x.id(), names.of_var(x));
            }
        };
        def.params.iter().for_each(&mut name);
        bound(&def.body, &mut name);
        all.keep_calls(&def.body);
        bound(&def.body, &mut |x: &Var| {
            let name = wanted.of_var(x);
            if !all.given.contains_key(&x.id()) && all.taken.insert(name.clone()) {
                all.given.insert(x.id(), name);
            }
        });
        def.params.iter().for_each(|x| all.give(x));
        all.give_all(&def.body);
        all
    }

    /// Names for a definition that is equal to another up to the numbers and names of variables: the names of that one.
    pub fn alike(def: &Def, other: &Def, names: &Names) -> Names {
        let mut all = names.clone();
        for (x, y) in def.params.iter().zip(&other.params) {
            all.given.insert(x.id(), names.of_var(y));
        }
        all.name_alike(&def.body, &other.body, names);
        all
    }

    fn name_alike(&mut self, e: &Expr, other: &Expr, names: &Names) {
        let pairs = match (e.kind(), other.kind()) {
            (Kind::Lam(x, _), Kind::Lam(y, _)) => vec![(x, y)],
            (Kind::Let(a, _), Kind::Let(b, _)) => {
                a.iter().zip(b).flat_map(|(a, b)| a.pattern.vars().iter().zip(b.pattern.vars())).collect()
            }
            _ => Vec::new(),
        };
        for (x, y) in pairs {
            self.given.insert(x.id(), names.of_var(y));
        }
        e.children().zip(other.children()).for_each(|(a, b)| self.name_alike(a, b, names));
    }

    /// Returns the variable's name. A variable from elsewhere has the name it was made with.
    pub fn of_var(&self, x: &Var) -> String {
        self.given.get(&x.id()).map_or_else(|| readable(x.name()), String::clone)
    }

    /// No variable shares its name with a function called without arguments: `(f)` with a variable
    /// `f` would be the variable in parentheses.
    fn keep_calls(&mut self, e: &Expr) {
        let mut rest = vec![e];
        while let Some(e) = rest.pop() {
            if let Kind::App(op, args) = e.kind()
                && args.is_empty()
            {
                self.taken.extend(base_name(op));
            }
            rest.extend(e.children());
        }
    }

    /// Names the variables in order of first appearance.
    fn give_all(&mut self, e: &Expr) {
        match e.kind() {
            Kind::Var(x) | Kind::Lam(x, _) => self.give(x),
            Kind::Const(_) | Kind::App(..) | Kind::Let(..) => {}
        }
        if let Kind::Let(bindings, body) = e.kind() {
            for binding in bindings {
                self.give_all(&binding.rhs);
                binding.pattern.vars().iter().for_each(|x| self.give(x));
            }
            return self.give_all(body);
        }
        e.children().for_each(|child| self.give_all(child));
    }

    fn give(&mut self, x: &Var) {
        if self.given.contains_key(&x.id()) {
            return;
        }
        let wanted = readable(x.name());
        let mut name = wanted.clone();
        while !self.taken.insert(name.clone()) {
            let count = self.last.entry(wanted.clone()).or_default();
            *count += 1;
            name = format!("{wanted}_{count}");
        }
        self.given.insert(x.id(), name);
    }
}

/// Visits the variables that a term binds.
fn bound(e: &Expr, see: &mut impl FnMut(&Var)) {
    match e.kind() {
        Kind::Lam(x, _) => see(x),
        Kind::Let(bindings, _) => bindings.iter().flat_map(|b| b.pattern.vars()).for_each(&mut *see),
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) => {}
    }
    e.children().for_each(|child| bound(child, see));
}

fn base_name(op: &Op) -> Option<String> {
    match op {
        Op::Call(f) | Op::JacobianOfFun(f) | Op::JacobianAt(f) => Some(f.name.base.to_string()),
        Op::Prim(p) | Op::JacobianOf(p) => Some(p.name().to_string()),
        Op::Tuple | Op::Get(..) | Op::If | Op::Assert | Op::Dummy | Op::LmGet(..) | Op::Pack(_) | Op::Unpack(_) => None,
    }
}

/// Returns the name, or one like it that the reader takes for a variable.
fn readable(name: &str) -> String {
    let is_kept = |c: char| c.is_alphabetic() || c.is_ascii_digit() || "_':!$%&*+.,/<=>?@\\^|-~".contains(c);
    let name: String = name.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    let unsigned = name.strip_prefix(['+', '-']).unwrap_or(&name);
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit());
    let is_word = RESERVED.contains(&name.as_str()) || name.starts_with("get$") || name.starts_with("lmGet$");
    if name.is_empty() || is_number || is_word { format!("_{name}") } else { name }
}
