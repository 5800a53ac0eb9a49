"""A collection of factorizations and what is known about each."""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from bnmf_core.core import html
from bnmf_core.core.errors import StoreError
from bnmf_core.core.spec import RunInfo, RunSpec
from bnmf_core.lazy import lazy

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from bnmf_core.core.dataset import Dataset
else:
    pd = lazy("pandas")
    xarray = lazy("xarray")  # needed for export only

ARRAYS = ("A", "W", "ids", "chain", "draw", "weights", "log_joint", "error", "seconds")
# Mappings from names to arrays, and what their arrays' names begin with in a file.
NAMED = {"diagnostics": "diagnostic_", "trace": "trace_", "totals": "total_"}


@dataclass(frozen=True, eq=False)
class Particles:
    """M factorizations of one matrix, particle-first.

    Attributes
    ----------
    A : (M, D, R) bases. W : (M, R, N) weights of the observations the run saw.
    ids : (M,) permanent number of each particle in its run.
    chain : (M,) which independent chain (or 0-based restart block) made it.
    draw : (M,) position within that chain.
    weights : (M,) what each particle counts, summing to 1.
    log_joint : (M,) full log joint density, nats.
    error : (M,) measure of fit on what the run saw, of the squared error ‖X − AW‖/‖X‖.
    seconds : (M,) since the run began, when the particle was finished.
    diagnostics : name → (M,) array, what the algorithm reports of each particle.
    trace : name → (S,) array over all S states that a sampler recorded, in the order in which
        each chain made them, warm-up included; empty for explorers. ``chain``, ``sweep`` (the
        number of the state in its chain), ``warm_up`` (True for states that are no particles),
        ``log_joint``, ``log_likelihood``, ``error`` and label-invariant quantities. The rows
        without ``warm_up`` are the particles of the whole run, in order.
    totals : name → (c, …) array over everything that each of c chains has made, recorded or not, if
        the algorithm reports it: means, spreads, counts.
    info : the resolved settings, the stop reason, the dataset's name and hash.

    Examples
    --------
    >>> from bnmf_core import RunSpec, laurberg, run
    >>> particles = run(laurberg("two"), RunSpec("random_restarts", rank=3, particles=4))
    >>> particles.A.shape, particles.W.shape
    ((4, 6, 3), (4, 3, 6))
    >>> bool((particles.error < 0.01).all())
    True
    """

    A: np.ndarray
    W: np.ndarray
    ids: np.ndarray
    chain: np.ndarray
    draw: np.ndarray
    weights: np.ndarray
    log_joint: np.ndarray
    error: np.ndarray
    seconds: np.ndarray
    spec: RunSpec
    diagnostics: Mapping[str, np.ndarray] = field(default_factory=dict)
    trace: Mapping[str, np.ndarray] = field(default_factory=dict)
    info: RunInfo = field(default_factory=RunInfo)
    totals: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, np.ndarray],
        spec: RunSpec,
        diagnostics: Mapping[str, np.ndarray],
        trace: Mapping[str, np.ndarray],
        info: RunInfo,
        totals: Mapping[str, np.ndarray] | None = None,
    ) -> "Particles":
        """Particles whose arrays, one for each of ``ARRAYS``, are given by name."""
        return cls(
            **{name: arrays[name] for name in ARRAYS},
            spec=spec,
            diagnostics=diagnostics,
            trace=trace,
            info=info,
            totals=totals or {},
        )

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Every array, by what it is called in a file."""
        found = {name: np.asarray(getattr(self, name)) for name in ARRAYS}
        for kind, prefix in NAMED.items():
            found |= {prefix + name: np.asarray(x) for name, x in getattr(self, kind).items()}
        return found

    @property
    def M(self) -> int:
        """Number of particles."""
        return self.A.shape[0]

    @property
    def R(self) -> int:
        """Rank: number of components of each factorization."""
        return self.A.shape[2]

    @property
    def degenerate(self) -> np.ndarray:
        """(M,) True where a column of A is all zero: that component has no direction."""
        return (np.asarray(self.A).max(axis=1) <= 0.0).any(axis=1)

    @property
    def kkt(self) -> np.ndarray:
        """(M,) relative KKT residual of each, 0 at a stationary point of what was made small.

        NaN where particles are draws rather than optima, and in runs that did not measure it.
        """
        return self._measured("kkt")

    @property
    def movement(self) -> np.ndarray:
        """(M,) degrees by which each would still turn if its iterations doubled; NaN as ``kkt``."""
        return self._measured("movement")

    @property
    def gain(self) -> np.ndarray:
        """(M,) nats that each would still gain if it went on; NaN as ``kkt``."""
        return self._measured("gain")

    @property
    def ridge(self) -> np.ndarray:
        """(M,) bool, whether it has nothing left to gain, and yet turned on and on."""
        return self._measured("ridge") == 1.0

    def _measured(self, name: str) -> np.ndarray:
        unknown = np.full(self.M, np.nan)
        return np.asarray(self.diagnostics.get(name, unknown), dtype=np.float64)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (first 16 hex digits) of all A and W as float64: equal for equal bits."""
        digest = hashlib.sha256()
        for factors in (self.A, self.W):
            for factor in factors:  # one at a time: together they may be larger than memory
                digest.update(np.ascontiguousarray(factor, dtype="<f8").tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that is known of the run but the time that it took."""
        timeless = {name: one for name, one in self.arrays.items() if not name.endswith("seconds")}
        info = {name: one for name, one in self.info.items() if name != "run_seconds"}
        words = (
            self.spec.to_dict(),
            info,
            [(n, a.dtype.str, a.shape) for n, a in timeless.items()],
        )
        digest = hashlib.sha256(json.dumps(words, default=str, sort_keys=True).encode())
        for array in timeless.values():
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.M

    def __repr__(self) -> str:
        return f"<Particles of {self.spec.algorithm}: {self.M:,} factorizations of rank {self.R}>"

    def _repr_html_(self) -> str:
        return html.of_particles(self)

    def subset(self, index: np.ndarray) -> "Particles":
        """The chosen particles (indices or a boolean mask); weights are renormalised.

        The trace and the totals tell of whole chains and stay as they are.
        """
        chosen = {name: np.asarray(getattr(self, name)[index]) for name in ARRAYS}
        total = chosen["weights"].sum()
        if total > 0:
            chosen["weights"] = chosen["weights"] / total
        diagnostics = {key: value[index] for key, value in self.diagnostics.items()}
        return self.from_arrays(chosen, self.spec, diagnostics, self.trace, self.info, self.totals)

    def scores(self) -> "pd.DataFrame":
        """One row per particle: what is known of it beside its factors and diagnostics."""
        return pd.DataFrame({name: np.asarray(getattr(self, name)) for name in ARRAYS[2:]})

    def to_xarray(self) -> "xarray.Dataset":
        """A flat ``xarray.Dataset``: named dimensions, the spec as attributes."""
        per_particle = {
            name: (("particle",), np.asarray(getattr(self, name))) for name in ARRAYS[3:]
        }
        per_particle |= {
            f"diagnostic_{key}": (("particle",), np.asarray(value))
            for key, value in self.diagnostics.items()
        }
        per_state = {
            f"trace_{key}": (("state",), np.asarray(value)) for key, value in self.trace.items()
        }
        # NetCDF attributes are scalars or strings.
        flat: dict[str, object] = {**self.spec.to_dict(), **self.info}
        return xarray.Dataset(
            {
                "A": (("particle", "feature", "component"), np.asarray(self.A)),
                "W": (("particle", "component", "observation"), np.asarray(self.W)),
                **per_particle,
                **per_state,
                **{
                    f"total_{key}": (
                        ("total_chain", *(f"total_{key}_{axis}" for axis in range(1, values.ndim))),
                        np.asarray(values),
                    )
                    for key, values in self.totals.items()
                },
            },
            coords={"particle": np.asarray(self.ids)},
            attrs={
                key: value if isinstance(value, int | float | str) else repr(value)
                for key, value in flat.items()
                if value is not None
            },
        )

    def to_datatree(self, dataset: "Dataset | None" = None) -> "xarray.DataTree":
        """An ``xarray.DataTree`` in the layout of ArviZ.

        Group ``posterior`` : A (chain, draw, feature, component), W (chain, draw, component,
        observation); ``sample_stats`` : what is known of each, the log joint as ``lp``; ``trace``
        and ``totals`` where there are any. An explorer's particles, and chains of different
        lengths, stand as one chain; ``particle`` is each one's number in the run, ``made_by_chain``
        and ``made_as_draw`` say which chain made it when.

        Parameters
        ----------
        dataset : what was factorized; gives features and observations their names.
        """
        flat = self.to_xarray().rename_vars({"chain": "made_by_chain", "draw": "made_as_draw"})
        lengths = np.unique(self.chain, return_counts=True)[1] if self.trace else [self.M]
        chains = len(lengths) if len(set(lengths)) == 1 else 1
        order = np.lexsort((self.draw, self.chain)) if chains > 1 else np.arange(self.M)
        flat = flat.isel(particle=order)

        def chained(names: list[str]) -> "xarray.Dataset":
            part = flat[names].rename_vars({"particle": "particle_id"})
            return xarray.Dataset(
                {
                    key: (
                        ("chain", "draw", *values.dims[1:]),
                        values.to_numpy().reshape(chains, -1, *values.shape[1:]),
                    )
                    for key, values in part.variables.items()
                },
                coords={"chain": np.arange(chains), "draw": np.arange(self.M // chains)},
                attrs=flat.attrs,
            )

        posterior = chained(["A", "W"]).rename({"particle_id": "particle"})
        posterior = posterior.assign_coords(self._named(dataset))
        stats = [str(key) for key, values in flat.variables.items() if values.dims == ("particle",)]
        stats = [key for key in stats if key not in ("A", "W", "particle")]
        groups = {
            "/": xarray.Dataset(attrs=flat.attrs),
            "posterior": posterior,
            "sample_stats": chained(stats).rename({"log_joint": "lp", "particle_id": "particle"}),
        }
        for group, prefix in (("trace", NAMED["trace"]), ("totals", NAMED["totals"])):
            found = [str(key) for key in flat if str(key).startswith(prefix)]
            names = {key: key.removeprefix(prefix) for key in found}
            if names:
                groups[group] = (
                    flat[list(names)].drop_vars("particle", errors="ignore").rename_vars(names)
                )
        return xarray.DataTree.from_dict(groups)

    def _named(self, dataset: "Dataset | None") -> dict[str, Sequence[object]]:
        """Coordinates of components and, where they fit, of features and observations."""
        named: dict[str, Sequence[object]] = {"component": list(range(1, self.R + 1))}
        if dataset is not None:
            _, D, _ = self.A.shape
            sides = {"feature": dataset.features, "observation": dataset.observations}
            lengths = {"feature": D, "observation": self.W.shape[2]}
            named |= {
                key: list(names) for key, names in sides.items() if len(names) == lengths[key]
            }
        return named

    def to_netcdf(self, target: str | Path | BinaryIO, dataset: "Dataset | None" = None) -> None:
        """Write :meth:`to_datatree` as a NetCDF-4 file."""
        write_datatree(self.to_datatree(dataset), target)

    def save(self, target: str | Path | BinaryIO) -> None:
        """Write one ``.npz`` (no pickles; readable by plain numpy) to a path or open file."""
        meta = json.dumps({"spec": self.spec.to_dict(), "info": dict(self.info)}, default=str)
        if isinstance(target, str | Path):
            with Path(target).open("wb") as file:
                np.savez(file, allow_pickle=False, meta=np.array(meta), **self.arrays)
        else:
            np.savez(target, allow_pickle=False, meta=np.array(meta), **self.arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Particles":
        """Read what :meth:`save` wrote.

        Raises
        ------
        StoreError
            When the file is torn, altered or not one of ours.
        """
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                meta = json.loads(str(stored["meta"]))
                arrays = {name: stored[name] for name in ARRAYS}
                named = {kind: with_prefix(stored, prefix) for kind, prefix in NAMED.items()}
            spec, info = RunSpec.from_dict(meta["spec"]), RunInfo(**meta["info"])
            check_shapes(arrays, named["diagnostics"], named["trace"])
        except FileNotFoundError:
            raise StoreError(f"There is no file called {Path(path).name}.") from None
        except Exception as error:
            raise StoreError(
                f"{Path(path).name} is not a complete set of saved particles ({error})."
            ) from error
        return cls.from_arrays(
            arrays, spec, named["diagnostics"], named["trace"], info, named["totals"]
        )


def write_datatree(tree: "xarray.DataTree", target: str | Path | BinaryIO) -> None:
    """Write groups as a NetCDF-4 file, to a path or an open file."""
    content = io.BytesIO()
    tree.to_netcdf(content, engine="h5netcdf")
    if isinstance(target, str | Path):
        Path(target).write_bytes(content.getvalue())
    else:
        target.write(content.getvalue())


def with_prefix(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with the prefix, by the rest of their names."""
    return {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}


def check_shapes(
    arrays: Mapping[str, np.ndarray],
    diagnostics: Mapping[str, np.ndarray],
    trace: Mapping[str, np.ndarray],
) -> None:
    """Raise a ValueError where the arrays of particles do not fit together."""
    (M, _, R), (M_of_W, R_of_W, _) = arrays["A"].shape, arrays["W"].shape
    per_particle = [*(arrays[name] for name in ARRAYS[2:]), *diagnostics.values()]
    if (M_of_W, R_of_W) != (M, R) or any(array.shape != (M,) for array in per_particle):
        raise ValueError("its arrays do not fit together")
    if any(values.ndim != 1 for values in trace.values()) or len({*map(len, trace.values())}) > 1:
        raise ValueError("the arrays of its trace do not fit together")
