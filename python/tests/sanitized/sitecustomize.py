"""For runs under the address sanitizer: what libraries make when they are imported, and keep for ever, is no leak."""

import ctypes

_sanitizer = ctypes.CDLL(None)
_sanitizer.__lsan_disable()
import numpy  # noqa: E402, F401

try:
    from PIL import Image  # noqa: E402
    Image.init()  # its modules of kinds of files, which are imported with the first file otherwise
except ImportError:
    pass
_sanitizer.__lsan_enable()
