"""kgtrec data, and a data set's name where a folder may stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtrec.cli import main
from kgtrec.data_sets import registry
from kgtrec.study.config_file import read_study_config
from tests.data_sets_by_hand import SPLITS, install, record, serving, tar_gz, write

ARCHIVE = tar_gz(SPLITS)


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with serving(files={"/kg.tar.gz": ARCHIVE}) as running:
        members = [record(name, data) for name, data in SPLITS.items()]
        archive = record("kg.tar.gz", ARCHIVE, f"{running.url}/kg.tar.gz", members=members)
        kg = {"files": [archive], "entities": 4, "triples": {"train": 2, "valid": 1, "test": 1}}
        unseen = {"files": [{"path": "x.zip", "url": "https://example.org/x.zip"}], "unconfirmed": "nobody has seen it"}
        install(monkeypatch, tmp_path, {"family-kg": kg, "x": unseen})
        yield running
    monkeypatch.undo()
    registry._read.cache_clear()


def call(*args: str) -> int:
    try:
        main(list(args))
    except SystemExit as leave:
        return int(leave.code or 0)
    return 0


def test_get_prints_the_folders(server, tmp_path, capsys):
    """One a line, and nothing else."""
    assert call("data", "get", "family-kg", "Family-KG") == 0
    shown = capsys.readouterr()
    assert shown.out == f"{tmp_path / 'cache' / 'family-kg'}\n" * 2
    assert shown.err == ""
    assert len(server.asked) == 1


def test_nothing_is_downloaded_if_a_name_is_mistyped(server, capsys):
    assert call("data", "get", "family-kg", "familykg") == 2
    assert capsys.readouterr().err == "error: no data set 'familykg'; did you mean family-kg?; there are family-kg\n"
    assert server.asked == []


def test_list_leaves_out_what_is_not_confirmed(server, capsys):
    """With --all it is there, with the reason."""
    call("data", "list", "--format", "json")
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["family-kg"]
    call("data", "list")
    assert "nobody" not in capsys.readouterr().out
    call("data", "list", "--all")
    assert "nobody has seen it" in capsys.readouterr().out


def test_questions_of_a_data_set(server, tmp_path, capsys):
    """The same as those of its folder, which is fetched on the way."""
    assert call("questions", "family-kg", "--out", "c") == 0
    write(tmp_path / "kg", SPLITS)
    assert call("questions", "kg", "--out", "d") == 0
    assert Path("c/manifest.json").read_text() == Path("d/manifest.json").read_text()
    assert capsys.readouterr().err.startswith("wrote c: 2 questions")


def test_a_folder_of_that_name_wins(server, tmp_path):
    write(tmp_path / "family-kg", SPLITS)
    assert call("questions", "family-kg", "--out", "c") == 0
    assert server.asked == []


def test_a_mistyped_data_set_is_one_error_and_nothing_is_written(server, capsys):
    assert call("questions", "familykg", "--out", "c") == 2
    assert capsys.readouterr().err == (
        "error: familykg: expected a folder with train, valid and test triples, or the name of a data set, found "
        "neither; did you mean family-kg?\n"
    )
    assert not Path("c").exists()


def test_what_cannot_be_downloaded_is_one_line(server, capsys):
    server.files.clear()
    assert call("questions", "family-kg", "--out", "c") == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith(
        f"error: family-kg: cannot download {server.url}/kg.tar.gz: the server answered 404 Not Found;"
    )
    assert not Path("c").exists()


STUDY = """title = "T"
[data]
folder = "{}"
[systems]
baselines = ["rules"]
[[labels]]
name = "all"
kind = "test"
"""


def test_a_study_takes_the_name(server, tmp_path):
    """And shows the files under it, wherever the cache is."""
    (tmp_path / "s.toml").write_text(STUDY.format("family-kg"))
    found = read_study_config(tmp_path / "s.toml")
    assert found.data.splits is not None
    assert [source.shown for source in found.data.splits] == [f"family-kg/{name}" for name in SPLITS]
    assert found.data.splits[0].path == tmp_path / "cache" / "family-kg" / "train.txt"
    (tmp_path / "s.toml").write_text(STUDY.format("familykg"))
    with pytest.raises(ValueError, match=r"s\.toml:3: .* did you mean family-kg\?"):
        read_study_config(tmp_path / "s.toml")


def test_a_label_set_of_a_study_takes_a_path_that_begins_with_the_name(server, tmp_path):
    """Of a file or folder below the data set; a folder of that name beside the configuration comes first."""
    labels = '[[labels]]\nname = "some"\nkind = "sample"\ntriples = "family-kg/test.txt"\n'
    (tmp_path / "s.toml").write_text(STUDY.format("family-kg") + labels)
    source = read_study_config(tmp_path / "s.toml").label_set("some").source
    assert source is not None
    assert (source.shown, source.path) == ("family-kg/test.txt", tmp_path / "cache" / "family-kg" / "test.txt")
    write(tmp_path / "family-kg", SPLITS)
    source = read_study_config(tmp_path / "s.toml").label_set("some").source
    assert source is not None
    assert source.path == tmp_path / "family-kg" / "test.txt"
