"""hk.Model: ONNX's own tests of its operators, a sample of them, and the guide's programs, on a network that the package onnx makes."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import hocket as hk

onnx = pytest.importorskip("onnx")
ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(hk._core.__file__).resolve().parents[2]


def plugin_is_there():
    try:
        hk.Model("/nowhere.onnx")
    except hk.Error as error:
        return "plug-in" not in str(error)


pytestmark = pytest.mark.skipif(not plugin_is_there(), reason="libhocket_onnx.so has not been built")


def save_network(path):
    from onnx import TensorProto as T, helper as h, numpy_helper

    random = np.random.default_rng(1)
    weights = {name: random.standard_normal(shape).astype(np.float32) / 8 for name, shape in {"w": (8, 3, 3, 3), "b": (8,), "v": (10, 8)}.items()}
    nodes = [
        h.make_node("Conv", ["images", "w", "b"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]),
        h.make_node("Relu", ["a"], ["r"]),
        h.make_node("GlobalAveragePool", ["r"], ["p"]),
        h.make_node("Flatten", ["p"], ["f"]),
        h.make_node("Gemm", ["f", "v"], ["scores"], transB=1),
    ]
    graph = h.make_graph(
        nodes, "net", [h.make_tensor_value_info("images", T.FLOAT, ["batch", 3, 224, 224])],
        [h.make_tensor_value_info("scores", T.FLOAT, ["batch", 10])], [numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return weights


def test_network(tmp_path):
    weights = save_network(tmp_path / "net.onnx")
    net = hk.Model(tmp_path / "net.onnx")
    assert net.parameters() == {}
    assert net.inputs == [("images", hk.float32, ("batch", 3, 224, 224))]
    images = hk.random.uniform(shape=(2, 3, 224, 224))
    a = hk.nn.functional.conv2d(images, hk.asarray(weights["w"]), hk.asarray(weights["b"]), stride=2, padding=1)
    wanted = np.asarray(hk.nn.functional.relu(a).mean(axis=(2, 3))) @ weights["v"].T
    for _ in range(3):
        assert np.allclose(np.asarray(net(images)), wanted, atol=1e-5)
        assert np.allclose(np.asarray(net(images=images)), wanted, atol=1e-5)
    with pytest.raises(TypeError, match="inputs are missing: images"):
        net()
    with pytest.raises(TypeError, match="no input pictures"):
        net(pictures=images)
    with pytest.raises(hk.ValueError, match="axis 1 of input 0, images, is 1; expected 3"):
        net(images[:, :1])
    assert "Conv 1" in str(net)


def test_training(tmp_path):
    save_network(tmp_path / "net.onnx")
    net = hk.Model(tmp_path / "net.onnx", trainable=True)
    assert set(net.parameters()) == {"w", "b", "v"}
    images, labels = hk.random.uniform(shape=(4, 3, 224, 224)), hk.asarray([1, 2, 3, 4])
    parameters = list(net.parameters().values())
    for p in parameters:
        p.attach_grad()
    losses = []
    for _ in range(8):
        with hk.record():
            loss = hk.nn.functional.cross_entropy(net(images), labels).mean()
        loss.backward()
        hk.optim.sgd(parameters, lr=0.5)
        losses.append(float(loss))
    assert losses[-1] < losses[0]


def test_guide(tmp_path):
    """The program of docs/MODELS.md, built as it says."""
    save_network(tmp_path / "net.onnx")
    program = re.search(r"^```c\n(.*?)^```$", (ROOT / "docs/MODELS.md").read_text(), re.M | re.S).group(1)
    (tmp_path / "serve.c").write_text(program)
    flags = [f"-I{ROOT / 'include'}", f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}", "-lhocket"]
    if not (LIBRARY / "libhocket.so").exists():
        pytest.skip("this is no build folder")
    subprocess.run(["cc", "serve.c", "-o", "serve", *flags], cwd=tmp_path, check=True)
    printed = subprocess.run(["./serve"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert re.fullmatch(r"\[\d\] int64 @cpu:0\n", printed)


def test_operators():
    """All of them: tests/onnx/node_tests.py without --every."""
    command = [sys.executable, ROOT / "tests/onnx/node_tests.py", "--every", "9", "--least", "0.95"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
