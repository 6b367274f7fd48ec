"""Hocket: asynchronous arrays, automatic differentiation and training on many devices.

Calls return at once, and what does not depend on something unfinished runs at the same time. Looking at values waits for them.
"""

import os as _os

from . import _core
from . import errors
from ._core import Array, Device, DType, devices
from .errors import Error, DeviceError, IndexError, MemoryError, UnsupportedError, ValueError, ZeroDivisionError

_core._set_package_folder(_os.path.dirname(_os.path.abspath(__file__)) + _os.sep)
_core._set_raise(errors._raise)

from ._core import (  # noqa: E402
    bfloat16, bool, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
)
from ._arrays import *  # noqa: E402,F401,F403
from . import _indexing, _methods, fft, linalg  # noqa: E402,F401

_core._set_indexing(_indexing.get, _indexing.set)

# Training
from ._grad import *  # noqa: E402,F401,F403
from ._files import load, load_checkpoint, save, save_checkpoint  # noqa: E402
from ._runs import *  # noqa: E402,F401,F403
from ._models import *  # noqa: E402,F401,F403
from ._tokenizers import *  # noqa: E402,F401,F403
from ._tasks import *  # noqa: E402,F401,F403
from . import random  # noqa: E402
from .random import seed  # noqa: E402
from . import nn, optim, data, world  # noqa: E402
from ._capture import capture  # noqa: E402

__version__ = "0.1.0"
__array_api_version__ = "2025.12"
