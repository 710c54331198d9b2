"""The other side of the protocol: what tools in Python have in common."""

import gc
import json
import os
import sys
import time

# How many a tool may have: one, unless it is asked for all.
THREADS = os.cpu_count() if "--multithreaded" in sys.argv[1:] else 1


def timed(run, min_runs, min_seconds):
    """Calls so often and so long at least: the last result, and the times in nanoseconds, without the garbage
    collector's."""
    times = []
    gc.collect()
    gc.disable()
    while len(times) < min_runs or sum(times) < min_seconds * 1e9:
        start = time.perf_counter_ns()
        result = run()
        times.append(time.perf_counter_ns() - start)
    gc.enable()
    return result, times


def evaluated(function, given):
    """The output, and the timings. The first call, which may compile, and in which memory is touched first, is none of
    the runs."""
    run, shown = function(given)
    start = time.perf_counter_ns()
    run()
    first = time.perf_counter_ns() - start
    named = given if isinstance(given, dict) else {}
    result, times = timed(run, named.get("min_runs", 1), named.get("min_seconds", 1))
    timings = [{"name": "evaluate", "nanoseconds": t} for t in times]
    return {"output": shown(result), "timings": [{"name": "prepare", "nanoseconds": first}, *timings]}


def serve(tool, define):
    """Answers messages until the input ends.

    `define(module)` gives the functions of an eval by their names, or None where it has none. A function takes an
    input; it gives a function without parameters, whose result is there when it returns, and one that makes of such a
    result what is sent.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    modules = {}

    def answer(message):
        kind = message["kind"]
        if kind == "start":
            config = {"config": message["config"]} if "config" in message else {}
            return {"tool": tool, **config}
        if kind == "define":
            functions = define(message["module"])
            if functions is None:
                return {"success": False, "error": f"no module `{message['module']}`"}
            modules[message["module"]] = functions
            return {"success": True}
        if kind == "evaluate":
            function = modules[message["module"]][message["function"]]
            return {"success": True, **evaluated(function, message["input"])}
        return {}

    for line in sys.stdin:
        known = {"id": None}
        try:
            message = json.loads(line)
            known = {"id": message.get("id")}
            text = json.dumps({**known, **answer(message)}, allow_nan=False)
        except Exception as error:  # whatever it is, the eval hears of it and goes on
            text = json.dumps({**known, "success": False, "error": f"{type(error).__name__}: {error}"})
        print(text, file=answers, flush=True)
