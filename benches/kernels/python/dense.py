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


def digit_net(w1, b1, w2, b2, w3, b3, x, label):
    a1 = jax.nn.sigmoid(w1 @ x + b1)
    a2 = jax.nn.sigmoid(w2 @ a1 + b2)
    scores = w3 @ a2 + b3
    return jax.nn.logsumexp(scores) - scores[label]


def digit_net_batch(w1, b1, w2, b2, w3, b3, x, labels):
    a1 = jax.nn.sigmoid(x @ w1.T + b1)
    a2 = jax.nn.sigmoid(a1 @ w2.T + b2)
    scores = a2 @ w3.T + b3
    picked = jnp.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    return (jax.nn.logsumexp(scores, axis=1) - picked).mean()


def logistic_multinomial(w, b, x, labels):
    scores = x @ w.T + b
    picked = jnp.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    return (jax.nn.logsumexp(scores, axis=1) - picked).mean()


def conv2d_net(filters, bias, images):
    z = lax.conv_general_dilated(images[:, None], filters[:, None], (1, 1), "VALID")
    active = jax.nn.relu(z + bias[:, None, None])
    n, channels, rows, columns = active.shape
    pooled = active.reshape(n, channels, rows // 2, 2, columns // 2, 2).sum((3, 5))
    return (pooled * pooled).sum() / n


def layer_norm(x, gamma, beta, t):
    centred = x - x.mean(1, keepdims=True)
    z = centred * lax.rsqrt((centred * centred).mean(1, keepdims=True) + 1e-5)
    r = gamma * z + beta - t
    return 0.5 * (r * r).sum()


def power_iteration(a, start):
    def step(x, _):
        y = a @ x
        return y / jnp.linalg.norm(y), None

    x, _ = lax.scan(step, start, length=20)
    return x @ a @ x / (x @ x)


def llsq_ridge(a, b, x, logarithm):
    r = a @ x - b
    return 0.5 * (r @ r + jnp.exp(logarithm) * x @ x)


def bilinear_form(x, a, y):
    return x @ a @ y


def low_rank_factorisation(u, v, a, mask):
    r = mask * (u @ v.T - a)
    return 0.5 * (r * r).sum() + 0.05 * ((u * u).sum() + (v * v).sum())


def gram_matrix(x):
    rest = x.T @ x - jnp.eye(x.shape[1])
    return 0.25 * (rest * rest).sum()


def determinant_lu(a):
    return jnp.linalg.slogdet(a)[1]


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
    "digit_net": (digit_net, (0, 1, 2, 3, 4, 5)),
    "digit_net_batch": (digit_net_batch, (0, 1, 2, 3, 4, 5)),
    "logistic_multinomial": (logistic_multinomial, (0, 1)),
    "conv2d_net": (conv2d_net, (0, 1)),
    "layer_norm": (layer_norm, (0, 1, 2, 3)),
    "power_iteration": (power_iteration, (0, 1)),
    "llsq_ridge": (llsq_ridge, (2, 3)),
    "bilinear_form": (bilinear_form, (0, 1, 2)),
    "low_rank_factorisation": (low_rank_factorisation, (0, 1)),
    "gram_matrix": (gram_matrix, (0,)),
    "determinant_lu": (determinant_lu, (0,)),
}
