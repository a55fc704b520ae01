"""Phrases that must not come back, each with the better wording, in code, help and documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# a pattern, and what to write instead
PHRASES = {
    r"\btells?\b|\btold\b": "say, show, report, detect, distinguish, or depend on",
    r"\bfound yourself\b": "You cannot ... yourself",
    r"\bnobody's matter\b|\bno matter of\b": "ignored",
    r"\bhow[- ]many(eth|th)\b": "1-based position",
    r"\bas the how\b": "1-based position",
    r"\bnone of its (file|kind)\b": "malformed",
    r"\bwhat stands below the line\b": "the denominator",
    r"\bhangs? on\b": "depends on",
    r"\bthat answer for people\b": "recorded qrels to replay",
    r"\bHold the numbers\b": "Find impossible or doubtful numbers",
    r"\bhopeless\b": "retrying cannot help",
    r"\bgold no more\b": "no longer gold",
    r"\b\w+n't\b": "write both words out",
    r"\bbut for\b": "except, or without",
    r"\bin the place of\b": "instead of",
    r"\bof (ours|yours)\b": "our, your, or of kgtrec",
    r"\bfits? the memory\b": "fit in memory",
    r"\bgiven? (it )?again\b": "repeat the command, or continue",
    r"\bre-made\b": "reproduced",
    r"\bpage (where|on which) people judge\b|\bpage to judge on\b": "annotation page",
    r"\b(the )?whole of it\b": "all of it, or complete",
    r"\btwenty seconds of\b": "a recording of 20 seconds",
}
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *(ROOT / "docs").glob("*.md")]
KINDS = ".py", ".html", ".jinja", ".js", ".md"
TEXTS = [*PAGES, *(path for path in sorted((ROOT / "kgtrec").rglob("*")) if path.suffix in KINDS)]


@pytest.mark.parametrize("phrase", PHRASES)
def test_what_is_written_is_plain(phrase: str):
    """No module, template or page has the phrase; the message names the places and the better wording."""
    pattern = re.compile(phrase, re.IGNORECASE)
    places = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert not places, "\n".join([f"write instead: {PHRASES[phrase]}", *places])
