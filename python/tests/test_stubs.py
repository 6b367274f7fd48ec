"""The stubs are those of the package, and name all that it has."""

import ast
import os
import subprocess
import sys

import hocket as hk

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_fresh():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "python_stubs.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_they_name_what_there_is():
    with open(os.path.join(ROOT, "python", "hocket", "__init__.pyi")) as file:
        body = ast.parse(file.read()).body
    names = {each.name for each in body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    names |= {each.target.id for each in body if isinstance(each, ast.AnnAssign)}
    assert not {name for name in hk._arrays.__all__ if name not in names}
    assert {"Array", "DType", "Device"} <= names
