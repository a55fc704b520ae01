"""Options of absurd size, bytes that are no text, and labels that steer a terminal: one clear line, exit code 2."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from importlib import import_module

import click
import numpy as np
import pytest

from kgtrec.cli import cli
from kgtrec.cli.options import MOST_DRAWS, MOST_PEOPLE, MOST_SAMPLES, MOST_SEED, Real, Text, Whole
from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.study import config_file as study_configs
from tests.campaign_folders import folder_of, people_of
from tests.judged_pools import judgements_of
from tests.program import exit_code, kgtrec, printed_by, refusal

ESCAPES = "\x1b[31mred\x1b[0m \u202eevil\r\x9b2J\u2066"
SHOWN = r"\x1b[31mred\x1b[0m \u202eevil\r\x9b2J\u2066"


def commands(group=cli, path="") -> Iterator[tuple[str, click.Command]]:
    """Every command with its name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")


OPTIONS = [(f"{name} {param.opts[0]}", param) for name, command in commands() for param in command.params]


@pytest.mark.parametrize(("name", "param"), OPTIONS, ids=[name for name, _ in OPTIONS])
def test_every_option_has_a_type_with_bounds(name, param):
    """No number is without an end, and no text may be bytes."""
    plain = (click.types.IntParamType, click.types.FloatParamType, click.types.StringParamType)
    assert not isinstance(param.type, plain) or isinstance(param.type, Whole | Real | Text)


WHOLE = [(name, param.type) for name, param in OPTIONS if isinstance(param.type, Whole)]


@pytest.mark.parametrize(("name", "kind"), WHOLE, ids=[name for name, _ in WHOLE])
@pytest.mark.parametrize(
    "text", ["10000000000000000000", "9" * 400, "9" * 5000, "-1", "1.5", "nan", "", "1e3", "\u0661x"]
)
def test_a_number_out_of_range_is_told_with_the_range(name, kind, text):
    with pytest.raises(click.BadParameter) as told:
        kind.convert(text, None, None)
    assert f"expected a whole number from {kind.least:,} to {kind.most:,}, found " in told.value.message
    assert len(told.value.message) < 200
    for end in (kind.least, kind.most):
        assert kind.convert(str(end), None, None) == end


@pytest.mark.parametrize(
    "name", ["--repeats", "--resamples", "--workers", "--per-triple", "--depth", "--block", "--first"]
)
def test_2_to_the_31_is_out_of_range(name):
    """All but known answers, which are taken to 64 bits."""
    kinds = [kind for option, kind in WHOLE if option.endswith(f" {name}")]
    assert kinds
    for kind in kinds:
        with pytest.raises(click.BadParameter, match="found 2147483648"):
            kind.convert(str(2**31), None, None)


def test_bounds_are_those_of_python_and_of_studies():
    """One number, wherever it is asked for."""
    assert (MOST_SAMPLES, MOST_SEED) == (study_configs._MOST, study_configs._MOST_SEED)
    assert (MOST_DRAWS, MOST_PEOPLE) == (
        import_module("kgtrec.openworld.curve")._MOST_DRAWS,
        import_module("kgtrec.openworld.family_tree")._MOST_PEOPLE,
    )


REALS = [(name, param.type) for name, param in OPTIONS if isinstance(param.type, Real)]


@pytest.mark.parametrize(("name", "kind"), REALS, ids=[name for name, _ in REALS])
@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "-inf", "1e400"])
def test_a_number_that_is_none_is_refused(name, kind, text):
    with pytest.raises(click.BadParameter, match=r"expected a finite number, found|is not in the range"):
        kind.convert(text, None, None)


def refused(args, capsys) -> str:
    """What a command says that ends with exit code 2."""
    assert exit_code(*args) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "args",
    [
        ["campaign", "import", "C", "x.csv", "--person", "\udcff"],
        ["campaign", "init", "C", "--annotator", "a\udcff"],
        ["campaign", "export", "C", "--annotator", "\udcff", "--out", "x.csv"],
        ["evaluate", "q", "r", "-m", "\udcff"],
        ["rank", "C", "--baseline", "\udcff", "--out", "x"],
        ["meta", "stability", "q", "r", "--sizes", "\udcff"],
        ["pool", "C", "r", "--family", "\udcff=a"],
        ["published", "adjust", "--measure", "\udcff", "--value", "1", "--chance", "nations"],
    ],
)
def test_bytes_that_are_no_text(args, capsys):
    r"""As a shell gives them for $'\xff'."""
    told = refused(args, capsys)
    assert "expected text in UTF-8, found" in told
    assert r"\udcff" in told


def test_a_file_whose_name_is_no_text_may_be_read(tmp_path, capsys):
    """The system is called by what of the name can be shown."""
    place = os.fsencode(tmp_path)
    try:
        for name, text in ((b"q\xff.txt", "q 0 a 1\n"), (b"s\xff.run", "q Q0 a 1 1 s\n")):
            with open(os.path.join(place, name), "w") as stream:  # noqa: PTH118, PTH123  # bytes are no Path
                stream.write(text)
    except OSError:
        pytest.skip("this file system takes no such names")
    kgtrec("evaluate", f"{tmp_path}/q\udcff.txt", f"{tmp_path}/s\udcff.run", "-m", "RR", "--format", "csv")
    assert capsys.readouterr().out == "system,measure,value\ns\\xff,RR,1\n"
    assert r"none\udcff: no such file" in refused(["evaluate", "none\udcff", f"{tmp_path}/s\udcff.run"], capsys)


@pytest.mark.parametrize(
    ("measure", "told"),
    [
        ("AP@" + "9" * 400, "expected numbers below 2,147,483,648 in a measure's name, found one of 400 digits"),
        ("RBP(p=" + "9" * 400 + ")@10", "expected numbers below 2,147,483,648 in a measure's name, found one of 400"),
        ("Compat(p=" + "9" * 400 + ")", "expected numbers below 2,147,483,648 in a measure's name, found one of 400"),
        ("AP@1000000000000", "expected a whole number from 1 to 2,147,483,647 as cutoff, found 1000000000000"),
        ("AP@1e12", "expected a whole number from 1 to 2,147,483,647 as cutoff, found 1000000000000.0"),
        ("ERR@1000000000000", "expected a whole number from 1 to 2,147,483,647 as cutoff, found 1000000000000"),
        ("AP(rel=1000000000000)", "expected a whole number from 0 to 2,147,483,647 as rel, found 1000000000000"),
        ("AP(rel=" + "-" * 5000 + "1)", "expected parameters as (name=value, ...)"),
    ],
)
def test_a_measure_with_a_number_beyond_all_places(measure, told, tmp_path, capsys):
    (tmp_path / "q").write_text("q 0 a 1\n")
    (tmp_path / "r.run").write_text("q Q0 a 1 1 s\n")
    assert told in refused(["evaluate", str(tmp_path / "q"), str(tmp_path / "r.run"), "-m", measure], capsys)


# terminals


def test_labels_cannot_steer_the_terminal_of_evaluate(tmp_path, capsys):
    """The table shows escapes; CSV and JSON have the label to the letter."""
    from kgtrec.collection.questions import build_questions
    from kgtrec.formats.collections import write_collection

    relation = ESCAPES.replace("\r", "")
    train = Triples.of([("ann", relation, "tea"), ("bob", relation, "jam")])
    made = build_questions(train, Triples.of([]), Triples.of([("ann", relation, "jam")]))
    write_collection(tmp_path / "C", made)
    (tmp_path / "s.run").write_text("head0 Q0 ann 1 1 s\ntail0 Q0 jam 1 1 s\n")
    told = ["evaluate", str(tmp_path / "C"), str(tmp_path / "s.run"), "-m", "RR", "--per", "relation"]
    out = printed_by(capsys, *told)
    assert SHOWN.replace(r"\r", "") in out
    assert out.replace("\n", "").isprintable()
    assert printed_by(capsys, *told, "--format", "latex").replace("\n", "").isprintable()
    kgtrec(*told, "--format", "csv")
    assert next(iter(csv.DictReader(io.StringIO(capsys.readouterr().out))))["relation"] == relation
    assert json.loads(printed_by(capsys, *told, "--format", "json"))[0]["relation"] == relation


@pytest.fixture
def campaign(tmp_path) -> str:
    """Two triples of a relation whose name steers terminals, each judged by two."""
    entities, relations = Vocabulary.of(["a", "b", "c"]), Vocabulary.of([ESCAPES.replace("\r", "")])
    zero = np.zeros(1, np.int32)
    questions = Questions(Vocabulary.of(["tail0"]), np.zeros(1, bool), zero, zero, entities, relations)
    head, tail = np.array([0, 0], np.int32), np.array([1, 2], np.int32)
    triples = Triples(head, head * 0, tail, entities, relations)
    pool = Pool.of(triples, tail - 1, head * 0, head * 0, tail, ["run"], questions)
    none = np.zeros(0, np.int32)
    people = people_of(("ann", "annotator", True), ("bob", "annotator", True))
    events = [(row, who, "annotator", "N") for row in (0, 1) for who in ("ann", "bob")]
    made = Campaign(
        pool,
        Qrels.of(none, none, none, questions.ids, entities),
        Automatic.none(2),
        people,
        Assignments.none(people.names),
        judgements_of(events),
        sources=("en.wikipedia.org",),
    )
    return str(folder_of(made, tmp_path / "campaign"))


@pytest.mark.parametrize("words", [["agreement", "--per", "relation"], ["status", "--per", "relation"], ["status"]])
def test_labels_cannot_steer_the_terminal_of_a_campaign(words, campaign, capsys):
    """And are in CSV to the letter."""
    kgtrec("campaign", words[0], campaign, *words[1:])
    out, error = capsys.readouterr()
    assert (out + error).replace("\n", "").isprintable()
    if "relation" in words:
        assert SHOWN.replace(r"\r", "") in out
        kgtrec("campaign", words[0], campaign, *words[1:], "--format", "csv")
        assert ESCAPES.replace("\r", "") in [
            row["relation"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))
        ]


@pytest.mark.parametrize(
    "words", ["rank C zeros.npy --out", "questions a b c --out", "evaluate C a.run --out", "evaluate C a.run", "check"]
)
def test_an_empty_path_is_not_the_folder_in_which_one_stands(words, tmp_path, monkeypatch, capsys):
    """As ``--out "$OUT"`` gives it where nothing was set; nothing is read or written."""
    monkeypatch.chdir(tmp_path)
    assert "expected the name of a file or folder, found an empty one" in refusal(capsys, *words.split(), "")
    assert list(tmp_path.iterdir()) == []
