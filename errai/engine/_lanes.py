"""Sixteen numbers side by side in vector registers, spelled out for the compiler.

Kernels that treat sixteen leaves at once would be plain loops of sixteen steps, but a compiler that cannot
know that two arrays are apart tests them for overlap at every such loop, or gives up. Here the
lanes are values of their own: loaded whole, computed with, stored whole. Any machine can
run them; one with vector instructions does a whole register at a time.

With the JIT off, lanes are small arrays and the same kernels run as plain Python.
"""

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 16
TILE = 8
"""Cells that are turned over at a time, from rows of cells to lanes of a cell or back."""

_FLAGS = ("contract", "nsz", "reassoc")

# The three exchanges that turn a tile of 8 by 8 over: neighbours, pairs, halves. Places from 8 up are those
# of the second register; on registers of eight numbers each exchange is one instruction.
_NEIGHBOURS = ((0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15))
_PAIRS = ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15))
_HALVES = ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))


class _LanesType(types.Type):
    """Lanes of one dtype."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    """Lanes are one vector value."""

    def __init__(self, manager, fe_type):
        super().__init__(
            manager, fe_type, ir.VectorType(manager.lookup(fe_type.dtype).get_value_type(), LANES)
        )


def _place(context, builder, array_type, array, index_type, index, size):
    """Return a pointer to `size` numbers of a flat array from an index on."""
    data = context.make_array(array_type)(context, builder, array).data
    index = context.cast(builder, index, index_type, types.uintp)
    number = context.get_value_type(array_type.dtype)
    return builder.bitcast(builder.gep(data, [index]), ir.VectorType(number, size).as_pointer())


def _align(array_type):
    return array_type.dtype.bitwidth // 8


@intrinsic
def load(_context, array, index):
    """Return array[index : index + LANES]."""

    def code(context, builder, signature, args):
        array_type, index_type = signature.args
        place = _place(context, builder, array_type, args[0], index_type, args[1], LANES)
        return builder.load(place, align=_align(array_type))

    return _LanesType(array.dtype)(array, index), code


@intrinsic
def store(_context, array, index, lanes):
    """Set array[index : index + LANES]."""

    def code(context, builder, signature, args):
        array_type, index_type, _ = signature.args
        place = _place(context, builder, array_type, args[0], index_type, args[1], LANES)
        builder.store(args[2], place, align=_align(array_type))
        return context.get_dummy_value()

    return types.void(array, index, lanes), code


def _binary(operation):
    @intrinsic
    def operate(_context, left, right):
        def code(context, builder, signature, args):
            return getattr(builder, operation)(*args, flags=_FLAGS)

        return left(left, right), code

    return operate


add = _binary("fadd")
subtract = _binary("fsub")
multiply = _binary("fmul")


@intrinsic
def spread(_context, number, like):
    """Return lanes that all hold a number, of the dtype of the second argument."""

    def code(context, builder, signature, args):
        vector = context.get_value_type(signature.args[1])
        number = context.cast(builder, args[0], signature.args[0], signature.args[1].dtype)
        single = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), everywhere)

    return like(number, like), code


def _mix(builder, left, right, places):
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))
    return builder.shuffle_vector(left, right, mask)


def _turn_over(builder, rows):
    """Return the columns of eight registers of eight numbers."""
    near = [_mix(builder, rows[i], rows[i + 1], places) for i in (0, 2, 4, 6) for places in _NEIGHBOURS]
    pairs = [_mix(builder, near[i], near[i + 2], places) for i in (0, 1, 4, 5) for places in _PAIRS]
    return [_mix(builder, pairs[i], pairs[i + 4], places) for places in _HALVES for i in range(4)]


def _row_places(context, builder, array_type, array, offsets_type, offsets, column_type, column):
    """Return pointers to TILE numbers of each of the rows that start at `offsets`, from a column on."""
    column = context.cast(builder, column, column_type, types.uintp)
    begins = context.make_array(offsets_type)(context, builder, offsets).data
    places = []
    for lane in range(LANES):
        begin = builder.load(builder.gep(begins, [ir.IntType(64)(lane)]))
        index = builder.add(begin, column)
        places.append(_place(context, builder, array_type, array, types.uintp, index, TILE))
    return places


@intrinsic
def rows_to_lanes(_context, rows, offsets, column, lanes, index):
    """Set lanes[index + LANES * i + t] = rows[offsets[t] + column + i] for TILE columns i and all lanes t."""

    def code(context, builder, signature, args):
        rows_type, offsets_type, column_type, lanes_type, index_type = signature.args
        places = _row_places(
            context, builder, rows_type, args[0], offsets_type, args[1], column_type, args[2]
        )
        loaded = [builder.load(place, align=_align(rows_type)) for place in places]
        begin = context.cast(builder, args[4], index_type, types.uintp)
        for half in range(LANES // TILE):
            columns = _turn_over(builder, loaded[half * TILE : (half + 1) * TILE])
            for i, column in enumerate(columns):
                at = builder.add(begin, ir.IntType(64)(i * LANES + half * TILE))
                place = _place(context, builder, lanes_type, args[3], types.uintp, at, TILE)
                builder.store(column, place, align=_align(lanes_type))
        return context.get_dummy_value()

    return types.void(rows, offsets, column, lanes, index), code


@intrinsic
def lanes_to_rows(_context, lanes, index, rows, offsets, column):
    """Set rows[offsets[t] + column + i] = lanes[index + LANES * i + t] for TILE columns i and all lanes t."""

    def code(context, builder, signature, args):
        lanes_type, index_type, rows_type, offsets_type, column_type = signature.args
        places = _row_places(
            context, builder, rows_type, args[2], offsets_type, args[3], column_type, args[4]
        )
        begin = context.cast(builder, args[1], index_type, types.uintp)
        for half in range(LANES // TILE):
            loaded = []
            for i in range(TILE):
                at = builder.add(begin, ir.IntType(64)(i * LANES + half * TILE))
                place = _place(context, builder, lanes_type, args[0], types.uintp, at, TILE)
                loaded.append(builder.load(place, align=_align(lanes_type)))
            for i, row in enumerate(_turn_over(builder, loaded)):
                builder.store(row, places[half * TILE + i], align=_align(rows_type))
        return context.get_dummy_value()

    return types.void(lanes, index, rows, offsets, column), code


def _load(array, index):
    return array[int(index) : int(index) + LANES].copy()


def _store(array, index, lanes):
    array[int(index) : int(index) + LANES] = lanes


def _spread(number, like):
    return np.full(LANES, number, dtype=like.dtype)


def _rows_to_lanes(rows, offsets, column, lanes, index):
    for t in range(LANES):
        begin = int(offsets[t]) + int(column)
        for i in range(TILE):
            lanes[int(index) + LANES * i + t] = rows[begin + i]


def _lanes_to_rows(lanes, index, rows, offsets, column):
    for t in range(LANES):
        begin = int(offsets[t]) + int(column)
        for i in range(TILE):
            rows[begin + i] = lanes[int(index) + LANES * i + t]


if numba.config.DISABLE_JIT:
    load, store, spread = _load, _store, _spread
    add, subtract, multiply = np.add, np.subtract, np.multiply
    rows_to_lanes, lanes_to_rows = _rows_to_lanes, _lanes_to_rows
