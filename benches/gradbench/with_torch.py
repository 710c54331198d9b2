#!/usr/bin/env python3
"""A tool of GradBench in PyTorch: operations on whole arrays, derivatives by its tape, double precision.

    with_torch.py [--multithreaded]

Models are those of `benches/compare/python/torch_models.py`. The evals that are loops of small steps are not here.
"""

import sys
from pathlib import Path

from server import THREADS, serve

sys.path.append(str(Path(__file__).parents[1] / "compare" / "python"))

import torch

import torch_models

torch.set_num_threads(THREADS)
torch.set_default_dtype(torch.float64)


def floats(given, *names):
    return [torch.tensor(given[name], dtype=float) for name in names]


def plain(result):
    return result.tolist()


def value(function, arguments, shown=plain):
    """As `server.serve` takes it."""

    def prepare(given):
        point = arguments(given)
        return torch.no_grad()(lambda: function(*point)), shown

    return prepare


def gradient(function, arguments, count, shown):
    """By the first arguments, so many."""

    def prepare(given):
        point = arguments(given)
        by = [argument.requires_grad_() for argument in point[:count]]
        return lambda: torch.autograd.grad(function(*point), by), shown

    return prepare


def alone(result):
    return plain(result[0])


def lse(x):
    return torch.logsumexp(x, 0)


def llsq(x, n):
    t = torch.linspace(-1.0, 1.0, n)
    residuals = torch.sign(t) - torch.linalg.vander(t, N=len(x)) @ x
    return 0.5 * (residuals @ residuals)


def gmm(alpha, mu, q, l, x, gamma, m):
    return torch_models.gmm(alpha, mu, torch.cat([q, l], 1), x, gamma, m)


def gmm_arguments(given):
    alpha, mu, q, l, x, gamma = floats(given, "alpha", "mu", "q", "l", "x", "gamma")
    l = l.reshape(given["k"], given["d"] * (given["d"] - 1) // 2)
    return [alpha, mu, q, l, x.reshape(given["n"], given["d"]), gamma, given["m"]]


def gmm_shown(result):
    return dict(zip(["alpha", "mu", "q", "l"], map(plain, result)))


def kmeans_step(points, centroids):
    with torch.enable_grad():
        centroids = centroids.detach().requires_grad_()
        cost = torch_models.kmeans(points, centroids)
        (slopes,) = torch.autograd.grad(cost, centroids, create_graph=True)
        (diagonal,) = torch.autograd.grad(slopes.sum(), centroids)
    return slopes.detach() / diagonal


def clusters(given):
    return floats(given, "points", "centroids")


def vector(given):
    return floats(given, "x")


def llsq_arguments(given):
    return [*floats(given, "x"), given["n"]]


EVALS = {
    "lse": {"primal": value(lse, vector), "gradient": gradient(lse, vector, 1, alone)},
    "llsq": {"primal": value(llsq, llsq_arguments), "gradient": gradient(llsq, llsq_arguments, 1, alone)},
    "gmm": {"objective": value(gmm, gmm_arguments), "jacobian": gradient(gmm, gmm_arguments, 4, gmm_shown)},
    "kmeans": {"cost": value(torch_models.kmeans, clusters), "dir": value(kmeans_step, clusters)},
}

serve("PyTorch", EVALS.get)
