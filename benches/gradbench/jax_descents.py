"""The evals in JAX that are searches by gradient descent, with derivatives of derivatives: particle and saddle.

The first letter of a mode is that of the outer derivative, forward or reverse, the second one that of the inner one.
JAX has no reverse derivative of a loop whose length is not known: there loops have a bound, and what takes longer is
not a number, which is no answer.
"""

import jax
import jax.numpy as jnp
from jax import lax

BOUND = 512


def forever(going, step, state):
    """Steps while it goes on."""
    return lax.while_loop(going, step, state)


def bounded(going, step, state):
    """The same, with a reverse derivative."""

    def one(state, _):
        return lax.cond(going(state), step, lambda s: s, state), None

    state, _ = lax.scan(one, state, length=BOUND)
    unfinished = going(state)
    return jax.tree.map(lambda s: jnp.where(unfinished, jnp.nan, s) if s.dtype == float else s, state)


LOOPS = {"f": forever, "r": bounded}
JACOBIANS = {"f": jax.jacfwd, "r": jax.jacrev}


def minimum(f, slope, start, loop):
    """By gradient descent; ten steps in sequence that make the function smaller double the step, one that does not
    halves it."""

    def going(state):
        _, _, g, _, _, close = state
        return (jnp.linalg.norm(g) > 1e-5) & ~close

    def move(state):
        x, fx, g, step, successes, _ = state
        moved = x - step * g
        f_moved = f(moved)
        close = jnp.linalg.norm(x - moved) <= 1e-5
        halved = lambda: (x, fx, g, step / 2.0, 0, close)
        accepted = lambda: (moved, f_moved, slope(moved), step, successes + 1, close)
        return lax.cond((f_moved < fx) & ~close, accepted, halved)

    def double(state):
        x, fx, g, step, _, close = state
        return x, fx, g, 2.0 * step, 0, close

    def step(state):
        return lax.cond(state[4] == 10, double, move, state)

    return loop(going, step, (start, f(start), slope(start), 1e-5, 0, False))[0]


def particle():
    def potential(w, x):
        charges = jnp.array([[10.0, 10.0 - w], [10.0, 0.0]])
        return (1.0 / jnp.linalg.norm(x - charges, axis=1)).sum()

    def miss(w, acceleration, loop):
        """The square of where the particle comes down."""

        def going(state):
            return state[0][1] > 0.0

        def step(state):
            x, _, v = state
            return x + 0.1 * v, v, v - 0.1 * acceleration(w, x)

        v = jnp.array([0.75, 0.0])
        (along, height), (horizontal, vertical), _ = loop(going, step, (jnp.array([0.0, 8.0]), v, v))
        return (along - height / vertical * horizontal) ** 2

    def mode(outer, inner):
        f = lambda w: miss(w, JACOBIANS[inner](potential, 1), LOOPS[outer])
        return lambda w: minimum(f, JACOBIANS[outer](f), w, forever)

    return {outer + inner: mode(outer, inner) for outer in "fr" for inner in "fr"}


def saddle():
    def f(p1, p2):
        return p1 @ p1 - p2 @ p2

    def mode(outer, inner):
        def best(p1, start, loop):
            depth = lambda p2: -f(p1, p2)
            return minimum(depth, JACOBIANS[inner](depth), start, loop)

        def search(start):
            height = lambda p1: f(p1, best(p1, start, LOOPS[outer]))
            p1 = minimum(height, JACOBIANS[outer](height), start, forever)
            return jnp.concatenate([p1, best(p1, start, forever)])

        return search

    return {outer + inner: mode(outer, inner) for outer in "fr" for inner in "fr"}
