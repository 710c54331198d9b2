"""Dense linear algebra, networks: by name, the function and the parameters by which it is derived."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular


def exp_matvec(w, x):
    return jnp.exp(w @ x).sum()


def gp_likelihood(x, y, theta):
    length2, signal, noise = jnp.exp(2.0 * theta)
    differences = x[:, None, :] - x[None, :, :]
    kernel = signal * jnp.exp(-0.5 / length2 * (differences * differences).sum(-1))
    factor = jnp.linalg.cholesky(kernel + noise * jnp.eye(len(x)))
    z = solve_triangular(factor, y, lower=True)
    return 0.5 * z @ z + jnp.log(jnp.diag(factor)).sum() + 0.5 * len(x) * jnp.log(2.0 * jnp.pi)


def triangular_solve(l, b):
    x = solve_triangular(l, b, lower=True)
    return 0.5 * x @ x


def matmul_loss(a, b, c):
    r = a @ b - c
    return (r * r).sum()


def batched_matmul(a, b, c):
    r = jnp.einsum("tik,tkj->tij", a, b) - c
    return (r * r).sum()


def matrix_chain(ms):
    product, _ = lax.scan(lambda p, m: (p @ m, None), jnp.eye(ms.shape[1]), ms)
    return jnp.trace(product)


def attention(q, k, v):
    o = jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[1]), axis=1) @ v
    return 0.5 * (o * o).sum()


def causal_attention(q, k, v):
    seen = jnp.tril(jnp.ones((len(q), len(q)), dtype=bool))
    scores = jnp.where(seen, q @ k.T / jnp.sqrt(q.shape[1]), -jnp.inf)
    o = jax.nn.softmax(scores, axis=1) @ v
    return 0.5 * (o * o).sum()


def two_layer_net(w1, b1, w2, b2, x, y):
    residual = jnp.tanh(x @ w1.T + b1) @ w2 + b2 - y
    return (residual * residual).mean()


PROGRAMS = {
    "exp_matvec": (exp_matvec, (0, 1)),
    "gp_likelihood": (gp_likelihood, (0, 1, 2)),
    "triangular_solve": (triangular_solve, (0, 1)),
    "matmul_loss": (matmul_loss, (0, 1, 2)),
    "batched_matmul": (batched_matmul, (0, 1, 2)),
    "matrix_chain": (matrix_chain, (0,)),
    "attention": (attention, (0, 1, 2)),
    "causal_attention": (causal_attention, (0, 1, 2)),
    "two_layer_net": (two_layer_net, (0, 1, 2, 3)),
}
