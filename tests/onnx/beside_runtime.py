#!/usr/bin/env python3
"""beside_runtime.py [--only PART]: models of one node, run by libhocket_onnx.so and by ONNX Runtime.

Run it by a Python that has the packages onnx, onnxruntime and hocket. The cases are what ONNX's own node tests leave out: other ranks, older opsets, dtypes,
attributes, and operators of the domain com.microsoft. Each model is called three times by Hocket: call by call, noted, replayed. Where ONNX Runtime cannot
run a case, ONNX's reference implementation is asked. Prints which cases differ and how; fails where one does.
"""
import argparse
import os
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import hocket as hk

warnings.filterwarnings("ignore")
rng = np.random.default_rng(0)
CASES = []


def f(*shape, low=-1.0, high=1.0, dtype=np.float32):
    return (rng.random(shape) * (high - low) + low).astype(dtype)


def case(op, inputs, opset=22, outputs=1, domain="", constant=(), name=None, **attributes):
    """inputs: arrays, or None for one that is left out. constant: which of them are initialisers. outputs: how many, or which (a tuple of bools)."""
    CASES.append((name or op, op, inputs, opset, outputs, domain, constant, attributes))


# ---- convolution -------------------------------------------------------------------------------------------------------------------------------

for n in (1, 2, 3):
    space, kernel = (9, 8, 7)[:n], (3, 2, 3)[:n]
    for pad in ({}, {"pads": [1] * 2 * n}, {"pads": list(range(n)) + [2] * n}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}, {"auto_pad": "VALID"}):
        for stride, dilation, group in ((1, 1, 1), (2, 1, 2), (1, 2, 1), (2, 2, 4)):
            if "auto_pad" in pad and dilation > 1:
                continue
            more = {"strides": [stride] * n, "dilations": [dilation] * n, "group": group, **pad}
            case("Conv", [f(2, 4, *space), f(8, 4 // group, *kernel), f(8)], name=f"Conv {n}d", **more)
            more.pop("auto_pad", None)
            if dilation == 1 or stride == 1:
                case("ConvTranspose", [f(2, 4, *space), f(4, 6 // min(group, 2), *kernel), None], name=f"ConvTranspose {n}d", **{**more, "group": min(group, 2)})
    case("ConvTranspose", [f(1, 4, *space), f(4, 3, *kernel), f(3)], strides=[3] * n, output_padding=[2] * n, pads=[1] * 2 * n, name=f"ConvTranspose {n}d output_padding")
    case("ConvTranspose", [f(1, 4, *space), f(4, 3, *kernel), f(3)], strides=[2] * n, output_shape=[2 * s for s in space], name=f"ConvTranspose {n}d output_shape")
    case("ConvTranspose", [f(1, 4, *space), f(4, 3, *kernel)], strides=[2] * n, auto_pad="SAME_UPPER", name=f"ConvTranspose {n}d same")
case("Conv", [f(0, 4, 9, 9), f(8, 4, 3, 3)], name="Conv of no sample")
case("Conv", [f(2, 4, 9, 9, dtype=np.float64), f(8, 4, 3, 3, dtype=np.float64)], name="Conv float64")
case("Conv", [f(2, 4, 9, 9, dtype=np.float16), f(8, 4, 3, 3, dtype=np.float16), f(8, dtype=np.float16)], name="Conv float16")
case("Conv", [f(2, 4, 9, 9), f(8, 4, 3, 3)], opset=7, name="Conv opset 7")

# ---- pooling -----------------------------------------------------------------------------------------------------------------------------------

for n in (1, 2, 3):
    space, kernel = (11, 10, 9)[:n], (3, 2, 3)[:n]
    x = f(2, 3, *space)
    for pad in ({}, {"pads": [1] * 2 * n}, {"pads": [0] * n + [1] * n}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}):
        for stride, dilation, ceil in ((1, 1, 0), (2, 1, 0), (2, 1, 1), (3, 1, 1), (1, 2, 0), (2, 2, 1)):
            if "auto_pad" in pad and (dilation > 1 or ceil):
                continue
            common = {"kernel_shape": list(kernel), "strides": [stride] * n, **pad}
            case("MaxPool", [x], dilations=[dilation] * n, ceil_mode=ceil, outputs=2, name=f"MaxPool {n}d", **common)
            for count in (0, 1):
                case("AveragePool", [x], dilations=[dilation] * n, ceil_mode=ceil, count_include_pad=count, name=f"AveragePool {n}d", **common)
            if not ceil and dilation == 1:
                for p in (1, 2, 3):
                    case("LpPool", [x], opset=18, p=p, name=f"LpPool {n}d", **common)
    case("MaxPool", [x], kernel_shape=list(kernel), storage_order=1, outputs=2, name=f"MaxPool {n}d by columns")
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        case(op, [x], opset=13, name=f"{op} {n}d")
case("MaxPool", [rng.integers(-128, 128, (1, 2, 6, 6)).astype(np.int8)], kernel_shape=[3, 3], pads=[1, 1, 1, 1], name="MaxPool int8")
case("MaxPool", [f(1, 2, 6, 6, dtype=np.float64)], kernel_shape=[3, 3], opset=8, outputs=2, name="MaxPool opset 8")
case("AveragePool", [f(1, 2, 6, 6)], kernel_shape=[3, 3], opset=7, name="AveragePool opset 7")
case("MaxUnpool", [f(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]])], kernel_shape=[2, 2], strides=[2, 2])

# ---- norms -------------------------------------------------------------------------------------------------------------------------------------

for shape in ((4, 3), (2, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 4)):
    for opset in (7, 9, 14, 15):
        case("BatchNormalization", [f(*shape), f(3), f(3), f(3), f(3, low=.1)], opset=opset, epsilon=1e-3, name=f"BatchNormalization {opset}")
    if len(shape) > 2:
        case("InstanceNormalization", [f(*shape), f(3), f(3)])
        case("GroupNormalization", [f(*(shape[0], 6, *shape[2:])), f(6), f(6)], opset=21, num_groups=3)
    case("BatchNormalization", [f(*shape), f(3), f(3), f(3), f(3, low=.1)], opset=15, outputs=3, training_mode=1, momentum=.8, name="BatchNormalization training")
    case("LpNormalization", [f(*shape)], p=1, axis=1)
    for axis in range(-1, len(shape)):
        case("LayerNormalization", [f(*shape), f(*shape[axis:]), f(*shape[axis:])], opset=17, axis=axis, outputs=3)
        case("Softmax", [f(*shape, high=20)], opset=13, axis=axis)
        case("LogSoftmax", [f(*shape, high=20)], opset=13, axis=axis)
        if axis >= 0:
            case("Softmax", [f(*shape, high=20)], opset=11, axis=axis, name="Softmax 11")
            case("LogSoftmax", [f(*shape, high=20)], opset=7, axis=axis, name="LogSoftmax 7")
case("LayerNormalization", [f(2, 3, 4), f(4)], opset=17, name="LayerNormalization without shift")
case("LayerNormalization", [f(2, 3, 4, dtype=np.float16), f(4, dtype=np.float16), f(4, dtype=np.float16)], opset=17, name="LayerNormalization float16")
case("Softmax", [f(2, 0, 4)], opset=13, name="Softmax of nothing")
for size in (1, 2, 3, 4, 5):
    case("LRN", [f(5, 5, 4, 4)], opset=13, size=size, alpha=.5, beta=.6, bias=2.)
case("SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], domain="com.microsoft", outputs=(True, False, False, True))
case("SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], domain="com.microsoft", outputs=(True, False, False, True))
case("EmbedLayerNormalization", [rng.integers(0, 9, (2, 5)).astype(np.int32), rng.integers(0, 2, (2, 5)).astype(np.int32), f(9, 8), f(6, 8), f(2, 8), f(8), f(8),
                                 np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)], domain="com.microsoft", outputs=2)

# ---- products ----------------------------------------------------------------------------------------------------------------------------------

for a, b in (((4,), (4,)), ((4,), (4, 3)), ((2, 4), (4,)), ((5, 2, 4), (4, 3)), ((5, 1, 2, 4), (3, 4, 2)), ((2, 0), (0, 3))):
    case("MatMul", [f(*a), f(*b)])
case("MatMul", [rng.integers(0, 9, (3, 4)).astype(np.uint32), rng.integers(0, 9, (4, 2)).astype(np.uint32)], name="MatMul uint32")
case("MatMul", [rng.integers(-9, 9, (3, 4)), rng.integers(-9, 9, (4, 2))], name="MatMul int64")
for ta in (0, 1):
    for tb in (0, 1):
        for alpha, beta in ((1., 1.), (.5, .25), (2., 0.)):
            for c in (None, f(3), f(2, 1), f(1, 3), f(2, 3), f()):
                case("Gemm", [f(*((4, 2) if ta else (2, 4))), f(*((3, 4) if tb else (4, 3))), c], opset=13, transA=ta, transB=tb, alpha=alpha, beta=beta)
for ta in (0, 1):
    for batch in (0, 1):
        a = (4, 2, 5) if ta and batch else (5, 2, 4) if batch else (2, 4, 5) if ta else (2, 5, 4)
        case("FusedMatMul", [f(*a), f(2, 4, 3)], domain="com.microsoft", alpha=.5, transA=ta, transBatchA=batch)

# ---- images ------------------------------------------------------------------------------------------------------------------------------------

MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")
for place in MODES:  # align_corners: of sizes that are no whole numbers ONNX Runtime takes the whole one, ONNX's own tests the other
    for scales in ([1, 1, 2, 3], [1, 1, .6, .4], [1, 1, 1.7, .5])[:1 if place == "align_corners" else 3]:
        x, given = f(2, 3, 8, 9), [None, np.array(scales, np.float32)]
        for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            case("Resize", [x, *given], opset=19, mode="nearest", nearest_mode=rounding, coordinate_transformation_mode=place, constant=(2,), name=f"Resize nearest {place}")
        for mode in ("linear", "cubic"):
            for more in ({}, {"exclude_outside": 1} if mode == "cubic" else {}, {"antialias": 1}):
                if "antialias" in more and place == "align_corners":
                    continue
                case("Resize", [x, *given], opset=19, mode=mode, coordinate_transformation_mode=place, constant=(2,), name=f"Resize {mode} {place} {more}", **more)
case("Resize", [f(1, 2, 5, 6), None, None, np.array([7, 4])], opset=18, mode="linear", axes=[2, 3], constant=(3,), name="Resize axes")
case("Resize", [f(1, 2, 5, 6), None, None, np.array([1, 2, 7, 4])], opset=13, mode="linear", name="Resize sizes that are no constant")
case("Resize", [f(1, 2, 5, 6), np.array([1, 1, 2, 2], np.float32)], opset=10, mode="nearest", constant=(1,), name="Resize 10")
case("Resize", [f(1, 2, 5, 6), np.array([1, 1, 2, 2], np.float32)], opset=10, mode="linear", constant=(1,), name="Resize 10 linear")
case("Resize", [rng.integers(0, 255, (1, 2, 5, 6)).astype(np.uint8), None, np.array([1, 1, 2, 2], np.float32)], opset=13, mode="nearest", constant=(2,), name="Resize uint8")
case("Upsample", [f(1, 2, 3, 4), np.array([1, 1, 2, 3], np.float32)], opset=9, mode="nearest", constant=(1,))
case("Upsample", [f(1, 2, 3, 4)], opset=7, mode="linear", scales=[1., 1., 2., 3.])
for mode in ("linear", "nearest", "cubic"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (0, 1):
            case("GridSample", [f(2, 3, 5, 6), f(2, 4, 7, 2, low=-1.6, high=1.6)], opset=20, mode=mode, padding_mode=padding, align_corners=corners, name=f"GridSample {mode}")
            if mode != "cubic":
                case("GridSample", [f(2, 3, 4, 5, 6), f(2, 2, 3, 4, 3, low=-1.6, high=1.6)], opset=20, mode=mode, padding_mode=padding, align_corners=corners, name=f"GridSample 3d {mode}")
for mode in ("avg", "max"):
    for ratio in (0, 2):
        for place in ("half_pixel", "output_half_pixel"):
            case("RoiAlign", [f(2, 3, 16, 16), np.array([[1, 2, 9, 12], [0, 0, 20, 7], [5, 5, 5.5, 5.2]], np.float32), np.array([0, 1, 1])], opset=16, mode=mode, sampling_ratio=ratio,
                 coordinate_transformation_mode=place, output_height=3, output_width=4, spatial_scale=.75)
case("MaxRoiPool", [f(2, 3, 16, 16), np.array([[0, 1, 2, 9, 12], [1, 0, 0, 15, 7], [1, 5, 5, 5, 5]], np.float32)], opset=13, pooled_shape=[3, 4], spatial_scale=.75)
corner = f(2, 30, 2, low=0)
case("NonMaxSuppression", [np.concatenate([corner, corner + f(2, 30, 2, low=0)], 2), f(2, 3, 30, low=0), np.array([5]), np.array([.3], np.float32), np.array([.2], np.float32)], opset=11)
case("NonMaxSuppression", [f(2, 30, 4, low=.1), f(2, 3, 30, low=0), np.array([9]), np.array([.3], np.float32)], opset=11, center_point_box=1)
case("AffineGrid", [f(2, 2, 3), np.array([2, 3, 4, 5])], opset=20)
case("AffineGrid", [f(2, 3, 4), np.array([2, 3, 2, 4, 5])], opset=20, align_corners=1)
case("Col2Im", [f(2, 3 * 6, 12), np.array([5, 5]), np.array([2, 3])], opset=18)

# ---- recurrent layers --------------------------------------------------------------------------------------------------------------------------

for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    outputs = 3 if op == "LSTM" else 2
    for direction in ("forward", "reverse", "bidirectional"):
        d = 2 if direction == "bidirectional" else 1
        weights = [f(d, gates * 4, 3), f(d, gates * 4, 4)]
        bias, state = f(d, 2 * gates * 4), f(d, 2, 4)
        lengths = np.array([5, 3], np.int32)
        more = [state, f(d, 2, 4), f(d, 12)] if op == "LSTM" else [state]
        kinds = [{}, {"clip": .5}, {"activations": (["HardSigmoid", "Softsign", "Relu"] if op == "LSTM" else ["Sigmoid", "Softsign"] if op == "GRU" else ["LeakyRelu"]) * d}]
        kinds += [{"linear_before_reset": 1}] if op == "GRU" else [{"input_forget": 1}] if op == "LSTM" else []
        for kind in kinds:
            case(op, [f(5, 2, 3), *weights], opset=14, outputs=outputs, direction=direction, hidden_size=4, name=f"{op} {direction}", **kind)
            case(op, [f(5, 2, 3), *weights, bias, None, *more], opset=14, outputs=outputs, direction=direction, hidden_size=4, name=f"{op} {direction} with state", **kind)
            case(op, [f(5, 2, 3), *weights, bias, lengths, *more], opset=7, outputs=outputs, direction=direction, hidden_size=4, name=f"{op} {direction} with lengths", **kind)

# ---- signals -----------------------------------------------------------------------------------------------------------------------------------

for parts in (1, 2):
    for length in (None, np.array(7), np.array(16)):
        case("DFT", [f(2, 10, parts), length], opset=17, axis=1)
        case("DFT", [f(2, 10, 3, parts), length, np.array(1)], opset=20, constant=(2,))
        case("DFT", [f(2, 10, parts), length], opset=17, axis=1, inverse=1)
case("DFT", [f(2, 10, 1)], opset=17, axis=1, onesided=1)
case("STFT", [f(2, 32, 1), np.array(4), f(8), np.array(8)], opset=17)
case("STFT", [f(2, 32, 1), np.array(5), None, np.array(9)], opset=17, onesided=0)
for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    for periodic in (0, 1):
        case(op, [np.array(9)], opset=17, periodic=periodic, constant=(0,))
case("MelWeightMatrix", [np.array(6), np.array(64), np.array(8000), np.array(100, np.float32), np.array(3000, np.float32)], opset=17)

# ---- attention ---------------------------------------------------------------------------------------------------------------------------------

for mask in (None, np.array([3, 5], np.int32), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)):
    for one in (0, 1):
        case("Attention", [f(2, 5, 8), f(8, 24), f(24), mask], domain="com.microsoft", num_heads=2, unidirectional=one, name="com.microsoft:Attention")
case("Attention", [f(2, 5, 8), f(8, 24), f(24), None, f(2, 2, 2, 3, 4)], domain="com.microsoft", num_heads=2, unidirectional=1, outputs=2, name="com.microsoft:Attention with past")
for mask in (None, np.array([4, 7], np.int32), rng.integers(0, 2, (2, 7)).astype(np.int32)):
    case("MultiHeadAttention", [f(2, 5, 8), f(2, 7, 8), f(2, 7, 8), f(24), mask, f(1, 2, 5, 7)], domain="com.microsoft", num_heads=2)
case("MultiHeadAttention", [f(2, 5, 8), f(2, 5, 8), f(2, 5, 8), None, None, None, f(2, 2, 3, 4), f(2, 2, 3, 4)], domain="com.microsoft", num_heads=2, outputs=3, unidirectional=1)
table = f(16, 4), f(16, 4)


def until(cache):
    """Keys that came before, 6 and 3 of them: what lies behind is 0, as nobody says what becomes of it."""
    cache[0, :, 6:] = 0
    cache[1, :, 3:] = 0
    return cache


for interleaved in (0, 1):
    case("RotaryEmbedding", [f(2, 5, 16), np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]), *table], domain="com.microsoft", interleaved=interleaved)
    case("RotaryEmbedding", [f(2, 2, 5, 8), np.array([3]), *table], domain="com.microsoft", interleaved=interleaved)
    for rotary in (0, 1):
        for window in (-1, 3):
            common = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": rotary, "rotary_interleaved": interleaved, "local_window_size": window}
            tables = (f(16, 8), f(16, 8)) if rotary else (None, None)
            case("GroupQueryAttention", [f(2, 5, 64), f(2, 5, 32), f(2, 5, 32), None, None, np.array([4, 4], np.int32), np.array(5, np.int32), *tables], domain="com.microsoft", outputs=3,
                 name="GroupQueryAttention first", **common)
            case("GroupQueryAttention", [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), until(f(2, 2, 6, 16)), until(f(2, 2, 6, 16)), np.array([6, 3], np.int32), np.array(7, np.int32), *tables],
                 domain="com.microsoft", outputs=3, name="GroupQueryAttention next", **common)
            case("GroupQueryAttention", [f(2, 1, 128), None, None, until(f(2, 2, 12, 16)), until(f(2, 2, 12, 16)), np.array([6, 3], np.int32), np.array(7, np.int32), *tables],
                 domain="com.microsoft", outputs=3, name="GroupQueryAttention packed", **common)
for op, inputs in (("Gelu", [f(3, 4)]), ("FastGelu", [f(3, 4), f(4)]), ("BiasGelu", [f(3, 4), f(4)]), ("QuickGelu", [f(3, 4)])):
    case(op, inputs, domain="com.microsoft", name=f"com.microsoft:{op}")


# ---- running them ------------------------------------------------------------------------------------------------------------------------------

def model_of(op, inputs, opset, outputs, domain, constant, attributes):
    wanted = outputs if isinstance(outputs, tuple) else (True,) * outputs
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" if is_wanted else "" for i, is_wanted in enumerate(wanted)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    kinds = {i: helper.np_dtype_to_tensor_dtype(x.dtype) for i, x in enumerate(inputs) if x is not None}
    given = [helper.make_tensor_value_info(names[i], kinds[i], inputs[i].shape) for i in kinds if i not in constant]
    held = [onnx.numpy_helper.from_array(inputs[i], names[i]) for i in kinds if i in constant]
    graph = helper.make_graph([node], "one", given, [onnx.ValueInfoProto(name=r) for r in results if r], held)
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def expected(model, feeds):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds), "ONNX Runtime"
    except Exception as error:
        if model.graph.node[0].domain:
            return None, str(error).split("\n")[0]
    try:
        return ReferenceEvaluator(model).run(None, feeds), "the reference"
    except Exception as error:
        return None, str(error).split("\n")[0]


def output_types(model, results):
    """Hocket wants to know the dtypes of outputs."""
    for value, x in zip(model.graph.output, results):
        value.CopyFrom(helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(np.asarray(x).dtype), None))


def difference(got, wanted, who):
    wanted = np.asarray(wanted)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)} comes, {who} has {wanted.dtype}{list(wanted.shape)}"
    if got.dtype.kind != "f":
        good = got == wanted
    else:
        tolerance = 1e-2 if got.dtype == np.float16 else 2e-4
        good = np.isclose(got, wanted, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    if np.all(good):
        return None
    at = tuple(int(i[0]) for i in np.nonzero(~good))
    return f"{np.count_nonzero(~good)} of {got.size} values differ; at {at} {got[at]!r} comes, {who} has {wanted[at]!r}"


def run(one, folder):
    _, op, inputs, opset, outputs, domain, constant, attributes = one
    model = model_of(op, inputs, opset, outputs, domain, constant, attributes)
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constant}
    results, who = expected(model, feeds)
    if results is None:
        return None, f"nobody else runs it: {who}"
    output_types(model, results)
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    try:
        runner = hk.Model(path)
        for time in range(3):
            got = runner(*(hk.asarray(np.ascontiguousarray(x).reshape(x.shape)) for x in feeds.values()))
            got = got if isinstance(got, tuple) else (got,)
            for i, (y, wanted) in enumerate(zip(got, results)):
                wrong = difference(np.asarray(y), wanted, who)
                if wrong:
                    return f"output {i}{' when called again' if time else ''}: {wrong}", who
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0][:300], who
    return None, who


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose names have this part")
    args = parser.parse_args()
    count, failed, alone = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for one in CASES:
            if args.only not in one[0]:
                continue
            wrong, who = run(one, folder)
            count += 1
            alone += who.startswith("nobody")
            if wrong or who.startswith("nobody"):
                print(f"{one[0]} {one[7]}: {wrong or who}", flush=True)
            failed += bool(wrong)
    print(f"{count - failed - alone} of {count} alike, {failed} differ, {alone} that nobody else runs")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
