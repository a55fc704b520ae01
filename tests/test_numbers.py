"""Numbers in hand-written prose: replayed in a session, in a file that the page links, or in ``numbers.tsv``."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERATED = {"cli.md", "measures.md"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^ *```(?:console|python)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]*)[^)]*\)")
# what is no claim: code, comments, formulas, headings, targets of links; then levels, sources, versions
NO_CLAIM = re.compile(
    r"^ *```.*?^ *```$|<!--.*?-->|`[^`]*`|\$\$.*?\$\$|\$[^$\n]+(?:\n[^$\n]+)?\$|^#.*?$|\]\([^)]*\)"
    r"|(?<![\d.])9?5%|p < \.\d+|arXiv[: ][\d.]+|issue \d+|\b(?:18|19|20)\d\d\b(?![,.]\d)"
    r"|\d+\.\d+\.\d+|\b(?:PyKEEN|trec_eval|torch|Python) \d+\.\d+(?:(?:,| and| or) 3\.\d+)*",
    re.MULTILINE | re.DOTALL,
)
# not within a name (FB15k-237, AP@20, x86-64); in "6 to 9%" both are percentages
NUMBER = re.compile(
    r"(?<![\w@.,^#])(?<!\w-)((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)x?(?![\w-]|[.,]\d)"
    r"(%|(?= (?:to|and|or) [\d.]+%))?"
)
VALUE = re.compile(r"(?:(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?")
VALUE_OF_CSV = re.compile(r"\d*\.?\d+(?:e[-+]?\d+)?")
Values = frozenset[float]


def _numbers(text: str) -> Iterator[tuple[int, str]]:
    """Each number of a page that claims something, and where it begins; small counts do not."""
    text = NO_CLAIM.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in NUMBER.finditer(text):
        number = found[1] + ("" if found[2] is None else "%")
        if "." in number or number.endswith("%") or int(number.replace(",", "")) > 12:
            yield found.start(), number


@functools.cache
def _values(text: str, pattern: re.Pattern[str] = VALUE) -> Values:
    return frozenset(float(found.replace(",", "").replace("_", "")) for found in pattern.findall(text))


@functools.cache
def _rounded(values: Values, digits: int) -> frozenset[str]:
    """Every value as it can be printed with so many digits, with ties both ways."""
    return frozenset(f"{value + tie:.{digits}f}" for value in values for tie in (-1e-9, 1e-9))


def _holds(values: Values, number: str) -> bool:
    """Whether one of the values is a whole number, or rounds to another, as it is or as a percentage."""
    shown = number.replace(",", "").strip("%")
    digits = len(shown.partition(".")[2])
    if number.endswith("%") and f"{float(shown) / 100:.{digits + 2}f}" in _rounded(values, digits + 2):
        return True
    is_whole = digits == 0 and not number.endswith("%")
    return float(shown) in values if is_whole else f"{float(shown):.{digits}f}" in _rounded(values, digits)


@functools.cache
def _shown(page: Path) -> list[Values]:
    """The values of a page's sessions, and those of each table and text that it links."""
    text = page.read_text()
    sessions = [block for block in FENCED.findall(text) if re.search(r"^ *(\$|>>>) ", block, re.MULTILINE)]
    files = [page.parent / target for target in LINK.findall(text) if target.endswith((".csv", ".txt"))]
    tables = [_values(path.read_text(), VALUE_OF_CSV if path.suffix == ".csv" else VALUE) for path in files]
    return [_values("\n".join(sessions)), *tables]


@functools.cache
def _rows() -> dict[tuple[str, str], str]:
    """The evidence of each page and number in the table, whose rows are page, numbers, evidence."""
    rows = [line.split("\t") for line in (ROOT / "tests" / "numbers.tsv").read_text().splitlines()[1:]]
    return {(page, number): evidence for page, numbers, evidence in rows for number in numbers.split()}


def _paragraph(text: str, place: int) -> str:
    """What is between blank lines around a place, or its row of a table."""
    limit = "\n" if text.startswith("|", text.rfind("\n", 0, place) + 1) else "\n\n"
    return text[text.rfind(limit, 0, place) + 1 :].lstrip("\n").partition(limit)[0]


def _has_evidence(page: Path, number: str, paragraph: str) -> bool:
    """Here, in a page that the paragraph links, or by the command of a row that is about what the command prints."""
    linked = [(page.parent / target).resolve() for target in LINK.findall(paragraph) if target.endswith(".md")]
    commands = re.findall(r"python (benchmarks/\w+\.py)", paragraph) if paragraph.startswith("|") else []
    return any((ROOT / command).exists() for command in commands) or any(
        (str(place.relative_to(ROOT)), number) in _rows() or any(_holds(values, number) for values in _shown(place))
        for place in [page, *linked]
    )


def _supports(evidence: str, number: str, page: str) -> bool:
    """Whether there is such a test, which has the number or reads the page; file with it; command; source."""
    kind, _, what = evidence.partition(": ")
    if kind in ("source", "example"):
        return kind == "example" or re.search(r"\b(19|20)\d\d\b", what) is not None
    if kind == "arithmetic":
        return _holds(frozenset([float(eval(what, {"sqrt": math.sqrt}))]), number)  # noqa: S307  # the table is ours
    path, _, test = what.partition("::")
    file = ROOT / path.split()[0]
    if kind == "command":
        return file.exists()
    text = file.read_text() if file.is_file() else ""
    is_held = _holds(_values(text), number) or (kind == "test" and Path(page).name in text)
    return kind in ("test", "definition") and is_held and (kind != "test" or f"def {test}(" in text)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in GENERATED], ids=lambda page: page.stem)
def test_every_number_has_evidence(page: Path):
    """A number in prose is in a session or linked file of its page, of a page that its paragraph links, or in a row."""
    name, text = page.relative_to(ROOT), page.read_text()
    found = [(text.count("\n", 0, at) + 1, number, _paragraph(text, at)) for at, number in _numbers(text)]
    without = [f"{name}:{line}: {number}" for line, number, near in found if not _has_evidence(page, number, near)]
    assert not without, "\n".join(["add a session, a file, or a row of tests/numbers.tsv:", *without])


@pytest.mark.parametrize("page", sorted({page for page, _ in _rows()}))
def test_every_row_is_needed_and_leads_to_its_evidence(page: str):
    """The table has no number that its page lacks, and no evidence that is missing or says something else."""
    rows = {number: evidence for (name, number), evidence in _rows().items() if name == page}
    assert sorted(set(rows) - {number for _, number in _numbers((ROOT / page).read_text())}) == []
    assert [(number, what) for number, what in rows.items() if not _supports(what, number, page)] == []
