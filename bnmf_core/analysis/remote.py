"""Where the parts of an analysis are made: on a cluster while that answers, and otherwise here."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from bnmf_core.core import events
from bnmf_core.core.errors import SchedulerError

Made = TypeVar("Made")
# The executor of a cluster; None: threads of this process.
Find = Callable[[], Executor | None]


def no_cluster() -> None:
    """No cluster is asked."""


class Cluster:
    """A cluster that is asked until it is lost.

    Parameters
    ----------
    find : its executor, opened when it is needed; None for threads of this process, where all is
        made.

    Attributes
    ----------
    said : how it was lost, in a sentence or two; "" while it is not.
    """

    def __init__(self, find: Find = no_cluster) -> None:
        self._find = find
        self.said = ""

    def make(self, act: Callable[[Executor | None], Made]) -> Made:
        """``act(executor)``, once more without one where the cluster is lost meanwhile.

        What is made has to go on from what it has stored, and to be the same wherever it is made.
        """
        try:
            return act(self._find())
        except SchedulerError as error:
            events.tell("cluster lost", what="analysis")
            self._find = no_cluster
            self.said = f"{error} It is computed on this machine now."
        return act(None)
