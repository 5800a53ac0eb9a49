"""A cluster that speaks TLS, as the guide says: who has no certificate of ours is refused."""

import re
import subprocess
from pathlib import Path

import dask
import pytest

from bnmf_core.core.errors import SchedulerError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs import engine, executors
from bnmf_core.runs.executors import open_executor
from tests.runs.cluster import ROOT, Cluster
from tests.same import assert_same

pytestmark = pytest.mark.slow
# Brings the defaults of its configuration, into which that of a test is put.
pytest.importorskip("distributed")

GUIDE = (ROOT / "docs" / "guide" / "cluster.md").read_text()
FILES = {"cert": "certificate.pem", "key": "key.pem"}
SPEC = RunSpec("random_restarts", 3, particles=16)


def certified(folder: Path) -> dict[str, object]:
    """Certificates made by the guide's commands; what of dask's configuration names them."""
    folder.mkdir()
    for line in re.findall(r"^openssl .*$", GUIDE, re.MULTILINE):
        subprocess.run(line.split(), cwd=folder, check=True, capture_output=True)
    tls = "distributed.comm.tls"
    told = {"distributed.comm.require-encryption": True, f"{tls}.ca-file": str(folder / "ca.pem")}
    for role in ("scheduler", "worker", "client"):
        told |= {f"{tls}.{role}.{what}": str(folder / file) for what, file in FILES.items()}
    return told


@pytest.fixture
def secured(tmp_path, monkeypatch):
    """A cluster with one worker whose machines have certificates; what names them."""
    told = certified(tmp_path / "ours")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION", "True")
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        for what, file in FILES.items():
            name = f"DASK_DISTRIBUTED__COMM__TLS__{role}__{what.upper()}"
            monkeypatch.setenv(name, str(tmp_path / "ours" / file))
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", str(tmp_path / "ours" / "ca.pem"))
    assert all(name in GUIDE for name in ("COMM__REQUIRE_ENCRYPTION", "__CERT", "__KEY", "CA_FILE"))
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder, "--protocol", "tls")
    cluster.add_worker()
    yield cluster, told
    cluster.close()


def test_runs_are_made_by_those_who_have_a_certificate_and_nobody_else_comes_in(
    secured, tmp_path, monkeypatch
):
    cluster, ours = secured
    assert cluster.address.startswith("tls://")
    data = laurberg("two")
    with dask.config.set(ours):
        executor = cluster.open(threads=1)
        assert_same(engine.run(data, SPEC, executor=executor), engine.run(data, SPEC))
        executor.shutdown()
    monkeypatch.setattr(executors, "PATIENCE", 3.0)
    with pytest.raises(SchedulerError, match="certificates"):
        open_executor(cluster.address)
    with (
        dask.config.set(certified(tmp_path / "theirs")),
        pytest.raises(SchedulerError, match="certificates"),
    ):
        open_executor(cluster.address)
