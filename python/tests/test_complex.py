"""Complex arrays and Fourier transforms, against NumPy."""

import inspect
import pickle

import hocket as hk
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
DTYPES = ("complex64", "complex128")
random = np.random.default_rng(5)


def draw(*shape, dtype="complex128"):
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)


def close(x, expected, tolerance=None):
    expected = np.asarray(expected)
    assert x.dtype == expected.dtype, (x.dtype, expected.dtype)
    single = expected.dtype in (np.complex64, np.float32)
    np.testing.assert_allclose(np.asarray(x), expected, rtol=tolerance or (3e-6 if single else 1e-12), atol=1e-6 if single else 1e-13)


UNARY = ("negative exp expm1 log log1p log2 log10 sqrt square reciprocal sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh "
         "arccosh arctanh abs conj real imag angle isnan isinf isfinite sign round").split()
STANDARD = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions(name, dtype):
    ours = getattr(hk, STANDARD.get(name, name))
    theirs = (lambda a: a / np.abs(a)) if name == "sign" else getattr(np, name)  # NumPy's before 2.0 is another
    for shape in ((37,), (), (3, 0), (4, 5, 3)):
        a = draw(*shape, dtype=dtype)
        close(ours(hk.asarray(a)), theirs(a))
        if a.ndim == 3:
            close(ours(hk.asarray(a)[::2, 1:, ::-1]), theirs(a[::2, 1:, ::-1]))
            close(ours(hk.asarray(a).T), theirs(a.T))


SPECIAL = [complex(re, im) for re in (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan) for im in (0.0, -0.0, 0.5, np.inf, -np.inf, np.nan)]
# NumPy leaves these to the C library as we do, or has the values of Annex G itself.
AS_ANNEX_G = "exp log sqrt sinh cosh tanh arcsinh arccosh arctanh abs isnan isinf isfinite conj".split()


@pytest.mark.parametrize("name", AS_ANNEX_G)
def test_special_values(name):
    a = np.array(SPECIAL)
    ours, theirs = np.asarray(getattr(hk, STANDARD.get(name, name))(hk.asarray(a))), getattr(np, name)(a)
    for value, x, y in zip(SPECIAL, ours, theirs):
        for part in ("real", "imag"):
            p, q = getattr(x, part), getattr(y, part)
            assert np.isnan(p) and np.isnan(q) or np.isclose(p, q, rtol=1e-13, atol=0) or abs(p) == abs(q) == np.inf, (name, value, x, y)


BINARY = ("add", "subtract", "multiply", "divide", "equal", "not_equal")


@pytest.mark.parametrize("dtypes", [("complex64", "complex64"), ("complex64", "float32"), ("float64", "complex64"),
                                    ("complex128", "complex64"), ("complex128", "float32"), ("int32", "complex128")])
def test_pairs(dtypes):
    shapes = [((7,), (7,)), ((3, 1), (1, 4)), ((1,), (2, 3)), ((0, 2), (2,))]
    for name in BINARY + ("power",):
        for first, second in shapes:
            a, b = (draw(*shape).astype(dtype) if dtype.startswith("c") else (3 + random.random(size=shape)).astype(dtype)
                    for shape, dtype in zip((first, second), dtypes))
            x, y = hk.asarray(a), hk.asarray(b)
            expected = getattr(np, name)(a, b)
            close(getattr(hk, name)(x, y) if name != "divide" else x / y, expected, 2e-5 if "complex64" in str(expected.dtype) else None)


def test_promotion():
    assert hk.result_type(hk.float32, hk.complex64) == hk.complex64
    assert hk.result_type(hk.float64, hk.complex64) == hk.complex128
    assert hk.result_type(hk.int32, hk.complex64) == hk.complex64
    assert hk.result_type(hk.float64, 1j) == hk.complex128
    assert hk.result_type(hk.int8, 1j) == hk.complex64
    assert hk.can_cast(hk.float32, hk.complex64) and not hk.can_cast(hk.float64, hk.complex64)
    assert hk.can_cast(hk.int16, hk.complex64) and not hk.can_cast(hk.complex64, hk.float64)
    assert hk.isdtype(hk.complex64, "complex floating") and hk.isdtype(hk.complex128, "numeric")
    assert not hk.isdtype(hk.complex64, "real floating")
    assert hk.finfo(hk.complex128).eps == np.finfo("complex128").eps and hk.finfo(hk.complex64).dtype == hk.float32
    info = hk.__array_namespace_info__()
    assert info.dtypes(kind="complex floating") == {"complex64": hk.complex64, "complex128": hk.complex128}
    assert info.default_dtypes()["complex floating"] == hk.complex64


def test_python_numbers():
    x = hk.asarray([1.0, 2.0])
    assert (x + 1j).dtype == hk.complex64 and (x.astype(hk.float64) * 1j).dtype == hk.complex128
    assert (hk.asarray([1, 2]) - 2j).dtype == hk.complex64
    z = hk.asarray([1 + 2j, 3])
    assert z.dtype == hk.complex64 and (z * 2).dtype == hk.complex64 and (z / 2.5).dtype == hk.complex64
    assert (1j - z).tolist() == [-1 - 1j, -3 + 1j]
    assert (2 / z).tolist() == pytest.approx([2 / (1 + 2j), 2 / 3])
    assert (z ** 2).tolist() == [(1 + 2j) ** 2, 9]
    assert complex(z[0]) == 1 + 2j and z[0].item() == 1 + 2j
    assert (z == 3).tolist() == [False, True]
    with pytest.raises(TypeError):
        float(z[0])
    z[0] = 5j
    z += 1
    assert z.tolist() == [1 + 5j, 4]
    with pytest.raises(TypeError):
        x[0] = 1j
    with pytest.raises(TypeError):
        x += 1j
    assert x.tolist() == [1, 2]
    assert hk.full((2,), 1 + 1j).tolist() == [1 + 1j] * 2
    assert hk.full((2,), 2, dtype=hk.complex128).tolist() == [2, 2]
    assert hk.full_like(z, 1j).tolist() == [1j, 1j]
    assert hk.eye(2, dtype=hk.complex64).tolist() == [[1, 0], [0, 1]]
    assert hk.linspace(0, 1j, 3).tolist() == [0, 0.5j, 1j]
    assert hk.linspace(0, 2, 3, dtype=hk.complex128).tolist() == [0, 1, 2]
    assert hk.where(hk.asarray([True, False]), z, 1j).tolist() == [1 + 5j, 1j]
    assert hk.zeros((0,), dtype=complex).dtype == hk.complex64


def test_facts_and_texts():
    z = hk.asarray([1 + 2j, 3.5 - 1j, 0.1j])
    assert z.itemsize == 8 and z.real.tolist() == [1, 3.5, 0] and z.imag.dtype == hk.float32
    assert z.conj().tolist() == [1 - 2j, 3.5 + 1j, pytest.approx(-0.1j)]
    assert repr(z) == "array([1. +2.j,  3.5-1.j,  0. +0.1j], dtype=complex64, device='cpu:0')"
    for a in (draw(3), draw(2, 3), draw(2, 2, 2), draw(1500), np.array([1e9 + 1j, np.nan, 1j * np.inf])):
        assert str(hk.asarray(a)).split(" complex128")[0] == str(a)
    for value in (1 + 2j, 0j, -0.5j, complex(1e20, -3), complex(np.nan, np.inf)):
        assert str(hk.asarray(np.array(value))).split(" complex128")[0] == str(np.array(value))
    assert hk.asarray(np.complex64(2)).dtype == hk.complex64
    assert pickle.loads(pickle.dumps(z)).tolist() == z.tolist()


def test_interchange():
    a = draw(3, 4)
    for dtype in DTYPES:
        b = a.astype(dtype)
        assert np.array_equal(np.asarray(hk.asarray(b)), b)
        assert np.array_equal(np.asarray(hk.asarray(b[::2, ::-1])), b[::2, ::-1])
        assert np.array_equal(np.from_dlpack(hk.asarray(b)), b)
        assert np.array_equal(np.asarray(hk.from_dlpack(b)), b)
        assert memoryview(hk.asarray(b)).format == ("Zf" if dtype == "complex64" else "Zd")
        shared = hk.asarray(b, copy=False)
        shared += 1
        assert np.array_equal(np.asarray(shared), b)


def test_moves():
    a = draw(3, 4, dtype="complex64")
    x = hk.asarray(a)
    assert np.array_equal(np.asarray(hk.concat([x, x[:, ::2]], axis=1)), np.concatenate([a, a[:, ::2]], axis=1))
    assert np.array_equal(np.asarray(hk.take(x, hk.asarray([2, 0]), axis=0)), a[[2, 0]])
    assert np.array_equal(np.asarray(x[x.real > 0]), a[a.real > 0])
    assert np.array_equal(np.asarray(hk.pad(x, 1, constant_values=2)), np.pad(a, 1, constant_values=2))
    assert np.array_equal(np.asarray(hk.tril(hk.flip(x, axis=0))), np.tril(a[::-1]))
    assert np.array_equal(np.asarray(x.astype(hk.complex128).astype(hk.complex64)), a)
    assert [each.tolist() for each in hk.nonzero(hk.asarray([0, 1j, 2]))] == [[1, 2]]
    with pytest.raises(hk.UnsupportedError, match="imaginary"):
        x.astype(hk.float32).wait()
    assert x.astype(hk.bool).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype):
    a = draw(3, 4, 5, dtype=dtype) * 0.5
    x = hk.asarray(a)
    for axis in (None, 0, (0, 2), -1, (0, 1, 2)):
        for name in ("sum", "prod", "mean", "any", "all", "count_nonzero"):
            close(getattr(hk, name)(x, axis=axis), getattr(np, name)(a, axis=axis))
    close(hk.cumulative_sum(x, axis=1), np.cumsum(a, axis=1))
    close(hk.cumulative_prod(x, axis=2), np.cumprod(a, axis=2))
    close(hk.sum(hk.asarray([True, False]), dtype=getattr(hk, dtype)), np.sum([True, False], dtype=dtype))
    close(hk.diff(x, axis=1), np.diff(a, axis=1))
    for ord in (0, 1, 2, 3, np.inf, -np.inf):
        close(hk.linalg.vector_norm(x, ord=ord), np.linalg.norm(a.ravel(), ord=ord).real)
    close(hk.linalg.trace(x), np.trace(a, axis1=1, axis2=2))
    assert hk.allclose(x, x + 1e-9) and not hk.allclose(x, x + 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype):
    a, b = draw(2, 3, 4, dtype=dtype), draw(4, 5, dtype=dtype)
    x, y = hk.asarray(a), hk.asarray(b)
    close(x @ y, a @ b, 1e-5)
    close(x @ y[:, 0], a @ b[:, 0], 1e-5)
    close(x @ y.real, a @ b.real, 1e-5)
    close(hk.einsum("bij,jk->kb", x, y), np.einsum("bij,jk->kb", a, b), 1e-5)
    close(hk.tensordot(x, y, axes=1), np.tensordot(a, b, axes=1), 1e-5)
    close(hk.vecdot(x, y[:, 0]), np.einsum("bij,j->bi", a.conj(), b[:, 0]), 1e-5)
    close(hk.linalg.outer(y[:, 0], y[:, 1]), np.outer(b[:, 0], b[:, 1]), 1e-5)


def test_equations():
    a, b = draw(2, 3, 3), draw(3, 2)
    close(hk.linalg.inv(hk.asarray(a)), np.linalg.inv(a), 1e-10)
    close(hk.linalg.solve(hk.asarray(a), hk.asarray(b)), np.linalg.solve(a, b[None].repeat(2, axis=0)), 1e-10)
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        close(hk.linalg.matrix_norm(hk.asarray(a[0]), ord=ord), np.linalg.norm(a[0], ord=ord))
    close(hk.linalg.cross(hk.asarray(a), hk.asarray(a[:, ::-1])), np.cross(a, a[:, ::-1]))
    close(hk.linalg.matrix_power(hk.asarray(a), -3), np.linalg.matrix_power(a, -3), 1e-9)


def test_sets():
    for values in ([1, 1j, 1, 1 + 1j, 1j, -1, 1], [], [2j], [[1j, 1j], [0, 1j]]):
        a = np.array(values, dtype=complex)
        for ours, theirs in zip(hk.unique_all(hk.asarray(a)), np.unique(a, return_index=True, return_inverse=True, return_counts=True)):
            assert np.array_equal(np.asarray(ours).ravel(), theirs.ravel())
        assert hk.unique_inverse(hk.asarray(a)).inverse_indices.shape == a.shape
        assert np.array_equal(np.asarray(hk.unique_values(hk.asarray(a))), np.unique(a))
        assert hk.unique_counts(hk.asarray(a)).counts.dtype == hk.int64


def test_files(tmp_path):
    a, b = draw(3, 2), draw(4, dtype="complex64")
    hk.save(tmp_path / "a.npy", hk.asarray(a))
    assert np.array_equal(np.load(tmp_path / "a.npy"), a)
    np.save(tmp_path / "b.npy", np.asfortranarray(a).astype(">c16"))
    assert np.array_equal(np.asarray(hk.load(tmp_path / "b.npy")), a)
    hk.save(tmp_path / "c.npz", {"a": hk.asarray(a), "b": hk.asarray(b)})
    assert np.array_equal(np.load(tmp_path / "c.npz")["b"], b)
    hk.save(tmp_path / "d.safetensors", {"b": hk.asarray(b)})
    assert np.array_equal(np.asarray(hk.load(tmp_path / "d.safetensors")["b"]), b)
    with pytest.raises(hk.UnsupportedError, match="complex128"):
        hk.save(tmp_path / "e.safetensors", {"a": hk.asarray(a)})


def test_refusals():
    z = hk.asarray([1 + 2j, 3])
    for call in (lambda: z < z, lambda: hk.maximum(z, 1.0), lambda: hk.sort(z), lambda: hk.max(z), lambda: hk.floor(z), lambda: z // 2):
        with pytest.raises(hk.UnsupportedError, match="no order"):
            call().wait()


def test_gradients():
    a = draw(4)
    z = hk.asarray(a)
    z.attach_grad()
    with hk.record():
        loss = hk.sum(hk.abs(hk.fft.fft(z * (1 + 2j))) ** 2)
    loss.backward()
    close(z.grad, 2 * 4 * 5 * a)  # Parseval: n |c|^2 sum |z|^2
    r = hk.asarray(a.real)
    r.attach_grad()
    with hk.record():
        loss = hk.sum(hk.fft.irfft(hk.fft.rfft(r) * 3.0))
    loss.backward()
    close(r.grad, np.full(4, 3.0))
    with hk.record():
        y = z * z
    with pytest.raises(hk.Error, match="complex128"):
        y.backward()
        z.grad.wait()


# ---- Fourier transforms

SIZES = list(range(1, 33)) + [64, 67, 100, 1000, 1009, 4096]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms(name, dtype):
    ours, theirs = getattr(hk.fft, name), getattr(np.fft, name)
    for n in SIZES:
        a = draw(2, n, dtype=dtype)
        a = a.real if name in ("rfft", "ihfft") else a
        norm = ("backward", "ortho", "forward")[n % 3]
        for more in ({}, {"n": n + 3}, {"n": max(1, n - 2)}, {"axis": 0, "n": 3}):
            if not more and n == 1 and name in ("irfft", "hfft"):
                continue
            wide = a.astype("complex128" if np.iscomplexobj(a) else "float64")  # NumPy 2 computes complex64 as such
            y, expected = np.asarray(ours(hk.asarray(a), norm=norm, **more)), theirs(wide, norm=norm, **more)
            assert y.shape == expected.shape
            error = np.linalg.norm(y - expected) / max(np.linalg.norm(expected), 1e-30)
            assert error < (2e-7 if dtype == "complex64" else 2e-15 * (1 + np.log2(n + 3))), (name, n, more, error)


def test_several_axes():
    a = draw(4, 5, 6)
    for name, b in (("fftn", a), ("ifftn", a), ("rfftn", a.real), ("irfftn", a)):
        ours, theirs = getattr(hk.fft, name), getattr(np.fft, name)
        for more in ({}, {"axes": (2, 0)}, {"s": (3, 8)}, {"s": (7, 2), "axes": (0, -2)}, {"norm": "ortho"}):
            theirs_more = dict(more, axes=(1, 2)) if more == {"s": (3, 8)} else more
            close(ours(hk.asarray(b), **more), theirs(b, **theirs_more))
        with pytest.raises((hk.Error, ValueError)):
            ours(hk.asarray(b), axes=(0, 0)).wait()


def test_frequencies():
    for n in (1, 2, 7, 8):
        close(hk.fft.fftfreq(n, d=0.5, dtype=hk.float64), np.fft.fftfreq(n, 0.5))
        close(hk.fft.rfftfreq(n, dtype=hk.float64), np.fft.rfftfreq(n))
    assert hk.fft.fftfreq(4).dtype == hk.float32
    a = draw(4, 5)
    for axes in (None, 0, (0, 1), ()):
        close(hk.fft.fftshift(hk.asarray(a), axes=axes), np.fft.fftshift(a, axes=axes))
        close(hk.fft.ifftshift(hk.asarray(a), axes=axes), np.fft.ifftshift(a, axes=axes))


def test_transforms_refuse():
    z = hk.asarray([1 + 2j, 3])
    with pytest.raises(ValueError):
        hk.fft.fft(z, norm="both")
    with pytest.raises(ValueError):
        hk.fft.fft(z, n=0)
    with pytest.raises(hk.Error):
        hk.fft.rfft(z).wait()
    with pytest.raises(hk.Error):
        hk.fft.fft(z, axis=1).wait()


NUMBERS = """axis n norm offset shift axes keepdims mode k count value side shape sizes order kernel stride padding low high min max start
stop step descending largest classes""".split()


def test_every_operator_computes_or_refuses():
    shapes = [(3,), (3, 3), (2, 3, 3), (), (0, 3)]
    kinds = ["complex64", "complex128", "float32", "int32"]
    for name, operator in hk._core.operators.items():
        names = [each for each, p in inspect.signature(operator).parameters.items() if p.kind is not p.KEYWORD_ONLY]
        for _ in range(8):
            shape = shapes[random.integers(5)]
            given = [[0, 1, -1, 2, (0,), None][random.integers(6)] if each in NUMBERS else "complex64" if each == "dtype" else
                     hk.asarray(draw(*shape).real.astype(kind) if kind[0] != "c" else draw(*shape, dtype=kind))
                     for each, kind in ((each, kinds[random.integers(4)]) for each in names)]
            try:
                results = operator(*given)
                for result in results if isinstance(results, tuple) else (results,):
                    str(result)
            except (hk.Error, TypeError, ValueError, OverflowError):
                pass
