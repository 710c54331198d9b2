#!/usr/bin/env python3
"""A tool of GradBench that calls functions in C++, written by hand from the mathematics, with their derivatives.

    with_cc.py [OPTION ...]

Options go to the compiler, g++ -O3 -march=native; one thread. What is not in `cc/` here is that of
`benches/compare/cc/`. There are no versions of ht, particle and saddle.
"""

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

from server import serve

HERE = Path(__file__).parent
OPTIONS = [option for option in sys.argv[1:] if option != "--multithreaded"]


class Input(ctypes.Structure):
    """`struct Input` of `benches/compare/cc/input.h`."""

    _fields_ = [
        ("floats", ctypes.POINTER(ctypes.c_double)),
        ("integers", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int64),
        ("size", ctypes.c_int64 * 4),
    ]


def flat(tree):
    return [x for part in tree for x in flat(part)] if isinstance(tree, list) else [tree]


def rows(numbers, count):
    """A list, as that many rows."""
    width = len(numbers) // count if count else 0
    return [numbers[i * width : (i + 1) * width] for i in range(count)]


def size_of(tree):
    return [len(tree), *(size_of(tree[0]) if tree else [])] if isinstance(tree, list) else []


def array(tree, kind=ctypes.c_double, size=None):
    """An array of numbers in lists of lists, which are equally long; its size, where an empty list does not tell it."""
    size, numbers = size or size_of(tree), flat(tree)
    field = {ctypes.c_double: "floats", ctypes.c_int64: "integers"}[kind]
    return Input(**{field: (kind * len(numbers))(*numbers)}, rank=len(size), size=(ctypes.c_int64 * 4)(*size))


def integers(tree):
    return array(tree, ctypes.c_int64)


def library(name, folder):
    """Of `cc/`, or else of the other comparison."""
    known = [place / f"{name}.cc" for place in (HERE / "cc", HERE.parent / "compare" / "cc")]
    source, target = next(path for path in known if path.exists()), f"{folder}/{name}.so"
    command = ["g++", "-std=c++20", "-O3", "-march=native", "-shared", "-fPIC", *OPTIONS, source, "-o", target]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        raise RuntimeError(f"g++: {made.stderr}")
    return ctypes.CDLL(target)


def called(symbol, arguments, floats, shown, integers=None):
    """`floats(input)` and `integers(input)` are how many numbers the result has; `shown(numbers, input)` is what is
    sent, or, where there are integers, `shown(numbers, integers, input)`."""

    def function_of(loaded):
        function = getattr(loaded, symbol)

        def prepare(given):
            # ctypes keeps what a structure points to for as long as there is the structure.
            inputs = arguments(given)
            inputs = (Input * len(inputs))(*inputs)
            results = [(ctypes.c_double * floats(given))()]
            if integers:
                results.append((ctypes.c_int64 * integers(given))())
            run = lambda: function(inputs, *results)
            return run, lambda _: shown(*(list(result) for result in results), given)

        return prepare

    return function_of


def one(*_):
    return 1


def first(numbers, _):
    return numbers[0]


def gradient_of(name):
    """In the form of that field of the input, a list or rows."""

    def shown(v, g):
        return rows(v, len(g[name])) if len(size_of(g[name])) == 2 else v

    return {"floats": lambda g: len(flat(g[name])), "shown": shown}


def vector(g):
    return [array(g["x"])]


def with_integer(values, number):
    return lambda g: [array(g[values]), integers(g[number])]


def gmm(g):
    icf = [q + l for q, l in zip(g["q"], g["l"])]
    points = array(g["x"], size=[g["n"], g["d"]])
    return [array(g["alpha"]), array(g["mu"]), array(icf), points, array(g["gamma"]), integers(g["m"])]


def gmm_parameters(g):
    return sum(len(flat(g[name])) for name in ("alpha", "mu", "q", "l"))


def gmm_shown(v, g):
    k, d = g["k"], g["d"]
    icf = rows(v[k + k * d :], k)
    by_q, by_l = [row[:d] for row in icf], [row[d:] for row in icf]
    return {"alpha": v[:k], "mu": rows(v[k : k + k * d], k), "q": by_q, "l": by_l}


def ba(g):
    n, m, p = g["n"], g["m"], g["p"]
    observations = [[i % n, i % m] for i in range(p)]
    cameras, points, weights, features = [g["cam"]] * n, [g["x"]] * m, [g["w"]] * p, [g["feat"]] * p
    return [array(cameras), array(points), array(weights), integers(observations), array(features)]


def ba_shown(v, g):
    p = g["p"]
    error = {"elements": v[:2], "repeated": p}
    return {"reproj_error": error, "w_err": {"element": v[2 * p], "repeated": p}}


def ba_rows_shown(v, whole, g):
    starts, columns = whole[: 3 * g["p"] + 1], whole[3 * g["p"] + 1 :]
    return {name: part[:30] + part[-1:] for name, part in (("rows", starts), ("cols", columns), ("vals", v))}


def clusters(g):
    return [array(g["points"]), array(g["centroids"])]


def lstm(g):
    return [array(g[name]) for name in ("main_params", "extra_params", "state", "sequence")]


def lstm_parameters(g):
    return len(flat(g["main_params"])) + len(flat(g["extra_params"]))


def plain(numbers, _):
    return numbers


def value_and_gradient(name, arguments, by):
    return {
        "primal": called(f"{name}_value", arguments, one, first),
        "gradient": called(f"{name}_gradient", arguments, **gradient_of(by)),
    }


EVALS = {
    "lse": value_and_gradient("lse", vector, "x"),
    "llsq": value_and_gradient("llsq", with_integer("x", "n"), "x"),
    "gmm": {
        "objective": called("gmm_value", gmm, one, first),
        "jacobian": called("gmm_gradient", gmm, gmm_parameters, gmm_shown),
    },
    "ba": {
        "objective": called("ba_value", ba, lambda g: 3 * g["p"], ba_shown),
        "jacobian": called("ba_rows", ba, lambda g: 31 * g["p"], ba_rows_shown, lambda g: 34 * g["p"] + 1),
    },
    "kmeans": {
        "cost": called("kmeans_value", clusters, one, first),
        "dir": called("kmeans_dir", clusters, **gradient_of("centroids")),
    },
    "lstm": {
        "objective": called("lstm_value", lstm, one, first),
        "jacobian": called("lstm_gradient", lstm, lstm_parameters, plain),
    },
    "ode": {
        "primal": called("ode_value", with_integer("x", "s"), **gradient_of("x")),
        "gradient": called("ode_gradient", with_integer("x", "s"), **gradient_of("x")),
    },
    "det": value_and_gradient("det", with_integer("A", "ell"), "A"),
}


def main():
    with tempfile.TemporaryDirectory() as folder:

        def define(module):
            if module not in EVALS:
                return None
            loaded = library(module, folder)
            return {name: function_of(loaded) for name, function_of in EVALS[module].items()}

        serve("C++", define)


main()
