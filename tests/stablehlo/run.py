"""Runs functions of StableHLO text by XLA, and prints their results as JSON, a line for each.

    run.py f.mlir --inputs f.json                 the function `main`
    run.py all.mlir --function vjp_f --inputs f.json
    run.py f.mlir --devices 4 --inputs f.json     on 4 simulated devices, as `--mesh` and `--shard` say
    run.py a.mlir b.mlir --inputs a.json b.json   several
    run.py f.mlir --platform cuda --inputs f.json on a GPU

The inputs are a list, an item for each argument: a number, or nested lists. A result is
{"status": .., "results": [..]}, and with several devices "collectives": how often they send each other data.
Needs numpy and jax.
"""

import argparse
import json
import os
import re
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--function", default="main")
    parser.add_argument("--inputs", nargs="+", required=True, metavar="JSON")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--platform", default="cpu", help="cpu, cuda, tpu, ..")
    return parser.parse_args()


OPTIONS = arguments()
FLAG = f"--xla_force_host_platform_device_count={OPTIONS.devices}"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}"
os.environ.setdefault("JAX_PLATFORMS", OPTIONS.platform)

import jax  # noqa: E402 (the flags come first)
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)

from jax.interpreters import mlir  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402
from jaxlib import xla_client as xc  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

TYPES = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i1": np.bool_}
COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter")


def chosen(text, name):
    """The module with one function, which is called `main`, and that function's arguments as the text has them."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        found = False
        for op in list(module.body.operations):
            if op.operation.name != "func.func":
                continue
            if op.attributes["sym_name"].value == name:
                op.attributes["sym_name"] = ir.StringAttr.get("main")
                kept, found = op, True
            else:
                op.operation.erase()
        if not found:
            sys.exit(f"there is no function `{name}`")
        attributes = [str(attribute) for attribute in kept.attributes["arg_attrs"]] if "arg_attrs" in kept.attributes else []
        types = [ir.RankedTensorType(argument.type) for argument in kept.arguments]
        shapes = [(list(ty.shape), TYPES[str(ty.element_type)]) for ty in types]
        attributes += [""] * (len(shapes) - len(attributes))
        return str(module), list(zip(shapes, attributes))


def mesh_of(text, devices):
    """The mesh that the text declares."""
    found = re.search(r"sdy\.mesh @mesh = <\[(.*?)\]>", text)
    axes = re.findall(r'"(\w+)"=(\d+)', found.group(1)) if found else [("all", str(len(devices)))]
    sizes = [int(size) for _, size in axes]
    return Mesh(np.array(devices).reshape(sizes), tuple(name for name, _ in axes))


def spec_of(attribute):
    """How an argument lies on the mesh."""
    found = re.search(r"#sdy\.sharding<@mesh, \[(.*?)\]>", attribute)
    dims = re.findall(r"\{(.*?)\}", found.group(1)) if found else []
    return PartitionSpec(*[dim.strip('"') or None for dim in dims])


def compiled(client, text, devices):
    options = xc.CompileOptions()
    if len(devices) > 1:
        options.num_replicas, options.num_partitions = 1, len(devices)
        build = options.executable_build_options
        build.num_replicas, build.num_partitions = 1, len(devices)
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
        build.device_assignment = xc.DeviceAssignment.create(np.arange(len(devices)).reshape(1, len(devices)))
    return client.compile_and_load(text, devices, options)


def whole(parts, sharding):
    """A result of which each device has a part."""
    parts = [np.asarray(part) for part in parts]
    sharding = xc.HloSharding.from_proto(sharding) if sharding is not None else None
    if sharding is None or sharding.is_replicated():
        return parts[0]
    tiles = list(sharding.tile_assignment_dimensions())
    rank = parts[0].ndim
    places = np.array(sharding.tile_assignment_devices()).reshape(tiles).reshape(tiles[:rank] + [-1])[..., 0]
    size = parts[0].shape
    result = np.zeros([n * k for n, k in zip(size, tiles)], dtype=parts[0].dtype)
    for index in np.ndindex(*tiles[:rank]):
        part = tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, size))
        result[part] = parts[places[index]]
    return result


def listed(array):
    """Nested lists. JSON has no NaN and no infinity, so these are strings."""
    if isinstance(array, list):
        return [listed(part) for part in array]
    if isinstance(array, float) and not np.isfinite(array):
        return str(array)
    return array


def run(client, devices, text, inputs):
    text, arguments = chosen(text, OPTIONS.function)
    executable = compiled(client, text, devices)
    mesh = mesh_of(text, devices)
    if len(inputs) != len(arguments):
        sys.exit(f"{len(arguments)} inputs are needed, not {len(inputs)}")
    arrays = []
    for value, ((shape, dtype), attribute) in zip(inputs, arguments):
        array = np.array(value, dtype=dtype).reshape(shape)
        place = NamedSharding(mesh, spec_of(attribute)) if len(devices) > 1 else devices[0]
        arrays.append(jax.device_put(array, place))
    parts = executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
    shardings = executable.get_output_shardings() if len(devices) > 1 else None
    results = [whole(parts[k], shardings[k] if shardings else None) for k in range(len(parts))]
    answer = {"status": int(results[0]), "results": [listed(result.tolist()) for result in results[1:]]}
    if len(devices) > 1:
        hlo = executable.hlo_modules()[0].to_string()
        counts = {name: len(re.findall(rf"= [^=]*? {name}(?:-start)?\(", hlo)) for name in COLLECTIVES}
        answer["collectives"] = {name: count for name, count in counts.items() if count}
    return answer


def main():
    if len(OPTIONS.files) != len(OPTIONS.inputs):
        sys.exit("each file needs its inputs")
    devices = jax.devices(OPTIONS.platform)[: OPTIONS.devices]
    client = devices[0].client
    for file, inputs in zip(OPTIONS.files, OPTIONS.inputs):
        with open(file, encoding="utf-8") as text, open(inputs, encoding="utf-8") as data:
            answer = run(client, devices, text.read(), json.load(data))
        print(json.dumps(answer), flush=True)


main()
