"""Gathers, scatters, sparse and jagged arrays, bodies, geometry: by name, the function and the parameters by which it
is derived."""

import jax.numpy as jnp
from jax.nn import log_sigmoid
from jax.ops import segment_max, segment_sum as sum_by_segments


def owners_of(starts, size):
    """The segment of each place."""
    return jnp.searchsorted(starts, jnp.arange(size), side="right") - 1


def csr_matvec(values, columns, starts, x):
    rows = owners_of(starts, values.shape[0])
    y = sum_by_segments(values * x[columns], rows, starts.shape[0] - 1, indices_are_sorted=True)
    return 0.5 * (y @ y)


def segment_sum(scores, values, owners, starts):
    def total(v):
        return sum_by_segments(v, owners, starts.shape[0] - 1, indices_are_sorted=True)

    top = segment_max(scores, owners, starts.shape[0] - 1, indices_are_sorted=True)
    weights = jnp.exp(scores - top[owners])
    means = total(weights * values) / total(weights)
    return means @ means


def nbody_pairs(places, masses):
    i, j = jnp.triu_indices(masses.shape[0], 1)
    d = places[i] - places[j]
    return -(masses[i] * masses[j] / jnp.sqrt((d * d).sum(1) + 0.01)).sum()


def nbody_all(places, masses):
    d = places[None] - places[:, None]
    r2 = (d * d).sum(2) + 0.01
    a = jnp.einsum("ij,ijc->ic", masses / (r2 * jnp.sqrt(r2)), d)
    return (a * a).sum()


def spring_network(places, stiffness, rest, start, end):
    d = places[end] - places[start]
    stretch = jnp.sqrt((d * d).sum(1) + 0.0001) - rest
    return 0.5 * (stiffness * stretch * stretch).sum()


def embedding_loss(words, contexts, labels, word, context):
    scores = jnp.einsum("kd,kd->k", words[word], contexts[context])
    return -log_sigmoid(labels * scores).sum()


def histogram_soft(xs, target):
    bins = target.shape[0]
    t = (bins - 1) * xs
    b = t.astype(int)
    part = t - b
    counts = jnp.zeros(bins).at[b].add(1.0 - part).at[b + 1].add(part)
    d = counts / xs.shape[0] - target
    return d @ d


def spline_interp(table, xs):
    i = xs.astype(int)
    t = xs - i
    padded = jnp.pad(table, (1, 2), mode="edge")
    a, b, c, d = (padded[i + k] for k in range(4))
    slope, bend, twist = c - a, 2.0 * a - 5.0 * b + 4.0 * c - d, 3.0 * (b - c) + d - a
    y = b + 0.5 * t * (slope + t * (bend + t * twist))
    return y @ y


def robot_arm(lengths, angles, targets):
    a = jnp.cumsum(angles, axis=1)
    end = jnp.stack([jnp.cos(a) @ lengths, jnp.sin(a) @ lengths], axis=1)
    return ((end - targets) ** 2).sum()


def jagged_mean(values, weights, starts):
    segments = weights.shape[0]
    owners = owners_of(starts, values.shape[0])
    means = sum_by_segments(values, owners, segments, indices_are_sorted=True) / jnp.diff(starts)
    return weights @ (means * means)


PROGRAMS = {
    "csr_matvec": (csr_matvec, (0, 3)),
    "segment_sum": (segment_sum, (0, 1)),
    "nbody_pairs": (nbody_pairs, (0, 1)),
    "nbody_all": (nbody_all, (0, 1)),
    "spring_network": (spring_network, (0, 1, 2)),
    "embedding_loss": (embedding_loss, (0, 1)),
    "histogram_soft": (histogram_soft, (0,)),
    "spline_interp": (spline_interp, (0, 1)),
    "robot_arm": (robot_arm, (0, 1)),
    "jagged_mean": (jagged_mean, (0, 1)),
}
