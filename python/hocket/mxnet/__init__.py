"""A dialect for those who know MXNet: what *Dive into Deep Learning* uses in its chapters, as names over Hocket's.

``from hocket.mxnet import …`` in place of ``from mxnet import …``. Importing it adds methods to Array. gpu(i) is a GPU, else a simulated
accelerator, else a CPU device.
"""

import sys as _sys
from types import SimpleNamespace as _Names

from . import np, npx
from . import autograd, gluon, init
from .npx import cpu, gpu, num_gpus, waitall

context = _Names(cpu=cpu, gpu=gpu, num_gpus=num_gpus)
image = _Names()  # nothing that the chapters here use
numpy, numpy_extension = np, npx
for _name in ("numpy", "numpy_extension"):
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name]
_sys.modules[f"{__name__}.numpy.random"] = np.random
