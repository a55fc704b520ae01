"""The documentation as a site, from the Markdown of this folder: `sphinx-build -W docs site`."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import api_pages  # noqa: E402  # beside this file

project = "kgtrec"
version = release = version_of("kgtrec")
author = "The kgtrec developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["README.md"]  # which index.md includes

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

autodoc_typehints = "none"  # docstrings tell types and shapes
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"kgtrec {version}"
html_favicon = "../kgtrec/serve/static/icon.svg"
html_show_copyright = False
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

_LINK = re.compile(r"^\| \[([^\]]*)\]\(([\w./-]+)\.(?:md|ipynb)\) \|", re.MULTILINE)


def index(app: Sphinx, name: str, source: list[str]) -> None:
    """Give the front page the contents of the site: a part for each heading of README.md, with its pages."""
    if name != "index":
        return
    parts = re.split(r"^## (.*)\n", (DOCS / "README.md").read_text(), flags=re.MULTILINE)[1:]
    for caption, text in zip(parts[::2], parts[1::2], strict=True):
        if pages := _LINK.findall(text):
            listed = "\n".join(f"{title} <{page}>" for title, page in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n"


def docstrings(app: Sphinx, name: str, source: list[str]) -> None:
    """Give the pages of the public names their docstrings."""
    if name == "api/kgtrec":
        subjects = "\n".join(api_pages.PAGES[1:])
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{subjects}\n```\n"
    if name.startswith("api/"):
        own = name.removeprefix("api/")
        source[0] = re.sub(r"^\| `(\w+)` \|", rf"| {{py:obj}}`\1 <{own}.\1>` |", source[0], flags=re.MULTILINE)
        source[0] += f"\n```{{eval-rst}}\n{api_pages.reference(own)}```\n"


def public_name(app: Sphinx, env: Any, node: Any, shown: nodes.Element) -> nodes.Element | None:
    """Link what a docstring calls by its module, or by its name alone, to the page of the public name."""
    if node.get("refdomain") != "py":
        return None
    domain, last = env.get_domain("py"), node["reftarget"].rpartition(".")[2]
    for page in api_pages.PAGES:
        name = f"{page}.{last}"
        if last in api_pages.names_of(page) and name in domain.objects:
            entry = domain.objects[name]
            return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, shown, name)
    return None


def links(app: Sphinx, name: str, source: list[str]) -> None:
    """Links that show a file name show the title of the page; those to pages outside of the site become their text."""
    source[0] = re.sub(r"\[([\w.-]+\.md)\]\(\1", r"[](\1", source[0])
    source[0] = re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\.md\)", r"\1", source[0])


def math_as_mathml(translator: Any, node: nodes.Element) -> None:
    """Formulas as MathML, which browsers show without a script from elsewhere."""
    shown = tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block))
    translator.body.append(f'<div class="math">{shown}</div>' if isinstance(node, nodes.math_block) else shown)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    for change in (index, docstrings, links):
        app.connect("source-read", change)
    app.connect("missing-reference", public_name)
    app.add_html_math_renderer("mathml", (math_as_mathml, None), (math_as_mathml, None))
