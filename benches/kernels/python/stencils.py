"""Stencils, PDEs, images: by name, the function and the parameters by which it is derived."""

import jax.numpy as jnp
from jax import lax


def repeat(step, start, steps):
    return lax.scan(lambda state, _: (step(state), None), start, length=steps)[0]


def square_norm(d):
    return jnp.vdot(d, d)


def heat_line(start, k, target, steps):
    inner = k[1:-1]

    def step(u):
        return u.at[1:-1].add(inner * (u[:-2] + u[2:] - 2.0 * u[1:-1]))

    return square_norm(repeat(step, start, steps) - target)


def heat_square(start, k, target, steps):
    def step(u):
        p = jnp.pad(u, 1)
        return u + k * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u)

    return square_norm(repeat(step, start, steps) - target)


def wave_line(old, now, c, target, steps):
    def step(state):
        p, q = state
        return q, 2.0 * q - p + c * (jnp.roll(q, 1) + jnp.roll(q, -1) - 2.0 * q)

    return square_norm(repeat(step, (old, now), steps)[1] - target)


def laplace_cube(u):
    p = jnp.pad(u, 1, mode="edge")
    inner = slice(1, -1)
    laplacian = (
        p[:-2, inner, inner]
        + p[2:, inner, inner]
        + p[inner, :-2, inner]
        + p[inner, 2:, inner]
        + p[inner, inner, :-2]
        + p[inner, inner, 2:]
        - 6.0 * u
    )
    return 0.5 * square_norm(laplacian)


def advection_upwind(start, v, weights, steps):
    def step(u):
        return u - v * jnp.where(v > 0.0, u - jnp.roll(u, 1), jnp.roll(u, -1) - u)

    return (weights * repeat(step, start, steps) ** 2).sum()


def blur_image(image, weights, target):
    rows, columns = image.shape
    height, width = weights.shape
    p = jnp.pad(image, ((height // 2, height // 2), (width // 2, width // 2)), mode="edge")
    blurred = sum(
        weights[a, b] * p[a : a + rows, b : b + columns] for a in range(height) for b in range(width)
    )
    return square_norm(blurred - target)


def total_variation(u, eps):
    x = u[:-1, :-1]
    return jnp.sqrt((u[:-1, 1:] - x) ** 2 + (u[1:, :-1] - x) ** 2 + eps).sum()


def burgers(start, nu, target, ratio, steps):
    def step(u):
        left, right = jnp.roll(u, 1), jnp.roll(u, -1)
        return u + ratio * (nu * (right - 2.0 * u + left) - 0.25 * (right * right - left * left))

    return square_norm(repeat(step, start, steps) - target)


PROGRAMS = {
    "heat_line": (heat_line, (0, 1)),
    "heat_square": (heat_square, (0, 1)),
    "wave_line": (wave_line, (0, 1, 2)),
    "laplace_cube": (laplace_cube, (0,)),
    "advection_upwind": (advection_upwind, (0, 1)),
    "blur_image": (blur_image, (0, 1)),
    "total_variation": (total_variation, (0,)),
    "burgers": (burgers, (0, 1)),
}
