"""Inference of the networks of networks_pytorch_models.py by ONNX Runtime or OpenVINO, as a program that takes infer of bench_networks.

    networks_frozen.py onnxruntime|openvino [MODEL [NAME VALUE]...]

A network is exported by torch.onnx for one sample, whose shape is fixed. Further options, as peer_settings.py may choose them: of ONNX
Runtime spinning, 0 or 1, and mode, sequential or parallel; of OpenVINO hint, LATENCY, THROUGHPUT or none, and pinning, default, on or off.
Exit status 3: that, PyTorch or ONNX is not there.
"""
import contextlib
import logging
import os
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx  # noqa: F401  what the export needs
    import torch
    if "openvino" in sys.argv[1:2]:
        import openvino
    else:
        import onnxruntime
except ImportError as error:
    print(f"networks_frozen: {error}", file=sys.stderr)
    sys.exit(3)

from networks_program import PAIRS, obey, options_of, times
from networks_pytorch_models import IMAGES, TEXTS
from peer_settings import ONNXRUNTIME, OPENVINO


def exported(model, options, path):
    """The file, and the inputs of one sample."""
    torch.manual_seed(options["seed"])
    module = (TEXTS if model in TEXTS else IMAGES)[model](options).eval()
    size = options["size"]
    if model in TEXTS:
        inputs = [torch.randint(options["classes"], (1, size)) for _ in range(1 + (model in PAIRS))]
    else:
        inputs = [torch.rand(1, options["channels"], size, size)]
    names = [f"x{i}" for i in range(len(inputs))]
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr), open(os.devnull, "w", encoding="ascii") as nowhere, \
            contextlib.redirect_stderr(nowhere), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(module, tuple(inputs), path, input_names=names, output_names=["y"], dynamo=False)
        except Exception:  # what the older exporter does not know, the newer one may
            torch.onnx.export(module, tuple(inputs), path, input_names=names, output_names=["y"], dynamo=True)
        expected = module(*inputs).numpy()
    return {name: x.numpy() for name, x in zip(names, inputs)}, expected


def onnxruntime_call(path, inputs, o):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = o["threads"]
    options.inter_op_num_threads = o["threads"]
    options.execution_mode = getattr(onnxruntime.ExecutionMode, f"ORT_{o['mode'].upper()}")
    options.add_session_config_entry("session.intra_op.allow_spinning", str(o["spinning"]))
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(["y"], inputs)[0]


def openvino_call(path, inputs, o):
    core = openvino.Core()
    config = {"INFERENCE_NUM_THREADS": o["threads"], "INFERENCE_PRECISION_HINT": "f32"}  # float32 is float32
    if o["hint"] != "none":
        config["PERFORMANCE_HINT"] = o["hint"]
    if o["pinning"] != "default":
        config["ENABLE_CPU_PINNING"] = o["pinning"] == "on"
    request = core.compile_model(core.read_model(path), "CPU", config).create_infer_request()
    tensors = {name: openvino.Tensor(x, shared_memory=True) for name, x in inputs.items()}
    for name, tensor in tensors.items():
        request.set_tensor(name, tensor)
    result = request.get_output_tensor(0)

    def call():
        request.infer()
        return result.data

    return call


ENGINE = sys.argv[1] if len(sys.argv) > 1 else ""
CALLS = {"onnxruntime": (onnxruntime_call, ONNXRUNTIME), "openvino": (openvino_call, OPENVINO)}


class Network:
    def __init__(self, model, *words):
        self.make_call, told = CALLS[ENGINE]
        self.options = options_of(words, {name: value for name, value in told.items() if name != "env"})
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "network.onnx")
        self.inputs, self.expected = exported(model, self.options, self.path)
        self.call = None

    def infer(self, seconds):
        if not self.call:
            self.call = self.make_call(self.path, self.inputs, self.options)
            if not np.allclose(self.call(), self.expected, 1e-3, 1e-4):
                raise ArithmeticError("its scores are not PyTorch's")
        return times(self.call, float(seconds))

    def set(self, name, value):
        if str(self.options[name]) != value:
            self.options[name], self.call = type(self.options[name])(value), None
        return {}


def facts():
    return {"version": openvino.__version__.split("-")[0] if ENGINE == "openvino" else onnxruntime.__version__}


if __name__ == "__main__":
    if ENGINE not in CALLS:
        sys.exit(__doc__)
    obey(sys.argv[2:], Network, facts)
