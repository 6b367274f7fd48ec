"""The benchmarks' own code: settings of peers are in one list, and the search among them is right. Needs neither a peer nor a build."""
import argparse
import glob
import json
import os
import re
import sys
import time

import pytest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench")
sys.path.insert(0, BENCH)

import networks  # noqa: E402
import networks_program  # noqa: E402
import peer_settings  # noqa: E402
from peer_process import Process  # noqa: E402
from peer_settings import Choice, Kept, Settings, fastest, merged, search  # noqa: E402
from sides import Refusal, clean_environment  # noqa: E402

# ---- settings outside the list ---------------------------------------------------------------------------

THE_LIST = "peer_settings.py"
SETTINGS = re.compile(
    r"\b(OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|MALLOC|ATEN|ONEDNN|DNNL(?=_(MAX|DEFAULT))|THP_MEM|TORCHINDUCTOR|XLA|JAX_CPU|GLIBC)_[A-Z]\w*"
    r"|\bLD_PRELOAD\b|\bset_num(_interop)?_threads\(\s*\d|\bnum_threads\s*=\s*\d"
    r"|\btorch\.(set_(?!num_threads\b)\w+|use_deterministic\w*)|\bbackends\.[\w.]+\s*(,.*)?=[^=]|\bautograd\.set_\w+")
# Of a file: what it may say, and why.
ALLOWED = {
    "sides.py": (r'"NPROC", "LD_PRELOAD"\)', "it is taken from no environment"),
    "networks_pytorch.py": (r"allow_tf32|cudnn\.benchmark = True|mkldnn\.enabled = o\[", "float32 is float32; a search; what the settings say"),
    "gpu_pytorch.py": (r"allow_tf32|cudnn\.benchmark = True", "float32 is float32; a search"),
    "lenet_pytorch.py": (r"mkldnn\.enabled = args\.", "what the settings say"),
    "models_pytorch.py": (r"mkldnn\.enabled = args\.", "what the settings say"),
    "bench_conv2d.c": (r"omp_set_num_threads\(1\)", "one core is what is measured"),
    "engine_systems.c": (r"OMP_ENVIRONMENT|OMP_WAIT_POLICY=active|GOMP_SPINCOUNT=infinite|KMP_BLOCKTIME=infinite",
                         "the engine's peers: threads that never sleep, the fastest where the cores are theirs"),
}


def wrong_lines(name, text):
    allowed = ALLOWED.get(name, (None, ""))[0]
    for number, line in enumerate(text.splitlines(), 1):
        if SETTINGS.search(line) and name != THE_LIST and not (allowed and re.search(allowed, line)):
            yield f"bench/{name}:{number}: {line.strip()}"


def sources():
    for path in sorted(glob.glob(os.path.join(BENCH, "**"), recursive=True)):
        if os.path.isfile(path) and not path.endswith((".md", ".pyc")):
            with open(path, encoding="utf-8") as file:
                yield os.path.relpath(path, BENCH), file.read()


def test_settings_of_peers_are_in_the_list():
    """Elsewhere a line may set what slows a peer. A choice belongs to peer_settings.py, where it is tried against going without."""
    assert [line for name, text in sources() for line in wrong_lines(name, text)] == []


def test_exceptions_are_of_use():
    texts = dict(sources())
    assert [name for name, (allowed, _) in ALLOWED.items() if not re.search(allowed, texts.get(name, ""))] == []


@pytest.mark.parametrize("line", ['env = {**os.environ, "OMP_WAIT_POLICY": "passive"}', 'env["KMP_BLOCKTIME"] = "0"', "torch.set_num_threads(1)",
                                  "export MALLOC_ARENA_MAX=1", "torch.set_flush_denormal(False)", "torch.backends.mkldnn.enabled = False",
                                  "torch.use_deterministic_algorithms(True)", "torch.backends.cudnn.deterministic = True"])
def test_the_scan_finds_what_slows_peers(line):
    assert list(wrong_lines("networks.py", line))


def test_nothing_but_the_count_is_set_of_a_peer_as_it_comes(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    for name in peer_settings.thread_counts(2):
        monkeypatch.delenv(name, raising=False)
    env = peer_settings.environment(2, peer_settings.PYTORCH)
    assert {name: value for name, value in env.items() if os.environ.get(name) != value} == {
        "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "NPROC": "2"}
    assert not {"OMP_WAIT_POLICY", "OPENBLAS_CORETYPE"} & set(env)
    assert not {"OMP_WAIT_POLICY", "OPENBLAS_CORETYPE"} & set(clean_environment())


@pytest.mark.parametrize("start", [peer_settings.PYTORCH, peer_settings.JAX, peer_settings.MLX, peer_settings.ONNXRUNTIME, peer_settings.OPENVINO])
def test_peers_come_with_no_variables(start):
    assert start["env"] == {}


def test_choices_of_pytorch():
    for threads in (1, 2):
        for what in ("train", "infer"):
            names = [choice.name for choice in peer_settings.pytorch_choices(threads, what)]
            assert len(names) == len(set(names))
            assert {"format", "memory", "vectors", "compile"} <= set(names)
            assert ("waiting" in names) == ("binding" in names) == (threads > 1)
            assert ("freeze" in names) == (what == "infer")
    for what in ("train", "infer"):
        changes = next(choice.changes for choice in peer_settings.pytorch_choices(2, what) if choice.name == "compile")
        assert {change["compile"] for change in changes} == {"default", "max-autotune-no-cudagraphs"} and len(changes) == 4


# ---- the search ------------------------------------------------------------------------------------------

START = {"format": "plain", "env": {}}
FORMAT = Choice("format", [{"format": "other"}, {"format": "third"}])
WAITING = Choice("waiting", [{"env": {"WAIT": "passive"}}, {"env": {"WAIT": "active"}}])


def quiet(_):
    pass


def timer(seconds, asked=None):
    """time_of: a base of 1, times what each word of a setting makes of it."""
    def time_of(setting):
        if asked is not None:
            asked.append(setting)
        total = 1.0
        for word in [setting["format"], *setting["env"].values()]:
            factor = seconds.get(word, 1)
            if factor is None:
                raise Refusal("not here")
            total *= factor
        return total
    return time_of


def test_search_takes_the_faster():
    best, tried = search(START, [FORMAT, WAITING], timer({"other": 0.9, "third": 0.8, "passive": 2, "active": 0.7}), tell=quiet)
    assert best == {"format": "third", "env": {"WAIT": "active"}}
    assert tried == ["format", "waiting"]


def test_search_leaves_out_what_gains_little():
    best, _ = search(START, [FORMAT, WAITING], timer({"other": 0.99, "third": 0.981, "active": 0.97}), tell=quiet)
    assert best == {"format": "plain", "env": {"WAIT": "active"}}


def test_search_never_takes_the_slower():
    assert search(START, [FORMAT, WAITING], timer({"other": 1.5, "third": 3, "passive": 1.9, "active": 1.01}), tell=quiet)[0] == START


def test_search_survives_a_refused_setting():
    best, tried = search(START, [FORMAT, WAITING], timer({"other": None, "third": 0.5, "passive": None, "active": None}), tell=quiet)
    assert best == {"format": "third", "env": {}} and tried == ["format", "waiting"]


def test_search_refuses_where_the_peer_does_not_run():
    with pytest.raises(Refusal):
        search(START, [FORMAT], timer({"plain": None}), tell=quiet)


def test_a_setting_that_fails_later_is_no_choice():
    asked = []
    plain = timer({"other": 0.1}, asked)

    def time_of(setting):
        if setting["format"] == "other" and len(asked) > 3:
            raise Refusal("gone")
        return plain(setting)
    assert search(START, [FORMAT], time_of, tell=quiet)[0] == START


def test_search_takes_the_best_of_repeats_in_turns():
    values = {"plain": iter([3, 1]), "other": iter([2, 2]), "third": iter([4, 0.9])}
    best, _ = search(START, [FORMAT], lambda setting: next(values[setting["format"]]), tell=quiet)
    assert best["format"] == "third"


def test_search_goes_on_where_it_was():
    asked, kept = [], []
    best, tried = search(merged(START, {"format": "other"}), [FORMAT, WAITING], timer({"active": 0.5}, asked), tried=["format"],
                         found=lambda setting, names: kept.append((setting, list(names))), tell=quiet)
    assert best == {"format": "other", "env": {"WAIT": "active"}} and tried == ["format", "waiting"]
    assert all(setting["format"] == "other" for setting in asked)
    assert kept == [(best, tried)]


def test_choices_may_depend_on_the_best():
    only_other = Choice("more", lambda best: [{"env": {"MORE": "active"}}] if best["format"] == "other" else [])
    assert search(START, [FORMAT, only_other], timer({"other": 0.5, "active": 0.5}), tell=quiet)[0]["env"] == {"MORE": "active"}
    assert search(START, [FORMAT, only_other], timer({"active": 0.5}), tell=quiet)[0]["env"] == {}


def test_two_choices_may_set_one_variable():
    setting = merged(merged(START, {"env": {"LD_PRELOAD": "a.so"}}), {"env": {"LD_PRELOAD": "b.so"}})
    assert setting["env"] == {"LD_PRELOAD": "a.so:b.so"}
    assert START == {"format": "plain", "env": {}}


# ---- what is kept ----------------------------------------------------------------------------------------

def test_kept_file_round_trip(tmp_path):
    path = str(tmp_path / "folder" / "settings.json")
    setting = {"format": "other", "env": {"WAIT": "active"}}
    Kept(path, "a").keep("lenet", setting, ["format"])
    Kept(path, "a").keep("mlp", START, [])
    assert Kept(path, "a").of("lenet") == {"setting": setting, "tried": ["format"]}
    assert Kept(path, "a").of("mlp") == {"setting": START, "tried": []}
    assert Kept(path, "a").of("gpt") is None


def test_entries_of_other_machines_are_not_used(tmp_path):
    path = str(tmp_path / "settings.json")
    Kept(path, "a").keep("lenet", START, ["format"])
    assert Kept(path, "b").of("lenet") is None
    Kept(path, "b").keep("lenet", merged(START, {"format": "other"}), [])
    assert Kept(path, "a").of("lenet")["setting"] == START


def test_the_machine_is_named_by_processor_and_cores(monkeypatch):
    monkeypatch.setattr(peer_settings, "processor", lambda: "a processor")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert peer_settings.machine_name() == "a processor, 3 cores"
    assert peer_settings.machine_name("cuda:0, a GPU") == "a processor, 3 cores, cuda:0, a GPU"


@pytest.mark.parametrize("text", ["", "[]", '{"2": {"env": {}}}', '{"machines": 1}'])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(Refusal, match="--calibration"):
        Kept(str(path), "a")
    assert path.read_text() == text


def settings_of(path, how="kept", compiled=("all",)):
    return Settings(argparse.Namespace(calibration=str(path), search=how, compile=list(compiled)))


SLOW = Choice("compile", [{"format": "compiled"}], True)


def test_settings_are_looked_for_once(tmp_path):
    asked, path = [], tmp_path / "settings.json"
    time_of = timer({"other": 0.5}, asked)
    for _ in range(2):
        found = settings_of(path).of("case", "lenet", START, [FORMAT, WAITING], time_of)
        assert found.setting == {"format": "other", "env": {}} and not found.missing
        count = len(asked)
    assert len(asked) == count
    settings_of(path, "again").of("case", "lenet", START, [FORMAT, WAITING], time_of)
    assert len(asked) == 2 * count


def test_what_was_not_tried_is_said(tmp_path):
    path = tmp_path / "settings.json"
    found = settings_of(path, "kept", ["none"]).of("case", "lenet", START, [FORMAT, SLOW], timer({"other": 0.5}))
    assert found.missing == ["compile"] and str(found) == "format other; not tried: compile"
    found = settings_of(path, "kept", ["mlp"]).of("case", "lenet", START, [FORMAT, SLOW], timer({}))
    assert found.missing == ["compile"]
    asked = []
    found = settings_of(path, "kept", ["lenet"]).of("case", "lenet", START, [FORMAT, SLOW], timer({"other": 0.5, "compiled": 0.1}, asked))
    assert not found.missing and found.setting["format"] == "compiled"
    assert "third" not in [setting["format"] for setting in asked]  # what was tried is not tried again


def test_a_choice_of_nothing_is_not_missed(tmp_path):
    found = settings_of(tmp_path / "settings.json", "none").of("case", "lenet", START, [Choice("nothing", []), FORMAT], None)
    assert found.missing == ["format"]


def test_without_a_search_peers_are_as_they_come(tmp_path):
    found = settings_of(tmp_path / "settings.json", "none").of("case", "lenet", START, [FORMAT, SLOW], None)
    assert found.setting == START and str(found) == "as it comes; not tried: format, compile"


# ---- a peer as it comes, and by what was found -----------------------------------------------------------

def test_the_fastest_is_that_of_the_least_median():
    assert fastest({"as it comes": [3, 1, 2], "found": [1, 9, 9]}) == "as it comes"
    assert fastest({"as it comes": [3, 3, 3], "found": [2, 1, 9]}) == "found"
    assert fastest({"as it comes": [], "found": [2]}) == "found"
    assert fastest({}) is None


def case_of(seconds):
    case = networks.Case("mlp", "small", argparse.Namespace(batch=None, device=None, program="none", threads=[2]))
    for (side, variant), values in seconds.items():
        case.seconds[side, variant, "train", 2] = values
    return case


def test_ratios_are_against_the_better_of_both():
    case = case_of({("hocket", "as it comes"): [1, 1, 1], ("pytorch", "as it comes"): [2, 2, 2], ("pytorch", "found"): [3, 3, 1]})
    assert case.best("pytorch", "train", 2) == ("as it comes", [2, 2, 2])
    assert case.ratio("train", 2, ["pytorch"]) == 2
    case = case_of({("hocket", "as it comes"): [1], ("pytorch", "as it comes"): [2], ("pytorch", "found"): [1.5], ("jax", "found"): [1.2]})
    assert case.ratio("train", 2, ["pytorch"]) == 1.5
    assert case.ratio("train", 2, ["pytorch", "jax"]) == 1.2
    assert case.ratio("train", 2, ["openvino"]) is None


# ---- processes that take turns ---------------------------------------------------------------------------

SPINS = """
import sys, threading, time
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
for line in sys.stdin:
    if "silent" in line: time.sleep(60)
    if "die" in line: sys.exit(4)
    print('{"line": "%s"}' % line.strip(), flush=True)
"""


def seconds_of(process):
    with open(f"/proc/{process.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]), fields[0]


@pytest.fixture
def spinning():
    process = Process([sys.executable, "-c", SPINS], clean_environment())
    yield process
    process.end()


def test_whoever_has_not_its_turn_is_stopped(spinning):
    assert spinning.ask("one") == {"line": "one"}
    assert spinning.ask("two") == {"line": "two"}
    time.sleep(0.05)
    before, state = seconds_of(spinning)
    time.sleep(0.3)
    assert state == "T" and seconds_of(spinning)[0] == before


def test_a_process_that_ends_or_is_silent_is_an_error(spinning):
    assert "status 4" in spinning.ask("die")["error"]
    assert "has ended" in spinning.ask("more")["error"]
    other = Process([sys.executable, "-c", SPINS], clean_environment())
    assert "no answer" in other.ask("silent", limit=0.5)["error"]
    assert other.process.returncode is not None


def test_a_process_has_the_cores_it_is_given():
    process = Process([sys.executable, "-c", "import os\nfor line in iter(input, ''): print(len(os.sched_getaffinity(0)), flush=True)"],
                      clean_environment(), 1)
    assert process.ask("x") == 1
    process.end()


def test_an_answer_of_several_lines_is_read_one_by_one():
    process = Process([sys.executable, "-c", "import sys\nfor line in sys.stdin: print('{\"a\": 1}\\n{\"a\": 2}', flush=True)"], clean_environment())
    assert [process.ask("x")["a"], process.ask("x")["a"]] == [1, 2]
    process.end()


def test_times_warm_up_and_count():
    calls = []
    answer = networks_program.times(lambda: calls.append(time.sleep(0.001)), 0.02, 2)
    assert answer["count"] == len(calls) - 2 and 0.0005 <= answer["min"] <= answer["seconds"] <= answer["max"]
    assert json.dumps(answer)


def test_options_are_told_by_words():
    options = networks_program.options_of(["batch", "8", "width", "0.5", "format", "channels_last", "he", "1"], {"format": "contiguous"})
    assert (options["batch"], options["width"], options["format"], "he" in options) == (8, 0.5, "channels_last", False)
