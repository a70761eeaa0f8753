# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx builds the site: `nox -s docs`."""

from pathlib import Path

import reblock

DOCS = Path(__file__).parent

project = "reblock"
author = "the reblock developers"
project_copyright = "the reblock developers"
version = release = reblock.__version__

extensions = [
    "breathe",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
]
exclude_patterns = ["benchmarks-table.md"]
nitpicky = True
default_role = "autolink"  # what docstrings put in single backticks: a name, or else emphasis

# Pages --------------------------------------------------------------------------------------------

myst_enable_extensions = ["substitution"]
myst_heading_anchors = 3
# What only a machine for measuring can make: shown once it is there.
myst_substitutions = {
    "speed": "![Speed as a ratio to a copy](images/speed.png)"
    if (DOCS / "images" / "speed.png").exists()
    else "",
}

# Pictures -----------------------------------------------------------------------------------------

plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = ["svg"]
plot_pre_code = ""  # a block shows all that it needs

# References ---------------------------------------------------------------------------------------

autodoc_member_order = "bysource"
autosummary_generate = False  # its tables lead to entries on the same page
numpydoc_show_class_members = False
breathe_projects = {"reblock": str(DOCS.parent / "build" / "doxygen" / "xml")}
breathe_default_project = "reblock"
cpp_maximum_signature_line_length = 68  # longer ones have a line for each parameter
nitpick_ignore_regex = [("cpp:identifier", "reblock|(reblock::)?detail.*|std.*")]

# Looks --------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "reblock"
html_theme_options = {
    "logo": {"text": "reblock"},
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_show_sourcelink = False
html_copy_source = False
