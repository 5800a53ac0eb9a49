"""Entries by key: the program's own in their order, then those of plug-ins.

A folder of the program with a ``plugin.toml`` is a plug-in, and so is an installed package.

A package adds an entry by an entry point in a group of the registry's, such as
``[project.entry-points."bnmf.models"]`` with ``poisson = "my_package:MODEL"``; the name before the
``=`` is for its author, the key is the entry's own. Entry points are loaded once, on first use. One
that fails to load, has the wrong type, or repeats a key is skipped with a warning in the log.
"""

import logging
import tomllib
from collections.abc import Iterable, Iterator, MutableMapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import RLock
from typing import Protocol, TypeVar

from bnmf_core.core.errors import NotFoundError, SettingsError


class Entry(Protocol):
    """Anything with a key and a name on screen."""

    @property
    def key(self) -> str:
        """The identifier in calls and stored files."""

    @property
    def label(self) -> str:
        """The name on screen."""


Known = TypeVar("Known", bound=Entry)
LOG = logging.getLogger(__name__)
ENGINE = Path(__file__).resolve().parents[1]
# One for all registries: a package of one may ask another while it is being loaded.
LOADING = RLock()


class Registry(MutableMapping[str, Known]):
    """Entries of one kind by their keys.

    Setting an item registers an entry for this process, or replaces one.

    Parameters
    ----------
    kind : what an entry is, in words ("model"). of : the class that entries are of.
    own : the program's own entries, in the order in which they are offered.
    group : of the entry points through which packages add theirs.

    Raises
    ------
    SettingsError
        When two of the program's own entries have one key.
    """

    def __init__(self, kind: str, of: type[Known], own: Iterable[Known], group: str) -> None:
        self.kind, self.group = kind, group
        self._type, self._entries = of, dict[str, Known]()
        self._begun = self._complete = False
        for entry in own:
            self._add(entry)

    def __getitem__(self, key: str) -> Known:
        """The entry of this key.

        Raises
        ------
        NotFoundError
            Listing the keys there are.
        """
        entries = self._all()
        if not isinstance(key, str) or key not in entries:
            raise NotFoundError(f"There is no {self.kind} {key!r}; there are {', '.join(entries)}.")
        return entries[key]

    def __iter__(self) -> Iterator[str]:
        """The keys, the program's own first."""
        return iter(self._all())

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._all())

    def __setitem__(self, key: str, entry: Known) -> None:
        """Register an entry under a key, in place of one that has it."""
        self._all()[key] = entry

    def __delitem__(self, key: str) -> None:
        """Remove an entry."""
        del self._all()[key]

    def _all(self) -> dict[str, Known]:
        # Other threads wait until every package is loaded. The one that loads them comes through:
        # a package may use the registry while it is being loaded.
        if not self._complete:
            with LOADING:
                if not self._begun:
                    self._begun = True
                    for name, value in _of_folders().get(self.group, {}).items():
                        self._add(EntryPoint(name, value, self.group).load())
                    for point in entry_points(group=self.group):
                        self._load(point)
                    self._complete = True
        return self._entries

    def _load(self, point: EntryPoint) -> None:
        package = point.dist.name if point.dist is not None else point.value
        try:
            self._add(point.load())
        except Exception as error:  # whatever a package does, the program goes on
            LOG.warning(
                "The %s %r of the package %r is left out: %s", self.kind, point.name, package, error
            )

    def _add(self, entry: Known) -> None:
        if not isinstance(entry, self._type):
            raise SettingsError(
                f"It is of the type {type(entry).__name__}, and a {self.kind} is of the type "
                f"{self._type.__name__}."
            )
        if entry.key in self._entries:
            taken = self._entries[entry.key].label
            raise SettingsError(f"The key {entry.key!r} is taken by {taken!r}; choose another.")
        self._entries[entry.key] = entry


@cache
def _of_folders() -> dict[str, dict[str, str]]:
    """Entry points of built-in plug-ins by group: names and "module:name"."""
    found: dict[str, dict[str, str]] = {}
    for manifest in sorted(ENGINE.glob("*/plugin.toml")):
        for group, points in tomllib.loads(manifest.read_text()).items():
            found.setdefault(group, {}).update(points)
    return found
