"""What arrays, modules, timelines, graphs and captured steps show in a notebook; and the notebooks of examples/."""
import glob
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

import hocket as hk
from hocket import nn, optim

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def parsed(html):
    return xml.fromstring(html.replace("<details open>", "<details>").replace("<details >", "<details>"))


def test_arrays_show_shape_dtype_device_and_values():
    html = hk.asarray([[1, 2], [3, 4]])._repr_html_()
    parsed(html)
    assert "(2, 2) int64 on cpu:0" in html and "[[1 2]\n [3 4]]" in html


def test_modules_show_their_tree_and_escape_what_is_no_html():
    net = nn.Sequential(nn.Linear(3), nn.Lambda(lambda x: x), nn.ReLU())
    assert "weight" not in net._repr_html_()
    net.build((1, 2))
    html = net._repr_html_()
    assert len(parsed(html).findall(".//li")) == 5 and "weight (3, 2) float32 on cpu:0" in html
    assert "&lt;lambda&gt;" in html and "<lambda>" not in html


def test_timelines_and_their_graphs_are_pictures():
    with hk.trace() as run:
        assert run._repr_html_() is None
        a = hk.ones((50, 50))
        float((a @ a).sum())
    assert xml.fromstring(run.svg()).tag.endswith("svg") and "data:image/svg+xml;base64," in run._repr_html_()
    graph = run.graph()
    assert str(graph).count("digraph") == 1 and "matmul" in str(graph)
    if shutil.which("dot"):
        assert "matmul" in graph.svg()
        parsed(graph._repr_html_())


def test_boxes_of_graphs_hold_their_texts():
    """As Graphviz draws them, in the widest of the usual monospace fonts, whose characters are 0.602 of the size wide."""
    if not shutil.which("dot"):
        pytest.skip("Graphviz is not installed")
    with hk.trace() as run:
        x = hk.ones((12, 345, 6))
        y = hk.concat([x] * 7, axis=0)
        hk.nn.functional.scaled_dot_product_attention(x, x, x).sum()
        hk.nn.functional.cross_entropy(y.reshape(-1, 6), hk.zeros(7 * 12 * 345, dtype="int64")).mean()
        hk.wait()
    svg = xml.fromstring(run.graph().svg())
    name = "{http://www.w3.org/2000/svg}"
    nodes = [group for group in svg.iter(name + "g") if group.get("class") == "node"]
    assert len(nodes) > 5
    assert "and 3 more" in "".join(svg.itertext())
    for node in nodes:
        box = next(iter(node.findall(name + "path") + node.findall(name + "polygon")))
        places = [float(x) for x in re.findall(r"(-?[\d.]+),-?[\d.]+", box.get("d") or box.get("points"))]
        for text in node.findall(name + "text"):
            begin = float(text.get("x"))
            end = begin + 0.602 * float(text.get("font-size")) * len(text.text)
            assert min(places) < begin and end < max(places), (text.text, begin, end, min(places), max(places))


def test_captured_steps_show_their_tasks():
    w = hk.ones((2,)).attach_grad()

    @hk.capture
    def step(x):
        with hk.record():
            loss = (w * x).sum()
        loss.backward()
        optim.sgd([w], 0.1)
        return loss

    for _ in range(3):
        step(hk.ones((2,)))
    html = step._repr_html_()
    parsed(html)
    assert "captured step step, 1 graphs" in html


@pytest.mark.parametrize("path", sorted(glob.glob(os.path.join(ROOT, "examples", "notebooks", "*.py"))), ids=os.path.basename)
def test_notebooks_run_and_hold_the_code_of_their_scripts(path):
    if "multiple" in path:
        try:
            hk.data.fashion_mnist("test")
        except FileNotFoundError as error:
            pytest.skip(str(error))
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "notebooks.py"), path, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
