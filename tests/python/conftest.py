# SPDX-License-Identifier: BSD-3-Clause
"""Hypothesis profiles: `dev`, or what `--hypothesis-profile` asks for: `few`, or `thorough`."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("dev", deadline=None, print_blob=True, max_examples=150)
settings.register_profile("few", deadline=None, print_blob=True, max_examples=50)
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=2000)
settings.load_profile("dev")
