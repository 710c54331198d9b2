"""Inputs for each eval: small and awkward ones, and those of the sizes that are measured.

A case is a function of an eval, an input, and a judge, which takes the output and gives the largest relative
error, or raises `Wrong`.
"""

import math
import random
from typing import Callable, NamedTuple

import reference as ref


class Wrong(Exception):
    """An output of another form than the expected one."""


class Case(NamedTuple):
    module: str
    function: str
    size: str
    input: object
    judge: Callable[[object], float]


def distance(found, expected):
    """Relative, in the Euclidean norm."""
    difference = math.sqrt(sum((a - b) ** 2 for a, b in zip(found, expected)))
    norm = math.sqrt(sum(b * b for b in expected))
    return difference / norm if norm > 0 else (0.0 if difference == 0 else math.inf)


def compare(found, expected, place="output"):
    """The same keys, lengths and types everywhere, the same integers; the error of each list of floats, at most."""
    if type(found) is not type(expected):
        raise Wrong(f"{place} is {type(found).__name__}, not {type(expected).__name__}")
    if isinstance(expected, dict):
        if found.keys() != expected.keys():
            raise Wrong(f"{place} has the fields {sorted(found)}, not {sorted(expected)}")
        return max(compare(found[key], expected[key], f"{place}.{key}") for key in expected)
    if isinstance(expected, list):
        same_form(found, expected, place)
        return distance(ref.flat(found), ref.flat(expected))
    return distance([found], [expected])


def same_form(found, expected, place):
    if type(found) is not type(expected):
        raise Wrong(f"{place} is {type(found).__name__}, not {type(expected).__name__}")
    if isinstance(expected, list):
        if len(found) != len(expected):
            raise Wrong(f"{place} has {len(found)} elements, not {len(expected)}")
        for i, (a, b) in enumerate(zip(found, expected)):
            same_form(a, b, f"{place}[{i}]")
    elif isinstance(expected, int) and found != expected:
        raise Wrong(f"{place} is {found}, not {expected}")


def equals(expected):
    return lambda found: compare(found, expected)


def slopes(f, x, form=lambda tree: tree):
    """Judges a gradient too long to be compared as a whole: by its products with directions."""

    def judge(found):
        same_form(found, form(x), "output")
        found = ref.flat(list(found.values()) if isinstance(found, dict) else found)
        dice = random.Random(7)
        worst = 0.0
        for _ in range(3):
            direction = [dice.uniform(-1, 1) for _ in found]
            expected = ref.along(f, x, direction)
            # Each term rounds: the sum may be near zero.
            scale = math.sqrt(sum(a * a for a in found) / len(found))
            worst = max(worst, abs(ref.dot(found, direction) - expected[0]) / max(scale, abs(expected[0])))
        return worst

    return judge


def numbers(dice, *size):
    """In [-1, 1), in lists."""
    if not size:
        return dice.uniform(-1, 1)
    return [numbers(dice, *size[1:]) for _ in range(size[0])]


def hello():
    for x in (3.0, -0.5, 0.0, 7):
        yield Case("hello", "square", str(x), x, equals(float(x * x)))
        yield Case("hello", "double", str(x), x, equals(float(2 * x)))


def lse(n, scale=3.0):
    x = [scale * a for a in numbers(random.Random(n), n)]
    yield Case("lse", "primal", f"n = {n}", {"x": x}, equals(ref.lse(x)))
    largest = ref.lse(x)
    yield Case("lse", "gradient", f"n = {n}", {"x": x}, equals([math.exp(a - largest) for a in x]))


def llsq(n, m, large=False):
    x = numbers(random.Random(n), m)
    given, size = {"x": x, "n": n}, f"n = {n}, m = {m}"
    judge = slopes(lambda v: ref.llsq(v, n), x) if large else None
    yield Case("llsq", "primal", size, given, equals(ref.llsq(x, n)))
    yield Case("llsq", "gradient", size, given, judge or equals(ref.gradient(lambda v: ref.llsq(v, n), x)))


def gmm(n, d, k, large=False):
    dice = random.Random(n + d + k)
    x, gamma, m = numbers(dice, n, d), 1.0 if n % 2 else 0.75, d % 3
    v = [numbers(dice, k), numbers(dice, k, d), numbers(dice, k, d), numbers(dice, k, d * (d - 1) // 2)]
    names = ["alpha", "mu", "q", "l"]
    given = {"d": d, "k": k, "n": n, "x": x, "m": m, "gamma": gamma, **dict(zip(names, v))}
    size = f"n = {n}, d = {d}, k = {k}"

    def f(v):
        return ref.gmm(*v, x, gamma, m)

    yield Case("gmm", "objective", size, given, equals(f(v)))
    if large:
        whole = slopes(f, v, lambda v: [v[0], v[1], v[2], v[3]])
        yield Case("gmm", "jacobian", size, given, lambda found: whole([found[name] for name in names]))
    else:
        yield Case("gmm", "jacobian", size, given, equals(dict(zip(names, ref.gradient(f, v)))))


def ba(n, m, p, rotated=True):
    dice = random.Random(n)
    cam, x, w, feat = numbers(dice, 11), numbers(dice, 3), 0.5 + dice.random(), numbers(dice, 2)
    x[2] += 4.0
    if not rotated:
        cam[0:3] = [0.0, 0.0, 0.0]
    given = {"n": n, "m": m, "p": p, "cam": cam, "x": x, "w": w, "feat": feat}
    size = f"n = {n}, m = {m}, p = {p}"
    error = {"elements": ref.ba_error(cam, x, w, feat), "repeated": p}
    weight = {"element": 1 - w * w, "repeated": p}
    yield Case("ba", "objective", size, given, equals({"reproj_error": error, "w_err": weight}))
    ends = [v[:30] + [v[-1]] for v in ref.ba_rows(**given)]
    yield Case("ba", "jacobian", size, given, equals(dict(zip(["rows", "cols", "vals"], ends))))


def ht(vertices, count, complicated, mirrored=False, turned=True):
    dice = random.Random(vertices + count)
    theta = numbers(dice, 26)
    if not turned:
        theta[0:3] = [0.0, 0.0, 0.0]
    affine = [[numbers(dice, 3, 4) + [[0.0, 0.0, 0.0, 1.0]] for _ in range(22)] for _ in range(2)]
    triangles = [[dice.randrange(vertices) for _ in range(3)] for _ in range(2 * vertices)]
    model = {
        "bone_count": 22,
        "bone_names": [f"bone {i}" for i in range(22)],
        "parents": [-1 if i < 2 else (1 if i % 4 == 2 else i - 1) for i in range(22)],
        "base_relatives": affine[0],
        "inverse_base_absolutes": affine[1],
        "base_positions": [numbers(dice, 3) + [1.0] for _ in range(vertices)],
        "weights": numbers(dice, vertices, 22),
        "triangles": triangles,
        "is_mirrored": mirrored,
    }
    places = len(triangles) if complicated else vertices
    chosen = [dice.randrange(places) for _ in range(count)]
    data = {"model": model, "correspondences": chosen, "points": numbers(dice, count, 3)}
    us = numbers(dice, count, 2) if complicated else []
    given = {"theta": theta, "data": data, "us": us}
    size = f"{vertices} vertices, {count} points, {'complicated' if complicated else 'simple'}"
    yield Case("ht", "objective", size, given, equals(ref.ht(theta, us, data)))
    yield Case("ht", "jacobian", size, given, equals(ref.ht_jacobian(theta, us, data)))


def kmeans(n, d, k):
    points = numbers(random.Random(n + d + k), n, d)
    # As evals begin: no centroid is without a point.
    centroids = [[a + 0.01 for a in p] for p in points[:k]]
    given, size = {"points": points, "centroids": centroids}, f"n = {n}, d = {d}, k = {k}"
    yield Case("kmeans", "cost", size, given, equals(ref.kmeans(points, centroids)))
    yield Case("kmeans", "dir", size, given, equals(ref.kmeans_step(points, centroids)))


def lstm(layers, b, c, large=False):
    dice = random.Random(layers + b + c)
    main, extra, state = numbers(dice, 2 * layers, 4 * b), numbers(dice, 3, b), numbers(dice, 2 * layers, b)
    sequence = [[float(j == dice.randrange(b)) for j in range(b)] for _ in range(c)]
    given = {"main_params": main, "extra_params": extra, "state": state, "sequence": sequence}
    size = f"{layers} layers of {b}, {c} characters"

    def f(v):
        return ref.lstm(v[0], v[1], state, sequence)

    judge = slopes(f, [main, extra], ref.flat) if large else None
    yield Case("lstm", "objective", size, given, equals(f([main, extra])))
    yield Case("lstm", "jacobian", size, given, judge or equals(ref.flat(ref.gradient(f, [main, extra]))))


def ode(n, s, large=False):
    x = [1.0 + a / 2 for a in numbers(random.Random(n), n)]
    given, size = {"x": x, "s": s}, f"n = {n}, s = {s}"
    # After s steps only the first 4 s components are not zero.
    judge = equals([0.0] * n) if large and n > 4 * s else None

    def last(v):
        return ref.ode(v, s)[-1]

    yield Case("ode", "primal", size, given, equals(ref.ode(x, s)))
    if large and judge is None:
        judge = slopes(last, x)
    yield Case("ode", "gradient", size, given, judge or equals(ref.gradient(last, x)))


def det(ell):
    a = numbers(random.Random(ell), ell * ell)
    given, size = {"A": a, "ell": ell}, f"l = {ell}"
    yield Case("det", "primal", size, given, equals(ref.det(a, ell)))
    yield Case("det", "gradient", size, given, equals(ref.gradient(lambda v: ref.det(v, ell), a)))


MODES = ["ff", "fr", "rf", "rr"]


def particle(w):
    expected = ref.particle(w)
    yield from (Case("particle", mode, f"w = {w}", {"w": w}, equals(expected)) for mode in MODES)


def saddle(start):
    expected = ref.saddle([float(a) for a in start])
    yield from (Case("saddle", mode, f"start = {start}", {"start": start}, equals(expected)) for mode in MODES)


def small():
    yield from hello()
    for n in (1, 2, 5, 17):
        yield from lse(n)
    yield from lse(3, 800.0)
    for n, m in ((2, 1), (3, 4), (6, 3), (5, 0)):
        yield from llsq(n, m)
    for n, d, k in ((1, 1, 1), (1, 3, 2), (4, 1, 3), (5, 2, 1), (0, 2, 2), (7, 4, 3)):
        yield from gmm(n, d, k)
    for n, m, p in ((1, 1, 1), (2, 3, 5), (3, 2, 13)):
        yield from ba(n, m, p)
    yield from ba(2, 2, 3, rotated=False)
    for complicated in (False, True):
        yield from ht(5, 4, complicated)
        yield from ht(3, 1, complicated, mirrored=True)
        yield from ht(1, 2, complicated, turned=False)
    yield from ht(2, 0, False)
    for n, d, k in ((1, 1, 1), (6, 2, 2), (9, 1, 3), (5, 3, 5)):
        yield from kmeans(n, d, k)
    for layers, b, c in ((1, 1, 2), (2, 3, 4), (3, 2, 7)):
        yield from lstm(layers, b, c)
    for n, s in ((1, 1), (2, 1), (3, 2), (4, 5), (6, 3)):
        yield from ode(n, s)
    for ell in (1, 2, 3, 5):
        yield from det(ell)
    for w in (0.0, 0, 0.5):
        yield from particle(w)
    yield from saddle([1, 1])
    yield from saddle([0.5, -2.0])


# The sizes of the page of results: of each eval, what makes its cases, which takes the formulas a while.
MEASURED = {
    "lse": [lambda: lse(10_000)],
    "llsq": [lambda: llsq(1024, 128, large=True)],
    "gmm": [lambda: gmm(1000, 10, 25, large=True), lambda: gmm(1000, 20, 50, large=True)],
    "ba": [lambda: ba(49, 7776, 31843)],
    "ht": [lambda: ht(544, 100, False), lambda: ht(10_000, 100, True)],
    "kmeans": [lambda: kmeans(1000, 8, 10), lambda: kmeans(1000, 8, 100)],
    "lstm": [lambda: lstm(2, 14, 1024, large=True), lambda: lstm(4, 14, 1024, large=True)],
    "ode": [lambda: ode(1000, 10, large=True), lambda: ode(1000, 100, large=True)],
    "det": [lambda: det(6), lambda: det(8)],
    "particle": [lambda: particle(0.0)],
    "saddle": [lambda: saddle([1, 1])],
}


def measured(evals):
    """The cases of these evals, made one by one."""
    yield from (case for name in evals for made in MEASURED[name] for case in made())
