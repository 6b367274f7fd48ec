"""What Hocket raises.

Each is a Python exception, too: ``except IndexError`` catches ``hocket.IndexError``. What is known at a call is raised there; what fails
later is raised where a value is looked at. A note says on which line the call was issued.
"""

import builtins as _b
import re as _re


class Error(Exception):
    """Any failure of Hocket's.

    code: such as "out of range". operation, device, inputs: of the call that failed first, "" where there is none. file, line: where it
    was issued, "" and 0 where that is not known. count: how many failures ``hocket.wait`` stands for, else 1.
    """

    code = operation = device = inputs = file = ""
    line = 0
    count = 1

    def __reduce__(self):
        """Without the modules that it came up in, which a note tells."""
        made, given, state = super().__reduce__()
        return made, given, {name: value for name, value in state.items() if name != "_module"}


class ValueError(Error, _b.ValueError):
    """A shape, dtype, device or option that a call cannot take, or a file that is not what it claims to be."""


class IndexError(Error, _b.IndexError):
    """An index, axis or label beyond its bounds."""


class ZeroDivisionError(Error, _b.ZeroDivisionError):
    """An integer was divided by 0."""


class MemoryError(Error, _b.MemoryError):
    """A device or the host could not give the bytes asked for."""


class NotFoundError(Error, _b.FileNotFoundError):
    """No such device, file, operator or data set."""


class FileError(Error, _b.OSError):
    """The operating system refused to read or write."""


class UnsupportedError(Error, _b.NotImplementedError):
    """Valid, but not on this device, for this dtype, or without a gradient."""


class DeviceError(Error, _b.RuntimeError):
    """A device stopped working, the runtime ended, or the array belongs to the process that forked this one."""


class TimeoutError(Error, _b.TimeoutError):
    """A wait reached its limit; nothing has failed."""


_CLASSES = {
    "invalid argument": ValueError,
    "bad data": ValueError,
    "out of range": IndexError,
    "out of memory": MemoryError,
    "not found": NotFoundError,
    "unsupported": UnsupportedError,
    "input/output error": FileError,
    "timed out": TimeoutError,
}


# What messages call by C's names, where Python's are others than hk.NAME for hk_NAME.
_IN_PYTHON = {
    "HK_RECORD": "hk.record()",
    "between hk_pause_begin and hk_pause_end": "within hk.pause()",
    "hk_attach_grad": "attach_grad()",
    "hk_backward_all": "hk.backward([…])",
    "hk_backward_with": "keep=True",
    "hk_cast": "astype()",
    "hk_detach": "detach()",
    "hk_to_device": "to_device()",
    "hk_capture_begin": "@hk.capture",
    "hk_runtime_init": "hk.runtime()",
}


# What operators are called here, where that is another name.
_NAMES = {
    "cast": "astype",
    "cross_entropy_loss": "cross_entropy",
    "data_borrow": "lend",
    "index_select": "take",
    "matrix_trace": "trace",
    "random_int": "integers",
    **{f"random_{name}": name for name in ("bernoulli", "categorical", "choice", "exponential", "gamma", "normal", "uniform")},
    "softmax_cross_entropy": "cross_entropy",
}


def _in_python(message):
    if "hk_" in message or "HK_" in message:
        for name, python in _IN_PYTHON.items():
            message = _re.sub(rf"\b{name}\b", python, message)
        message = _re.sub(r"\bhk_([a-z0-9_]+)", r"hk.\1", message)
    return message


def _raise(code, message, operation, device, inputs, line, file, count):
    """Called by the extension module with what a record says."""
    cls = ZeroDivisionError if message.startswith("division by zero") else _CLASSES.get(code, DeviceError)
    message = _in_python(message).replace("overwritten by data_borrow", "overwritten by lend()")
    operation = _NAMES.get(operation, operation)
    text = f"{operation}: {message}" if operation else message
    error = cls(text)
    error.code, error.operation, error.device, error.inputs = code, operation, device, inputs
    error.file, error.line, error.count = file, line, count
    if line:
        where = f"issued at {file}:{line}"
        if inputs:
            where += f" with {inputs}"
        if device:
            where += f" on {device}"
        error.add_note(where)
    if count > 1:
        error.add_note(f"the first of {count} failures")
    raise error
