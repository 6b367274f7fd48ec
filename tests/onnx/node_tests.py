#!/usr/bin/env python3
"""node_tests.py [--kind node|simple]... [--only PART] [--list] [--least SHARE]: ONNX's own tests, run by libhocket_onnx.so.

Run it by a Python that has the packages onnx and hocket. Each model is called three times: call by call, noted, replayed. Prints which tests
fail and why, those that are left out (strings, 4- and 8-bit floats, sequences that go in or out), and how many pass. Fails where less than SHARE of
those that are not left out pass.
"""
import argparse
import collections
import os
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import hocket as hk

warnings.filterwarnings("ignore")
LEFT_OUT = {
    TensorProto.STRING: "strings",
    **{getattr(TensorProto, name): "floats of 8 bits, or numbers of 4 or 2" for name in dir(TensorProto)
       if name.startswith(("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2"))},
}
RANDOM = ("Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial")


def types(model):
    """All element types that the model names."""
    found = set()

    def graph(g):
        for value in [*g.input, *g.output]:
            if not value.type.HasField("tensor_type"):
                found.add("sequences and optionals that go in or out")
            else:
                found.add(value.type.tensor_type.elem_type)
        for tensor in g.initializer:
            found.add(tensor.data_type)
        for node in g.node:
            for attribute in node.attribute:
                if attribute.name in ("to", "dtype", "output_dtype") and attribute.i:
                    found.add(attribute.i)
                if attribute.HasField("t"):
                    found.add(attribute.t.data_type)
                if attribute.strings and attribute.name in ("value_strings", "keys_strings", "values_strings", "classes_strings", "pool_strings", "cats_strings"):
                    found.add(TensorProto.STRING)
                if attribute.HasField("g"):
                    graph_inner(attribute.g)

    def graph_inner(g):  # what goes in and out of these may be sequences
        for node in g.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    graph_inner(attribute.g)

    graph(model.graph)
    return found


def reason_to_leave(model):
    for kind in types(model):
        if isinstance(kind, str):
            return kind
        if kind in LEFT_OUT:
            return LEFT_OUT[kind]
    return None


def array_of(value):
    if isinstance(value, TensorProto):
        value = numpy_helper.to_array(value)
    value = np.asarray(value)
    if value.dtype.name == "bfloat16":
        return hk.asarray(np.asarray(value, np.float32)).astype(hk.bfloat16)
    return hk.asarray(np.ascontiguousarray(value).reshape(value.shape))


def numpy_of(x):
    if x.dtype == hk.bfloat16:
        x = x.astype(hk.float32)
    return np.asarray(x)


def compare(got, wanted, case, is_random):
    wanted = numpy_helper.to_array(wanted) if isinstance(wanted, TensorProto) else np.asarray(wanted)
    is_half = wanted.dtype.name in ("bfloat16", "float16")
    if wanted.dtype.name == "bfloat16":
        wanted = wanted.astype(np.float32)
    got = numpy_of(got)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)} comes, not {wanted.dtype}{list(wanted.shape)}"
    if is_random:
        return None
    relative = max(case.rtol, 1e-2 if is_half and case.rtol <= 1e-3 else 0)
    with np.errstate(all="ignore"):
        good = np.isclose(got, wanted, rtol=relative, atol=max(case.atol, 1e-2 if is_half else 0), equal_nan=True) if got.dtype.kind in "fc" else got == wanted
    if np.all(good):
        return None
    at = tuple(int(i[0]) for i in np.nonzero(~np.asarray(good))) if got.ndim else ()
    return f"{np.count_nonzero(~np.asarray(good))} of {got.size} values differ; at {at} {got[at]!r} comes, not {wanted[at]!r}"


def data_of(case):
    if case.data_sets is not None:
        return case.data_sets
    sets = []
    for name in sorted(os.listdir(case.model_dir)):
        folder = os.path.join(case.model_dir, name)
        if not os.path.isdir(folder):
            continue
        one = []
        for what in ("input", "output"):
            files = sorted((f for f in os.listdir(folder) if f.startswith(what)), key=lambda f: int(f.split("_")[1].split(".")[0]))
            one.append([onnx.load_tensor(os.path.join(folder, f)) for f in files])
        sets.append(tuple(one))
    return sets


def drops(case, model):
    """Whether what is left out follows from NumPy's random numbers, which nothing asks for."""
    return "training" in case.name and "zero_ratio" not in case.name and any(node.op_type == "Dropout" for node in model.graph.node)


def run(case, model, path):
    try:
        runner = hk.Model(path)
        is_random = any(node.op_type in RANDOM for node in model.graph.node) or drops(case, model)
        for inputs, outputs in data_of(case):
            for time in range(3):
                results = runner(*(array_of(x) for x in inputs))
                results = results if isinstance(results, tuple) else (results,)
                for i, (got, wanted) in enumerate(zip(results, outputs)):
                    wrong = compare(got, wanted, case, is_random)
                    if wrong:
                        return f"output {i}{' when replayed' if time else ''}: {wrong}"
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0][:300]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append")
    parser.add_argument("--only", default="", help="tests whose names have this part")
    parser.add_argument("--list", action="store_true", help="say which tests pass, too")
    parser.add_argument("--every", type=int, default=1, help="only one of so many tests")
    parser.add_argument("--least", type=float, default=0, help="the share that must pass")
    args = parser.parse_args()
    from onnx.backend.test.loader import load_model_tests

    passed, failed, left = 0, collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for kind in args.kind or ["node"]:
            for number, case in enumerate(load_model_tests(kind=kind)):
                if args.only not in case.name or number % args.every:
                    continue
                path = os.path.join(folder, "model.onnx") if case.model is not None else os.path.join(case.model_dir, "model.onnx")
                if case.model is not None:
                    onnx.save(case.model, path)
                model = case.model if case.model is not None else onnx.load(path)
                why = reason_to_leave(model)
                if why:
                    left[why] += 1
                    continue
                wrong = run(case, model, path)
                if wrong:
                    failed[case.name] = wrong
                    print(f"{case.name}: {wrong}", flush=True)
                else:
                    passed += 1
                    if args.list:
                        print(f"{case.name}: passed")
    for why, count in left.items():
        print(f"left out: {count} with {why}")
    share = passed / max(1, passed + len(failed))
    print(f"{share:.1%}: {passed} passed, {len(failed)} failed, {sum(left.values())} skipped")
    return 0 if share >= args.least and passed else 1


if __name__ == "__main__":
    sys.exit(main())
