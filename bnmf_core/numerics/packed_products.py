"""Products of a few rows with a matrix that stays the same, in either precision.

A BLAS copies the whole matrix into an order of its own at every call, which takes longer than the
product where there are few rows. Here it is copied once, a strip of columns after the other, and
read from its beginning to its end. What a row comes to is the sum over the matrix's rows in their
order, whichever rows go beside it: bit for bit the same in any company.

The innermost loop is written in LLVM's own words: what several rows come to on one strip stays in
registers, which no loop over arrays can promise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import extending, njit, types
from numba.core import cgutils

# What it makes is called with what a compiled function holds, not with what it is written with.
intrinsic: Any = extending.intrinsic

VECTOR = 64  # bytes
# Strips, in vectors, and rows at a time: as many sums as there are registers.
ROOMY = bool(binding.get_host_cpu_features().get("avx512f", False))
ACROSS, ROWS = (2, 10) if ROOMY else (1, 5)
# Rows of the matrix at a time: so much of each row beside it stays in the first cache.
STEP = 256
# Entries of X (16 MB) up to which two more copies of it are made.
LARGEST = 2**21
PLACE, LANE = ir.IntType(64), ir.IntType(32)
NUMBERS: dict[str, Any] = {"float64": ir.DoubleType(), "float32": ir.FloatType()}
SUFFIXES = {"float64": "f64", "float32": "f32"}


@dataclass(frozen=True, eq=False)
class PackedProducts:
    """X (D, N) in strips of its columns, and in strips of its rows."""

    columns: np.ndarray
    rows: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: np.ndarray) -> "PackedProducts | None":
        """Those of X; None where the copies would take much memory."""
        return cls(packed(X), packed(X.T), X.shape) if X.size <= LARGEST else None

    def times_rows(self, W: np.ndarray) -> np.ndarray:
        """X Wᵀ transposed, for each of c factorizations: W (c, R, N) → (c, R, D)."""
        return _times(self.rows, W, self.shape[0])

    def times_columns(self, A: np.ndarray) -> np.ndarray:
        """AᵀX given Aᵀ: A (c, R, D) → (c, R, N)."""
        return _times(self.columns, A, self.shape[1])


def _times(strips: np.ndarray, F: np.ndarray, k: int) -> np.ndarray:
    c, R, n = F.shape
    result = np.empty((c, R, k))
    multiply(np.ascontiguousarray(F).reshape(c * R, n), strips, result.reshape(c * R, k))
    return result


def packed(matrix: np.ndarray) -> np.ndarray:
    """Strips (T, n, width) of the columns of a matrix (n, k), zeros after the last column."""
    n, k = matrix.shape
    width = ACROSS * VECTOR // matrix.itemsize
    strips = aligned((-(-k // width), n, width), matrix.dtype)
    for t, strip in enumerate(strips):
        part = matrix[:, t * width : (t + 1) * width]
        strip[:, : part.shape[1]] = part
        strip[:, part.shape[1] :] = 0.0
    return strips


def aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray:
    """Memory that begins at a line of the cache: vectors that straddle two take twice as long."""
    size = int(np.prod(shape))
    memory = np.empty(size + VECTOR // kind.itemsize, kind)
    skipped = -memory.ctypes.data % VECTOR // kind.itemsize
    return memory[skipped : skipped + size].reshape(shape)


def in_lines(matrix: np.ndarray) -> np.ndarray:
    """A copy of a matrix (n, k) whose rows begin at lines of the cache, zeros after their ends."""
    each = VECTOR // matrix.itemsize
    result = aligned((matrix.shape[0], -(-matrix.shape[1] // each) * each), matrix.dtype)
    result[:, : matrix.shape[1]] = matrix
    result[:, matrix.shape[1] :] = 0.0
    return result


def _block(rows: int) -> Any:
    """Adds so many rows of flat F, ``stride`` after each other, times ``count`` rows of a strip.

    The sums are added to the rows of ``found``, ``beyond`` after each other. ``f``, ``m`` and ``o``
    are where each begins.
    """

    @intrinsic
    def block(
        typing: Any,
        F: Any,
        f: Any,
        stride: Any,
        strip: Any,
        m: Any,
        count: Any,
        found: Any,
        o: Any,
        beyond: Any,
    ) -> Any:
        kind = str(F.dtype)
        lanes = VECTOR * 8 // F.dtype.bitwidth
        vector = ir.VectorType(NUMBERS[kind], lanes)

        def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
            def place(array: int, *parts: Any) -> Any:
                at = parts[0]
                for part in parts[1:]:
                    at = builder.add(at, part)
                data = context.make_array(of.args[array])(context, builder, given[array]).data
                return builder.gep(data, [at])

            def loaded(where: Any) -> Any:
                value = builder.load(builder.bitcast(where, vector.as_pointer()))
                value.align = F.dtype.bitwidth // 8
                return value

            def fused(*numbers: Any) -> Any:
                full = f"llvm.fmuladd.v{lanes}{SUFFIXES[kind]}"
                type_ = ir.FunctionType(vector, [vector] * 3)
                return builder.call(
                    cgutils.get_or_insert_function(builder.module, type_, full), numbers
                )

            f, stride, m, count, o, beyond = (given[i] for i in (1, 2, 4, 5, 7, 8))
            own = [place(0, f, builder.mul(stride, PLACE(r))) for r in range(rows)]
            ends = [
                place(6, o, builder.mul(beyond, PLACE(r)), PLACE(w * lanes))
                for r in range(rows)
                for w in range(ACROSS)
            ]
            begun = [loaded(end) for end in ends]
            strip_place = place(3, m)
            before, body = builder.block, builder.append_basic_block("rows")
            after = builder.append_basic_block("done")
            builder.branch(body)
            builder.position_at_end(body)
            i = builder.phi(PLACE)
            i.add_incoming(PLACE(0), before)
            sums = [builder.phi(vector) for _ in begun]
            across = [
                loaded(
                    builder.gep(
                        strip_place,
                        [builder.add(builder.mul(i, PLACE(ACROSS * lanes)), PLACE(w * lanes))],
                    )
                )
                for w in range(ACROSS)
            ]
            undefined = ir.Constant(vector, ir.Undefined)
            zeros = ir.Constant(ir.VectorType(LANE, lanes), [0] * lanes)
            more = []
            for r in range(rows):
                one = builder.load(builder.gep(own[r], [i]))
                one = builder.insert_element(undefined, one, LANE(0))
                everywhere = builder.shuffle_vector(one, undefined, zeros)
                for w in range(ACROSS):
                    more.append(fused(everywhere, across[w], sums[r * ACROSS + w]))
            following = builder.add(i, PLACE(1))
            i.add_incoming(following, body)
            for total, first, next_ in zip(sums, begun, more, strict=True):
                total.add_incoming(first, before)
                total.add_incoming(next_, body)
            builder.cbranch(builder.icmp_signed("<", following, count), body, after)
            builder.position_at_end(after)
            for end, next_ in zip(ends, more, strict=True):
                stored = builder.store(next_, builder.bitcast(end, vector.as_pointer()))
                stored.align = F.dtype.bitwidth // 8
            return context.get_dummy_value()

        place = types.intp
        return types.void(F, place, place, strip, place, place, found, place, place), build

    return block


_one, _two, _three, _four, _five = (_block(rows) for rows in range(1, 6))
_six, _seven, _eight, _nine, _ten = (_block(rows) for rows in range(6, 11))


@njit(cache=True, nogil=True, error_model="numpy")
def multiply(  # noqa: PLR0912 (one branch a number of rows)
    F: np.ndarray, strips: np.ndarray, result: np.ndarray
) -> None:
    """F (m, n) times a matrix (n, k) that is :func:`packed`: result (m, k), all of one kind."""
    m, n = F.shape
    k, width = result.shape[1], strips.shape[2]
    f, x, whole = F.reshape(-1), strips.reshape(-1), result.reshape(-1)
    last = np.zeros((m, width), result.dtype)
    last_flat = last.reshape(-1)
    result[:] = 0
    blocks = -(-m // ROWS)
    for t in range(strips.shape[0]):
        # The last strip may be wider than what is left of the result.
        fits = (t + 1) * width <= k
        found = whole if fits else last_flat
        start, beyond = (t * width, k) if fits else (0, width)
        for i in range(0, n, STEP):
            count, place = min(STEP, n - i), (t * n + i) * width
            for b in range(blocks):
                r, stop = b * m // blocks, (b + 1) * m // blocks
                rows, own, end = stop - r, r * n + i, start + r * beyond
                if rows == 10:
                    _ten(f, own, n, x, place, count, found, end, beyond)
                elif rows == 9:
                    _nine(f, own, n, x, place, count, found, end, beyond)
                elif rows == 8:
                    _eight(f, own, n, x, place, count, found, end, beyond)
                elif rows == 7:
                    _seven(f, own, n, x, place, count, found, end, beyond)
                elif rows == 6:
                    _six(f, own, n, x, place, count, found, end, beyond)
                elif rows == 5:
                    _five(f, own, n, x, place, count, found, end, beyond)
                elif rows == 4:
                    _four(f, own, n, x, place, count, found, end, beyond)
                elif rows == 3:
                    _three(f, own, n, x, place, count, found, end, beyond)
                elif rows == 2:
                    _two(f, own, n, x, place, count, found, end, beyond)
                else:
                    _one(f, own, n, x, place, count, found, end, beyond)
        if not fits:
            result[:, t * width :] = last[:, : k - t * width]
