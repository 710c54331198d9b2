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


def normal_cdf(x):
    return 0.5 * (1.0 + erf(x * np.sqrt(0.5)))


def black_scholes_portfolio(spots, strikes, vols, times, amounts, kinds, rate):
    deviation = vols * jnp.sqrt(times)
    d1 = (jnp.log(spots / strikes) + rate * times) / deviation + 0.5 * deviation
    discounted = strikes * jnp.exp(-rate * times)
    calls = spots * normal_cdf(d1) - discounted * normal_cdf(d1 - deviation)
    return amounts @ jnp.where(kinds == 1, calls, calls + discounted - spots)


def heston_like_paths(theta, z, w):
    start, speed, long_run, xi, rho, drift = theta
    paths, steps = z.shape
    dt = 1.0 / steps

    def step(state, normals):
        x, v = state
        z1, w1 = normals
        u = jnp.maximum(v, 1e-6)
        deviation = jnp.sqrt(dt * u)
        z2 = rho * z1 + jnp.sqrt(1.0 - rho * rho) * w1
        x += (drift - 0.5 * u) * dt + deviation * z1
        return (x, v + speed * (long_run - u) * dt + xi * deviation * z2), None

    first = (jnp.zeros(paths), jnp.full(paths, start))
    (x, _), _ = lax.scan(step, first, (z.T, w.T))
    return jnp.maximum(jnp.exp(x) - 1.0, 0.0).mean()


def softmax_cross_entropy(logits, labels):
    picked = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    return (logsumexp(logits, axis=1) - picked).mean()


def logsumexp_rows(x):
    return logsumexp(x, axis=1)


def kmeans_cost(points, centroids):
    differences = points[:, None, :] - centroids[None, :, :]
    return (differences * differences).sum(-1).min(1).sum()


def cox_partial_likelihood(beta, x, events):
    eta = x @ beta
    return (events * (jnp.log(jnp.cumsum(jnp.exp(eta))) - eta)).sum()


def quantile_loss(beta, x, y, tau):
    r = y - x @ beta
    return jnp.where(r > 0.0, tau * r, (tau - 1.0) * r).mean()


def huber_regression(beta, x, y, cut):
    a = jnp.abs(y - x @ beta)
    return jnp.where(a <= cut, 0.5 * a * a, cut * (a - 0.5 * cut)).sum()


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def log_beta(a, b):
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def beta_binomial(log_a, log_b, successes, trials):
    a, b, failures = jnp.exp(log_a), jnp.exp(log_b), trials - successes
    log_choose = -jnp.log(trials + 1.0) - log_beta(successes + 1.0, failures + 1.0)
    return -(log_choose + log_beta(successes + a, failures + b) - log_beta(a, b)).sum()


def matern_kernel(x, w, log_lengths):
    scaled = x * jnp.exp(-log_lengths)
    differences = scaled[:, None, :] - scaled[None, :, :]
    s = jnp.sqrt(5.0 * ((differences * differences).sum(-1) + 1e-12))
    return w @ ((1.0 + s + s * s / 3.0) * jnp.exp(-s)) @ w


def elo_ratings(ratings, advantage, matches, scores):
    d = ratings[matches[:, 0]] + advantage - ratings[matches[:, 1]]
    return (jax.nn.softplus(d) - scores * d).sum() + 0.05 * (ratings * ratings).sum()


def elo_updates(start, k, matches, scores):
    def step(r, match):
        (a, b), score = match
        e = score - jax.nn.sigmoid(r[a] - r[b])
        return r.at[a].add(k * e).at[b].add(-k * e), e * e

    _, errors = lax.scan(step, start, (matches, scores))
    return errors.sum()


def score_matching(w, b, xs):
    t = jnp.tanh(xs @ w.T + b)
    s = 1.0 - t * t
    g = xs + s @ w
    traces = xs.shape[1] - 2.0 * (t * s) @ (w * w).sum(1)
    return (0.5 * (g * g).sum(1) - traces).mean()


PROGRAMS = {
    "gmm_flat": (gmm_flat, (0, 1, 2)),
    "mvn_loglik": (mvn_loglik, (0, 1)),
    "poisson_regression": (poisson_regression, (0,)),
    "student_t_regression": (student_t_regression, (0, 1)),
    "black_scholes_portfolio": (black_scholes_portfolio, (0, 1, 2, 3, 4, 6)),
    "heston_like_paths": (heston_like_paths, (0,)),
    "softmax_cross_entropy": (softmax_cross_entropy, (0,)),
    "logsumexp_rows": (logsumexp_rows, (0,)),
    "kmeans_cost": (kmeans_cost, (1,)),
    "cox_partial_likelihood": (cox_partial_likelihood, (0,)),
    "quantile_loss": (quantile_loss, (0,)),
    "huber_regression": (huber_regression, (0,)),
    "rosenbrock": (rosenbrock, (0,)),
    "beta_binomial": (beta_binomial, (0, 1)),
    "matern_kernel": (matern_kernel, (0, 1, 2)),
    "elo_ratings": (elo_ratings, (0, 1)),
    "elo_updates": (elo_updates, (0, 1)),
    "score_matching": (score_matching, (0, 1)),
}
