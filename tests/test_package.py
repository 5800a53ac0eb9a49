"""Installed as a wheel, the engine, the app and a package that adds to it work in any folder."""

import json
import os
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from bnmf_core.notebook.server import free_port
from bnmf_core.version import VERSION
from tests.pages.visitors import Visitor
from tests.test_examples import README, example_of

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow
QUIET = ["--disable-pip-version-check"]
BITS = """
import hashlib
import numpy as np
from bnmf_core import Dataset, RunSpec, distances, run
X = np.random.default_rng(5).poisson(3, size=(60, 40)).astype(float)
quick = {"warm_up": 3}
for key, settings in (("random_restarts", {}), ("gibbs", quick), ("hmc", quick)):
    particles = run(Dataset.from_array(X), RunSpec(key, 4, particles=6, settings=settings))
    apart = distances(particles, "max_angle")
    for array in (particles.A, apart):
        print(key, hashlib.md5(np.ascontiguousarray(array).tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of the engine, from its source distribution, and of the example."""
    folder = tmp_path_factory.mktemp("wheels")
    sources = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    subprocess.run(sources, cwd=ROOT, check=True, capture_output=True)
    (packed,) = folder.glob("bnmf-*.tar.gz")
    wheel = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", *QUIET]
    for project in (packed, ROOT / "tests" / "package"):
        command = [sys.executable, *wheel, "--wheel-dir", str(folder), str(project)]
        subprocess.run(command, check=True, capture_output=True)
    return sorted(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """A folder with both wheels unpacked, as pip leaves them."""
    folder = tmp_path_factory.mktemp("installed")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as content:
            content.extractall(folder)
    return folder


@pytest.fixture
def python(installed, tmp_path):
    """Runs Python elsewhere, with the wheels in place of this checkout; what it said."""

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(installed), "BNMF_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-P", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_wheel_is_typed_and_brings_samples_and_a_command(wheels):
    (engine,) = (wheel for wheel in wheels if wheel.name.startswith("bnmf-"))
    with zipfile.ZipFile(engine) as content:
        names = content.namelist()
        (points,) = (name for name in names if name.endswith("entry_points.txt"))
        assert "bnmf = bnmf_core.cli:main" in content.read(points).decode()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        needed = content.read(metadata).decode()
    assert {"bnmf_core/py.typed", "bnmf_core/data/samples.toml"} < {*names}
    assert "bnmf_core/data/sample_data/faces.npz" in names
    assert "Requires-Dist: numpy" in needed
    (app,) = (line for line in needed.splitlines() if line.startswith("Requires-Dist: streamlit"))
    assert app.endswith("extra == 'app'")
    assert {name.split("/")[0] for name in names} == {"bnmf_core", points.split("/")[0]}
    assert "bnmf_core/app/.streamlit/config.toml" in names
    assert not any("__pycache__" in name or "secrets" in name for name in names)


def test_the_release_is_told_where_it_is_cited_and_where_its_changes_stand():
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    assert (ROOT / "CHANGELOG.md").read_text().startswith(f"# Changelog\n\n## {VERSION}\n")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_pip_brings_the_command_and_the_app_into_an_empty_environment(wheels, tmp_path):
    """From the package index; skipped where none can be reached."""
    venv.create(tmp_path / "empty", with_pip=True)
    wheel = next(wheel for wheel in wheels if wheel.name.startswith("bnmf-"))
    pip = [tmp_path / "empty" / "bin" / "pip", "install", "--quiet", *QUIET]
    done = subprocess.run([*pip, f"{wheel}[app]"], capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr or "Max retries" in done.stderr:
        pytest.skip("No package index can be reached from here.")
    assert done.returncode == 0, done.stderr
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [tmp_path / "empty" / "bin" / "bnmf", "--version"]
    said = subprocess.run(command, env=own, capture_output=True, text=True, check=True)
    assert VERSION in said.stdout
    _serves(tmp_path / "empty", tmp_path)


@pytest.fixture(scope="module")
def environment(wheels, tmp_path_factory):
    """A virtual environment with the wheel, which sees what this one has beside the project."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), *QUIET]
    wheel = next(wheel for wheel in wheels if wheel.name.startswith("bnmf-"))
    command = [*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    (place,) = folder.glob("lib/*/site-packages")
    (place / "others.pth").write_text(sysconfig.get_path("purelib"))
    return folder


def test_the_installed_app_serves_its_pages(environment, tmp_path):
    _serves(environment, tmp_path)


def _serves(environment, tmp_path):
    """Whether the app that is installed there serves its pages."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [environment / "bin" / "bnmf", "app", "--port", str(port), "--home", "kept"]
    # This checkout is nowhere on its path.
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=own, stdout=log, stderr=log)
    try:
        for _ in range(600):
            try:
                assert urlopen(f"{address}/_stcore/health", timeout=5).read() == b"ok"
                break
            except OSError:
                assert server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.1)
        visitor = Visitor(address, {})
        assert b"What does your factorization hide?" in visitor.visit("")
        # Those that need the studies.
        for page in ("starts", "study", "discrepancy"):
            visitor.visit(page)
            kinds = {one.delta.new_element.WhichOneof("type") for one in visitor._received}
            assert "exception" not in kinds
        visitor.close()
        with urlopen(address) as page:
            assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    finally:
        server.terminate()
        server.wait(timeout=20)
    assert (tmp_path / "kept").is_dir()
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_the_first_run_of_a_fresh_installation_has_the_bits_of_every_later_one(python):
    assert python("-c", BITS) == python("-c", BITS)


def test_the_installed_engine_runs_the_readme_and_lists_its_samples(python, installed):
    assert python("-c", "import bnmf_core; print(bnmf_core.__file__)").startswith(str(installed))
    code, printed = example_of(README)
    assert python("-c", code).strip() == printed
    command = "import sys; from bnmf_core.cli import main; sys.exit(main(sys.argv[1:]))"
    listed = json.loads(python("-c", command, "samples", "--json"))
    assert [sample["key"] for sample in listed["samples"]] == [
        "faces",
        "digits",
        "newsgroups",
        "leukemia",
        "signatures",
        "ink",
    ]
    assert "(644, 400)" in python(
        "-c", "from bnmf_core import load_sample; print(load_sample('faces').X.shape)"
    )


def test_a_package_adds_an_algorithm_a_model_a_distance_and_a_finding(python):
    said = python(
        "-c",
        """
from types import SimpleNamespace
import numpy as np
import pandas as pd
from bnmf_core import RunSpec, algorithms, distances, laurberg, run
from bnmf_core.findings.facts import say
from bnmf_core.findings.sources import FINDINGS
from bnmf_core.compare.distances import DISTANCES
data = laurberg("two", noise=0.01)
spec = RunSpec("prior_starts", 3, model="doubtful_gaussian", particles=6)
particles = run(data, spec)
usual = run(data, RunSpec("prior_starts", 3, particles=6))
print(algorithms()[-1], list(DISTANCES)[-1], distances(particles, "mean_angle").shape)
sigma = [p.info["model_settings"]["sigma"] for p in (particles, usual)]
print(round(sigma[0] / sigma[1], 6), np.array_equal(particles.A, usual.A))
answer = SimpleNamespace(comparison=SimpleNamespace(members=pd.DataFrame({"error": [0.3, 0.25]})))
print([(page, say(facts)) for page, facts in FINDINGS["best_error"].find(answer)])
""",
    )
    assert said.split("\n")[0] == "prior_starts mean_angle (6, 6)"
    assert said.split("\n")[1].startswith("2.0 ")
    assert said.split("\n")[2] == "[('quality', 'The least relative error is 0.25.')]"
