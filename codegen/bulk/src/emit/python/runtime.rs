//! The Python functions that the text calls.

use super::printer::Library;
use std::collections::BTreeSet;

/// A function of the run-time support.
struct Support {
    name: &'static str,
    /// The modules of Python that it needs.
    needs: &'static [&'static str],
    /// Its text, for NumPy.
    text: &'static str,
    /// Its text for JAX, if it is not the same with `jnp`.
    jax: Option<&'static str>,
}

const SUPPORT: &[Support] = &[
    Support {
        name: "_array",
        needs: &[],
        text: r#"
def _array(x, kind, rank, name):
    """x as an array of so many dimensions."""
    x = np.asarray(x)
    if x.size and x.dtype.kind not in ("b" if kind is bool else "biu" if kind is int else "biuf"):
        raise TypeError(f"{name} takes {kind.__name__}s, not {x.dtype}")
    x = x.astype(kind)
    if x.ndim != rank:
        raise ValueError(f"{name} has {x.ndim} dimensions, not {rank}")
    return x
"#,
        jax: None,
    },
    Support {
        name: "_integer",
        needs: &["operator"],
        text: r#"
def _integer(n, name):
    """n as a Python integer: sizes are made of it."""
    try:
        return operator.index(n)
    except TypeError:
        raise TypeError(f"{name} takes an integer") from None
"#,
        jax: Some(
            r#"
def _integer(n, name):
    """n as a Python integer: sizes are made of it."""
    try:
        return operator.index(n)
    except TypeError:
        raise TypeError(f"{name} is a size: give an integer, a static argument of jax.jit") from None
"#,
        ),
    },
    Support {
        name: "_quotient",
        needs: &[],
        text: r#"
def _quotient(a, b):
    """The quotient of integers, towards zero."""
    q = abs(a) // abs(b)
    if isinstance(q, int):
        return q if (a < 0) == (b < 0) else -q
    return np.where((a < 0) == (b < 0), q, -q)
"#,
        jax: None,
    },
    Support {
        name: "_argmax",
        needs: &[],
        text: r#"
def _argmax(x, axis=0):
    """The place of the first largest element; NaN is larger than nothing."""
    if x.shape[axis] == 0:
        return np.zeros(np.sum(x, axis=axis).shape, dtype=int)
    first = np.take(x, np.array([0]), axis=axis)
    start = np.isnan(np.squeeze(first, axis=axis))
    return np.where(start, 0, np.argmax(np.where(np.isnan(x), -np.inf, x), axis=axis))
"#,
        jax: None,
    },
    Support {
        name: "_add_at",
        needs: &[],
        text: r#"
def _add_at(a, index, x):
    """a, with x added to the elements at an index, which may name one several times."""
    a = np.array(a)
    if a.size == 0:
        return a
    if any(isinstance(i, slice) for i in (index if isinstance(index, tuple) else (index,))):
        a[index] += x
    else:
        np.add.at(a, index, x)
    return a
"#,
        jax: Some(
            r#"
def _add_at(a, index, x):
    """a, with x added to the elements at an index, which may name one several times."""
    if a.size == 0:
        return a
    add = lambda a, index, x: a.at[index].add(x)
    rows = index[0] if isinstance(index, tuple) and len(index) == 1 else None
    if jnp.ndim(rows) != 1 or a.shape[0] > 64 or rows.shape[0] < 1024:
        return add(a, index, x)
    # Many elements for few rows: an accelerator would add one after the other.
    return lax.platform_dependent(a, rows, x, cpu=lambda a, rows, x: add(a, (rows,), x), default=_add_to_few)


def _add_to_few(a, rows, x):
    """a, with x added to rows, of which there are few."""
    x = jnp.broadcast_to(x, rows.shape + a.shape[1:])
    is_here = (jnp.arange(a.shape[0])[:, None] == rows).reshape(a.shape[:1] + rows.shape + (1,) * (a.ndim - 1))
    return a + jnp.sum(jnp.where(is_here, x, 0.0), axis=1)
"#,
        ),
    },
    Support {
        name: "_window",
        needs: &[],
        text: r#"
def _window(x, axis, start, n):
    """n elements of x along an axis, from start on; 0 where x has none."""
    before = min(max(-start, 0), n)
    part = x[(slice(None),) * axis + (slice(max(start, 0), max(start + n, 0)),)]
    return np.pad(part, [(before, n - before - part.shape[axis]) if k == axis else (0, 0) for k in range(x.ndim)])
"#,
        jax: None,
    },
    Support {
        name: "_elements",
        needs: &[],
        text: r#"
def _elements(x, axis, places):
    """x at places along the axes from axis on; 0 where there is none, which nothing reads."""
    end = axis + len(places)
    if 0 in x.shape[axis:end]:
        batch = np.broadcast_shapes(*(np.shape(place) for place in places))
        return np.zeros(x.shape[:axis] + batch + x.shape[end:], dtype=x.dtype)
    places = tuple(np.clip(place, 0, n - 1) for place, n in zip(places, x.shape[axis:end]))
    return x[(slice(None),) * axis + places]
"#,
        jax: None,
    },
    Support {
        name: "_powi",
        needs: &[],
        text: r#"
def _powi(x, n):
    """x to the power of an integer."""
    return np.power(x, np.float64(n))
"#,
        jax: None,
    },
    Support {
        name: "_to_integer",
        needs: &[],
        text: r#"
def _to_integer(x):
    """x towards zero, the nearest integer of 64 bits if there is none, 0 for NaN."""
    small = np.where(np.isnan(x) | (np.abs(x) >= 2.0**63), 0.0, np.trunc(x)).astype(int)
    return np.where(x >= 2.0**63, 2**63 - 1, np.where(x <= -(2.0**63), -(2**63), small))
"#,
        jax: None,
    },
    Support {
        name: "_hash",
        needs: &[],
        text: r#"
def _hash(k):
    """A number in [0, 1) for an integer: SplitMix64."""
    z = np.asarray(k, dtype=np.int64).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(float) / 2.0**53
"#,
        jax: None,
    },
    Support {
        name: "_erf",
        needs: &["math"],
        text: "\n_erf = np.vectorize(math.erf, otypes=[float])\n",
        jax: Some("\n_erf = jax.scipy.special.erf\n"),
    },
    Support {
        name: "_lgamma",
        needs: &["math"],
        text: r#"
def _lgamma_of_one(x):
    if np.isnan(x) or np.isinf(x):
        return abs(x)
    return np.inf if x <= 0 and x == np.floor(x) else math.lgamma(x)


_lgamma = np.vectorize(_lgamma_of_one, otypes=[float])
"#,
        jax: Some("\n_lgamma = jax.scipy.special.gammaln\n"),
    },
];

/// Returns the head of a module: what it imports, and the functions that it calls.
pub(super) fn head(library: Library, needed: &BTreeSet<&'static str>) -> String {
    let supports: Vec<&Support> = SUPPORT.iter().filter(|support| needed.contains(support.name)).collect();
    let needs = |module: &str| supports.iter().any(|support| support.needs.contains(&module));
    let mut text = String::from("\"\"\"Functions and derivatives on whole arrays, made by lmc.\"\"\"\n\n");
    let modules: Vec<String> =
        ["math", "operator"].iter().filter(|module| needs(module)).map(|module| format!("import {module}\n")).collect();
    text += &modules.concat();
    if !modules.is_empty() {
        text.push('\n');
    }
    text += match library {
        Library::Numpy => "import numpy as np\n",
        Library::Jax => {
            "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n# Floats have 64 bits.\njax.config.update(\"jax_enable_x64\", True)\n"
        }
    };
    for support in supports {
        text.push('\n');
        text += &match (library, support.jax) {
            (Library::Numpy, _) => support.text.to_string(),
            (Library::Jax, Some(own)) => own.to_string(),
            (Library::Jax, None) => support.text.replace("np.", "jnp."),
        };
    }
    text
}
