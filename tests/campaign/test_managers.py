"""A manager looks after a campaign and judges nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.assign import assign
from kgtrec.campaign.track import track
from kgtrec.cli import main
from kgtrec.data.campaign import MANAGER, PERSON_ROLES, Assignments
from kgtrec.data.judgements import ROLES
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.folder import read_people, write_people
from tests.campaign_folders import folder_of, people_of, pool_folder
from tests.campaigns_by_hand import campaign_of
from tests.judged_pools import judgements_of

PEOPLE = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("max", "manager", True))


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main(["campaign", *arguments])
    assert left.value.code == 2
    return capsys.readouterr().err


@given(
    st.lists(
        st.tuples(st.sampled_from(["ann", "max"]), st.sampled_from(PERSON_ROLES), st.booleans()),
        unique_by=lambda row: row[:2],
        max_size=8,
    )
)
def test_nobody_manages_and_judges_at_a_time(tmp_path_factory: pytest.TempPathFactory, rows):
    """A file that says so is refused, at the manager's line; one may have left either before the other."""
    folder = tmp_path_factory.mktemp("people")
    write_people(folder, people_of(*rows))
    active = {(name, role) for name, role, is_active in rows if is_active}
    both = [
        name for name in ("ann", "max") if (name, "manager") in active and any((name, role) in active for role in ROLES)
    ]
    if not both:
        assert len(read_people(folder / "people.tsv")) == len(rows)
        return
    with pytest.raises(FormatError, match="expected a manager, who sees all verdicts, to judge nothing") as caught:
        read_people(folder / "people.tsv")
    named = rows[caught.value.line - 2]
    assert named[1] == "manager"
    assert named[0] in both


@pytest.mark.parametrize("role", ["annotator", "expert"])
def test_verdicts_of_a_manager_are_refused(role: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """By import and by adjudicate."""
    folder = folder_of(replace(campaign_of(), people=PEOPLE), tmp_path / "campaign")
    tasks = tmp_path / "max.csv"
    tasks.write_text("task,head,relation,tail,verdict\n2,de,capital,'=lyon,unsure\n")
    message = refused(["import", str(folder), str(tasks), "--person", "max", "--role", role], capsys)
    assert f"expected an {role}, found 'max', who is a manager; a manager judges nothing" in message
    message = refused(["adjudicate", str(folder), "--import", str(tasks), "--person", "max"], capsys)
    assert "expected an adjudicator, found 'max', who is a manager; a manager judges nothing" in message
    assert (folder / "judgements.jsonl").read_bytes() == b""


def test_a_manager_is_given_nothing():
    made = replace(campaign_of(), people=PEOPLE)
    names = PEOPLE.names
    assigned = assign(made.pool, made.automatic, PEOPLE, judgements_of([]), Assignments.none(names))
    assert set(names.decode(assigned.annotator).to_pylist()) == {"ann", "bob"}
    assert track(replace(made, assignments=assigned)).managers == ("max",)


def test_init_names_managers_and_status_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = str(pool_folder(tmp_path / "campaign"))
    main(["campaign", "init", folder, "--annotator", "ann", "--annotator", "bob", "--manager", "max"])
    assert "max is now manager" in capsys.readouterr().err
    main(["campaign", "status", folder])
    assert "\nmanaged by max\n" in capsys.readouterr().out
    before = (tmp_path / "campaign" / "people.tsv").read_bytes()
    message = refused(["init", folder, "--manager", "ann"], capsys)
    assert "expected a manager, who sees all verdicts, to judge nothing, found 'ann' active in another role" in message
    assert (tmp_path / "campaign" / "people.tsv").read_bytes() == before
    main(["campaign", "init", folder, "--left", "max"])
    main(["campaign", "status", folder])
    assert "managed by" not in capsys.readouterr().out


def test_roles_of_events_are_those_of_people_but_the_managers():
    """So a role's code means the same in people.tsv and in judgements.jsonl."""
    assert PERSON_ROLES[:MANAGER] == ROLES
    assert PERSON_ROLES[MANAGER] == "manager"
