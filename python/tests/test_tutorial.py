"""What the tutorial of the documentation site says runs, in one go."""
import os
import re
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_the_tutorial(capsys):
    with open(os.path.join(ROOT, "docs", "site", "tutorial.rst"), encoding="utf-8") as file:
        blocks = re.findall(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", file.read(), re.M)
    namespace = {}
    for block in blocks:
        exec(compile(textwrap.dedent(block), "tutorial.rst", "exec"), namespace)
    text = capsys.readouterr().out
    assert len(blocks) == 9 and "[[31." in text and "division by zero at element [1]" in text and "[ 2. -4.]" in text
    assert namespace["right"].item() > 0.9
