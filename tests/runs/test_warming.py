"""Kernels are compiled beside the server, and not without it."""

import subprocess
import sys

ENDLESS = """
import time
from bnmf_core.runs import warming
warming.warm_up = lambda: time.sleep(100)
warming.main()
"""


def test_it_ends_with_the_process_that_began_it():
    process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdin=subprocess.PIPE)
    try:
        process.communicate(timeout=50)  # closes its standard input, as the end of this one would
    finally:
        process.kill()
    assert process.returncode == 0
