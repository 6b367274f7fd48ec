"""The array API standard 2025.12: names, signatures, defaults, dtypes. What is not there is listed here."""

import inspect

import numpy as np
import pytest

import hocket as hk

STANDARD = """
e inf nan newaxis pi
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype can_cast finfo iinfo isdtype result_type
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor
ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan
less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter
not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc
take take_along_axis matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin count_nonzero nonzero searchsorted where isin
unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff __array_namespace_info__
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
""".split()
LINALG = """cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr
slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()
FFT = "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn".split()
ARRAY = """dtype device mT ndim shape size T __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__
__eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__
__ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device""".split()
SIGNS = "add sub mul truediv floordiv pow mod matmul and or xor lshift rshift".split()


def test_all_names_are_there():
    assert not [name for name in STANDARD if not hasattr(hk, name)]
    assert not [name for name in LINALG if not hasattr(hk.linalg, name)]
    assert not [name for name in ARRAY if not hasattr(hk.Array, name)]
    assert not [sign for sign in SIGNS for way in "ri" if not hasattr(hk.Array, f"__{way}{sign}__")]
    assert not [name for name in FFT if not getattr(hk.fft, name).__doc__]
    assert hk.__array_api_version__ == "2025.12"
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert hk.zeros(1).__array_namespace__(api_version=version) is hk
    with pytest.raises(ValueError):
        hk.zeros(1).__array_namespace__(api_version="2020.12")
    assert not [name for name in STANDARD + LINALG if callable(getattr(hk, name, None)) and not getattr(hk, name).__doc__]


@pytest.mark.parametrize("name", "sum mean max min prod std var all any".split())
def test_signatures_of_reductions(name):
    parameters = inspect.signature(getattr(hk, name)).parameters
    assert parameters["keepdims"].kind is inspect.Parameter.KEYWORD_ONLY and parameters["axis"].default is None


def test_default_dtypes():
    assert hk.zeros(2).dtype == hk.ones(2).dtype == hk.empty(2).dtype == hk.eye(2).dtype == hk.linspace(0, 1, 2).dtype == hk.float32
    assert hk.asarray(1).dtype == hk.arange(3).dtype == hk.argmax(hk.zeros(2)).dtype == hk.nonzero(hk.zeros(2))[0].dtype == hk.int64
    assert hk.asarray(1.5).dtype == hk.arange(3.0).dtype == hk.asarray([]).dtype == hk.full(2, 1.0).dtype == hk.float32
    assert hk.asarray(True).dtype == hk.full((), False).dtype == hk.bool
    assert hk.asarray([1, 2.5, True]).dtype == hk.float32 and hk.asarray([1, True]).dtype == hk.int64
    assert hk.asarray(np.zeros(2)).dtype == hk.float64
    info = hk.__array_namespace_info__()
    assert info.default_dtypes()["integral"] == hk.int64 and "float64" in info.dtypes(kind="real floating")
    assert info.default_device() == "cpu:0" and info.devices() == tuple(hk.devices()) and info.capabilities()["boolean indexing"]


@pytest.mark.parametrize("dtype", "int8 uint8 int32 uint64 float16 float32 float64 bfloat16".split())
def test_pythons_numbers_take_the_arrays_dtype(dtype):
    x = hk.asarray([1, 2, 3], dtype=dtype)
    for y in (x + 1, 2 * x, x - True, 3 // x, x % 2, hk.maximum(x, 2), hk.where(x > 1, x, 0)):
        assert y.dtype == x.dtype
    real = dtype if "float" in dtype else "float32"
    assert (x * 0.5).dtype == real and (x / 2).dtype == real and hk.sqrt(x).dtype == real
    if "float" not in dtype:
        with pytest.raises(OverflowError):
            x + 10**30


def test_dtypes():
    assert hk.result_type(hk.int8, hk.uint8) == hk.int16 and hk.result_type(hk.zeros(1), 1, True) == hk.float32
    assert hk.result_type(hk.int64, hk.float32) == hk.float32 and hk.result_type(1, 2.0) == hk.float32
    with pytest.raises(TypeError):
        hk.result_type(hk.int64, hk.uint64)
    assert hk.can_cast(hk.int8, hk.int16) and not hk.can_cast(hk.int16, hk.int8) and not hk.can_cast(hk.float32, hk.int64)
    for a in "int8 uint16 int32 int64 float32 float64 bool".split():
        for b in "int8 uint16 int32 int64 float32 float64 bool".split():
            assert hk.can_cast(getattr(hk, a), getattr(hk, b)) == np.can_cast(a, b), (a, b)
    for name in "float16 float32 float64".split():
        mine, theirs = hk.finfo(getattr(hk, name)), np.finfo(name)
        assert (mine.bits, mine.eps, mine.max, mine.min, mine.smallest_normal) == (
            theirs.bits, float(theirs.eps), float(theirs.max), float(theirs.min), float(theirs.smallest_normal))
    for name in "int8 uint8 int64 uint64".split():
        mine, theirs = hk.iinfo(name), np.iinfo(name)
        assert (mine.bits, mine.max, mine.min) == (theirs.bits, theirs.max, theirs.min)
    assert hk.isdtype(hk.int8, "signed integer") and hk.isdtype(hk.float32, ("bool", "numeric")) and not hk.isdtype(hk.bool, "numeric")
    with pytest.raises(ValueError):
        hk.finfo(hk.int8)
    assert hk.asarray([1.7, -1.7]).astype(int).tolist() == [1, -1]
    x = hk.zeros(2)
    assert hk.astype(x, hk.float32, copy=False) is x and hk.astype(x, hk.float32) is not x


def test_text():
    x = hk.asarray([[1.0, -2.5], [3, 4]])
    assert repr(x) == "array([[ 1.,  -2.5],\n       [ 3.,   4. ]], device='cpu:0')"
    assert str(x) == "[[ 1.  -2.5]\n [ 3.   4. ]] @cpu:0"
    assert repr(hk.asarray(3)) == "array(3, dtype=int64, device='cpu:0')" and f"{hk.asarray(0.5):.2f}" == "0.50"
    assert repr(hk.arange(2000)).startswith("array([   0,    1,    2, ..., 1997")


def test_conversions_of_one_element():
    x = hk.asarray([2.5])
    assert float(x) == 2.5 and int(x) == 2 and bool(x) and complex(x) == 2.5 and x.item() == 2.5
    with pytest.raises(ValueError):
        float(hk.zeros(2))
    with pytest.raises(TypeError):
        [1, 2, 3][x]
    assert 2.5 in x and divmod(hk.asarray(7), 2)[0].item() == 3 and len(x) == 1
    assert [each.tolist() for each in hk.asarray([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]


def test_lists_of_arrays():
    rows = [hk.asarray([1, 2]), np.asarray([3, 4])]
    assert hk.asarray(rows).tolist() == [[1, 2], [3, 4]]
    assert hk.asarray([hk.asarray(1), 2.5]).tolist() == [1, 2.5]
    assert (hk.asarray([1, 2]) + [3, 4]).tolist() == [4, 6]
    for bad in ([[1, 2], [3]], [object()], {}, "abc", None):
        with pytest.raises((TypeError, ValueError)):
            hk.asarray(bad)


def test_results_go_into_out():
    x, out = hk.asarray([1.0, 4.0]), hk.zeros((2, 2))
    assert hk.sqrt(x, out=out[0]) is not None and hk.add(x, 1, out=out) is out
    assert out.tolist() == [[2, 5], [2, 5]]
    for refused, error in ((lambda: hk.add(x, hk.ones((3, 2)), out=out), ValueError), (lambda: hk.sqrt(x, out=hk.arange(2)), TypeError),
                           (lambda: hk.add(x, x, out=3), TypeError), (lambda: hk.add(x, x, out=hk.broadcast_to(x[:1], (2,))), ValueError)):
        with pytest.raises(error):
            refused()
    assert out.tolist() == [[2, 5], [2, 5]] and x.tolist() == [1, 4]
