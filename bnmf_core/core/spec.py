"""The specification of a run, its progress, and its outcome."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from bnmf_core.core.plain import Plain, Value, plain

# The key of the model of ordinary NMF.
USUAL_MODEL = "gaussian"


@dataclass(frozen=True)
class RunSpec:
    """Specification of a run on a dataset: same spec, same bits.

    Attributes
    ----------
    algorithm, model : registry keys.
    rank : R, the number of components.
    particles : how many factorizations to keep.
    seed : every random number of the run comes from it.
    settings, model_settings : values by name; what is left out takes its default.
    holdout : fraction of the observations that the run does not see (0 to 0.5).
    seconds : budget of the run, in seconds that processors work on it, all together; it ends when
        they are used up, and ``particles`` is the most that it makes. 0: no budget. How far it gets
        depends on the machine; what it has made by then does not.

    Examples
    --------
    >>> from bnmf_core import RunSpec
    >>> spec = RunSpec("gibbs", rank=3, particles=20, settings={"warm_up": 50})
    >>> RunSpec.from_dict(spec.to_dict()) == spec
    True
    """

    algorithm: str
    rank: int
    model: str = USUAL_MODEL
    particles: int = 100
    seed: int = 0
    settings: Mapping[str, Value] = field(default_factory=dict)
    model_settings: Mapping[str, Value] = field(default_factory=dict)
    holdout: float = 0.0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Take numbers of NumPy as those of Python, which can be stored."""
        for name, value in list(vars(self).items()):
            object.__setattr__(self, name, plain(value))

    def to_dict(self) -> dict[str, Plain]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "RunSpec":
        """The inverse of :meth:`to_dict`; what was added since has its default.

        Raises
        ------
        ValueError
            Naming an entry that is not known: such a run would not be what it says it is.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ValueError(f"its entry {unknown[0]!r} is not known here")
        return cls(**values)


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    done, total : particles finished and requested.
    fraction : part of the whole work that is done, 0 to 1.
    seconds : since the run began. remaining : seconds still to go, None while unknown.
    stage : what is being done now, in words. busy : seconds that processors have worked on it.

    Examples
    --------
    >>> from bnmf_core import RunSpec, laurberg, run
    >>> reports = []
    >>> _ = run(laurberg("two"), RunSpec("gibbs", rank=3, particles=5), on_progress=reports.append)
    >>> reports[-1].done, reports[-1].total, reports[-1].fraction
    (5, 5, 1.0)
    """

    done: int
    total: int
    fraction: float
    seconds: float
    remaining: float | None
    stage: str
    busy: float = 0.0


class FailedChain(TypedDict):
    """A chain (of an explorer: a block) that did not reach its end.

    ``after_draw`` is the number of its particles; ``reason`` says why, in a sentence.
    """

    chain: int
    after_draw: int
    reason: str


class RunInfo(TypedDict, total=False):
    """Metadata of a run, stored with its particles.

    version : of the program. dataset : its name. algorithm_label : as on screen.
    settings, model_settings : every one, with the value that it took.
    stop_reason : "complete", "budget" where that was used up, "cancelled", or the state of a run
        that is not over.
    run_seconds : how long it took. failed_chains : those that did not reach their end.
    log_evidence : log p(X), nats, where the algorithm estimates it; None where its populations
        disagree. log_evidence_error : its standard error, nats; None likewise.
    acceptance : the part of proposals that was accepted, where there were any.
    notes : sentences about the run to be read with its result.
    damage : what of it is damaged on the disk and left out, where anything is.
    """

    version: str
    dataset: str
    algorithm_label: str
    settings: Mapping[str, Value]
    model_settings: Mapping[str, Value]
    stop_reason: str
    run_seconds: float
    failed_chains: Sequence[FailedChain]
    log_evidence: float | None
    log_evidence_error: float | None
    acceptance: float
    notes: Sequence[str]
    damage: str
