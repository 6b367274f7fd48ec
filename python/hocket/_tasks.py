"""Work of a program's own: Python functions and compiled ones as tasks, and arrays that something else fills."""

import atexit as _atexit
import struct as _struct

from . import _core

__all__ = ["Kernel", "Promise", "kernel", "kernel_from_c", "priority", "promise", "task"]

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


class Kernel:
    """A compiled function as a task: see hk.kernel."""

    def __init__(self, address, name, owner=None):
        self._address, self._name, self._owner = address, name, owner

    def __call__(self, *, reads=(), writes=(), updates=(), accumulates=(), args=(), priority=0):
        """Issues a call, and returns writes + updates + accumulates, a list, at once.

        The function gets the Arrays in this order. args: bytes, or numbers, which it gets as doubles. Of what is ready a call of higher
        priority goes first. An Array of accumulates is added to: the function finds zeros, and what it makes of them is added to the Array
        when the call's turn comes, so that several such calls run at the same time.
        """
        modes = [(reads, 1), (writes, 2), (updates, 3), (accumulates, 4)]
        arrays = [x for some, _ in modes for x in some]
        bits = bytes(mode for some, mode in modes for _ in some)
        values = args if isinstance(args, (bytes, bytearray)) else _struct.pack(f"{len(args)}d", *args)
        _core._run(self._address, self._name, arrays, bits, bytes(values), priority)
        return arrays[len(reads):]

    def __repr__(self):
        return f"<hocket kernel {self._name}>"


def kernel(function, *, name=None):
    """A compiled function that can be called on Arrays, as a task on a core: without the GIL, at the same time as others.

    function: ``void f(void *const *data, const int64_t *sizes, const void *args)``: the first element and the number of elements of each
    Array, which have no gaps, and the call's args. Given as a function of ctypes, of Numba (``cfunc``), of cffi, or as its address, a number;
    what it belongs to must not be unloaded. It may not use Hocket. See Kernel.__call__ for the rest.

    >>> hk.kernel(0x7F00, name="half")
    <hocket kernel half>
    """
    import ctypes

    address = function
    if hasattr(function, "address"):  # Numba
        address = function.address
    elif isinstance(function, ctypes._CFuncPtr):
        address = ctypes.cast(function, ctypes.c_void_p).value
    elif not isinstance(function, int):
        try:
            address = int(_ffi().cast("intptr_t", function))
        except (ImportError, TypeError):
            raise TypeError(f"function is {type(function).__name__}; a function of ctypes, Numba or cffi would be right, or an address") from None
    if not address or address < 0:
        raise ValueError(f"the address of the function is {address}; a function that is there would be right")
    return Kernel(address, name or getattr(function, "__name__", "kernel"), function)


def _ffi():
    from cffi import FFI

    return FFI()


def kernel_from_c(source, name, *, compiler="cc", options=("-O3", "-march=native")):
    """hk.kernel of a function in C, which is compiled now: see there. source: C that defines ``name``; <stdint.h> and <math.h> are included.

    >>> hk.kernel_from_c("void f(void **x, int64_t *n, double *a) { for (int i = 0; i < *n; i++) ((float *)*x)[i] *= *a; }", "f")(updates=[hk.ones(3)], args=[.5])
    [array([0.5, 0.5, 0.5], device='cpu:0')]
    """
    import ctypes
    import os
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        text, library = os.path.join(folder, "kernel.c"), os.path.join(folder, "kernel.so")
        with open(text, "w") as file:
            file.write(f"#include <stdint.h>\n#include <math.h>\n#line 1 \"{name}.c\"\n{source}\n")
        own = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}  # which is for this process
        done = subprocess.run([compiler, "-shared", "-fPIC", *options, "-o", library, text, "-lm"], capture_output=True, text=True, env=own)
        if done.returncode:
            raise ValueError(f"{compiler} refuses the source:\n{done.stderr.strip()}")
        loaded = ctypes.CDLL(library)
    try:
        return kernel(loaded[name], name=name)
    except AttributeError:
        raise ValueError(f"the source has no function {name!r}") from None


class Promise:
    """Arrays that something else will fill: see hk.promise."""

    def __init__(self, handle):
        self._handle = handle

    def view(self, index=0):
        """The memory of an Array, writes first, as a NumPy array (a memoryview where there is no NumPy). It is not to be used after keep.

        Waits while earlier calls use the memory, which none does with a new Array."""
        try:
            from numpy import asarray
        except ImportError:
            asarray = memoryview
        return asarray(self._handle._view(index))

    def keep(self):
        """The Arrays are as they are to be: what waits for them goes on. Any thread may call it, once."""
        self._handle.keep()

    def fail(self, message):
        """The Arrays fail by this message, and everything that reads them."""
        self._handle.fail(str(message))

    @property
    def is_open(self):
        """Whether it can be kept yet: it has not been, nor has an Array that it updates failed."""
        return self._handle.is_open()


def promise(*, writes=(), updates=(), name=None):
    """A Promise to fill Arrays: calls that use them may be issued at once, and run when it has been kept, by whatever thread.

    One that nobody refers to any more fails its Arrays.

    >>> [(made.is_open, made.keep()) for made in [hk.promise(writes=[hk.zeros(4)])]]
    [(True, None)]
    """
    writes, updates = list(writes), list(updates)
    return Promise(_core._promise(name or "promise", writes + updates, len(writes)))


class priority:
    """Calls that this thread issues within it, Hocket's own too, have this priority: of what is ready, the highest goes first.

    value: from 0, which is usual, to 255. Results are the same.

    >>> with_priority = hk.priority(2)
    """

    def __init__(self, value):
        self._value = value

    def __enter__(self):
        self._before = _core._priority(self._value)

    def __exit__(self, *_):
        _core._priority(self._before)
