"""The functions of the evals, from their formulas, in plain Python.

They take complex numbers as well, so that derivatives need no formulas of their own:

    f(x + i h) = f(x) + i h f'(x) + O(h^2),     f'(x) = Im f(x + i h) / h

which has no rounding error to speak of when h is so small that its square is zero. What is compared is
compared by real parts.
"""

import cmath
import math

TINY = 1e-200


def real(x):
    return x.real if isinstance(x, complex) else x


def exp(x):
    return cmath.exp(x) if isinstance(x, complex) else math.exp(x)


def log(x):
    return cmath.log(x) if isinstance(x, complex) else math.log(x)


def sqrt(x):
    return cmath.sqrt(x) if isinstance(x, complex) else math.sqrt(x)


def sin(x):
    return cmath.sin(x) if isinstance(x, complex) else math.sin(x)


def cos(x):
    return cmath.cos(x) if isinstance(x, complex) else math.cos(x)


def tanh(x):
    return cmath.tanh(x) if isinstance(x, complex) else math.tanh(x)


def dot(x, y):
    return sum(a * b for a, b in zip(x, y))


# Numbers in lists of lists, as one list and back.


def flat(tree):
    if isinstance(tree, list):
        return [x for part in tree for x in flat(part)]
    return [tree]


def shaped(tree, numbers):
    """The numbers of an iterator in the places of those of the tree."""
    if isinstance(tree, list):
        return [shaped(part, numbers) for part in tree]
    return next(numbers)


def along(f, x, direction):
    """The derivative of f at x along a direction: numbers of the shape of f(x)."""
    moved = [a + 1j * TINY * d for a, d in zip(flat(x), flat(direction))]
    return [complex(y).imag / TINY for y in flat(f(shaped(x, iter(moved))))]


def unit(n, i):
    return [1.0 if j == i else 0.0 for j in range(n)]


def gradient(f, x):
    """In the shape of x."""
    n = len(flat(x))
    slopes = [along(f, x, unit(n, i))[0] for i in range(n)]
    return shaped(x, iter(slopes))


def jacobian(f, x):
    """A row for each result."""
    n = len(flat(x))
    columns = [along(f, x, unit(n, i)) for i in range(n)]
    return [list(row) for row in zip(*columns)]


# lse


def lse(x):
    largest = max(real(a) for a in x)
    return largest + log(sum(exp(a - largest) for a in x))


# llsq


def llsq(x, n):
    total = 0.0
    for i in range(n):
        t = -1.0 + i * 2.0 / (n - 1)
        sign = (t > 0) - (t < 0)
        total += (sign - sum(a * t**j for j, a in enumerate(x))) ** 2
    return total / 2


# gmm


def gmm(alpha, mu, q, l, x, gamma, m):
    n, d = len(x), len(mu[0])
    total = -n * d / 2 * math.log(2 * math.pi) - n * lse(alpha)
    for point in x:
        total += lse([alpha[k] + sum(q[k]) - gmm_distance(point, mu[k], q[k], l[k]) / 2 for k in range(len(alpha))])
    freedom = d + m + 1
    constant = freedom * d * (math.log(gamma) - math.log(2) / 2)
    constant -= d * (d - 1) / 4 * math.log(math.pi)
    constant -= sum(math.lgamma(freedom / 2 + (1 - j) / 2) for j in range(1, d + 1))
    for diagonal, lower in zip(q, l):
        norm = sum(exp(2 * a) for a in diagonal) + sum(a * a for a in lower)
        total -= gamma**2 / 2 * norm - m * sum(diagonal)
    return total + len(alpha) * constant


def gmm_distance(x, mu, q, l):
    """|Q (x - mu)|^2, column by column of Q."""
    d = len(x)
    image = [exp(q[r]) * (x[r] - mu[r]) for r in range(d)]
    lower = iter(l)
    for c in range(d):
        for r in range(c + 1, d):
            image[r] += next(lower) * (x[c] - mu[c])
    return dot(image, image)


# ba


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def ba_error(cam, point, w, feat):
    r, c, f, centre, (k1, k2) = cam[0:3], cam[3:6], cam[6], cam[7:9], cam[9:11]
    pt = [x - y for x, y in zip(point, c)]
    square = dot(r, r)
    if real(square) == 0:
        seen = [x + y for x, y in zip(pt, cross(r, pt))]
    else:
        theta = sqrt(square)
        u = [x / theta for x in r]
        terms = zip(pt, cross(u, pt), u)
        seen = [x * cos(theta) + y * sin(theta) + z * dot(u, pt) * (1 - cos(theta)) for x, y, z in terms]
    image = [seen[0] / seen[2], seen[1] / seen[2]]
    rho = dot(image, image)
    stretch = 1 + k1 * rho + k2 * rho * rho
    return [w * (x * stretch * f + y - z) for x, y, z in zip(image, centre, feat)]


def ba_rows(n, m, p, cam, x, w, feat):
    """The sparse Jacobian: starts of rows, columns, values."""
    block = jacobian(lambda v: ba_error(v[:11], v[11:14], v[14], feat), cam + x + [w])
    rows, cols, vals = [0], [], []
    for i in range(p):
        places = [11 * (i % n) + j for j in range(11)]
        places += [11 * n + 3 * (i % m) + j for j in range(3)]
        places += [11 * n + 3 * m + i]
        for row in block:
            cols += places
            vals += row
            rows.append(len(cols))
    for i in range(p):
        cols.append(11 * n + 3 * m + i)
        vals.append(-2 * w)
        rows.append(len(cols))
    return rows, cols, vals


# ht


def product(a, b):
    return [[sum(a[r][i] * b[i][c] for i in range(4)) for c in range(4)] for r in range(4)]


def rotations(x, y, z):
    """About x, then y, then z."""
    about_x = [[1, 0, 0, 0], [0, cos(x), -sin(x), 0], [0, sin(x), cos(x), 0], [0, 0, 0, 1]]
    about_y = [[cos(y), 0, sin(y), 0], [0, 1, 0, 0], [-sin(y), 0, cos(y), 0], [0, 0, 0, 1]]
    about_z = [[cos(z), -sin(z), 0, 0], [sin(z), cos(z), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    return product(about_z, product(about_y, about_x))


def ht_pose(theta):
    """Three rows, a column for each joint, after those of the whole."""
    pose = [[0.0] * 25 for _ in range(3)]
    for i in range(3):
        pose[i][0], pose[i][1], pose[i][2] = theta[i], 1.0, theta[3 + i]
    rest, column = iter(theta[6:]), 5
    for _ in range(5):
        for joint in range(3):
            pose[0][column] = next(rest)
            if joint == 0:
                pose[1][column] = next(rest)
            column += 1
        column += 1
    return pose


def ht_vertices(theta, model):
    pose, transforms, absolutes = ht_pose(theta), [], []
    for i, parent in enumerate(model["parents"]):
        tx, tz, ty = (pose[row][i + 3] for row in range(3))
        absolute = product(model["base_relatives"][i], rotations(tx, ty, tz))
        if parent >= 0:
            absolute = product(absolutes[parent], absolute)
        absolutes.append(absolute)
        transforms.append(product(absolute, model["inverse_base_absolutes"][i]))
    vertices = []
    for base, weights in zip(model["base_positions"], model["weights"]):
        place = [0.0, 0.0, 0.0]
        for weight, transform in zip(weights, transforms):
            place = [x + weight * dot(row, base) for x, row in zip(place, transform)]
        if model["is_mirrored"]:
            place[0] = -place[0]
        turned = turn(theta[0:3], place)
        vertices.append([x + y for x, y in zip(turned, theta[3:6])])
    return vertices


def turn(r, x):
    """About an axis by its length, but nothing when that is short."""
    angle = sqrt(dot(r, r))
    if real(angle) < 1e-4:
        return x
    u = [a / angle for a in r]
    c, s = cos(angle), sin(angle)
    return [c * a + s * b + (1 - c) * dot(u, x) * e for a, b, e in zip(x, cross(u, x), u)]


def ht(theta, us, data):
    vertices = ht_vertices(theta, data["model"])
    errors = []
    for i, (corr, point) in enumerate(zip(data["correspondences"], data["points"])):
        if us:
            a, b, c = (vertices[v] for v in data["model"]["triangles"][corr])
            u, v = us[i]
            place = [u * x + v * y + (1 - u - v) * z for x, y, z in zip(a, b, c)]
        else:
            place = vertices[corr]
        errors += [x - y for x, y in zip(point, place)]
    return errors


def ht_jacobian(theta, us, data):
    columns = [along(lambda t: ht(t, us, data), theta, unit(26, i)) for i in range(26)]
    if us:
        first = along(lambda u: ht(theta, u, data), us, [[1.0, 0.0]] * len(us))
        second = along(lambda u: ht(theta, u, data), us, [[0.0, 1.0]] * len(us))
        columns = [first, second] + columns
    return [list(row) for row in zip(*columns)]


# kmeans


def nearest(p, centroids):
    distances = [dot(*[[a - b for a, b in zip(p, c)]] * 2) for c in centroids]
    return min(distances), distances.index(min(distances))


def kmeans(points, centroids):
    return sum(nearest(p, centroids)[0] for p in points)


def kmeans_step(points, centroids):
    """The gradient 2 sum (c - p) by the second derivative 2 count."""
    sums, counts = [[0.0] * len(c) for c in centroids], [0] * len(centroids)
    for p in points:
        j = nearest(p, centroids)[1]
        counts[j] += 1
        sums[j] = [s + c - x for s, c, x in zip(sums[j], centroids[j], p)]
    return [[s / count for s in row] for row, count in zip(sums, counts)]


# lstm


def sigmoid(x):
    return 1 / (1 + exp(-x))


def lstm(main, extra, state, sequence):
    b, layers = len(sequence[0]), len(main) // 2
    state, total = [list(row) for row in state], 0.0
    for now, then in zip(sequence, sequence[1:]):
        x = [a * w for a, w in zip(now, extra[0])]
        for i in range(layers):
            weights, biases, hidden, cell = main[2 * i], main[2 * i + 1], state[2 * i], state[2 * i + 1]
            for j in range(b):
                gate = [weights[g * b + j] * (x[j] if g in (0, 2) else hidden[j]) + biases[g * b + j] for g in range(4)]
                cell[j] = cell[j] * sigmoid(gate[0]) + sigmoid(gate[1]) * tanh(gate[3])
                hidden[j] = sigmoid(gate[2]) * tanh(cell[j])
            x = hidden
        y = [a * w + c for a, w, c in zip(x, extra[1], extra[2])]
        norm = log(sum(exp(a) for a in y) + 2)
        total += sum(s * (a - norm) for s, a in zip(then, y))
    return -total / (b * (len(sequence) - 1))


# ode


def ode(x, s):
    h, y = 2.0 / s, [0.0] * len(x)

    def slope(y):
        return [a * b for a, b in zip(x, [1.0] + y)]

    def moved(k, t):
        return [a + t * b for a, b in zip(y, k)]

    for _ in range(s):
        k1 = slope(y)
        k2 = slope(moved(k1, h / 2))
        k3 = slope(moved(k2, h / 2))
        k4 = slope(moved(k3, h))
        y = [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4)]
    return y


# det


def det(a, ell):
    """By elimination, which has nothing in common with an expansion by minors."""
    rows, result = [list(a[i * ell : (i + 1) * ell]) for i in range(ell)], 1.0
    for k in range(ell):
        pivot = max(range(k, ell), key=lambda r: abs(real(rows[r][k])))
        if pivot != k:
            rows[k], rows[pivot], result = rows[pivot], rows[k], -result
        result *= rows[k][k]
        for r in range(k + 1, ell):
            factor = rows[r][k] / rows[k][k]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k])]
    return result


# particle and saddle


def descend(f, slope, x):
    """Gradient descent from a list of numbers."""
    step, successes, value, g = 1e-5, 0, f(x), slope(x)
    while math.sqrt(sum(real(a) ** 2 for a in g)) > 1e-5:
        if successes == 10:
            step, successes = step * 2, 0
            continue
        moved = [a - step * b for a, b in zip(x, g)]
        if math.sqrt(sum(real(a - b) ** 2 for a, b in zip(x, moved))) <= 1e-5:
            return x
        there = f(moved)
        if real(there) < real(value):
            x, value, g, successes = moved, there, slope(moved), successes + 1
        else:
            step, successes = step / 2, 0
    return x


def particle(w):
    def force(x, charge):
        away = [x[0] - charge[0], x[1] - charge[1]]
        return [a / sqrt(dot(away, away)) ** 3 for a in away]

    def miss(w):
        x, v = [0.0, 8.0], [0.75, 0.0]
        while True:
            a = [p + q for p, q in zip(force(x, [10.0, 10.0 - w[0]]), force(x, [10.0, 0.0]))]
            x = [p + 0.1 * q for p, q in zip(x, v)]
            if real(x[1]) <= 0:
                return (x[0] - x[1] / v[1] * v[0]) ** 2
            v = [p + 0.1 * q for p, q in zip(v, a)]

    return descend(miss, lambda w: gradient(miss, w), [w])[0]


def saddle(start):
    def f(p, q):
        return dot(p, p) - dot(q, q)

    def best(p):
        return descend(lambda q: -f(p, q), lambda q: [2 * a for a in q], start)

    def height(p):
        return f(p, best(p))

    p = descend(height, lambda p: gradient(height, p), start)
    return p + best(p)
