"""Clusters on this machine, for tests of runs and of analyses."""

import pytest

from tests.runs.cluster import Cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers of one thread."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for _ in range(2):
            cluster.add_worker()
        cluster.open(threads=2).shutdown()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def losable(tmp_path):
    """A scheduler of the test's own, without workers."""
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.close()
