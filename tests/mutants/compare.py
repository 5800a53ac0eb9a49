"""Mistakes to plant in ``bnmf_core/compare``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "coherence: pairs that never meet count as chance",
        "compare/coherence.py",
        "npmi[together == 0] = -1.0",
        "npmi[together == 0] = 0.0",
        "tests/compare/test_coherence.py",
    ),
    Mutant(
        "classes: a class is among the others",
        "compare/classes.py",
        "outside = (sums.sum(axis=-1, keepdims=True) - sums) / others",
        "outside = sums.sum(axis=-1, keepdims=True) / others",
        "tests/compare/test_classes.py",
    ),
    Mutant(
        "classes: standard deviations instead of standard errors",
        "compare/classes.py",
        "np.sqrt(squares / (counts - 1) / counts)",
        "np.sqrt(squares / (counts - 1))",
        "tests/compare/test_classes.py",
    ),
    Mutant(
        "topics: words are not divided by the fit",
        "compare/topics.py",
        "ratio = np.divide(dense(X[features]), fit, out=np.zeros(fit.shape), where=fit > 0)",
        "ratio = np.divide(dense(X[features]), 1.0, out=np.zeros(fit.shape), where=fit > 0)",
        "tests/compare/test_topics.py",
    ),
    Mutant(
        "excerpts: the last words of a topic instead of most of them",
        "compare/excerpts.py",
        "starts[inside.argmax()]",
        "starts[-1]",
        "tests/compare/test_excerpts.py",
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
        "    best = _with_middles(problem, path_A, path_W)\n    solver, improved",
        "    return _with_middles(problem, ends_A, ends_W)\n    solver, improved",
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
        "cross-validation: the held out rows are in what is factorized",
        "compare/cross_validation.py",
        "retained = _part(dataset, ~rows, ~columns)",
        "retained = _part(dataset, rows | ~rows, ~columns)",
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
        "folds: the scaler has seen the observations that are judged",
        "compare/downstream.py",
        "            model = classifier().fit(features[train], plan.codes[train])\n"
        "            told.append(model.predict_proba(features[test]))",
        "            scaled = preprocessing.StandardScaler().fit_transform(features)\n"
        "            model = classifier()[-1].fit(scaled[train], plan.codes[train])\n"
        "            told.append(model.predict_proba(scaled[test]))",
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
        "displacement: a step may pass over a ridge",
        "compare/displacement.py",
        "self.step = FIRST * max(value, 1.0 / D)",
        "self.step = max(value, 1.0 / D)",
        "tests/compare/test_displacement.py",
    ),
    Mutant(
        "remaining: what is above the allowed error counts",
        "compare/remaining.py",
        "settled & (found.error <= allowed)",
        "settled & (found.error <= 2 * allowed)",
        "tests/compare/test_remaining.py",
    ),
)
