# SPDX-License-Identifier: BSD-3-Clause
"""`python -m reblock` is the `reblock` command."""

from reblock._cli import main

if __name__ == "__main__":
    main()
