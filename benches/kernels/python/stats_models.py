"""Statistics, likelihoods, finance: by name, the function and the parameters by which it is derived."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import erf, gammaln, logsumexp


def gmm_flat(alphas, means, icf, x, gamma, m):
    (n, d), k = x.shape, len(alphas)
    columns, rows = np.triu_indices(d, 1)  # below the diagonal, column by column
    log_diagonal, below = icf[:, :d], icf[:, d:]
    factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(below)
    factors += jnp.exp(log_diagonal)[:, :, None] * jnp.eye(d)
    y = jnp.einsum("krc,ikc->ikr", factors, x[:, None, :] - means)
    exponents = alphas + log_diagonal.sum(1) - 0.5 * (y * y).sum(-1)
    freedom = d + m + 1
    one = freedom * d * jnp.log(gamma / np.sqrt(2.0)) - 0.25 * d * (d - 1) * np.log(np.pi)
    one -= gammaln(0.5 * (freedom - jnp.arange(d))).sum()
    prior = m * log_diagonal.sum() - 0.5 * gamma**2 * (factors * factors).sum() + k * one
    return logsumexp(exponents, axis=1).sum() - n * (logsumexp(alphas) + 0.5 * d * np.log(2.0 * np.pi)) + prior


def mvn_loglik(mu, l, x):
    z = solve_triangular(l, (x - mu).T, lower=True)
    return 0.5 * (z * z).sum() + len(x) * (jnp.log(jnp.diag(l)).sum() + 0.5 * len(mu) * np.log(2.0 * np.pi))


def poisson_regression(beta, x, y):
    eta = x @ beta
    return (jnp.exp(eta) - y * eta + gammaln(y + 1.0)).sum()


def student_t_regression(beta, theta, x, y):
    nu = jnp.exp(theta[1])
    z = (y - x @ beta) * jnp.exp(-theta[0])
    half = 0.5 * (nu + 1.0)
    constant = gammaln(0.5 * nu) - gammaln(half) + 0.5 * jnp.log(nu * np.pi) + theta[0]
    return len(y) * constant + half * jnp.log1p(z * z / nu).sum()


PROGRAMS = {
    "gmm_flat": (gmm_flat, (0, 1, 2)),
    "mvn_loglik": (mvn_loglik, (0, 1)),
    "poisson_regression": (poisson_regression, (0,)),
    "student_t_regression": (student_t_regression, (0, 1)),
}
