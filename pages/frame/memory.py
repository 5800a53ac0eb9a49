"""What the libraries hold stays for good: the search for garbage passes over it."""

import gc
import sys
from functools import lru_cache


def pass_over_libraries() -> None:
    """Leave what is there now out of the search for garbage, if libraries have come since.

    Streamlit has all of memory searched after every answer, which holds back the answer itself and
    every other session; nearly all that is there belongs to libraries. It is called where an answer
    begins, when the search after the last one has left no garbage.
    """
    _pass_over(len(sys.modules))


@lru_cache(maxsize=1)
def _pass_over(_modules: int) -> None:
    gc.freeze()
