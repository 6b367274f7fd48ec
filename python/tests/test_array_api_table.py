import os
import subprocess
import sys


def test_the_page_is_what_the_script_writes():
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    subprocess.run([sys.executable, os.path.join(root, "scripts", "array-api-table"), "--check"], check=True)
