"""matplotlib's SVG as a page can hold it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from kgtrec.report.svg import inline, tidied

NAMES = "xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'"
SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
DRAWN = f"""<?xml version="1.0"?>
<svg {NAMES} width="9.123456pt" height="8pt" viewBox="0 0 9 8" version="1.1">
 <metadata><date>today</date></metadata>
 <defs><style type="text/css">*{{stroke-linejoin: round}}</style></defs>
 <g id="figure_1"><g>
  <defs><path id="m1" d="M 0.123456 -2 L 1e3
  5.55555" style="stroke: #000000; stroke-width: 0.123456"/></defs>
  <g clip-path="url(#p1)"><use xlink:href="#m1" x="1.98765" y="2" style="fill: #0072b2"/></g>
  <text style="font: bold 8.5px 'DejaVu Sans', serif; text-anchor: middle" transform="rotate(-0 1 2)">a &lt;b&gt;</text>
  <text style="font-size: 7px; font-family: serif" transform="rotate(-90 1.23456 2)">c</text>
 </g></g>
 <defs><clipPath id="p1"><rect x="0" y="0" width="9" height="8"/></clipPath></defs>
</svg>
"""


@pytest.fixture
def tree() -> ET.Element:
    return ET.fromstring(tidied(DRAWN, "figure-1", "Title & <more>", "What it shows"))  # noqa: S314 (from the text above)


def test_nothing_is_left_that_a_page_forbids_or_that_changes_from_day_to_day(tree: ET.Element):
    """Its content security policy knows no style attributes; matplotlib writes the date."""
    assert not [node for node in tree.iter() if "style" in node.attrib or node.tag in (f"{SVG}style", f"{SVG}metadata")]


def test_declarations_are_attributes(tree: ET.Element):
    """The shorthand for fonts is taken apart; the family is the whole picture's."""
    path, use = (next(tree.iter(f"{SVG}{tag}")).attrib for tag in ("path", "use"))
    assert (path["stroke"], path["stroke-width"], use["fill"]) == ("#000000", "0.12", "#0072b2")
    first, second = (node.attrib for node in tree.iter(f"{SVG}text"))
    assert first == {"font-size": "8.5", "font-weight": "bold", "text-anchor": "middle"}
    assert second == {"font-size": "7", "transform": "rotate(-90 1.23 2)"}


def test_ids_that_are_used_begin_with_the_key_and_others_go(tree: ET.Element):
    """So that two pictures on one page never share one."""
    names = [node.get("id") for node in tree.iter() if node.get("id")]
    assert names == ["figure-1-title", "figure-1-desc", "figure-1-0", "figure-1-1"]
    assert next(tree.iter(f"{SVG}use")).get(LINK) == "#figure-1-0"
    assert [node.get("clip-path") for node in tree.iter() if node.get("clip-path")] == ["url(#figure-1-1)"]


def test_numbers_have_two_decimals(tree: ET.Element):
    path, use = (next(tree.iter(f"{SVG}{tag}")).attrib for tag in ("path", "use"))
    assert (path["d"], use["x"], tree.get("width"), tree.get("height")) == (
        "M 0.12 -2 L 1e3 5.56",
        "1.99",
        "9.12pt",
        "8pt",
    )


def test_a_picture_has_a_name_and_a_description(tree: ET.Element):
    """Text of data, escaped as XML demands."""
    title, description = tree[0], tree[1]
    assert (title.tag, title.text) == (f"{SVG}title", "Title & <more>")
    assert (description.tag, description.text) == (f"{SVG}desc", "What it shows")
    assert tree.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert tree.get("role") == "img"
    assert [node.text for node in tree.iter(f"{SVG}text")] == ["a <b>", "c"]


def test_groups_that_say_nothing_go_and_what_is_in_them_stays_in_order(tree: ET.Element):
    assert [node.attrib for node in tree.iter(f"{SVG}g")] == [{"clip-path": "url(#figure-1-1)"}]
    tags = [node.tag.removeprefix(SVG) for node in tree]
    assert tags == ["title", "desc", "defs", "g", "text", "text", "defs"]  # that of the style is gone


def test_within_a_page_only_the_head_changes():
    """Neither names of XML nor a size, which the page sets; text that looks like them stays."""
    document = tidied(DRAWN.replace("a &lt;b&gt;", "width=&quot;1&quot;"), "k", "T", "D")
    page = inline(document)
    assert page.startswith("<svg ")
    head = page.partition(">")[0]
    assert "xmlns" not in head
    assert " width=" not in head
    assert ' viewBox="0 0 9 8"' in head
    assert 'width="1"' in page.partition(">")[2]
    assert 'href="#k-0"' in page
    assert "xlink:href" not in page
