"""What the book's cells ask of libraries that newer ones have dropped. It was written for matplotlib 3.7."""

import functools
import inspect


def _pyplot(module):
    """stem() takes use_line_collection, which matplotlib 3.8 dropped: it always does what the book wants by it."""
    plain = module.stem
    if "use_line_collection" in inspect.signature(plain).parameters:
        return

    @functools.wraps(plain)
    def stem(*args, use_line_collection=True, **options):
        return plain(*args, **options)

    module.stem = stem


MENDS = {"matplotlib.pyplot": _pyplot}
