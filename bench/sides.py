"""What the comparisons share: programs that take turns on the same cores, how much others used these
meanwhile, and PyTorch's settings. Python's standard library only.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = "/usr/share/datasets/fashion-mnist"
DISTURBED = 0.10  # share of the cores that others may use before a run counts as disturbed


class Refusal(Exception):
    """What is missing, to the user."""


# ---- runs --------------------------------------------------------------------------------------------

def busy_seconds(cores):
    """CPU time of all processes on these cores, in seconds, since boot."""
    tick = os.sysconf("SC_CLK_TCK")
    total = 0
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            name, *fields = line.split()
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
                times = [int(field) for field in fields]
                total += sum(times[:3]) + sum(times[5:8])  # all but idle, iowait and guests
    return total / tick


def process_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Spinner:
    """A process that does nothing but use one core; a context manager."""

    def __init__(self, core):
        self.core = core
        self.process = None

    def __enter__(self):
        code = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n" \
               "    for _ in range(1000000): pass\n"
        self.process = subprocess.Popen([sys.executable, "-c", code])
        os.sched_setaffinity(self.process.pid, {self.core})
        time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Side:
    """One program with one setting."""

    def __init__(self, name, title, command, env):
        self.name, self.title, self.command, self.env = name, title, command, env

    def run(self, extra, timeout=3600):
        """Runs it once; the objects it printed."""
        try:
            done = subprocess.run(self.command + extra, env={**os.environ, **self.env}, text=True,
                                  capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise Refusal(f"{self.title}: not done after {timeout:.0f} s") from error
        if done.returncode:
            raise Refusal(f"{self.title}: exit status {done.returncode} of {' '.join(self.command)}\n"
                          + done.stderr.strip())
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class Pair(Side):
    """The program of a side twice at the same time, each on a core of its own: what two cores of this machine, which share
    caches, memory and power, make of two programs that share nothing else."""

    def __init__(self, side, title, cores):
        super().__init__(f"pair/{side.name}", title, side.command, side.env)
        self.cores = cores[:2]

    def run(self, extra, timeout=3600):
        """The objects that both printed, as of one: all samples, in the time of the slower one."""
        with ThreadPoolExecutor(len(self.cores)) as threads:
            runs = [threads.submit(Side(self.name, self.title, ["taskset", "-c", str(core)] + self.command,
                                        self.env).run, extra, timeout) for core in self.cores]
        return [{"samples": sum(record["samples"] for record in records),
                 "seconds": max(record["seconds"] for record in records)}
                for records in zip(*(run.result() for run in runs))]


class Comparison:
    """Runs of several sides on the same cores. args needs .quiet."""

    def __init__(self, args, cores):
        self.args, self.cores = args, cores
        self.calibration = {}   # PyTorch's fastest settings, by name
        self.requirements = []  # dicts: text, passed (or None), figures

    def others(self, seconds):
        """Share of the cores in use by processes that are not ours, over the next `seconds`."""
        before = busy_seconds(self.cores)
        time.sleep(seconds)
        return (busy_seconds(self.cores) - before) / (seconds * len(self.cores))

    def wait_for_quiet(self):
        end = time.monotonic() + 600
        while self.args.quiet and self.others(0.5) > DISTURBED / 2 and time.monotonic() < end:
            time.sleep(2)

    def run_undisturbed(self, side, extra, spinner=None):
        """One run: what it printed, and the share of the cores that others used meanwhile. With --quiet it
        waits, and repeats, for others to leave the cores alone."""
        for attempt in range(5):
            if not spinner:
                self.wait_for_quiet()
            begun = time.monotonic()
            busy, own = busy_seconds(self.cores), children_seconds()
            spun = process_seconds(spinner.process.pid) if spinner else 0
            records = side.run(extra)
            wall = time.monotonic() - begun
            own = children_seconds() - own
            spun = process_seconds(spinner.process.pid) - spun if spinner else 0
            others = (busy_seconds(self.cores) - busy - own - spun) / (wall * len(self.cores))
            if not self.args.quiet or others <= DISTURBED or attempt == 4:
                break
        return records, max(others, 0)

    def fastest_setting(self, threads, time_of, repeat=2, only=None):
        """The fastest setting of PyTorch: one choice after another, each against the best so far, best of
        some short runs; what gains less than 2 % is left out. time_of: seconds of one run; only: names of
        choices."""
        best = PEER_START
        for choice, settings in peer_choices(threads):
            if only and choice not in only:
                continue
            tried = [best] + [merged(best, setting) for setting in settings]
            times = {}
            for _ in range(repeat):
                for i, setting in enumerate(tried):
                    try:
                        seconds = time_of(setting)
                        times[i] = min(seconds, times.get(i, seconds))
                    except Refusal:
                        if i == 0:
                            raise
                        # else a setting that does not run here
            for i, seconds in times.items():
                note(f"  {threads} threads, {choice}: {described(tried[i])}: {seconds:.3g} s")
            fastest = min(times, key=times.get)
            if times[fastest] < 0.98 * times[0]:
                best = tried[fastest]
        return best

    def require(self, text, passed, figures):
        self.requirements.append({"text": text, "passed": passed, "figures": figures})

    def print_requirements(self, what):
        print(f"\nRequirements ({what})")
        for row in self.requirements:
            word = {True: "PASS", False: "FAIL", None: "  - "}[row["passed"]]
            print(f"  {word}  {row['text']}: {row['figures']}")


# ---- PyTorch's settings ------------------------------------------------------------------------------

PEER_START = {"format": "contiguous", "onednn": "on", "env": {}}


def merged(setting, change):
    return {**setting, **change, "env": {**setting["env"], **change.get("env", {})}}


def described(setting):
    env = " ".join(f"{name}={value}" for name, value in setting["env"].items())
    return f"{setting['format']}, oneDNN {setting['onednn']}" + (f", {env}" if env else "")


def peer_choices(threads):
    """What may make PyTorch faster, in the order in which it is tried."""
    yield "format", [{"format": "channels_last"}, {"onednn": "off"},
                     {"format": "channels_last", "onednn": "off"}]
    # glibc returns large blocks to the system at once: each step would fault its pages in again.
    yield "memory", [{"env": {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
                              "MALLOC_TOP_PAD_": str(1 << 28)}}]
    if threads > 1:
        yield "waiting", [{"env": {"OMP_WAIT_POLICY": "passive"}}, {"env": {"OMP_WAIT_POLICY": "active"}},
                          {"env": {"GOMP_SPINCOUNT": "100000"}}]
        yield "binding", [{"env": {"OMP_PROC_BIND": "true"}}]
    yield "vectors", [{"env": {"ATEN_CPU_CAPABILITY": "avx512"}}]
    folder = "/usr/lib/x86_64-linux-gnu"
    flavours = [name for name in sorted(os.listdir(folder) if os.path.isdir(folder) else [])
                if os.path.exists(f"{folder}/{name}/libblas.so.3")]
    yield "BLAS", [{"env": {"LD_LIBRARY_PATH": f"{folder}/{name}", "OPENBLAS_NUM_THREADS": str(threads)}}
                   for name in flavours if name.startswith(("openblas-", "blis-"))]
    # An OpenBLAS that is older than the processor takes its slowest kernels; hocket's own choice never does.
    yield "BLAS kernels", [{"env": {"OPENBLAS_CORETYPE": core}} for core in ("SkylakeX", "Haswell")]


def pytorch_environment(threads, setting):
    return {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": str(threads), **setting["env"]}


def pytorch_version(python):
    """Refuses where this Python has no PyTorch."""
    try:
        done = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], text=True,
                              capture_output=True, check=False)
    except OSError as error:
        raise Refusal(f"{python} does not run: {error}") from error
    if done.returncode:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise Refusal(f"{python} has no PyTorch ({reason}); "
                      "on Debian: apt-get install python3-torch, or another Python: --python PATH")
    return done.stdout.strip()


# ---- texts -------------------------------------------------------------------------------------------

def note(text):
    print(text, file=sys.stderr, flush=True)


def spread(values, digits=2):
    return (f"{statistics.median(values):.{digits}f} "
            f"[{min(values):.{digits}f} {max(values):.{digits}f}]")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return os.uname().machine
