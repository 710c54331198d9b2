"""Recurrences, scans, sequences: by name, the function and the parameters by which it is derived."""

import jax.numpy as jnp
from jax import lax
from jax.nn import logsumexp


def kalman(f, h, q, r, ys):
    def step(state, y):
        x, p = state
        x = f @ x
        p = f @ p @ f.T + jnp.diag(q)
        ph = p @ h.T
        s = h @ ph + jnp.diag(r)
        (a, b), (c, d) = s
        det = a * d - b * c
        inverse = jnp.array([[d, -b], [-c, a]]) / det
        e = y - h @ x
        gain = ph @ inverse
        term = e @ inverse @ e + jnp.log(det) + 2.0 * jnp.log(2.0 * jnp.pi)
        return (x + gain @ e, p - gain @ ph.T), -0.5 * term

    n = q.shape[0]
    return lax.scan(step, (jnp.zeros(n), jnp.eye(n)), ys)[1].sum()


def hmm(start, moves, emit):
    def step(alpha, e):
        return e + logsumexp(alpha[:, None] + moves, axis=0), None

    return logsumexp(lax.scan(step, start + emit[0], emit[1:])[0])


def rnn(w, u, b, v, xs, ys):
    def step(h, drive):
        h = jnp.tanh(w @ h + drive)
        return h, h

    states = lax.scan(step, jnp.zeros_like(b), xs @ u.T + b)[1]
    e = states @ v - ys
    return e @ e


def lorenz(start, rates, h, target, steps):
    s, r, b = rates

    def slope(p):
        x, y, z = p
        return jnp.array([s * (y - x), x * (r - z) - y, x * y - b * z])

    def step(p, _):
        k1 = slope(p)
        k2 = slope(p + 0.5 * h * k1)
        k3 = slope(p + 0.5 * h * k2)
        k4 = slope(p + h * k3)
        return p + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4), None

    d = lax.scan(step, start, length=steps, unroll=16)[0] - target
    return d @ d


def exponential_smoothing(a, level, ys):
    def step(level, y):
        e = y - level
        return level + a * e, e

    e = lax.scan(step, level, ys, unroll=16)[1]
    return e @ e


def garch(omega, alpha, beta, returns):
    squares = returns * returns

    def step(v, r2):
        return omega + alpha * r2 + beta * v, v

    v = lax.scan(step, omega / (1.0 - alpha - beta), squares, unroll=16)[1]
    return -0.5 * (jnp.log(v) + squares / v).sum()


def ema_crossover(fast, slow, k, prices):
    rates = jnp.stack([fast, slow])

    def step(averages, price):
        averages = averages + rates * (price - averages)
        return averages, averages

    averages = lax.scan(step, jnp.stack([prices[0], prices[0]]), prices[:-1], unroll=16)[1]
    held = jnp.tanh(k * (averages[:, 0] - averages[:, 1]))
    return held @ jnp.diff(prices)


def polynomial_horner(xs, c):
    return jnp.polyval(c, xs, unroll=31)


def option_tree(spot, strike, rate, volatility, years, steps):
    dt = years / steps
    up = jnp.exp(volatility * jnp.sqrt(dt))
    discount = jnp.exp(-rate * dt)
    p = (1.0 / discount - 1.0 / up) / (up - 1.0 / up)
    places = jnp.arange(steps + 1)
    prices = spot * up ** (2.0 * places - steps)

    # All steps keep the size; what is beyond the end of a level reaches no level below.
    def step(state, _):
        v, s = state
        s = up * s
        kept = discount * (p * jnp.roll(v, -1) + (1.0 - p) * v)
        return (jnp.maximum(kept, strike - s), s), None

    start = jnp.maximum(strike - prices, 0.0), prices
    return lax.scan(step, start, length=steps)[0][0][0]


def affine_chain(start, a, b):
    def compose(first, second):
        return second[0] * first[0], second[0] * first[1] + second[1]

    slopes, shifts = lax.associative_scan(compose, (a, b))
    x = slopes[-1] * start + shifts[-1]
    return x * x


def product_fold(v):
    return jnp.prod(v)


PROGRAMS = {
    "kalman": (kalman, (0, 1, 2, 3)),
    "hmm": (hmm, (0, 1, 2)),
    "rnn": (rnn, (0, 1, 2, 3)),
    "lorenz": (lorenz, (0, 1)),
    "exponential_smoothing": (exponential_smoothing, (0, 1, 2)),
    "garch": (garch, (0, 1, 2)),
    "ema_crossover": (ema_crossover, (0, 1, 2)),
    "polynomial_horner": (polynomial_horner, (0, 1)),
    "affine_chain": (affine_chain, (0, 1, 2)),
    "product_fold": (product_fold, (0,)),
    "option_tree": (option_tree, (0, 1, 2, 3)),
}
