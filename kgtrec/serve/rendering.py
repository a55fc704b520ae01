"""How text becomes HTML, on the server's pages and in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt

from kgtrec.campaign.verdict_rules import wrong_link

if TYPE_CHECKING:
    from jinja2 import Environment


def prepare(environment: Environment) -> None:
    """Give an environment what all templates rely on; ``ROOT`` stands before the address of every page."""
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.globals["ROOT"] = ""
    environment.tests["link"] = lambda text: bool(text) and not wrong_link(text, ())


def markdown(text: str) -> str:
    """Markdown as HTML; HTML in it stays text, pictures are left out, links open elsewhere and tell nothing.

    Examples
    --------
    >>> print(markdown("<b>see</b> [here](https://example.org) or [there](javascript:alert)"))
    <p>&lt;b&gt;see&lt;/b&gt; <a href="https://example.org" rel="noreferrer noopener" target="_blank">here</a> or \
[there](javascript:alert)</p>
    <BLANKLINE>
    """
    return str(_MARKDOWN.render(text))


def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

    def link_open(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        tokens[place].attrSet("rel", "noreferrer noopener")
        tokens[place].attrSet("target", "_blank")
        return str(self.renderToken(tokens, place, options, env))

    made.add_render_rule("link_open", link_open)
    return made


_MARKDOWN = _renderer()
