"""A campaign's tasks into a real Label Studio server, judged over its API, and back, each verdict checked.

Run with: KGTREC_LABEL_STUDIO=path/to/label-studio python -m pytest -m label_studio tests/label_studio
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kgtrec.campaign.accept import accept
from kgtrec.cli import main
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.folder import (
    read_campaign,
    write_assignments,
    write_names,
    write_people,
    write_sources,
    write_templates,
)
from kgtrec.formats.campaign.label_studio import read_label_studio, read_users
from kgtrec.formats.campaign.pools import write_pool
from tests.campaigns_by_hand import campaign_of
from tests.label_studio.server import Account, result, running

NOW = "2026-11-21T20:00:00Z"
LINK = "https://en.wikipedia.org/wiki/Paris"
FORMULA = '=HYPERLINK("https://example.org";"x") <script>alert(1)</script>'

pytestmark = pytest.mark.label_studio


@pytest.fixture
def campaign_folder(tmp_path: Path) -> Path:
    """A campaign of six triples, all of them assigned to ann and bob."""
    campaign = campaign_of()
    folder = tmp_path / "campaign"
    write_pool(folder, campaign.pool, campaign.known_answers)
    (folder / "guidelines.md").write_text("Judge.\n")
    write_templates(folder, campaign.templates)
    write_sources(folder, campaign.sources)
    write_names(folder, campaign.names)
    write_assignments(folder, campaign.pool, campaign.assignments)
    (folder / "judgements.jsonl").write_text("")
    write_people(folder, campaign.people)
    return folder


def test_round_trip(campaign_folder: Path, tmp_path: Path):
    """Label Studio stores whatever it is sent; what is wrong with it is refused here, by task and annotation."""
    main(
        [
            "campaign",
            "export",
            str(campaign_folder),
            "--format",
            "label-studio",
            "--out",
            str(tmp_path / "project"),
            "--guidelines",
            "https://example.org/guidelines?a=1&b=2",
        ]
    )
    config = (tmp_path / "project" / "labelling.xml").read_text()
    tasks = json.loads((tmp_path / "project" / "tasks.json").read_text())
    data = tmp_path / "server"
    data.mkdir()
    with running(data) as address:
        ann, bob, eve = (Account(address, f"{name}@example.org") for name in ("ann", "bob", "eve"))
        project = ann.json("POST", "/api/projects", {"title": "campaign", "label_config": config})["id"]
        of_project = f"/api/projects/{project}"
        ids = ann.json("POST", f"{of_project}/import?return_task_ids=1", tasks)["task_ids"]
        assert [ann.json("GET", f"/api/tasks/{one}")["data"] for one in ids] == [task["data"] for task in tasks]
        place = {task["data"]["task"]: one for task, one in zip(tasks, ids, strict=True)}
        tampered = {"data": {**tasks[0]["data"], "tail": "berlin"}}
        beyond = {"data": {**tasks[0]["data"], "task": 999}}
        more = ann.json("POST", f"{of_project}/import?return_task_ids=1", [tampered, beyond])["task_ids"]
        annotations = _annotate(ann, bob, place, more)
        exported = {
            form: ann.send("GET", f"{of_project}/export?exportType={form}&download_all_tasks=true")
            for form in ("JSON", "JSON_MIN")
        }
        eve.annotate(place[1], ["Yes"], [LINK])
        by_eve = ann.send("GET", f"{of_project}/export?exportType=JSON&download_all_tasks=true")
        numbers = {user["email"].partition("@")[0]: user["id"] for user in ann.json("GET", "/api/users/")}

    users = tmp_path / "users.tsv"
    users.write_text(f"user\tperson\n{numbers['ann']}\tann\n{numbers['bob']}\tbob\n")
    campaign = read_campaign(campaign_folder)
    taken = {}
    for form, content in exported.items():
        path = tmp_path / f"{form}.json"
        path.write_bytes(content)
        returned = read_label_studio(path, read_users(users))
        found = accept(campaign, returned.incoming, time=NOW, keep_going=True)
        accepted = found.judgements
        taken[form] = sorted(
            zip(
                accepted.triple.tolist(),
                accepted.annotators.decode(accepted.annotator).to_pylist(),
                accepted.verdict.tolist(),
                accepted.source.to_pylist(),
                accepted.note.to_pylist(),
                strict=True,
            )
        )
        refused = {refusal.place.rpartition("annotation ")[2]: refusal.message for refusal in found.refused}
        print(f"{form}: {len(found)} accepted, {len(found.refused)} refused", *found.refused, sep="\n")
        assert set(refused) == {str(annotations[what]) for what in REFUSED}
        for what, message in REFUSED.items():
            assert message in refused[str(annotations[what])], what
        again = accept(replace(campaign, judgements=accepted), returned.incoming, time=NOW, keep_going=True)
        assert (len(again), again.repeated, len(again.refused)) == (0, 4, len(REFUSED))
        if form == "JSON":
            assert returned.left_out == {"skipped": 1, "drafts": 1, "predictions": 1}
    assert (
        taken["JSON"]
        == taken["JSON_MIN"]
        == [
            (0, "ann", 1, LINK, ""),
            (0, "bob", 0, LINK, "no: é ☃"),
            (1, "ann", 2, "", ""),
            (5, "bob", 0, LINK, FORMULA),
        ]
    )

    # the same by the command: what was refused is told, the rest is stored once
    for _ in range(2):
        with pytest.raises(SystemExit) as left:
            main(
                [
                    "campaign",
                    "import",
                    str(campaign_folder),
                    str(tmp_path / "JSON.json"),
                    "--user-map",
                    str(users),
                    "--keep-going",
                ]
            )
        assert left.value.code == 2
    assert len(read_campaign(campaign_folder).judgements) == 4

    path = tmp_path / "eve.json"
    path.write_bytes(by_eve)
    with pytest.raises(FormatError, match=rf"found 1 others: '{numbers['eve']}' \(1 annotation\)"):
        read_label_studio(path, read_users(users))
    known = read_label_studio(path, {**read_users(users), str(numbers["eve"]): "eve"})
    found = accept(campaign, known.incoming, time=NOW, keep_going=True)
    assert [refusal.message for refusal in found.refused if "'eve'" in refusal.message] == [
        "expected one of the campaign's people, found 'eve'"
    ]


def _annotate(ann: Account, bob: Account, task: dict[int, int], more: list[int]) -> dict[str, int]:
    """What two people enter, some of it hostile -> the numbers of those annotations that should be refused."""
    wrong = {}
    ann.annotate(task[1], ["Yes"], [LINK])
    bob.annotate(task[1], ["No"], [LINK], ["no: é ☃"])
    ann.annotate(task[2], ["Unsure"])
    wrong["another host"] = bob.annotate(task[2], ["Yes"], ["https://en.wikipedia.org.example.com/"])
    wrong["another choice"] = ann.annotate(task[3], ["Perhaps"], [LINK])
    wrong["two choices"] = bob.annotate(task[3], ["Yes", "No"], [LINK])
    wrong["first of two labels"] = ann.annotate(task[4], ["Yes"], [LINK])
    wrong["second of two labels"] = ann.annotate(task[4], ["No"], [LINK])
    wrong["a script as link"] = bob.annotate(task[4], ["No"], ["javascript:alert(1)"])
    wrong["no link"] = ann.annotate(task[5], ["Yes"])
    wrong["no choice"] = bob.annotate(task[5], note=["forgot it"])
    wrong["two links"] = ann.annotate(task[6], ["No"], [LINK, LINK + "2"])
    bob.annotate(task[6], ["No"], [LINK], [FORMULA])
    ann.annotate(task[6], ["Yes"], [LINK], was_cancelled=True)
    ann.json("POST", f"/api/tasks/{task[6]}/drafts", {"result": result(["Yes"])})
    ann.json("POST", "/api/predictions/", {"task": task[6], "result": result(["Yes"]), "model_version": "x"})
    wrong["a changed label"] = ann.annotate(more[0], ["Yes"], [LINK])
    wrong["a task that is none"] = ann.annotate(more[1], ["Yes"], [LINK])
    return wrong


#: what was done -> what the refusal says
REFUSED = {
    "another host": "found the host 'en.wikipedia.org.example.com'",
    "another choice": "found 'Perhaps'",
    "two choices": "found 'Y + N'",
    "first of two labels": "expected one verdict of 'ann' on this triple",
    "second of two labels": "expected one verdict of 'ann' on this triple",
    "a script as link": "begins with https://, found 'javascript:alert(1)'",
    "no link": "expected a link to the source of a Y, found none",
    "no choice": "found ''",
    "two links": "expected a link without white space and special characters, found '\\n' in ",
    "a changed label": "expected task 1 to be 'paris' '@near' 'de', found 'paris' '@near' 'berlin'",
    "a task that is none": "expected a triple of the pool's 6, found 'paris' '@near' 'de' as task 999",
}
