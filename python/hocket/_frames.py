"""Where the program stands that called the package."""

import os as _os
import sys as _sys

_FOLDER = _os.path.dirname(_os.path.abspath(__file__)) + _os.sep


def levels_out():
    """For warnings.warn of the function that calls this: the stacklevel of the first frame outside of the package."""
    frame, level = _sys._getframe(1), 1
    while frame.f_back and _os.path.abspath(frame.f_code.co_filename).startswith(_FOLDER):
        frame, level = frame.f_back, level + 1
    return level
