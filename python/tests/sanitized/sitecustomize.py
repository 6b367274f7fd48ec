"""For runs under the address sanitizer: what NumPy makes when it is imported, and keeps for ever, counts as no leak."""

import ctypes

_sanitizer = ctypes.CDLL(None)
_sanitizer.__lsan_disable()
import numpy  # noqa: E402, F401
_sanitizer.__lsan_enable()
