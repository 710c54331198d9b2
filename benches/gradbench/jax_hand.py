"""Hand tracking in JAX: a surface over a skeleton, and its derivatives by the pose."""

import jax
import jax.numpy as jnp
import numpy as np

# Places of `arguments` that are known when it is compiled: the parents of the bones, and whether the hand is mirrored.
STATIC = (8, 9)


def arguments(given):
    data, model = given["data"], given["data"]["model"]
    floats = [given["theta"], np.reshape(given["us"], (-1, 2))]
    floats += [model[name] for name in ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")]
    floats.append(np.reshape(data["points"], (-1, 3)))
    # Without coordinates a point belongs to a vertex, and otherwise to a triangle.
    corners = np.array(model["triangles"]) if given["us"] else np.arange(len(model["base_positions"]))
    corners = corners[np.array(data["correspondences"], dtype=int)]
    known = [tuple(model["parents"]), model["is_mirrored"]]
    return [*(jnp.asarray(f, dtype=float) for f in floats), jnp.asarray(corners), *known]


def rotation(angles):
    """About x, then y, then z, as a transformation of space."""
    (cx, cy, cz), (sx, sy, sz) = jnp.cos(angles), jnp.sin(angles)
    about_x = jnp.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    about_y = jnp.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    about_z = jnp.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    return jnp.eye(4).at[:3, :3].set(about_z @ about_y @ about_x)


def rotation_about(r):
    """About an axis by its length, none where that is short."""
    square = r @ r
    short = square < 1e-8
    angle = jnp.sqrt(jnp.where(short, 1.0, square))
    x, y, z = axis = r / angle
    cross = jnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.where(short, jnp.eye(3), c * jnp.eye(3) + s * cross + (1.0 - c) * jnp.outer(axis, axis))


def joints(theta, bones):
    """The angles of each bone. The first of a finger's four bones turns in two directions, the last in none."""
    fingers = theta[6:].reshape(5, 4)
    about_x = jnp.concatenate([fingers[:, :1], fingers[:, 2:], jnp.zeros((5, 1))], axis=1)
    return jnp.zeros((bones, 3)).at[2:22, 0].set(about_x.ravel()).at[2:22:4, 2].set(fingers[:, 1])


def surface(theta, base_relatives, inverse_base_absolutes, base_positions, weights, parents, is_mirrored):
    relatives = base_relatives @ jax.vmap(rotation)(joints(theta, len(parents)))
    absolutes = []
    for relative, parent in zip(relatives, parents):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    transforms = (jnp.stack(absolutes) @ inverse_base_absolutes)[:, :3]
    places = jnp.einsum("vb,bij,vj->vi", weights, transforms, base_positions)
    if is_mirrored:
        places = places * jnp.array([-1.0, 1.0, 1.0])
    return places @ rotation_about(theta[:3]).T + theta[3:6]


def objective(theta, us, base_relatives, inverse, positions, weights, points, corners, parents, is_mirrored):
    vertices = surface(theta, base_relatives, inverse, positions, weights, parents, is_mirrored)[corners]
    if corners.ndim == 1:
        return (points - vertices).ravel()
    shares = jnp.concatenate([us, 1.0 - us.sum(1, keepdims=True)], axis=1)
    return (points - jnp.einsum("nc,nci->ni", shares, vertices)).ravel()


def jacobian(theta, us, *rest):
    """By us, where there are some, and theta. A difference depends on its own two coordinates only, so that the
    derivatives by all of them are those in two directions."""
    by_theta = jax.jacfwd(objective)(theta, us, *rest)
    if not len(us):
        return by_theta
    by_us = jax.jacfwd(lambda change: objective(theta, us + change, *rest))(jnp.zeros(2))
    return jnp.concatenate([by_us, by_theta], axis=1)
