"""A peer's settings: the one list of what may make it faster, the search among them, and the file that keeps what was found.

A setting is a dict: "env", the variables of its process, and what its program is told. A peer as it comes has START alone. A line that
can only slow a peer has no place here, nor in any other file: python/tests/test_benchmarks.py looks for it. Standard library only.
"""
import glob
import json
import os
import statistics
import tempfile

from sides import Refusal, clean_environment, note, processor

GAIN = 0.02  # of the time: a setting that gains less is left out

JOINED = {"LD_PRELOAD": ":", "LD_LIBRARY_PATH": ":", "GLIBC_TUNABLES": ":", "XLA_FLAGS": " "}  # what two choices may both set


def thread_counts(threads):
    """How many cores a peer has: what is measured, and no setting of it."""
    return {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC")}


def environment(threads, setting):
    return {**clean_environment(), **thread_counts(threads), **setting["env"]}


def merged(setting, change):
    env = dict(setting["env"])
    for name, value in change.get("env", {}).items():
        env[name] = env[name] + JOINED[name] + value if name in JOINED and name in env else value
    return {**setting, **change, "env": env}


def described(setting, start):
    """What differs from the peer as it comes."""
    words = [f"{name} {value}" for name, value in setting.items() if name != "env" and value != start.get(name)]
    words += [f"{name}={value}" for name, value in setting["env"].items() if value != start["env"].get(name)]
    return ", ".join(words) or "as it comes"


# ---- what may make a peer faster: choices, in the order in which they are tried --------------------------

class Choice:
    """A name, and changes of a setting; or a function of the best setting so far that returns these. A choice that is slow takes minutes."""

    def __init__(self, name, changes, is_slow=False):
        self.name, self.changes, self.is_slow = name, changes, is_slow

    def is_environment(self):
        """Whether each of its changes is made by a process of its own."""
        return not callable(self.changes) and all(set(change) == {"env"} for change in self.changes)

    def after(self, best):
        return self.changes(best) if callable(self.changes) else self.changes


def environments(*choices):
    return [{"env": choice} for choice in choices]


def libraries(*names):
    """Those of these shared libraries that are installed."""
    found = [sorted(glob.glob(f"/usr/lib/x86_64-linux-gnu/{name}")) for name in names]
    return [paths[0] for paths in found if paths]


def memory_choices():
    # glibc returns large blocks to the system at once: each step would fault its pages in again.
    yield Choice("memory", environments(
        {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)},
        *({"LD_PRELOAD": path} for path in libraries("libjemalloc.so.*", "libtcmalloc_minimal.so.*", "libmimalloc.so.*"))))
    yield Choice("pages", environments({"THP_MEM_ALLOC_ENABLE": "1"}, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}))


def openmp_choices(threads):
    if threads == 1:
        return
    yield Choice("OpenMP", environments(*({"LD_PRELOAD": path} for path in libraries("libiomp5.so"))))
    yield Choice("waiting", environments({"OMP_WAIT_POLICY": "passive"}, {"OMP_WAIT_POLICY": "active"}, {"GOMP_SPINCOUNT": "100000"}))
    yield Choice("binding", environments({"OMP_PROC_BIND": "true"}))


def blas_choices(threads):
    """Of a peer that takes OpenBLAS or BLIS."""
    folder = "/usr/lib/x86_64-linux-gnu"
    flavours = [name for name in sorted(os.listdir(folder) if os.path.isdir(folder) else [])
                if os.path.exists(f"{folder}/{name}/libblas.so.3") and name.startswith(("openblas-", "blis-"))]
    yield Choice("BLAS", environments(*({"LD_LIBRARY_PATH": f"{folder}/{name}"} for name in flavours)))
    if threads > 1:
        yield Choice("BLAS threads", environments({"OPENBLAS_NUM_THREADS": "1"}))
    # An OpenBLAS that is older than the processor takes its slowest kernels; hocket's own choice never does.
    yield Choice("BLAS kernels", environments(*({"OPENBLAS_CORETYPE": core} for core in ("SkylakeX", "Haswell"))))


def process_choices(threads, has_mkl):
    """Of PyTorch: what its process is started with."""
    yield from memory_choices()
    yield from openmp_choices(threads)
    yield Choice("vectors", environments({"ATEN_CPU_CAPABILITY": "avx512"}, {"ATEN_CPU_CAPABILITY": "avx2"}))
    if not has_mkl:
        yield from blas_choices(threads)


# Of bench/tasks, each tried: what processes of task runtimes are started with. TILES_WINDOW: how many calls the program issues before it
# waits for them (bench/tiles/tiles.h), which keeps what a runtime looks through short.
BOUND = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
WINDOW = {"TILES_WINDOW": "256"}
GOMP_ACTIVE = {**BOUND, "OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinite"}
LLVM_ACTIVE = {**BOUND, "OMP_WAIT_POLICY": "active", "KMP_BLOCKTIME": "infinite"}
TASK_RUNTIMES = {
    "hocket": [{}],
    "starpu": [{"STARPU_SCHED": name, "STARPU_SILENT": "1", **extra} for name in ("prio", "lws", "eager", "ws")
               for extra in ({}, {"STARPU_LIMIT_MAX_SUBMITTED_TASKS": "1000", "STARPU_LIMIT_MIN_SUBMITTED_TASKS": "900"}, WINDOW)],
    "libgomp": [{}, BOUND, GOMP_ACTIVE, WINDOW, {**GOMP_ACTIVE, **WINDOW}],
    "libomp": [{}, BOUND, LLVM_ACTIVE, WINDOW, {**LLVM_ACTIVE, **WINDOW}],
    "tbb": [{}, WINDOW],
    "openblas": [{}],
}


PYTORCH = {"format": "contiguous", "onednn": "on", "update": "default", "mode": "inference_mode", "freeze": "no", "compile": "no",
           "compiled": "model", "wrapper": "python", "graph": 0, "env": {}}
COMPILE_MODES = ("default", "max-autotune-no-cudagraphs")


def format_choices(has_images):
    """Of memory: what a peer's convolutions like better."""
    yield Choice("format", [{"format": "channels_last"}] * has_images + [{"onednn": "off"}]
                 + [{"format": "channels_last", "onednn": "off"}] * has_images)


def compile_choices(what, has_parts):
    """has_parts: training may compile the model, or the loss with it."""
    more = [{"freeze": "no"}, {"freeze": "weights"}] if what == "infer" else [{"compiled": "model"}, {"compiled": "model_and_loss"}]
    yield Choice("compile", [{"compile": mode, **change} for mode in COMPILE_MODES for change in more[:2 if has_parts else 1]], True)
    yield Choice("wrapper", lambda best: [{"wrapper": "cpp"}] if best["compile"] != "no" else [], True)


def pytorch_choices(threads, what, has_images=True, has_mkl=False, device=None, has_parts=True):
    """what: train or infer; has_parts: as compile_choices has it."""
    if device:
        yield Choice("graph", [{"graph": 1}])
        yield Choice("format", [{"format": "channels_last"}] * has_images)
    else:
        yield from format_choices(has_images)
    if what == "train":
        # On GPUs foreach is the default.
        yield Choice("update", [{"update": "foreach"}, {"update": "fused"}][bool(device):])
    if not device:
        yield from process_choices(threads, has_mkl)
        if what == "infer":
            yield Choice("mode", [{"mode": "no_grad"}])
            yield Choice("freeze", [{"freeze": "traced"}, {"freeze": "optimized"}])
    yield from compile_choices(what, has_parts or what == "infer")


JAX = {"format": "contiguous", "env": {}}


def jax_choices(has_images):
    yield Choice("format", [{"format": "channels_last"}] * has_images)
    yield from memory_choices()
    yield Choice("dispatch", environments({"JAX_CPU_ENABLE_ASYNC_DISPATCH": "false"}))
    yield Choice("vectors", environments({"XLA_FLAGS": "--xla_cpu_prefer_vector_width=512"}))
    yield Choice("products", environments({"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}))


MLX = {"compile": 0, "env": {}}
ONNXRUNTIME = {"spinning": 1, "mode": "sequential", "env": {}}
OPENVINO = {"hint": "LATENCY", "pinning": "default", "env": {}}


def mlx_choices():
    yield Choice("mlx.compile", [{"compile": 1}])
    yield from memory_choices()
    yield Choice("BLAS threads", environments({"OPENBLAS_NUM_THREADS": "1"}))


def onnxruntime_choices(threads):
    if threads > 1:
        yield Choice("waiting", [{"spinning": 0}])
        yield Choice("mode", [{"mode": "parallel"}])
    yield from memory_choices()


def openvino_choices():
    yield Choice("hint", [{"hint": "THROUGHPUT"}, {"hint": "none"}])
    yield Choice("pinning", [{"pinning": "on"}, {"pinning": "off"}])
    yield from memory_choices()


# ---- the search ------------------------------------------------------------------------------------------

def search(start, choices, time_of, tried=(), repeat=2, found=None, tell=note):
    """The fastest setting, and the names of choices tried: one choice after another, each against the best so far, by the best of `repeat`
    short runs of each in turns; what gains less than GAIN is left out. time_of: seconds of one run; a Refusal of it is a setting that does
    not run here, but for that of the best so far. found: called with both after each choice."""
    best, tried = start, list(tried)
    for choice in choices:
        if choice.name in tried:
            continue
        settings = [best]
        settings += [setting for setting in (merged(best, change) for change in choice.after(best)) if setting not in settings]
        times = {}
        for turn in range(repeat if len(settings) > 1 else 0):
            for i, setting in enumerate(settings):
                if turn and i not in times:
                    continue
                try:
                    seconds = time_of(setting)
                    times[i] = min(seconds, times.get(i, seconds))
                except Refusal as refusal:
                    if i == 0:
                        raise
                    times.pop(i, None)
                    tell(f"    {choice.name}: {described(setting, best)}: {refusal}")
        for i, seconds in times.items():
            tell(f"    {choice.name}: {described(settings[i], best) if i else 'the best so far'}: {1e3 * seconds:.4g} ms")
        fastest = min(times, key=times.get, default=0)
        if fastest and times[fastest] < (1 - GAIN) * times[0]:
            best = settings[fastest]
        tried.append(choice.name)
        if found:
            found(best, tried)
    return best, tried


def fastest(columns):
    """Of times by name, such as those of a peer as it comes and by what was found: the name of the least median; None: there are none."""
    return min((name for name, values in columns.items() if values), key=lambda name: statistics.median(columns[name]), default=None)


# ---- what was found, kept for each machine ---------------------------------------------------------------

def machine_name(device=None):
    return f"{processor()}, {len(os.sched_getaffinity(0))} cores" + (f", {device}" if device else "")


class Kept:
    """A file of settings by machine and case."""

    def __init__(self, path=None, machine=None):
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        self.path = path or os.path.join(cache, "hocket-bench", "settings.json")
        self.machine = machine or machine_name()
        self.of(None)  # refuses a file of another kind before anything is measured

    def read(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                machines = json.load(file)["machines"]
            return machines if isinstance(machines, dict) else {}["machines"]
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Refusal(f"{self.path} is no file of kept settings ({type(error).__name__}); name another one: --calibration FILE") from error

    def of(self, case):
        """{"setting": …, "tried": names}, or None."""
        return self.read().get(self.machine, {}).get(case)

    def keep(self, case, setting, tried):
        machines = self.read()  # again: another run may have written meanwhile
        machines.setdefault(self.machine, {})[case] = {"setting": setting, "tried": list(tried)}
        folder = os.path.dirname(os.path.abspath(self.path))
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as file:
            json.dump({"machines": machines}, file, indent=1)
        os.replace(file.name, self.path)


class Found:
    """The setting in use, and what was not tried."""

    def __init__(self, setting, start, missing):
        self.setting, self.start, self.missing = setting, start, missing

    def __str__(self):
        return described(self.setting, self.start) + ("; not tried: " + ", ".join(self.missing) if self.missing else "")


class Settings:
    """What a benchmark asks for the settings of its peers. args: as add_arguments has them."""

    def __init__(self, args, device=None):
        self.kept = Kept(args.calibration, machine_name(device))
        self.search, self.compile, self.forgotten = args.search, args.compile, set()

    def compiles(self, network):
        return "all" in self.compile or network in self.compile

    def of(self, case, network, start, choices, time_of, repeat=2):
        """Kept, or looked for. case: names peer and what is measured, for the file; network: for --compile."""
        choices = [choice for choice in choices if choice.changes]
        names = {choice.name for choice in choices}
        kept = self.kept.of(case) if self.search != "again" or case in self.forgotten else None
        self.forgotten.add(case)
        setting = {**start, **kept["setting"]} if kept else start
        tried = [name for name in kept["tried"] if name in names] if kept else []
        wanted = [choice for choice in choices if not choice.is_slow or self.compiles(network)]
        if self.search != "none" and any(choice.name not in tried for choice in wanted):
            note(f"  looking for the fastest setting: {case}")
            setting, tried = search(setting, wanted, time_of, tried, repeat,
                                    lambda setting, tried: self.kept.keep(case, setting, tried))
        return Found(setting, start, [choice.name for choice in choices if choice.name not in tried])


def add_arguments(parser, has_compile=True):
    parser.add_argument("--calibration", metavar="FILE", help="where the settings of peers are kept for each machine "
                        "(default: hocket-bench/settings.json in $XDG_CACHE_HOME or ~/.cache)")
    parser.add_argument("--search", choices=["kept", "again", "none"], default="kept",
                        help="settings of peers: those kept, and a search for the others (default); a search for all; those kept alone")
    if has_compile:
        parser.add_argument("--compile", action="append", metavar="NAME", help="of which networks the search tries torch.compile, which "
                            "takes minutes for each: all (default), none, or names; may be repeated")


def finish_arguments(args, parser, names=()):
    args.compile = getattr(args, "compile", None) or ["all"]
    wrong = [name for name in args.compile if name not in ("all", "none", *names)]
    if wrong:
        parser.error(f"--compile {wrong[0]}: neither all nor none" + (f" nor one of {', '.join(names)}" if names else ""))
