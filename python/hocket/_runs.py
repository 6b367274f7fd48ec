"""The runtime, timelines, and work that devices share."""

import os as _os

from . import _core, _notebook
from ._creation import asarray as _asarray

__all__ = ["all_reduce", "runtime", "split_and_load", "stats", "trace"]

_SIM = ("count", "flops", "factor", "memory_bandwidth", "launch_ns", "link_bandwidth", "link_latency_ns", "peer_bandwidth",
        "staging_bandwidth", "memory_bytes")


def _sim_group(group):
    if isinstance(group, int):
        group = {"count": group}
    unknown = group.keys() - set(_SIM)
    if unknown:
        raise TypeError(f"simulated devices have no option {', '.join(sorted(unknown))}; there are {', '.join(_SIM)}")
    group = {"count": 1} | group
    return tuple(group.get(name, 0) for name in _SIM)


def runtime(*, cpu_devices=0, cpu_cores=0, engine=None, run_ahead_calls=0, run_ahead_bytes=0, inline_ns=0, memory_bytes=0, sim=(),
            cuda=None, cuda_memory_bytes=0, cuda_tf32=False, cuda_own_sums=False, flush_subnormals=False):
    """Starts the runtime, before the first call that needs it. Zeros mean the defaults; each has an environment variable.

    cpu_devices: cpu:0, cpu:1, … split the cores (HOCKET_CPUS). cpu_cores: to use in all (HOCKET_CORES). engine: 'async' or 'serial'
    (HOCKET_ENGINE). sim: simulated devices, how many, or a dict with flops, link_bandwidth and so on, or a list of dicts
    (HOCKET_SIM). cuda: which GPUs (HOCKET_CUDA). flush_subnormals: tasks take numbers below the smallest normal one for 0
    (HOCKET_FLUSH_SUBNORMALS). include/hocket/runtime.h says more.
    """
    groups = [sim] if isinstance(sim, (int, dict)) else list(sim)
    groups = [_sim_group(group) for group in groups if group]
    _core._runtime_init(cpu_devices, cpu_cores, engine, run_ahead_calls, run_ahead_bytes, inline_ns, memory_bytes, groups, cuda,
                        cuda_memory_bytes, cuda_tf32, cuda_own_sums, flush_subnormals)


def stats():
    """Counters since the runtime began, as a dict: calls issued, waits for room, bytes, calls that met subnormal numbers; memory of
    each device."""
    return _core._stats()


def all_reduce(arrays):
    """Replaces each of these arrays, one for each device, by their sum, in place. Does not wait.

    A list of such lists, as of the gradients of all parameters, is summed together: in the order in which they are written, and
    many at once between GPUs.
    """
    arrays = list(arrays)
    lists = arrays if arrays and isinstance(arrays[0], (list, tuple)) else [arrays]
    if any(len(each) != len(lists[0]) for each in lists):
        raise ValueError(f"lists of {sorted({len(each) for each in lists})} arrays; each has one for each device")
    _core._all_reduce([x for each in lists for x in each], len(lists))


def split_and_load(x, devices, shares=None):
    """Slices of the first axis of x, one on each device, as a list. shares: their sizes; else whole runs of 16 samples, where there are enough for
    all devices, so that sums over the batch have the same bytes on 1, 2, 4 or 8. So they may differ: sum losses, or weigh means by them."""
    return _core._split_and_load(_asarray(x), devices, shares)


class trace:
    """``with hk.trace("run.html"):`` records what really ran, where and when, and writes it: .html, .svg, .json (Chrome, Perfetto),
    .dot or .txt. Without a path nothing is written.

    After the block of ``with hk.trace() as run:``, run has write(path), text(), svg(), graph(), summary() and overlap_ns(a, b), by
    ``hocket/trace.h``; in a notebook it shows itself.
    """

    _FORMATS = {".json": 0, ".html": 1, ".svg": 2, ".dot": 3, ".txt": 4}

    def __init__(self, path=None, memory_bytes=0):
        if path is not None:
            self._format_of(path)
        self._path, self._memory = path, memory_bytes
        self._trace = None

    def __deepcopy__(self, memo):
        return self  # what was recorded stays as it is

    def __reduce__(self):
        if self._trace is not None:
            raise TypeError("what a trace recorded is not pickled; write(path) keeps it, as .json for other programs")
        return trace, (self._path, self._memory)

    def _format_of(self, path):
        ending = _os.path.splitext(_os.fsdecode(path))[1]
        if ending not in self._FORMATS:
            raise ValueError(f"{_os.fsdecode(path)!r} ends in {ending!r}; there are {', '.join(self._FORMATS)}")
        return self._FORMATS[ending]

    def __enter__(self):
        folder = _os.path.dirname(_os.path.abspath(_os.fsdecode(self._path or ".")))
        if not _os.path.isdir(folder):  # better now than when all has run
            raise FileNotFoundError(f"there is no folder {folder}, where {self._path} is to be written")
        _core._trace_start(self._memory)
        return self

    def __exit__(self, *exception):
        self._trace = _core._trace_stop()
        if self._path is not None:
            self.write(self._path)

    def write(self, path):
        """Writes the recording once more, whole or not at all."""
        self._trace.write(self._format_of(path), path)

    def text(self):
        """The summary for people."""
        return self._trace.text(self._FORMATS[".txt"])

    def svg(self):
        """The picture."""
        return self._trace.text(self._FORMATS[".svg"])

    def graph(self):
        """What waited for what: an object that shows itself in a notebook; str() of it is for graphviz."""
        return _notebook.CallGraph(self._trace.text(self._FORMATS[".dot"]))

    def __repr__(self):
        return f"trace({self._path!r})" if self._path else "trace()"

    def _repr_html_(self):
        return None if self._trace is None else _notebook.picture(self.svg())

    def summary(self):
        """Times in nanoseconds and counts, as a dict."""
        return self._trace.summary()

    def overlap_ns(self, a, b):
        """How long calls of operation a ran while calls of b did; either may be a list such as 'conv2d*,@copy'."""
        return self._trace.overlap_ns(a, b)
