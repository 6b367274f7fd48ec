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


def test_export(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net = hk.nn.Sequential(hk.nn.Linear(4), hk.nn.Dropout(0.5), hk.nn.ReLU(), hk.nn.Linear(2))
    x = hk.random.uniform(shape=(3, 8))
    hk.export(net, x, "net.onnx", input_names="x", output_names=["y"], batch="n")
    assert net.training and all(child.training for child in net.children())
    onnx.checker.check_model("net.onnx", full_check=True)
    model = onnx.load("net.onnx")
    assert {tensor.name for tensor in model.graph.initializer} == set(net.state())
    read = hk.Model("net.onnx")
    assert read.inputs == [("x", hk.float32, ("n", 8))] and read.outputs == [("y", hk.float32, ("n", 2))]
    assert np.allclose(np.asarray(read(x[:1])), np.asarray(net.eval()(x[:1])), atol=1e-6)
    hk.export(lambda a, b: (a @ b, a + 1), [x, hk.ones((8, 2))], tmp_path / "two.onnx")
    assert [name for name, _, _ in hk.Model("two.onnx").outputs] == ["output_0", "output_1"]


def test_export_refusals(tmp_path):
    x, path = hk.ones((2, 3)), tmp_path / "net.onnx"
    with pytest.raises(hk.UnsupportedError, match="the call of atan2 at .*test_models.py:[0-9]+ has no row.*; 1 of 2 calls can be written"):
        hk.export(lambda x: hk.atan2(x, x) + 1, x, path)
    with pytest.raises(hk.UnsupportedError, match="depends on the batch"):
        hk.export(lambda x: x * x.shape[0], x, path, batch="n")
    with pytest.raises(ZeroDivisionError):
        hk.export(lambda x: 1 // 0, x, path)
    with pytest.raises(TypeError, match="a result that is exported"):
        hk.export(lambda x: 1, x, path)
    with pytest.raises(ValueError, match="input_names has 2 names for 1 inputs"):
        hk.export(lambda x: x, x, path, input_names=["a", "b"])
    with pytest.raises(ValueError, match="output_names has 2 names for 1 outputs"):
        hk.export(lambda x: x, x, path, output_names=["a", "b"])
    with pytest.raises(TypeError, match="expected names"):
        hk.export(lambda x: x, x, path, input_names=[3])
    with pytest.raises(hk.Error, match="cannot be written"):
        hk.export(lambda x: x + 1, x, "/nowhere/net.onnx")
    assert not path.exists()


def test_export_of_operators():
    """Each operator that has a form, by ONNX's reference implementation, and read back."""
    sys.path.insert(0, str(ROOT / "tests" / "onnx"))
    try:
        import export_tests
    finally:
        sys.path.pop(0)
    wrong = [(name, problem) for name, problem in export_tests.run_cases() if problem]
    assert not wrong
