#!/usr/bin/env python3
"""export_tests.py [--folder FOLDER] [--only PART]: what hk.export writes, by ONNX's checker and ONNX Runtime, and read back.

Run it by a Python that has the packages onnx, numpy and hocket; onnxruntime, where it is there, runs each file, else ONNX's reference implementation
runs those of a few nodes. Each case is a function of arrays, written with sizes that are fixed and, where that can be, with a free batch. FOLDER: files of
the program tests/onnx/export_networks, the networks of examples/models: NAME.onnx with what goes in, NAME.in.npy, and what came out, NAME.out.npy.
Prints which cases differ and how; fails where one does.
"""
import argparse
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

import hocket as hk

try:
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)
except ImportError:
    onnxruntime = None

warnings.filterwarnings("ignore")
rng = np.random.default_rng(0)
F = hk.nn.functional
CASES = []


def f(*shape, low=-1.0, high=1.0):
    return (rng.random(shape) * (high - low) + low).astype(np.float32)


def case(name, function, *inputs, free=True):
    """free: also with a free batch, which is axis 0 of all inputs."""
    CASES.append((name, function, inputs, free))


# ---- element by element ---------------------------------------------------------------------------------------------------------------------------

for name in ("negative", "exp", "abs", "square", "sigmoid", "tanh", "relu", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "erf", "sign", "ceil", "floor", "trunc",
             "round", "expm1"):
    if hasattr(hk, name) or hasattr(F, name):
        case(name, getattr(hk, name, None) or getattr(F, name), f(2, 3, 4, low=-2, high=2))
for name in ("log", "sqrt", "reciprocal", "rsqrt", "log1p", "log2", "log10", "acosh"):
    if hasattr(hk, name):
        case(name, getattr(hk, name), f(2, 3, low=1, high=3))
for name in ("asin", "acos", "atanh"):
    case(name, getattr(hk, name), f(2, 3, low=-0.9, high=0.9))
for name in ("gelu", "gelu_tanh", "silu", "softplus", "mish", "hard_sigmoid", "hard_swish"):
    if hasattr(F, name):
        case(name, getattr(F, name), f(2, 5, low=-4, high=4))
for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot", "remainder", "floor_divide", "less", "less_equal", "greater", "greater_equal", "equal",
             "not_equal"):
    case(name, getattr(hk, name), f(2, 3, 4, low=0.5, high=2), f(2, 1, 4, low=0.5, high=2))
case("logaddexp", hk.logaddexp, f(2, 3, low=-4, high=4), f(2, 1, low=-4, high=4))
case("pow", hk.pow, f(2, 3, low=0.5, high=2), f(2, 3, low=-2, high=2))
case("numbers", lambda x: ((x + 2) * 3 - 1) / 4 + (x * x + 1) ** 0.5, f(2, 3))
case("leaky_relu", lambda x: F.leaky_relu(x, 0.1), f(2, 3))
case("elu", lambda x: F.elu(x, 0.5), f(2, 3))
case("clip", lambda x: hk.clip(x, -0.5, 0.25), f(2, 30))
case("where", lambda x, y: hk.where(x > 0, x, y), f(2, 3, 4), f(2, 3, 1))
case("where a number", lambda x: hk.where(x > 0, x, 0.5), f(2, 3, 4))
case("logical", lambda x, y: hk.logical_or(hk.logical_and(x > 0, y > 0), hk.logical_not(x > y)), f(2, 9), f(2, 9))
case("isfinite", lambda x: hk.isfinite(x) & ~hk.isnan(x), f(2, 9))
case("cast", lambda x: (x * 5).astype(hk.int32).astype(hk.float64), f(2, 9))
case("integers", lambda x: (x + 2) * x - x, np.arange(12, dtype=np.int64).reshape(2, 6))
case("mixed", lambda x, y: x + y, f(2, 3), f(2, 3).astype(np.float64))
case("broadcast both", lambda x, y: x[:, :, None] + y[:, None, :], f(2, 3), f(2, 4))
case("bitwise", lambda x, y: (x & y) | (x ^ 3), np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(6, dtype=np.int32).reshape(2, 3) + 2)

# ---- shapes ---------------------------------------------------------------------------------------------------------------------------------------

x = f(2, 3, 4, 6)
case("reshape", lambda x: x.reshape(x.shape[0], -1), x)
case("reshape together", lambda x: x.reshape(-1, 6) * 2, x)
case("reshape apart", lambda x: x.reshape(-1, 3, 2, 2, 3, 2), x)
case("transpose", lambda x: hk.permute_dims(x, (0, 2, 3, 1)), x)
case("transpose the batch", lambda x: hk.permute_dims(x, (2, 0, 3, 1)) + 1, x)
case("slice", lambda x: x[:, 1:, ::2, 2:5], x)
case("slice back", lambda x: x[:, ::-1, :, ::-2], x)
case("index", lambda x: x[:, -1, 0] * 2, x)
case("part of rows", lambda x: x[:, 0] + x[:, 1:3].sum(axis=1), x)
case("odd steps", lambda x: x[:, ::2] + 0, f(2, 5), free=False)
case("thirds", lambda x: (lambda q: q[:, :, 0] * q[:, :, 1] + q[:, :, 2])(x.reshape(x.shape[0], 5, 3, 4)), f(2, 5, 12))
case("heads", lambda x: hk.permute_dims(x.reshape(x.shape[0], 5, 3, 4), (0, 2, 1, 3)).reshape(x.shape[0], 3, 20), f(2, 5, 12))
case("concat", lambda x: hk.concat([x, x * 2, x[:, :1]], axis=1), x)
case("concat many", lambda x: hk.concat([x + i for i in range(12)], axis=-1), f(2, 3))
case("concat batches", lambda x: hk.concat([x, x], axis=0) * 2, f(2, 3))
case("stack", lambda x: hk.stack([x, x + 1], axis=1), x)
case("repeat", lambda x: hk.repeat(x, 3, axis=1), f(2, 3))
case("tile", lambda x: hk.tile(x, (1, 3)), f(2, 3))
case("roll", lambda x: hk.roll(x, 1, axis=1), f(2, 5))
case("flip", lambda x: hk.flip(x, axis=1) + 0, f(2, 5))
case("broadcast_to", lambda x: hk.broadcast_to(x[:, None], (x.shape[0], 4, 3)), f(2, 3))
case("diagonal", lambda x: hk.linalg.diagonal(x) * 1, f(2, 4, 4), free=False)
case("identity", lambda x: x, f(2, 3))
case("view of an input", lambda x: x[:, 1:], f(2, 3))
case("twice", lambda x: (x + 1, x * 2), f(2, 3))
case("one twice", lambda x: (lambda y: (y, y, x))(x + 1), f(2, 3))
case("constant", lambda x: x + hk.asarray(np.arange(3, dtype=np.float32)), f(2, 3))
case("zeros", lambda x: hk.concat([x, hk.zeros((x.shape[0], 2))], axis=1), f(2, 3))
case("arange", lambda x: x + hk.arange(3, dtype=hk.float32), f(2, 3))
case("write a part", lambda x: (lambda y: (y.__setitem__((slice(None), slice(1, 2)), x[:, :1]), y * 2)[1])(hk.zeros((2, 3))), f(2, 3), free=False)
if hasattr(hk, "pad"):
    case("pad", lambda x: hk.pad(x, ((0, 0), (1, 2))), f(2, 3))
case("tril", lambda x: hk.tril(x), f(2, 4, 4))
case("triu", lambda x: hk.triu(x, k=1), f(2, 4, 4))

# ---- along axes -----------------------------------------------------------------------------------------------------------------------------------

for name in ("sum", "mean", "max", "min", "prod"):
    case(name, lambda x, r=getattr(hk, name): r(x, axis=(1, 2)), x)
    case(name + " kept", lambda x, r=getattr(hk, name): r(x, axis=-1, keepdims=True), x)
case("sum of all", lambda x: hk.sum(x), x)
case("sum of integers", lambda x: hk.sum(x, axis=1), np.arange(6, dtype=np.int32).reshape(2, 3))
case("var", lambda x: hk.var(x, axis=1), x)
case("std", lambda x: hk.std(x, axis=(1, 2), correction=1), x)
case("var of one axis", lambda x: hk.var(x, axis=-1, correction=1), f(2, 3, 40))
if hasattr(hk, "logsumexp"):
    case("logsumexp", lambda x: hk.logsumexp(x, axis=-1), f(2, 3))
case("any", lambda x: hk.any(x > 0.9, axis=1), x)
case("all", lambda x: hk.all(x > -0.9, axis=1), x)
case("softmax", lambda x: F.softmax(x, axis=-1), x)
case("softmax of channels", lambda x: F.softmax(x, axis=1), x)
case("log_softmax", lambda x: F.log_softmax(x, axis=-1), x)
case("argmax", lambda x: hk.argmax(x, axis=1), x)
case("cumulative_sum", lambda x: hk.cumulative_sum(x, axis=1), x)
case("sort", lambda x: hk.sort(x, axis=1, descending=True), f(2, 7))
case("argsort", lambda x: hk.argsort(x, axis=1), f(2, 7))
if hasattr(hk, "topk"):
    case("topk", lambda x: tuple(hk.topk(x, 2)), f(2, 7))
case("take", lambda x: hk.take(x, hk.asarray([2, 0, -1]), axis=1), f(2, 3, 4))
case("take_along_axis", lambda x: hk.take_along_axis(x, hk.argmax(x, axis=1, keepdims=True), axis=1), f(2, 3))
case("embedding", hk.nn.Embedding(7, 5), np.array([[1, 2, 6], [0, 3, 3]], dtype=np.int32))

# ---- products and layers ----------------------------------------------------------------------------------------------------------------------------

weights = hk.asarray(f(6, 5))
case("matmul", lambda x: x @ weights, f(2, 6))
case("matmul turned", lambda x: x @ weights.T, f(2, 5))
case("matmul of three axes", lambda x: x @ weights, f(2, 4, 6))
case("matmul of two", lambda x, y: x @ hk.matrix_transpose(y), f(2, 4, 6), f(2, 3, 6))
case("einsum", lambda x, y: hk.einsum("bij,bkj->bik", x, y), f(2, 4, 6), f(2, 3, 6))
case("linear", hk.nn.Linear(5), f(2, 6))
case("linear of three axes", hk.nn.Linear(5), f(2, 4, 6))
case("conv2d", hk.nn.Conv2d(4, 3, stride=2, padding=1, dilation=1), f(2, 3, 9, 8))
case("conv2d of groups", lambda x: F.conv2d(x, hk.asarray(kernels), groups=2), f(2, 4, 7, 7))
kernels = f(6, 2, 3, 3)
case("conv1d", hk.nn.Conv1d(4, 3, padding=1), f(2, 3, 9))
case("conv2d_transpose", hk.nn.Conv2dTranspose(4, 3, stride=2, padding=1), f(2, 3, 5, 5))
case("conv3d", hk.nn.Conv3d(4, 3, stride=(1, 2, 1), padding=1), f(2, 3, 4, 7, 5))
case("conv3d_transpose", hk.nn.Conv3dTranspose(4, 3, stride=2, padding=1), f(2, 3, 3, 4, 3))
case("nanmedian", lambda x: hk.nanmedian(x, axis=1), f(3, 5))
case("ctc_loss", lambda x: F.ctc_loss(F.log_softmax(x, -1), hk.asarray([[1, 2], [2, 0]]), hk.asarray([5, 4]), hk.asarray([2, 1])), f(5, 2, 4), free=False)
for aligned in (False, True):
    case("roi_align", lambda x, rois, aligned=aligned: F.roi_align(x, rois, hk.asarray([0, 1, 1]), (2, 3), 0.5, 2, aligned), f(2, 3, 8, 8), f(3, 4, low=0, high=16), free=False)
case("max_pool2d", hk.nn.MaxPool2d(3, stride=2, padding=1), f(2, 3, 9, 8))
case("avg_pool2d", hk.nn.AvgPool2d(2), f(2, 3, 8, 8))
case("avg_pool2d padded", hk.nn.AvgPool2d(3, stride=2, padding=1), f(2, 3, 9, 8))
case("max_pool1d", hk.nn.MaxPool1d(2), f(2, 3, 8))
case("adaptive", hk.nn.AdaptiveAvgPool2d((2, 3)), f(2, 3, 7, 8))
case("global pools", lambda x: hk.nn.GlobalAvgPool()(x) + hk.nn.GlobalMaxPool()(x), f(2, 3, 7, 8))
case("batch_norm", hk.nn.Sequential(hk.nn.BatchNorm(), hk.nn.ReLU()), f(2, 3, 4, 4))
case("layer_norm", hk.nn.LayerNorm(), f(2, 5, 6))
case("rms_norm", hk.nn.RMSNorm(), f(2, 5, 6))
case("group_norm", hk.nn.GroupNorm(2), f(2, 4, 5, 5))
case("instance_norm", hk.nn.InstanceNorm(), f(2, 4, 5, 5))
case("dropout", hk.nn.Sequential(hk.nn.Linear(4), hk.nn.Dropout(0.5)), f(2, 5))
case("positions", hk.nn.SinusoidalPositions(), f(2, 5, 6))
case("attention", hk.nn.Attention(8, 2), f(2, 5, 8))
case("causal attention", hk.nn.Attention(8, 2, causal=True), f(2, 5, 8))
case("masked attention", lambda x: F.scaled_dot_product_attention(x, x, x, mask=hk.asarray(seen)), f(2, 3, 4))
seen = np.array([[True, False, True], [False, False, False], [True, True, True]])
case("added mask", lambda x, m: F.scaled_dot_product_attention(x, x, x, mask=m), f(2, 3, 4), f(2, 3, 3))
case("one query", lambda x, k: F.scaled_dot_product_attention(x, k, k), f(2, 1, 4), f(2, 6, 4))
for kind in ("RNN", "GRU", "LSTM"):
    case(kind, getattr(hk.nn, kind)(6), f(2, 5, 3))
    case(kind + " of two layers", lambda x, n=getattr(hk.nn, kind)(6, layers=2): n(x), f(2, 5, 3))
    case(kind + " with lengths", lambda x, t, n=getattr(hk.nn, kind)(6): n(x, None, t), f(2, 5, 3), np.array([3, 5], dtype=np.int32))
    case(kind + " and its state", lambda x, n=getattr(hk.nn, kind)(6, final_state=True): n(x), f(2, 5, 3))
    case(kind + " with all states", lambda x, n=getattr(hk.nn, kind)(6, whole_state=True): n(x), f(2, 5, 3))
    case(kind + " from a state", lambda x, h, n=getattr(hk.nn, kind)(6): n(x, h), f(2, 5, 3), f(2, 12 if kind == "LSTM" else 6))
    case(kind + " in both directions", getattr(hk.nn, kind)(6, bidirectional=True), f(2, 5, 3))


# ---- running ------------------------------------------------------------------------------------------------------------------------------------------


def runner(path):
    """A function of a list of arrays; None: nothing here runs the file."""
    if onnxruntime:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return lambda arrays: session.run(None, dict(zip((i.name for i in session.get_inputs()), arrays)))
    model = onnx.load(path)
    if len(model.graph.node) > 40:
        return None
    reference = ReferenceEvaluator(model)
    return lambda arrays: reference.run(None, dict(zip((i.name for i in model.graph.input), arrays)))


def compare(given, wanted, what):
    given = [np.asarray(y) for y in given]
    for i, (y, w) in enumerate(zip(given, wanted, strict=True)):
        if y.shape != w.shape or y.dtype != w.dtype:
            return f"{what}: result {i} is {y.dtype}{y.shape}, not {w.dtype}{w.shape}"
        if y.size and not np.allclose(y.astype(float), w.astype(float), rtol=1e-4, atol=1e-4 * max(1e-30, float(np.abs(w).max()))):
            return f"{what}: result {i} differs by {np.abs(y.astype(float) - w.astype(float)).max():.2e} of {np.abs(w).max():.2e}"
    return None


def check_file(path, inputs, wanted):
    onnx.checker.check_model(str(path), full_check=True)
    run = runner(path)
    problem = compare(run(inputs), wanted, "run by others") if run else None
    net = hk.Model(path)
    for _ in range(3):
        results = net(*(hk.asarray(x) for x in inputs))
        problem = problem or compare(results if isinstance(results, tuple) else (results,), wanted, "read back")
    return problem


def results_of(function, inputs):
    y = function(*(hk.asarray(x) for x in inputs))
    return [np.asarray(one) for one in (y if isinstance(y, (tuple, list)) else (y,))]


def check_case(folder, function, inputs, free):
    path = folder / "case.onnx"
    if isinstance(function, hk.nn.Module):
        function.build(*(hk.asarray(x) for x in inputs)).eval()
    hk.export(function, [hk.asarray(x) for x in inputs], path)
    problem = check_file(path, inputs, results_of(function, inputs))
    if problem or not free:
        return problem
    hk.export(function, [hk.asarray(x) for x in inputs], path, batch="batch")
    for size in (2, 1, 5):
        others = [np.resize(x, (size, *x.shape[1:])) for x in inputs]
        problem = problem or check_file(path, others, results_of(function, others))
        problem = problem and f"batch of {size}, {problem}"
    return problem


def run_cases(only=None):
    """(name, what is wrong or None) of each."""
    with tempfile.TemporaryDirectory() as folder:
        for name, function, inputs, free in CASES:
            if only and only not in name:
                continue
            try:
                yield name, check_case(pathlib.Path(folder), function, inputs, free)
            except Exception as error:  # noqa: BLE001
                yield name, f"{type(error).__name__}: {error}"


def run_folder(folder, only=None):
    for path in sorted(pathlib.Path(folder).glob("*.onnx")):
        if only and only not in path.stem:
            continue
        try:
            x, y = (np.load(path.with_suffix(end)) for end in (".in.npy", ".out.npy"))
            yield path.stem, check_file(path, [x], [y])
        except Exception as error:  # noqa: BLE001
            yield path.stem, f"{type(error).__name__}: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    results = list(run_folder(arguments.folder, arguments.only) if arguments.folder else run_cases(arguments.only))
    for name, problem in results:
        if problem:
            print(f"{name}: {problem}")
    failed = sum(problem is not None for _, problem in results)
    print(f"{len(results) - failed} of {len(results)} right, by {'ONNX Runtime' if onnxruntime else 'the reference implementation'}")
    return failed > 0 or not results


if __name__ == "__main__":
    sys.exit(main())
