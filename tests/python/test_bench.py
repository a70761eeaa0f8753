# SPDX-License-Identifier: BSD-3-Clause
"""The scripts in bench/: what they keep, and that no wrong result passes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reblock

BENCH = Path(__file__).parents[2] / "bench"
TELLS_OF_COMPILERS = sys.platform.startswith("linux") and shutil.which("c++") is not None
SMALL = ("--quick", "--seconds", "0.01", "--peers", "numpy,no_such_peer")


def compare(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run compare.py after some code has changed what it finds."""
    script = f"""
import runpy, sys
sys.path.insert(0, {str(BENCH)!r})
import peers
peers.PEERS["no_such_peer"] = ("no_such_peer", None)
sys.argv = ["compare.py", *{arguments!r}]
{code}
runpy.run_path({str(BENCH / "compare.py")!r}, run_name="__main__")
"""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("bench")
    done = compare(
        "",
        *SMALL,
        *("--only", "14x14 and 7x7"),
        *("--json", str(path / "results.json"), "--markdown", str(path / "table.md")),
    )
    assert done.returncode == 0, done.stderr
    assert "missing: no_such_peer" in done.stdout
    results: dict[str, Any] = json.loads((path / "results.json").read_text(encoding="utf-8"))
    results["table"] = (path / "table.md").read_text(encoding="utf-8")
    return results


def test_each_ratio_is_the_time_of_the_copy_by_that_of_the_library(summary: dict[str, Any]) -> None:
    assert summary["cases"]
    for case in summary["cases"]:
        assert set(case["ratio"]) <= {"reblock", "numpy"}
        for name, ratio in case["ratio"].items():
            assert ratio == pytest.approx(case["seconds"]["copy"] / case["seconds"][name])


def test_random_cases_are_the_same_every_time_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    runs = []
    for _ in range(2):
        done = compare("", "--random", "60", *SMALL[1:], "--json", str(path))
        assert done.returncode == 0, done.stderr
        assert "cases are behind a peer" in done.stdout
        runs.append(json.loads(path.read_text(encoding="utf-8"))["cases"])
    names = [case["name"] for case in runs[0]]
    assert names == [case["name"] for case in runs[1]]
    assert len(names) == 60
    for operator in ("depth_to_space", "space_to_depth", "unfold", "fold"):
        assert any(name.startswith(operator) for name in names)
    assert any(name.endswith("cropped") for name in names)


def test_results_tell_machine_versions_and_command(summary: dict[str, Any]) -> None:
    assert "compare.py --quick --seconds 0.01" in summary["machine"]["command"]
    assert {"processor", "instruction_set", "reblock"} <= set(summary["machine"])
    assert summary["peers"]["numpy"]
    assert summary["peers"]["no_such_peer"] is None


def test_every_case_is_in_a_group(summary: dict[str, Any]) -> None:
    assert sum(group["cases"] for group in summary["groups"]) == len(summary["cases"])


def test_groups_have_the_least_and_the_mean_of_their_cases(summary: dict[str, Any]) -> None:
    for group in summary["groups"]:
        ratios = [c["ratio"]["reblock"] for c in summary["cases"] if c["group"] == group["group"]]
        assert group["cases"] == len(ratios)
        assert group["least"] == min(ratios)
        assert min(ratios) <= group["mean"] <= max(ratios)
        assert f"| {group['least']:.2f} | {group['mean']:.2f} |" in summary["table"]


def test_a_wrong_peer_is_named_and_not_timed(tmp_path: Path) -> None:
    done = compare(
        "import numpy as np\n"
        "wrong = lambda case, x: lambda: np.zeros(case.output_shape, case.dtype)\n"
        "peers.PEERS['numpy'] = (peers.PEERS['numpy'][0], wrong)",
        *SMALL,
        *("--only", "14x14 and 7x7", "--json", str(tmp_path / "results.json")),
    )
    assert done.returncode == 0, done.stderr
    for case in json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["cases"]:
        assert case["notes"]["numpy"] == "wrong"
        assert "numpy" not in case["ratio"]


def test_a_wrong_result_of_reblock_stops_it() -> None:
    done = compare(
        "import numpy as np, reblock\n"
        "reblock.depth_to_space = lambda x, *a, out, **k: np.zeros_like(out)",
        *SMALL,
        *("--only", "14x14 and 7x7"),
    )
    assert done.returncode != 0
    assert "reblock is wrong" in done.stderr


def modes_and_means(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = f"""
import runpy, sys
sys.path.insert(0, {str(BENCH)!r})
sys.argv = ["modes_and_means.py", "--quick", "--seconds", "0.001", *{arguments!r}]
{code}
runpy.run_path({str(BENCH / "modes_and_means.py")!r}, run_name="__main__")
"""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )


def test_modes_and_means_are_timed_beside_the_plain_operator_and_the_usual_ways(
    tmp_path: Path,
) -> None:
    path = tmp_path / "results.json"
    done = modes_and_means("", "--json", str(path))
    assert done.returncode == 0, done.stderr
    times = {row["name"]: row["seconds"] for row in json.loads(path.read_text(encoding="utf-8"))}
    kinds = ("unfold, edge", "unfold, value", "unfold, HWC", "fold, wrap")
    for start in (*kinds, "weighted sum", "accumulate", "mean", "blend"):
        assert any(name.startswith(start) for name in times)
    for name, taken in times.items():
        assert {"reblock", "plain"} <= set(taken)
        assert len(taken) > 2 or name.startswith(("fold", "unfold, HWC"))


def test_a_wrong_mean_stops_modes_and_means() -> None:
    done = modes_and_means(
        "import numpy as np, reblock\n"
        "fold = reblock.fold\n"
        "reblock.fold = lambda *a, **k: fold(*a, **k) + (k.get('reduction') == 'mean')",
        *("--only", "mean, "),
    )
    assert done.returncode != 0
    assert "reblock is wrong" in done.stderr


def pair(old: Path, new: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    few = ("--quick", "--turns", "1", "--seconds", "0.001", "--only", "14x14 and 7x7")
    return subprocess.run(
        [sys.executable, str(BENCH / "pair.py"), str(old), str(new), *few, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_two_builds_are_compared_case_by_case(tmp_path: Path) -> None:
    installed = Path(reblock.__file__).parents[1]
    done = pair(installed, installed, "--json", str(tmp_path / "pairs.json"))
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "pairs.json").read_text(encoding="utf-8"))
    assert results
    for result in results:
        assert result["name"] in done.stdout
        assert min(result["old"], result["new"], result["gain"]) > 0
    for group in {result["group"] for result in results}:
        assert f"{group}: mean " in done.stdout


def test_a_directory_without_a_build_is_refused(tmp_path: Path) -> None:
    installed = Path(reblock.__file__).parents[1]
    done = pair(installed, tmp_path)
    assert done.returncode != 0
    assert f"{tmp_path} has no reblock" in done.stderr


def compile_costs(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH / "compile.py"), "--runs", "1", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.skipif(not TELLS_OF_COMPILERS, reason="Linux alone tells what a c++ has taken")
def test_what_a_compiler_has_to_do_is_told_beside_another_checkout(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    other = tmp_path / "other"
    shutil.copytree(BENCH.parent / "cpp" / "include", other / "cpp" / "include")
    (other / "cpp" / "include" / "reblock" / "implementation.hpp").unlink()
    done = compile_costs("--only", "include", "--against", str(other), "--json", str(path))
    assert done.returncode == 0, done.stderr
    costs = json.loads(path.read_text(encoding="utf-8"))
    # A checkout that cannot be compiled once has no row for it.
    assert set(costs) == {
        "include, headers",
        "include, headers, other checkout",
        "include, compiled",
    }
    for name, cost in costs.items():
        assert f"| {name} | {cost['seconds']:.2f} |" in done.stdout
        assert cost["seconds"] > 0
        assert cost["megabytes"] > 1
        assert cost["code"] == cost["weak"] == cost["unique"] == 0  # nothing is called


def test_a_directory_without_headers_is_refused(tmp_path: Path) -> None:
    done = compile_costs("--against", str(tmp_path))
    assert done.returncode != 0
    assert f"{tmp_path} has no cpp/include/reblock/reblock.hpp" in done.stderr


@pytest.mark.parametrize(
    "script",
    [
        ["random_layouts.py"],
        ["random_patterns.py"],
        ["random_patterns.py", "--repeat"],
        ["random_conversions.py"],
    ],
    ids=" ".join,
)
def test_random_cases_can_be_repeated(script: list[str], tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    command = [
        sys.executable,
        str(BENCH / script[0]),
        *script[1:],
        "--seconds",
        "0.001",
        "--json",
        str(path),
    ]
    done = subprocess.run(
        [*command, "--count", "12"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "of 12 are slower than NumPy" in done.stdout
    assert f"python bench/{' '.join(script)} --first" in done.stdout
    results = json.loads(path.read_text(encoding="utf-8"))
    assert [case["number"] for case in results] == list(range(12))
    assert all(case["ratio"] > 0 and case["NumPy"] > 0 for case in results)
    subprocess.run([*command, "--first", "7", "--count", "1"], capture_output=True, check=True)
    [again] = json.loads(path.read_text(encoding="utf-8"))
    assert again["name"] == results[7]["name"]


@pytest.mark.parametrize(
    ("name", "function", "options"),
    [
        ("random_layouts.py", "unfold", ["--only", "unfold"]),
        ("random_patterns.py", "rearrange", ["--only", "3 axes"]),
        ("random_patterns.py", "repeat", ["--only", "3 axes", "--repeat"]),
        ("random_conversions.py", "rearrange", ["--only", "1 to 4 bytes"]),
    ],
)
def test_a_wrong_result_of_a_random_case_is_found(
    name: str, function: str, options: list[str]
) -> None:
    script = f"""
import runpy, sys
sys.path.insert(0, {str(BENCH)!r})
import reblock
right = reblock.{function}
def wrong(x, *arguments, **keywords):
    result = right(x, *arguments, **keywords)
    result.flat[0] += 1
    return result
reblock.{function} = wrong
sys.argv = [{name!r}, "--count", "30", *{options!r}, "--seconds", "0.001"]
runpy.run_path({str(BENCH / name)!r}, run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode != 0
    assert "reblock is wrong: case" in done.stderr


def test_known_cases_are_checked_and_timed() -> None:
    script = f"""
import runpy, sys
sys.path.insert(0, {str(BENCH)!r})
import reblock
if sys.argv[1] == "wrong":
    right = reblock.fold
    reblock.fold = lambda *arguments, **keywords: right(*arguments, **keywords) + 1
sys.argv = ["known_cases.py", "--seconds", "0.001"]
runpy.run_path({str(BENCH / "known_cases.py")!r}, run_name="__main__")
"""
    command = [sys.executable, "-c", script]
    done, wrong = (
        subprocess.run([*command, how], capture_output=True, text=True, check=False, timeout=300)
        for how in ("right", "wrong")
    )
    assert done.returncode == 0, done.stderr
    header, _, *lines = done.stdout.splitlines()
    assert len(lines) == 14
    assert all(float(line.split(" | ")[1]) > 0 for line in lines)
    assert f"reblock, {reblock._core.instruction_set}" in header
    assert wrong.returncode != 0
    assert "numpy disagrees: col2im" in wrong.stderr


def test_every_peer_is_installed_for_a_measurement() -> None:
    script = f"""
import sys
sys.path.insert(0, {str(BENCH)!r})
import known_cases, peers
names = {{*known_cases.PEERS, *(module for module, _ in peers.PEERS.values())}}
print(*(known_cases.DISTRIBUTIONS.get(name, name) for name in sorted(names)))
"""
    wanted = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    lines = (BENCH / "requirements.txt").read_text("utf-8").splitlines()
    given = {line.partition(";")[0].strip().removesuffix("-cpu") for line in lines}
    assert set(wanted) <= given
    assert {"opencv-python-headless", "torch"} <= set(wanted)


# It stands in for QEMU. A program takes 1000 instructions, and one for each byte of each call.
EMULATOR = """
import subprocess, sys
if len(sys.argv) == 2:
    subprocess.run(sys.argv[1:], check=True)
else:
    command = sys.argv[-3:]
    size = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(size)
    print("\\n" * (999 + int(command[2]) * int(size)), file=sys.stderr)
"""


@pytest.mark.skipif(not TELLS_OF_COMPILERS, reason="only a c++ on Linux links all libraries in")
def test_instructions_of_a_call_are_counted_for_each_byte(tmp_path: Path) -> None:
    emulator = tmp_path / "emulator.py"
    emulator.write_text(EMULATOR, encoding="utf-8")
    script = f"""
import sys
sys.path.insert(0, {str(BENCH)!r})
import instructions
emulator = (sys.executable, {str(emulator)!r})
instructions.MACHINES = (instructions.Machine("c++", emulator, ("baseline",)),)
sys.argv = ["instructions.py", "--flags=-O0", "--only=fold"]
instructions.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    _, _, *rows = done.stdout.splitlines()
    assert rows == [
        "| unfold 3x3, float32 NCHW | 1.000 |",
        "| fold 3x3, float32 NCHW | 1.000 |",
    ]
