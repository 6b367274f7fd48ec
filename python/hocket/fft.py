"""Fourier transforms: the array API's extension. All lengths take time n log n, and are computed in double precision.

norm says which way is divided by the length n: "backward", the reverse transform; "forward", the other one; "ortho", both by its root.
"""

from . import _core

_op = _core.operators
_NORMS = ("backward", "ortho", "forward")  # in the order of hk_fft_norm


def _norm(norm):
    if norm not in _NORMS:
        raise ValueError(f"norm is {norm!r}, but may be one of {_NORMS}")
    return _NORMS.index(norm)


def _line(name, x, n, axis, norm):
    if n is not None and n < 1:
        raise ValueError(f"n is {n}, but must be 1 or more")
    return _op[name](x, n or 0, axis, _norm(norm))


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """Transforms along an axis, cut or filled up with zeros to n elements; a real x counts as complex.

    >>> hk.fft.fft(hk.asarray([1 + 0j, 0, 0, 0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64, device='cpu:0')
    """
    return _line("fft", x, n, axis, norm)


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The reverse of fft.

    >>> hk.fft.ifft(hk.asarray([4 + 0j, 0, 0, 0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64, device='cpu:0')
    """
    return _line("ifft", x, n, axis, norm)


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The first n // 2 + 1 elements of fft of a real x; the others are their conjugates.

    >>> hk.fft.rfft(hk.asarray([1.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64, device='cpu:0')
    """
    return _line("rfft", x, n, axis, norm)


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The reverse of rfft; n is 2 (size - 1) unless it is given.

    >>> hk.fft.irfft(hk.asarray([4 + 0j, 0, 0]))
    array([1., 1., 1., 1.], device='cpu:0')
    """
    return _line("irfft", x, n, axis, norm)


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """fft of a signal whose spectrum is real, of its first n // 2 + 1 elements; n is 2 (size - 1) unless it is given.

    >>> hk.fft.hfft(hk.asarray([1 + 0j, 0, 0]))
    array([1., 1., 1., 1.], device='cpu:0')
    """
    return _line("hfft", x, n, axis, norm)


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The reverse of hfft: the first n // 2 + 1 elements of ifft of a real x.

    >>> hk.fft.ihfft(hk.asarray([1.0, 0.0, 0.0, 0.0]))
    array([0.25-0.j, 0.25-0.j, 0.25-0.j], dtype=complex64, device='cpu:0')
    """
    return _line("ihfft", x, n, axis, norm)


def _several(name, x, s, axes, norm):
    if axes is not None and len(axes) == 0:
        raise ValueError("axes is empty, but must name one axis at least")
    s, axes = (() if each is None else tuple(each) for each in (s, axes))
    if any(size < 1 for size in s):
        raise ValueError(f"s is {s}, but all sizes must be 1 or more")
    return _op[name](x, s, axes, _norm(norm))


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """fft along several axes, the last ones or all unless they are given; s: their lengths.

    >>> hk.fft.fftn(hk.ones((2, 2), dtype=hk.complex64))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64, device='cpu:0')
    """
    return _several("fftn", x, s, axes, norm)


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """The reverse of fftn.

    >>> hk.fft.ifftn(hk.ones((2, 2), dtype=hk.complex64))
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64, device='cpu:0')
    """
    return _several("ifftn", x, s, axes, norm)


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """rfft along the last of several axes, then fft along the others.

    >>> hk.fft.rfftn(hk.ones((2, 2))).shape
    (2, 2)
    """
    return _several("rfftn", x, s, axes, norm)


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The reverse of rfftn; the last length is 2 (size - 1) unless it is given.

    >>> hk.fft.irfftn(hk.ones((2, 2), dtype=hk.complex64)).shape
    (2, 2)
    """
    return _several("irfftn", x, s, axes, norm)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Frequencies of the elements of fft, in cycles per unit of d, which is the distance of samples; float32 unless dtype says otherwise.

    >>> hk.fft.fftfreq(4)
    array([ 0.,    0.25, -0.5,  -0.25], device='cpu:0')
    """
    return _op["fftfreq"](n, d, dtype or _core.float32, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Frequencies of the elements of rfft, as fftfreq has them.

    >>> hk.fft.rfftfreq(4)
    array([0.,   0.25, 0.5 ], device='cpu:0')
    """
    return _op["rfftfreq"](n, d, dtype or _core.float32, device=device)


def _shifted(name, x, axes):
    if axes is not None and not isinstance(axes, int) and len(axes) == 0:
        return _op["copy"](x)
    return _op[name](x, () if axes is None else axes)


def fftshift(x, /, *, axes=None):
    """Axes rolled by half their size, so that frequency 0 comes to the middle; all unless they are given.

    >>> hk.fft.fftshift(hk.arange(4))
    array([2, 3, 0, 1], dtype=int64, device='cpu:0')
    """
    return _shifted("fftshift", x, axes)


def ifftshift(x, /, *, axes=None):
    """The reverse of fftshift.

    >>> hk.fft.ifftshift(hk.arange(4))
    array([2, 3, 0, 1], dtype=int64, device='cpu:0')
    """
    return _shifted("ifftshift", x, axes)
