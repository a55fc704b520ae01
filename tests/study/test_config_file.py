"""What a study's configuration may say, and how a mistake in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgtrec.errors import FormatError
from kgtrec.study.config import StudyOptions
from kgtrec.study.config_file import read_study_config

ROOT = Path(__file__).parents[2]
GOOD = """title = "T"
[data]
folder = "${HERE}/kg"
[systems]
baselines = ["rules", "popularity"]
[[labels]]
name = "all"
kind = "test"
[[labels]]
name = "some"
kind = "sample"
size = 0.5
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kg").mkdir()
    for name in ("train", "valid", "test"):
        (tmp_path / "kg" / f"{name}.tsv").write_text("a\tr\tb\n")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.run").write_text("")
    return tmp_path


def read(folder: Path, text: str, **environment: str):
    (folder / "s.toml").write_text(text)
    return read_study_config(folder / "s.toml", environment={"HERE": str(folder), **environment})


def test_a_small_configuration(folder: Path):
    """Its folder has the name of the file; all pairs of label sets are compared; variables are shown as written."""
    found = read(folder, GOOD)
    assert found.out == folder / "s"
    assert found.pairs == (("all", "some"),)
    assert [source.shown for source in found.data.splits] == [
        f"${{HERE}}/kg/{n}.tsv" for n in ("train", "valid", "test")
    ]
    assert found.data.splits[0].path == folder / "kg" / "train.tsv"
    assert [labels.collection for labels in found.labels] == ["test", "some"]


def test_paths_are_relative_to_the_file(folder: Path):
    found = read(folder, GOOD.replace("${HERE}/kg", "kg"))
    assert found.data.splits[2].path == folder / "kg" / "test.tsv"
    assert found.data.splits[2].shown == "kg/test.tsv"


def test_systems_come_from_folders_and_patterns_each_once(folder: Path):
    (folder / "runs" / "two.run").write_text("")
    (folder / "runs" / "notes.txt").write_text("")
    text = GOOD.replace('baselines = ["rules", "popularity"]', 'runs = ["runs/one.run", "runs", "${HERE}/runs/t*.run"]')
    found = read(folder, text.split('[[labels]]\nname = "some"')[0])
    assert [source.path.name for source in found.systems.runs] == ["one.run", "two.run"]


def test_a_label_set_may_judge_the_questions_of_a_sample(folder: Path):
    (folder / "q.txt").write_text("head0 0 a 1\n")
    found = read(folder, GOOD + '[[labels]]\nname = "more"\nkind = "qrels"\nfile = "q.txt"\non = "some"\n')
    assert found.label_set("more").collection == "some"


BASELINES, SIZE, SOME = 'baselines = ["rules", "popularity"]', "size = 0.5", 'name = "some"'


@pytest.mark.parametrize(
    ("change", "to", "place", "word"),
    [
        ('title = "T"\n', "", "", "a title, found none"),
        ('title = "T"', "title = 3", ":1", "title to be a string, found 3"),
        ('title = "T"', 'title = "T', ":1", "TOML"),
        ('title = "T"', f"title = {'9' * 5000}", "", "Exceeds the limit"),
        ('title = "T"', f"title = {'[' * 5000}", "", "brackets"),
        ('title = "T"', f'title = "T"\nabout = [{"3, " * 5000}]', ":2", "3, 3..."),
        ("[data]", "[dta]", ":2", "unknown option [dta]; did you mean [data]?"),
        ("baselines", "baseline", ":5", "'baseline' of [systems]; did you mean baselines?"),
        (BASELINES, "", "", "[systems]"),
        (BASELINES, 'runs = ["runs"]', ":4", "label set some, a sample, found a run: runs/one.run"),
        (BASELINES, 'scores = ["runs"]', ":5", "scores to name files that end"),
        (BASELINES, 'runs = ["r**/*.run"]', ":5", "pattern"),
        ("${HERE}", "${THERE}", ":3", "variable THERE to be set, which folder uses"),
        ("${HERE}/kg", "${A=B}", ":3", "name of an environment variable"),
        ("${HERE}/kg", "k\\u0000g", ":3", "without NUL"),
        ("${HERE}/kg", "x" * 5000, ":3", "cannot be read"),
        ("${HERE}/kg", "nowhere", ":3", "found nothing there"),
        ("folder = ", 'collection = "kg"\nfolder = ', ":2", "found folder and collection"),
        ("folder = ", "train = ", ":2", "train, valid and test, or a folder"),
        ('/kg"', '/kg"\nthreshold = inf', ":4", "a number above 1, found inf"),
        ('"test"', '"tset"', ":8", "published, found 'tset'; did you mean test?"),
        (SOME, 'name = "all"', ":10", "found 'all' again"),
        (SOME, 'name = "a b"', ":10", "at most 64"),
        (SOME, f'name = "{"s" * 65}"', ":10", "at most 64"),
        (f"{SOME}\n", "", ":9", "a name for each label set"),
        (SIZE, "", ":11", "triples or a size for a label set of kind 'sample', found none"),
        (SIZE, "size = 1.5", ":12", "fraction of them, found 1.5"),
        (SIZE, 'size = 0.5\non = "all"', ":13", "no on for a label set of kind 'sample'"),
        (SIZE, 'size = 0.5\n[power]\nlabels = ["al"]', ":14", "among all, some, found 'al'"),
        (SIZE, 'size = 0.5\n[power]\nfamilies = "sedes"', ":14", "seeds, or a table of system and family"),
        (SIZE, "size = 0.5\n[power]\nalpha = 5", ":14", "between 0 and 1, found 5"),
        (SIZE, 'size = 0.5\n[correlation]\npairs = [["all", "all"]]', ":14", "found 'all' twice"),
        (SIZE, 'size = 0.5\n[correlation]\ncoefficients = ["tau", "tau"]', ":14", "each at most once"),
        (SIZE, 'size = 0.5\n[measures]\nnames = ["RR", "MRR"]', ":14", "MRR: expected micro.MRR"),
        (SIZE, 'size = 0.5\n[ties]\nmeasures = ["AP@20", "nDGC@20"]', ":14", "'nDGC@20'; did you mean"),
        (SIZE, "size = 0.5\n[stability]\nrepeats = true", ":14", "repeats"),
    ],
)
def test_a_mistake_is_told_in_one_line(folder: Path, change: str, to: str, place: str, word: str):
    """With the line of the option, or of its section."""
    assert change in GOOD
    with pytest.raises(FormatError) as told:
        read(folder, GOOD.replace(change, to, 1))
    assert f"s.toml{place}: " in str(told.value)
    assert word in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"title = 'x'\0", b""])
def test_other_bytes_are_no_configuration(tmp_path: Path, content: bytes):
    (tmp_path / "s.toml").write_bytes(content)
    with pytest.raises(FormatError):
        read_study_config(tmp_path / "s.toml")


def test_a_byte_order_mark_and_carriage_returns_are_read_over(folder: Path):
    (folder / "s.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_study_config(folder / "s.toml", environment={"HERE": str(folder)}).title == "T"


def test_a_whole_number_is_a_threshold(folder: Path):
    assert read(folder, GOOD.replace('/kg"', '/kg"\nthreshold = 2')).data.options == {"threshold": 2}


def test_a_folder_whose_name_looks_like_a_pattern_is_none(tmp_path: Path):
    """Only what the configuration says is a pattern; where it lies is a place."""
    folder = tmp_path / "a[1]*"
    (folder / "kg").mkdir(parents=True)
    for name in ("train", "valid", "test"):
        (folder / "kg" / f"{name}.tsv").write_text("a\tr\tb\n")
    (folder / "one.run").write_text("")
    for pattern in ("*.run", "${HERE}/*.run"):
        text = GOOD.split('[[labels]]\nname = "some"')[0]
        found = read(folder, text.replace('baselines = ["rules", "popularity"]', f'runs = ["{pattern}"]'))
        assert [source.path for source in found.systems.runs] == [folder / "one.run"]


def test_a_name_that_no_text_can_hold_is_refused(folder: Path):
    (folder / "runs" / "a\udcff.run").write_text("")
    with pytest.raises(FormatError, match="expected file names in UTF-8"):
        read(folder, GOOD.replace('baselines = ["rules", "popularity"]', 'runs = ["runs"]'))


def test_options_that_the_report_tells_come_from_their_sections(folder: Path):
    text = GOOD + (
        '[measures]\nconfidence = 0.9\n[power]\nalpha = 0.01\n[correlation]\ncoefficients = ["rbo", "tau"]\n'
        '[stability]\ncoefficient = "spearman"\n'
    )
    assert read(folder, text).options == StudyOptions(0.9, 0.01, ("rbo", "tau"), "spearman")
    assert read(folder, GOOD).options == StudyOptions(0.95, 0.05, ("tau", "tau_ap", "spearman", "rbo"), "tau")


def test_what_was_read_is_kept_byte_by_byte(folder: Path):
    """Whatever somebody does to the file afterwards."""
    content = b"\xef\xbb\xbf# \xc3\xa9\r\n" + GOOD.encode()
    (folder / "s.toml").write_bytes(content)
    found = read_study_config(folder / "s.toml", environment={"HERE": str(folder)})
    (folder / "s.toml").write_bytes(b"")
    assert found.written == content


def test_valid_may_be_left_out(folder: Path):
    """A folder without one, or train and test alone; a first line may be a triple in any case."""
    files = '\ntrain = "kg/train.tsv"\ntest = "kg/test.tsv"\nheader = false'
    found = read(folder, GOOD.replace('\nfolder = "${HERE}/kg"', files)).data
    assert found.splits is not None
    assert [source and source.path.name for source in found.splits] == ["train.tsv", None, "test.tsv"]
    assert not found.header
    assert not found.options
    (folder / "kg" / "valid.tsv").unlink()
    found = read(folder, GOOD).data
    assert found.splits is not None
    assert found.splits[1] is None
    assert found.header
