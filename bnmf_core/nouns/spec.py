"""What a run is asked to do, and how far it is."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a result, given a dataset: same spec, same bits.

    Attributes
    ----------
    algorithm, model : registry keys.
    rank : R, the number of components.
    particles : how many factorizations to keep.
    seed : every random number of the run comes from it.
    settings, model_settings : values by name; what is left out takes its default.
    holdout : fraction of the observations that the run does not see (0 to 0.5).

    Examples
    --------
    >>> from bnmf_core import RunSpec
    >>> spec = RunSpec("gibbs", rank=3, particles=20, settings={"warm_up": 50})
    >>> RunSpec.from_dict(spec.to_dict()) == spec
    True
    """

    algorithm: str
    rank: int
    model: str = "gaussian"
    particles: int = 100
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    holdout: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = dataclasses.asdict(self)
        plain["settings"] = dict(self.settings)
        plain["model_settings"] = dict(self.model_settings)
        return plain

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
    done, total : particles finished and asked for.
    fraction : part of the whole work that is done, 0 to 1.
    seconds : since the run began. remaining : seconds still to go, None while unknown.
    stage : what is being done now, in words.

    Examples
    --------
    >>> from bnmf_core import RunSpec, laurberg, run
    >>> told = []
    >>> _ = run(laurberg("two"), RunSpec("gibbs", rank=3, particles=5), on_progress=told.append)
    >>> told[-1].done, told[-1].total, told[-1].fraction
    (5, 5, 1.0)
    """

    done: int
    total: int
    fraction: float
    seconds: float
    remaining: float | None
    stage: str
