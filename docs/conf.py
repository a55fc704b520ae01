"""The documentation as a site, from the Markdown of this folder: `sphinx-build -W docs site`."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
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

html_static_path = ["_static"]
html_css_files = ["site.css"]

#: page -> words of a search that it answers first; all stand in the index of the site, too
KEYWORDS = {
    "install": ("install", "installation", "pip"),
    "neighbours": ("trec_eval", "ranx", "PyTerrier", "LibKGE"),
    "systems": ("PyKEEN", "TorchKGE", "AnyBURL", "DGL-KE", "checkpoint"),
    "data-sets": ("data set", "dataset", "FB15k-237", "WN18RR"),
    "other-questions": ("inductive", "temporal", "complex query"),
    "sampled-candidates": ("sampled negatives", "negative sampling", "50 negatives", "sampled"),
    "training-seeds": ("training seed", "seed"),
    "check-paper": ("published table",),
    "micro-macro": ("MRR", "mean reciprocal rank", "MR", "Hits@k", "Hits@10", "MAP", "AP", "nDCG", "tie", "ties"),
    "chance": ("AMRI", "AMRR", "adjusted for chance", "chance"),
    "intervals": ("confidence interval", "interval", "bootstrap", "weight"),
    "measures": ("measure", "metric", "Bpref", "infAP", "RBP"),
    "pooling": ("pool", "pooling", "depth"),
    "campaigns": ("campaign", "annotation"),
    "serve": ("annotation page", "annotator"),
    "label-studio": ("Label Studio",),
    "agreement": ("kappa", "inter-annotator agreement", "adjudication"),
    "machine-verdicts": ("LLM", "LLM as a judge", "language model"),
    "qrels": ("qrels", "test collection"),
    "comparing": (
        "p-value",
        "significance",
        "t-test",
        "tau",
        "Kendall's tau",
        "correlation",
        "stability",
        "power",
        "discriminative power",
    ),
    "open-world": ("open world", "missing fact", "missing label"),
    "explore": ("explore",),
    "study": ("study", "report"),
    "files": ("file format", "run file", "TREC run"),
    "speed": ("benchmark", "speed"),
    "cli": ("command line", "CLI"),
    "licence": ("licence", "license", "citation", "cite", "how to cite", "BibTeX"),
    "changelog": ("changelog", "release notes"),
    "contributing": ("contributing", "tests"),
}
#: file of the repository -> its page
OUTSIDE = {
    "README.md": "index.md",
    "docs/README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "licence.md",
    "CITATION.cff": "licence.md",
}
PROJECT = ("licence", "changelog", "contributing")  # pages that the contents need not list: they show files beside docs
_LISTED = re.compile(r"^(?:\|\s*|[-*] +)\[[^\]]*\]\(([\w./-]+)\.(?:md|ipynb)(?:#[\w-]+)?\)", re.MULTILINE)
_INCLUDED = re.compile(r"^```\{include\} (\S+)\n```\n", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def included(app: Sphinx, name: str, source: list[str]) -> None:
    """Files of the repository that a page includes, their links as from this folder."""

    def text_of(found: re.Match[str]) -> str:
        path = (DOCS / found[1]).resolve()
        text = path.read_text(encoding="utf-8")
        return text if path.parent == DOCS.resolve() else _LINK.sub(r"[\1](../\2\3)", text)

    source[0] = _INCLUDED.sub(text_of, source[0])


def index(app: Sphinx, name: str, source: list[str]) -> None:
    """Give the front page the contents of the site: a part for each heading of README.md, with its pages.

    Each stands under its own heading.
    """
    if name != "index":
        return
    parts = re.split(r"^## (.*)\n", (DOCS / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    contents = dict(zip(parts[::2], map(_LISTED.findall, parts[1::2]), strict=True))
    listed: set[str] = set()
    for caption, pages in (contents | {"The project": list(PROJECT)}).items():
        new = [page for page in dict.fromkeys(pages) if page not in listed]
        listed.update(new)
        if new:
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(new) + "\n```\n"


def keywords(app: Sphinx, name: str, source: list[str]) -> None:
    """Index entries below the heading of a page, which a search shows before other pages."""
    if name in KEYWORDS:
        entries = ", ".join(f"! {word}" for word in KEYWORDS[name])
        source[0] = re.sub(r"^# .*\n", rf"\g<0>\n```{{index}} {entries}\n```\n", source[0], count=1, flags=re.MULTILINE)


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
    """Links that show a file name show the title of the page; those to files outside of the site become their text."""

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        path = os.path.relpath(DOCS / Path(name).parent / target, DOCS.parent)
        if path in OUTSIDE:
            page = os.path.relpath(OUTSIDE[path], Path(name).parent)
            return f"[{text}]({page}{anchor if OUTSIDE[path] != 'index.md' else ''})"
        if path.startswith(f"docs{os.sep}"):
            page = os.path.relpath(path, Path("docs") / Path(name).parent)
            return f"[{'' if text == target else text}]({page}{anchor})"
        return text

    source[0] = _LINK.sub(link, source[0])


def recordings(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Links to recordings show them: a link for downloading would not."""
    for node in list(tree.findall(addnodes.download_reference)):
        if node["reftarget"].endswith(".webp") and "filename" in node:
            path = f"{'../' * name.count('/')}_downloads/{node['filename']}"
            node.replace_self(nodes.reference("", "", *node.children, refuri=path, internal=True))


def math_as_mathml(translator: Any, node: nodes.Element) -> None:
    """Formulas as MathML, which browsers show without a script from elsewhere."""
    shown = tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block))
    translator.body.append(f'<div class="math">{shown}</div>' if isinstance(node, nodes.math_block) else shown)
    raise nodes.SkipNode


def outdated(app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Every page: some include other files, and Sphinx forgets the index entries of a page that it does not read."""
    return sorted(env.found_docs)


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("env-get-outdated", outdated)
    for change in (included, index, docstrings, links, keywords):
        app.connect("source-read", change)
    app.connect("missing-reference", public_name)
    app.connect("doctree-resolved", recordings)
    app.add_html_math_renderer("mathml", (math_as_mathml, None), (math_as_mathml, None))
