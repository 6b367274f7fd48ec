"""Sphinx's configuration: see scripts/build-docs, which makes the pages of headers, documents, examples and notebooks first."""

project = "Hocket"
author = "the Hocket authors"
copyright = "the Hocket authors; Apache-2.0"
extensions = ["sphinx.ext.autodoc", "myst_parser", "sphinx_copybutton"]
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. ", True
copybutton_only_copy_prompt_lines = False
exclude_patterns = []
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Hocket"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"light_css_variables": {"color-brand-primary": "#3257c4", "color-brand-content": "#3257c4"},
                      "dark_css_variables": {"color-brand-primary": "#8fb0ff", "color-brand-content": "#8fb0ff"}}
pygments_style, pygments_dark_style = "friendly", "monokai"
highlight_language = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False, "imported-members": True}
suppress_warnings = ["ref.python", "myst.header"]


def _escaped(line):
    return line if "``" in line else line.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|").replace("_", "\\_")


def _plain(app, what, name, obj, options, lines):
    """Texts of docstrings are plain: no markup is looked for in them, but literal blocks behind '::', and examples behind '>>>'."""
    if lines and lines[0].endswith("::") and not any(line.startswith(" ") for line in lines):
        lines[1:] = ["   " + line for line in lines[1:]]  # all that follows was the block
    made, literal, example = [], False, False
    for line in lines:
        example = bool(line.strip()) and (example or line.startswith(">>> "))
        if example:
            if line.startswith(">>> "):
                made += ["", ".. code-block:: pycon", ""]
            made.append("   " + line)
            continue
        literal = literal and (not line.strip() or line.startswith(" "))
        made.append(line if literal else _escaped(line))
        literal = literal or line.rstrip().endswith("::")
    lines[:] = made


def setup(app):
    app.connect("autodoc-process-docstring", _plain)
