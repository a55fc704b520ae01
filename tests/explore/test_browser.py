"""The page of `kgtrec explore` in a real browser. Needs Debian's chromium and chromium-driver, or the like."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from tests.accessibility import violations_in_every_look
from tests.explore.made import HOSTILE, SYSTEMS, made
from tests.program import kgtrec
from tests.report.test_browser import OVERFLOWING, opened, requests, started

pytestmark = pytest.mark.slow
VIEWS = {
    "overview": "",
    "pair": f"a=rescal&b={quote(SYSTEMS[2])}",
    "question": f"q=tail12&also={quote(HOSTILE)}",
    "labels": "labels&m=P%408",
    "find": "find&least=2",
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Headless Chromium with an empty profile."""
    found = started(tmp_path_factory.mktemp("profile"))
    found.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    yield found
    found.quit()


@pytest.fixture(scope="module")
def world() -> dict[str, Any]:
    """Made-up numbers and their page, with labels that try to break out of it."""
    return made()


@pytest.fixture(scope="module")
def address(world: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page as a file, opened as a person would."""
    path = tmp_path_factory.mktemp("explore") / "explore.html"
    path.write_text(world["html"], encoding="utf-8")
    return path.as_uri()


def until(browser: Any, condition: str, *values: object) -> Any:
    """What a script returns, once that is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 20).until(lambda own: own.execute_script(f"return {condition}", *values))


def view_of(browser: Any, address: str, state: str = "", width: int = 1280, **looks: Any) -> Any:
    """A view, loaded anew."""
    browser.get("about:blank")  # else another fragment alone would not load the page again
    opened(browser, f"{address}#{state}", width, **looks)
    until(browser, "document.getElementById('heading')")
    return browser


def goes_to(browser: Any, state: str) -> str:
    """Another view of the page that is open; its title."""
    browser.execute_script("window.before = document.getElementById('heading'); location.hash = arguments[0]", state)
    until(browser, "document.getElementById('heading') !== window.before")
    return browser.execute_script("return document.getElementById('heading').textContent")


def rows_of(browser: Any, title: str) -> list[list[str]]:
    """The texts of the cells of a table."""
    return browser.execute_script(
        """const table = [...document.querySelectorAll("main table")].find((each) => each.ariaLabel === arguments[0]);
           return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));""",
        title,
    )


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def test_every_view_opens_without_a_request_and_without_an_error(browser: Any, address: str):
    """One request, for the page; an empty console; nothing that the policy forbids; labels of HTML are text."""
    for name, state in VIEWS.items():
        view_of(browser, address, state)
        assert {each.split("#")[0] for each in requests(browser)} <= {address, "about:blank"}, name
        assert browser.get_log("browser") == [], name
        assert browser.execute_script("return window.seen") == {"alerts": 0, "forbidden": []}, name
        assert HOSTILE in browser.execute_script("return document.body.innerText"), name
        assert browser.execute_script("return document.querySelectorAll('main script').length") == 0


def test_no_view_has_a_violation_of_accessibility(browser: Any, address: str):
    """Light and dark, on a desktop and a phone, with all details open."""
    for name, state in VIEWS.items():
        view_of(browser, address, state)
        browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
        assert violations_in_every_look(browser) == {}, name


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_is_wider_than_a_phone(browser: Any, address: str, width: int):
    """Wide tables scroll in boxes that a keyboard reaches."""
    for name, state in VIEWS.items():
        view_of(browser, address, state, width, phone=True)
        assert browser.execute_script("return document.documentElement.scrollWidth") == width, name
        assert browser.execute_script(OVERFLOWING, width) == [], name
        boxes = browser.execute_script("return [...document.querySelectorAll('.scroll')].map((box) => box.tabIndex)")
        assert boxes
        assert set(boxes) == {0}


def test_a_new_view_is_announced_and_the_back_button_returns(browser: Any, address: str):
    """The heading has the focus, the live region and the title of the window say which view it is."""
    view_of(browser, address)
    first = browser.execute_script("return document.activeElement === document.body")
    assert first  # nothing takes the focus from a reader who has just opened the page
    for state in list(VIEWS.values())[1:]:
        title = goes_to(browser, state)
        assert browser.execute_script("return document.activeElement.textContent") == title
        assert browser.execute_script("return document.getElementById('said').textContent") == title
        assert browser.title.startswith(title)
    browser.back()
    until(browser, "document.getElementById('heading').textContent.startsWith('judged instead of')")
    browser.back()
    until(browser, "document.querySelector('.lists')")


def test_an_address_that_names_nothing_says_so(browser: Any, address: str):
    """An unknown question and an unknown system are named; the page stays usable."""
    view_of(browser, address, "q=tail99999")
    assert "There is no question tail99999" in browser.execute_script("return document.body.innerText")
    view_of(browser, address, "a=nobody&b=rescal&m=%E0%A4%A")
    text = browser.execute_script("return document.querySelector('main').innerText")
    assert "a=nobody; here are rescal" in text
    assert browser.get_log("browser") == []


def test_the_numbers_of_a_pair_are_those_of_its_questions(browser: Any, world: dict[str, Any], address: str):
    """Values, differences and influences, digit for digit; in order of influence; the groups of differences add up."""
    view_of(browser, address, VIEWS["pair"])
    a, b = world["values"][0, 0, 0], world["values"][0, 0, 2]
    order = np.argsort(-np.abs(a - b), kind="stable")[:10]
    rows = rows_of(browser, "The questions that make the difference")[1:]
    assert len(rows) == 10
    for row, place in zip(rows, order, strict=True):
        assert row[0].endswith(f" {world['ids'][place]}")
        assert row[1:3] == [f"{a[place]:.4f}", f"{b[place]:.4f}"]
        assert row[3] == f"{a[place] - b[place]:+.4f}".replace("-", "\N{MINUS SIGN}")
        assert row[4] == f"{(a[place] - b[place]) / 600:+.5f}".replace("-", "\N{MINUS SIGN}")
    browser.execute_script("document.querySelector('figure details').open = true")
    bins = rows_of(browser, "Differences per question")[1:]
    assert sum(int(row[2]) for row in bins) == (a != b).sum()
    for low, high, n in bins:
        low, high = (float(each.replace("\N{MINUS SIGN}", "-")) for each in (low, high))
        d = a - b
        inside = (d > low - 1e-9) & (d < high - 1e-9) if high <= 0 else (d > low + 1e-9) & (d < high + 1e-9)
        assert inside.sum() == int(n)


def test_a_bar_leads_to_its_questions(browser: Any, address: str):
    """The search finds as many as the bar has, also beside 0, where ties are left out."""
    view_of(browser, address, VIEWS["pair"])
    browser.execute_script("document.querySelector('figure details').open = true")
    bins = browser.execute_script(
        "const rows = [...document.querySelectorAll('figure details tbody tr')];"
        "return rows.map((row) => [row.querySelector('a').hash, row.cells[2].textContent])"
    )
    assert len(bins) > 10
    for state, n in bins:
        goes_to(browser, state)
        titles = browser.execute_script(
            "return [...document.querySelectorAll('main h3')].map((each) => each.textContent)"
        )
        assert f"{n} question{'s' * (n != '1')} found" in titles, state


def test_a_pair_the_other_way_round_has_the_opposite_difference(browser: Any, address: str):
    """The values change sides, what remains its sign; the sentence stays."""
    read = "return [...document.querySelectorAll('main > div > p')].map((each) => each.textContent)"
    view_of(browser, address, VIEWS["pair"])
    there = browser.execute_script(read)
    goes_to(browser, f"a={quote(SYSTEMS[2])}&b=rescal")
    back = browser.execute_script(read)
    assert back[0] == there[0]
    assert "rescal has a higher value on 388 questions (0.0947 of the mean in all)" in there[1]
    assert "rescal on 388 questions (0.0947 of the mean in all)" in back[1]
    assert "What remains is +0.0408" in there[1]
    assert "What remains is \N{MINUS SIGN}0.0408" in back[1]


def test_dots_are_chosen_by_keyboard(browser: Any, world: dict[str, Any], address: str):
    """Arrows move through the questions in order of influence, and Enter opens one."""
    from selenium.webdriver.common.keys import Keys

    view_of(browser, address, VIEWS["pair"])
    a, b = world["values"][0, 0, 0], world["values"][0, 0, 2]
    second = world["ids"][np.argsort(-np.abs(a - b), kind="stable")[1]]
    browser.execute_script("document.querySelector('.dots').focus()")
    press(browser, Keys.END, Keys.HOME, Keys.ARROW_RIGHT)
    assert browser.execute_script("return document.querySelector('.dots').ariaValueText").startswith("2 of 600: ")
    press(browser, Keys.ENTER)
    until(browser, "document.querySelector('.lists')")
    assert f"q={second}&" in browser.execute_script("return location.hash")


def test_a_click_on_a_dot_chooses_its_question(browser: Any, address: str):
    """The most influential of those in its place; all of them are one click away."""
    view_of(browser, address, VIEWS["pair"])
    browser.execute_script("""
        const dots = [...document.querySelectorAll("circle[data-dot]")];
        const largest = dots.sort((x, y) => y.r.baseVal.value - x.r.baseVal.value)[0];
        largest.dispatchEvent(new MouseEvent("click", {bubbles: true}));
    """)
    links = browser.execute_script(
        "return [...document.querySelectorAll('.chosen a')].map((a) => [a.textContent, a.hash])"
    )
    assert len(links) == 2
    n = links[1][0].split()[1]
    assert n != "1"
    goes_to(browser, links[1][1])
    assert f"{n} questions found" in browser.execute_script("return document.querySelector('main').innerText")


def test_tables_sort_over_all_of_their_pages(browser: Any, world: dict[str, Any], address: str):
    """Not only the rows that are shown; Enter on a heading sorts as a click does, and it is said."""
    from selenium.webdriver.common.keys import Keys

    view_of(browser, address, VIEWS["pair"])
    browser.execute_script("document.querySelectorAll('table[aria-label^=\"The questions\"] thead button')[1].focus()")
    press(browser, Keys.ENTER)
    best = np.sort(world["values"][0, 0, 0])[::-1][:10]
    title = "The questions that make the difference"
    assert [row[1] for row in rows_of(browser, title)[1:]] == [f"{value:.4f}" for value in best]
    assert (
        browser.execute_script("return document.getElementById('said').textContent") == "sorted by rescal, descending"
    )
    browser.execute_script("document.querySelector('.pages button:last-child').click()")
    assert [row[1] for row in rows_of(browser, title)[1:]] == [
        f"{value:.4f}" for value in np.sort(world["values"][0, 0, 0])[::-1][10:20]
    ]


def test_lists_of_a_question_are_linked(browser: Any, address: str):
    """The focus on a candidate marks it in every list; ties are joined; each status has a mark and a word."""
    view_of(browser, address, VIEWS["question"])
    marked = browser.execute_script("""
        const rows = [...document.querySelectorAll(".list tr[data-entity]")];
        const same = (row) => rows.filter((other) => other.dataset.entity === row.dataset.entity);
        const twice = rows.find((row) => same(row).length > 1);
        twice.querySelector("a").focus();
        return [...document.querySelectorAll("tr.linked")].map((row) => row.dataset.entity);
    """)
    assert len(marked) > 1
    assert len(set(marked)) == 1
    assert browser.execute_script("return document.querySelectorAll('td.tied').length") > 1
    words = browser.execute_script(
        "return [...document.querySelectorAll('.list .status')].map((each) => each.innerText)"
    )
    assert all(word[0] in "○★✓✗?▪▫" and len(word) > 5 for word in words)


def test_values_of_a_question_under_each_label_set(browser: Any, world: dict[str, Any], address: str):
    """The table has the value of each measure, label set and system."""
    view_of(browser, address, "q=tail12&a=rescal")
    row = world["ids"].index("tail12")
    found = [cells[2] for cells in rows_of(browser, "What each label set makes of it")[1:]]
    assert found == [f"{world['values'][label, measure, 0, row]:.4f}" for measure in range(2) for label in range(2)]


def test_search_finds_by_words_groups_and_values(browser: Any, world: dict[str, Any], address: str):
    """Filters combine, and the address keeps them."""
    view_of(browser, address, "find")

    def count() -> str:
        titles = browser.execute_script(
            "return [...document.querySelectorAll('main h3')].map((each) => each.textContent)"
        )
        return next(title for title in titles if title.endswith("found"))

    assert count() == "600 questions found"
    field = browser.find_element("id", "find-text")
    field.send_keys("CAPITAL of")
    browser.find_element("id", "find-a0").send_keys("0.3")
    until(browser, "/text=CAPITAL\\+of&a0=0.3/.test(location.hash)")
    state = browser.execute_script("return location.hash.slice(1)")
    first = count()
    assert 0 < int(first.split()[0]) < 200
    view_of(browser, address, state)
    assert count() == first
    assert browser.execute_script("return document.getElementById('find-text').value") == "CAPITAL of"


def test_the_candidates_to_judge_next_are_saved(browser: Any, world: dict[str, Any], address: str, tmp_path: Path):
    """Those unjudged at rank 1 of two systems, as a run; the command that goes on is shown."""
    view_of(browser, address, VIEWS["find"])
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.execute_script(
        "[...document.querySelectorAll('button')].find((each) => /^Save/.test(each.textContent)).click()"
    )
    command = until(browser, "document.querySelector('pre') && document.querySelector('pre').textContent")
    wanted = {
        (question, f"/m/{entity:04x}" if entity > 1 else (HOSTILE, "=1+1")[entity], str(n))
        for question, tops in world["candidates"].items()
        for entity, n in tops.items()
        if n > 1
    }
    path, deadline = tmp_path / "unjudged.run", time.monotonic() + 20
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    assert {(question, entity, n) for question, _, entity, _, n, _ in lines} == wanted
    assert command.startswith("kgtrec pool made-up unjudged.run --depth ")


def test_what_a_label_set_changes(browser: Any, world: dict[str, Any], address: str):
    """Questions by how far their value changes, and the candidates that have another label."""
    view_of(browser, address, "labels&m=P%408&a=rescal")
    change = world["values"][1, 1, 0] - world["values"][0, 1, 0]
    first = rows_of(browser, "Questions whose value changes most: rescal")[1]
    assert first[3] == f"{change[np.nanargmax(np.abs(change))]:+.4f}".replace("-", "\N{MINUS SIGN}")
    assert until(browser, "/place \\d/.test(document.querySelector('td.long').textContent)")
    assert HOSTILE in browser.execute_script("return document.querySelector('main li').textContent")


def test_a_label_set_is_not_compared_with_itself(browser: Any, world: dict[str, Any], address: str):
    """The link of the overview leads to the second label set, and a copied address names the set."""
    view_of(browser, address)
    browser.execute_script("[...document.querySelectorAll('#views a')].at(-1).click()")
    first, second = (each["name"] for each in world["data"]["labels"][:2])
    assert until(browser, "document.querySelector('#heading').textContent.includes(' instead of ')")
    assert browser.title.startswith(f"{second} instead of {first}")
    assert f"l={quote(first).replace('%20', '+')}" in browser.current_url
    assert browser.execute_script("return document.querySelector('#bar-l').options.length") == 1


def test_a_measure_without_values_links_to_those_with(browser: Any, world: dict[str, Any], tmp_path: Path):
    """Nothing is drawn, and no difference is claimed."""
    parts, data = world["html"].split('<script type="application/json" id="explore">'), dict(world["data"])
    blank = [{"text": "-", "interval": "", "letters": ""}] * len(data["systems"])
    data |= {"scores": [data["scores"][0], [blank, *data["scores"][1][1:]]]}
    data |= {"pairs": [each for each in data["pairs"] if (each["label"], each["measure"]) != (1, 0)]}
    text = json.dumps(data).replace("<", "\\u003c")
    page = tmp_path / "page.html"
    page.write_text(
        f'{parts[0]}<script type="application/json" id="explore">{text}{parts[1][parts[1].index("</script>") :]}'
    )
    for state in ("labels", f"a=rescal&b={quote(SYSTEMS[2])}&l={quote(data['labels'][1]['name'])}"):
        view_of(browser, page.as_uri(), state)
        assert "micro.MRR has no value under" in browser.find_element("css selector", "main .steps").text
        assert not browser.find_elements("css selector", "main table")
        assert browser.find_element("css selector", "main .steps a").text == data["measures"][1]["name"]


def test_scores_can_be_read_without_scripts(browser: Any, address: str):
    """And a sentence says what is missing."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(browser, address)
        browser.execute_cdp_cmd("DOM.enable", {})
        root = browser.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]
        tables = browser.execute_cdp_cmd(
            "DOM.querySelectorAll", {"nodeId": root, "selector": "main table td.number-cell"}
        )
        said = browser.execute_cdp_cmd("DOM.querySelector", {"nodeId": root, "selector": "noscript p"})
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert len(tables["nodeIds"]) == 2 * 2 * len(SYSTEMS)
    assert said["nodeId"]


def test_a_browser_that_cannot_unpack_is_given_words(browser: Any, address: str):
    """The scores stay, with the versions that can."""
    browser.get("about:blank")
    added = browser.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": "delete window.DecompressionStream;"}
    )
    try:
        opened(browser, address)
        text = browser.execute_script("return document.querySelector('main').innerText")
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    assert "This browser cannot unpack" in text
    assert "Scores: judged" in text


def test_a_view_prints(browser: Any, address: str):
    """Nothing that paper cannot do, and nothing cut off."""
    for name, state in VIEWS.items():
        view_of(browser, address, state, 720, media="print")
        shown = (
            "return [...document.querySelectorAll('nav, #bar, .pages, .search')].filter((each) => each.offsetParent)"
        )
        assert browser.execute_script(shown) == [], name
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 720, name
        printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
        assert printed.startswith(b"%PDF")


def test_the_page_shows_the_numbers_of_evaluate_and_compare(browser: Any, tmp_path: Path):
    """On real ranks of a small collection: scores, differences, sides and values, digit for digit, out of the page."""
    cities = Path(__file__).parents[2] / "examples" / "cities"
    folder, ranks, measures = tmp_path / "C", tmp_path / "ranks", "micro.MRR micro.Hits@1"
    kgtrec("questions", cities, "--out", folder)
    kgtrec("rank", folder, "--baseline", "all", "--out", ranks)
    kgtrec("explore", folder, ranks, "-m", measures, "--out", tmp_path / "page.html")
    own = [ranks / f"{name}.ranks.parquet" for name in ("rules", "svd")]
    kgtrec(
        "evaluate", folder, *sorted(ranks.glob("*.ranks.parquet")), "-m", measures, "--out", tmp_path / "scores.json"
    )
    kgtrec("meta", "compare", folder, *own, "-m", measures, "--top", "40", "--out", tmp_path / "compared.json")
    view_of(browser, (tmp_path / "page.html").as_uri())
    head, *rows = rows_of(browser, "Scores: test answers")
    shown = {(row[0], measure): text[:6] for row in rows for measure, text in zip(head[1:], row[1:], strict=True)}
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert shown == {(each["system"], each["measure"]): f"{each['value']:.4f}" for each in scores}
    goes_to(browser, "find&least=1")
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.execute_script(
        "[...document.querySelectorAll('button')].find((each) => /^Save/.test(each.textContent)).click()"
    )
    command = until(browser, "document.querySelector('pre') && document.querySelector('pre').textContent").split()
    deadline = time.monotonic() + 20
    while not ((tmp_path / "unjudged.run").exists() and (tmp_path / "unjudged.run").stat().st_size):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    given = {"COLLECTION": folder, "unjudged.run": tmp_path / "unjudged.run", "campaign": tmp_path / "campaign"}
    kgtrec(*(given.get(word, word) for word in command[1:]))
    n = len((tmp_path / "unjudged.run").read_text().splitlines())
    assert len((tmp_path / "campaign" / "pool.tsv").read_text().splitlines()) == 1 + n  # and a header
    goes_to(browser, "a=rules&b=svd&m=micro.MRR")
    compared = json.loads((tmp_path / "compared.json").read_text())
    (whole,) = (each for each in compared["measures"] if each["measure"] == "micro.MRR")
    text = browser.execute_script("return document.querySelector('main').innerText")
    assert f"+{whole['difference']:.4f}" in text
    sides = [each for each in compared["side"] if each["measure"] == "micro.MRR"]
    for row, side in zip(rows_of(browser, "By side")[1:], sides, strict=True):
        n = str(side["n_items"])
        numbers = [f"{side['first']:.4f}", f"{side['second']:.4f}", f"+{side['difference']:.4f}"]
        assert [row[0], *row[1:5], *row[7:]] == [side["side"], n, *numbers, str(side["wins"]), str(side["losses"])]
    values = {row[0].split()[-1]: row[1:3] for row in rows_of(browser, "The questions that make the difference")[1:]}
    assert len(values) == 10
    by_question = {each["question"]: each for each in compared["questions"] if each["measure"] == "micro.MRR"}
    for question, found in values.items():
        each = by_question[question]
        assert found == [f"{each['first']:.4f}", f"{each['second']:.4f}"]
