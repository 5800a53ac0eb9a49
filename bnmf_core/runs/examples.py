"""Example launches: data and the question that they answer."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.samples import FOLDER, SAMPLES, load_sample
from bnmf_core.data.synthetic import laurberg
from bnmf_core.lazy import lazy

launch = lazy("bnmf_core.runs.launch")
proposal = lazy("bnmf_core.analysis.proposal")

# Archives of analysed examples.
FINISHED = FOLDER / "finished"


@dataclass(frozen=True)
class Example:
    """A dataset with its number of components, the question that it answers, and a summary.

    specs : by default those recommended for the data. model : by default the proposed one.
    """

    key: str
    label: str
    question: str
    summary: str
    dataset: Callable[[], Dataset]
    rank: int
    specs: tuple[RunSpec, ...] = ()
    model: str = ""

    @property
    def finished(self) -> Path | None:
        """The archive of its finished analysis, if one comes with the program."""
        path = FINISHED / f"{self.key}.zip"
        return path if path.is_file() else None

    def runs(self, dataset: Dataset) -> tuple[RunSpec, ...]:
        """The runs for its dataset."""
        if self.specs:
            return self.specs
        model = self.model or proposal.proposal(dataset).model
        recommended: tuple[RunSpec, ...] = launch.preset(dataset, self.rank, model=model).specs
        return recommended


# The noise that the model assumes of the matrix with two answers, which has none: any noise in the
# matrix itself would make one of the two the more probable.
ASSUMED = {"sigma": 0.05}


CHAINS = {"chains": 4, "longest": 20_000}
JUMPS = {"chains": 4, "sweeps": 2, "thinning": 20}


EXAMPLES: dict[str, Example] = {
    example.key: example
    for example in (
        Example(
            "digits",
            "1,797 digits",
            "How many ways are there to take handwritten digits apart, and which can I believe?",
            "1,797 pictures of 8 by 8 pixels, and ten parts.",
            lambda: load_sample("digits"),
            SAMPLES["digits"].suggested_rank,
        ),
        Example(
            "faces",
            "400 faces",
            "Which parts are faces made of, and does a second look find the same parts?",
            "400 photographs of 40 people, and ten parts.",
            lambda: load_sample("faces"),
            SAMPLES["faces"].suggested_rank,
        ),
        Example(
            "newsgroups",
            "Newsgroup posts",
            "Do different sets of topics tell me different things about the same posts?",
            "2,400 posts of 16 groups, and 16 topics; under Gaussian noise, to be done soon.",
            lambda: load_sample("newsgroups"),
            SAMPLES["newsgroups"].suggested_rank,
            model="gaussian",
        ),
        Example(
            "two_solutions",
            "A matrix with exactly two answers",
            "Which methods find both, which stay in the one they started in, and which cross?",
            "A 6 by 6 matrix without noise: symmetry gives each of its two answers half the mass.",
            lambda: laurberg("two"),
            3,
            (
                RunSpec("random_restarts", 3, particles=60, model_settings=ASSUMED),
                RunSpec("q_transform", 3, particles=60, model_settings=ASSUMED),
                RunSpec("gibbs", 3, particles=400, settings=CHAINS, model_settings=ASSUMED),
                RunSpec("mode_jumps", 3, particles=400, settings=JUMPS, model_settings=ASSUMED),
                RunSpec("tempered_smc", 3, particles=60, model_settings=ASSUMED),
            ),
        ),
        Example(
            "signatures",
            "Mutations in 21 breast cancers",
            "How sure can I be of each mutational signature?",
            "Counts of 96 kinds of mutations, and four signatures.",
            lambda: load_sample("signatures"),
            SAMPLES["signatures"].suggested_rank,
        ),
    )
}
