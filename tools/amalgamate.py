#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the C++ library as a single header: `tools/amalgamate.py reblock.hpp`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "cpp" / "include"
OWN = re.compile(r"#include <(reblock/.+)>\n")
# It ends what configuration.hpp begins, which is once in a single header.
END = "reblock/detail/configuration_end.hpp"
DROPPED = re.compile(r"// SPDX-License-Identifier: .*\n(//\n)?|#pragma once\n")


def expand(header: str, seen: set[str]) -> str:
    """Return the text of a header with the library's own headers in place of their includes."""
    if header in seen:
        return ""
    if not header.endswith(".inc"):  # what is written once, and compiled for each instruction set
        seen.add(header)
    text = DROPPED.sub("", (INCLUDE / header).read_text(encoding="utf-8"))
    return OWN.sub(lambda include: expand(include[1], seen), text)


def main() -> None:
    """Write the header to the file that the command line names."""
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    comment = "".join(f"// {line}".rstrip() + "\n" for line in licence.splitlines())
    head = f"// SPDX-License-Identifier: BSD-3-Clause\n//\n{comment}#pragma once\n\n"
    (output,) = sys.argv[1:]
    text = head + expand("reblock/reblock.hpp", {END}) + "\n" + expand(END, set())
    text = re.sub(r"\n{3,}", "\n\n", text)
    Path(output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
