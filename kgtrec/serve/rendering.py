"""How text becomes HTML, on the server's pages and in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from kgtrec.campaign.verdict_rules import wrong_link

if TYPE_CHECKING:
    from jinja2 import Environment

#: signs that turn the direction of what follows, and how they are shown instead
_TURNING = {sign: f"[U+{sign:04X}]" for sign in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def prepare(environment: Environment) -> None:
    """Give an environment what all templates rely on; ``ROOT`` stands before the address of every page."""
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.globals["ROOT"] = ""
    environment.filters |= {"visible": visible, "isolated": isolated}
    environment.tests["link"] = lambda text: bool(text) and not wrong_link(text, ())


def visible(text: str) -> str:
    """Show the signs of a text that would turn the direction of reading, as judge.js does.

    Examples
    --------
    >>> visible("ann\u202esirap"), visible("\u05e4\u05e8\u05d9\u05d6") == "\u05e4\u05e8\u05d9\u05d6"
    ('ann[U+202E]sirap', True)
    """
    return text if text.isascii() else text.translate(_TURNING)


def isolated(text: str) -> Markup:
    """Turn somebody's text into HTML that is visible and has no effect on the direction of what is around it.

    Examples
    --------
    >>> print(isolated("<b>"))
    <bdi>&lt;b&gt;</bdi>
    """
    return Markup("<bdi>{}</bdi>").format(visible(text))


def markdown(text: str) -> str:
    """Turn Markdown into HTML; HTML in it stays text, pictures are left out, tables scroll, links open elsewhere.

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
    scroll = '<div class="scroll" role="region" aria-label="Table" tabindex="0">'
    made.add_render_rule("table_open", lambda *_: f"{scroll}<table>\n")
    made.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return made


_MARKDOWN = _renderer()
