"""How Sphinx makes the site; the pages come from :mod:`docs.making.sources`."""

from bnmf_core.version import VERSION

project = "bnmf"
author = "the authors of bnmf"
project_copyright = author
version = release = VERSION
html_title = "See what your factorization hides"
html_short_title = "bnmf"

extensions = [
    "myst_parser",
    "sphinx_copybutton",
    "docs.making.formulas",
    "docs.making.pictures",
    "docs.making.figures",
]
myst_enable_extensions = ["dollarmath", "deflist"]
# Anchors of headings, as GitHub has them.
myst_heading_anchors = 4
myst_dmath_double_inline = True
exclude_patterns: list[str] = []

# Quotes and dashes are written as they are meant: two hyphens begin an option.
smartquotes = False

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path: list[str] = []
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
templates_path: list[str] = []
html_css_files = ["site.css"]
pygments_style, pygments_dark_style = "friendly", "native"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2B5F8A", "color-brand-content": "#2B5F8A"},
    "dark_css_variables": {"color-brand-primary": "#7FB5DE", "color-brand-content": "#7FB5DE"},
    "top_of_page_buttons": [],
}
# Prompts are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
