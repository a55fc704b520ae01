"""The copy of axe-core that tests use, and whether it finds what is wrong with a page."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.accessibility import AXE, looks, violations, violations_in_every_look
from tests.report.test_browser import browser  # noqa: F401  # one fixture for all pages

PAGE = """<!doctype html><html{lang}><head><meta charset="utf-8"><title>Page</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
</head><body><main><h1>Page</h1><p>Text.</p></main></body></html>"""


def test_the_copy_of_axe_core_is_the_one_that_its_readme_names():
    """Unmodified, with its licence beside it."""
    named = re.search("`([0-9a-f]{64})`", (AXE.parent / "README.md").read_text())
    assert named
    assert hashlib.sha256(AXE.read_bytes()).hexdigest() == named[1]
    assert "Mozilla Public License" in (AXE.parent / "LICENSE").read_text()
    assert (AXE.parent / "LICENSE-3RD-PARTY.txt").exists()


@pytest.mark.slow
def test_what_is_wrong_is_found_under_a_policy_that_forbids_scripts(browser: Any, tmp_path: Path):  # noqa: F811
    """A page without a language, in each look; one with it is in order; the policy stays in force."""
    for lang, rules in (("", ["html-has-lang"]), (' lang="en"', [])):
        path = tmp_path / f"page{len(rules)}.html"
        path.write_text(PAGE.format(lang=lang))
        browser.get(path.as_uri())
        assert [each.partition(" | ")[0] for each in violations(browser)] == rules
        browser.execute_script(
            "document.body.append(Object.assign(document.createElement('script'), {text: 'seen.alerts = 1'}))"
        )
        assert browser.execute_script("return seen") == {"alerts": 0, "forbidden": ["script-src-elem"]}
        assert len(violations_in_every_look(browser)) == (4 if rules else 0)


@pytest.mark.slow
def test_a_page_is_shown_light_and_dark_on_a_desktop_and_a_phone(browser: Any, tmp_path: Path):  # noqa: F811
    """By what the page itself can tell."""
    path = tmp_path / "page.html"
    path.write_text(
        PAGE.format(lang=' lang="en"').replace("<title>", '<meta name="viewport" content="width=device-width"><title>')
    )
    browser.get(path.as_uri())
    told = "return [matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light', innerWidth].join(' ')"
    assert [(look, browser.execute_script(told)) for look in looks(browser)] == [
        (look, look) for look in ("light 1280", "dark 1280", "light 390", "dark 390")
    ]
