from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.assign import assign
from kgtrec.data.campaign import Assignments, People
from kgtrec.data.judgements import ROLES
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.folder import (
    default_guidelines,
    is_initialised,
    read_assignments,
    read_campaign,
    read_names,
    read_people,
    read_sources,
    read_templates,
    read_text,
    require_initialised,
    write_assignments,
    write_names,
    write_people,
    write_sources,
    write_templates,
)
from tests.campaign_folders import people_of as people_with_roles
from tests.campaign_folders import pool_folder, say_in
from tests.judged_pools import judgements_of, pool_of

LABEL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\0"), min_size=1).filter(str.strip)
PERSON = LABEL.map(str.strip)
HEADERS = {
    "people.tsv": "person\trole\tactive\n",
    "templates.tsv": "relation\ttemplate\n",
    "names.tsv": "entity\tname\n",
    "assignments.tsv": "annotator\ttask\thead\trelation\ttail\n",
}


def initialised(folder: Path) -> Path:
    pool_folder(folder)
    for name, header in HEADERS.items():
        (folder / name).write_text(header)
    (folder / "people.tsv").write_text(HEADERS["people.tsv"] + "ann\tannotator\tyes\nbob\tannotator\tno\n")
    (folder / "sources.txt").write_text("# none yet\n")
    (folder / "judgements.jsonl").write_text("")
    return folder


def refused(path: Path, text: str | bytes) -> str:
    """What the reader of the file says of this content below the header."""
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(HEADERS.get(path.name, "").encode() + data)
    two = Vocabulary.of(["e0", "e1"])
    readers = {
        "people.tsv": read_people,
        "templates.tsv": read_templates,
        "sources.txt": read_sources,
        "names.tsv": lambda path: read_names(path, two),
        "assignments.tsv": lambda path: read_assignments(path, pool_of([2]), people_of("ann", "bob")),
    }
    with pytest.raises(FormatError) as error:
        readers[path.name](path)
    message = str(error.value)
    assert "\n" not in message
    return message.removeprefix(str(path.parent) + "/")


def people_of(*names: str) -> People:
    return people_with_roles(*((name, "annotator", True) for name in names))


def test_a_pool_alone_is_a_campaign_of_nobody(tmp_path: Path):
    """Qrels and diagnostics need no more; whoever does says what to run."""
    folder = pool_folder(tmp_path / "c")
    campaign = read_campaign(folder)
    assert len(campaign.pool) == 3
    assert [len(part) for part in (campaign.people, campaign.assignments, campaign.judgements)] == [0, 0, 0]
    assert campaign.templates == {}
    assert not is_initialised(folder)
    with pytest.raises(FormatError, match=r"found no people.tsv; run kgtrec campaign init first"):
        require_initialised(folder)
    with pytest.raises(FormatError, match=r"found no pool.tsv in it; run kgtrec pool first"):
        require_initialised(tmp_path)
    with pytest.raises(FormatError, match="kgtrec pool"):
        read_campaign(tmp_path)


def test_everything_in_the_folder_is_read(tmp_path: Path):
    """Names of entities and templates of relations that are not the pool's do no harm."""
    folder = initialised(tmp_path / "c")
    (folder / "templates.tsv").write_text(
        HEADERS["templates.tsv"] + "r0\tIs {head} in {tail}?\nother\t{tail} of {head}\n"
    )
    (folder / "names.tsv").write_text(HEADERS["names.tsv"] + "e2\tParis\nelsewhere\tRome\n")
    (folder / "sources.txt").write_text("Wikidata.org  # items\n\n")
    first = read_campaign(folder).pool.triples.labels_at(0)
    (folder / "assignments.tsv").write_text(HEADERS["assignments.tsv"] + "\t".join(["ann", "1", *first]) + "\n")
    say_in(folder, (0, "ann", "annotator", "unsure"))
    campaign = read_campaign(folder)
    require_initialised(folder)
    assert campaign.templates == {"r0": "Is {head} in {tail}?", "other": "{tail} of {head}"}
    assert campaign.names == {"e2": "Paris"}
    assert campaign.sources == ("wikidata.org",)
    assert list(campaign.people.names) == ["ann", "bob"]
    assert campaign.people.is_active.tolist() == [True, False]
    assert campaign.assignments.triple.tolist() == [0]
    assert campaign.judgements.verdict.tolist() == [2]
    assert campaign.settings["annotators_per_triple"] == 2


@pytest.mark.parametrize("name", ["templates.tsv", "sources.txt", "names.tsv", "judgements.jsonl"])
def test_a_file_that_went_missing_is_no_empty_one(tmp_path: Path, name: str):
    """Without sources.txt any link would pass, without judgements.jsonl all would seem open."""
    folder = initialised(tmp_path / "c")
    (folder / name).unlink()
    with pytest.raises(FormatError, match=name):
        read_campaign(folder)


def test_assignments_may_be_missing(tmp_path: Path):
    """They can be made again, and a new pool takes the old ones away."""
    folder = initialised(tmp_path / "c")
    (folder / "assignments.tsv").unlink()
    assert len(read_campaign(folder).assignments) == 0


@pytest.mark.parametrize(
    ("name", "value"), [("annotators_per_triple", 0), ("annotators_per_triple", "2"), ("seed", True)]
)
def test_settings_are_whole_numbers(tmp_path: Path, name: str, value: object):
    folder = pool_folder(tmp_path / "c")
    settings = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps({**settings, name: value}))
    with pytest.raises(FormatError, match=rf"campaign.json: expected {name} to be a whole number from \d on, found "):
        read_campaign(folder)


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("people.tsv", "ann\tannotator\n", 2, "expected 3 columns (person role active) separated by tabs, got 2"),
        ("people.tsv", "ann\t\tyes\n", 2, "expected 3 columns (person role active) separated by tabs, got an empty"),
        ("people.tsv", "ann\tanotator\tyes\n", 2, "did you mean annotator?"),
        ("people.tsv", "ann\tannotator\ttrue\n", 2, "expected yes or no as active, got 'true'"),
        ("people.tsv", "ann \tannotator\tyes\n", 2, "white space around it, got 'ann '"),
        ("people.tsv", "ann\texpert\tyes\n\nann\texpert\tno\n", 4, "found 'ann' as expert here and on line 2"),
        ("people.tsv", b"\xff\texpert\tyes\n", 2, "expected UTF-8 text"),
        ("people.tsv", "a\0\texpert\tyes\n", 2, "expected UTF-8 text, found a NUL byte"),
        ("templates.tsv", "r\tIs {head}?\n", 2, "expected a template with {head} and {tail}"),
        ("templates.tsv", "r\t{head} {tail}\nr\t{head} {tail}\n", 3, "found 'r' here and on line 2"),
        ("sources.txt", "en.wikipedia.org\nhttps://wikidata.org/\n", 2, "expected a host such as"),
        ("sources.txt", "org\n", 1, "expected a host"),
        ("sources.txt", "a.b/c\n", 1, "expected a host"),
        ("sources.txt", "a.org\n# two\nA.org # again\n", 3, "expected each host once, found 'a.org' here and on"),
        ("names.tsv", "x\t1\ne1\tParis\nx\t2\ne1\tRome\n", 5, "expected each entity once, found 'e1' here and on"),
        ("names.tsv", "e1 Paris\n", 2, "expected 2 columns (entity name) separated by tabs, got 1: 'e1 Paris'"),
        ("names.tsv", "e1\t\n", 2, "expected 2 columns (entity name) separated by tabs, got an empty one"),
        ("assignments.tsv", "eve\t1\te0\tr0\te1\n", 2, "expected a person of people.tsv, got 'eve'"),
        ("assignments.tsv", "ann\t0\te0\tr0\te1\n", 2, "expected a task number from 1 on, got '0'"),
        ("assignments.tsv", "ann\t3\te0\tr0\te1\n", 2, "expected a task of 1 to 2, got 3"),
        ("assignments.tsv", "ann\t1\te0\tr0\te2\n", 2, "expected the triple that is task 1 of pool.tsv, got another"),
        ("assignments.tsv", "ann\t1\te0\tr0\te1\nbob\t1\te0\tr0\te1\nann\t1\te0\tr0\te1\n", 4, "expected each task"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, name: str, text: str | bytes, line: int, message: str):
    """One line: where, what was expected, what was found."""
    said = refused(tmp_path / name, text)
    assert said.startswith(f"{name}:{line}: ")
    assert message in said


@pytest.mark.parametrize("name", [name for name in HEADERS if name != "names.tsv"])
@pytest.mark.parametrize("first", ["", "ann\tannotator\tyes\n", "person,role,active\n", "\n"])
def test_a_table_begins_with_its_header(tmp_path: Path, name: str, first: str):
    """Else its first line would be lost, or be taken for data."""
    (tmp_path / name).write_text(first)
    readers = {
        "people.tsv": read_people,
        "templates.tsv": read_templates,
        "assignments.tsv": lambda path: read_assignments(path, pool_of([2]), people_of("ann")),
    }
    with pytest.raises(FormatError, match=rf"{name}:1: expected the header line "):
        readers[name](tmp_path / name)


def test_files_may_come_from_windows(tmp_path: Path):
    """A byte-order mark, CRLF, blank lines and a missing last line end change nothing; neither do labels like NA."""
    (tmp_path / "people.tsv").write_bytes(b"\xef\xbb\xbfperson\trole\tactive\r\nNA\texpert\tyes\r\n\r\n007\texpert\tno")
    assert list(read_people(tmp_path / "people.tsv").names) == ["NA", "007"]
    (tmp_path / "names.tsv").write_bytes(b"\xef\xbb\xbfentity\tname\r\nnull\tNA\r\n\r\n\"x\t'y\r\n")
    assert read_names(tmp_path / "names.tsv", Vocabulary.of(['"x', "null"])) == {"null": "NA", '"x': "'y"}
    (tmp_path / "guidelines.md").write_bytes(b"\xef\xbb\xbf# Hello\r\n\r\nyou")
    assert read_text(tmp_path / "guidelines.md") == "# Hello\n\nyou\n"


def test_names_need_no_header(tmp_path: Path):
    """As in the files that come with many KGs."""
    (tmp_path / "names.tsv").write_text("e0\tParis\n")
    assert read_names(tmp_path / "names.tsv", Vocabulary.of(["e0"])) == {"e0": "Paris"}


def test_names_of_a_whole_kg(data: Path):
    """FB15k-237's: 14,000 and more lines, of which the two that are wanted are kept."""
    names = read_names(data / "fb15k-237" / "entity_names.tsv", Vocabulary.of(["/m/016ywr", "/m/06rf7", "nobody"]))
    assert names == {"/m/06rf7": "Schleswig-Holstein", "/m/016ywr": "Jeremy Irons"}


@given(st.dictionaries(LABEL, LABEL, max_size=5))
def test_names_come_back_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, names: dict[str, str]):
    folder = tmp_path_factory.mktemp("names")
    write_names(folder, names)
    assert read_names(folder / "names.tsv", Vocabulary.of(list(names))) == names


@given(st.lists(st.tuples(PERSON, st.integers(0, 2)), max_size=6, unique=True), st.data())
def test_people_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int]], data: st.DataObject
):
    folder = tmp_path_factory.mktemp("people")
    names, person = Vocabulary.encoding([name for name, _ in rows])
    active = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    write_people(folder, People(names, person, np.array([role for _, role in rows], np.int8), active))
    again = read_people(folder / "people.tsv")
    assert list(again.names) == list(names)
    for attribute, expected in (("person", person), ("role", [role for _, role in rows]), ("is_active", active)):
        assert getattr(again, attribute).tolist() == list(expected)
    assert (folder / "people.tsv").read_text().count("\n") == 1 + len(rows)
    assert all(f"\t{ROLES[role]}\t" in (folder / "people.tsv").read_text() for _, role in rows)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(0, 3))
def test_assignments_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], seed: int
):
    """In their order."""
    folder = pool_folder(tmp_path_factory.mktemp("assignments") / "c", (*sizes, 1))
    campaign = read_campaign(folder)
    people = people_of("ann", "bob", "eve")
    none = Assignments.none(people.names)
    assigned = assign(campaign.pool, campaign.automatic, people, judgements_of([]), none, seed=seed)
    write_assignments(folder, campaign.pool, assigned)
    again = read_assignments(folder / "assignments.tsv", campaign.pool, people)
    assert again.annotator.tolist() == assigned.annotator.tolist()
    assert again.triple.tolist() == assigned.triple.tolist()


def test_templates_and_sources_come_back(tmp_path: Path):
    """Comments are for people only."""
    templates = {"r\u00e9": "Is {head} {tail}?", "#r": "{tail} {head}"}
    write_templates(tmp_path, templates)
    assert read_templates(tmp_path / "templates.tsv") == templates
    write_sources(tmp_path, ["a.org", "b.c.org"])
    assert read_sources(tmp_path / "sources.txt") == ("a.org", "b.c.org")
    write_sources(tmp_path, [])
    assert read_sources(tmp_path / "sources.txt") == ()


def test_what_a_table_cannot_hold_is_refused(tmp_path: Path):
    """Before the file is touched."""
    write_names(tmp_path, {"a": "b"})
    for wrong in ("x\ty", "x\ny", ""):
        with pytest.raises(KgtrecError, match="without tabs and line breaks, not empty"):
            write_names(tmp_path, {"a": wrong})
    assert (tmp_path / "names.tsv").read_text() == "entity\tname\na\tb\n"


def test_the_default_guidelines_speak_of_every_verdict():
    """They fit any campaign, so they name no relation; annotators learn what Y, N and unsure mean."""
    text = default_guidelines()
    assert all(f"`{verdict}`" in text for verdict in ("Y", "N", "unsure"))
    assert len(text.split()) > 400
