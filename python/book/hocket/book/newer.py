"""What the book's cells ask of libraries that newer ones have dropped. It was written for matplotlib 3.7 and NumPy 1.23."""

import functools
import inspect


def _plain(values):
    """Numbers for a list or tuple of numbers and arrays of one: NumPy 1.24 makes no array of both any more."""
    if not isinstance(values, (list, tuple)) or len({getattr(value, "shape", ()) for value in values} & {(), (1,)}) < 2:
        return values
    return [float(value) if getattr(value, "shape", ()) == (1,) else value for value in values]


def _pyplot(module):
    """stem() takes use_line_collection, which matplotlib 3.8 dropped: it always does what the book wants by it. And see _plain."""
    stem, plot = module.stem, module.plot
    if "use_line_collection" not in inspect.signature(stem).parameters:
        @functools.wraps(stem)
        def stem_of_lines(*args, use_line_collection=True, **options):
            return stem(*args, **options)

        module.stem = stem_of_lines

    @functools.wraps(plot)
    def plot_of_numbers(*args, **options):
        return plot(*map(_plain, args), **options)

    module.plot = plot_of_numbers


MENDS = {"matplotlib.pyplot": _pyplot}
