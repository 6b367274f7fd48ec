"""What the comparisons share: programs that take turns on the same cores, and how much others used these meanwhile. Python's standard
library only.
"""
import ctypes
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = "/usr/share/datasets/fashion-mnist"
# Variables that choose how a program computes. None is taken over from whoever starts a benchmark: some slow newer machines.
CHOSEN = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "MALLOC_", "GLIBC_", "ATEN_", "ONEDNN_", "DNNL_",
          "THP_MEM_", "TORCHINDUCTOR_", "XLA_", "JAX_CPU_", "NPROC", "LD_PRELOAD")
DISTURBED = 0.10  # share of the cores that others may use before a run counts as disturbed


class Refusal(Exception):
    """What is missing, to the user."""


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(CHOSEN)}


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


def others_share(seconds, cores=None):
    """Of these cores, or of all that we may use: what is in use over the next `seconds`, while nothing of ours runs."""
    cores = cores or os.sched_getaffinity(0)
    before = busy_seconds(cores)
    time.sleep(seconds)
    return (busy_seconds(cores) - before) / (seconds * len(cores))


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


def die_with_parent():
    """For a process that has just begun: one that is stopped does not see that its parent is gone."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Side:
    """One program with one setting."""

    def __init__(self, name, title, command, env):
        self.name, self.title, self.command, self.env = name, title, command, env

    def run(self, extra, timeout=3600):
        """Runs it once; the objects it printed."""
        try:
            done = subprocess.run(self.command + extra, env={**clean_environment(), **self.env}, text=True,
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
        self.requirements = []  # dicts: text, passed (or None), figures

    def wait_for_quiet(self):
        end = time.monotonic() + 600
        while self.args.quiet and others_share(0.5, self.cores) > DISTURBED / 2 and time.monotonic() < end:
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

    def require(self, text, passed, figures):
        self.requirements.append({"text": text, "passed": passed, "figures": figures})

    def print_requirements(self, what):
        print(f"\nRequirements ({what})")
        for row in self.requirements:
            word = {True: "PASS", False: "FAIL", None: "  - "}[row["passed"]]
            print(f"  {word}  {row['text']}: {row['figures']}")


def pytorch_facts(python):
    """{"version": …, "has_mkl": whether its products are MKL's}. Refuses where this Python has no PyTorch."""
    code = "import json, torch; print(json.dumps({'version': torch.__version__, 'has_mkl': torch.backends.mkl.is_available()}))"
    try:
        done = subprocess.run([python, "-c", code], text=True, capture_output=True, check=False)
    except OSError as error:
        raise Refusal(f"{python} does not run: {error}") from error
    if done.returncode:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise Refusal(f"{python} has no PyTorch ({reason}); "
                      "on Debian: apt-get install python3-torch, or another Python: --python PATH")
    return json.loads(done.stdout.splitlines()[-1])


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
