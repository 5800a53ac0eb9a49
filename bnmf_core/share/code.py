"""Generate the program that repeats the runs of a comparison bit for bit."""

from collections.abc import Sequence
from pathlib import Path

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.particles import Particles
from bnmf_core.core.whole import AllObservations
from bnmf_core.data.samples import sample_of
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.launch import run_names
from bnmf_core.store.records import RunRecord
from bnmf_core.version import VERSION

PROGRAM = '''"""Repeats {runs} of {data}.

Made by bnmf {version}. The same seeds give the same numbers: to the last bit with the same versions
on the same kind of processor, else nearly so.
"""

from bnmf_core import RunSpec, {loader}, run

dataset = {load}
if dataset.hash != "{hash}":
    raise SystemExit("These are other data than those of the runs.")

# What was run, and the digest of the factorizations that came of it.
RUNS = {{
{specs}
}}

for name, (spec, expected) in RUNS.items():
    particles = run(dataset, spec)
    particles.save(f"{{name}}.npz")
    same = "the same bits" if particles.digest == expected else "other bits than then"
    print(f"{{name}}: {{particles.M}} factorizations, {{same}}")
'''


def script(comparison: Comparison, archive: str = "archive.zip") -> str:
    """Return a Python program that repeats the runs and compares their digests.

    ``archive`` : path of an archive with the data, for data that do not come with the program.
    A comment counts the runs of other programs, which are left out.
    """
    every = list(zip(comparison.runs, comparison.particles, strict=True))
    return script_of(every, comparison.dataset, archive)


def script_of(
    every: Sequence[tuple[RunRecord, Particles | None]], dataset: Dataset, archive: str
) -> str:
    """:func:`script` for runs whose factorizations may be lost."""
    made = [(run, particles) for run, particles in every if run.spec.algorithm in ALGORITHMS]
    foreign = len(every) - len(made)
    sample = sample_of(dataset)
    specs = [_entry(record, particles) for record, particles in made]
    if foreign:
        specs.append(f"    # {foreign} more came from another program and cannot be made again.")
    plural = "s" if len(made) != 1 else ""
    loader = "load_sample" if sample else "load_archive"
    load = f"load_sample({sample!r})" if sample else f"load_archive({archive!r}).dataset"
    if dataset.whole is not None and dataset.whole.path:
        loader, load = "Dataset", _from_blocks(dataset, dataset.whole)
    return PROGRAM.format(
        runs=f"{len(made)} run{plural}",
        data=_quiet(dataset.name),
        version=VERSION,
        loader=loader,
        load=load,
        hash=dataset.hash,
        specs="\n".join(specs),
    )


def _from_blocks(dataset: Dataset, whole: AllObservations) -> str:
    """Code that opens data in blocks; the path is only the file's name."""
    values = {
        "observations": whole.observations,
        "sample": dataset.N,
        "seed": whole.seed,
        "name": dataset.name,
        "unit": dataset.unit,
        "features_are": dataset.features_are,
    }
    arguments = ", ".join(f"{name}={value!r}" for name, value in values.items() if value != "")
    return f"Dataset.from_blocks({Path(whole.path).name!r}, {arguments})"


def _entry(record: RunRecord, particles: Particles | None) -> str:
    spec = record.spec
    chosen = [f"{spec.algorithm!r}", f"rank={spec.rank}", f"model={spec.model!r}"]
    chosen += [f"particles={spec.particles}", f"seed={spec.seed}"]
    for name in ("settings", "model_settings"):
        if values := dict(getattr(spec, name)):
            chosen.append(f"{name}={values!r}")
    if spec.holdout:
        chosen.append(f"holdout={spec.holdout!r}")
    if spec.seconds and particles and particles.info.get("stop_reason") == "budget":
        # A time budget depends on the machine, so the number made is written.
        chosen[3] = f"particles={particles.M}"
    # A run that was stopped early has fewer factorizations than the program will make.
    stopped = "" if record.status == "complete" else f"  # {record.status} after {record.done}"
    stopped += "" if particles else "  # what it made is lost, and nothing to compare with"
    digest = particles.digest if particles else ""
    return (
        f"    {record.id!r}: (  # {_quiet(run_names([record])[record.id])}\n"
        f"        RunSpec({', '.join(chosen)}),\n"
        f"        {digest!r},{stopped}\n    ),"
    )


def _quiet(text: str) -> str:
    """Remove what could end a comment or a string."""
    visible = "".join(character for character in text if character.isprintable())
    return visible.replace("\\", "/").replace('"', "'")
