# SPDX-License-Identifier: BSD-3-Clause
"""`reblock.explain`: the map against the definition, and the forms in which it is shown."""

from __future__ import annotations

import io
import math
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from rich.console import Console

import oracle
import reblock
from calls import Call, Ranges, padded_calls
from checks import refuses
from padded import MODES, expected_unfold, listed_terms
from patterns import Use, patterns
from reblock import _index_map
from reblock._explanation import Explanation

Index = tuple[int, ...]


def per_axis(draw: st.DrawFn, axes: int, low: int, high: int) -> list[int]:
    return draw(st.lists(st.integers(low, high), min_size=axes, max_size=axes))


def shape_of(batch: int, channels: int, sizes: list[int], channel_axis: int) -> tuple[int, ...]:
    return tuple(map(int, oracle.channels_at((batch, channels, *sizes), channel_axis)))


def without_batch(shape: Index) -> Index:
    return (min(shape[0], 1), *shape[1:])


def numbered(shape: Index) -> oracle.Array:
    """Return an array of the numbers from 1 on: 0 is what is none of them."""
    return 1 + np.arange(math.prod(shape)).reshape(shape)


def named(number: Any, shape: Index) -> tuple[Index, ...]:
    return (tuple(map(int, np.unravel_index(number - 1, shape))),) if number else ()


@st.composite
def depth_space_cases(draw: st.DrawFn, high: int) -> tuple[Index, list[int], str, int]:
    """Draw the shape of a space tensor, a block, an order and a channel axis."""
    axes = draw(st.integers(1, 3))
    block = per_axis(draw, axes, 1, 3)
    sizes = [b * s for b, s in zip(block, per_axis(draw, axes, 0, high), strict=True)]
    channel_axis = draw(st.integers(1, axes + 1)) - draw(st.sampled_from((0, axes + 2)))
    shape = shape_of(draw(st.integers(0, 2)), draw(st.integers(0, 5)), sizes, channel_axis)
    return shape, block, draw(st.sampled_from(("DCR", "CRD"))), channel_axis


@given(depth_space_cases(high=5))
def test_depth_and_space_by_definition(case: tuple[Index, list[int], str, int]) -> None:
    space, block, order, channel_axis = case
    depth = reblock.space_to_depth_shape(space, block, channel_axis=channel_axis)
    for name, shape in (("space_to_depth", space), ("depth_to_space", depth)):
        found = reblock.explain(
            getattr(reblock, name), shape, block, order=order, channel_axis=channel_axis
        )
        whole = without_batch(shape)
        moved = getattr(oracle, name)(numbered(whole), block, order, channel_axis)
        assert found.sources == {index: named(moved[index], whole) for index in found.sources}
        assert bool(found.sources) == bool(math.prod(shape))


@st.composite
def window_cases(draw: st.DrawFn) -> tuple[Index, list[int], dict[str, Any], int]:
    """Draw the shape of an image that the window fits, its sizes, the window, a channel axis."""
    axes = draw(st.integers(1, 2))
    window = {
        "window_sizes": per_axis(draw, axes, 1, 4),
        "strides": per_axis(draw, axes, 1, 4),
        "dilations": per_axis(draw, axes, 1, 3),
        "start_padding": per_axis(draw, axes, 0, 9),
        "end_padding": per_axis(draw, axes, 0, 9),
    }
    sizes = [
        max(size, dilation * (extent - 1) + 1 - start - end)
        for size, extent, _, dilation, start, end in zip(
            per_axis(draw, axes, 0, 16), *window.values(), strict=True
        )
    ]
    channel_axis = draw(st.integers(1, axes + 1)) - draw(st.sampled_from((0, axes + 2)))
    shape = shape_of(draw(st.integers(0, 2)), draw(st.integers(0, 3)), sizes, channel_axis)
    return shape, sizes, window, channel_axis


WindowCase = tuple[Index, list[int], dict[str, Any], int]


@given(window_cases())
def test_unfold_by_definition(case: WindowCase) -> None:
    shape, _, window, channel_axis = case
    found = reblock.explain("unfold", shape, **window, channel_axis=channel_axis)
    whole = without_batch(shape)
    columns = oracle.unfold(numbered(whole), **window, channel_axis=channel_axis)
    assert found.sources == {index: named(columns[index], whole) for index in found.sources}
    shown = min(columns.shape[1], 4) and min(columns.shape[2], 4)
    assert all((0, 0, column) in found.sources for column in range(shown and columns.shape[0]))


@given(window_cases())
def test_fold_by_definition(case: WindowCase) -> None:
    shape, sizes, window, channel_axis = case
    columns_shape = reblock.unfold_shape(shape, **window, channel_axis=channel_axis)
    found = reblock.explain("fold", columns_shape, sizes, **window, channel_axis=channel_axis)
    # fold is the adjoint of unfold: an element of the columns goes to where unfold takes it from.
    columns = oracle.unfold(numbered(shape), **window, channel_axis=channel_axis)
    terms: Mapping[Index, list[Index]] = defaultdict(list)
    for index in np.ndindex(*columns.shape):
        for target in named(columns[index], shape):
            terms[target].append(index)
    assert found.sources == {index: tuple(terms[index]) for index in found.sources}
    corner = [min(extent, 6) for extent in shape]
    corner[0], corner[channel_axis] = min(shape[0], 1), min(shape[channel_axis], 2)
    assert set(found.sources) == set(np.ndindex(*corner))


@given(window_cases())
def test_columns_of_fold_go_where_those_of_unfold_come_from(case: WindowCase) -> None:
    shape, sizes, window, channel_axis = case
    columns_shape = reblock.unfold_shape(shape, **window, channel_axis=channel_axis)
    unfolded = reblock.explain("unfold", shape, **window, channel_axis=channel_axis)
    folded = reblock.explain("fold", columns_shape, sizes, **window, channel_axis=channel_axis)
    assert folded._map.parts[0].planes == unfolded._map.parts[1].planes


@given(padded_calls(), st.sampled_from(MODES), st.sampled_from(["CRD", "DCR"]))
def test_windows_with_every_option(calls: tuple[Call, Call, Ranges], mode: Any, order: Any) -> None:
    unfold, fold, ranges = calls
    explain: Any = reblock.explain
    options: dict[str, Any] = {"padding_mode": mode, "order": order, "blocks": ranges}
    found = explain("unfold", unfold.input_shape, *unfold.arguments, **unfold.keywords | options)
    columns = expected_unfold(unfold, numbered(unfold.input_shape), mode, ranges, order)
    for index, sources in found.sources.items():
        assert sources == named(columns[index], unfold.input_shape)
    assert len(found.sources) >= min(columns.size, 1)

    adjoint = explain("fold", columns.shape, *fold.arguments, **fold.keywords | options)
    terms, present, _ = listed_terms(numbered(columns.shape), fold, mode, ranges, order)
    axis = fold.keywords["channel_axis"]
    for index, sources in adjoint.sources.items():
        channel, *position = oracle.channels_second(index, axis)[1:]
        where: Any = (slice(None), index[0], channel, *position)
        expected = [named(number, columns.shape)[0] for number in terms[where][present[where]]]
        assert list(sources) == expected
    assert (0,) * len(unfold.input_shape) in adjoint.sources
    assert adjoint._map.parts[0].planes == found._map.parts[1].planes


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        ({"padding_mode": reblock.PaddingMode.REFLECTION}, "padding_mode='reflect'"),
        ({"padding_mode": "constant", "padding_value": 7}, "padding_value=7"),
        ({"order": reblock.DepthSpaceOrder.DEPTH_COLUMN_ROW}, "order='DCR'"),
        ({"order": "CRD", "padding_mode": 0, "padding_value": 0, "blocks": None}, ""),
        ({"blocks": (1, 3)}, "blocks=(1, 3)"),
        ({"blocks": [slice(0, 2), None]}, "blocks=[slice(0, 2, None), None]"),
    ],
)
def test_options_of_windows_are_printed(options: dict[str, Any], printed: str) -> None:
    found = reblock.explain("unfold", (1, 2, 5, 5), 3, start_padding=1, **options)
    title = str(found).partition(": ")[0]
    assert title == f"unfold(x, window_sizes=3, start_padding=1{', ' * bool(printed)}{printed})"
    given = {name: value for name, value in options.items() if name != "padding_value"}
    columns = reblock.unfold_shape((1, 2, 5, 5), 3, start_padding=1, blocks=options.get("blocks"))
    folded = reblock.explain("fold", columns, (5, 5), 3, start_padding=1, **given)
    assert folded._map.parts[0].planes == found._map.parts[1].planes


@pytest.mark.parametrize("order", ["CRD", "DCR"])
@pytest.mark.parametrize("mode", ["constant", "reflect"])
@pytest.mark.parametrize(
    "options",
    [
        {"reduction": "mean"},
        {"reduction": "max"},
        {"reduction": "min", "dtype": "float32"},
        {"weights": [[0.5, 2], [1, 3]]},
        {"weights": np.array([[0.25, 0], [0, 0]]), "reduction": "mean"},
    ],
    ids=str,
)
def test_formulas_of_reductions_are_the_results(
    order: Any, mode: Any, options: dict[str, Any]
) -> None:
    window: dict[str, Any] = {"start_padding": 1, "padding_mode": mode, "order": order}
    columns = np.random.default_rng(0).random((1, 8, 6), np.float32)
    explain: Any = reblock.explain
    found = explain("fold", columns.shape, (2, 3), 2, **window, **options)
    expected = reblock.fold(columns, (2, 3), 2, **window, **options)
    formulas = [line for line in str(found).splitlines() if line.startswith("result[")]
    assert len(formulas) == 6
    for line in formulas:
        if "more)" in line:
            continue
        element, _, formula = line.partition(" = ")
        actual = eval(formula, {"columns": columns, "max": max, "min": min})
        assert np.isclose(actual, eval(element, {"result": expected}))
    has_dtype = any("cast(x, float32)" in line for line in str(found).splitlines())
    assert has_dtype == ("dtype" in options)


def test_reductions_are_printed_and_refused_in_the_words_of_fold() -> None:
    explain: Any = reblock.explain
    options = {"reduction": "mean", "weights": [[1, 2], [1, 3]]}
    lines = str(explain("fold", (1, 4, 4), (3, 3), 2, **options)).splitlines()
    assert "reduction='mean', weights=<2 x 2>): (1, 4, 4) -> (1, 1, 3, 3)" in lines[0]
    assert "a number in the result: how many have their mean there" in lines
    for wrong, kind in (
        ({"reduction": "median"}, ValueError),
        ({"weights": [1, 2, 3]}, ValueError),
        ({"weights": []}, ValueError),
        ({"weights": [[1, 1]] * 7}, ValueError),
        ({"reduction": "max", "dtype": "complex64"}, TypeError),
        ({"accumulate": True}, TypeError),
    ):
        with pytest.raises(kind, match=next(iter(wrong))):
            explain("fold", (1, 4, 4), (3, 3), 2, **wrong)


def test_a_padding_value_is_told() -> None:
    lines = str(
        reblock.explain("unfold", (1, 1, 3), 2, end_padding=1, padding_value=7)
    ).splitlines()
    assert "pad in a cell: it is 7" in lines
    assert lines[-1] == "result[0, 1, 2] = 7"


def test_rows_are_labelled_by_their_numbers() -> None:
    """In DCR order, the rows of a channel are not neighbours."""
    cases: list[tuple[Any, list[int]]] = [("CRD", [2, 3]), ("DCR", [1, 3])]
    for order, rows in cases:
        found = reblock.explain("unfold", (1, 2, 3), 2, order=order)
        labels = found._map.parts[1].planes[1].row_labels
        assert labels == [f"{row} ({offset})" for offset, row in enumerate(rows)]


def test_padding_far_larger_than_the_image() -> None:
    far: dict[str, Any] = {"start_padding": 10**6, "strides": 10**5, "padding_mode": "wrap"}
    found = reblock.explain("unfold", (1, 1, 7), 2, **far)
    assert found.sources[0, 1, 3] == ((0, 0, (3 * 10**5 + 1 - 10**6) % 7),)


def test_small_maps_are_whole() -> None:
    found = reblock.explain("depth_to_space", (1, 8, 2, 3), 2)
    assert set(found.sources) == set(np.ndindex(1, 2, 4, 6))
    assert "shown" not in str(found)
    assert "..." not in str(found)


@pytest.mark.parametrize(
    ("name", "shape", "arguments"),
    [
        ("depth_to_space", (64, 512, 4096, 4096), (2,)),
        ("space_to_depth", (64, 512, 4096, 4096), (16,)),
        ("depth_to_space", (3, 2**6, 9, 9, 9, 9, 9, 9), (2,)),
        ("unfold", (64, 512, 4096, 4096), (7,)),
        ("unfold", (2, 3, 40, 40, 40, 40, 40, 40), (3,)),
        ("fold", (64, 512 * 49, 4090**2), ((4096, 4096), 7)),
        ("fold", (1, 64 * 64, 31**2), ((1024, 1024), 64, 32)),
        ("unfold", (64, 512, 4098, 4098), (7, {"padding_mode": "wrap", "order": "DCR"})),
        ("fold", (1, 9, 512**2), ((512, 512), 3, {"padding_mode": "wrap"})),
        ("fold", (1, 512 * 9, 900**2), ((1024, 1024), 3, {"blocks": (0, 900)})),
    ],
)
def test_large_shapes_are_shown_in_part(
    name: str, shape: Index, arguments: tuple[Any, ...]
) -> None:
    parameters: dict[str, Any] = {}
    if isinstance(arguments[-1], dict):
        parameters = {"start_padding": 1, "end_padding": 1, **arguments[-1]}
        arguments = arguments[:-1]
    if len(arguments) > 2:
        parameters["strides"] = arguments[2]
    operator = getattr(reblock, name)
    found = reblock.explain(operator, shape, *arguments[:2], **parameters)
    text = str(found)
    assert "shown: " in text
    assert "..." in text
    assert len(text.splitlines()) < 150
    assert max(map(len, text.splitlines()[1:])) <= 120
    for index, (source, *_) in list(found.sources.items())[-5:]:
        assert all(i < extent for i, extent in zip(source, shape, strict=True)), index


def test_the_operator_or_its_name() -> None:
    by_name = reblock.explain("fold", (1, 9, 4), (4, 4), 3)
    assert str(reblock.explain(reblock.fold, (1, 9, 4), (4, 4), window_sizes=3)) == str(by_name)


# Forms


def test_a_prompt_shows_the_text() -> None:
    found = reblock.explain("depth_to_space", (1, 8, 2, 3), 2, order=1, channel_axis=-3)
    assert repr(found) == str(found)
    title = "depth_to_space(x, block_size=2, order='CRD', channel_axis=-3): "
    assert repr(found).startswith(f"{title}(1, 8, 2, 3) -> (1, 2, 4, 6)\n\nx (1, 8, 2, 3)\n")


def named_by_the_legend(found: Explanation) -> set[str]:
    """Return what the notes say of cells and of labels beside rows."""
    return {
        note.split(" in a cell")[0].split(" beside a row")[0]
        for note in found._map.notes
        if re.match(r".* (in a cell|beside a row): ", note)
    }


def shown_in(found: Explanation) -> set[str]:
    """Return every cell and every label beside a row."""
    planes = [plane for part in found._map.parts for plane in part.planes]
    cells = {cell.text for plane in planes for row in plane.cells for cell in row}
    return cells.union(*(plane.row_labels for plane in planes))


@given(window_cases())
def test_the_legend_names_what_is_shown(case: WindowCase) -> None:
    shape, sizes, window, channel_axis = case
    columns_shape = reblock.unfold_shape(shape, **window, channel_axis=channel_axis)
    for found in (
        reblock.explain("unfold", shape, **window, channel_axis=channel_axis),
        reblock.explain("fold", columns_shape, sizes, **window, channel_axis=channel_axis),
    ):
        assert named_by_the_legend(found) <= shown_in(found)
        assert ("pad" in named_by_the_legend(found)) == ("pad" in shown_in(found))


def test_the_legend_names_what_a_narrow_terminal_shows_too() -> None:
    found = reblock.explain("unfold", (1, 1, 9, 9, 9), 3)
    (cell,) = (name for name in named_by_the_legend(found) if ":" in name)
    assert (
        f"{cell} "
        in on_terminal(found, 40).split("result (1, 27, 343)")[1].split(cell + " in a")[0]
    )


@given(depth_space_cases(high=5))
def test_the_legend_of_blocks_names_what_is_shown(
    case: tuple[Index, list[int], str, int],
) -> None:
    space, block, order, channel_axis = case
    depth = reblock.space_to_depth_shape(space, block, channel_axis=channel_axis)
    for name, shape in (("space_to_depth", space), ("depth_to_space", depth)):
        found = reblock.explain(
            getattr(reblock, name), shape, block, order=order, channel_axis=channel_axis
        )
        assert named_by_the_legend(found) <= shown_in(found)
        assert bool(named_by_the_legend(found)) == bool(found.sources)


def test_text_of_fold() -> None:
    text = str(reblock.explain("fold", (1, 9, 4), (4, 4), 3))
    assert "1  2  4  4  2" in text
    assert "result[0, 0, 0, 1] = columns[0, 0, 1] + columns[0, 1, 0]" in text


def test_text_of_padding() -> None:
    lines = str(reblock.explain("unfold", (1, 1, 3), 2, start_padding=1)).splitlines()
    assert "0 (0)  pad  0:0  0:1" in lines
    assert "1 (1)  0:0  0:1  0:2" in lines


def test_empty_tensors_have_no_tables() -> None:
    found = reblock.explain("depth_to_space", (0, 4, 2, 2), 2)
    assert found.sources == {}
    assert "channel" not in str(found)
    assert found.image().width > 0


def on_terminal(found: object, width: int, **options: Any) -> str:
    file = io.StringIO()
    Console(file=file, width=width, **options).print(found)
    return file.getvalue()


def test_terminal_without_colour_shows_the_text() -> None:
    found = reblock.explain("space_to_depth", (1, 3, 4, 4), 2)
    shown = on_terminal(found, _index_map.WIDTH, highlight=False)
    assert [line.rstrip() for line in shown.splitlines()] == str(found).splitlines()


def test_terminal_with_colours() -> None:
    shown = on_terminal(
        reblock.explain("depth_to_space", (1, 4, 1, 1), 2),
        80,
        force_terminal=True,
        color_system="truecolor",
    )
    for channel in range(4):
        red, green, blue = _index_map.hue(channel)
        assert f"48;2;{red};{green};{blue}m {channel}:0,0 " in shown


def test_narrow_terminal_leaves_columns_out_and_says_so() -> None:
    shown = on_terminal(reblock.explain("unfold", (1, 1, 5, 5), 3), 40)
    assert max(map(len, shown.splitlines())) <= 40
    assert shown.count("...") > 9


@pytest.mark.parametrize(("operator", "channels"), [("depth_to_space", 4), ("space_to_depth", 3)])
def test_html_is_well_formed_and_has_every_cell(operator: Any, channels: int) -> None:
    found = reblock.explain(operator, (1, channels, 2, 2), 2, order="CRD")
    tree = ElementTree.fromstring(found._repr_html_())
    cells = Counter(cell.text for cell in tree.iter("td"))
    assert cells == {f"{c}:{y},{x}": 2 for c, y, x in np.ndindex(channels, 2, 2)}
    assert all("background: #" in cell.get("style", "") for cell in tree.iter("td"))


def contrast(first: _index_map.Colour, second: _index_map.Colour) -> float:
    """Return WCAG's contrast of two colours."""

    def luminance(colour: _index_map.Colour) -> float:
        values = [v / 255 for v in colour]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lower, higher = sorted(map(luminance, (first, second)))
    return (higher + 0.05) / (lower + 0.05)


def test_every_cell_can_be_read() -> None:
    for number in range(16):
        for tint in (0, 0.25, 0.5, 0.75, 1):
            colour = _index_map.hue(number, tint)
            assert contrast(colour, colour.ink) >= 4.5


def test_colours_of_channels_differ() -> None:
    assert len({_index_map.hue(number) for number in range(16)}) == 16


def test_picture_has_the_colours_of_the_result() -> None:
    areas = {}
    for order in ("DCR", "CRD"):
        found = reblock.explain("depth_to_space", (1, 8, 1, 1), 2, order=order)
        picture = np.asarray(found.image())
        right = picture[:, picture.shape[1] * 7 // 8 :].reshape(-1, 3)
        areas[order] = Counter(map(tuple, right.tolist()))
    # The last table on the right is the result's channel 1.
    odd, last = ([_index_map.hue(c) for c in channels] for channels in ((1, 3, 5, 7), (4, 5, 6, 7)))
    assert all(areas["DCR"][colour] > 100 for colour in odd)
    assert all(areas["CRD"][colour] > 100 for colour in last)
    assert areas["CRD"][_index_map.hue(1)] == 0


# What it refuses, and what it needs


@pytest.mark.parametrize("operator", ["depth-to-space", "sum", np.sum])
def test_other_operators_are_refused(operator: Any) -> None:
    with pytest.raises(ValueError, match="operator must be one of depth_to_space, space_to_depth"):
        reblock.explain(operator, (1, 4, 2, 2), 2)


def test_the_operators_refuse_in_their_own_words() -> None:
    with pytest.raises(ValueError, match="shape has 5 channels"):
        reblock.explain("depth_to_space", (1, 5, 2, 2), 2)
    with pytest.raises(ValueError, match="order must be"):
        reblock.explain(reblock.depth_to_space, (1, 4, 2, 2), 2, order="RCD")
    with pytest.raises(TypeError, match="'threads'"):
        reblock.explain(reblock.unfold, (1, 4, 2, 2), 2, threads=1)
    explain: Any = reblock.explain
    for name, shapes in (("unfold", ((1, 1, 5),)), ("fold", ((1, 2, 4), 5))):
        for option, value, kind in (
            ("order", "RCD", ValueError),
            ("padding_mode", "mirror", ValueError),
            ("padding_mode", None, TypeError),
            ("blocks", (0, 9), ValueError),
            ("blocks", slice(0, 4, 2), ValueError),
            ("blocks", 3, TypeError),
        ):
            with pytest.raises(kind, match=option):
                explain(name, *shapes, 2, **{option: value})
    with pytest.raises(TypeError, match="padding_value"):
        explain("unfold", (1, 1, 5), 2, padding_value="a")
    with pytest.raises(ValueError, match="padding_value"):
        explain("unfold", (1, 1, 5), 2, padding_value=1, padding_mode="edge")


def test_the_picture_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = reblock.explain("unfold", (1, 1, 3), 2)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ModuleNotFoundError, match=r'PIL is missing; pip install "reblock\[cli\]"'):
        found.image()


def test_it_is_imported_when_it_is_asked_for() -> None:
    script = """
import sys, reblock
assert "explain" in dir(reblock)
assert "reblock._explain" not in sys.modules
print(reblock.explain("unfold", (1, 1, 3), 2))
assert not {"PIL", "rich"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)


def test_no_other_name_is_made_up() -> None:
    with pytest.raises(AttributeError, match="'reblock' has no attribute 'explain_it'"):
        reblock.explain_it  # type: ignore[attr-defined] # noqa: B018 - the access is what is tested


# Patterns


@pytest.mark.parametrize("use", ["rearrange", "repeat"])
@given(data=st.data())
def test_patterns_show_where_elements_come_from(use: Use, data: st.DataObject) -> None:
    pattern = data.draw(patterns(use, most_axes=6))
    explain: Any = reblock.explain
    explanation = explain(use, pattern.input_shape, pattern.text, **pattern.axes_lengths)
    numbers = pattern.oracle(numbered(pattern.input_shape))
    for index, sources in explanation.sources.items():
        assert sources == named(numbers[index], pattern.input_shape)
    shown = [0 if not extent else 1 for extent in pattern.output_shape]
    assert len(explanation.sources) >= math.prod(shown)
    assert str(explanation).startswith(f"{use}(x, {pattern.text!r}")


def test_a_corner_of_a_large_rearrangement_is_shown() -> None:
    shape = (1 << 20, 1 << 20, 3)
    explanation = reblock.explain(reblock.rearrange, shape, "h (w p) c -> c (p h) w", p=4)
    assert explanation.sources[2, 5, 4] == ((5, 16, 2),)
    assert "x (1048576, 1048576, 3), shown: [:3, :6, :3]" in str(explanation)


@pytest.mark.parametrize(("shape", "example"), [((2, 5), "1,4"), ((4, 1), "3,0"), ((0, 2), None)])
def test_the_example_of_a_rearrangement_is_a_cell(shape: tuple[int, ...], example: Any) -> None:
    lines = str(reblock.explain("rearrange", shape, "h w -> w h")).splitlines()
    told = [line for line in lines if "in a cell" in line]
    x = None if example is None else [int(index) for index in example.split(",")]
    assert told == ([] if example is None else [f"{example} in a cell: it comes from x{x}"])


def test_a_rearrangement_is_printed() -> None:
    printed = str(reblock.explain("rearrange", (2, 3), "h w -> w h"))
    assert printed.splitlines()[-7:] == [
        "    0    1",
        "0  0,0  1,0",
        "1  0,1  1,1",
        "2  0,2  1,2",
        "",
        "1,2 in a cell: it comes from x[1, 2]",
        "result[2, 1] = x[1, 2]",
    ]


@pytest.mark.parametrize(
    ("arguments", "conversion", "formula"),
    [
        (("depth_to_space", (1, 8, 2, 2), 2), {"dtype": "float32"}, "cast(x, float32)"),
        (("space_to_depth", (1, 2, 4, 4), 2), {"scale": [1, 2]}, "cast(x * scale, x.dtype)"),
        (
            ("unfold", (1, 1, 5, 5), 3),
            {"dtype": np.int8, "scale": 0.5, "bias": [3]},
            "cast(x * 0.5 + bias, int8)",
        ),
        (
            ("rearrange", (2, 3), "h w -> w h"),
            {"bias": {"w": [1, 2, 3]}},
            "cast(x + bias, x.dtype)",
        ),
        (("repeat", (2,), "h -> h 2"), {"dtype": "float16", "bias": 1}, "cast(x + 1, float16)"),
    ],
)
def test_a_conversion_changes_no_place(
    arguments: tuple[Any, ...], conversion: dict[str, Any], formula: str
) -> None:
    plain = reblock.explain(*arguments)
    converted = reblock.explain(*arguments, **conversion)
    assert converted.sources == plain.sources
    assert str(converted) == f"{plain}\neach element becomes {formula}"


def test_a_conversion_is_checked() -> None:
    image, pattern = ("space_to_depth", (1, 2, 4, 4), 2), ("rearrange", (2, 3), "h w -> w h")
    explain: Any = reblock.explain
    with pytest.raises(ValueError, match="scale must be a number, or one for each of the 2"):
        explain(*image, scale=[1, 2, 3])
    with pytest.raises(TypeError, match="dtype must be"):
        explain(*image, dtype="c8")
    with pytest.raises(ValueError, match="bias must have one number for each of the 3"):
        explain(*pattern, bias={"w": [1]})
    with pytest.raises(TypeError, match="dtype must be"):
        explain(*pattern, dtype="c8")


@pytest.mark.parametrize(
    ("operator", "shape", "arguments", "names"),
    [
        ("space_to_depth", (4, 6, 3), (2,), {"layout": "HWC", "out_layout": "CHW"}),
        ("space_to_depth", (4, 6), (2,), {"layout": "HW"}),
        ("depth_to_space", (2, 3, 8), (2,), {"layout": "HWC"}),
        ("depth_to_space", (4, 2, 3), (2,), {"layout": "CHW", "out_layout": "HW"}),
        ("unfold", (5, 6, 2), (3,), {"layout": "HWC", "out_layout": "LC"}),
        ("unfold", (7, 2, 1), (3,), {"layout": "WCN", "out_layout": "NLC", "start_padding": 1}),
        ("unfold", (2, 1, 5, 6), (2,), {"out_layout": "LNC"}),
        ("fold", (16, 18), ((5, 6), (2, 3)), {"layout": "LC", "out_layout": "WHC"}),
        ("fold", (16, 4), ((5, 5), 2), {"layout": "LC"}),
        ("fold", (1, 8, 16), ((5, 5), 2), {"out_layout": "HCWN"}),
    ],
)
def test_layouts_name_the_axes(
    operator: Any, shape: tuple[int, ...], arguments: tuple[Any, ...], names: dict[str, Any]
) -> None:
    """The map has the indices of the arrays as the layouts say."""
    explanation = reblock.explain(operator, shape, *arguments, **names)
    x = np.arange(1, 1 + math.prod(shape)).reshape(shape)
    result = getattr(reblock, operator)(x, *arguments, **names)
    assert f"{shape} -> {result.shape}" in repr(explanation)
    assert explanation.sources
    for index, terms in explanation.sources.items():
        assert result[index] == sum(x[term] for term in terms)


def test_a_layout_and_a_channel_axis_are_refused() -> None:
    refuses(
        lambda: reblock.explain("unfold", (4, 4, 3), 2, layout="HWC", channel_axis=-1),
        ValueError,
        "channel_axis",
        -1,
    )
