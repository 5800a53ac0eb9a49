"""The evidence of one rank under the noises of counts: do they vary more than Poisson allows?"""

from dataclasses import asdict
from typing import Any

from bnmf_core.core.model import Model
from bnmf_core.core.problem import Problem
from bnmf_core.data.kinds import Kind
from bnmf_core.evidence.parts import Work
from bnmf_core.evidence.rank_evidence import evidence_of
from bnmf_core.evidence.restarts import Restarts, made_of, shards
from bnmf_core.likelihoods import MODELS

# Fraction of the time for restarts.
RESTARTS_TAKE = 0.2


def other_noises(model: Model) -> list[Model]:
    """The other models of counts, where this is one."""
    of_counts = [one for one in MODELS.values() if {*one.suits} & {Kind.COUNTS, Kind.VARIED}]
    return [one for one in of_counts if one is not model] if model in of_counts else []


def from_restarts(problem: Problem, restarts: int, most_modes: int, work: Work) -> dict[str, Any]:
    """Compute the :class:`RankEvidence` of a rank from its own restarts."""
    blocks = shards(restarts, int(work.rng.integers(2**32)))
    found = Restarts.read(made_of(problem, blocks, work.part_of(RESTARTS_TAKE)))
    return asdict(evidence_of(problem, found, most_modes, work.part_of(1.0 - RESTARTS_TAKE)))
