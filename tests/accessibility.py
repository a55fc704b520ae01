"""Whether everybody can use a page: the rules of axe-core, on the page as a browser shows it.

A page's policy forbids inline scripts, and stays in force: what a driver executes is not part of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

AXE = Path(__file__).parent / "axe" / "axe.min.js"
SCHEMES, WIDTHS = ("light", "dark"), (1280, 390)
_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
    (found) => done(found.violations.flatMap((rule) => rule.nodes.map((node) => {
        const why = [...node.any, ...node.all, ...node.none].map((each) => each.message);
        return [rule.id, rule.impact, node.target.join(" "), why.join("; ")].join(" | ");
    }))),
    (error) => done([String(error)]));
"""


def violations(browser: Any) -> list[str]:
    """What is wrong with the page that a browser shows: rule, impact, element and reason of each violation."""
    if not browser.execute_script("return typeof axe === 'object'"):
        browser.execute_script(AXE.read_text(encoding="utf-8"))
    found: list[str] = browser.execute_async_script(_RUN)
    return found


def looks(browser: Any) -> Iterator[str]:
    """Show a page light and dark, on a desktop and on a phone; the name of each."""
    try:
        for width in WIDTHS:
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            for scheme in SCHEMES:
                features = [{"name": "prefers-color-scheme", "value": scheme}]
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
                yield f"{scheme} {width}"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def violations_in_every_look(browser: Any) -> dict[str, list[str]]:
    """The violations by look; empty where there are none."""
    found = {look: violations(browser) for look in looks(browser)}
    return {look: each for look, each in found.items() if each}
