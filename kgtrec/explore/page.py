"""The page: one HTML file that needs no network, with its data in slices."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from kgtrec.report.html import look, markup, source_hash, template


def to_page(data: Mapping[str, Any], slices: Iterable[tuple[str, bytes]]) -> str:
    """Return the page.

    Parameters
    ----------
    data : mapping
        What the page has at once; docs/explore.md describes it.
    slices : iterable of (str, bytes)
        What it unpacks when it is needed, by name.
    """
    from jinja2 import Environment, StrictUndefined

    style, script = look() + template("explore.css"), template("report.js") + template("explore.js")
    sources = f"style-src {source_hash(style)}; script-src {source_hash(script)}"
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return environment.from_string(template("explore.html")).render(
        page=data,
        policy=f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'",
        style=markup(style),
        script=markup(script),
        data=markup(text),
        slices=[(name, markup(base64.b64encode(own).decode())) for name, own in slices],
    )
