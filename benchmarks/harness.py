"""Shared by all benchmarks: paired repeats, ratios, slopes, data, threads, the command line."""

import argparse
import contextlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.io import loadmat, mmread
from threadpoolctl import threadpool_limits

from benchmarks.tables import as_text
from bnmf_core import Dataset, load_sample
from bnmf_core.data.load import load_file

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 5
QUICK_REPEATS = 2
# Two hyperspectral images, the terms of 2,225 articles (Greene & Cunningham 2006), those of 11,293
# posts, genes of 38 patients and the mutations of 21 tumours.
PUBLIC = {
    "samson": Path("samson", "samson_dataset.mat"),
    "jasper": Path("jasper_ridge", "jasperRidge2_R198.mat"),
    "bbc": Path("bbc", "bbc.mtx"),
    "posts": Path("20newsgroups", "20newsgroups-train.tab.gz"),
    "golub": Path("golub_all_aml", "ALL_AML_data.txt"),
    "tumours": Path("breast21_signatures", "Samples_SBS.txt"),
}
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "streamlit", "plotly")


class Unavailable(Exception):
    """Something that this machine lacks; the table shows the text."""


def seconds(function: Callable[[], Any]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def both_times(function: Callable[[], Any]) -> tuple[float, float]:
    """Wall time of one call, and processor time of all threads of this process."""
    began = time.process_time()
    wall = seconds(function)
    return wall, time.process_time() - began


def in_turn(repeats: int, *sides: Callable[[int], float]) -> list[list[float]]:
    """Measure A B … A B …, so that a slow spell of the machine hits every side.

    Each side takes the number of the repeat and returns its measurement; the caller has warmed
    it up. The result has one list a side.
    """
    rounds = [[side(repeat) for side in sides] for repeat in range(repeats)]
    return [list(measured) for measured in zip(*rounds, strict=True)]


def ratio(numerators: list[float], denominators: list[float]) -> dict[str, Any]:
    """Median, least and largest ratio, taken pair by pair."""
    ratios = [a / b for a, b in zip(numerators, denominators, strict=True)]
    return {"median": median(ratios), "min": min(ratios), "max": max(ratios), "all": ratios}


def slope(x: list[float], y: list[float]) -> float:
    """Exponent p of y ∝ x^p: the least-squares line through the logarithms.

    Raises
    ------
    ValueError
        With fewer than two different x, or values that have no logarithm.
    """
    if len(set(x)) < 2 or min(*x, *y) <= 0:
        raise ValueError("A slope needs two different x, and x and y above zero.")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def against(measured: float, target: float, at_least: bool = True) -> dict[str, Any]:
    """A measured number relative to its target: ``part`` is 1 at the target, more is better."""
    part = measured / target if at_least else target / measured
    return {"target": f"{'≥' if at_least else '≤'} {target:g}", "part": part, "met": part >= 1.0}


@contextlib.contextmanager
def blas_threads(count: int | None) -> Iterator[None]:
    """Hold BLAS to ``count`` threads; None leaves its default, usually every core."""
    if count is None:
        yield
    else:
        with threadpool_limits(count, user_api="blas"):
            yield


def data_folder() -> Path:
    """A folder with public data sets, named by ``BNMF_DATA``."""
    return Path(os.environ.get("BNMF_DATA", ROOT.parent / "shared" / "data"))


def public(file: str | Path) -> Path:
    """A file in the folder of public data sets.

    Raises
    ------
    Unavailable
        When it is not there.
    """
    path = data_folder() / file
    if not path.is_file():
        raise Unavailable(f"{path.name} is not in the folder named by BNMF_DATA")
    return path


def dataset(name: str) -> Dataset:
    """A sample that comes with the program, or one of PUBLIC from the folder of public data sets.

    Raises
    ------
    Unavailable
        When a public one is not there.
    """
    if name not in PUBLIC:
        return load_sample(name)
    path = public(PUBLIC[name])
    if name == "bbc":
        return Dataset.from_array(mmread(path).tocsc(), name="BBC news", unit="count")
    if path.suffix != ".mat":
        return load_file(path)
    return Dataset.from_array(loadmat(path)["Y"], name=name.capitalize(), unit="reflectance")


def machine() -> dict[str, Any]:
    """The machine and the versions, without names of hosts or folders."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        versions[package] = metadata.version(package)
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": _memory(),
        "versions": versions,
    }


def main(measure: Callable[[bool], dict]) -> None:
    """The command line of one benchmark: a table, or everything measured as JSON."""
    parser = argparse.ArgumentParser(description="Measure and print.")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--quick", action="store_true", help="a smoke test: numbers mean little")
    options = parser.parse_args()
    result = measure(options.quick)
    if options.json:
        print(json.dumps(result | {"machine": machine()}, indent=1, default=plain))
    else:
        print(as_text(result))


def plain(value: Any) -> Any:
    """Numpy's numbers and arrays as JSON types."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _memory() -> str:
    with contextlib.suppress(AttributeError, ValueError, OSError):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return f"{size / 2**30:.0f} GiB"
    return "unknown"
