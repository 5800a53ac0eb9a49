"""Make the shipped finished analyses: ``python -m sample_data.sessions [KEY]``.

One archive for each example that is small enough: its runs and all that Overview shows of them.
Make them anew when a stage of the analysis has a new version; tests say when.
"""

import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from bnmf_core import JobRunner, RunStore
from bnmf_core.analysis import structure
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.findings.answer import Answer
from bnmf_core.runs.examples import EXAMPLES, FINISHED, Example
from bnmf_core.share import archive
from studies.atlas.sources import SOURCES

# What Overview, Components, Samples and Traces show.
STAGES = (
    "structure",
    "islands",
    "chains",
    "conclusions",
    "evidence",
    "posterior",
    "belief",
    "mixing",
)
PATIENCE = 3600.0
# Without long chains, whose draws would be most of an archive; those within each mode are short.
EXAMPLES_MADE = ("digits", "two_solutions", "signatures")
# Data sets of the atlas that come with a package under a licence that allows it.
ATLAS_MADE = ("wine", "cancer")
KINDS, MOST = ("random_restarts", "q_transform"), 20


def of_atlas(key: str) -> Example:
    """A data set of the atlas at its published number of components."""
    source = SOURCES[key]
    return source.example(None, source.rank or 1)


def make(example: Example) -> None:
    """Run an example, wait for its analysis, and store both with the samples."""
    dataset = example.dataset()
    specs = [
        replace(spec, particles=MOST) for spec in example.runs(dataset) if spec.algorithm in KINDS
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(JobRunner(RunStore(Path(folder)))) as runner,
    ):
        run_ids = runner.start(dataset, specs, launch_name=example.label)
        runner.wait(run_ids, PATIENCE)
        found = runner.wait_analysis(run_ids, *STAGES, timeout=PATIENCE)
        modes = structure.modes_at(found, "max_angle", SAME_MODE)
        FINISHED.mkdir(exist_ok=True)
        path = FINISHED / f"{example.key}.zip"
        archive.write(path, Answer(found, "max_angle", modes), readable=False)
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    for key in sys.argv[1:] or (*EXAMPLES_MADE, *ATLAS_MADE):
        make(EXAMPLES.get(key) or of_atlas(key))
