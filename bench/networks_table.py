"""What bench/networks.py prints."""
import math
import statistics

from sides import DISTURBED

WHAT = ("train", "infer")
SIZES = ("book", "small")


def cores(threads):
    return f"{threads} core{'s'[:threads - 1]}"


def milliseconds(values):
    if not values:
        return "-"
    middle, low, high = (1e3 * f(values) for f in (statistics.median, min, max))
    return f"{middle:.4g} [{low:.3g} {high:.3g}]"


def text_of(ratio):
    return f"{ratio:.2f}" if ratio else "-"


def groups(what, peers):
    """Against whom ratios are: title, names of peers."""
    names = [peer.name for peer in peers]
    everyone = {"the best of all": names} if len(names) > 1 else {}
    return {**everyone, **{peer.title: [peer.name] for peer in peers if what in peer.kind.what}}


def print_part(cases, peers, what, threads):
    title = {"train": "training step", "infer": "inference of one sample"}[what]
    where = cases[0].args.device or cores(threads) + ", processor time" * (threads == 1)
    print(f"\n{title}, {where}, ms: median [min max] of the rounds; ratio: the peer's / hocket's")
    for case in cases:
        name = f"{case.name}, {case.size}" + (f", {case.batch}" if what == "train" else "")
        rules = case.seconds.get(("hocket", "rules", what, threads))  # by which nothing is measured beforehand
        print(f"  {name:22} {'hocket':13} {milliseconds(case.best('hocket', what, threads)[1]):>26}"
              + (f"         by rules {milliseconds(rules)}" if rules else ""))
        measured = [peer for peer in peers if case.best(peer.name, what, threads)[1]]
        for peer in measured:
            ratio = case.ratio(what, threads, [peer.name])
            print(f"  {'':22} {peer.title:13} {milliseconds(case.best(peer.name, what, threads)[1]):>26} {text_of(ratio):>6}  "
                  + case.setting_text(peer.name, what, threads))
        if len(measured) > 1:
            print(f"  {'':22} {'the best':13} {'':26} {text_of(case.ratio(what, threads, [peer.name for peer in peers])):>6}")


def print_memory(cases):
    print("\nmemory of three steps, MiB at most: hocket, PyTorch as it comes, ratio")
    for case in cases:
        ours, theirs = (f"{case.bytes[side] / 2 ** 20:.2f}" if case.bytes.get(side) else "-" for side in ("hocket", "pytorch"))
        print(f"  {f'{case.name}, {case.size}, {case.batch}':22} {ours:>26} {theirs:>26} {text_of(case.memory_ratio()):>6}")


def print_others(cases):
    shares = [share for case in cases for share in case.others]
    if shares:
        disturbed = sum(share > DISTURBED for share in shares)
        print(f"\nothers used more than {100 * DISTURBED:.0f} % of the cores before {disturbed} of {len(shares)} rounds, "
              f"{100 * max(shares):.0f} % at most" + "; what is said of several cores may be theirs" * (disturbed > 0))


def sum_up(cases, peers, threads):
    """Lines of geometric means, and the least."""
    rows = [(f"{what}, {cores(n)}, {title}", lambda case, what=what, n=n, names=names: case.ratio(what, n, names))
            for what in WHAT for n in threads for title, names in groups(what, peers).items()]
    rows.append(("memory, PyTorch", lambda case: case.memory_ratio()))
    print(f"\n{'peer / hocket':44} {'mean':>6} {'least':>6} {'networks':>8}  below 1")
    for title, ratio_of in rows:
        for size in SIZES:
            ratios = {case.name: ratio_of(case) for case in cases if case.size == size and ratio_of(case)}
            if not ratios:
                continue
            mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
            slower = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items() if ratio < 1)
            print(f"{title + ', ' + size:44} {mean:6.2f} {min(ratios.values()):6.2f} {len(ratios):8}  {slower}")


def in_short(case, peers):
    """A line for who waits."""
    ratios = ", ".join(f"{what} {n} {text_of(case.ratio(what, n, [peer.name for peer in peers]))}" for what in WHAT for n in case.args.threads)
    return f"{case.name}, {case.size}: the best peer / hocket: {ratios}, memory {text_of(case.memory_ratio())}"
