"""Instructions on rows of matrices, for compiled loops that know the rank."""

from collections.abc import Callable, Sequence
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import cgutils

# Numba's cache on disk does not see changes of this file: with each one this is counted up, and
# with it what the files that use it say, which the cache does see.
REVISION = 2
# Bytes of a register, and registers that a group of columns may fill.
ROOMY = bool(binding.get_host_cpu_features().get("avx512f", False))
REGISTER, REGISTERS = (64, 30) if ROOMY else (32, 14)
# The highest rank that has instructions of its own.
UNROLLED = 16


@numba.njit(cache=True, nogil=True)
def side_by_side(R: int) -> int:
    """Registers of columns that are worked on together: none has to wait for another's result."""
    return max(1, min(4, REGISTERS // (R + 1)))


class Rows:
    """Instructions on the rows of matrices, so many columns side by side in registers.

    Numba leaves to the compiler which numbers stay in registers, and it cannot keep a column of a
    factor there, since it does not know the rank. Here each rank has instructions of its own.

    Parameters
    ----------
    context, builder : of a Numba intrinsic. matrices, kinds : its arguments of two dimensions, with
        columns next to each other, and their types; all of one precision.
    """

    def __init__(
        self, context: Any, builder: Any, matrices: Sequence[Any], kinds: Sequence[Any]
    ) -> None:
        number = kinds[0].dtype
        self.builder, self.bytes = builder, number.bitwidth // 8
        self.lanes = REGISTER // self.bytes
        self.register = ir.VectorType(context.get_value_type(number), self.lanes)
        self.zero = ir.Constant(self.register, None)
        self.matrices = [
            context.make_array(kind)(context, builder, matrix)
            for kind, matrix in zip(kinds, matrices, strict=True)
        ]

    def size(self, matrix: int, axis: int) -> Any:
        """How many rows or columns a matrix has."""
        return self.builder.extract_value(self.matrices[matrix].shape, axis)

    def load(self, matrix: int, row: int, column: Any) -> Any:
        """Part of a row, from a column on."""
        return self.builder.load(self._place(matrix, row, column), align=self.bytes)

    def store(self, value: Any, matrix: int, row: int, column: Any) -> None:
        """Put a register where part of a row is."""
        self.builder.store(value, self._place(matrix, row, column), align=self.bytes)

    def times(self, a: Any, b: Any) -> Any:
        """The product a b."""
        return self.builder.fmul(a, b, flags=("contract",))

    def plus(self, a: Any, b: Any, c: Any) -> Any:
        """a + b c, rounded once where the processor can."""
        return self.builder.fadd(a, self.times(b, c), flags=("contract",))

    def each_rank(self, matrix: int, kind: Any, instructions: Callable[[int], Any]) -> Any:
        """``instructions(R)`` for the rank R of a matrix: what they return; 0 beyond UNROLLED."""
        builder = self.builder
        result = cgutils.alloca_once_value(builder, kind(0))
        end = builder.append_basic_block("end")
        chosen = builder.switch(self.size(matrix, 0), end)
        for R in range(1, UNROLLED + 1):
            block = builder.append_basic_block(f"rank_{R}")
            chosen.add_case(kind(R), block)
            builder.position_at_end(block)
            builder.store(instructions(R), result)
            builder.branch(end)
        builder.position_at_end(end)
        return builder.load(result)

    def positive(self, a: Any) -> Any:
        """max(a, 0)."""
        above = self.builder.fcmp_ordered(">", a, self.zero)
        return self.builder.select(above, a, self.zero)

    def _place(self, matrix: int, row: int, column: Any) -> Any:
        builder, array = self.builder, self.matrices[matrix]
        stride = builder.extract_value(array.strides, 0)
        start = builder.ptrtoint(array.data, stride.type)
        start = builder.add(start, builder.mul(stride, stride.type(row)))
        start = builder.add(start, builder.mul(column, stride.type(self.bytes)))
        return builder.inttoptr(start, self.register.as_pointer())
