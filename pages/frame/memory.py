"""Freeze the objects of libraries, so that garbage collection skips them."""

import gc
import sys
from functools import lru_cache


def pass_over_libraries() -> None:
    """Exclude current objects from garbage collection, if libraries were imported since.

    Streamlit has all of memory searched after every answer, which holds back the answer itself and
    every other session; nearly all that is there belongs to libraries. It is called where an answer
    begins, when the search after the last one has left no garbage.
    """
    _pass_over(len(sys.modules))


@lru_cache(maxsize=1)
def _pass_over(_modules: int) -> None:
    gc.freeze()
