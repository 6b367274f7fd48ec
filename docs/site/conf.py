"""Sphinx's configuration: see scripts/build-docs, which makes the pages of the C headers first."""

project = "Hocket"
author = "the Hocket authors"
extensions = ["sphinx.ext.autodoc"]
exclude_patterns = []
html_theme = "alabaster"
html_theme_options = {"description": "Asynchronous arrays and deep learning", "fixed_sidebar": True, "page_width": "1100px",
                      "font_family": "sans-serif"}
html_show_sourcelink = False
html_copy_source = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False, "imported-members": True}
suppress_warnings = ["ref.python"]


def setup(app):
    """Texts of docstrings are plain: no markup is looked for in them, but literal blocks behind '::'."""
    def plain(app, what, name, obj, options, lines):
        if lines and lines[0].endswith("::") and not any(line.startswith(" ") for line in lines):
            lines[1:] = ["   " + line for line in lines[1:]]  # all that follows was the block
        literal = False
        for i, line in enumerate(lines):
            literal = (literal and (not line.strip() or line.startswith(" "))) or False
            if not literal:
                lines[i] = line.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|").replace("_", "\\_") if "``" not in line else line
            literal = literal or line.rstrip().endswith("::")
    app.connect("autodoc-process-docstring", plain)
