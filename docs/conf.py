"""Builds the documentation as a site: `./dev docs` runs Sphinx with these settings.

The pages are plain Markdown that a forge shows as it is. Sphinx reads them from the root of the
repository, so that a link is the same relative path in both places. No page loads anything from
another server.
"""

from __future__ import annotations

project = "LoadPilot"
author = "The LoadPilot maintainers"
html_title = project
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "*.md",
    "proto/README.md",
    "bench/README.md",
    "bench/target/README.md",
    "bench/results/*.md",
    "deploy/**/*.md",
    "examples/**/*.md",
    "sdk/*.md",
    "services/**/*.md",
    "tests/**/*.md",
]
exclude_patterns = ["docs/site", "**/node_modules", "**/.pytest_cache", "target", ".*"]

# Markdown has the meaning that it has on a forge: what MyST adds to it is off.
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"]
myst_heading_anchors = 4  # as on a forge: each heading can be linked to
suppress_warnings = [
    "misc.highlighting_failure",  # `…` stands for the lines around an excerpt
    "myst.header",  # generated pages skip levels
    "toc.not_included",  # pages for developers are linked to, not listed
]

html_theme = "furo"
html_extra_path = ["site"]  # index.html of the site leads to root_doc
html_copy_source = False
html_theme_options = {"footer_icons": []}
