"""The list of pages, which defines menus, links, headers and tests."""

from dataclasses import dataclass
from pathlib import Path

PAGES_FOLDER = Path(__file__).resolve().parents[1]
# The script that a server runs for every page.
SHELL = PAGES_FOLDER / "frame" / "shell.py"
# Sections without user data.
OPEN = ("Lessons",)
LENS = ("runs", "metric", "threshold", "focus")
# Locked components, the moved component, and the allowed rise in error.
BY_HAND = ("lock", "moved", "rise")


@dataclass(frozen=True)
class Page:
    """A page: its place in the menus, its question, and the text of links to it.

    ``key`` is its name in addresses and of its script, ``pages/<key>.py`` unless ``file`` says
    otherwise; ``section`` the entry of the navigation that it belongs to, which opens the first
    page of the section; ``question`` stands under its heading, which is its title unless
    ``heading`` is given; ``invitation`` is what links to it say, its title if left out;
    ``parameters`` are the values of :mod:`pages.frame.link` that its address holds.
    """

    key: str
    title: str
    section: str
    question: str
    icon: str
    parameters: tuple[str, ...] = ()
    heading: str = ""
    invitation: str = ""
    file: Path | None = None

    @property
    def script(self) -> Path:
        """The page's script."""
        return self.file or PAGES_FOLDER / f"{self.key}.py"

    @property
    def address(self) -> str:
        """The path of its address: empty for the first page."""
        return "" if self is PAGES[0] else self.key

    @property
    def for_guests(self) -> bool:
        """Whether guests, who come by a shared link, can see it."""
        return "runs" in self.parameters or self.section in OPEN


# In the order of a user's work; the first one is the start page.
PAGES = [
    Page(
        "home",
        "Home",
        "Home",
        "Many non-negative factorizations **X ≈ A W** can explain the same data equally well, and "
        "one run shows you one of them. See how many there are, and whether it matters.",
        icon="home",
        heading="What does your factorization hide?",
        invitation="Start an example",
    ),
    Page(
        "data",
        "Data",
        "Data",
        "Is the matrix what you think it is?",
        icon="table_chart",
        parameters=("data", "sample"),
        invitation="Bring in data",
    ),
    Page(
        "run",
        "Analyse",
        "Analyse",
        "Factorize the data many times; the findings open by themselves.",
        icon="play_circle",
        parameters=("data", "rank"),
        invitation="Analyse data",
    ),
    Page(
        "runs",
        "Runs",
        "Analyse",
        "Finished, running and failed runs. Runs continue when you close this tab.",
        icon="list_alt",
        invitation="All runs",
    ),
    Page(
        "overview",
        "Overview",
        "Overview",
        "How many explanations do the data have, and which can you believe?",
        icon="bubble_chart",
        parameters=(*LENS, "part"),
    ),
    Page(
        "components",
        "Components",
        "Components",
        "What are the components, and which of them are determined?",
        icon="category",
        parameters=(*LENS, "component", "sample", "relevance", *BY_HAND),
    ),
    Page(
        "boolean",
        "Boolean",
        "Components",
        "Which tiles of my binary matrix can I believe?",
        icon="grid_on",
        parameters=("runs", "part"),
        invitation="Tiles of a binary matrix",
    ),
    Page(
        "samples",
        "Samples",
        "Samples",
        "Which observations belong together, and who changes group with the factorization?",
        icon="groups",
        parameters=(*LENS, "component", "sample", "label", "with"),
    ),
    Page(
        "rank",
        "Rank",
        "Rank",
        "How many components do the data support, and how does each change with one more?",
        icon="format_list_numbered",
        parameters=("data",),
        invitation="How many components?",
    ),
    Page(
        "downstream",
        "Labels",
        "Labels",
        "Does the AUC of a label depend on which factorization you took?",
        icon="call_split",
        parameters=(*LENS, "label"),
    ),
    Page(
        "sessions",
        "Sessions",
        "Sessions",
        "What did each run find, on the same axes?",
        icon="view_column",
        parameters=LENS,
    ),
    Page(
        "coverage",
        "Coverage",
        "Sessions",
        "Which method saw more different factorizations?",
        icon="blur_on",
        parameters=LENS,
    ),
    Page(
        "scoreboard",
        "Scoreboard",
        "Sessions",
        "Which method did best, and at what?",
        icon="leaderboard",
        parameters=LENS,
    ),
    Page(
        "traces",
        "Traces",
        "Diagnostics",
        "Have the chains converged, and how many independent draws are they worth?",
        icon="timeline",
        parameters=(*LENS, "quantity"),
    ),
    Page(
        "quality",
        "Fit and weights",
        "Diagnostics",
        "Has each factorization converged, and which weights represent the posterior best?",
        icon="verified",
        parameters=(*LENS, "part"),
        invitation="How sure is it?",
    ),
    Page(
        "discrepancy",
        "Discrepancy",
        "Diagnostics",
        "Which run approximates the posterior best for its time?",
        icon="trending_down",
        parameters=LENS,
    ),
    Page(
        "study",
        "Study",
        "Laboratory",
        "Which sampler sees more than one mode, when the modes are known?",
        icon="science",
        parameters=("study", "quantity", "problem"),
        heading="Studies of the papers",
    ),
    Page(
        "atlas",
        "Atlas",
        "Laboratory",
        "How often does a published factorization depend on its random start?",
        icon="public",
        parameters=("problem",),
        heading="Atlas of published data",
        invitation="Open the atlas of published data",
    ),
    Page(
        "mixture",
        "Mixture",
        "Laboratory",
        "Which factorizations does a variational posterior need, and how much did each improve "
        "the bound?",
        icon="join",
        parameters=LENS,
    ),
    Page(
        "tree",
        "Tree",
        "Laboratory",
        "Where did the tree go that the chains did not?",
        icon="account_tree",
        parameters=LENS,
    ),
    Page(
        "starts",
        "Starts",
        "Laboratory",
        "What does Q-Transform carry over from small data?",
        icon="start",
        parameters=("part", "data"),
    ),
    Page(
        "lessons",
        "Lessons",
        "Lessons",
        "Eleven ideas behind these pages. Each is one picture to touch, in three steps.",
        icon="school",
        parameters=("lesson", "step", "present"),
    ),
]

# Former addresses of pages → the page, and the values of its address.
MOVED: dict[str, tuple[str, dict[str, str]]] = {
    "findings": ("overview", {}),
    "lesson": ("lessons", {"lesson": "crossing"}),
    "modes": ("overview", {"part": "modes"}),
    "panes": ("sessions", {}),
    "glossary": ("lessons", {}),
    "boolean_lesson": ("lessons", {"lesson": "yes_no"}),
}


def page(key: str) -> Page:
    """The declared page of this key."""
    return next(page for page in PAGES if page.key == key)


def sections() -> dict[str, list[Page]]:
    """The pages of every entry of the navigation, in order."""
    return {
        section: [page for page in PAGES if page.section == section]
        for section in dict.fromkeys(page.section for page in PAGES)
    }
