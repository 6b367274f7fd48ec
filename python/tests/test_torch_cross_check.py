"""Functions, their gradients and the gradients of these against PyTorch, where some is installed: random shapes and views, from one seed."""

import numpy as np
import pytest
from test_cross_check import CASES, Case as Draws

import hocket as hk

torch = pytest.importorskip("torch")
F, T = hk.nn.functional, torch.nn.functional
SHAPES = [(), (1,), (5,), (3, 4), (1, 4), (3, 1), (2, 3, 4), (2, 1, 3, 2), (17,), (4, 9)]
RTOL = {"float32": 2e-5, "float64": 1e-9}  # the ones that PyTorch composes of several roundings, too


class Case(Draws):
    """Draws what a call is given; the same for both."""

    def int(self, low, high):
        self.drawn.append(self.random.randint(low, high))
        return self.drawn[-1]

    def values(self, shape, low=-2.0, high=2.0):
        """In some of the ways in which they can lie in memory. No two are near: extremes and orders have no ties."""
        size = int(np.prod(shape))
        values = low + (high - low) * (self.numpy.permutation(size) + self.numpy.uniform(0.2, 0.8)) / max(size, 1)
        values = values.reshape(shape)
        how = self.pick(["plain", "plain", "transposed", "stepped"])
        if how == "transposed" and values.ndim:
            return np.ascontiguousarray(values.T).T
        if how == "stepped" and values.ndim:
            return np.repeat(values, 2, axis=0)[::2]
        return values

    def shape(self, least=0):
        return self.pick([s for s in SHAPES if len(s) >= least])


# ---- what is compared


def close(what, got, want, dtype):
    want = torch.empty(want.shape, dtype=want.dtype).copy_(want.detach()).numpy()  # what PyTorch knows to be zero has no memory
    got = got.numpy()
    assert got.shape == want.shape, (what, got.shape, want.shape)
    scale = max(1.0, float(np.max(np.abs(want), initial=0)))
    np.testing.assert_allclose(got, want, rtol=RTOL[dtype], atol=RTOL[dtype] * scale, err_msg=what)


def goes_on(y):
    return y.is_floating_point() and y.requires_grad


def torch_gradients(of, by, weights):
    found = torch.autograd.grad(of, by, weights, create_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if dx is None else dx for dx, x in zip(found, by)]


def gradients_of_any(ys, xs, weights):
    """The sum over ys, of which some may depend on no x."""
    total = [hk.zeros_like(x) for x in xs]
    for y, w in zip(ys, weights):
        try:
            total = [a + b for a, b in zip(total, hk.gradients(y, xs, w, keep=True))]
        except hk.ValueError as error:
            assert "depends on no attached gradient" in str(error)
    return total


def check(case, mine, theirs, *inputs, twice=True):
    """A call's result, the gradients of a weighted sum of it, and, but where PyTorch has none, those of a weighted sum of these."""
    dtype = case.pick(["float64", "float64", "float32"])
    inputs = [x.astype(dtype, order="K") for x in inputs]
    # Always by doubles: where terms cancel, PyTorch's float32 is further from them than ours.
    tensors = [torch.from_numpy(x.astype("float64", order="K")).requires_grad_() for x in inputs]
    arrays = [hk.asarray(x).attach_grad() for x in inputs]

    def weights_like(ys):
        found = [case.numpy.uniform(-1, 1, tuple(y.shape)).astype(dtype) for y in ys]
        return [torch.from_numpy(w.astype("float64")) for w in found], [hk.asarray(w) for w in found]

    with hk.record():
        want, got = theirs(*tensors), mine(*arrays)
        close("result", got, want, dtype)
        if not goes_on(want):
            return
        torch_weights, weights = weights_like([want])
        wants = torch_gradients(want, tensors, torch_weights[0])
        gots = hk.gradients(got, arrays, weights[0], create_graph=True)
        for i, (dx, want_dx) in enumerate(zip(gots, wants)):
            close(f"gradient by argument {i}", dx, want_dx, dtype)
        of = [i for i, dx in enumerate(wants) if goes_on(dx)]
        if not of or not twice:
            return
        torch_weights, weights = weights_like([wants[i] for i in of])
        wants = torch_gradients([wants[i] for i in of], tensors, torch_weights)
        gots = gradients_of_any([gots[i] for i in of], arrays, weights)
    for i, (dx, want_dx) in enumerate(zip(gots, wants)):
        close(f"second gradient by argument {i}", dx, want_dx, dtype)


# ---- groups: each function takes a case and checks one call

UNARY = {  # name: (PyTorch's, limits)
    **{name: (getattr(torch, name), (-2, 2)) for name in
       "exp expm1 sin cos sinh cosh tanh atan asinh square negative abs erf sigmoid relu sign floor ceil trunc".split()},
    **{name: (getattr(torch, name), (0.2, 4)) for name in "log log2 log10 log1p sqrt rsqrt reciprocal".split()},
    **{name: (getattr(torch, name), (-0.9, 0.9)) for name in "asin acos atanh tan".split()},
    "acosh": (torch.acosh, (1.2, 4)),
}
ACTIVATIONS = {  # name: (Hocket's, PyTorch's)
    **{name: (getattr(F, name), getattr(T, name)) for name in "relu sigmoid silu tanh mish softplus gelu".split()},
    "gelu_tanh": (F.gelu_tanh, lambda x: T.gelu(x, approximate="tanh")),
    "elu": (lambda x: F.elu(x, 0.7), lambda x: T.elu(x, 0.7)),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), lambda x: T.leaky_relu(x, 0.2)),
    "hard_sigmoid": (F.hard_sigmoid, lambda x: torch.clip(x + 3, 0, 6) / 6),  # its own sixth is rounded to float32
    "hard_swish": (F.hard_swish, lambda x: x * torch.clip(x + 3, 0, 6) / 6),
}


def unary(case):
    name = case.pick(sorted(UNARY))
    theirs, limits = UNARY[name]
    check(case, getattr(hk, name), theirs, case.values(case.shape(), *limits))


def activations(case):
    mine, theirs = ACTIVATIONS[case.pick(sorted(ACTIVATIONS))]
    check(case, mine, theirs, case.values(case.shape(), -4.1, 4))


BINARY = {  # name: limits
    **{name: (-2, 2) for name in "add subtract multiply maximum minimum hypot atan2 logaddexp copysign".split()},
    **{name: (0.3, 3) for name in "divide pow remainder".split()},
}


def broadcast_with(case, shape):
    """A shape that goes with this one: some axes are 1, or leading ones are not there."""
    shape = tuple(1 if case.random.random() < 0.3 else n for n in shape)
    return shape[case.int(0, len(shape)):]


def binary(case):
    name = case.pick(sorted(BINARY))
    shape = case.shape()
    x, y = case.values(shape, *BINARY[name]), case.values(broadcast_with(case, shape), *BINARY[name])
    if case.pick([True, False]):
        x, y = y, x
    if name == "remainder":  # not near a multiple, where rounding decides
        return check(case, lambda x: hk.remainder(x, 0.77), lambda x: torch.remainder(x, 0.77), case.values((7,), 0.31, 5.2))
    theirs = dict(maximum=torch.maximum, minimum=torch.minimum).get(name, getattr(torch, name))
    check(case, getattr(hk, name), theirs, x, y)


def choices(case):
    shape = case.shape()
    x, y = case.values(shape), case.values(broadcast_with(case, shape))
    mask = case.numpy.rand(*shape) < 0.5
    if case.pick(["where", "clip"]) == "clip":
        return check(case, lambda x: hk.clip(x, -0.77, 1.01), lambda x: torch.clip(x, -0.77, 1.01), x)
    check(case, lambda x, y: hk.where(hk.asarray(mask), x, y), lambda x, y: torch.where(torch.from_numpy(np.asarray(mask)), x, y), x, y)


def reductions(case):
    name = case.pick("sum mean max min prod var std logsumexp vector_norm".split())
    shape = case.shape(1)
    axis, keepdims = case.axes(len(shape)), case.pick([True, False])
    axes = tuple(range(len(shape))) if axis is None else axis
    x = case.values(shape, 0.5, 1.5) if name == "prod" else case.values(shape)
    if name in ("var", "std"):
        count = np.prod([shape[a] for a in np.atleast_1d(axes)])
        correction = 1 if count > 2 and case.pick([True, False]) else 0
        if name == "std" and count == 1:
            return None  # the root of 0
        return check(case, lambda x: getattr(hk, name)(x, axis=axis, correction=correction, keepdims=keepdims),
                     lambda x: getattr(torch, name)(x, axes, unbiased=bool(correction), keepdim=keepdims), x)
    if name == "prod":
        axis = case.axis(len(shape))
        return check(case, lambda x: hk.prod(x, axis=axis, keepdims=keepdims), lambda x: torch.prod(x, axis, keepdim=keepdims), x)
    if name == "vector_norm":
        order = case.pick([1, 2, 3, np.inf])
        return check(case, lambda x: hk.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=order),
                     lambda x: torch.linalg.vector_norm(x, order, axes, keepdim=keepdims), x)
    theirs = getattr(torch, dict(max="amax", min="amin").get(name, name))
    check(case, lambda x: getattr(hk, name)(x, axis=axis, keepdims=keepdims), lambda x: theirs(x, axes, keepdim=keepdims), x)


def lines(case):
    name = case.pick("cumsum cumprod softmax log_softmax sort topk diff flip roll".split())
    shape = case.shape(1)
    axis, x = case.axis(len(shape)), case.values(shape, 0.5, 1.5)
    if name == "topk":
        k = case.int(1, shape[axis])
        return check(case, lambda x: hk.topk(x, k, axis=axis)[0], lambda x: torch.topk(x, k, axis)[0], x)
    if name == "sort":
        descending = case.pick([True, False])
        return check(case, lambda x: hk.sort(x, axis=axis, descending=descending), lambda x: torch.sort(x, axis, descending)[0], x)
    if name == "roll":
        return check(case, lambda x: hk.roll(x, 2, axis=axis), lambda x: torch.roll(x, 2, axis), x)
    if name == "diff":
        return check(case, lambda x: hk.diff(x, axis=axis), lambda x: torch.diff(x, dim=axis), x) if shape[axis] > 1 else None
    mine = {"cumsum": lambda x: hk.cumulative_sum(x, axis=axis), "cumprod": lambda x: hk.cumulative_prod(x, axis=axis),
            "softmax": lambda x: F.softmax(x, axis), "log_softmax": lambda x: F.log_softmax(x, axis),
            "flip": lambda x: hk.flip(x, axis=axis)}[name]
    theirs = (lambda x: torch.flip(x, (axis,))) if name == "flip" else lambda x: getattr(torch, name)(x, axis)
    check(case, mine, theirs, x)


def places(case):
    """What is taken from places that are asked for, some of them twice."""
    name = case.pick("take take_along_axis embedding index mask".split())
    shape = case.shape(1)
    axis, x = case.axis(len(shape)), case.values(shape)
    if name == "mask":
        mask = case.numpy.rand(*shape) < 0.5
        return check(case, lambda x: x[hk.asarray(mask)], lambda x: x[torch.from_numpy(np.asarray(mask))], x)
    if name == "take_along_axis":
        indices = case.numpy.randint(0, shape[axis], shape)
        return check(case, lambda x: hk.take_along_axis(x, hk.asarray(indices), axis=axis),
                     lambda x: torch.take_along_dim(x, torch.from_numpy(indices), axis), x)
    indices = case.numpy.randint(0, shape[0 if name != "take" else axis], case.pick([(3,), (2, 2), (1,)]))
    if name == "take":
        indices = indices.reshape(-1)
        return check(case, lambda x: hk.take(x, hk.asarray(indices), axis=axis),
                     lambda x: torch.index_select(x, axis, torch.from_numpy(indices)), x)
    if name == "embedding":
        x = case.values((shape[0], 3))
        return check(case, lambda x: F.embedding(hk.asarray(indices), x), lambda x: T.embedding(torch.from_numpy(indices), x), x)
    check(case, lambda x: x[hk.asarray(indices)], lambda x: x[torch.from_numpy(indices)], x)


def manipulation(case):
    name = case.pick("concat stack permute reshape expand pad tile slice broadcast repeat tril triu".split())
    shape = case.shape(2 if name in ("tril", "triu") else 1)
    axis, x = case.axis(len(shape)), case.values(shape)
    if name in ("concat", "stack"):
        y = case.values(shape)
        return check(case, lambda x, y: getattr(hk, name)([x, y, x], axis=axis), lambda x, y: getattr(torch, name)([x, y, x], axis), x, y)
    if name == "permute":
        order = tuple(case.random.sample(range(len(shape)), len(shape)))
        return check(case, lambda x: hk.permute_dims(x, order), lambda x: x.permute(order), x)
    if name == "pad":
        mode = case.pick(["constant", "edge"])
        before, after = case.int(0, 2), case.int(0, 2)
        if mode == "constant":
            return check(case, lambda x: hk.pad(x, [(0, 0)] * (len(shape) - 1) + [(before, after)], constant_values=0.5),
                         lambda x: T.pad(x, (before, after), value=0.5), x)
        x = case.values((2, 3, 5))
        return check(case, lambda x: hk.pad(x, [(0, 0), (0, 0), (before, after)], mode="edge"),
                     lambda x: T.pad(x, (before, after), mode="replicate"), x)
    if name == "repeat":
        return check(case, lambda x: hk.repeat(x, 2, axis=axis), lambda x: torch.repeat_interleave(x, 2, axis), x)
    if name in ("tril", "triu"):
        k = case.int(-1, 1)
        return check(case, lambda x: getattr(hk, name)(x, k=k), lambda x: getattr(torch, name)(x, k), x)
    mine = {"reshape": lambda x: hk.reshape(x, (-1,)), "expand": lambda x: hk.expand_dims(x, axis=axis),
            "tile": lambda x: hk.tile(x, (2,) * len(shape)), "slice": lambda x: x[..., ::2], "broadcast": lambda x: hk.broadcast_to(x, (2, *shape))}
    theirs = {"reshape": lambda x: x.reshape(-1), "expand": lambda x: x.unsqueeze(axis),
              "tile": lambda x: x.repeat((2,) * len(shape)), "slice": lambda x: x[..., ::2], "broadcast": lambda x: x.expand(2, *shape)}
    check(case, mine[name], theirs[name], x)


EINSUMS = ["ij,jk->ik", "ij,ij->", "bij,bjk->bik", "ij->ji", "ij,j->i", "bij,bij->b", "i,j->ij", "bhid,bhjd->bhij"]


def products(case):
    name = case.pick(["matmul", "einsum", "vecdot", "linear", "tensordot"])
    if name == "einsum":
        terms = case.pick(EINSUMS)
        sizes = dict(zip("ijkbhd", (3, 4, 2, 2, 3, 5)))
        inputs = [case.values(tuple(sizes[letter] for letter in part)) for part in terms.split("->")[0].split(",")]
        return check(case, lambda *x: hk.einsum(terms, *x), lambda *x: torch.einsum(terms, *x), *inputs)
    m, k, n = case.int(1, 5), case.int(1, 6), case.int(1, 5)
    if name == "linear":
        return check(case, F.linear, T.linear, case.values((m, k)), case.values((n, k)), case.values((n,)))
    if name == "vecdot":
        shape = case.shape(1)
        return check(case, hk.vecdot, lambda x, y: (x * y).sum(-1), case.values(shape), case.values(shape))
    if name == "tensordot":
        return check(case, lambda x, y: hk.tensordot(x, y, axes=2), lambda x, y: torch.tensordot(x, y, 2),
                     case.values((m, 2, k)), case.values((2, k, n)))
    a = case.pick([(k,), (m, k), (2, m, k), (3, 1, m, k)])
    b = case.pick([(k,), (k, n), (2, k, n)])
    check(case, hk.matmul, torch.matmul, case.values(a), case.values(b))


def linear_algebra(case):
    """Of matrices that are far from singular."""
    name = case.pick("inv det solve cholesky slogdet matrix_norm trace outer".split())
    n, stack = case.int(1, 4), case.pick([(), (2,)])
    a = case.values((*stack, n, n), -0.4, 0.4) + np.eye(n) * 2
    if name == "solve":
        return check(case, hk.linalg.solve, torch.linalg.solve, a, case.values((*stack, n, 3)))
    if name == "cholesky":
        return check(case, lambda x: hk.linalg.cholesky(x @ hk.matrix_transpose(x)),
                     lambda x: torch.linalg.cholesky(x @ x.transpose(-1, -2)), a)
    if name == "outer":
        return check(case, hk.linalg.outer, torch.outer, case.values((3,)), case.values((4,)))
    if name == "trace":
        return check(case, hk.linalg.trace, lambda x: x.diagonal(dim1=-2, dim2=-1).sum(-1), a)
    if name == "matrix_norm":
        return check(case, hk.linalg.matrix_norm, torch.linalg.matrix_norm, a)
    if name == "slogdet":
        return check(case, lambda x: hk.linalg.slogdet(x)[1], lambda x: torch.linalg.slogdet(x)[1], a)
    check(case, getattr(hk.linalg, name), getattr(torch.linalg, name), a)


def norms(case):
    name = case.pick(["layer", "rms", "group", "batch"])
    if name == "layer":
        shape, axes = case.pick([(3, 5), (2, 3, 4), (7,), (2, 1, 3, 2)]), 1
        if len(shape) > 1:
            axes = case.int(1, 2)
        tail = shape[-axes:]
        return check(case, lambda x, g, b: F.layer_norm(x, g, b, axes), lambda x, g, b: T.layer_norm(x, tail, g, b),
                     case.values(shape), case.values(tail), case.values(tail))
    if name == "rms":
        return check(case, lambda x, g: F.rms_norm(x, g), lambda x, g: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * g,
                     case.values((3, 5)), case.values((5,)))
    if name == "group":
        groups = case.pick([1, 2, 3])
        return check(case, lambda x, g, b: F.group_norm(x, groups, g, b), lambda x, g, b: T.group_norm(x, groups, g, b),
                     case.values((2, 6, 3)), case.values((6,)), case.values((6,)))
    mean, variance = case.values((3,)), case.values((3,), 0.5, 2)
    training = case.pick([True, False])

    def mine(x, gamma, beta):
        as_x = lambda values: hk.asarray(values.astype(x.numpy().dtype))
        found = F.batch_norm(x, gamma, beta, as_x(mean), as_x(variance), training=training)
        return found if isinstance(found, hk.Array) else found[0]

    def theirs(x, gamma, beta):
        as_x = lambda values: torch.from_numpy(values.copy()).to(x.dtype)
        return T.batch_norm(x, as_x(mean), as_x(variance), gamma, beta, training)

    check(case, mine, theirs, case.values((4, 3, 2, 5)), case.values((3,)), case.values((3,)))


def windows(case):
    name = case.pick(["conv1d", "conv2d", "conv3d", "conv2d_transpose", "conv3d_transpose", "max_pool2d", "avg_pool2d"])
    kernel, stride, dilation = case.int(1, 3), case.int(1, 2), case.int(1, 2)
    padding = case.int(0, kernel // 2)
    if name.endswith("pool2d"):
        x = case.values((2, 3, case.int(3, 7), case.int(3, 9)))
        modes = {"ceil_mode": case.pick([False, True])} | ({} if name == "max_pool2d" else {"count_include_pad": case.pick([False, True])})
        return check(case, lambda x: getattr(F, name)(x, kernel, stride, padding, **modes),
                     lambda x: getattr(T, name)(x, kernel, stride, padding, **modes), x)
    groups = case.pick([1, 1, 2])
    channels, out = 2 * case.int(1, 2), 2 * case.int(1, 2)
    axes = int(name[4])
    if name.endswith("transpose"):
        more = case.int(0, stride - 1)
        return check(case, lambda x, w, b: getattr(F, name)(x, w, b, stride, padding, more, dilation, groups),
                     lambda x, w, b: getattr(T, f"conv_transpose{axes}d")(x, w, b, stride, padding, more, groups, dilation),
                     case.values((2, channels, 3, 4, 2)[:2 + axes]), case.values((channels, out // groups, *(kernel,) * axes)), case.values((out,)))
    size = tuple(case.int(5, 8) for _ in range(axes))
    check(case, lambda x, w, b: getattr(F, name)(x, w, b, stride, padding, dilation, groups),
          lambda x, w, b: getattr(T, name)(x, w, b, stride, padding, dilation, groups),
          case.values((2, channels, *size)), case.values((out, channels // groups, *(kernel,) * axes)), case.values((out,)))


def losses(case):
    name = case.pick("cross_entropy nll mse l1 huber bce logits kl hinge cosine triplet ctc".split())
    reduction = case.pick(["mean", "sum", "none"])
    n, classes = case.int(1, 5), case.int(2, 4)
    x, y = case.values((n, classes)), case.values((n, classes))
    if name in ("cross_entropy", "nll"):
        labels = case.numpy.randint(0, classes, n)
        weight = case.numpy.uniform(0.5, 2, classes) if case.pick([True, False]) else None
        ignore = 1 if case.pick([True, False]) and np.any(labels != 1) else None
        options = dict(reduction=reduction)
        theirs = dict(ignore_index=-100 if ignore is None else ignore, **options)
        if name == "cross_entropy":
            options["label_smoothing"] = theirs["label_smoothing"] = case.pick([0.0, 0.1])
        mine, peer = (F.cross_entropy, T.cross_entropy) if name == "cross_entropy" else (F.nll_loss, T.nll_loss)

        def my_weight(x):
            return None if weight is None else hk.asarray(weight.astype(x.numpy().dtype))

        def their_weight(x):
            return None if weight is None else torch.from_numpy(weight).to(x.dtype)

        return check(case, lambda x: mine(x, hk.asarray(labels), weight=my_weight(x), ignore=ignore, **options),
                     lambda x: peer(x, torch.from_numpy(labels), weight=their_weight(x), **theirs), x)
    if name == "bce":
        target = case.numpy.uniform(0, 1, (n, classes))
        return check(case, lambda x: F.binary_cross_entropy(x, hk.asarray(target.astype(x.numpy().dtype)), reduction),
                     lambda x: T.binary_cross_entropy(x, torch.from_numpy(target).to(x.dtype), reduction=reduction),
                     case.values((n, classes), 0.1, 0.9))
    if name == "logits":
        target = case.numpy.uniform(0, 1, (n, classes))
        return check(case, lambda x: F.binary_cross_entropy_with_logits(x, hk.asarray(target.astype(x.numpy().dtype)), reduction),
                     lambda x: T.binary_cross_entropy_with_logits(x, torch.from_numpy(target).to(x.dtype), reduction=reduction), x)
    if name == "kl":
        target = case.values((n, classes), 0.2, 0.9)
        return check(case, lambda x: F.kl_divergence_loss(x, hk.asarray(target.astype(x.numpy().dtype)), reduction),
                     lambda x: T.kl_div(x, torch.from_numpy(target.copy()).to(x.dtype), reduction=reduction), x)
    if name == "hinge":
        signs = np.where(case.numpy.rand(n, classes) < 0.5, -1.0, 1.0)
        return check(case, lambda x: F.hinge_loss(x, hk.asarray(signs.astype(x.numpy().dtype)), reduction),
                     lambda x: reduced(torch.relu(1 - x * torch.from_numpy(signs).to(x.dtype)), reduction), x)
    if name == "cosine":
        signs = np.where(case.numpy.rand(n) < 0.5, -1.0, 1.0)
        return check(case, lambda x, y: F.cosine_embedding_loss(x, y, hk.asarray(signs.astype(x.numpy().dtype)), 0.1, reduction),
                     lambda x, y: T.cosine_embedding_loss(x, y, torch.from_numpy(signs).to(x.dtype), 0.1, reduction=reduction), x, y)
    if name == "ctc":
        steps, labels = case.int(4, 9), case.int(1, 3)
        targets = case.numpy.randint(1, classes, (n, labels))
        lengths = [case.numpy.randint(1, steps + 1, n), case.numpy.randint(0, labels + 1, n)]  # PyTorch 1.13 has no steps wrong
        scores = case.values((steps, n, classes))  # whose loss has the same gradient in both
        return check(case, lambda x: F.ctc_loss(F.log_softmax(x, -1), *map(hk.asarray, (targets, *lengths)), reduction=reduction, zero_infinity=True),
                     lambda x: T.ctc_loss(torch.log_softmax(x, -1), *map(torch.from_numpy, (targets, *lengths)), reduction=reduction,
                                          zero_infinity=True), scores, twice=False)
    if name == "triplet":
        return check(case, lambda x, y, z: F.triplet_margin_loss(x, y, z, 1.0, reduction),
                     lambda x, y, z: T.triplet_margin_loss(x, y, z, 1.0, reduction=reduction), x, y, case.values((n, classes)))
    mine, theirs = {"mse": (F.mse_loss, T.mse_loss), "l1": (F.l1_loss, T.l1_loss), "huber": (F.huber_loss, T.huber_loss)}[name]
    check(case, lambda x, y: mine(x, y, reduction=reduction), lambda x, y: theirs(x, y, reduction=reduction), x, y)


def reduced(x, how):
    return x if how == "none" else getattr(torch, how)(x)


def attention(case):
    shape = (2, case.int(1, 3), case.int(1, 5), 4)
    causal = case.pick([True, False])

    def theirs(q, k, v):
        scores = q @ k.transpose(-1, -2) / 2
        if causal:
            scores = scores.masked_fill(torch.ones(shape[2], shape[2]).triu(1).bool(), -np.inf)
        return torch.softmax(scores, -1) @ v

    check(case, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, causal=causal), theirs, *(case.values(shape) for _ in range(3)))


GROUPS = [unary, activations, binary, choices, reductions, lines, places, manipulation, products, linear_algebra, norms, windows, losses,
          attention]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_against_pytorch(group):
    for number in range(-(-CASES // len(GROUPS))):
        case = Case(hash((GROUPS.index(group), number)) & 0xFFFFFFFF)
        try:
            group(case)
        except Exception as error:
            raise AssertionError(f"{group.__name__}, case {number}: {case.drawn}") from error
