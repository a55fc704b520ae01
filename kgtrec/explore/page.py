"""The page: one HTML file that needs no network, with its data in slices."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from kgtrec.report.html import embedded, filled_page, markup, template


def to_page(data: Mapping[str, Any], slices: Iterable[tuple[str, bytes]]) -> str:
    """Return the page.

    Parameters
    ----------
    data : mapping
        What the page has at once; docs/explore.md describes it.
    slices : iterable of (str, bytes)
        What it unpacks when it is needed, by name.
    """
    packed = [(name, markup(base64.b64encode(own).decode())) for name, own in slices]
    script = template("report.js") + template("explore.js")
    return filled_page("explore", script, page=data, data=markup(embedded(data)), slices=packed)
