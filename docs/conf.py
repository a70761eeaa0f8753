# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx builds the site: `nox -s docs`."""

from pathlib import Path

from docutils import nodes
from matplotlib.sphinxext.plot_directive import PlotDirective
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

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
    "sphinx_copybutton",
]
exclude_patterns = ["benchmarks-table.md"]
nitpicky = True
default_role = "autolink"  # what docstrings put in single backticks: a name, or else emphasis

# Pages --------------------------------------------------------------------------------------------

myst_enable_extensions = ["substitution"]
myst_heading_anchors = 3
# What only a machine for measuring can make is shown once it is there.
MEASURED = {
    "speed": (
        "images/speed.png",
        "![Bytes per second by size, of depth_to_space and of a copy]({})",
        "",
    ),
    "figures": (
        "benchmarks-table.md",
        "```{{include}} {}\n```",
        "No figures have been published yet.",
    ),
}
myst_substitutions = {
    name: shown.format(file) if (DOCS / file).exists() else instead
    for name, (file, shown, instead) in MEASURED.items()
}

# Pictures -----------------------------------------------------------------------------------------

plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = ["svg"]
plot_pre_code = ""  # a block shows all that it needs


class MarkdownPlot(PlotDirective, SphinxDirective):
    """Matplotlib's directive for pages in Markdown: it writes reStructuredText."""

    def run(self) -> list[nodes.Node]:
        """Have what it writes read as reStructuredText."""
        lines = ["```{eval-rst}"]
        self.state_machine.insert_input = lambda more, source: lines.extend(more)  # noqa: ARG005 - as it is called
        errors = super().run()
        return errors + self.parse_text_to_nodes("\n".join([*lines, "```"]))


# References ---------------------------------------------------------------------------------------

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the parameters are described in words
# reblock.dask, reblock.onnx and reblock.torch import these. They are large, and nothing of them is
# shown. The classes that derive from ONNX's lose their signatures by it: the page gives them.
autodoc_mock_imports = ["dask", "onnx", "torch"]
autosummary_generate = False  # its tables lead to entries on the same page
numpydoc_show_class_members = False
breathe_projects = {"reblock": str(DOCS.parent / "build" / "doxygen" / "xml")}
breathe_default_project = "reblock"
breathe_show_include = False
cpp_maximum_signature_line_length = 68  # longer ones have a line for each parameter
nitpick_ignore_regex = [
    ("cpp:identifier", "reblock|(reblock::)?detail.*|std.*"),
    ("cpp:identifier", "DML_.*|u?int[0-9]+_t|size_t"),  # others' types in the C functions
]

# Looks --------------------------------------------------------------------------------------------

html_static_path = ["static"]
html_css_files = ["site.css"]
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

# Parts of Sphinx ----------------------------------------------------------------------------------


def unlink_files(app: Sphinx, doctree: nodes.document) -> None:  # noqa: ARG001 - as Sphinx calls it
    """Name the files of the repository that are no pages of the site, without a link."""
    for link in list(doctree.findall(pending_xref)):
        if link["reftype"] == "myst" and (DOCS.parent / link["reftarget"]).is_file():
            link.replace_self(link.children)


def setup(app: Sphinx) -> None:
    """Add what this file defines."""
    app.add_directive("plot", MarkdownPlot, override=True)
    app.connect("doctree-read", unlink_files)
