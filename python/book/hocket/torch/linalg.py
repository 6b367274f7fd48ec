"""torch.linalg: hocket.linalg, whose matrices' decompositions are named tuples too, and PyTorch's norm."""

from ..linalg import *  # noqa: F401,F403
from ..linalg import vector_norm as _vector_norm


def norm(A, ord=None, dim=None, keepdim=False):
    """The norm of all elements, or along axes."""
    return _vector_norm(A, axis=dim, ord=2 if ord is None else ord, keepdims=keepdim)
