//! Derives reverse derivatives by symmetry of second derivatives.
//!
//! ```text
//! fwd$[rev f]((s, dr), (ds, ddr))  =  rev$[wrt$1 [jvp f]]((s, ds), (ddr, dr))
//! rev$[rev f]((s, dr), dds)        =  (rev$[wrt$1 [fwd f]]((s, dds), dr), fwd$f(s, dds))
//! ```
//!
//! Both are derivatives of ⟨dr, fwd$f(s, ds)⟩ = ⟨rev$f(s, dr), ds⟩ with respect to s. The order of the two directions
//! does not matter in a second derivative (Schwarz). So no record is differentiated, and derivatives of any order are
//! made of forward derivatives and one reverse derivative. As fwd$f is linear in ds, its cotangent there is rev$f(s,
//! dr). So value and derivative come as one:
//!
//! ```text
//! jvp$[rev f]((s, dr), (ds, ddr))  =  let (a, b) = rev$[jvp f]((s, ds), (ddr, dr)) in (b, a)
//! vjp$[rev f]((s, dr), dds)        =  let (dt, (a, b)) = vjp$[fwd f]((s, dds), dr) in (b, (a, dt))
//! ```
//!
//! The text of `[rev f]` could be differentiated instead. That costs more with the length of data and the depth of
//! calls, because the tangents of sums that are added in place are not added in place. It is done in two cases:
//!
//! * A function below has a reverse derivative by hand, which is differentiated as it is written.
//! * For rev of rev, no derivative is called: nothing grows then, and the operations are fewer.
//!
//! Neither case is possible where `[rev f]` keeps records.
//!
//! Other definitions that keep records, or have the text of `[rev f]` in them, are differentiated in a form with f
//! and its derivatives called, not their halves. Halves themselves are not differentiated.

use crate::derive::call_order;
use crate::derive::pipeline::{Error, Pipeline};
use crate::derive::typing::derive;
use lm::prim::Prim;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Mode, Op, Path, Pattern, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A derivative of `[rev f]` in the making.
pub(in crate::derive) struct Symmetry {
    /// f, what of it varies included.
    f: Fun,
    /// The parts of (s, dr) that vary.
    paths: Vec<Path>,
    s: Expr,
    dr: Expr,
    /// The parameter (s, dr).
    point: Var,
    /// The other one: a tangent of what varies, or a cotangent of the result.
    vector: Var,
    /// `(s, dr) = point`.
    unpack: Binding,
}

impl Pipeline {
    /// Returns `[fwd of]` or `[rev of]`, where `of` is a reverse derivative and symmetry is the way to it.
    pub(in crate::derive) fn by_symmetry(&mut self, of: &FunName, mode: Mode) -> Result<Def, Error> {
        let parts = self.symmetry(of, mode)?.expect("the condition of the recipe held");
        let (mut out, result) = match mode {
            Mode::Forward => (Vec::new(), self.forward_of_reverse(&parts)),
            Mode::Reverse => self.reverse_of_reverse(&parts),
        };
        out.insert(0, parts.unpack);
        let body = Expr::block(out, result);
        Ok(Def::new(of.derived(mode.derivative()), vec![parts.point, parts.vector], body))
    }

    /// Returns `[jvp of]` or `[vjp of]`, where `of` is a reverse derivative of all of f, all of s varies, and symmetry
    /// is the way to it.
    pub(in crate::derive) fn value_by_symmetry(&mut self, of: &FunName, mode: Mode) -> Result<Def, Error> {
        let parts = self.symmetry(of, mode)?.expect("the condition of the recipe held");
        let (bindings, result) = match mode {
            Mode::Forward => self.value_with_forward(&parts),
            Mode::Reverse => self.value_with_reverse(&parts),
        };
        let body = Expr::block([vec![parts.unpack], bindings].concat(), result);
        Ok(Def::new(of.derived(mode.with_value()), vec![parts.point, parts.vector], body))
    }

    /// Returns the ingredients of a derivative of `of` by symmetry, if symmetry is the way to it.
    pub(in crate::derive) fn symmetry(&mut self, of: &FunName, mode: Mode) -> Result<Option<Symmetry>, Error> {
        let whole = of.unrestricted();
        let f = match whole.underived() {
            Some((Derivative::Rev, f)) => f,
            Some(_) | None => return Ok(None),
        };
        let all = f.unrestricted();
        let by_hand = [whole.clone(), all.derived(Derivative::Rev), all.derived(Derivative::SufRevPass)];
        if by_hand.iter().any(|name| self.written.contains(name)) {
            return Ok(None);
        }
        let reverse = self.source(&whole)?;
        let is_best = || match mode {
            Mode::Forward => true,
            Mode::Reverse => calls_derivatives(&reverse),
        };
        if !keeps_records(&reverse) && (self.depends_on_hand(&f) || !is_best()) {
            return Ok(None);
        }
        let f = Fun { name: f.clone(), ..(*self.source(&f)?.fun).clone() };
        let fun = Fun { name: of.clone(), ..(*reverse.fun).clone() };
        let supply = &mut self.program.supply;
        let (point, vector) = match mode {
            Mode::Forward => (supply.fresh("p", fun.argument()), supply.fresh("dp", fun.varying().tangent())),
            Mode::Reverse => (supply.fresh("p", fun.argument()), supply.fresh("dds", fun.result.tangent())),
        };
        let (s, dr) = (supply.fresh("s", f.argument()), supply.fresh("dr", f.result.tangent()));
        let pattern = Pattern::Tuple(vec![s.clone(), dr.clone()]);
        let unpack = Binding { pattern, rhs: Expr::var(&point) };
        let paths = of.varying().map_or_else(|| vec![vec![1], vec![2]], <[Path]>::to_vec);
        Ok(Some(Symmetry { f, paths, s: Expr::var(&s), dr: Expr::var(&dr), point, vector, unpack }))
    }

    /// Returns whether f, or a callee of f, direct or not, has a reverse derivative by hand, which is differentiated as
    /// it is written.
    pub(in crate::derive) fn depends_on_hand(&self, f: &FunName) -> bool {
        let mut seen = FxHashSet::from_iter([f.as_written()]);
        let mut waiting = vec![f.as_written()];
        while let Some(name) = waiting.pop() {
            let is_reverse = |d: &Derivative| d.replaces(Mode::Reverse);
            let by_hand = |w: &FunName| w.derivations.iter().any(is_reverse) && w.as_written() == name;
            if self.program.externals.contains_key(&name) || self.written.iter().any(by_hand) {
                return true;
            }
            let Some(def) = self.program.defs.get(&name).or_else(|| self.prelude.get(&name)) else { continue };
            let mut called = Vec::new();
            call_order::calls(&def.body, &mut called);
            waiting.extend(called.iter().map(FunName::as_written).filter(|callee| seen.insert(callee.clone())));
        }
        false
    }

    /// Returns `fwd$[rev f]`, with respect to parts of s, of dr, or of both.
    fn forward_of_reverse(&mut self, parts: &Symmetry) -> Expr {
        let Some((along, ds)) = parts.direction() else {
            return call(&derivative(Derivative::Rev, &parts.f), [parts.s.clone(), parts.cotangent()]);
        };
        let point = Expr::tuple([parts.s.clone(), ds]);
        let varying = in_first_parameter(&parts.f);
        match parts.varies(2) {
            false => call(&reverse(&derivative(Derivative::Fwd, &along), &varying), [point, parts.dr.clone()]),
            true => {
                let both = Expr::tuple([parts.cotangent(), parts.dr.clone()]);
                call(&reverse(&derivative(Derivative::Jvp, &along), &varying), [point, both])
            }
        }
    }

    /// Returns `rev$[rev f]`: the parts of s, the parts of dr, or both.
    fn reverse_of_reverse(&mut self, parts: &Symmetry) -> (Vec<Binding>, Expr) {
        let dds = Expr::var(&parts.vector);
        let forward = derivative(Derivative::Fwd, &parts.f);
        let of_s: Vec<Path> = parts.paths.iter().filter(|path| path[0] == 1).cloned().collect();
        let mut out = Vec::new();
        let ds = (!of_s.is_empty()).then(|| {
            let point = Expr::tuple([parts.s.clone(), dds.clone()]);
            self.bound(&mut out, "ds", call(&reverse(&forward, &of_s), [point, parts.dr.clone()]))
        });
        let dt = parts.varies(2).then(|| self.bound(&mut out, "dt", call(&forward, [parts.s.clone(), dds])));
        let component = |path: &Path| match (path[0], of_s.iter().position(|p| p == path)) {
            (1, Some(_)) if of_s.len() == 1 => ds.clone().expect("a part of s varies"),
            (1, Some(k)) => Expr::get(k + 1, ds.clone().expect("a part of s varies")),
            _ => path[1..].iter().fold(dt.clone().expect("a part of dr varies"), |e, i| Expr::get(*i, e)),
        };
        let components: Vec<Expr> = parts.paths.iter().map(component).collect();
        (out, one_or_tuple(components))
    }

    /// Returns `jvp$[rev f]`, with respect to all of s and parts of dr.
    fn value_with_forward(&mut self, parts: &Symmetry) -> (Vec<Binding>, Expr) {
        let (along, ds) = parts.direction().expect("s varies");
        let point = Expr::tuple([parts.s.clone(), ds]);
        let both = match parts.varies(2) {
            false => {
                call(&derivative(Derivative::Rev, &derivative(Derivative::Fwd, &along)), [point, parts.dr.clone()])
            }
            true => {
                let cotangents = Expr::tuple([parts.cotangent(), parts.dr.clone()]);
                call(&derivative(Derivative::Rev, &derivative(Derivative::Jvp, &along)), [point, cotangents])
            }
        };
        let mut out = Vec::new();
        let both = self.bound(&mut out, "t", both);
        (out, Expr::tuple([2, 1].map(|i| Expr::get(i, both.clone()))))
    }

    /// Returns `vjp$[rev f]`, with respect to all of s and parts of dr.
    fn value_with_reverse(&mut self, parts: &Symmetry) -> (Vec<Binding>, Expr) {
        let forward = derivative(Derivative::Fwd, &parts.f);
        let point = Expr::tuple([parts.s.clone(), Expr::var(&parts.vector)]);
        let mut out = Vec::new();
        let all = call(&derivative(Derivative::Vjp, &forward), [point, parts.dr.clone()]);
        let all = self.bound(&mut out, "t", all);
        let both = Expr::get(2, all.clone());
        let component = |path: &Path| match path[0] {
            1 => Expr::get(1, both.clone()),
            _ => path[1..].iter().fold(Expr::get(1, all.clone()), |e, i| Expr::get(*i, e)),
        };
        let components: Vec<Expr> = parts.paths.iter().map(component).collect();
        (out, Expr::tuple([Expr::get(2, both.clone()), one_or_tuple(components)]))
    }

    /// Returns the definition to differentiate: the function's own, or, where that keeps records or has the text of a
    /// reverse derivative in it, one with calls. A forward derivative that carries tensors
    /// from step to step is differentiated backwards in the form before that: each loop then has one task, and
    /// cotangents are added in place.
    pub(in crate::derive) fn differentiable(&mut self, name: &FunName, mode: Mode) -> Result<Def, Error> {
        let def = self.source(name)?;
        let Some((outermost, of)) = name.underived().filter(|_| !self.written.contains(name)) else { return Ok(def) };
        if outermost.varying().is_some() {
            let whole = self.differentiable(&of, mode)?;
            return Ok(self.copy_named(&whole, name));
        }
        if mode == Mode::Reverse && self.carried.contains(name) {
            let applied = self.unshared(&of, &outermost, true)?;
            return self.finished(&applied);
        }
        let has_text_of_reverse = matches!(outermost, Derivative::Vjp | Derivative::SufRev | Derivative::JacRev)
            && !self.depends_on_hand(&of);
        if !has_text_of_reverse && !keeps_records(&def) {
            return Ok(def);
        }
        match outermost {
            Derivative::Fwd => {
                let applied = self.unshared(&of, &Derivative::Fwd, true)?;
                self.without_halves(&applied)
            }
            Derivative::Jvp => self.by_calls(name, &of, Mode::Forward),
            Derivative::Vjp => self.by_calls(name, &of, Mode::Reverse),
            Derivative::SufRev => self.by_call(name, &of, Mode::Reverse),
            Derivative::JacFwd | Derivative::JacRev => self.dense_by_calls(&of, name),
            Derivative::Grad | Derivative::Rev if self.is_dual(&of, Mode::Reverse) => {
                let def = self.along_directions_by_calls(&of, name)?;
                self.without_halves(&def)
            }
            Derivative::D | Derivative::Dt | Derivative::Tupled | Derivative::Polymorphic => Ok(def),
            Derivative::PolymorphicR
            | Derivative::Dual
            | Derivative::Rev
            | Derivative::SufFwdPass
            | Derivative::SufRevPass
            | Derivative::Shape
            | Derivative::Cl => Ok(def),
            Derivative::Grad | Derivative::Hvp | Derivative::Hess | Derivative::Jac | Derivative::Wrt(_) => Ok(def),
        }
    }

    /// Returns `(f(s), d$f(s, v))`, by calls.
    fn by_calls(&mut self, name: &FunName, of: &FunName, mode: Mode) -> Result<Def, Error> {
        let def = self.by_call(name, of, mode)?;
        let f = Fun { name: of.unrestricted(), ..(*self.source(of)?.fun).clone() };
        let value = Expr::app(Op::Call(Arc::new(f.clone())), components(&f, &Expr::var(&def.params[0])));
        Ok(Def::new(name.clone(), def.params, Expr::tuple([value, def.body])))
    }

    /// Returns `d$f(s, v)`, by a call.
    fn by_call(&mut self, name: &FunName, of: &FunName, mode: Mode) -> Result<Def, Error> {
        let f = Fun { name: of.clone(), ..(*self.source(of)?.fun).clone() };
        let derived = derivative(mode.derivative(), &f);
        let supply = &mut self.program.supply;
        let [s, v] = [0, 1].map(|i| supply.fresh(["s", "v"][i], derived.params[i].clone()));
        let body = call(&derived, [Expr::var(&s), Expr::var(&v)]);
        Ok(Def::new(name.clone(), vec![s, v], body))
    }

    pub(in crate::derive) fn bound(&mut self, out: &mut Vec<Binding>, name: &str, rhs: Expr) -> Expr {
        let x = self.program.supply.fresh(name, rhs.ty().clone());
        out.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
        Expr::var(&x)
    }
}

impl Symmetry {
    /// Returns whether the value comes with the derivative: f is meant as a whole, and all of s varies.
    pub(in crate::derive) fn has_value(&self) -> bool {
        self.f.name.varying().is_none() && self.paths.contains(&vec![1])
    }

    /// Returns whether a part of s (1) or of dr (2) varies.
    fn varies(&self, parameter: usize) -> bool {
        self.paths.iter().any(|path| path[0] == parameter)
    }

    /// Returns the tangent of a part that varies.
    fn tangent(&self, k: usize) -> Expr {
        let vector = Expr::var(&self.vector);
        if self.paths.len() == 1 { vector } else { Expr::get(k + 1, vector) }
    }

    /// f with respect to the parts of s that vary, and their tangents; `None` where none do.
    fn direction(&self) -> Option<(Fun, Expr)> {
        let of_s: Vec<usize> = (0..self.paths.len()).filter(|k| self.paths[*k][0] == 1).collect();
        let all = self.f.name.unrestricted();
        let name = match of_s.iter().map(|k| &self.paths[*k]).collect::<Vec<_>>().as_slice() {
            [] => return None,
            [whole] if whole.len() == 1 => all,
            paths if self.f.params.len() == 1 => all.restricted(&paths.iter().map(|p| p.to_vec()).collect::<Vec<_>>()),
            paths => all.restricted(&paths.iter().map(|p| p[1..].to_vec()).collect::<Vec<_>>()),
        };
        let ds = one_or_tuple(of_s.into_iter().map(|k| self.tangent(k)).collect());
        Some((Fun { name, ..self.f.clone() }, ds))
    }

    /// Returns the tangent of dr, zero where it does not vary.
    fn cotangent(&self) -> Expr {
        self.embedded(&self.dr, &mut vec![2])
    }

    fn embedded(&self, e: &Expr, path: &mut Path) -> Expr {
        if let Some(k) = self.paths.iter().position(|p| p == path) {
            return self.tangent(k);
        }
        if !self.paths.iter().any(|p| p.starts_with(path)) {
            return Expr::prim(Prim::ZeroOf, [Expr::witness(e)]);
        }
        let n = e.ty().as_tuple().expect("a path leads through tuples").len();
        let part = |i| self.embedded(&Expr::get(i, e.clone()), &mut [&path[..], &[i]].concat());
        Expr::tuple((1..=n).map(part).collect::<Vec<_>>())
    }
}

/// Returns the parts of f that vary, as parts of the first parameter of its derivatives.
fn in_first_parameter(f: &Fun) -> Vec<Path> {
    match f.name.varying() {
        None => vec![vec![1]],
        Some(paths) if f.params.len() == 1 => paths.to_vec(),
        Some(paths) => paths.iter().map(|path| [&[1], &path[..]].concat()).collect(),
    }
}

/// Returns `[rev [wrt$.. f]]`.
fn reverse(f: &Fun, varying: &[Path]) -> Fun {
    derivative(Derivative::Rev, &Fun { name: f.name.restricted(varying), ..f.clone() })
}

/// Returns the derivative of a function, by its name and types alone.
pub(in crate::derive) fn derivative(derivative: Derivative, f: &Fun) -> Fun {
    let known = derive(&derivative, f, &mut |_| None);
    known.unwrap_or_else(|| panic!("[{derivative} {}] has no type", f.name))
}

/// Returns a call of a derivative with two parameters.
fn call(f: &Fun, args: [Expr; 2]) -> Expr {
    Expr::app(Op::Call(Arc::new(f.clone())), args.to_vec())
}

/// Returns one argument per parameter, from the one that derivatives take.
pub(in crate::derive) fn components(f: &Fun, whole: &Expr) -> Vec<Expr> {
    match f.params.len() {
        1 => vec![whole.clone()],
        n => (1..=n).map(|i| Expr::get(i, whole.clone())).collect(),
    }
}

fn one_or_tuple(mut parts: Vec<Expr>) -> Expr {
    if parts.len() == 1 { parts.remove(0) } else { Expr::tuple(parts) }
}

/// Returns whether a definition calls derivatives of other functions, or of its own.
fn calls_derivatives(def: &Def) -> bool {
    let mut called = Vec::new();
    call_order::calls(&def.body, &mut called);
    called.iter().any(|name| !name.derivations.is_empty())
}

/// Returns whether a definition takes, gives or binds a record.
pub(in crate::derive) fn keeps_records(def: &Def) -> bool {
    def.fun.params.iter().any(Type::mentions_record) || mentions_record(&def.body)
}

fn mentions_record(e: &Expr) -> bool {
    e.any(|e| e.ty().mentions_record() || matches!(e.kind(), Kind::App(Op::Pack(_) | Op::Unpack(_), _)))
}
