"""kgtrec convert, as a user calls it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from kgtrec.cli import cli
from kgtrec.errors import KgtrecError
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.formats.trec.runs import read_run
from tests.formats.trec_files import judgements_of, rows_of, written
from tests.program import exit_code

RUN = "q1 Q0 NA 1 0.30000000000000004 sys\nq1 Q0 007 2 -inf sys\nq0 Q0 NA 1 1e-7 sys\n"
QRELS = "q1 0 007 -1\nq1 0 NA 2\nq0 0 NA 0\n"
TEST = "b.tsv", "Q90\tcapital_of\tQ142\n"
TO = "--to", "ir-datasets"
SUFFIXES = [".txt", ".gz", ".zst", ".parquet"]


def convert(*args: str, **options):
    return CliRunner().invoke(cli, ["convert", *args], catch_exceptions=False, **options)


@pytest.mark.parametrize("first", SUFFIXES)
@pytest.mark.parametrize("second", SUFFIXES)
@pytest.mark.parametrize("text", [RUN, QRELS])
def test_any_way_round_and_back_to_the_same_bytes(first, second, text, tmp_path):
    """Text in our own order comes back as it was, through any two formats."""
    paths = [written(tmp_path, "in", text), tmp_path / f"a{first}", tmp_path / f"b{second}", tmp_path / "out"]
    for source, target in itertools.pairwise(paths):
        assert convert(str(source), str(target)).exit_code == 0
    assert paths[-1].read_text() == text


def test_a_messy_file_is_normalised(tmp_path):
    """Ranks are counted anew, in trec_eval's order."""
    source = written(tmp_path, "in", "# c\r\nq\tx  a 9 1 s\r\nq x b 9 1 s\r\nq x c 9 5. s")
    convert(str(source), str(tmp_path / "out.run"))
    assert (tmp_path / "out.run").read_text() == "q Q0 c 1 5 s\nq Q0 b 2 1 s\nq Q0 a 3 1 s\n"


def test_a_run_can_be_renamed(tmp_path):
    """Also one that has several tags, which is refused otherwise."""
    source = str(written(tmp_path, "in", "q Q0 a 1 2 one\nq Q0 b 2 1 two\n"))
    with pytest.raises(
        KgtrecError, match=r"in:2: expected one run tag, found 2: 'two' here, 'one' on line 1; give one"
    ):
        convert(source, str(tmp_path / "out.parquet"))
    convert(source, str(tmp_path / "out.parquet"), "--name", "new")
    assert read_run(tmp_path / "out.parquet").name == "new"


def test_standard_input_and_output(tmp_path):
    """Through a pipe, as text."""
    done = subprocess.run(
        [sys.executable, "-m", "kgtrec", "convert", "-", "-"], input=RUN.encode(), capture_output=True, check=True
    )
    assert done.stdout == RUN.encode()
    assert done.stderr == b""


def test_kind_overrules_content(tmp_path):
    """The qrels reader then says what is wrong."""
    with pytest.raises(KgtrecError, match="expected 4 columns"):
        convert(str(written(tmp_path, "in", RUN)), str(tmp_path / "out"), "--kind", "qrels")


def test_a_file_is_not_converted_onto_itself(tmp_path):
    """By whatever name."""
    source = written(tmp_path, "in.run", RUN)
    (tmp_path / "link.run").symlink_to(source)
    for target in (source, tmp_path / "link.run"):
        with pytest.raises(KgtrecError, match="expected another file than those that are read"):
            convert(str(source), str(target))
    assert source.read_text() == RUN


def test_topics_are_not_converted(tmp_path):
    """They have one form."""
    with pytest.raises(KgtrecError, match="expected a run or qrels, found topics"):
        convert(str(written(tmp_path, "in", "q\ta\tr\n")), str(tmp_path / "out"))


@pytest.mark.parametrize("target", ["out.run", "out.parquet", "out.run.gz"])
def test_a_wrong_file_leaves_no_output(target, tmp_path):
    """One line, exit code 2, no traceback."""
    source = written(tmp_path, "in.run", RUN + "q1 Q0 b 3 foo sys\n")
    done = subprocess.run(
        [sys.executable, "-m", "kgtrec", "convert", source, tmp_path / target],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {source}:4: expected a number as score, got 'foo'")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / target).exists()


def test_labels_that_text_cannot_hold_stop_the_conversion(tmp_path):
    """A no-break space splits lines in some readers; Parquet keeps it."""
    source = written(tmp_path, "in.run", "q Q0 a\u00a0b 1 1 s\n")
    with pytest.raises(KgtrecError, match="expected entity labels without white space"):
        convert(str(source), str(tmp_path / "out.run"))
    convert(str(source), str(tmp_path / "out.parquet"))
    assert rows_of(read_run(tmp_path / "out.parquet"))[0][1] == "a\u00a0b"
    assert not (tmp_path / "out.run").exists()


def test_qrels_keep_every_grade(tmp_path):
    """Negative ones too."""
    convert(str(written(tmp_path, "in", QRELS)), str(tmp_path / "out.parquet"))
    assert judgements_of(read_qrels(tmp_path / "out.parquet")) == {("q1", "007", -1), ("q1", "NA", 2), ("q0", "NA", 0)}


def test_a_collection_becomes_texts(tmp_path):
    """Questions in words and entities, with names, descriptions and templates where there are some."""
    train, test = (written(tmp_path, name, text) for name, text in (("a.tsv", "Q64\tcapital_of\tQ183\n"), TEST))
    valid = written(tmp_path, "c.tsv", "Q183\tnear\tQ142\n")
    assert exit_code("questions", train, valid, test, "--out", tmp_path / "C") == 0
    names = written(tmp_path, "names.tsv", "Q90\tParis\nQ142\tFrance\nQ1\tuniverse\n")
    about = written(tmp_path, "about.tsv", "entity\tdescription\nQ142\ta country\n")
    templates = written(tmp_path, "templates.tsv", "relation\ttemplate\ncapital_of\tIs {head} the capital of {tail}?\n")
    files = ("--names", str(names), "--descriptions", str(about))
    target = tmp_path / "T"
    assert "2 queries, 4 documents, 2 judgements" in convert(str(tmp_path / "C"), str(target), *TO, *files).output
    assert {path.name for path in target.iterdir() if not path.name.startswith(".")} == {
        "docs.tsv",
        "queries.tsv",
        "qrels.txt",
    }
    assert (target / "queries.tsv").read_text() == "head0\twhat capital of France\ntail0\tParis capital of what\n"
    docs = dict(line.split("\t") for line in (target / "docs.tsv").read_text().splitlines())
    assert docs == {"Q64": "Q64", "Q183": "Q183", "Q90": "Paris", "Q142": "France: a country"}
    assert read_qrels(target / "qrels.txt").to_dict() == {"head0": {"Q90": 1}, "tail0": {"Q142": 1}}
    convert(str(tmp_path / "C"), str(target), *TO, "--templates", str(templates), "--force")
    assert (target / "queries.tsv").read_text().splitlines()[0] == "head0\tIs what the capital of Q142?"


def test_texts_are_of_collections(tmp_path):
    """Names are for them alone, and options of runs are not."""
    source = str(written(tmp_path, "in", RUN))
    done = convert(source, str(tmp_path / "out"), "--names", source)
    assert "expected --names only with --to ir-datasets" in done.output
    assert "expected --sort only with runs and qrels" in convert(source, str(tmp_path / "out"), *TO, "--sort").output
    with pytest.raises(KgtrecError, match="expected the folder of a collection"):
        convert(source, str(tmp_path / "out"), *TO)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_the_parts_of_a_run_are_inputs(tmp_path, capsys, link):
    """As the folder is, whatever leads to one of them."""
    convert(str(written(tmp_path, "in", RUN)), str(tmp_path / "r.run"), "--to", "parts")
    part = tmp_path / "r.run" / "part-00000.parquet"
    link(part, tmp_path / "other.parquet")
    before = part.read_bytes()
    for target in (part, tmp_path / "other.parquet"):
        assert exit_code("convert", tmp_path / "r.run", target) == 2
        assert "expected another file than those that are read, found one of them" in capsys.readouterr().err
    assert part.read_bytes() == before
