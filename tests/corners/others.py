"""Everything else: products, places, losses, attention, images, creation, numbers beside arrays, files, updates, random numbers.

Each function takes a kind and a source of random numbers, and yields (what, a function of Arrays, those Arrays, what it is to give, units in
the last place, slack in epsilons); what it is to give may be an exception.
"""

import math
import os
import tempfile

import numpy as np

import hocket as hk
from hocket import nn, optim

from . import ways
from .lines import log_softmax, mean, rows_of, softmax
from .values import BOOL, FLOATS, INTEGERS, KINDS, LONG, SINGLE, corners, numbers

_op = hk._core.operators
F = nn.functional


def wrapped(values, kind):
    """Python's integers, in the dtype's range around the clock."""
    bits = 8 * np.dtype(kind.name).itemsize
    return np.array([int(v) & (2 ** bits - 1) for v in np.asarray(values, object).ravel()], np.uint64).reshape(np.shape(values)) \
        .astype(f"uint{bits}").view(kind.name)


def usual(kind, random, *shape):
    if kind.is_integer:
        return random.integers(max(kind.low, -2**40), min(kind.high, 2**40), shape).astype(kind.name)
    return kind.round(random.normal(size=shape).astype(LONG))


# ---- products --------------------------------------------------------------------------------------------------------------


def products(kind, random):
    for m, n, k in ((1, 1, 1), (3, 4, 5), (1, 40, 17), (17, 1, 33), (16, 16, 16), (33, 65, 129), (5, 7, 0)):
        a, b = usual(kind, random, m, k), usual(kind, random, k, n)
        if kind.is_integer:
            want, slack = wrapped(a.astype(object) @ b.astype(object) if k else np.zeros((m, n), object), kind), 0
        else:
            want, slack = a @ b, 8 * (np.abs(a) @ np.abs(b)) + 0
        for name, call in (("matmul", lambda x, y: x @ y), ("matmul of a transposed", lambda x, y: hk.asarray(x.T, copy=True).T @ y),
                           ("tensordot", lambda x, y: hk.tensordot(x, y, axes=1)), ("einsum", lambda x, y: hk.einsum("ij,jk->ik", x, y))):
            yield f"{name} {m}x{k}x{n}", call, [kind.array(a), kind.array(b)], want, 1, slack
        if m > 1:
            yield f"vecdot of {k}", lambda x, y: hk.vecdot(x, y), [kind.array(a), kind.array(a)], \
                wrapped((a.astype(object) ** 2).sum(-1), kind) if kind.is_integer else (a * a).sum(-1), 1, 0 if kind.is_integer else 8 * (a * a).sum(-1)
    a = usual(kind, random, 9)
    yield "outer", lambda x: hk.linalg.outer(x, x), [kind.array(a)], wrapped(np.outer(a.astype(object), a.astype(object)), kind) \
        if kind.is_integer else np.outer(a, a), .5 if kind.is_float else 0, 0
    if kind.is_integer:
        yield "sum told a dtype", lambda x: hk.sum(x, dtype=kind.dtype), [kind.array(np.full(300, kind.high))], \
            wrapped(300 * kind.high, kind), 0, 0
        yield "prod told a dtype", lambda x: hk.prod(x, dtype=kind.dtype), [kind.array(np.full(3, kind.high))], wrapped(kind.high ** 3, kind), 0, 0
        yield "cumulative_sum told a dtype", lambda x: hk.cumulative_sum(x, dtype=kind.dtype), [kind.array(np.full(3, kind.high))], \
            wrapped([kind.high, 2 * kind.high, 3 * kind.high], kind), 0, 0


def linear(kind, random):
    if kind.digits < 20:
        return
    x, w, b = usual(kind, random, 5, 33), usual(kind, random, 9, 33), usual(kind, random, 9)
    yield "linear", lambda x, w, b: _op["linear"](x, w, b), [kind.array(x), kind.array(w), kind.array(b)], x @ w.T + b, 1, \
        8 * (np.abs(x) @ np.abs(w.T) + np.abs(b))


# ---- places ----------------------------------------------------------------------------------------------------------------


def places(kind, random):
    """Many numbers at one place are added up as a sum is."""
    for n in (1, 17, 5000):
        values = np.ones((n, 2), LONG) if kind.is_float else np.ones((n, 2), kind.name)
        at = np.zeros((n, 2), np.int64)
        zeros = np.zeros((3, 2), LONG if kind.is_float else kind.name)
        want = zeros.copy()
        want[0] = n if kind.is_float else wrapped(n, kind)
        yield f"scatter_add of {n}", lambda t, i, v: _op["scatter_add"](t, i, v, 0), [kind.array(zeros), hk.asarray(at), kind.array(values)], want, 1, \
            4 * np.abs(want) if kind.is_float else 0
        if kind.is_float:
            yield f"gradient of index_select at {n}", lambda t, i: ways.gradients(lambda t, i: _op["index_select"](t, i, 0))(t, i)[0], \
                [kind.array(zeros), hk.asarray(at[:, 0])], want, 1, 4 * np.abs(want)
            yield f"gradient of take_along_axis at {n}", lambda t, i: ways.gradients(lambda t, i: _op["take_along_axis"](t, i, 0))(t, i)[0], \
                [kind.array(zeros), hk.asarray(at)], want, 1, 4 * np.abs(want)
            yield f"gradient of embedding at {n}", lambda t, i: ways.gradients(lambda t, i: F.embedding(i, t))(t, i)[0], \
                [kind.array(zeros), hk.asarray(at[:, 0])], want, 1, 4 * np.abs(want)
            yield f"gradient of what is broadcast {n} times", lambda t: ways.gradients(lambda t: hk.broadcast_to(t, (n, 2)))(t)[0], \
                [kind.array(np.ones(2))], np.full(2, LONG(n)), 1, 4 * n


def moves(kind, random):
    """What only moves elements gives them back bit for bit, as NumPy does."""
    values = corners(kind)
    n = len(values) // 4 * 4
    x = values[:n].reshape(4, -1) if n else np.resize(values, (4, 2))
    at = random.integers(0, 4, (4, x.shape[1]))
    condition = random.integers(0, 2, x.shape).astype(bool)
    y = x[::-1].copy()
    one = lambda name, *more: lambda x: _op[name](x, *more)  # noqa: E731
    for name, call, want in (
            ("copy", one("copy"), x), ("reshape", one("reshape", (-1, 4)), x.reshape(-1, 4)), ("flip", lambda x: hk.flip(x, axis=1), x[:, ::-1]),
            ("expand_dims", lambda x: hk.expand_dims(x, axis=1), x[:, None]), ("squeeze", lambda x: hk.squeeze(hk.expand_dims(x, axis=0), axis=0), x),
            ("swapaxes", lambda x: hk.swapaxes(x, 0, 1), x.T), ("moveaxis", lambda x: hk.moveaxis(x, 0, 1), x.T),
            ("permute_dims", lambda x: hk.permute_dims(x, (1, 0)), x.T), ("diagonal", lambda x: hk.linalg.diagonal(x[:, :4]), np.diagonal(x[:, :4])),
            ("concat", lambda x: hk.concat([x, x], axis=1), np.concatenate([x, x], 1)), ("stack", lambda x: hk.stack([x, x], axis=1), np.stack([x, x], 1)),
            ("roll", lambda x: hk.roll(x, 3, axis=1), np.roll(x, 3, 1)), ("repeat", lambda x: hk.repeat(x, 2, axis=1), np.repeat(x, 2, 1)),
            ("tile", lambda x: hk.tile(x, (2, 1)), np.tile(x, (2, 1))), ("slice_step", lambda x: x[::-2, 1::3], x[::-2, 1::3]),
            ("tril", lambda x: hk.tril(x), np.where(np.tri(*x.shape, dtype=bool), x, x.dtype.type(0))),
            ("triu", lambda x: hk.triu(x), np.where(~np.tri(*x.shape, k=-1, dtype=bool), x, x.dtype.type(0))),
            ("broadcast_to", lambda x: hk.broadcast_to(x, (3,) + x.shape), np.broadcast_to(x, (3,) + x.shape)),
            ("matrix_transpose", hk.matrix_transpose, x.T), ("to_device", lambda x: x.to_device(hk.devices()[0]), x),
            ("full_like", lambda x: hk.full_like(x, True if kind.is_bool else 1), np.ones_like(x)), ("zeros_like", hk.zeros_like, np.zeros_like(x)),
            ("pad", lambda x: hk.pad(x, ((1, 0), (0, 2))), np.pad(x, ((1, 0), (0, 2))))):
        yield name, call, [kind.array(x)], want, 0, 0
    yield "where", lambda c, x, y: hk.where(c, x, y), [hk.asarray(condition), kind.array(x), kind.array(y)], np.where(condition, x, y), 0, 0
    yield "index_select", lambda x, i: hk.take(x, i, axis=0), [kind.array(x), hk.asarray(at[0])], x[at[0]], 0, 0
    yield "take_along_axis", lambda x, i: hk.take_along_axis(x, i, axis=0), [kind.array(x), hk.asarray(at)], np.take_along_axis(x, at, 0), 0, 0
    yield "mask", lambda x, c: x[c], [kind.array(x), hk.asarray(condition)], x[condition], 0, 0
    if not kind.is_bool:
        low, high = values[len(values) // 4], values[len(values) // 2]
        if not (kind.is_float and np.isnan(low + high)) and low <= high:
            yield "clip", lambda x, low, high: hk.clip(x, low, high), [kind.array(x), kind.array(low), kind.array(high)], np.clip(x, low, high), 0, 0
        yield "isin", lambda x, y: _op["isin"](x, y), [kind.array(x), kind.array(y[0])], np.isin(x, y[0]), 0, 0
        ordered = np.sort(values[~np.isnan(values)] if kind.is_float else values)
        yield "searchsorted", lambda s, x: hk.searchsorted(s, x), [kind.array(ordered), kind.array(ordered)], \
            (KINDS["int64"], np.searchsorted(ordered, ordered)), 0, 0
        yield "topk", lambda x: hk.topk(x, 3)[0], [kind.array(ordered)], ordered[::-1][:3], 0, 0
        for name, function in (("unique_values", np.unique),):
            yield name, hk.unique_values, [kind.array(ordered)], function(ordered), 0, 0


# ---- losses ----------------------------------------------------------------------------------------------------------------


def losses(kind, random):
    if kind.digits < 20:
        return
    x = usual(kind, random, 6, 5) * 3
    labels = np.array([0, 4, 2, -100, 1, -100])
    counts = labels >= 0
    each = np.where(counts, -np.take_along_axis(log_softmax(x), np.maximum(labels, 0)[:, None], 1)[:, 0], 0)
    slope = (softmax(x) - np.eye(5)[np.maximum(labels, 0)]) * counts[:, None]
    X, L = kind.array(x), hk.asarray(labels)
    yield "cross_entropy", lambda x, y: F.cross_entropy(x, y, ignore=-100), [X, L], each, 2, 8
    yield "mean of cross_entropy", lambda x, y: F.cross_entropy(x, y, "mean", ignore=-100), [X, L], np.asarray(each.sum() / 4), 2, 8
    yield "gradient of cross_entropy", lambda x, y: ways.gradients(lambda x, y: F.cross_entropy(x, y, "mean", ignore=-100))(x, y)[0], [X, L], \
        slope / 4, 2, 8
    none = hk.asarray(np.full(6, -100))
    yield "mean of cross_entropy that counts nothing", lambda x, y: F.cross_entropy(x, y, "mean", ignore=-100), [X, none], np.asarray(LONG("nan")), 0, 0
    yield "its gradient", lambda x, y: ways.gradients(lambda x, y: F.cross_entropy(x, y, "mean", ignore=-100))(x, y)[0], [X, none], x * 0, 0, 0
    bad = x.copy()
    bad[3] = LONG("nan")
    yield "gradient of cross_entropy, NaN where it is ignored", \
        lambda x, y: ways.gradients(lambda x, y: F.cross_entropy(x, y, "sum", ignore=-100))(x, y)[0], [kind.array(bad), L], slope, 2, 8
    for number in (0, 1e4, -1e4, kind.max, -kind.max):
        z, t = np.array([number, 2, -3], LONG), np.array([1, 0, LONG(".25")])
        want = np.maximum(z, 0) - z * t + np.log1p(np.exp(-np.abs(z)))
        yield f"binary_cross_entropy_with_logits at {float(number):g}", \
            lambda x, y: F.binary_cross_entropy_with_logits(x, y, "none"), [kind.array(z), kind.array(t)], want, 4, 2 * np.abs(z)
    big = [LONG(s) for s in ("1e20", "1e-20", "1e30", "3")]
    for s in big:
        a = np.array([[3 * s, 4 * s], [s, -s]], LONG)
        b = np.array([[3 * s, 4 * s], [s, s]], LONG)
        a, b = kind.round(a), kind.round(b)
        want = (a * b).sum(-1) / np.sqrt((a * a).sum(-1)) / np.sqrt((b * b).sum(-1))
        if s > 1e-8:  # shorter ones count as 0: see hk_cosine_similarity
            yield f"cosine_similarity at {float(s):g}", lambda x, y: _op["cosine_similarity"](x, y, -1), [kind.array(a), kind.array(b)], want, 4, 8
        yield f"vector_norm at {float(s):g}", lambda x: hk.linalg.vector_norm(x, axis=-1), [kind.array(a)], np.sqrt((a * a).sum(-1)), 4, 0
        yield f"matrix_norm at {float(s):g}", lambda x: hk.linalg.matrix_norm(x), [kind.array(a)], np.sqrt((a * a).sum()), 4, 0


# ---- attention -------------------------------------------------------------------------------------------------------------


def attention_of(q, k, v, seen):
    scores = np.where(seen, q @ np.swapaxes(k, -1, -2) / np.sqrt(LONG(q.shape[-1])), LONG("-inf"))
    weights = np.where(seen.any(-1, keepdims=True), softmax(scores), 0)
    return weights @ v


def attention(kind, random):
    if kind.digits < 20:
        return
    q, k, v = (usual(kind, random, 2, 4, 8) for _ in range(3))
    seen = random.integers(0, 2, (4, 4)).astype(bool)
    seen[:, 0] = True
    seen[2] = False
    want = attention_of(q, k, v, seen)
    arrays = [kind.array(each) for each in (q, k, v)]
    masks = {"bool": hk.asarray(seen), "-inf": kind.array(np.where(seen, LONG(0), LONG("-inf")))}
    for name, mask in masks.items():
        yield f"attention, {name} mask, one query sees nothing", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), arrays + [mask], want, 2, 64
        for i, what in enumerate("qkv"):
            h = LONG(2) ** -16
            wanted = np.zeros_like(q)
            for place in np.ndindex(q.shape):
                moved = [each.copy() for each in (q, k, v)]
                moved[i][place] += h
                up = attention_of(*moved, seen).sum()
                moved[i][place] -= 2 * h
                wanted[place] = (up - attention_of(*moved, seen).sum()) / (2 * h)
            yield f"gradient of attention, {name} mask, by {what}", \
                lambda q, k, v, m, i=i: ways.gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, m))(q, k, v)[i], arrays + [mask], wanted, \
                2, 64 if kind is SINGLE else 1e7


# ---- images ----------------------------------------------------------------------------------------------------------------


def images(kind, random):
    if kind.digits < 20:
        return
    x = np.full((1, 2, 4, 4), kind.max * LONG(".9"), LONG)
    x = kind.round(x)
    for name, call, shape in (("avg_pool2d", lambda x: F.avg_pool2d(x, 2), (1, 2, 2, 2)),
                              ("adaptive_avg_pool2d", lambda x: _op["adaptive_avg_pool2d"](x, (1, 1)), (1, 2, 1, 1)),
                              ("GlobalAvgPool", lambda x: nn.GlobalAvgPool()(x), None)):
        if shape:
            yield f"{name} of the largest", call, [kind.array(x)], np.full(shape, x.max()), 4, 0
    y = usual(kind, random, 2, 3, 6, 6)
    y[0, 1, 2, 3] = LONG("nan")
    want = np.array([[[[y[n, c, 2 * i:2 * i + 2, 2 * j:2 * j + 2].max() for j in range(3)] for i in range(3)] for c in range(3)] for n in range(2)], LONG)
    yield "max_pool2d with a NaN", lambda x: F.max_pool2d(x, 2), [kind.array(y)], want, 0, 0
    z, w = usual(kind, random, 2, 3, 7, 7), usual(kind, random, 4, 3, 3, 3)
    want = np.zeros((2, 4, 5, 5), LONG)
    for i in range(5):
        for j in range(5):
            want[:, :, i, j] = np.einsum("nchw,ochw->no", z[:, :, i:i + 3, j:j + 3], w)
    yield "conv2d", lambda x, w: F.conv2d(x, w), [kind.array(z), kind.array(w)], want, 1, 8 * np.abs(z).max() * np.abs(w).sum()
    for m in (0, 1000, 10000):
        v = kind.round(LONG(m) + np.arange(2 * 4 * 4 * 4, dtype=LONG).reshape(2, 4, 4, 4) / 1000)
        slack = 16 + (m * 100 if kind.name == "float64" else 0)  # its mean is rounded to its own dtype
        flat = v.reshape(2, 2, -1)
        far = flat - rows_of(mean(flat))
        want = (far / np.sqrt(rows_of(mean(far * far)) + LONG("1e-5"))).reshape(v.shape)
        yield f"group_norm around {m}", lambda x: F.group_norm(x, 2), [kind.array(v)], want, 8, slack
        flat = np.moveaxis(v, 1, 0).reshape(4, -1)
        far = flat - rows_of(mean(flat))
        want = np.moveaxis((far / np.sqrt(rows_of(mean(far * far)) + LONG("1e-5"))).reshape(4, 2, 4, 4), 0, 1)
        ones, zeros = kind.array(np.ones(4)), kind.array(np.zeros(4))
        yield f"batch_norm around {m}", lambda x, one, zero: _op["batch_norm"](x, one, zero), [kind.array(v), ones, zeros], want, 8, slack


def _first(result):
    return result[0] if isinstance(result, (tuple, list)) else result


# ---- creation, and numbers beside arrays -------------------------------------------------------------------------------------


def creation(kind, random):
    if kind.is_bool:
        return
    if kind.is_integer:
        for start, stop, step in ((0, 5, 1), (kind.high - 5, kind.high, 1), (kind.low, kind.low + 5, 2), (5, -1 if kind.low < 0 else 0, -1),
                                  (kind.high, kind.high - 7, -3), (0, 0, 1), (3, 1, 1)):
            want = np.array(list(range(start, stop, step)), object).astype(kind.name)
            yield f"arange({start}, {stop}, {step})", lambda: hk.arange(start, stop, step, dtype=kind.dtype), [], want, 0, 0
        for start in (2**53, 2**62):
            if kind.high > start + 5:
                yield f"arange from {start}", lambda: hk.arange(start, start + 5, dtype=kind.dtype), [], \
                    np.array([start + i for i in range(5)], kind.name), 0, 0
    for value in corners(kind):
        number = int(value) if kind.is_integer else float(value)
        yield f"full of {number}", lambda: hk.full((3,), number, dtype=kind.dtype), [], np.array([value] * 3), 0, 0
        yield f"asarray of {number}", lambda: hk.asarray([number], dtype=kind.dtype), [], np.array([value]), 0, 0
        if not math.isnan(number):
            yield f"item of {number}", lambda: hk.asarray([kind.array(np.array([value]))[0].item()], dtype=kind.dtype), [], np.array([value]), 0, 0


def assignments(kind, random):
    """What is assigned is rounded once, to the dtype of the array."""
    if kind.is_bool:
        return
    values = corners(kind)
    for value in random.choice(values, 12, replace=False) if len(values) > 12 else values:
        number = int(value) if kind.is_integer else float(value)
        for name, key in (("a mask", np.array([True, False, True])), ("indices", np.array([0, 2])), ("a slice", slice(0, 3, 2)), ("a list", [0, 2])):
            for given in (number, np.asarray(value).astype(kind.name if kind.name != "bfloat16" else "float32")[()]):
                def assign(x):
                    y = hk.asarray(x, copy=True)
                    y[key if isinstance(key, (slice, list)) else hk.asarray(key)] = given
                    return y
                zeros = np.zeros(3, LONG if kind.is_float else kind.name)
                want = zeros.copy()
                want[key] = value
                yield f"{name} of {type(given).__name__} {number}", assign, [kind.array(zeros)], want, 0, 0
    third = kind.round(LONG(1) / 10) if kind.is_float else None
    if kind.is_float:
        yield "0.1", lambda x: _set(x, hk.asarray([True, False]), .1), [kind.array(np.zeros(2))], np.array([kind.round(LONG(.1)), 0]), 0, 0
        yield "x + 0.1", lambda x: x + .1, [kind.array(np.zeros(2))], np.array([third, third]) if kind.name != "float64" else np.full(2, LONG(.1)), 0, 0


def _set(x, key, value):
    y = hk.asarray(x, copy=True)
    y[key] = value
    return y


def comparisons(kind, random):
    """With Python's integers that the dtype may not have: exact, as NumPy's are."""
    if not kind.is_integer:
        return
    values = corners(kind)
    for number in (-1, 0, 300, 2**31, 2**53 + 1, 2**63, 2**64, -2**63 - 1):
        for name, compare in (("<", lambda x: x < number), ("<=", lambda x: x <= number), ("==", lambda x: x == number), ("!=", lambda x: x != number),
                              (">", lambda x: x > number), (">=", lambda x: x >= number), ("reflected <", lambda x: number < x)):
            want = np.array([compare(int(v)) for v in values])
            yield f"{name} {number}", compare, [kind.array(values)], want, 0, 0


def casts(kind, random):
    """A cast gives the nearest number, or refuses what the dtype has not."""
    values = corners(kind)
    for other in INTEGERS + FLOATS + [BOOL]:
        if other.is_float:
            with np.errstate(all="ignore"):
                want = other.round(values.astype(LONG))
            yield f"to {other}", lambda x: x.astype(other.dtype), [kind.array(values)], (other, want), 0, 0
        elif other.is_bool:
            yield "to bool", lambda x: x.astype(other.dtype), [kind.array(values)], (other, values != 0), 0, 0
        else:
            exact = [v for v in values if kind.is_integer or kind.is_bool or np.isfinite(v)]
            fits = np.array([v for v in exact if other.low <= int(v) <= other.high])
            want = np.array([int(v) for v in fits], object).astype(other.name)
            yield f"to {other}", lambda x: x.astype(other.dtype), [kind.array(fits)], (other, want), 0, 0
            for v in exact:
                if not other.low <= int(v) <= other.high:
                    yield f"{v} to {other}", lambda x: x.astype(other.dtype), [kind.array(np.array([v]))], hk.IndexError, 0, 0
                    break


# ---- updates ---------------------------------------------------------------------------------------------------------------


def updates(kind, random):
    """What is infinite stays it where nothing moves it: no coefficient of 0 makes NaN of it."""
    if kind.digits < 20:
        return
    makers = {name: kind for name, kind in vars(optim).items() if hasattr(kind, "_method")}
    for name, maker in makers.items():
        def step(x):
            p = hk.asarray(x, copy=True)
            p.attach_grad()
            optimiser = maker([p], lr=.5, weight_decay=0.0)
            with hk.record():
                loss = (hk.where(hk.isinf(p), 0.0, p) * 0).sum()
            loss.backward()
            optimiser.step()
            return p.detach()
        values = np.array([LONG("inf"), -LONG("inf"), 1, 0], LONG)
        yield f"{name} of an infinite weight", step, [kind.array(values)], values, 0, 0


# ---- files -----------------------------------------------------------------------------------------------------------------


def files(kind, random):
    values = corners(kind)
    for ending in ("npy", "npz", "safetensors"):
        def round_trip(x):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, f"x.{ending}")
                hk.save(path, x if ending == "npy" else {"x": x})
                found = hk.load(path)
                return hk.asarray(found if ending == "npy" else found["x"], copy=True)
        if kind.name == "bfloat16" and ending != "safetensors":
            continue
        yield f"{ending}", round_trip, [kind.array(values)], values, 0, 0


# ---- random numbers --------------------------------------------------------------------------------------------------------


def random_numbers(kind, random):
    if kind.is_integer:
        for low, high in ((kind.low, kind.high + 1), (kind.high, kind.high + 1), (kind.low, kind.low + 1), (0, 2)):
            def draw():
                x = hk.random.integers(low, high, (1000,), dtype=kind.dtype)
                seen = numbers(x)
                return hk.asarray([x.dtype == kind.dtype, all(low <= int(v) < high for v in seen), len(set(seen.tolist())) >= min(2, high - low)])
            yield f"integers({low}, {high})", draw, [], (BOOL, np.array([True] * 3)), 0, 0
    elif kind.is_float:
        def uniform():
            seen = numbers(hk.random.uniform(shape=(10000,), dtype=kind.dtype) if kind.digits > 11 else hk.random.uniform(shape=(10000,)))
            return hk.asarray([bool((seen >= 0).all()), bool((seen < 1).all()), bool(.48 < seen.mean() < .52)])
        yield "uniform", uniform, [], (BOOL, np.array([True] * 3)), 0, 0


# ---- recurrent layers --------------------------------------------------------------------------------------------------------


def recurrent(kind, random):
    """What lies behind the length of a sequence never counts."""
    if kind is not SINGLE:
        return
    for name in ("RNN", "LSTM", "GRU"):
        layer = getattr(nn, name)(4)
        x = usual(kind, random, 5, 3, 2)
        lengths = hk.asarray([5, 2, 3])
        spoilt = x.copy()
        spoilt[2:, 1], spoilt[3:, 2] = LONG("nan"), LONG("inf")
        try:
            layer(kind.array(x), lengths=lengths)
        except TypeError:
            continue

        def run(x):
            for p in layer.parameters():
                p.attach_grad()
            with hk.record():
                y = _first(layer(x, lengths=lengths))
                y.sum().backward()
            return hk.concat([hk.reshape(y.detach(), (-1,))] + [hk.reshape(p.grad, (-1,)) for p in layer.parameters()])

        yield f"{name} with padding", run, [kind.array(spoilt)], numbers(run(kind.array(x))), 0, 0


# Names: (function, kinds, ways).
PLAIN = ("called",)
ANY = tuple(ways.ALL)
TABLE = {
    "products": (products, FLOATS + INTEGERS, ANY),
    "linear": (linear, FLOATS, ANY),
    "moves": (moves, FLOATS + INTEGERS + [BOOL], ANY),
    "places": (places, FLOATS + INTEGERS, ANY),
    "losses": (losses, FLOATS, ANY),
    "attention": (attention, FLOATS, ANY),
    "images": (images, FLOATS, ANY),
    "creation": (creation, FLOATS + INTEGERS, PLAIN),
    "assignments": (assignments, FLOATS + INTEGERS, PLAIN),
    "comparisons": (comparisons, INTEGERS, ("called", "captured")),
    "casts": (casts, FLOATS + INTEGERS + [BOOL], ("called", "captured", "exact")),
    "updates": (updates, FLOATS, PLAIN),
    "files": (files, FLOATS + INTEGERS + [BOOL], PLAIN),
    "random": (random_numbers, FLOATS + INTEGERS, PLAIN),
    "recurrent": (recurrent, FLOATS, PLAIN),
}
