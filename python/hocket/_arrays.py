"""The array API standard's names over the operators of the library, and what NumPy's users expect beside them."""

from . import _core
from . import _creation, _dtypes, _elementwise, _manipulation, _operators, _reductions
from ._creation import *  # noqa: F401,F403
from ._dtypes import *  # noqa: F401,F403
from ._elementwise import *  # noqa: F401,F403
from ._manipulation import *  # noqa: F401,F403
from ._operators import *  # noqa: F401,F403
from .errors import Error
from ._reductions import *  # noqa: F401,F403

e, pi, inf, nan, newaxis = 2.718281828459045, 3.141592653589793, float("inf"), float("nan"), None

__all__ = ["e", "pi", "inf", "nan", "newaxis", "wait"]
for _module in (_creation, _dtypes, _elementwise, _manipulation, _operators, _reductions):
    __all__ += _module.__all__


def wait(*arrays):
    """Waits for these arrays, or without any for all calls issued so far. Raises what failed first.

    Without arrays, what was raised at its call is not raised again, nor what an earlier wait() has raised.
    """
    if not arrays:
        try:
            _core._wait_all()
        except Error:
            _core._failures_clear()
            raise
    for x in arrays:
        x.wait()


def __array_namespace_info__():
    """What can be asked of this namespace: devices, dtypes, defaults."""
    return _dtypes._Info()


__all__.append("__array_namespace_info__")
