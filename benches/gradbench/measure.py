#!/usr/bin/env python3
"""Measures `lmc gradbench` at the sizes of `cases.measured`, and checks what it gives there.

    measure.py LMC [--bless] [EVAL ...]

Prints a table; with --bless, puts it into docs/gradbench.md in the place of the one there, with the load of the
machine, which says how much the times are worth. They are the shortest of at least five runs in at least half a second,
as the tool reports them; two threads are those of --multithreaded on two processors.
"""

import os
import re
import sys
from pathlib import Path

import cases
from tool import Tool

PAGE = Path(__file__).parents[2] / "docs" / "gradbench.md"
HEAD = """\
| eval | size | primal | derivative | ratio | primal, 2 threads | derivative, 2 threads | error |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
LOAD = "The load of the machine, "
# The functions that are no derivatives.
PRIMALS = {"square", "primal", "objective", "cost"}


def shown(nanoseconds):
    if nanoseconds is None:
        return "-"
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= unit:
            return f"{nanoseconds / unit:.3g} {name}"
    return f"{nanoseconds:.0f} ns"


def measured(tool, case):
    """The shortest time in nanoseconds, and the relative error."""
    given = {**case.input, "min_runs": 5, "min_seconds": 0.5}
    answer = tool.ask("evaluate", module=case.module, function=case.function, input=given)
    if not answer["success"]:
        raise RuntimeError(f"{case.module} {case.function}, {case.size}: {answer['error']}")
    error = case.judge(answer["output"])
    return min(t["nanoseconds"] for t in answer["timings"] if t["name"] == "evaluate"), error


def times(command, processors, wanted):
    """For each function and size, time and error."""
    found = {}
    with Tool(command, processors) as tool:
        for case in wanted:
            if not any(key[0] == case.module for key in found):
                tool.ask("define", module=case.module)
            found[case.module, case.size, case.function] = measured(tool, case)
    return found


def row(single, double, module, size, primal, derivative):
    def time(found, function):
        return found[module, size, function][0] if function else None

    errors = [found[module, size, f][1] for found in (single, double) for f in (primal, derivative) if f]
    one, two = ([time(found, function) for function in (primal, derivative)] for found in (single, double))
    ratio = f"{one[1] / one[0]:.1f}" if primal else "-"
    name = module if primal else f"{module} {derivative}"
    cells = [f"`{name}`", size, *map(shown, one), ratio, *map(shown, two), f"{max(errors):.0e}"]
    return f"| {' | '.join(cells)} |\n"


def table(single, double):
    rows = []
    for module, size, function in single:
        if function not in PRIMALS:
            before = [f for m, s, f in single if (m, s) == (module, size) and f in PRIMALS]
            rows.append(row(single, double, module, size, before[0] if before else None, function))
    return HEAD + "".join(rows)


def load():
    """How many processes wanted to run, on average over fifteen minutes, ours included."""
    return f"{LOAD}with {os.cpu_count()} processors, was {os.getloadavg()[2]:.0f}.\n"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--bless"]
    if not arguments:
        sys.exit(__doc__)
    lmc, chosen = arguments[0], arguments[1:]
    wanted = [case for case in cases.measured() if not chosen or case.module in chosen]
    processors = sorted(os.sched_getaffinity(0))
    single = times([lmc, "gradbench"], processors, wanted)
    double = times([lmc, "gradbench", "--multithreaded"], processors[:2], wanted)
    made = table(single, double) + "\n" + load()
    if "--bless" in sys.argv:
        old = re.escape(HEAD) + r"(\|.*\n)*\n" + re.escape(LOAD) + r".*\n"
        page, count = re.subn(old, lambda _: made, PAGE.read_text())
        assert count == 1, "the page has one table"
        PAGE.write_text(page)
    print(made, end="")


if __name__ == "__main__":
    main()
