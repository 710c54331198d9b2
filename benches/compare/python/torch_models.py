"""The functions that are compared, in PyTorch: what `with_torch.py` here and that of `benches/gradbench` call."""

import math

import torch
import torch.nn.functional as F
from torch.func import jacfwd, jacrev, vmap


def gmm(alphas, means, icf, x, gamma, m):
    (n, d), k = x.shape, len(alphas)
    log_diagonal, below = icf[:, :d], icf[:, d:]
    columns, rows = torch.triu_indices(d, d, 1)  # below the diagonal, column by column
    q = torch.diag_embed(torch.exp(log_diagonal))
    q = q.index_put((torch.arange(k)[:, None], rows, columns), below)
    y = torch.einsum("krc,nc->krn", q, x) - torch.einsum("krc,kc->kr", q, means)[:, :, None]
    log_determinants = log_diagonal.sum(1)
    exponents = (alphas + log_determinants)[:, None] - 0.5 * (y * y).sum(1)
    freedom = d + m + 1
    normalisation = freedom * d * (torch.log(gamma) - 0.5 * math.log(2.0)) - (
        0.25 * d * (d - 1) * math.log(math.pi) + torch.lgamma(0.5 * (freedom - torch.arange(d))).sum()
    )
    frobenius = torch.exp(2.0 * log_diagonal).sum() + (below * below).sum()
    prior = m * log_determinants.sum() - 0.5 * gamma**2 * frobenius + k * normalisation
    likelihood = torch.logsumexp(exponents, 0).sum() - n * torch.logsumexp(alphas, 0)
    return likelihood - 0.5 * n * d * math.log(2.0 * math.pi) + prior


def rotate(r, x):
    theta2 = r @ r
    zero = theta2 == 0.0
    theta = torch.sqrt(torch.where(zero, 1.0, theta2))
    axis = r / theta
    cosine, sine = torch.cos(theta), torch.sin(theta)
    turned = cosine * x + sine * torch.linalg.cross(axis, x) + (axis @ x) * (1.0 - cosine) * axis
    return torch.where(zero, x + torch.linalg.cross(r, x), turned)


def reprojection_error(camera, point, weight, feature):
    p = rotate(camera[:3], point - camera[3:6])
    image = p[:2] / p[2]
    r2 = image @ image
    distortion = 1.0 + camera[9] * r2 + camera[10] * r2 * r2
    return weight * (camera[6] * distortion * image + camera[7:9] - feature)


def seen(cameras, points, weights, observations, features):
    return cameras[observations[:, 0]], points[observations[:, 1]], weights, features


def ba(cameras, points, weights, observations, features):
    errors = vmap(reprojection_error)(*seen(cameras, points, weights, observations, features))
    return errors, 1.0 - weights * weights


def ba_jacobian(cameras, points, weights, observations, features):
    blocks = vmap(jacrev(reprojection_error, argnums=(0, 1, 2)))
    return *blocks(*seen(cameras, points, weights, observations, features)), -2.0 * weights


def project_jacobian(camera, points):
    by_camera = jacfwd(lambda camera, point: reprojection_error(camera, point, 1.0, 0.0))
    return [vmap(by_camera, (None, 0))(camera, points)]


def lstm(main, extra, state, sequence):
    b = sequence.shape[1]
    layers = list(zip(main[0::2].reshape(-1, 4, b), main[1::2].reshape(-1, 4, b)))
    layers = [(w[0::2], bias[0::2], w[1::2], bias[1::2]) for w, bias in layers]
    states = [(state[i], state[i + 1]) for i in range(0, len(state), 2)]
    inputs, outputs = sequence[:-1] * extra[0], []
    for x in inputs:
        new = []
        for (w, bias, w_hidden, bias_hidden), (hidden, cell) in zip(layers, states):
            forget, out = torch.sigmoid(torch.addcmul(bias, x, w))
            enter, change = torch.addcmul(bias_hidden, hidden, w_hidden)
            cell = cell * forget + torch.sigmoid(enter) * torch.tanh(change)
            x = out * torch.tanh(cell)
            new.append((x, cell))
        states = new
        outputs.append(x)
    y = torch.stack(outputs) * extra[1] + extra[2]
    log_sums = torch.log(torch.exp(y).sum(1, keepdim=True) + 2.0)
    return -(sequence[1:] * (y - log_sums)).sum() / (b * (len(sequence) - 1))


@torch.no_grad()
def nearest(points, centroids):
    if torch.compiler.is_compiling():
        return ((points[:, None] - centroids) ** 2).sum(2).argmin(1)
    return torch.cdist(points, centroids, compute_mode="donot_use_mm_for_euclid_dist").argmin(1)


def kmeans(points, centroids):
    # By the nearest centroid of each point: the derivative of `min` takes longer.
    differences = points - centroids[nearest(points, centroids)]
    return (differences * differences).sum()


def kmeans_hessian(points, centroids):
    centroids = centroids.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(kmeans(points, centroids), centroids, create_graph=True)
    return torch.autograd.grad(gradient.sum(), centroids)


def llsq(a, b, x):
    r = a @ x - b
    return 0.5 * (r @ r)


def ode(rates, interactions, start, time, steps):
    h, y = float(time) / steps, start

    def growth(y):
        return y * torch.addmv(rates, interactions, y)

    for _ in range(steps):
        k1 = growth(y)
        k2 = growth(y + h / 2 * k1)
        k3 = growth(y + h / 2 * k2)
        k4 = growth(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def cnn(kernels1, bias1, kernels2, bias2, weights, bias, images, labels, window):
    features1 = F.max_pool2d(F.relu(F.conv2d(images, kernels1, bias1)), window)
    features2 = F.max_pool2d(F.relu(F.conv2d(features1, kernels2, bias2)), window)
    return F.cross_entropy(F.linear(features2.flatten(1), weights.flatten(1), bias), labels)


def nnmf(w, h, a):
    r = a - w @ h
    return (r * r).sum()


def nnmf_of_vectors(u, v, a):
    x = torch.outer(u, v)
    return (torch.log(x) + a / x).sum()
