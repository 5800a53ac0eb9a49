"""Libraries that take long to import, loaded when something of them is first used."""

from importlib import import_module
from types import ModuleType


class LazyModule(ModuleType):
    """Stands in for a module until one of its names is asked for.

    Python's own lock on imports lets one thread load the module while the others wait. Nothing is
    kept here, so what is put into the module, or into its place, is seen at once.
    """

    def __getattr__(self, name: str) -> object:
        """What the module has under this name; the module is imported for it if need be."""
        return getattr(import_module(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(import_module(self.__name__))


def lazy(name: str) -> ModuleType:
    """The module of this dotted name, imported when it is first used.

    Raises
    ------
    ImportError
        Not here, but at the first use, when there is no such module.

    Examples
    --------
    >>> from bnmf_core.lazy import lazy
    >>> optimize = lazy("scipy.optimize")
    >>> optimize.brentq(lambda x: x - 2.0, 0.0, 5.0)
    2.0
    """
    return LazyModule(name)
