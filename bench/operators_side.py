"""One library's side of bench/operators: measures the cases that it is asked for, one after another, in one of these ways:
called; captured (hocket), or compiled or autotuned (PyTorch), and then called.

    operators_side.py LIBRARY THREADS        questions and answers are JSON objects, one a line
"""
import json
import sys
import time
import warnings

import numpy as np

from operators_cases import CASES

BATCH_SECONDS = 0.02  # of one batch of calls, about
BATCHES = 5


class Hocket:
    def __init__(self, threads):
        import hocket
        self.lib, self.version = hocket, hocket.__version__
        self.names, self.facts = {"hk": hocket, "lib": hocket}, {}

    def array(self, values):
        return self.lib.asarray(values)

    def captured(self, function, values):
        captured = self.lib.capture(function)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                self.wait(captured(*values))
        if not captured.graphs():
            raise LookupError(str(told[0].message) if told else "not captured")
        return captured

    @staticmethod
    def wait(result):
        for x in result if isinstance(result, (tuple, list)) else (result,):
            x.wait()


class Torch:
    def __init__(self, threads):
        import torch
        torch.set_num_threads(threads)
        self.mode = torch.inference_mode()
        self.mode.__enter__()  # until the process ends
        self.lib, self.version = torch, torch.__version__
        self.facts = {"has_mkl": torch.backends.mkl.is_available()}
        self.names = {"torch": torch, "lib": torch, "F": torch.nn.functional}

    def array(self, values):
        return self.lib.from_numpy(values)

    def autotuned(self, function, values):
        return self.compiled(function, values, "max-autotune-no-cudagraphs")

    def compiled(self, function, values, mode=None):
        compiled = self.lib.compile(function, dynamic=False, mode=mode)
        for _ in range(2):
            compiled(*values)
        return compiled

    @staticmethod
    def wait(result):
        pass


class NumPy:
    def __init__(self, threads):
        self.version = np.__version__
        self.names, self.facts = {"lib": np}, {}

    def array(self, values):
        return values

    @staticmethod
    def wait(result):
        pass


def values_of(spec, rng):
    """An input: a shape, or (shape, dtype, low, high)."""
    shape, dtype, low, high = spec if isinstance(spec[0], tuple) else (spec, "float32", -1, 1)
    values = rng.uniform(low, high, shape)
    return np.asarray(values if dtype.startswith("float") else np.floor(values), dtype)


def function_of(case, library, name, way):
    """The case as a function without arguments, made ready: values are there, what is to be compiled is."""
    expression = case.expressions.get(name)
    if expression is None:
        raise LookupError("no such call")
    rng = np.random.default_rng(0)
    names = dict(library.names)
    for input_name, spec in case.inputs.items():
        names[input_name] = library.array(values_of(spec, rng))
    for statement in case.before:
        exec(statement, names)
    if way == "called":
        code = eval(f"lambda: {expression}", names)
    else:  # of what it reads
        inputs = list(case.inputs) + [statement.split("=")[0].strip() for statement in case.before]
        values = [names[input_name] for input_name in inputs]
        made = getattr(library, way)(eval(f"lambda {', '.join(inputs)}: {expression}", names), values)
        code = lambda: made(*values)  # noqa: E731
    library.wait(code())
    return code


def least_seconds(code, wait):
    """The least time of one call, over some batches."""
    begun = time.perf_counter()
    wait(code())
    once = time.perf_counter() - begun
    count = max(1, min(20000, int(BATCH_SECONDS / max(once, 1e-7))))
    least = float("inf")
    for _ in range(BATCHES):
        begun = time.perf_counter()
        for _ in range(count):
            wait(code())
        least = min(least, (time.perf_counter() - begun) / count)
    return least


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    try:
        library = {"hocket": Hocket, "torch": Torch, "numpy": NumPy}[name](threads)
    except ImportError:
        library = None
    made = {}
    for line in sys.stdin:
        question = json.loads(line)
        if "hello" in question:
            answer = {"version": library.version, **library.facts} if library else {"version": None}
        else:
            index, way = question["case"], question["way"]
            try:
                begun = time.perf_counter()
                if (index, way) not in made:
                    for old in [key for key in made if key[0] != index]:
                        del made[old]
                    made[index, way] = function_of(CASES[index], library, name, way)
                prepared = time.perf_counter() - begun
                answer = {"seconds": least_seconds(made[index, way], library.wait), "prepared": prepared}
            except Exception as error:  # what a library cannot do is a line of the report
                answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
