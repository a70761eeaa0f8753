#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fill in the recipes of packaging/: `tools/recipes.py ARCHIVE URL DIRECTORY`.

ARCHIVE is a release archive, URL the address that it can be fetched from; the recipes are written
into DIRECTORY.
"""

import hashlib
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = ROOT / "cpp" / "include" / "reblock" / "version.hpp"


def main() -> None:
    """Copy the recipes and replace what stands between two @ in those that end in .in."""
    archive, url, directory = sys.argv[1:]
    data = Path(archive).read_bytes()
    values = {
        "VERSION": re.findall(r'version\[\] = "(.+)"', VERSION.read_text(encoding="utf-8"))[0],
        "URL": url,
        "SHA256": hashlib.sha256(data).hexdigest(),
        "SHA512": hashlib.sha512(data).hexdigest(),
    }
    shutil.copytree(ROOT / "packaging", directory, dirs_exist_ok=True)
    for template in Path(directory).rglob("*.in"):
        text = template.read_text(encoding="utf-8")
        filled = re.sub(r"@([A-Z0-9]+)@", lambda name: values[name[1]], text)
        template.with_suffix("").write_text(filled, encoding="utf-8")
        template.unlink()


if __name__ == "__main__":
    main()
