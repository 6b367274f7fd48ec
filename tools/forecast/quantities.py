"""How times, bytes and shares are written."""


def _scaled(value: float, step: float, units: tuple[str, ...]) -> str:
    """Three digits and a unit."""
    unit = 0
    while unit < len(units) - 1 and value >= (999.5 if unit else 1000):
        value /= step
        unit += 1
    decimals = 0 if not unit or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{decimals}f} {units[unit]}"


def in_time(ns: int) -> str:
    return _scaled(float(ns), 1000, ("ns", "us", "ms", "s"))


def in_bytes(count: float) -> str:
    return _scaled(float(int(min(count, 4e18))), 1024, ("B", "KiB", "MiB", "GiB"))


def in_percent(part: int, whole: int) -> str:
    value = 100 * float(part) / float(whole) if whole > 0 else 0.0
    return f"{value:.{1 if part and value < 9.95 else 0}f} %"


def in_share(share: float) -> str:
    """A share of 1, in percent."""
    return in_percent(int(min(1e6 * share + 0.5, 1e18)), 1000000)


def plural(count: int) -> str:
    return "" if count == 1 else "s"
