# SPDX-License-Identifier: BSD-3-Clause
"""Hypothesis profiles: `dev` unless `--hypothesis-profile=thorough` asks for many more examples."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("dev", deadline=None, print_blob=True, max_examples=150)
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=2000)
settings.load_profile("dev")
