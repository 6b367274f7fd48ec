"""How arrays, modules, timelines, graphs and captured steps show themselves in a notebook."""

import base64 as _base64
import html as _html
import shutil as _shutil
import subprocess as _subprocess

from ._core import Array


def _text(text):
    return f"<pre style='margin:0'>{_html.escape(text)}</pre>"


def array(self):
    """Shape, dtype and device, and the values as text. Waits for them."""
    values = str(self).rsplit(" @", 1)[0].removesuffix(f" {self.dtype}")
    return f"<div><small>{self.shape} {self.dtype} on {self.device}</small>{_text(values)}</div>"


Array._repr_html_ = array


def module(self):
    """The tree, which opens and closes; of each array its shape."""
    from .nn._module import Module
    rows = "".join(f"<li><small>{_html.escape(name)} {array.shape} {array.dtype} on {array.device}"
                   f"{'' if array._has_grad() else ', no gradient'}</small></li>" for name, array in self._own())
    parts = "".join(f"<li>{_html.escape(name)}: {module(part)}</li>" for name, part in self._parts() if isinstance(part, Module))
    title = _html.escape(f"{type(self).__name__}({self._describe()})")
    if not rows and not parts:
        return title
    return f"<details {'open' if parts else ''}><summary>{title}</summary><ul>{rows}{parts}</ul></details>"


def picture(svg):
    """An SVG as an image of its own, whose styles stay in it."""
    code = _base64.b64encode(svg.encode(errors="replace")).decode()
    return f"<img alt='' src='data:image/svg+xml;base64,{code}'/>"


class CallGraph:
    """The calls of a timeline and what they waited for: a picture where graphviz is installed, else the text for it."""

    def __init__(self, dot):
        self.dot = dot

    def svg(self):
        """The picture, by graphviz's program dot."""
        done = _subprocess.run(["dot", "-Tsvg"], input=self.dot, capture_output=True, encoding="utf-8", errors="replace", check=True)
        return done.stdout

    def __str__(self):
        return self.dot

    def _repr_html_(self):
        return picture(self.svg()) if _shutil.which("dot") else _text(self.dot)


def captured(name, graphs):
    """Captured steps: the tasks of each."""
    parts = "".join(f"<details><summary>{len(text.splitlines())} lines</summary>{_text(text)}</details>" for text in graphs)
    return f"<div>captured step {_html.escape(name)}, {len(graphs)} graphs{parts}</div>"
