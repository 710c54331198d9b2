"""What the driver and the contenders in Python say to each other: lines, their words separated by tabs.

    <- a line with versions, when all is imported
    open PROGRAM TASK FOLDER    <- a key, or `none` where that is not there
    result KEY FILE             <- `ok`; the numbers of the result are in the file
    time KEY CALLS              <- nanoseconds
    processor time KEY CALLS    <- the same, of processor time

An answer that starts with `error` says what went wrong.
"""

import gc
import os
import sys
import time

import numpy as np


def arguments(folder):
    """The arguments, one by one, and the cotangent or None. Integers that are no arrays are Python's."""
    loaded = []
    while os.path.exists(path := os.path.join(folder, f"{len(loaded)}.npy")):
        array = np.load(path)
        loaded.append(int(array) if array.shape == () and array.dtype == np.int64 else array)
    path = os.path.join(folder, "cotangent.npy")
    return loaded, np.load(path) if os.path.exists(path) else None


CLOCKS = {"time": time.perf_counter_ns, "processor time": time.process_time_ns}


def measured(run, calls, clock):
    """The time of that many calls, in nanoseconds, without the garbage collector's."""
    gc.collect()
    gc.disable()
    start = clock()
    for _ in range(calls):
        run()
    total = clock() - start
    gc.enable()
    return total


def serve(versions, prepare):
    """Answers until the input ends.

    `prepare(program, task, arguments, cotangent)` gives a function without parameters, which gives a list of arrays
    that are computed when it returns; None where there is no such program or task.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    runs = []

    def answer(command, *words):
        if command == "open":
            program, task, folder = words
            run = prepare(program, task, *arguments(folder))
            if run is None:
                return "none"
            runs.append(run)
            return str(len(runs) - 1)
        run = runs[int(words[0])]
        if command == "result":
            parts = [np.asarray(part, dtype=np.float64).ravel() for part in run()]
            np.concatenate(parts).tofile(words[1])
            return "ok"
        return str(measured(run, int(words[1]), CLOCKS[command]))

    print(versions, file=answers, flush=True)
    for line in sys.stdin:
        try:
            said = answer(*line.rstrip("\n").split("\t"))
        except Exception as error:  # whatever it is, the driver tells it and goes on
            said = "error " + f"{type(error).__name__}: {error}".replace("\n", " ")
        print(said, file=answers, flush=True)
