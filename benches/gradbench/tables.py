"""The tables of docs/gradbench.md."""

import os
import platform
import re
from typing import NamedTuple

START, END = "<!-- computed: tables -->\n", "<!-- end: tables -->\n"
# The functions that are no derivatives.
VALUES = {"square", "primal", "objective", "cost"}
# What takes at most half the time of the others is a target for these.
HALF = ["gmm", "lse", "llsq", "kmeans"]
# So many evals of eleven are to be as fast as the fastest of the others; none is to take more than twice as long.
WANTED, ALL, LIMIT = 9, 11, 2.0


class Measured(NamedTuple):
    module: str
    function: str
    size: str
    # Nanoseconds of each column.
    times: dict
    error: float

    def others(self):
        """The times of those that are not lmc."""
        return {column: time for column, time in self.times.items() if not column.startswith("lmc")}

    def ratio(self):
        """To the fastest of the others, and which that is; None where there is none, or no lmc."""
        others = self.others()
        if not others or "lmc" not in self.times:
            return None
        best = min(others, key=others.get)
        return self.times["lmc"] / others[best], best

    def name(self):
        modes = len(self.function) == 2 and set(self.function) <= set("fr")
        return f"`{self.module} {self.function}`" if modes else f"`{self.module}`"


def shown(nanoseconds):
    if nanoseconds is None:
        return "-"
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= unit:
            # Three digits, and no exponent.
            return f"{float(f'{nanoseconds / unit:.3g}'):g} {name}"
    return f"{nanoseconds:.0f} ns"


def quotient(a, b):
    return f"{a / b:.2f}" if a and b else "-"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def derivatives(results, columns):
    others = [column for column in columns if not column.startswith("lmc")]
    head = ["eval", "size", "lmc", *others, *(f"lmc / {column}" for column in others), "lmc, 2 threads", "error of lmc"]
    rows = []
    for one in results:
        if one.function not in VALUES:
            times = [one.times.get(column) for column in others]
            lmc = one.times.get("lmc")
            ratios = [quotient(lmc, time) for time in times]
            threads, error = shown(one.times.get("lmc, 2 threads")), f"{one.error:.0e}"
            rows.append([one.name(), one.size, shown(lmc), *map(shown, times), *ratios, threads, error])
    return table(head, rows)


def values(results, columns):
    """With the time of the derivative over that of the value."""
    others = [column for column in columns if not column.startswith("lmc")]
    slopes = {(one.module, one.size): one for one in results if one.function not in VALUES}
    head = ["eval", "size", "lmc", *others, "lmc, 2 threads"]
    head += [f"derivative / value, {column}" for column in ["lmc", *others]]
    rows = []
    for one in results:
        if one.function in VALUES:
            slope = slopes[one.module, one.size]
            shown_columns = ["lmc", *others]
            times = [shown(one.times.get(column)) for column in [*shown_columns, "lmc, 2 threads"]]
            ratios = [quotient(slope.times.get(column), one.times.get(column)) for column in shown_columns]
            rows.append([one.name(), one.size, *times, *ratios])
    return table(head, rows)


def worst(results):
    """Of each eval, the derivative whose ratio to the fastest of the others is largest."""
    found = {}
    for one in results:
        if one.function not in VALUES and one.ratio():
            if one.module not in found or one.ratio() > found[one.module].ratio():
                found[one.module] = one
    return found


def by_eval(found):
    head = ["eval", "largest lmc / fastest other", "at", "fastest other", "target", "missed by"]
    rows = []
    for module, one in found.items():
        ratio, best = one.ratio()
        target = 0.5 if module in HALF else 1.0
        missed = "met" if ratio <= target else f"{ratio / target:.2f}"
        at = one.size if one.name() == f"`{module}`" else one.function
        rows.append([f"`{module}`", f"{ratio:.2f}", at, best, f"{target:g}", missed])
    return table(head, rows)


def targets(found):
    """How many evals meet each, and the one that misses it most."""

    def row(text, limit, modules, wanted):
        there = [(found[module].ratio()[0], module) for module in modules if module in found]
        met = sum(ratio <= limit for ratio, _ in there)
        ratio, module = max(there, default=(0.0, ""))
        most = f"{ratio / limit:.2f}, `{module}`" if ratio > limit else "-"
        return [text, f"{met} of {len(there)}", "yes" if met >= wanted else "no", most]

    rows = [
        row(f"at most the fastest other, {WANTED} of {ALL} evals", 1.0, list(found), WANTED),
        row(f"never more than {LIMIT:g} of the fastest other", LIMIT, list(found), len(found)),
        row(f"at most 0.5 of the fastest other: {', '.join(f'`{m}`' for m in HALF)}", 0.5, HALF, len(HALF)),
    ]
    return table(["target, for derivatives, one thread", "evals", "met", "missed most, by"], rows)


def load():
    """How many processes wanted to run, on average over fifteen minutes, ours included."""
    with open("/proc/cpuinfo") as info:
        name = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return f"{name}, {os.cpu_count()} processors; the load of the machine was {os.getloadavg()[2]:.0f}.\n"


def page(results, columns):
    parts = [load(), "### Derivatives\n", derivatives(results, columns), "### Values\n", values(results, columns)]
    found = worst(results)
    if found:
        parts += ["### Targets\n", by_eval(found), targets(found)]
    return "\n".join(parts)


def replaced(text, made):
    """The page with these tables in the place of those there."""
    old = re.escape(START) + r".*" + re.escape(END)
    text, count = re.subn(old, lambda _: f"{START}\n{made}\n{END}", text, flags=re.DOTALL)
    assert count == 1, "the page has one place for tables"
    return text
