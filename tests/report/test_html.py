from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import urllib.parse
from html.parser import HTMLParser

import html5lib
import pyarrow as pa
import pytest

from kgtrec.data.table import Report, Section, Table
from kgtrec.formats.csv_text import guarded
from kgtrec.report import figures, html
from kgtrec.report.html import to_html
from tests.report.sample import HOSTILE, small_report


class Seen(HTMLParser):
    """Every start tag with its attributes, and the text of styles and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": []}
        self.inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside[-1] in self.raw:
            self.raw[self.inside[-1]].append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


def test_page_is_well_formed(page: str):
    """A strict parser, written by others, finds nothing to mend."""
    html5lib.HTMLParser(strict=True).parse(page)


def test_policy_allows_the_pages_own_style_and_script_and_nothing_else(page: str):
    """Their hashes are in the policy; there is one of each; no attribute carries either."""
    seen = Seen(page)
    (policy,) = [tag["content"] for tag in seen.all("meta") if tag.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "*" not in policy
    for kind in ("style", "script"):
        (text,) = seen.raw[kind]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    for _, attributes in seen.tags:
        assert not any(name == "style" or name.startswith("on") for name in attributes)


def test_page_refers_to_nothing_outside(page: str):
    """No address at all: links lead to the page's own places or hold their data."""
    assert not re.search(r"https?:|//[a-z]", page.replace("http-equiv", ""))
    seen = Seen(page)
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in seen.tags:
        assert "src" not in attributes
        assert tag not in {"img", "link", "iframe", "object", "embed", "form", "base", "image", "foreignobject"}
        href = attributes.get("href")
        if href is not None:
            assert href.startswith("data:text/csv") or href.removeprefix("#") in ids
        for name in ("aria-labelledby", "aria-describedby"):
            assert all(target in ids for target in (attributes.get(name) or "").split())


def test_what_comes_from_data_is_text_everywhere(page: str):
    """A script tag as title, heading, fact, label, measure, file name, command and citation."""
    assert page.count("<script>") == 1  # the page's own
    tree = html5lib.parse(page, namespaceHTMLElements=False)
    texts = "".join(tree.itertext())
    assert texts.count(HOSTILE) > 20


def _cell(value: str | float) -> str:
    return guarded(value) if isinstance(value, str) else str(value)


def test_data_of_every_figure_and_table_can_be_saved(page: str, report: Report):
    """Each link holds the data as CSV, number by number."""
    links = [link for link in Seen(page).all("a") if "download" in link]
    blocks = {f"{block.key}.csv": block for block in (*report.tables, *report.figures)}
    assert len(links) == len(report.tables) + len(report.figures)
    in_order = [
        block for section in report.sections for block in section.blocks if block in (*report.tables, *report.figures)
    ]
    for link, block in zip(links, in_order, strict=True):
        assert link["download"] in blocks
        head, _, data = (link["href"] or "").partition(",")
        assert head == "data:text/csv;charset=utf-8"
        rows = list(csv.DictReader(io.StringIO(urllib.parse.unquote(data, errors="strict"), newline="")))
        expected = [
            {name: "" if cell is None or cell != cell else _cell(cell) for name, cell in row.items()}
            for row in block.data.to_pylist()
        ]
        assert rows == expected


def test_what_a_reader_should_read_first_is_in_larger_type(page: str):
    assert '<p class="lead">The answer.</p>' in page
    assert page.count('class="lead"') == 1


def test_no_p_value_of_a_figure_is_shown_as_0():
    drawn = figures.p_value_curves(pa.table({"measure": ["RR"], "place": [1], "p": [1e-9]}))
    page = to_html(Report("R", (Section("a", "A", (drawn,)),)))
    assert '<span class="value">&lt;0.0001</span>' in page


@pytest.mark.parametrize(("label", "in_csv"), [("=1+1", "'=1+1"), ("a-b", "a-b")])
def test_labels_that_a_spreadsheet_would_run_are_guarded_in_the_data(label: str, in_csv: str):
    """They have an apostrophe before them in the CSV of the link, and stay as they are in the page."""
    page = to_html(Report("R", (Section("a", "A", (Table("t", "T", "", pa.table({"system": [label]})),)),)))
    data = urllib.parse.quote(f"system\n{in_csv}\n", safe="")
    assert f'href="data:text/csv;charset=utf-8,{data}"' in page
    assert label in page


def test_every_figure_has_a_caption_and_every_picture_a_name_and_a_description(page: str, report: Report):
    """As many as there are panels."""
    seen = Seen(page)
    pictures = [attributes for attributes in seen.all("svg") if attributes.get("role") == "img"]
    assert len(pictures) == len(seen.all("svg")) >= len(report.figures)
    assert all(len((picture["aria-labelledby"] or "").split()) == 2 for picture in pictures)
    assert len(seen.all("figure")) == len(seen.all("figcaption")) == len(report.figures)


def test_same_report_same_bytes():
    """Made anew from the same numbers."""
    assert to_html(small_report()) == to_html(small_report())


def test_a_report_of_nothing_is_a_page():
    """No section, no provenance, no citation, an empty table."""
    for sections in ((), (Section("a", "A", (Table("t", "T", "", pa.table({"x": pa.array([], pa.float64())})),)),)):
        page = to_html(Report("R", sections))
        html5lib.HTMLParser(strict=True).parse(page)
        assert "How to cite" not in page
        assert "Where the numbers came from" not in page
    assert "no rows" in page


def test_provenance_tells_versions_options_inputs_and_commands(page: str):
    """What it takes to compute the report again."""
    for text in ("0.1.0", "0123456789abcdef" * 4, "12,345", "kgtrec study &#39;", "Seeds and options", "How to cite"):
        assert text in page


def test_data_too_large_for_a_link_are_named_instead(monkeypatch: pytest.MonkeyPatch):
    """A browser would follow no such link; the file beside the page has them."""
    monkeypatch.setattr(html, "_LARGEST_LINK", 100)
    table = Table("big", "T", "", pa.table({"x": list(range(100))}))
    page = to_html(Report("R", (Section("a", "A", (table,)),)))
    assert "<code>tables/big.csv</code>" in page
    assert not [link for link in Seen(page).all("a") if "download" in link]


def test_signs_that_pages_cannot_hold_are_replaced():
    """NUL and escape sequences in a label, as in a title."""
    table = Table("t", "T\x00", "", pa.table({"system": ["a\x1b[1mb", "c\u202ed"]}))
    page = to_html(Report("R\x07", (Section("a", "A", (table,)),)))
    text = page.replace(urllib.parse.quote("\x1b"), "")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    html5lib.HTMLParser(strict=True).parse(page)


def _contrast(one: str, other: str) -> float:
    """Of two colours, 1 to 21, as the Web Content Accessibility Guidelines 2.1 define it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_stands_out_from_what_is_behind_it(page: str):
    """At least 4.5 to 1, by day and by night; the names of lines too."""
    from kgtrec.report.drawing import _INK, _SOFT, _WORDS

    for block in re.findall(r":root \{(.*?)\}", page, re.DOTALL)[:2]:
        colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
        for front in ("ink", "soft", "accent"):
            for back in ("paper", "page", "stripe", "accent-soft"):
                assert _contrast(colours[front], colours[back]) >= 4.5, (front, back)
    assert all(_contrast(colour, "#ffffff") >= 4.5 for colour in (*_WORDS, _INK, _SOFT))
