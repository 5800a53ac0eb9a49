"""Mistakes to plant in ``bnmf_core/evidence``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "ranks: no relabellings in the evidence",
        "evidence/rank_evidence.py",
        "    relabellings = lgamma(problem.rank + 1)\n",
        "    relabellings = 0.0 * lgamma(problem.rank + 1)\n",
        "tests/evidence/test_rank_study.py::test_the_evidence_of_a_rank_is_that_of_importance_sampling",
    ),
    Mutant(
        "ranks: relabellings that were reached count again",
        "evidence/rank_evidence.py",
        "lgamma(problem.rank + 1) + reached",
        "lgamma(problem.rank + 1)",
        "tests/evidence/test_rank_study.py::test_components_that_nobody_needs_leave_an_evidence",
    ),
    Mutant(
        "ranks: the noise level stays at the residual",
        "evidence/noise.py",
        "variance + step * (met - variance)",
        "variance",
        "tests/evidence/test_rank_study.py::test_the_free_noise_level_is_where_the_evidence_is_largest",
    ),
    Mutant(
        "ranks: hidden counts are measured with the dispersion of their own rank",
        "evidence/rank_study.py",
        "rank, rng, stopped, loss)",
        "rank, rng, stopped, problem.loss)",
        "tests/evidence/test_counts.py::"
        "test_hidden_counts_are_measured_with_the_same_dispersion_at_all_ranks",
    ),
    Mutant(
        "ranks: a maximum at the end settles",
        "evidence/criteria.py",
        "    elif chosen == tried[-1]:",
        "    elif chosen > tried[-1]:",
        "tests/evidence/test_criteria.py",
    ),
    Mutant(
        "evidence: normals that are not normalised by their truncation",
        "samplers/truncated_normals.py",
        "log_total = log_inside + 0.5",
        "log_total = 0.5",
        "tests/evidence/test_truncated_normals.py",
    ),
    Mutant(
        "evidence: no Jacobian in the move of scales",
        "samplers/entries.py",
        " + excess * step",
        "",
        "tests/evidence/test_path.py",
    ),
    Mutant(
        "evidence: the prior comes in at once",
        "samplers/entries.py",
        "(1 - power) * self.linear + power * other.linear",
        "(1 - power) * self.linear + other.linear",
        "tests/evidence/test_path.py",
    ),
    Mutant(
        "evidence: weights that are left out of the total",
        "evidence/annealing.py",
        "log_evidence += top + np.log(grown.sum())",
        "log_evidence += top",
        "tests/evidence/test_mode_evidence.py",
    ),
    Mutant(
        "evidence: relabelled draws are counted again",
        "evidence/weighing.py",
        "    ordered = near & (orders == np.arange(orders.shape[1])).all(axis=1)",
        "    ordered = near",
        "tests/evidence/test_mode_evidence.py",
    ),
    Mutant(
        "evidence of dispersed counts: the normals that X says nothing of count",
        "evidence/dispersed_coordinates.py",
        "constant -= 0.5 * problem.rank * float(np.log(2.0 * np.pi))",
        "constant -= 0.5 * float(np.log(2.0 * np.pi))",
        "tests/evidence/test_counts.py -k importance",
    ),
    Mutant(
        "evidence of dispersed counts: k is always the median of its prior",
        "evidence/dispersed_coordinates.py",
        "k = prior.median * np.exp(prior.spread * z[:, 0])",
        "k = prior.median * np.exp(0.0 * z[:, 0])",
        "tests/evidence/test_counts.py -k importance",
    ),
    Mutant(
        "evidence of counts: the factorials are left out",
        "samplers/sources_path.py",
        "return counts.log_factorials - fits",
        "return -fits",
        "tests/evidence/test_counts.py",
    ),
    Mutant(
        "evidence of counts: sources that are always those of q",
        "samplers/sources_path.py",
        "            np.exp(power * np.log(F) + (1.0 - power) * q.mean_log)",
        "            np.exp(q.mean_log) + 0.0 * F",
        "tests/evidence/test_counts.py",
    ),
    Mutant(
        "evidence of counts: the rate of the posterior all along",
        "samplers/sources_path.py",
        "    rate = (1.0 - power) * q.rate + power * (prior.rate + exposure)\n    return",
        "    rate = prior.rate + exposure\n    return",
        "tests/evidence/test_counts.py",
    ),
    Mutant(
        "tempered SMC of counts: sources at the start that are those of the particles",
        "samplers/sources_path.py",
        "self._sources(A, W, 0.0, rng)",
        "self._sources(A, W, 1.0, rng)",
        "tests/evidence/test_counts.py -k from_the_prior",
    ),
)
