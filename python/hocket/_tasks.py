"""Python functions as tasks."""

import atexit as _atexit

from . import _core

__all__ = ["task"]

_any = False


def _finish():
    """A thread that runs a function needs the interpreter."""
    try:
        _core._wait_all()
    except Exception:  # whoever looked at the arrays has been told
        pass


def _on_arrays(function):
    try:
        from numpy import asarray
    except ImportError:
        return lambda *views: function(*map(memoryview, views))
    return lambda *views: function(*map(asarray, views))


def task(function, *, reads=(), writes=(), updates=(), name=None):
    """Has function(*views) called when all calls before this one that it depends on are done; returns writes + updates, a list, at
    once.

    It gets a NumPy array (a memoryview where there is no NumPy) for each Array of reads, writes and updates, in this order, over the same
    memory: of reads it may only read, of writes it sets all elements, of updates it reads and sets what it likes. Calls after this one
    that use these Arrays wait for it, and nothing else does. It runs on a thread of its own with the GIL; what it calls may let go of that. It may not
    use Hocket's arrays, nor keep a view beyond its end. What it raises fails the Arrays that it writes: whoever looks at them gets the message,
    with the line of this call.

    Arrays are on the CPU, and none wants a gradient while this thread records. A captured step cannot have such a task.

    >>> hk.task(lambda x, y: x.cumsum(out=y), reads=[hk.arange(4, dtype=hk.float32)], writes=[hk.zeros(4)])
    [array([0., 1., 3., 6.], device='cpu:0')]
    """
    global _any
    if not callable(function):
        raise TypeError(f"function is {type(function).__name__}, which cannot be called")
    if not _any:
        _any = True
        _atexit.register(_finish)
    reads, writes, updates = list(reads), list(writes), list(updates)
    _core._task(_on_arrays(function), name or getattr(function, "__name__", "task"), reads + writes + updates, len(reads), len(writes))
    return writes + updates
