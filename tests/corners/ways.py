"""Ways in which the same call can be made. All must give the bytes of the plain call, but for captures that are not exact."""

import hocket as hk


def called(function, arrays):
    return function(*arrays)


def captured(function, arrays):
    """The second replay's result: the first time the calls are noted."""
    step = hk.capture(function)
    step(*arrays)
    return step(*arrays)


def exact(function, arrays):
    step = hk.capture(function, exact=True)
    step(*arrays)
    return step(*arrays)


def simulated(function, arrays):
    """On an accelerator of software; the result comes back."""
    result = function(*[x.to_device("sim:0") for x in arrays])
    return _map(lambda x: x.to_device(hk.devices()[0]), result)


def _map(function, result):
    return tuple(map(function, result)) if isinstance(result, (tuple, list)) else function(result)


def gradients(function, weights=None):
    """A function of the same arrays that gives the gradients of the sum of function's first result, times weights."""

    def differentiated(*arrays):
        leaves = [x.detach().attach_grad("track") if _is_float(x) else x for x in arrays]
        with hk.record():
            result = function(*leaves)
        result = result[0] if isinstance(result, (tuple, list)) else result
        dy = hk.ones_like(result) if weights is None else weights
        return tuple(hk.gradients([result], [x for x in leaves if _is_float(x)], [dy]))

    return differentiated


def _is_float(x):
    return x.dtype.name in ("float16", "bfloat16", "float32", "float64")


ALL = {"called": called, "captured": captured, "exact": exact, "simulated": simulated}
