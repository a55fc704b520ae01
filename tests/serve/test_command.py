"""kgtrec campaign serve, as far as no browser is needed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kgtrec.cli import main
from kgtrec.cli.demo_steps import write_demo_campaign
from kgtrec.errors import KgtrecError
from kgtrec.formats.campaign.folder import read_campaign, read_people
from kgtrec.formats.output.folders import PEOPLE
from kgtrec.serve import run as run_module
from kgtrec.serve.run import serve
from tests.campaign_folders import folder_of
from tests.serve.conftest import URL, Page, campaign_with_roles


def test_a_new_link_works_at_once_and_the_former_is_out(page: Page, capsys: pytest.CaptureFixture[str]):
    """The server that runs needs to be told nothing."""
    former = page.link_of("ann")
    main(["campaign", "serve", str(page.folder), "--new-link", "ann", "--url", f"{URL}/"])
    link = capsys.readouterr().out.strip()
    assert re.fullmatch(re.escape(URL) + r"/in/[\w-]{43}", link)
    browser = page.browser()
    assert browser.get(former).status_code == 403
    assert browser.get(link.removeprefix(URL)).status_code == 200


def test_each_of_several_people_gets_a_new_link(page: Page, capsys: pytest.CaptureFixture[str]):
    """Once, in their order; and nobody where one of them takes no part."""
    former = page.link_of("ann")
    words = ["campaign", "serve", str(page.folder), "--url", URL, "--new-link", "ann", "--new-link", "bob"]
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--new-link", "gone"])
    assert page.browser().get(former).status_code == 200
    capsys.readouterr()
    main([*words, "--new-link", "ann"])
    links = capsys.readouterr().out.split()
    assert len(links) == 2
    assert page.browser().get(former).status_code == 403
    names = [page.browser().get(link.removeprefix(URL)).status_code for link in links]
    assert names == [200, 200]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--new-link", "anne", "--url", URL], "somebody who takes part, found 'anne'; did you mean ann?"),
        (["--new-link", "gone", "--url", URL], "expected somebody who takes part, found 'gone'"),
        (["--new-link", "ann"], "expected --url URL, since the page was not served yet"),
        (["--new-link", "ann", "--url", URL, "--port", "0"], "found --port with --new-link; leave it out"),
    ],
)
def test_a_link_for_nobody_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], words, message):
    """And nobody's is made, nor a file for one."""
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    before = sorted(folder.iterdir())
    with pytest.raises(SystemExit, match="2"):
        main(["campaign", "serve", str(folder), *words])
    assert message in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


def test_the_links_are_printed_once(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    """One for each person with a role; the second time it is told how to get a new one."""
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    monkeypatch.setattr(run_module, "create_server", lambda *_, **__: Silent())
    main(["campaign", "serve", str(folder), "--port", "0"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": http://127.0.0.1:")[0] for line in lines] == [
        "ann (annotator)",
        "bob (annotator)",
        "eve (adjudicator)",
        "ivy (expert)",
        "max (manager)",
    ]
    main(["campaign", "serve", str(folder), "--port", "0"])
    again = capsys.readouterr()
    assert again.out == ""
    assert "links are made already; for a new one: kgtrec campaign serve" in again.err


def test_who_starts_a_campaign_that_nobody_manages_is_told_how(tmp_path: Path, monkeypatch, capsys):
    """The next start prints the manager's link."""
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    (folder / PEOPLE).write_text((folder / PEOPLE).read_text().replace("max\tmanager\tyes", "max\tmanager\tno"))
    monkeypatch.setattr(run_module, "create_server", lambda *_, **__: Silent())
    main(["campaign", "serve", str(folder), "--port", "0"])
    assert (
        f"nobody manages it; for a dashboard: kgtrec campaign init {folder} --manager NAME" in capsys.readouterr().err
    )
    main(["campaign", "init", str(folder), "--manager", "mia"])
    main(["campaign", "serve", str(folder), "--port", "0"])
    captured = capsys.readouterr()
    assert "mia (manager): http://127.0.0.1:" in captured.out
    assert "nobody manages it" not in captured.err


class Silent:
    """A server that nobody asks anything."""

    def run(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"host": "0.0.0.0"}, "expected --url with --host 0.0.0.0"),  # noqa: S104
        ({"host": "192.0.2.1"}, "192.0.2.1:0: cannot be listened on"),
        ({"url": "judge.example.org"}, "expected an address such as https://judge.example.org"),
    ],
)
def test_a_server_that_nobody_could_reach_is_refused(tmp_path: Path, options, message):
    """Before anything is served."""
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    with pytest.raises(KgtrecError, match=re.escape(message)):
        serve(folder, port=0, **options)


def test_a_port_that_is_taken_is_told(tmp_path: Path):
    """With the way out."""
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    taken = run_module._listening("127.0.0.1", 0)
    with taken, pytest.raises(KgtrecError, match=r"in use\); choose another one with --host and --port"):
        serve(folder, port=taken.getsockname()[1])


def test_without_its_packages_the_command_says_what_to_install(page: Page, monkeypatch, capsys):
    """And kgtrec goes on without them."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "markdown_it" else found(name))
    with pytest.raises(SystemExit, match="2"):
        main(["campaign", "serve", str(page.folder)])
    expected = 'error: expected markdown-it-py for the page; pip install "kgtrec[serve]" (in a clone ".[serve]")\n'
    assert capsys.readouterr().err == expected


def test_the_help_imports_no_web_framework():
    """Only a page that is served needs one."""
    code = (
        "import sys\nfrom kgtrec.cli import main\n"
        "for words in (['--help'], ['campaign', '--help'], ['campaign', 'serve', '--help']):\n    main(words)\n"
        "assert not {'flask', 'waitress', 'markdown_it', 'itsdangerous'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_campaign_of_the_demo_waits_for_its_people(tmp_path: Path):
    """Two annotators, an adjudicator, an expert and a manager; everything assigned, nothing judged."""
    write_demo_campaign(tmp_path / "campaign")
    campaign = read_campaign(tmp_path / "campaign")
    assert list(campaign.people.names) == ["annotator-1", "annotator-2", "adjudicator", "expert", "manager"]
    assert len(campaign.judgements) == 0
    open_triples = int((~campaign.automatic.is_automatic).sum())
    assert len(campaign.assignments) == 2 * open_triples > 0


def test_a_manager_is_one_of_the_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Who judges nothing: no verdict of a manager is taken in."""
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    main(["campaign", "init", str(folder), "--manager", "mia"])
    assert "mia is now manager" in capsys.readouterr().err
    assert "mia\tmanager\tyes" in (folder / PEOPLE).read_text()
    assert read_people(folder / PEOPLE).role[-1] == 3
    (tmp_path / "mia.csv").write_text("task,head,relation,tail,verdict\n1,paris,@near,de,unsure\n")
    with pytest.raises(SystemExit, match="2"):
        main(["campaign", "import", str(folder), str(tmp_path / "mia.csv"), "--person", "mia"])
    assert "expected an annotator, found 'mia', who is a manager" in capsys.readouterr().err
