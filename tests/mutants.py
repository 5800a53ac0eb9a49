"""Mistakes planted in the engine, one at a time: the tests named have to notice each of them.

``make mutants`` runs all, ``python -m tests.mutants WORD …`` those whose names hold a word. Every
mutant is made in a copy of the project; one is caught when a test fails or does not end.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import local

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("bnmf_core", "tests", "sample_data", "pyproject.toml", "README.md")
# A mutant that hangs is stopped by the tests' own limit; this one ends what that does not.
SECONDS = 240
AT_ONCE = 2


@dataclass(frozen=True)
class Mutant:
    """``before`` stands once in the file and becomes ``after``; ``tests`` have to notice."""

    name: str
    file: str
    before: str
    after: str
    tests: str


MUTANTS = (
    Mutant(
        "kkt: an entry that wants to grow from zero is overlooked",
        "solvers/stationarity.py",
        "        np.minimum(F, np.divide(",
        "        F * np.minimum(F, np.divide(",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "kkt: lengths are not balanced",
        "solvers/stationarity.py",
        "far = (far_A * size_W + size_A * far_W).sum(axis=1)",
        "far = (far_A + far_W).sum(axis=1)",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "movement: a hundredth of the way that is left",
        "solvers/newton.py",
        "CAUTION = 3.0",
        "CAUTION = 0.03",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "movement: the Hessian without the coupling of A and W",
        "solvers/conjugate.py",
        "left_A[:, K : K + R] = inner_W[:, K:] + inner_W[:, K:].T",
        "left_A[:, K : K + R] = 0.0 * inner_W[:, K:]",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "movement: a thousandth of the way that is left, on a small X",
        "solvers/projection.py",
        "CAUTION = 30.0",
        "CAUTION = 0.03",
        "tests/solvers/test_projection.py",
    ),
    Mutant(
        "movement: the other factor does not answer, on a small X",
        "solvers/projection.py",
        "second = taken.T @ taken",
        "second = 0.0 * (taken.T @ taken)",
        "tests/solvers/test_projection.py",
    ),
    Mutant(
        "movement: a bounded minimum that forgets to let go of zeros",
        "solvers/reduced.py",
        "now = slope[q] > 0.0 if held[q]",
        "now = held[q] if held[q]",
        "tests/solvers/test_projection.py",
    ),
    Mutant(
        "coverage: a greedy cover that never ends",
        "compare/coverage.py",
        "                left -= 1",
        "                left -= 0",
        "tests/compare/test_coverage.py",
    ),
    Mutant(
        "coverage: the minimum runs over radii in any order",
        "compare/coverage.py",
        'ascending = np.argsort(epsilons, kind="stable")',
        "ascending = np.arange(epsilons.size)",
        "tests/compare/test_coverage.py",
    ),
    Mutant(
        "islands: a path is judged by its ends",
        "compare/islands.py",
        "    looked_at = np.concatenate([A, middle_A]), np.concatenate([W, middle_W])\n",
        "    looked_at = A[[0, -1]], W[[0, -1]]\n",
        "tests/compare/test_islands.py",
    ),
    Mutant(
        "islands: components are not matched",
        "compare/islands.py",
        "    order = matching(A[1:], A[0])[0]\n",
        "    order = np.arange(A.shape[2])\n",
        "tests/compare/test_islands.py",
    ),
    Mutant(
        "coverage: exact to a fifth",
        "compare/coverage.py",
        '"mip_rel_gap": 0.0',
        '"mip_rel_gap": 0.2',
        "tests/compare/test_coverage.py",
    ),
    Mutant(
        "unseen: the bootstrap forgets what it did not find",
        "compare/unseen.py",
        " - (drawn == 0) @ population",
        "",
        "tests/compare/test_unseen.py",
    ),
    Mutant(
        "unseen: modes found twice count as unseen",
        "compare/unseen.py",
        "(2 * (twice + 1))",
        "(2 * max(twice, 1))",
        "tests/compare/test_unseen.py",
    ),
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
        "ranks: a maximum at the end settles",
        "evidence/criteria.py",
        "    elif chosen == tried[-1]:",
        "    elif chosen > tried[-1]:",
        "tests/evidence/test_criteria.py",
    ),
    Mutant(
        "cross-validation: the held out rows are in what is factorized",
        "compare/cross_validation.py",
        "X, mask = _part(dataset, ~rows, ~columns)\n    retained",
        "X, mask = _part(dataset, rows | ~rows, ~columns)\n    retained",
        "tests/compare/test_cross_validation.py",
    ),
    Mutant(
        "matching: the last component is left over",
        "compare/distances/assignment.py",
        "for start in range(R):",
        "for start in range(R - 1):",
        "tests/compare/test_pairwise.py",
    ),
    Mutant(
        "matching: angles by arc cosine",
        "compare/distances/costs.py",
        "    apart = np.sqrt(_squared_difference(u, v))\n"
        "    return np.degrees(2.0 * np.arctan2(apart, np.sqrt(_squared_sum(u, v))))",
        "    return np.degrees(np.arccos(1.0 - 0.5 * _squared_difference(u, v)))",
        "tests/compare/test_pairwise.py",
    ),
    Mutant(
        "Gibbs: the prior does not shift the mean",
        "samplers/truncated_normal.py",
        "r, rate * noise_variance, diagonal * sd",
        "r, 0.0, diagonal * sd",
        "tests/algorithms/test_gibbs.py tests/algorithms/test_invariance.py",
    ),
    Mutant(
        "Gibbs: the weights are drawn given the basis of before",
        "samplers/gibbs.py",
        "    A = draw(A, problem.times_rows(W), gram(W), variance, drawn.A, rng)\n"
        "    W = draw(W, problem.times_columns(A), gram(A), variance, drawn.W, rng)\n",
        "    before, A = A, draw(A, problem.times_rows(W), gram(W), variance, drawn.A, rng)\n"
        "    W = draw(W, problem.times_columns(before), gram(before), variance, drawn.W, rng)\n",
        "tests/algorithms/test_gibbs.py tests/algorithms/test_invariance.py",
    ),
    Mutant(
        "HMC: no Jacobian in log coordinates",
        "samplers/coordinates.py",
        "return values + q.reshape(q.shape[0], -1).sum(axis=1), gradient",
        "return values, gradient",
        "tests/algorithms/test_hmc.py",
    ),
    Mutant(
        "SILF: the bend is half as wide",
        "probability/silf.py",
        "(bend / (4 * beta * epsilon))",
        "(bend / (2 * beta * epsilon))",
        "tests/algorithms/test_silf.py",
    ),
    Mutant(
        "SILF: the slope begins at ε",
        "probability/silf.py",
        "return np.clip((y - (1 - beta) * epsilon) / (2 * beta * epsilon), 0.0, 1.0)",
        "return np.clip((y - epsilon) / (2 * beta * epsilon), 0.0, 1.0)",
        "tests/algorithms/test_silf.py",
    ),
    Mutant(
        "Stein: the trace counts one dimension less",
        "posterior/stein.py",
        "across - dimension - 2.0",
        "across - (dimension - 1) - 2.0",
        "tests/posterior/test_stein.py",
    ),
    Mutant(
        "Stein: weights need not sum to one before scaling",
        "posterior/weights.py",
        "[scale @ z == 1]",
        "[z.sum() == 1]",
        "tests/posterior/test_weights.py",
    ),
    Mutant(
        "RRT: the farthest node moves",
        "explorers/tree.py",
        "parent = oblique.nearest(self.nodes.Q, target)",
        "parent = oblique.nearest(self.nodes.Q, -target)",
        "tests/algorithms/test_rrt.py",
    ),
    Mutant(
        "RRT: a node may lie beside another",
        "explorers/tree.py",
        ".min() < angle:",
        ".min() < 0 * angle:",
        "tests/algorithms/test_rrt.py",
    ),
    Mutant(
        "online inference: joins whatever it gains",
        "variational/online.py",
        "    if gain < tolerance:\n",
        "    if gain < -np.inf:\n",
        "tests/variational",
    ),
    Mutant(
        "online inference: the heaviest leaves first",
        "variational/online.py",
        "[cheap].argmin()",
        "[cheap].argmax()",
        "tests/variational",
    ),
    Mutant(
        "folds: the scaler has seen the observations that are judged",
        "compare/downstream.py",
        "    model = classifier().fit(features[train], codes[train])\n"
        "    return model.predict_proba(features[test])",
        "    scaled = preprocessing.StandardScaler().fit_transform(features)\n"
        "    model = classifier()[-1].fit(scaled[train], codes[train])\n"
        "    return model.predict_proba(scaled[test])",
        "tests/compare/test_downstream.py",
    ),
    Mutant(
        "folds: every factorization has folds of its own",
        "compare/downstream.py",
        "random_state=seed)",
        "random_state=None)",
        "tests/compare/test_downstream.py",
    ),
    Mutant(
        "resume: draws are counted from 0 at every step",
        "runs/engine.py",
        "state, draws = checkpoint.state, dict(checkpoint.draws)",
        "state, draws = checkpoint.state, {}",
        "tests/runs/test_engine.py",
    ),
    Mutant(
        "resume: the generator begins again",
        "runs/engine.py",
        "rng = restore_generator(checkpoint.generator)",
        "rng = shard.generator()",
        "tests/algorithms/test_contract.py -k resuming",
    ),
    Mutant(
        "store: the checkpoint is written before its chunk",
        "store/folders.py",
        "        if chunk is not None:\n            arrays = {",
        '        place = self.folder / f"checkpoint-{shard.index:05d}.npz"\n'
        "        files.write_arrays(place, to_arrays(checkpoint))\n"
        "        if chunk is not None:\n            arrays = {",
        "tests/store/test_store.py",
    ),
    Mutant(
        "store: files are written in place",
        "store/files.py",
        'path.with_name(path.name + f".{os.getpid()}-{threading.get_ident()}.part")',
        "path",
        "tests/store/test_store.py",
    ),
    Mutant(
        "life: a move does not ask whether the claim is still the same",
        "store/records.py",
        '"id = ? AND owner = ? AND status = ? AND process = ? AND heartbeat = ?"',
        "\"id = ? AND owner = ? AND ? != '' AND ? != '' AND ? > 0\"",
        "tests/store/test_life.py",
    ),
    Mutant(
        "life: a claim never lapses",
        "store/records.py",
        "if now - run.heartbeat >= LEASE:",
        "if now - run.heartbeat >= 1e9:",
        "tests/store/test_life.py",
    ),
    Mutant(
        "analysis: what another version stored is taken for ours",
        "analysis/stage.py",
        "decides = (self.version, distances,",
        "decides = (0, distances,",
        "tests/analysis/test_queue.py",
    ),
    Mutant(
        "evidence: normals that are not normalised by their truncation",
        "evidence/truncated_normals.py",
        "log_total = log_inside + 0.5",
        "log_total = 0.5",
        "tests/evidence/test_truncated_normals.py",
    ),
    Mutant(
        "evidence: no Jacobian in the move of scales",
        "evidence/entries.py",
        " + excess * step",
        "",
        "tests/evidence/test_path.py",
    ),
    Mutant(
        "evidence: the prior comes in at once",
        "evidence/entries.py",
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
        "    kept = near & (orders == np.arange(orders.shape[1])).all(axis=1)",
        "    kept = near",
        "tests/evidence/test_mode_evidence.py",
    ),
    Mutant(
        "scale move: no Jacobian",
        "samplers/scale_move.py",
        " + (D - N) * log_s",
        "",
        "tests/algorithms/test_invariance.py -k scale",
    ),
    Mutant(
        "tempered: incremental weights left out of the particles",
        "samplers/tempered_smc.py",
        "chosen = systematic(weights, rng)",
        "chosen = systematic(np.ones_like(weights), rng)",
        "tests/algorithms/test_tempered_smc.py -k weighted_mean",
    ),
    Mutant(
        "tempered: incremental weights left out of the evidence",
        "samplers/tempered_smc.py",
        "float(top + np.log(weights.mean()))",
        "float(rise * log_likelihood.mean())",
        "tests/algorithms/test_tempered_smc.py -k tiny",
    ),
    Mutant(
        "tempered: populations count the same",
        "samplers/tempered_smc.py",
        "log_weights=np.full(size, state.log_evidence - np.log(size))",
        "log_weights=np.full(size, -np.log(size))",
        "tests/algorithms/test_tempered_smc.py -k own_evidence",
    ),
    Mutant(
        "tempered: sweeps at the whole likelihood",
        "samplers/gibbs.py",
        "drawn.noise_variance if variance is None else variance",
        "drawn.noise_variance",
        "tests/algorithms/test_invariance.py -k power",
    ),
    Mutant(
        "populations: one that outweighs the others counts",
        "numerics/populations.py",
        "if effective < 2:",
        "if effective < 1:",
        "tests/runs/test_weights.py",
    ),
    Mutant(
        "weights: members evenly spaced whatever they weigh",
        "analysis/comparison.py",
        "if np.ptp(weights) <= 1e-12 * weights.max():",
        "if np.ptp(weights) <= 1e12 * weights.max():",
        "tests/runs/test_weights.py",
    ),
    Mutant(
        "jumps: a place that its pilot chains left counts as a mode",
        "samplers/pilot.py",
        "(stayed if stayed.any() else ~stayed)",
        "(stayed | ~stayed)",
        "tests/algorithms/test_mode_jumps.py",
    ),
    Mutant(
        "jumps: moments over all pilot chains, stayed or not",
        "samplers/pilot.py",
        "share = modes /",
        "share = np.ones_like(modes) /",
        "tests/algorithms/test_mode_jumps.py",
    ),
    Mutant(
        "fitted jump: no q-ratio",
        "samplers/fitted_jump.py",
        "< gained + correction",
        "< gained",
        "tests/algorithms/test_invariance.py -k fitted",
    ),
    Mutant(
        "fitted jump: no Jacobian",
        "samplers/fitted_jump.py",
        "gained -= log_joint(A.transpose(0, 2, 1), W) + now.sum(axis=1)",
        "gained -= log_joint(A.transpose(0, 2, 1), W) + proposed.sum(axis=1)",
        "tests/algorithms/test_invariance.py -k fitted",
    ),
    Mutant(
        "annealed jump: no weights",
        "samplers/annealed_jump.py",
        "rise = powers[t] - powers[t - 1]",
        "rise = 0.0 * powers[t]",
        "tests/algorithms/test_invariance.py -k annealed",
    ),
    Mutant(
        "annealed jump: products not normalised by their truncation",
        "samplers/annealed_jump.py",
        " - 0.5 * np.log(2 * np.pi) - inside",
        " - 0.5 * np.log(2 * np.pi)",
        "tests/algorithms/test_invariance.py -k annealed",
    ),
    Mutant(
        "annealed jump: the place it leaves has no weight",
        "samplers/annealed_jump.py",
        "gained -= log_w + now[chains, label]",
        "gained -= now[chains, label]",
        "tests/algorithms/test_invariance.py -k annealed",
    ),
)

_workshop = local()


def workshop(folder: Path) -> Path:
    """This thread's copy of the project."""
    if not hasattr(_workshop, "place"):
        _workshop.place = Path(tempfile.mkdtemp(dir=folder))
        skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
        for name in COPIED:
            source, target = ROOT / name, _workshop.place / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=skipped)
            else:
                shutil.copy(source, target)
    return _workshop.place


def verdict(mutant: Mutant, folder: Path) -> tuple[str, float]:
    """ "caught", "survived", or what is wrong with the mutant itself; and the seconds it took."""
    began, place = time.monotonic(), workshop(folder)
    path = place / "bnmf_core" / mutant.file
    whole = path.read_text()
    if whole.count(mutant.before) != 1:
        return f"its text stands {whole.count(mutant.before)} times in {mutant.file}", 0.0
    path.write_text(whole.replace(mutant.before, mutant.after))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        run = subprocess.run(
            [*command, "-o", "timeout=60", *mutant.tests.split()],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        # 1: a test failed. Anything else (no test, an import that fails) tells nothing, but for
        # the hard end that a hanging compiled loop needs.
        said = {0: "survived", 1: "caught"}.get(run.returncode)
        hung = "Timeout" in run.stdout + run.stderr
        found = "caught" if hung else said or f"the tests did not run: {run.stdout[-500:]}"
    except subprocess.TimeoutExpired:
        found = "caught"
    finally:
        path.write_text(whole)
    return found, time.monotonic() - began


def main(words: list[str]) -> int:
    """Tell of every mutant whether it was caught; 1 where one was not."""
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    missed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as threads:
        results = threads.map(lambda mutant: verdict(mutant, Path(folder)), chosen)
        for mutant, (found, seconds) in zip(chosen, results, strict=True):
            missed += found != "caught"
            sys.stdout.write(f"{found:9} {seconds:5.1f} s  {mutant.name}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - missed} passed, {missed} failed\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
