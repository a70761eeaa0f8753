# SPDX-License-Identifier: BSD-3-Clause
"""What the `reblock` command tells: `info`, `explain`, `diagnose`, and its page."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from PIL import Image

import reblock
from commands import COMMAND, assert_refused, noise, run
from reblock import _cli

COMMANDS: Any = typer.main.get_command(_cli.app)


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"reblock {reblock.__version__}\n")


def test_help_lists_every_subcommand() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for name in COMMANDS.commands:
        assert f" {name} " in result.stdout
        assert run(name, "--help").exit_code == 0


@pytest.mark.parametrize("operator", ["depth_to_space", "space_to_depth", "unfold", "fold"])
def test_options_are_the_parameters_of_the_function(operator: str) -> None:
    parameters = inspect.signature(getattr(reblock, operator)).parameters
    arrays = {next(iter(parameters)), "out", "accumulate"}  # what a file stands for
    moving, explaining = (
        {option.name: option for option in group.commands[operator.replace("_", "-")].params}
        for group in (COMMANDS, COMMANDS.commands["explain"])
    )
    assert moving.keys() - {"source", "target", "force", "wrap"} == parameters.keys() - arrays
    assert explaining.keys() - {"shape", "save"} <= moving.keys()
    for name in moving.keys() & parameters.keys():
        option, default = moving[name], parameters[name].default
        assert option.opts == [f"--{name.replace('_', '-')}"]
        assert option.required == (default is inspect.Parameter.empty)
        if not option.required:
            assert str(option.default) == str(default)


def test_info() -> None:
    result = run("info")
    assert result.exit_code == 0
    assert f"reblock {reblock.__version__}\n" in result.stdout
    assert f"threads: {reblock.get_num_threads()}" in result.stdout
    assert re.search(
        r"^cli: pillow [\d.]+, rich [\d.]+, typer [\d.]+$", result.stdout, re.MULTILINE
    )
    assert "pytest" not in result.stdout


def test_info_tells_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    requirements = ["numpy>=2", 'nowhere-to-be-found; extra == "away"', 'pytest; extra == "test"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: requirements)
    assert run("info").stdout.endswith("\naway: nowhere-to-be-found is not installed\n")


# explain


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (
            "depth-to-space",
            "depth_to_space(x, block_size=2, order='DCR'): (1, 8, 2, 2) -> (1, 2, 4, 4)",
        ),
        (
            "depth-to-space --block-size 1,2,2 --order crd --channel-axis -1",
            "depth_to_space(x, block_size=(1, 2, 2), order='CRD', channel_axis=-1): "
            + "(1, 2, 2, 2, 8) -> (1, 2, 4, 4, 2)",
        ),
        (
            "depth-to-space --shape 1,4,2,3 --block-size 2,1",
            "depth_to_space(x, block_size=(2, 1), order='DCR'): (1, 4, 2, 3) -> (1, 2, 4, 3)",
        ),
        (
            "space-to-depth --block-size 3",
            "space_to_depth(x, block_size=3, order='DCR'): (1, 2, 6, 6) -> (1, 18, 2, 2)",
        ),
        ("unfold", "unfold(x, window_sizes=3): (1, 1, 5, 5) -> (1, 9, 9)"),
        (
            "unfold --shape 2,9,1 --window-sizes 4 --strides 2 --dilations 2 "
            + "--start-padding 1 --end-padding 3 --channel-axis 2",
            "unfold(x, window_sizes=4, strides=2, dilations=2, start_padding=1, end_padding=3, "
            + "channel_axis=2): (2, 9, 1) -> (2, 4, 4)",
        ),
        (
            "fold --window-sizes 2,1",
            "fold(columns, output_sizes=(4, 3), window_sizes=(2, 1)): (1, 2, 9) -> (1, 1, 4, 3)",
        ),
        (
            "fold --shape 1,9,4 --output-sizes 4",
            "fold(columns, output_sizes=(4, 4), window_sizes=3): (1, 9, 4) -> (1, 1, 4, 4)",
        ),
        (
            "space-to-depth --layout HWC --out-layout CHW",
            "space_to_depth(x, block_size=2, order='DCR', layout='HWC', out_layout='CHW'): "
            + "(4, 4, 2) -> (8, 2, 2)",
        ),
        (
            "depth-to-space --layout CHW --out-layout HW",
            "depth_to_space(x, block_size=2, order='DCR', layout='CHW', out_layout='HW'): "
            + "(4, 2, 2) -> (4, 4)",
        ),
        (
            "unfold --layout NWC --out-layout NLC --window-sizes 2",
            "unfold(x, window_sizes=2, layout='NWC', out_layout='NLC'): (1, 4, 1) -> (1, 3, 2)",
        ),
        (
            "unfold --window-sizes 2 --padding-mode reflect --order dcr --blocks 1:3",
            "unfold(x, window_sizes=2, padding_mode='reflect', order='DCR', "
            + "blocks=slice(1, 3, None)): (1, 1, 4, 4) -> (1, 4, 4)",
        ),
        (
            "unfold --window-sizes 2 --start-padding 1 --padding-value -1 --layout CW",
            "unfold(x, window_sizes=2, start_padding=1, padding_value=-1, layout='CW'): "
            + "(1, 3) -> (2, 3)",
        ),
        (
            "fold --window-sizes 2 --padding-mode wrap --start-padding 1 --order dcr "
            + "--blocks 0:1,:",
            "fold(columns, output_sizes=(3, 3), window_sizes=2, start_padding=1, "
            + "padding_mode='wrap', order='DCR', "
            + "blocks=[slice(0, 1, None), slice(0, None, None)]): (1, 4, 3) -> (1, 1, 3, 3)",
        ),
        (
            "fold --window-sizes 2 --reduction mean --weights hann --dtype float32",
            "fold(columns, output_sizes=(4, 4), window_sizes=2, reduction='mean', "
            + "weights=<2 x 2>, dtype='float32'): (1, 4, 9) -> (1, 1, 4, 4)",
        ),
        (
            "fold --window-sizes 2,1 --strides 1 --weights gaussian",
            "fold(columns, output_sizes=(4, 3), window_sizes=(2, 1), weights=<2 x 1>): "
            + "(1, 2, 9) -> (1, 1, 4, 3)",
        ),
        (
            "fold --reduction max --window-sizes 2 --layout LC --out-layout WC",
            "fold(columns, output_sizes=(4,), window_sizes=2, reduction='max', layout='LC', "
            + "out_layout='WC'): (3, 2) -> (4, 1)",
        ),
        (
            "fold --layout LC --out-layout HWC --window-sizes 2",
            "fold(columns, output_sizes=(4, 4), window_sizes=2, layout='LC', out_layout='HWC'): "
            + "(9, 4) -> (4, 4, 1)",
        ),
    ],
)
def test_explain(arguments: str, title: str) -> None:
    result = run("explain", *arguments.split())
    assert (result.exit_code, result.stderr) == (0, "")
    said, _, _ = result.stdout.partition("\n\n")
    assert " ".join(said.split()) == title


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (["h w -> h w c"], "repeat(x, 'h w -> h w c', h=2, w=2, c=2): (2, 2) -> (2, 2, 2)"),
        (["h -> (r h 3)", "r=4"], "repeat(x, 'h -> (r h 3)', r=4, h=2): (2,) -> (24,)"),
        (
            ["h ... -> ... h r", "r=2", "--shape", "3,1,2"],
            "repeat(x, 'h ... -> ... h r', r=2): (3, 1, 2) -> (1, 2, 3, 2)",
        ),
        (
            ["save w -> w save r"],
            "repeat(x, 'save w -> w save r', save=2, w=2, r=2): (2, 2) -> (2, 2, 2)",
        ),
        (["h w -> w h"], "rearrange(x, 'h w -> w h', h=2, w=2): (2, 2) -> (2, 2)"),
        (
            ["(h p) 1 -> p h 1", "p=3"],
            "rearrange(x, '(h p) 1 -> p h 1', p=3, h=2): (6, 1) -> (3, 2, 1)",
        ),
        (
            ["a ... -> ... a", "--shape", "2,3,4"],
            "rearrange(x, 'a ... -> ... a'): (2, 3, 4) -> (3, 4, 2)",
        ),
    ],
)
def test_explain_of_a_pattern(arguments: list[str], title: str) -> None:
    result = run("explain", title.partition("(")[0], *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    said, _, _ = result.stdout.partition("\n\n")
    assert " ".join(said.split()) == title


def test_explain_prints_the_explanation() -> None:
    printed = run("explain", "depth-to-space", "--shape", "1,4,2,2", "--order", "CRD").stdout
    expected = reblock.explain("depth_to_space", (1, 4, 2, 2), 2, order="CRD")
    assert [line.rstrip() for line in printed.splitlines()] == str(expected).splitlines()


def test_explain_draws_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "map.png"
    result = run("explain", "unfold", "--shape", "1,1,4,4", "--save", picture)
    assert result.stdout.endswith(f"picture: {picture}\n")
    expected = reblock.explain("unfold", (1, 1, 4, 4), 3).image()
    with Image.open(picture) as drawn:
        assert np.array_equal(np.asarray(drawn), np.asarray(expected))


def test_explain_refuses(tmp_path: Path) -> None:
    assert_refused(
        run("explain", "depth-to-space", "--shape", "1,5,2,2"),
        "shape has 5 channels (axis 1 of shape (1, 5, 2, 2)), which --block-size 2 does not divide:"
        " a multiple of 4 is needed",
    )
    for operator in ("unfold", "fold"):
        refused = run("explain", operator, "--blocks", "0:9")
        assert refused.exit_code == 2
        assert refused.stderr.startswith("reblock: --blocks must lie")
    assert_refused(
        run("explain", "fold", "--weights", "hann", "--reduction", "max"),
        "--weights are for reduction sum or mean, got reduction max",
    )
    result = run("explain", "unfold", "--save", tmp_path / "map.odd")
    why = "Pillow writes no image with the suffix '.odd'; .png is one it writes"
    line = f"reblock: cannot write {tmp_path / 'map.odd'}: {why}\n"
    assert (result.exit_code, result.stderr) == (2, line)
    assert "'3,x' is not like 2 or 2,3" in run("explain", "unfold", "--window-sizes", "3,x").stderr


def test_too_little_memory_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def explain(*_: object, **__: object) -> None:
        raise MemoryError("unable to allocate 671 GiB")

    monkeypatch.setattr(reblock, "explain", explain)
    assert_refused(
        run("explain", "unfold"), "there is not enough memory: unable to allocate 671 GiB"
    )


def test_diagnose(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    run("depth-to-space", array, out, "--block-size", 2, "--order", "CRD")
    result = run("diagnose", array, out)
    # One channel is left: what is told of the order is part of the answer.
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{reblock.diagnose(np.load(array), np.load(out))}\n"
    assert result.stdout.startswith("equal to depth_to_space(x, 2)\n")
    np.save(out, np.load(out) + 1)
    result = run("diagnose", array, out)
    assert result.exit_code == 1
    assert result.stdout.startswith("equal to none of the ")


def test_diagnose_images(tmp_path: Path) -> None:
    Image.fromarray(noise(6, 8, 3)).save(tmp_path / "in.png")
    run("space-to-depth", tmp_path / "in.png", tmp_path / "out.npy", "--block-size", 2)
    assert run("diagnose", tmp_path / "in.png", tmp_path / "out.npy").stdout == (
        "equal to space_to_depth(x, 2)\n"
    )


def test_diagnose_refuses(array: Path, tmp_path: Path) -> None:
    assert_refused(run("diagnose", "-", "-"), "IN and OUT cannot both be standard input")
    out = tmp_path / "out.npy"
    assert_refused(run("diagnose", array, out), f"cannot read {out}: No such file or directory")
    np.save(out, np.zeros(3))
    assert_refused(
        run("diagnose", array, out),
        f"cannot compare {array} with {out}: result must have 2 to 8 axes, got shape (3,)",
    )


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "command-line.md"


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    Image.fromarray(noise(400, 600, 3)).save(tmp_path / "photo.png")
    blocks = re.findall(
        r"^```console\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    shown = "".join(blocks)
    commands = re.findall(r"^\$ reblock (.*)$", shown, re.MULTILINE)
    assert len(commands) >= 5
    printed = ""
    for command in commands:
        done = subprocess.run(
            [*COMMAND, *shlex.split(command)],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "88"},
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        printed += "\n".join((f"$ reblock {command}", *lines, ""))
    assert printed == shown
