#!/usr/bin/env python3
"""A tool of GradBench in JAX: compiled by `jit`, double precision, on the processor.

    with_jax.py [--multithreaded]

`server.py` has the protocol, `jax_hand.py` and `jax_descents.py` have the longer models. Those that the other
comparison has as well are its own, `benches/compare/python/jax_models.py`.
"""

import os
import sys
from pathlib import Path

from server import THREADS, serve

os.environ["JAX_PLATFORMS"] = "cpu"
if THREADS == 1:
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
sys.path.append(str(Path(__file__).parents[1] / "compare" / "python"))

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp

import jax_hand
import jax_models
import jax_descents

jax.config.update("jax_enable_x64", True)


def floats(given, *names):
    return [jnp.asarray(given[name], dtype=float) for name in names]


def plain(result):
    return np.asarray(result).tolist()


def flat(result):
    return [x for leaf in jax.tree.leaves(result) for x in np.ravel(leaf).tolist()]


def compiled(function, arguments, shown=plain, static=()):
    """As `server.serve` takes it: arguments are made of an input; those of the static places are known when it is
    compiled."""
    function = jax.jit(function, static_argnums=static)

    def prepare(given):
        point = arguments(given)
        return lambda: jax.block_until_ready(function(*point)), shown

    return prepare


# llsq


def llsq(x, n):
    t = jnp.linspace(-1.0, 1.0, n)
    # Powers of t in a matrix take longer.
    residuals = jnp.sign(t) - jnp.polyval(x[::-1], t)
    return 0.5 * (residuals @ residuals)


def llsq_arguments(given):
    return [*floats(given, "x"), given["n"]]


# gmm


def gmm(alpha, mu, q, l, x, gamma, m):
    return jax_models.gmm(alpha, mu, jnp.concatenate([q, l], axis=1), x, gamma, m)


def gmm_arguments(given):
    alpha, mu, q, l, x, gamma = floats(given, "alpha", "mu", "q", "l", "x", "gamma")
    l = l.reshape(given["k"], given["d"] * (given["d"] - 1) // 2)
    return [alpha, mu, q, l, x.reshape(given["n"], given["d"]), gamma, given["m"]]


def gmm_shown(gradient):
    return dict(zip(["alpha", "mu", "q", "l"], map(plain, gradient)))


# ba


def ba_arguments(given):
    n, m, p = given["n"], given["m"], given["p"]
    cam, x, w, feat = floats(given, "cam", "x", "w", "feat")
    observations = jnp.stack([jnp.arange(p) % n, jnp.arange(p) % m], axis=1)
    return [jnp.tile(cam, (n, 1)), jnp.tile(x, (m, 1)), jnp.tile(w, p), observations, jnp.tile(feat, (p, 1))]


def ba_jacobian(cameras, points, weights, observations, features):
    """In compressed rows: where they start, the columns of their elements, and these."""
    n, m, p = len(cameras), len(points), len(observations)
    blocks, by_weights = jax_models.ba_jacobian(cameras, points, weights, observations, features)
    by_camera, by_point, by_weight = blocks
    elements = jnp.concatenate([by_camera, by_point, by_weight[..., None]], axis=2)
    camera, point = observations[:, :1], observations[:, 1:]
    first_weight = 11 * n + 3 * m
    weight = first_weight + jnp.arange(p)
    places = [11 * camera + jnp.arange(11), 11 * n + 3 * point + jnp.arange(3), weight[:, None]]
    columns = jnp.tile(jnp.concatenate(places, axis=1)[:, None], (1, 2, 1))
    starts = jnp.concatenate([15 * jnp.arange(2 * p), 30 * p + jnp.arange(p + 1)])
    values = jnp.concatenate([elements.ravel(), by_weights])
    return starts, jnp.concatenate([columns.ravel(), weight]), values


def ba_shown(result):
    errors, weight_errors = result
    error = {"elements": plain(errors[0]), "repeated": len(errors)}
    return {"reproj_error": error, "w_err": {"element": plain(weight_errors[0]), "repeated": len(weight_errors)}}


def ba_jacobian_shown(result):
    ends = [plain(part[:30]) + [plain(part[-1])] for part in result]
    return dict(zip(["rows", "cols", "vals"], ends))


# kmeans


def kmeans_step(points, centroids):
    gradient = jax.grad(lambda c: jax_models.kmeans(points, c))
    slopes, diagonal = jax.jvp(gradient, (centroids,), (jnp.ones_like(centroids),))
    return slopes / diagonal


# ode


def ode(x, s):
    h = 2.0 / s

    def slope(y):
        return x * jnp.concatenate([jnp.ones(1), y[:-1]])

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return lax.scan(step, jnp.zeros_like(x), length=s)[0]


def ode_arguments(given):
    return [*floats(given, "x"), given["s"]]


# det


def det(a):
    """By expansion along the first row; the minors of a row are one array."""
    n = len(a)
    if n == 1:
        return a[0, 0]
    without = np.array([[column for column in range(n) if column != j] for j in range(n)])
    minors = jax.vmap(det)(a[1:, without].swapaxes(0, 1))
    return (a[0] * (-1.0) ** np.arange(n)) @ minors


def det_of_list(a, ell):
    return det(a.reshape(ell, ell))


def det_arguments(given):
    return [*floats(given, "A"), given["ell"]]


def evals():
    """The functions of each eval. Nothing is compiled before it is called."""
    lse, points = (lambda g: floats(g, "x")), (lambda g: floats(g, "points", "centroids"))
    network = lambda g: floats(g, "main_params", "extra_params", "state", "sequence")
    hand = {"arguments": jax_hand.arguments, "static": jax_hand.STATIC}
    return {
        "lse": {"primal": compiled(logsumexp, lse), "gradient": compiled(jax.grad(logsumexp), lse)},
        "llsq": {
            "primal": compiled(llsq, llsq_arguments, static=1),
            "gradient": compiled(jax.grad(llsq), llsq_arguments, static=1),
        },
        "gmm": {
            "objective": compiled(gmm, gmm_arguments),
            "jacobian": compiled(jax.grad(gmm, (0, 1, 2, 3)), gmm_arguments, gmm_shown),
        },
        "ba": {
            "objective": compiled(jax_models.ba, ba_arguments, ba_shown),
            "jacobian": compiled(ba_jacobian, ba_arguments, ba_jacobian_shown),
        },
        "ht": {"objective": compiled(jax_hand.objective, **hand), "jacobian": compiled(jax_hand.jacobian, **hand)},
        "kmeans": {"cost": compiled(jax_models.kmeans, points), "dir": compiled(kmeans_step, points)},
        "lstm": {
            "objective": compiled(jax_models.lstm, network),
            "jacobian": compiled(jax.grad(jax_models.lstm, (0, 1)), network, flat),
        },
        "ode": {
            "primal": compiled(ode, ode_arguments, static=1),
            "gradient": compiled(jax.grad(lambda x, s: ode(x, s)[-1]), ode_arguments, static=1),
        },
        "det": {
            "primal": compiled(det_of_list, det_arguments, static=1),
            "gradient": compiled(jax.grad(det_of_list), det_arguments, static=1),
        },
        "particle": {mode: compiled(f, lambda g: floats(g, "w")) for mode, f in jax_descents.particle().items()},
        "saddle": {mode: compiled(f, lambda g: floats(g, "start")) for mode, f in jax_descents.saddle().items()},
    }


serve("JAX", evals().get)
