"""Files that are read and written, and the pictures that `hocket trace` draws."""

from __future__ import annotations

import os
import subprocess
import tempfile

from errors import CannotAccess

_MOST_BYTES = 1 << 32


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def read_file(operation: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise CannotAccess(operation, f'cannot read "{path}": {_reason(error)}') from None
    if len(data) > _MOST_BYTES:
        raise CannotAccess(operation, f'cannot read "{path}": it has more than {_MOST_BYTES} bytes')
    return data


def write_file(path: str, text: str) -> None:
    """Writes the file beside where it belongs and moves it there, so that it is never half a file."""
    is_device = os.path.exists(path) and not os.path.isfile(path)
    draft = path if is_device else f"{os.path.realpath(path)}.{os.getpid()}.part"
    try:
        try:
            with open(draft, "w", encoding="utf-8") as file:
                file.write(text)
            if draft != path:
                os.replace(draft, os.path.realpath(path))
        except BaseException:
            if draft != path and os.path.exists(draft):
                os.unlink(draft)
            raise
    except OSError as error:
        raise CannotAccess("trace_write", f'cannot write "{path}": {_reason(error)}') from None


def draw_trace(hocket: str, trace: str, html: str | None, svg: str | None) -> bool:
    """Has `hocket trace` draw the trace, a file's text, into these files. It says itself what goes wrong: then
    False."""
    options = [f"--{name}={path}" for name, path in (("html", html), ("svg", svg)) if path]
    with tempfile.TemporaryDirectory(prefix="hocket-forecast-") as folder:
        path = os.path.join(folder, "step.json")
        write_file(path, trace)
        try:
            return subprocess.run([hocket, "trace", *options, path], stdout=subprocess.DEVNULL).returncode == 0
        except OSError as error:
            raise CannotAccess("forecast", f'cannot start "{hocket}": {_reason(error)}') from None
