# SPDX-License-Identifier: BSD-3-Clause
"""Which descriptors each of DirectML's feature levels has."""

from __future__ import annotations

import pytest

import reblock
from calls import Call, depth_space_calls, operator, window_calls
from checks import refuses
from descriptors import describe
from dtypes import DIRECTML
from reblock import DataType, DepthToSpaceDesc, FeatureLevel, SpaceToDepthDesc, TensorDesc

FLOATS = {DataType.FLOAT32, DataType.FLOAT16}
NARROW_INTEGERS = {
    DataType.INT32,
    DataType.INT16,
    DataType.INT8,
    DataType.UINT32,
    DataType.UINT16,
    DataType.UINT8,
}

DCR = depth_space_calls(1, 2, (3, 4), (2, 2), "DCR")
CRD = depth_space_calls(1, 2, (3, 4), (2, 2), "CRD")
WINDOWS = {axes: window_calls(1, 2, (2,) * axes, (2,) * axes) for axes in range(1, 7)}

every_level = pytest.mark.parametrize("level", FeatureLevel, ids=lambda level: level.name)


def compiles(call: Call, data_type: DataType, level: FeatureLevel | None) -> bool:
    desc = describe(call, data_type)
    try:
        reblock.compile(desc, feature_level=level)
    except ValueError:
        return False
    return True


def compiled_types(call: Call, level: FeatureLevel | None) -> set[DataType]:
    return {data_type for data_type in DIRECTML if compiles(call, data_type, level)}


def test_levels_have_directml_values() -> None:
    minors = {1: [0], 2: [0, 1], 3: [0, 1], 4: [0, 1], 5: [0, 1, 2], 6: [0, 1, 2, 3, 4]}
    values = {
        f"LEVEL_{major}_{minor}": major * 0x1000 + minor * 0x100
        for major in minors
        for minor in minors[major]
    }
    assert {level.name: level.value for level in FeatureLevel} == values


@every_level
@pytest.mark.parametrize("call", DCR, ids=operator)
def test_depth_column_row_is_in_every_level(call: Call, level: FeatureLevel) -> None:
    expected = set(FLOATS)
    if level >= FeatureLevel.LEVEL_2_1:
        expected |= NARROW_INTEGERS
    if level >= FeatureLevel.LEVEL_5_0:
        expected = set(DIRECTML)
    assert compiled_types(call, level) == expected


@every_level
@pytest.mark.parametrize("call", CRD, ids=operator)
def test_column_row_depth_came_with_2_1(call: Call, level: FeatureLevel) -> None:
    expected: set[DataType] = set()
    if level >= FeatureLevel.LEVEL_2_1:
        expected = FLOATS | NARROW_INTEGERS
    if level >= FeatureLevel.LEVEL_5_0:
        expected = set(DIRECTML)
    assert compiled_types(call, level) == expected


@every_level
@pytest.mark.parametrize("axes", WINDOWS)
@pytest.mark.parametrize("which", [0, 1], ids=["unfold", "fold"])
def test_windows_came_with_6_4(which: int, axes: int, level: FeatureLevel) -> None:
    expected = set(DIRECTML) if level >= FeatureLevel.LEVEL_6_4 else set()
    assert compiled_types(WINDOWS[axes][which], level) == expected


@pytest.mark.parametrize("axes", [1, 2, 3, 6])
@pytest.mark.parametrize("which", [0, 1], ids=["depth_to_space", "space_to_depth"])
def test_a_level_takes_depth_and_space_of_rank_four(which: int, axes: int) -> None:
    desc = describe(depth_space_calls(1, 2, (3,) * axes, (2,) * axes)[which], DataType.FLOAT32)
    reblock.compile(desc)
    if axes == 2:
        reblock.compile(desc, feature_level=FeatureLevel.LEVEL_6_4)
    else:
        refuses(
            lambda: reblock.compile(desc, feature_level=FeatureLevel.LEVEL_6_4),
            ValueError,
            "feature_level",
            desc.input.sizes,
        )


@pytest.mark.parametrize("desc_class", [DepthToSpaceDesc, SpaceToDepthDesc])
def test_a_level_takes_square_blocks(desc_class: type[DepthToSpaceDesc | SpaceToDepthDesc]) -> None:
    tensor = TensorDesc(DataType.FLOAT32, (1, 6, 2, 3))
    desc = desc_class(tensor, block_size=(2, 3))
    reblock.compile(desc)
    for argument in ("feature_level", "block_size"):
        refuses(
            lambda: reblock.compile(desc, feature_level=FeatureLevel.LEVEL_6_4),
            ValueError,
            argument,
            (2, 3),
        )


@pytest.mark.parametrize("call", [*DCR, *CRD, *WINDOWS[2]], ids=operator)
def test_without_a_level_every_data_type_compiles(call: Call) -> None:
    assert compiled_types(call, None) == set(DIRECTML)


def test_a_level_may_be_given_by_its_value() -> None:
    reblock.compile(describe(WINDOWS[2][0], DataType.INT8), feature_level=0x6400)


@pytest.mark.parametrize(
    ("call", "data_type", "level", "told"),
    [
        (DCR[0], DataType.INT8, FeatureLevel.LEVEL_2_0, "INT8"),
        (DCR[1], DataType.UINT64, FeatureLevel.LEVEL_4_1, "UINT64"),
        (CRD[0], DataType.FLOAT32, FeatureLevel.LEVEL_1_0, "COLUMN_ROW_DEPTH"),
        (WINDOWS[2][0], DataType.FLOAT32, FeatureLevel.LEVEL_6_3, "LEVEL_6_4"),
        (WINDOWS[2][1], DataType.FLOAT32, FeatureLevel.LEVEL_6_3, "LEVEL_6_4"),
    ],
    ids=["data_type", "wide_data_type", "order", "unfold", "fold"],
)
def test_the_error_tells_the_level_and_what_is_outside_it(
    call: Call, data_type: DataType, level: FeatureLevel, told: str
) -> None:
    desc = describe(call, data_type)
    refuses(
        lambda: reblock.compile(desc, feature_level=level),
        ValueError,
        "feature_level",
        level.name,
        told,
    )


@pytest.mark.parametrize("level", [0, 0x1001, 0x7000, -1, 2**70])
def test_an_unknown_level_is_refused(level: int) -> None:
    desc = describe(DCR[0], DataType.FLOAT32)
    refuses(lambda: reblock.compile(desc, feature_level=level), ValueError, "feature_level", level)


@pytest.mark.parametrize("level", ["6_4", 6.4, True])
def test_a_level_of_another_type_is_refused(level: object) -> None:
    desc = describe(DCR[0], DataType.FLOAT32)
    refuses(
        lambda: reblock.compile(desc, feature_level=level),  # type: ignore[arg-type] # on purpose
        TypeError,
        "feature_level",
    )
