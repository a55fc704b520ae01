"""Numbers in hand-written prose: replayed in a session, in a file that the page links, or in ``numbers.tsv``."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERATED = "cli.md", "measures.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in GENERATED)
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]*)[^)]*\)")
# what is no claim: code, comments, headings, formulas, targets of links; then levels, versions, sources
NO_CLAIM = re.compile(
    r"^ *```.*?^ *```$|<!--.*?-->|`[^`]*`|\$\$.*?\$\$|\$[^$\n]+(?:\n[^$\n]+)?\$|^#.*?$|\]\([^)]*\)"
    r"|(?<![\d.])9?5%|p < \.\d+|arXiv[: ][\d.]+|issue \d+|\b(?:18|19|20)\d\d\b(?![,.]\d)"
    r"|\d+\.\d+\.\d+|\b(?:PyKEEN|trec_eval|torch|Python) \d+(?:\.\d+)?(?:(?:,| and| or) 3\.\d+)*",
    re.MULTILINE | re.DOTALL,
)
# not within a name (FB15k-237, AP@20, x86-64)
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
        if "." in found[1] or int(found[1].replace(",", "")) > 12:
            yield found.start(), found[1] + ("%" if found[2] is not None else "")


@functools.cache
def _values(text: str, pattern: re.Pattern[str] = VALUE) -> Values:
    return frozenset(float(found.replace(",", "").replace("_", "")) for found in pattern.findall(text))


@functools.cache
def _rounded(values: Values, digits: int) -> frozenset[str]:
    """Every value as it can be printed with so many digits, with ties both ways."""
    return frozenset(f"{value + tie:.{digits}f}" for value in values for tie in (-1e-9, 1e-9))


def _holds(values: Values, number: str) -> bool:
    """Whether one of the values rounds to the number, as it is or as a percentage."""
    shown = number.replace(",", "").strip("%")
    digits = len(shown.partition(".")[2])
    if digits == 0 and not number.endswith("%"):
        return float(shown) in values
    if number.endswith("%") and f"{float(shown) / 100:.{digits + 2}f}" in _rounded(values, digits + 2):
        return True
    return f"{float(shown):.{digits}f}" in _rounded(values, digits)


@functools.cache
def _shown(page: Path) -> tuple[Values, ...]:
    """The values of a page's sessions, and those of each table and text that it links."""
    text = page.read_text()
    sessions = [found[2] for found in FENCED.finditer(text) if re.search(r"^ *(\$|>>>) ", found[2], re.MULTILINE)]
    files = sorted({page.parent / target for target in LINK.findall(text) if target.endswith((".csv", ".txt"))})
    values = [_values(path.read_text(), VALUE_OF_CSV if path.suffix == ".csv" else VALUE) for path in files]
    return (_values("\n".join(sessions)), *values)


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
    """Whether evidence exists: a test that has the number or reads the page, code that has it, a command, a source."""
    kind, _, what = evidence.partition(": ")
    path = ROOT / what.split("::")[0].split()[0]
    if kind == "source":
        return re.search(r"\b(19|20)\d\d\b", what) is not None
    if kind == "arithmetic":
        return _holds(frozenset([float(eval(what, {"sqrt": math.sqrt}))]), number)  # noqa: S307  # the table is ours
    if kind == "example":
        return True
    if not path.exists():
        return False
    if kind == "command":
        return True
    text = path.read_text()
    if kind == "test":
        return f"def {what.split('::')[1]}(" in text and (Path(page).name in text or _holds(_values(text), number))
    return kind == "definition" and _holds(_values(text), number)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_number_has_evidence(page: Path):
    """A number in prose is in a session or linked file of its page, of a page that its paragraph links, or in a row."""
    text = page.read_text()
    without = [
        f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, place) + 1}: {number}"
        for place, number in _numbers(text)
        if not _has_evidence(page, number, _paragraph(text, place))
    ]
    assert not without, "\n".join(["add a session, a file, or a row of tests/numbers.tsv:", *without])


def test_every_row_is_needed_and_leads_to_its_evidence():
    """The table has no number that its page lacks, and no evidence that is missing or says something else."""
    wrong = []
    for (name, number), evidence in _rows().items():
        page = ROOT / name
        if number not in {found for _, found in _numbers(page.read_text())}:
            wrong.append(f"{name}: {number}: the page has no such number")
        if not _supports(evidence, number, name):
            wrong.append(f"{name}: {number}: not shown by: {evidence}")
    assert not wrong, "\n".join(wrong)
