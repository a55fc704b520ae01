"""Label Studio: what is written for it, and exports as a server of version 1.23 writes them."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ElementTree

import pytest

from kgtrec.campaign.tasks import tasks_for
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.label_studio import labelling_config, read_label_studio, read_users, write_label_studio
from tests.campaigns_by_hand import campaign_of
from tests.formats.trec_files import written
from tests.trees import tree

USERS = {"3": "ann", "bob@example.org": "bob", "4": "bob"}


def region(name, *values):
    """A part of an annotation's result."""
    kind, key = ("choices", "choices") if name == "verdict" else ("textarea", "text")
    return {"from_name": name, "to_name": "question", "type": kind, "value": {key: list(values)}}


def annotation(number, user, *regions, created="2026-11-21T20:46:12.987185Z", cancelled=False):
    """An annotation as the full export has it."""
    return {
        "id": number,
        "completed_by": user,
        "result": copy.deepcopy(list(regions)),
        "was_cancelled": cancelled,
        "ground_truth": False,
        "created_at": created,
        "updated_at": "2026-11-21T20:46:59.000001Z",
        **dict.fromkeys(("draft_created_at", "lead_time", "import_id", "last_action", "last_created_by")),
        **dict.fromkeys(("parent_prediction", "parent_annotation")),
        "prediction": {},
        "result_count": 1,
        "unique_id": "db2fa6fa-ee73-4579-b0cc-88dc154c3ad3",
        "bulk_created": False,
        "task": 1,
        "project": 1,
        "updated_by": user,
    }


DATA = {
    "task": 7,
    "question": "Is <b> the capital of =a?",
    "head": "=a",
    "relation": "capital",
    "tail": "<b>",
    "head_name": "=a",
    "tail_name": "<b>",
    "search": "=a capital",
    "annotators": "ann, bob",
}


def task(*annotations, number=1, data=DATA, drafts=(), predictions=()):
    """A task as the full export has it."""
    return {
        "id": number,
        "annotations": list(annotations),
        "drafts": list(drafts),
        "predictions": list(predictions),
        "data": copy.deepcopy(data),
        "meta": {},
        "created_at": "2026-11-21T20:46:12.828879Z",
        "updated_at": "2026-11-21T20:46:13.139009Z",
        "allow_skip": True,
        "inner_id": 1,
        "total_annotations": 2,
        **dict.fromkeys(("cancelled_annotations", "total_predictions", "comment_count"), 0),
        "unresolved_comment_count": 0,
        "last_comment_updated_at": None,
        "project": 1,
        "updated_by": 4,
        "comment_authors": [],
    }


def minimal(number, user, annotation_id, created="2026-11-21T20:46:12.987185Z", **filled):
    """A record of the export as JSON-MIN."""
    return {
        **DATA,
        "id": number,
        **filled,
        "annotator": user,
        "annotation_id": annotation_id,
        "created_at": created,
        "updated_at": created,
        "lead_time": None,
    }


def said(returned):
    return [(one.person, one.verdict, one.source, one.note) for one in returned.incoming]


YES = region("verdict", "Yes"), region("source", "https://en.wikipedia.org/a"), region("note", "n")


def test_an_annotation_becomes_a_verdict(tmp_path):
    """Task and labels out of the data, the person by account number or address."""
    by_address = annotation(2, {"id": 9, "email": "Bob@Example.org"}, region("verdict", "Unsure"))
    path = written(tmp_path, "export.json", json.dumps([task(annotation(1, 3, *YES), by_address)]))
    first, second = read_label_studio(path, USERS).incoming
    assert (first.place, first.person, first.task) == (f"{path}: task 1, annotation 1", "ann", 7)
    assert (first.head, first.relation, first.tail) == ("=a", "capital", "<b>")
    assert (first.verdict, first.source, first.note) == ("Y", "https://en.wikipedia.org/a", "n")
    assert first.role == "annotator"
    assert (second.person, second.verdict, second.source, second.note) == ("bob", "unsure", "", "")


def test_both_forms_of_the_export_say_the_same(tmp_path):
    """JSON and JSON-MIN of one project, made together."""
    full = [
        task(annotation(1, 3, *YES), annotation(2, 4, region("verdict", "No"), created="2026-11-21T20:46:13Z")),
        task(
            annotation(
                3,
                3,
                region("verdict", "Perhaps"),
                region("source", "javascript:alert(1)", "second"),
                created="2026-11-21T20:46:13.178649Z",
            ),
            annotation(5, 4, region("verdict", "Yes", "No"), created="2026-11-21T20:46:13.369353Z"),
            number=2,
        ),
        task(annotation(6, 4, created="2026-11-21T20:46:13.459456Z"), number=3),
        task(number=4),
    ]
    short = [
        minimal(1, 4, 2, "2026-11-21T20:46:13Z", verdict="No"),
        minimal(1, 3, 1, verdict="Yes", source="https://en.wikipedia.org/a", note="n"),
        minimal(2, 4, 5, "2026-11-21T20:46:13.369353Z", verdict={"choices": ["Yes", "No"]}),
        minimal(
            2,
            3,
            3,
            "2026-11-21T20:46:13.178649Z",
            verdict="Perhaps",
            source={"text": ["javascript:alert(1)", "second"]},
        ),
        minimal(3, 4, 6, "2026-11-21T20:46:13.459456Z"),
        minimal(4, None, None, None),
    ]
    expected = [
        ("ann", "Y", "https://en.wikipedia.org/a", "n"),
        ("bob", "N", "", ""),
        ("ann", "Perhaps", "javascript:alert(1)\nsecond", ""),
        ("bob", "Y + N", "", ""),
        ("bob", "", "", ""),
    ]
    for records in (full, short):
        returned = read_label_studio(written(tmp_path, "export.json", json.dumps(records)), USERS)
        assert said(returned) == expected
        assert returned.not_done == 1
    places = [one.place.split(": ")[1] for one in returned.incoming]
    assert places[:2] == ["task 1, annotation 1", "task 1, annotation 2"]


def test_the_order_is_that_of_creation(tmp_path):
    """By time, whatever the digits after the second and the order in the file; then by number."""
    stamps = ["2026-11-21T20:00:01.5Z", "2026-11-21T20:00:01Z", "2026-11-21T21:00:00+01:00", "2026-11-21T20:00:01Z"]
    notes = [annotation(9 - n, 3, region("note", str(n)), created=time) for n, time in enumerate(stamps)]
    returned = read_label_studio(written(tmp_path, "x.json", json.dumps([task(*notes)])), USERS)
    assert [one.note for one in returned.incoming] == ["2", "3", "1", "0"]


def test_what_was_not_submitted_is_left_out(tmp_path):
    """Skipped tasks, drafts and predictions are counted; who made them does not matter."""
    skipped = annotation(1, 99, *YES, cancelled=True)
    record = task(skipped, drafts=[{"id": 1, "result": [YES[0]], "user": "x"}], predictions=[{"id": 1}, {"id": 2}])
    returned = read_label_studio(written(tmp_path, "x.json", json.dumps([record])), USERS)
    assert (returned.incoming, returned.not_done) == ([], 1)
    assert returned.left_out == {"skipped": 1, "drafts": 1, "predictions": 2}


def test_unknown_accounts_are_named(tmp_path):
    """All of them at once, with how many annotations; nothing is taken."""
    records = [
        task(annotation(1, 3, *YES), annotation(2, 8), annotation(3, {"email": "eve@x"}), annotation(4, 8)),
        task(annotation(5, None), annotation(6, True)),
    ]
    path = written(tmp_path, "x.json", json.dumps(records))
    with pytest.raises(FormatError) as caught:
        read_label_studio(path, USERS)
    assert str(caught.value).startswith(
        f"{path}: expected accounts of known people, found 3 others: '8' (2 annotations), 'eve@x' (1 annotation), "
        "'no account' (2 annotations); add a line"
    )


def test_an_account_of_two_people_is_refused(tmp_path):
    """Where number and address are said to be different people's."""
    path = written(tmp_path, "x.json", json.dumps([task(annotation(1, {"id": 3, "email": "bob@example.org"}, *YES))]))
    with pytest.raises(FormatError, match=r"x\.json: task 1, annotation 1: expected one person, got 'ann and bob for "):
        read_label_studio(path, USERS)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda t: t["data"].pop("task"), "task 1, annotation 1, data: expected a number as task, got 'null'"),
        (lambda t: t["data"].update(task=True), "task 1, annotation 1, data: expected a number as task, got 'true'"),
        (lambda t: t["data"].update(task=-1), "data: expected a number as task, got '-1'"),
        (lambda t: t["data"].update(head=["a"]), "data: expected text as head, got "),
        (lambda t: t["data"].update(tail="\ud800"), "expected JSON, found half a surrogate pair in a text, at the"),
        (lambda t: t.update(data=None), "task 1, annotation 1: expected an object as data, got 'null'"),
        (lambda t: t.update(annotations={}), "task 1: expected a list of annotations, got '{}'"),
        (lambda t: t.update(drafts="x"), "task 1: expected a list of drafts, got 'x'"),
        (lambda t: t.update(id="one"), "record 1: expected a number as id, got 'one'"),
        (lambda t: t["annotations"].append(3), "task 1: expected an annotation, got '3'"),
        (lambda t: t["annotations"][0].update(result={}), "annotation 1: expected a list as result, got '{}'"),
        (lambda t: t["annotations"][0].update(created_at="now"), "annotation 1: expected a time as created_at, got"),
        (lambda t: t["annotations"][0].update(created_at=5), "annotation 1: expected text as created_at, got '5'"),
        (lambda t: t["annotations"][0]["result"].append("x"), "annotation 1: expected an object in result, got 'x'"),
        (lambda t: t["annotations"][0]["result"][0].update(value=1), "expected an object as value of 'verdict',"),
        (lambda t: t["annotations"][0]["result"][0]["value"].update(choices=[1]), "expected text as verdict, got '1'"),
        (lambda t: t.pop("annotations"), "record 1: expected annotations, or an annotation_id, got 'none; export the"),
    ],
)
def test_what_no_server_writes_is_refused(change, expected, tmp_path):
    """With the task and the annotation."""
    record = task(annotation(1, 3, *YES))
    change(record)
    path = written(tmp_path, "x.json", json.dumps([record]))
    with pytest.raises(FormatError) as caught:
        read_label_studio(path, USERS)
    assert str(caught.value).startswith(f"{path}: ")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ":1: expected JSON, found something else (expecting value)"),
        ("[{}", ":1: expected JSON, found "),
        ("{}", ": the export: expected a list of tasks, got '{}'"),
        ("[3]", ": record 1: expected a task, got '3'"),
        (b"[\n\xff]", ":2: expected JSON, found something else (not UTF-8)"),
        ("[" * 100_000, ": expected JSON, found brackets nested too deeply"),
        ("[" + "1" * 5000 + "]", ": expected JSON, found a number too long to read"),
    ],
)
def test_what_is_no_export_is_refused(text, expected, tmp_path):
    """With the line, where it has one."""
    path = written(tmp_path, "x.json", text)
    with pytest.raises(FormatError) as caught:
        read_label_studio(path, USERS)
    assert str(caught.value).startswith(f"{path}{expected}")


def test_regions_of_other_controls_are_passed_over(tmp_path):
    """A project may ask for more than we do."""
    other = {"from_name": "mood", "value": None}
    path = written(tmp_path, "x.json", json.dumps([task(annotation(1, 3, other, *YES))]))
    assert said(read_label_studio(path, USERS)) == [("ann", "Y", "https://en.wikipedia.org/a", "n")]


def test_tasks_and_configuration(tmp_path):
    """Labels that are markup elsewhere are plain text in both; the configuration holds none of them."""
    events = [(0, "bob", "annotator", "Y", "https://en.wikipedia.org/secret", "secret")]
    write_label_studio(tmp_path / "out", tasks_for(campaign_of(events)), guidelines='https://x.org/?a&b="<$c>')
    assert sorted(tree(tmp_path / "out")) == ["README.md", "labelling.xml", "tasks.json"]
    text = (tmp_path / "out" / "tasks.json").read_text()
    assert "secret" not in text
    data = [record["data"] for record in json.loads(text)]
    assert data[3] == {
        "task": 4,
        "question": "Is <script>alert(1)</script> the capital of France?",
        "head": "fr",
        "relation": "capital",
        "tail": "<script>alert(1)</script>",
        "head_name": "France",
        "tail_name": "<script>alert(1)</script>",
        "search": "France capital",
        "annotators": "ann, bob",
    }
    config = (tmp_path / "out" / "labelling.xml").read_text()
    root = ElementTree.fromstring(config)  # noqa: S314 - we wrote it
    (choices,) = root.iter("Choices")
    assert (choices.get("choice"), choices.get("required")) == ("single", "true")
    assert [choice.get("value") for choice in choices] == ["Yes", "No", "Unsure"]
    assert [area.get("name") for area in root.iter("TextArea")] == ["source", "note"]
    shown = {value[1:] for element in root.iter() if (value := element.get("value", "")).startswith("$")}
    assert shown <= set(data[0])
    (link,) = root.iter("HyperText")
    anchor = ElementTree.fromstring(str(link.get("value")))  # noqa: S314
    assert anchor.get("href") == 'https://x.org/?a&b="<%24c>'
    assert "ann, bob" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize("link", ["javascript:alert(1)", "x", "https://", "https://a b", "https://a/\n", "http://["])
def test_guidelines_are_a_link(link):
    """Of the web; anything else is refused."""
    with pytest.raises(KgtrecError, match="expected an https link to the guidelines, got "):
        labelling_config(link)


def test_a_folder_with_other_files_is_not_touched(tmp_path):
    """Its own are replaced with force; nobody's others are."""
    tasks = tasks_for(campaign_of())
    (tmp_path / "export.json").write_text("mine")
    write_label_studio(tmp_path, tasks)
    before = tree(tmp_path)
    with pytest.raises(FormatError, match=r"tasks\.json: exists; force=True replaces it"):
        write_label_studio(tmp_path, tasks)
    write_label_studio(tmp_path, tasks, force=True)
    assert tree(tmp_path) == before
    assert before["export.json"] == b"mine"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ":1: expected the header line user person, separated by tabs, found an empty file"),
        ("4\tbob\n", ":1: expected the header line user person, separated by tabs, found '4\\tbob'"),
        ("user\tperson\n\n4\n", ":3: expected 2 columns (user person) separated by tabs, got 1: '4'"),
        ("user\tperson\n4\t \n", ":2: expected a user and a person, got '4'"),
        ("user\tperson\nA@b\tx\na@B\ty\n", ":3: expected each user once, found 'a@B' here and on line 2; remove one"),
        (b"user\tperson\n\xff\tx\n", ":2: expected UTF-8 text, found '\\xff\\tx'"),
    ],
)
def test_what_is_no_file_of_users_is_refused(text, expected, tmp_path):
    """With its line."""
    path = written(tmp_path, "users.tsv", text)
    with pytest.raises(FormatError) as caught:
        read_users(path)
    assert str(caught.value).startswith(f"{path}{expected}")


def test_users_as_spreadsheets_save_them(tmp_path):
    """Byte-order mark, CRLF, and any case of an address."""
    path = written(tmp_path, "users.tsv", "\ufeffuser\tperson\r\n Ann@X.org \tann b\r\n4\tbob\r\n")
    assert read_users(path) == {"ann@x.org": "ann b", "4": "bob"}
