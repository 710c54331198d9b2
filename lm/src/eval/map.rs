//! Defines linear maps: the image of a vector under each operator, and the transpose of any map.
//!
//! ```text
//! (m ∘ n) ⊙ x = m ⊙ (n ⊙ x)         (m × n) ⊙ x = (m ⊙ x, n ⊙ x)         0 ⊙ x = 0
//! (m ⊕ n) ⊙ x = m ⊙ x + n ⊙ x       (m ⋈ n) ⊙ (x, y) = m ⊙ x + n ⊙ y     1 ⊙ x = x      ..
//!
//! (r ⊙ᴿ m) . e = r . (m ⊙ e)        for each vector e of a basis of m's domain
//! ```
//!
//! Transposition is defined by the last line alone. So a reverse application costs as many forward ones as
//! the domain has dimensions, and owes nothing to the rules by which `lm::map` and the passes transpose.
//!
//! Source: working notes, Fig. 3 to 5. A basis vector of a space of functions is zero except at one place.

use super::evaluator::{Evaluator, fail};
use super::value::{Map, Outcome, Space, Val};
use super::vector::{add, dot, neutral, scale, zero};
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::term::FunName;
use crate::types::Type;
use std::rc::Rc;

impl Map {
    fn new(domain: Space, codomain: Space, forward: impl Fn(&Evaluator, &Val) -> Outcome + 'static) -> Map {
        Map { domain, codomain, forward: Box::new(forward) }
    }

    /// Returns `m ⊙ x`.
    pub fn apply(&self, cx: &Evaluator, x: &Val) -> Outcome {
        cx.step()?;
        (self.forward)(cx, x)
    }

    /// Returns `r ⊙ᴿ m`.
    pub fn adjoint(self: &Rc<Map>, cx: &Evaluator, r: &Val) -> Outcome {
        let (m, r) = (self.clone(), r.clone());
        components(cx, &self.domain, Rc::new(move |cx, e| dot(cx, &m.apply(cx, &e)?, &r)))
    }

    /// Returns the map `m`, which comes from this domain.
    pub fn from_domain(m: Rc<Map>, domain: Space) -> Map {
        Map::new(domain, m.codomain.clone(), move |cx, x| (m.forward)(cx, x))
    }

    /// Returns the map `m`, which leads to this codomain.
    pub fn into_codomain(m: Rc<Map>, codomain: Space) -> Map {
        Map::new(m.domain.clone(), codomain.clone(), move |cx, x| image(cx, &m, x)?.map_or_else(|| codomain.zero(), Ok))
    }

    /// Returns `0`, between the spaces that two values show.
    pub fn zero(s: &Val, t: &Val) -> Map {
        let zero = zero(t);
        Map::new(Space::of(s), Space::of(t), move |_, _| Ok(zero.clone()))
    }

    /// Returns `1`.
    pub fn one(s: &Val) -> Map {
        Map::new(Space::of(s), Space::of(s), |_, x| Ok(x.clone()))
    }

    /// Returns `S(k)`.
    pub fn scale(s: &Val, k: &Val) -> Map {
        let k = k.clone();
        Map::new(Space::of(s), Space::of(s), move |cx, x| scale(cx, &k, x))
    }

    /// Returns `r` to `r v`.
    pub fn scale_r(v: &Val) -> Map {
        let (space, v) = (Space::of(v), v.clone());
        Map::new(Space::Float, space, move |cx, r| scale(cx, r, &v))
    }

    /// Returns `x` to `v . x`.
    pub fn dot(v: &Val) -> Map {
        let (space, v) = (Space::of(v), v.clone());
        Map::new(space, Space::Float, move |cx, x| dot(cx, &v, x))
    }

    /// Returns `m ⊕ n`.
    pub fn add(m: Rc<Map>, n: Rc<Map>) -> Map {
        let [domain, codomain] = [known([&m.domain, &n.domain]), known([&m.codomain, &n.codomain])];
        let ms = [m, n];
        Map::new(domain, codomain.clone(), move |cx, x| sum_of_images(cx, &ms, &[x.clone(), x.clone()], &codomain))
    }

    /// Returns `m × n ..`.
    pub fn vcat(ms: Vec<Rc<Map>>) -> Map {
        let codomain = Space::Tuple(ms.iter().map(|m| m.codomain.clone()).collect());
        Map::new(known(ms.iter().map(|m| &m.domain)), codomain, move |cx, x| {
            Ok(Val::Tuple(ms.iter().map(|m| m.apply(cx, x)).collect::<Result<_, _>>()?))
        })
    }

    /// Returns `m ⋈ n ..`.
    pub fn hcat(ms: Vec<Rc<Map>>) -> Map {
        let domain = Space::Tuple(ms.iter().map(|m| m.domain.clone()).collect());
        let codomain = known(ms.iter().map(|m| &m.codomain));
        Map::new(domain, codomain.clone(), move |cx, x| sum_of_images(cx, &ms, x.tuple(), &codomain))
    }

    /// Returns `V(ms)`; `s` is the domain where there is no map.
    pub fn vcat_v(size: Vec<usize>, ms: Vec<Rc<Map>>, s: &Type) -> Map {
        let domain = ms.first().map_or(Space::of_type(s), |m| m.domain.clone());
        let codomain = Space::Tensor(size.clone(), ms.iter().map(|m| m.codomain.clone()).collect());
        Map::new(domain, codomain, move |cx, x| {
            Ok(Val::tensor_of(size.clone(), ms.iter().map(|m| m.apply(cx, x)).collect::<Result<_, _>>()?))
        })
    }

    /// Returns `H(ms)`; `t` is the codomain where there is no map.
    pub fn hcat_v(size: Vec<usize>, ms: Vec<Rc<Map>>, t: Space) -> Map {
        let codomain = ms.first().map_or(t, |m| m.codomain.clone());
        let domain = Space::Tensor(size, ms.iter().map(|m| m.domain.clone()).collect());
        Map::new(domain, codomain.clone(), move |cx, x| sum_of_images(cx, &ms, &x.tensor().elements, &codomain))
    }

    /// Returns the sum of maps into the space that `t` shows; `s` is the domain where there is no map.
    pub fn add_v(t: &Val, ms: Vec<Rc<Map>>, s: &Type) -> Map {
        let domain = ms.first().map_or(Space::of_type(s), |m| m.domain.clone());
        let codomain = Space::of(t);
        Map::new(domain, codomain.clone(), move |cx, x| sum_of_images(cx, &ms, &vec![x.clone(); ms.len()], &codomain))
    }

    /// Returns the element at `i` of tensors like `v`.
    pub fn index(i: &Val, v: &Val) -> Map {
        let codomain = v.tensor().element(i).map_or(Space::Unknown, |x| Space::of(&x));
        let i = i.clone();
        Map::new(Space::of(v), codomain, move |_, x| x.tensor().element(&i))
    }

    /// Returns the sum of the elements of tensors like `v`; `t` is the codomain where there is none.
    pub fn sum(v: &Val, t: &Type) -> Map {
        let codomain = v.tensor().elements.first().map_or(Space::of_type(t), Space::of);
        Map::new(Space::of(v), codomain.clone(), move |cx, x| sum_or_zero(cx, x.tensor().elements.clone(), &codomain))
    }

    /// Returns the `i`-th component, from 1, of tuples like `s`.
    pub fn component(i: usize, s: &Val) -> Map {
        Map::new(Space::of(s), Space::of(&s.tuple()[i - 1]), move |_, x| Ok(x.tuple()[i - 1].clone()))
    }

    /// Returns `n` steps from (state, input) to (state, sum of outputs), step `i` by the map `f(i)`.
    pub fn fold(n: i64, s: &Val, t: &Val, f: &Val) -> Map {
        let (start, f) = (neutral_unless_empty(n, &t.tuple()[1]), f.clone());
        Map::new(Space::of(s), Space::of(t), move |cx, x| {
            let (mut state, input) = (x.tuple()[0].clone(), x.tuple()[1].clone());
            let mut sum = start.clone();
            for i in 0..n {
                let m = f.call(cx, Val::Integer(i))?;
                let pair = m.map().apply(cx, &Val::Tuple(vec![state, input.clone()]))?;
                state = pair.tuple()[0].clone();
                sum = add(cx, &sum, &pair.tuple()[1])?;
            }
            Ok(Val::Tuple(vec![state, sum]))
        })
    }

    /// Returns `m ∘ n`.
    pub fn compose(m: Rc<Map>, n: Rc<Map>) -> Map {
        Map::new(n.domain.clone(), m.codomain.clone(), move |cx, x| {
            let y = image(cx, &n, x)?.map_or_else(|| m.domain.zero(), Ok)?;
            m.apply(cx, &y)
        })
    }

    /// Returns `mᵀ`.
    pub fn transpose(m: Rc<Map>) -> Map {
        Map::new(m.codomain.clone(), m.domain.clone(), move |cx, r| m.adjoint(cx, r))
    }

    /// Returns the Jacobian at a recorded point, from `s` to `t`: its transpose is the second half of a reverse
    /// derivative.
    pub fn recorded(half: FunName, record: &Val, s: &Val, t: &Val) -> Map {
        let record = record.clone();
        let transposed =
            Map::new(Space::of(t), Space::of(s), move |cx, r| cx.call_val(&half, vec![r.clone(), record.clone()]));
        Map::transpose(Rc::new(transposed))
    }

    /// Returns `L(f)`: `x` to the function `i ↦ f(i) ⊙ x`; `s` is the domain.
    pub fn l(cx: &Evaluator, f: &Val, s: &Type) -> Map {
        let domain = Space::of_type_or(s, || Ok(f.call(cx, Val::Integer(0))?.map().domain.clone()));
        let (f, g) = (f.clone(), f.clone());
        let codomain = Space::Functions(Rc::new(move |cx, i| Ok(g.call(cx, Val::Integer(i))?.map().codomain.clone())));
        Map::new(domain, codomain, move |_, x| {
            let (f, x) = (f.clone(), x.clone());
            Ok(Val::function(move |cx, i| f.call(cx, i)?.map().apply(cx, &x)))
        })
    }

    /// Returns `L'(f)`: a function `g` to the sum of `f(i) ⊙ g(i)` over all `i`; `t` is the codomain.
    pub fn lt(cx: &Evaluator, f: &Val, t: &Type) -> Map {
        let codomain = Space::of_type_or(t, || Ok(f.call(cx, Val::Integer(0))?.map().codomain.clone()));
        let (f, g) = (f.clone(), f.clone());
        let domain = Space::Functions(Rc::new(move |cx, i| Ok(g.call(cx, Val::Integer(i))?.map().domain.clone())));
        Map::new(domain, codomain.clone(), move |cx, x| {
            let Val::Finite(values) = x else { return fail(ErrorKind::InfiniteSum) };
            let image = |(i, x): (&i64, &Val)| f.call(cx, Val::Integer(*i))?.map().apply(cx, x);
            sum_or_zero(cx, values.iter().map(image).collect::<Result<_, _>>()?, &codomain)
        })
    }
}

impl Space {
    /// Returns the space of the tangents of a value.
    pub fn of(x: &Val) -> Space {
        match x {
            Val::Float(_) => Space::Float,
            Val::Tuple(parts) => Space::Tuple(parts.iter().map(Space::of).collect()),
            Val::Tensor(v) => Space::Tensor(v.size.clone(), v.elements.iter().map(Space::of).collect()),
            Val::Function(f) => {
                let f = f.clone();
                Space::Functions(Rc::new(move |cx, i| Ok(Space::of(&f(cx, Val::Integer(i))?))))
            }
            Val::Finite(_) => Space::Functions(Rc::new(|_, _| Ok(Space::Unknown))),
            Val::Integer(_) | Val::Bool(_) | Val::String(_) | Val::Record(_) | Val::Map(_) => Space::Point,
        }
    }

    /// Returns the space of the tangents of a type, if all its values have one shape.
    pub fn of_type(ty: &Type) -> Space {
        if ty.has_fixed_shape() { Space::of(&Val::dummy(ty)) } else { Space::Unknown }
    }

    fn of_type_or(ty: &Type, other: impl FnOnce() -> Result<Space, RuntimeError>) -> Space {
        if ty.has_fixed_shape() { Space::of_type(ty) } else { other().unwrap_or(Space::Unknown) }
    }

    /// Returns the zero vector.
    ///
    /// Errors: nothing shows the space.
    fn zero(&self) -> Outcome {
        let all = |spaces: &[Space]| spaces.iter().map(Space::zero).collect::<Result<Vec<Val>, _>>();
        Ok(match self {
            Space::Point => Val::Tuple(vec![]),
            Space::Float => Val::constant(0.0),
            Space::Tuple(parts) => Val::Tuple(all(parts)?),
            Space::Tensor(size, elements) => Val::tensor_of(size.clone(), all(elements)?),
            Space::Functions(_) => Val::Finite(Default::default()),
            Space::Unknown => return fail(ErrorKind::ShapeUnknown),
        })
    }
}

/// A linear form on a space: it gives a Float.
type Form = Rc<dyn Fn(&Evaluator, Val) -> Outcome>;

/// Returns the vector whose product with each vector e of the basis is `form(e)`.
fn components(cx: &Evaluator, space: &Space, form: Form) -> Outcome {
    Ok(match space {
        Space::Point => Val::Tuple(vec![]),
        Space::Float => form(cx, Val::constant(1.0))?,
        Space::Tuple(parts) => Val::Tuple(each_part(cx, parts, form, Val::Tuple)?),
        Space::Tensor(size, parts) => {
            let shape = size.clone();
            let tensor = move |parts| Val::tensor_of(shape.clone(), parts);
            Val::tensor_of(size.clone(), each_part(cx, parts, form, tensor)?)
        }
        Space::Functions(values) => {
            let values = values.clone();
            Val::function(move |cx, i| {
                let (form, i) = (form.clone(), i.integer());
                components(cx, &values(cx, i)?, Rc::new(move |cx, e| form(cx, Val::Finite([(i, e)].into()))))
            })
        }
        Space::Unknown => return fail(ErrorKind::ShapeUnknown),
    })
}

/// Returns the components in each part of a space; `whole` makes a vector of its parts.
fn each_part(
    cx: &Evaluator,
    parts: &[Space],
    form: Form,
    whole: impl Fn(Vec<Val>) -> Val + Clone + 'static,
) -> Result<Vec<Val>, RuntimeError> {
    let zeros = parts.iter().map(Space::zero).collect::<Result<Vec<Val>, _>>()?;
    let part = |(i, part): (usize, &Space)| {
        let (form, whole, zeros) = (form.clone(), whole.clone(), zeros.clone());
        let inside = move |cx: &Evaluator, e| {
            let mut parts = zeros.clone();
            parts[i] = e;
            form(cx, whole(parts))
        };
        components(cx, part, Rc::new(inside))
    };
    parts.iter().enumerate().map(part).collect()
}

/// Returns the space that maps between the same spaces show, if one of them does.
fn known<'a>(spaces: impl IntoIterator<Item = &'a Space>) -> Space {
    spaces.into_iter().find(|space| !matches!(space, Space::Unknown)).cloned().unwrap_or(Space::Unknown)
}

/// Returns the sum of images in the space t.
fn sum_of_images(cx: &Evaluator, ms: &[Rc<Map>], xs: &[Val], t: &Space) -> Outcome {
    let images = ms.iter().zip(xs).map(|(m, x)| image(cx, m, x)).collect::<Result<Vec<_>, _>>()?;
    sum_or_zero(cx, images.into_iter().flatten().collect(), t)
}

/// Returns `m ⊙ x`; none, where that is zero in a space that m does not show.
///
/// A map shows no space where it comes from no maps, as `V([])ᵀ` does. All its images are zero then.
fn image(cx: &Evaluator, m: &Map, x: &Val) -> Result<Option<Val>, RuntimeError> {
    match m.apply(cx, x) {
        Err(error) if error.kind == ErrorKind::ShapeUnknown && matches!(m.codomain, Space::Unknown) => Ok(None),
        image => image.map(Some),
    }
}

/// Returns the sum from left to right; over nothing, the zero of the space.
fn sum_or_zero(cx: &Evaluator, terms: Vec<Val>, t: &Space) -> Outcome {
    let mut terms = terms.into_iter();
    match terms.next() {
        Some(first) => terms.try_fold(first, |sum, x| add(cx, &sum, &x)),
        None => t.zero(),
    }
}

/// Returns the start of a sum of `n` vectors like `w`.
pub(super) fn neutral_unless_empty(n: i64, w: &Val) -> Val {
    if n > 0 { neutral(w) } else { zero(w) }
}
