"""Matching components by rough costs, together with the proof that rounding cannot matter.

Shortest augmenting paths as in :mod:`bnmf_core.compare.distances.assignment`, on costs rounded to
whole numbers. The potentials u, v that come with a matching prove it: with c_rs − u_r − v_s ≥ 0
everywhere and 0 where rows are matched, another matching costs more by the sum of this over the
pairs it changes. Where changes of at most τ each close no circle, every other matching costs more
than τ, and what is best at rough costs is best at exact ones, if the errors of both totals are
below τ. Where they do close one, the matching is called unsure and has to be found exactly.

A row of costs is one vector of whole numbers, and all that belongs to columns is another: the
compiler, left to itself, either unrolls loops of sixteen or asks before each whether their arrays
overlap. The number of its column is in the last bits of a cost, so that the smallest says where
it is.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, njit, types
from numba.core import cgutils

# What it makes is called with vectors, not with what it is written with.
intrinsic: Any = extending.intrinsic

# Components that fit: columns are beyond it.
COUNT = 16
BITS = np.int32(4)  # of a column's number
LAST = np.int32(COUNT - 1)
REST = np.int32(~(COUNT - 1))
ONE, NONE = np.int32(1), np.int32(0)
LARGEST = np.int32(2**31 - 1)
# The largest cost of a matrix becomes this; paths are no longer than a few times as much.
WHOLE = 2**23
# Columns that are not there cost so much that no path ends in them.
BEYOND = np.int32(6 * WHOLE)
# Quanta by which a whole number, and the preference for even costs, can be off.
ROUNDING = 2.0
# Errors of a total are as large as this many times a typical one at the most.
CONFIDENCE = 3.0
LEAST_COST = 1e-30


class Lanes(types.Type):
    """COUNT numbers in a vector: "int32", "float32" or "bool"."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(name=f"Lanes({kind})")


NUMBER = ir.IntType(32)
VECTORS = {
    "int32": ir.VectorType(NUMBER, COUNT),
    "float32": ir.VectorType(ir.FloatType(), COUNT),
    "bool": ir.VectorType(ir.IntType(1), COUNT),
}


@extending.register_model(Lanes)
class _LanesModel(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, VECTORS[lanes.kind])


def _operation(name: str) -> Any:
    """An instruction of two vectors that gives one of their kind."""

    @intrinsic
    def made(typing: Any, a: Any, b: Any) -> Any:
        return a(a, b), lambda context, builder, of, given: getattr(builder, name)(*given)

    return made


def _comparison(sign: str) -> Any:
    @intrinsic
    def made(typing: Any, a: Any, b: Any) -> Any:
        def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
            return builder.icmp_signed(sign, *given)

        return Lanes("bool")(a, b), build

    return made


def _reduction(name: str) -> Any:
    """One number of all: "smin" the smallest, "smax" the largest."""

    @intrinsic
    def made(typing: Any, a: Any) -> Any:
        def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
            kind = ir.FunctionType(NUMBER, [VECTORS["int32"]])
            full = f"llvm.vector.reduce.{name}.v{COUNT}i32"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), given)

        return types.int32(a), build

    return made


add, subtract, times = _operation("add"), _operation("sub"), _operation("fmul")
plus = _operation("fadd")
either, both = _operation("or_"), _operation("and_")
raised = _operation("shl")
less, same = _comparison("<"), _comparison("==")
smallest, largest_of = _reduction("smin"), _reduction("smax")


def _place(context: Any, builder: Any, of: Any, given: Any, kind: str) -> Any:
    data = context.make_array(of)(context, builder, given[0]).data
    return builder.bitcast(builder.gep(data, [given[1]]), VECTORS[kind].as_pointer())


@intrinsic
def load(typing: Any, array: Any, first: Any) -> Any:
    """The numbers of a flat array from ``first`` on."""
    kind = str(array.dtype)

    def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
        loaded = builder.load(_place(context, builder, of.args[0], given, kind))
        loaded.align = 4
        return loaded

    return Lanes(kind)(array, types.intp), build


@intrinsic
def store(typing: Any, array: Any, first: Any, lanes: Any) -> Any:
    """Put the numbers into a flat array, from ``first`` on."""

    def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
        place = _place(context, builder, of.args[0], given, lanes.kind)
        builder.store(given[2], place).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), build


@intrinsic
def everywhere(typing: Any, number: Any) -> Any:
    """The same number in all lanes."""
    kind = types.int32 if isinstance(number, types.Integer) else types.float32

    def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
        undefined = ir.Constant(VECTORS[str(kind)], ir.Undefined)
        first = builder.insert_element(undefined, given[0], ir.Constant(NUMBER, 0))
        return builder.shuffle_vector(first, undefined, ir.Constant(VECTORS["int32"], [0] * COUNT))

    return Lanes(str(kind))(kind), build


@intrinsic
def numbers(typing: Any) -> Any:
    """0, 1, 2, …"""

    def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
        return ir.Constant(VECTORS["int32"], list(range(COUNT)))

    return Lanes("int32")(), build


@intrinsic
def choose(typing: Any, condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, ``b`` elsewhere."""
    return a(condition, a, b), lambda context, builder, of, given: builder.select(*given)


@intrinsic
def as_bits(typing: Any, condition: Any) -> Any:
    """A number with bit i set where the condition holds in lane i."""

    def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
        return builder.zext(builder.bitcast(given[0], ir.IntType(COUNT)), NUMBER)

    return types.int32(condition), build


@intrinsic
def first_bit(typing: Any, bits: Any) -> Any:
    """Which bit of a number that is not 0 is the first that is set."""

    def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 1))

    return types.int32(types.int32), build


def _conversion(name: str, kind: str) -> Any:
    @intrinsic
    def made(typing: Any, a: Any) -> Any:
        def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
            return getattr(builder, name)(given[0], VECTORS[kind])

        return Lanes(kind)(a), build

    return made


# Numbers that are not negative are in the order of their bits.
bits_of, truncated = _conversion("bitcast", "int32"), _conversion("fptosi", "int32")


@intrinsic
def as_float(typing: Any, bits: Any) -> Any:
    """The float of these bits."""

    def build(context: Any, builder: Any, of: Any, given: Any) -> Any:
        return builder.bitcast(given[0], ir.FloatType())

    return types.float32(types.int32), build


@njit(cache=True, nogil=True, error_model="numpy")
def assign_roughly(
    costs: np.ndarray,
    near: float,
    most: float,
    permutation: np.ndarray,
    sure: np.ndarray,
) -> None:
    """The best permutation of each cost matrix, and whether it is the best beyond doubt.

    Parameters
    ----------
    costs : flat float32, not negative: the K·R·L·R costs of row r of matrix k with row s of matrix
        l, in the order k, r, l, s, and COUNT numbers more. 2 ≤ R ≤ COUNT.
    near, most : a cost is typically off by ``near`` over the smallest of its matrix, by ``most``
        at the most.
    permutation : (K, L, R) int64 and sure : (K, L) bool, overwritten.
    """
    K, L, R = permutation.shape
    whole = np.empty(COUNT * COUNT, np.int32)
    # Of columns: the row that each is matched with or −1, its potential, and a row before it.
    owner, potential = np.empty(COUNT, np.int32), np.empty(COUNT, np.int32)
    before, mate = np.empty(COUNT, np.int32), np.empty(COUNT, np.int32)
    for k in range(K):
        for m in range(L):
            first = (k * R * L + m) * R
            slack = _rounded(costs, first, L * R, R, near, most, whole)
            free = _give_cheapest(whole, R, owner, mate, potential)
            while free != NONE:
                start = first_bit(free)
                free = np.int32(free & np.int32(free - ONE))
                _augment(start, whole, owner, mate, potential, before)
            sure[k, m] = _no_circle(whole, R, mate, potential, slack, before)
            for r in range(R):
                permutation[k, m, r] = mate[r]


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _rounded(
    costs: np.ndarray, first: int, step: int, R: int, near: float, most: float, whole: np.ndarray
) -> np.int32:
    """Put whole numbers and their columns into ``whole``; how much a total of them may be off.

    Row r of the costs begins at first + r·step.
    """
    every, none, far = numbers(), everywhere(NONE), everywhere(LARGEST)
    there = less(every, everywhere(np.int32(R)))
    low, high = far, none
    for r in range(R):
        row = bits_of(load(costs, first + r * step))
        high = choose(less(high, choose(there, row, none)), row, high)
        low = choose(less(choose(there, row, far), low), row, low)
    most_costly, least = as_float(largest_of(high)), as_float(smallest(low))
    scale = np.float32(WHOLE) / most_costly if most_costly > LEAST_COST else np.float32(0.0)
    for r in range(R):
        scaled = times(load(costs, first + r * step), everywhere(scale))
        row = truncated(plus(scaled, everywhere(np.float32(0.5))))
        row = raised(choose(there, row, everywhere(BEYOND)), everywhere(BITS))
        store(whole, r * COUNT, either(row, every))
    error = min(near / least, most) if least > 0.0 else most
    quanta = CONFIDENCE * np.sqrt(2.0 * R) * error * scale + 2.0 * R * ROUNDING
    return np.int32(np.int32(min(quanta, 2.0 * WHOLE)) << BITS)


@njit(cache=True, nogil=True, forceinline=True)
def _give_cheapest(
    whole: np.ndarray, R: int, owner: np.ndarray, mate: np.ndarray, potential: np.ndarray
) -> np.int32:
    """Match each column with the row that is cheapest for it, if that is free; who is left."""
    none, rest = everywhere(NONE), everywhere(REST)
    low = everywhere(LARGEST)
    for r in range(R):
        row = either(both(load(whole, r * COUNT), rest), everywhere(np.int32(r)))
        low = choose(less(row, low), row, low)
    store(potential, 0, low)
    free = np.int32(np.int32(ONE << np.int32(R)) - ONE)
    for column in range(R - 1, -1, -1):
        row_number = np.int32(potential[column] & LAST)
        # Without a branch, whose outcome nobody could guess.
        still = np.int32(np.int32(free >> row_number) & ONE)
        owner[column] = row_number if still else np.int32(-1)
        mate[row_number] = np.int32(column) if still else mate[row_number]
        free = np.int32(free & ~np.int32(ONE << row_number))
    there = less(numbers(), everywhere(np.int32(R)))
    store(potential, 0, choose(there, both(low, rest), none))
    return free


@njit(cache=True, nogil=True, forceinline=True)
def _augment(
    start: np.int32,
    whole: np.ndarray,
    owner: np.ndarray,
    mate: np.ndarray,
    potential: np.ndarray,
    before: np.ndarray,
) -> None:
    """Match one more row, ``start``, along the shortest alternating path to a free column."""
    every, none, far, rest = numbers(), everywhere(NONE), everywhere(LARGEST), everywhere(REST)
    v = load(potential, 0)
    length = subtract(load(whole, start * COUNT), v)
    reached, closed = everywhere(start), none
    nearest = smallest(length)
    column = np.int32(nearest & LAST)
    row = owner[column]
    while row >= 0:
        closed = choose(same(every, everywhere(column)), far, closed)
        place = row * COUNT
        # A matched row's reduced cost is zero at its own column.
        base = np.int32(np.int32(nearest - whole[place + column]) + potential[column])
        longer = either(add(everywhere(base), subtract(load(whole, place), v)), closed)
        shorter = less(longer, length)
        reached = choose(shorter, everywhere(row), reached)
        length = choose(shorter, longer, length)
        nearest = smallest(either(length, closed))
        column = np.int32(nearest & LAST)
        row = owner[column]
    fall = subtract(everywhere(np.int32(nearest & REST)), both(length, rest))
    store(potential, 0, subtract(v, choose(same(closed, none), none, fall)))
    store(before, 0, reached)
    while True:
        row = before[column]
        owner[column] = row
        column, mate[row] = mate[row], column
        if row == start:
            break


@njit(cache=True, nogil=True, forceinline=True)
def _no_circle(
    whole: np.ndarray,
    R: int,
    mate: np.ndarray,
    potential: np.ndarray,
    slack: np.int32,
    onward: np.ndarray,
) -> bool:
    """Whether no circle of changes costs at most ``slack`` each; ``onward`` is overwritten.

    Rows that lead on to no row that is left are left out, until a circle is left or none.
    """
    v = load(potential, 0)
    for r in range(R):
        column, place = mate[r], r * COUNT
        own = np.int32(np.int32(whole[place + column] & REST) - potential[column])
        limit = np.int32(np.int32(own + slack) | LAST)
        cheap = as_bits(less(subtract(load(whole, place), v), everywhere(limit)))
        onward[r] = cheap & ~np.int32(ONE << column)
    left, was = np.int32(np.int32(ONE << np.int32(R)) - ONE), NONE
    while left != was:
        was = left
        for r in range(R):
            left = left if onward[r] & left else np.int32(left & ~np.int32(ONE << mate[r]))
    return left == NONE
