"""Keys: what the cross-check does not see: gradients, refusals, overlaps, devices."""

import numpy as np
import pytest

import hocket as hk

VALUES = np.arange(24.0).reshape(2, 3, 4)
MASK = VALUES[0] % 3 == 0
KEYS = [
    0, (1, ..., -1), slice(None, None, -1), [1, 0, 1], (slice(None), [2, 0]), ([0, 1], [1, 1]), ([[0], [1]], slice(None), [1, 3, 3]),
    (0, [1, 2], [0, 0]), (slice(None), MASK), (slice(None), [True, False, True]), VALUES > 7, (..., None, [3, 0, 0]), (None, [1], None),
    np.int64(1), (np.array([0, 1]), np.array([0, 2])), True, False, (slice(None), True, 0), [], (slice(0, 0), [0]),
]


def mine(key):
    if isinstance(key, tuple):
        return tuple(map(mine, key))
    return hk.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_values_and_gradients(key):
    """The gradient goes to each element as often as the key names it."""
    x = hk.asarray(VALUES)
    want = VALUES[key]
    x.attach_grad()
    with hk.record():
        y = x[mine(key)]
        loss = (y * hk.asarray(np.arange(1.0, want.size + 1).reshape(want.shape))).sum()
    assert y.tolist() == want.tolist() and y.shape == want.shape
    if not want.size:
        return
    hk.backward(loss)
    gradient = np.zeros_like(VALUES)
    np.add.at(gradient, key, np.arange(1.0, want.size + 1).reshape(want.shape))
    assert x.grad.tolist() == gradient.tolist()


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_assignment(key):
    x, values = hk.asarray(VALUES), VALUES.copy()
    new = np.arange(100.0, 100 + values[key].size).reshape(values[key].shape)
    x[mine(key)] = hk.asarray(new)
    values[key] = new
    x[mine(key)] += 1
    values[key] += 1
    assert x.tolist() == values.tolist()
    x[mine(key)] = -3
    values[key] = -3
    assert x.tolist() == values.tolist()


@pytest.mark.parametrize("key, error", [
    (5, IndexError), ((0, 0, 0, 0), IndexError), ((..., ...), IndexError), ([2], IndexError), ([[0], [-3]], IndexError), ([0.5], IndexError),
    ("a", (TypeError, IndexError)), (([0, 1], [0, 1, 2]), ValueError), ([True], IndexError), (VALUES[0] > 0, IndexError), (1.5, IndexError),
    ((slice(None), [3]), IndexError), ({}, (TypeError, IndexError)),
])
def test_refusals(key, error):
    x = hk.asarray(VALUES)
    with pytest.raises(error):
        x[mine(key)].tolist()
    with pytest.raises(error):
        x[mine(key)] = 1
    assert x.tolist() == VALUES.tolist()
    with pytest.raises(TypeError):
        del x[0]
    hk._core._failures_clear()


def test_overlaps_and_other_sources():
    x = hk.arange(6.0)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x[::-1] = x
    assert x.tolist() == [4, 3, 2, 1, 0, 0]
    x[[0, 1]] = x[[1, 0]]
    assert x.tolist() == [3, 4, 2, 1, 0, 0]
    x[:3] = [7, 8, 9]
    x[3:] = np.array([1, 2, 3], "int8")
    assert x.tolist() == [7, 8, 9, 1, 2, 3]
    n = hk.asarray([1, 2, 3])
    n[0] = 2.7
    n[n > 2] = 9
    assert n.tolist() == [2, 2, 9]
    n[()] = 4
    assert n.tolist() == [4] * 3 and n[()].shape == (3,) and n[..., 0].item() == 4


def test_the_last_of_several_stays():
    x, values = hk.zeros(3), np.zeros(3)
    x[[0, 0, 1, 0]] = [1, 2, 3, 4]
    values[[0, 0, 1, 0]] = [1, 2, 3, 4]
    assert x.tolist() == values.tolist()


def test_signs_in_place_while_recording_keep_gradients():
    x = hk.asarray([1.0, 2.0])
    x.attach_grad()
    with hk.record():
        y = x * x
        before = y
        y += x
        y *= 3
        loss = y.sum()
    hk.backward(loss)
    assert x.grad.tolist() == [9, 15] and before.tolist() == [1, 4] and y is not before
    x -= 0.1 * x.grad
    assert [round(each, 5) for each in x.tolist()] == [0.1, 0.5]


@pytest.mark.parametrize("shape, key", [((5,), 0), ((5,), slice(1, 2)), ((4, 3), 1), ((4, 3), (slice(None), 1)), ((2, 3), slice(None))])
def test_values_with_axes_of_1_in_front(shape, key):
    x, wanted = hk.zeros(shape), np.zeros(shape)
    part = wanted[key]
    values = np.arange(1.0, part.size + 1).reshape((1, 1) + part.shape)
    x[key] = hk.asarray(values)
    wanted[key] = values[0, 0]
    assert x.tolist() == wanted.tolist()
    with pytest.raises(ValueError, match="do not go into"):
        x[key] = hk.ones((2,) + part.shape)


def test_an_index_beyond_all_arrays():
    for index in (2**70, -2**70):
        with pytest.raises(IndexError, match="out of the range of int64"):
            hk.arange(3)[index]


def test_masks_of_another_shape():
    """Each size is the array's, or 0, as the standard has it; other sizes are refused."""
    for shape in ((2, 1), (1, 3), (3, 0), (3,), (0, 2), (2, 3, 1)):
        x, mask = hk.zeros((2, 3)), hk.zeros(shape, dtype=hk.bool)
        for use in (lambda: x[mask], lambda: x.__setitem__(mask, 1), lambda: x.__setitem__((mask, ...), 1), lambda: x[(mask, ...)]):
            with pytest.raises(IndexError):
                use()
    for of, shape in (((2, 3), (2, 0)), ((2, 3), (0,)), ((2, 3), (0, 3)), ((2, 3), (0, 0)), ((0, 1), (0, 0)), ((2, 0), (2, 0)), ((0, 3), (0,))):
        values, x, mask = np.ones(of, "float32"), hk.ones(of), np.zeros(shape, bool)
        for key, ours in ((mask, hk.asarray(mask)), ((mask, ...), (hk.asarray(mask), ...))):
            assert x[ours].shape == values[key].shape
            x[ours] = 5
            x[ours] = hk.zeros(values[key].shape)
            assert x.tolist() == values.tolist()
