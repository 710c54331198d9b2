"""The functions that are compared, in JAX: what `with_jax.py` here and that of `benches/gradbench` compile."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln, logsumexp


def gmm(alphas, means, icf, x, gamma, m):
    (n, d), k = x.shape, len(alphas)
    log_diagonal, below = icf[:, :d], icf[:, d:]
    columns, rows = np.triu_indices(d, 1)  # below the diagonal, column by column
    q = jax.vmap(jnp.diag)(jnp.exp(log_diagonal)).at[:, rows, columns].set(below)
    # The points are the last index: the other orders take longer.
    y = jnp.einsum("krc,nc->krn", q, x) - jnp.einsum("krc,kc->kr", q, means)[:, :, None]
    log_determinants = log_diagonal.sum(1)
    exponents = (alphas + log_determinants)[:, None] - 0.5 * (y * y).sum(1)
    freedom = d + m + 1
    normalisation = freedom * d * (jnp.log(gamma) - 0.5 * np.log(2.0)) - (
        0.25 * d * (d - 1) * np.log(np.pi) + gammaln(0.5 * (freedom - jnp.arange(d))).sum()
    )
    frobenius = jnp.exp(2.0 * log_diagonal).sum() + (below * below).sum()
    prior = m * log_determinants.sum() - 0.5 * gamma**2 * frobenius + k * normalisation
    likelihood = logsumexp(exponents, axis=0).sum() - n * logsumexp(alphas)
    return likelihood - 0.5 * n * d * np.log(2.0 * np.pi) + prior


def rotate(r, x):
    theta2 = r @ r
    zero = theta2 == 0.0
    theta = jnp.sqrt(jnp.where(zero, 1.0, theta2))
    axis = r / theta
    cosine, sine = jnp.cos(theta), jnp.sin(theta)
    turned = cosine * x + sine * jnp.cross(axis, x) + (axis @ x) * (1.0 - cosine) * axis
    return jnp.where(zero, x + jnp.cross(r, x), turned)


def reprojection_error(camera, point, weight, feature):
    p = rotate(camera[:3], point - camera[3:6])
    image = p[:2] / p[2]
    r2 = image @ image
    distortion = 1.0 + camera[9] * r2 + camera[10] * r2 * r2
    return weight * (camera[6] * distortion * image + camera[7:9] - feature)


def seen(cameras, points, weights, observations, features):
    return cameras[observations[:, 0]], points[observations[:, 1]], weights, features


def ba(cameras, points, weights, observations, features):
    errors = jax.vmap(reprojection_error)(*seen(cameras, points, weights, observations, features))
    return errors, 1.0 - weights * weights


def ba_jacobian(cameras, points, weights, observations, features):
    blocks = jax.vmap(jax.jacrev(reprojection_error, argnums=(0, 1, 2)))
    return blocks(*seen(cameras, points, weights, observations, features)), -2.0 * weights


def project_jacobian(camera, points):
    by_camera = jax.jacfwd(lambda camera, point: reprojection_error(camera, point, 1.0, 0.0))
    return jax.vmap(by_camera, (None, 0))(camera, points)


def lstm(main, extra, state, sequence):
    b = sequence.shape[1]
    weights, biases = main[0::2].reshape(-1, 4, b), main[1::2].reshape(-1, 4, b)

    def step(states, inputs):
        current, following = inputs
        x, new = current * extra[0], []
        for w, bias, (hidden, cell) in zip(weights, biases, states):
            forget, out = jax.nn.sigmoid(x * w[0] + bias[0]), jax.nn.sigmoid(x * w[2] + bias[2])
            enter, change = jax.nn.sigmoid(hidden * w[1] + bias[1]), jnp.tanh(hidden * w[3] + bias[3])
            cell = cell * forget + enter * change
            x = out * jnp.tanh(cell)
            new.append((x, cell))
        y = x * extra[1] + extra[2]
        return new, following @ (y - jnp.log(jnp.exp(y).sum() + 2.0))

    states = [(state[i], state[i + 1]) for i in range(0, len(state), 2)]
    _, terms = lax.scan(step, states, (sequence[:-1], sequence[1:]))
    return -terms.sum() / (b * (len(sequence) - 1))


def kmeans(points, centroids):
    # By the nearest centroid of each point: the derivative of `min` takes longer. Which that is, squares of distances say
    # without those of the points; differences in place of the matrix product take longer, too.
    fixed = lax.stop_gradient(centroids)
    distances = (fixed**2).sum(1) - 2.0 * points @ fixed.T
    return ((points - centroids[distances.argmin(1)]) ** 2).sum()


def kmeans_hessian(points, centroids):
    gradient = jax.grad(lambda c: kmeans(points, c))
    return jax.jvp(gradient, (centroids,), (jnp.ones_like(centroids),))[1]


def llsq(a, b, x):
    r = a @ x - b
    return 0.5 * (r @ r)


def ode(rates, interactions, start, time, steps):
    h = time / steps

    def growth(y):
        return y * (rates + interactions @ y)

    def step(y, _):
        k1 = growth(y)
        k2 = growth(y + h / 2 * k1)
        k3 = growth(y + h / 2 * k2)
        k4 = growth(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return lax.scan(step, start, length=steps)[0]


def convolve(kernels, bias, images):
    return lax.conv(images, kernels, (1, 1), "VALID") + bias[:, None, None]


def pool(window, images):
    size = (1, 1, window, window)
    return lax.reduce_window(images, -jnp.inf, lax.max, size, size, "VALID")


def cnn(kernels1, bias1, kernels2, bias2, weights, bias, images, labels, window):
    features1 = pool(window, jax.nn.relu(convolve(kernels1, bias1, images)))
    features2 = pool(window, jax.nn.relu(convolve(kernels2, bias2, features1)))
    y = jnp.einsum("kcij,ncij->nk", weights, features2) + bias
    at_labels = jnp.take_along_axis(y, labels[:, None], 1)[:, 0]
    return (logsumexp(y, axis=1) - at_labels).mean()


def nnmf(w, h, a):
    r = a - w @ h
    return (r * r).sum()


def nnmf_of_vectors(u, v, a):
    x = jnp.outer(u, v)
    return (jnp.log(x) + a / x).sum()
