"""The registry: what it says is complete, and is so of the files that are at hand."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest

from kgtrec.data_sets.registry import LAYOUTS, DataFile, DataSet, data_set, list_data_sets
from kgtrec.data_sets.sums import git_blob_of, require_published
from kgtrec.errors import KgtrecError
from kgtrec.formats.campaign.kgc_sparsity import read_kgc_sparsity
from kgtrec.formats.triples import read_triples
from tests.data_sets_by_hand import sha256

EVERY = list_data_sets(unconfirmed=True).data_sets
SPLITS = ("train", "valid", "test")
#: where the data at hand have the files of a data set, and what line ends became of theirs
AT_HAND = {
    "fb15k-237": ("fb15k-237/{}.tsv.gz", b"\r\n"),
    "wn18rr": ("wn18rr/{}.tsv.gz", b"\n"),
    "nations": ("small/nations/{}.tsv", b"\n"),
    "kinships": ("small/kinships/{}.tsv", b"\n"),
    "umls": ("small/umls/{}.tsv", b"\n"),
}


def by_name(found: DataSet) -> str:
    return found.name


def test_the_confirmed_and_the_unconfirmed():
    """A data set is listed only if its checksums are known."""
    listed = [found.name for found in list_data_sets().data_sets]
    assert listed == ["fb15k-237", "wn18rr", "nations", "kinships", "umls", "codex-s", "codex-m", "kgc-sparsity"]
    others = [found.name for found in EVERY if found.name not in listed]
    assert others == ["codex-l", "yago3-10", "ogbl-wikikg2", "ogbl-biokg"]


@pytest.mark.parametrize("found", EVERY, ids=by_name)
def test_a_listed_data_set_has_all_that_it_is_checked_by(found: DataSet):
    """Size and SHA-256 of each file and member; who publishes it under which licence; or the reason why not."""
    assert found.layout in LAYOUTS
    assert found.name == found.name.casefold()
    assert found.checked
    assert all(file.url.startswith(("https://", "http://snap.stanford.edu/")) for file in found.files)
    pinned = [file.url for file in found.files if "githubusercontent" in file.url]
    assert all(re.search(r"/[0-9a-f]{40}/", url) for url in pinned)
    if found.unconfirmed:
        assert not all(file.sha256 for file in found.files)
        return
    assert found.licence
    for file in (*found.files, *found.parts()):
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size
    if found.layout == "splits":
        assert {part.path for part in found.parts()} == {f"{split}.txt" for split in SPLITS}
        assert set(found.triples) == set(SPLITS)


@pytest.mark.parametrize("found", EVERY, ids=by_name)
def test_no_path_leads_out_of_the_folder(found: DataSet):
    for part in (*found.files, *found.parts()):
        path = Path(part.path)
        assert not path.is_absolute()
        assert ".." not in path.parts


@pytest.mark.parametrize("name", AT_HAND)
def test_checksums_and_counts_are_those_of_the_data_at_hand(name: str, data: Path, tmp_path: Path):
    """Which came from other publishers than the files that the registry names."""
    pattern, end = AT_HAND[name]
    found = data_set(name)
    entities: set[str] = set()
    relations: set[str] = set()
    for part in found.parts():
        split = part.path.removesuffix(".txt")
        source = data / pattern.format(split)
        stored = source.read_bytes()
        text = gzip.decompress(stored) if source.suffix == ".gz" else stored
        (tmp_path / part.path).write_bytes(text.replace(b"\n", end))
        require_published(part, tmp_path / part.path)
        triples = read_triples(tmp_path / part.path)
        assert len(triples) == found.triples[split]
        entities |= set(triples.entities)
        relations |= set(triples.relations)
    assert (len(entities), len(relations)) == (found.entities, found.relations)
    assert not any("\r" in label for label in entities)


def test_published_labels_are_those_at_hand(data: Path):
    for file in data_set("kgc-sparsity").files:
        require_published(file, data / "kgc-sparsity" / "data" / file.path)


def test_a_mistyped_name_is_told_with_the_nearest():
    with pytest.raises(KgtrecError, match=r"^no data set 'fb15k237'; did you mean fb15k-237\?; there are fb15k-237, "):
        data_set("fb15k237")
    assert data_set("FB15k-237") is data_set("fb15k-237")


def test_the_table_has_a_row_per_data_set():
    """With null where nothing is known."""
    (table,) = list_data_sets(unconfirmed=True).tables()
    rows = {row["name"]: row for row in table.data.to_pylist()}
    assert list(rows) == [found.name for found in EVERY]
    assert (rows["wn18rr"]["entities"], rows["wn18rr"]["test"], rows["wn18rr"]["bytes"]) == (40_943, 3_134, 892_861)
    assert rows["kgc-sparsity"]["train"] is None
    assert rows["yago3-10"]["bytes"] is None
    assert "unconfirmed" not in [column.name for column in list_data_sets().tables()[0].columns]


def test_git_calls_a_file_by_its_size_and_bytes(tmp_path: Path):
    """``git hash-object`` of "hello\\n"; and a file with another id is refused."""
    path = tmp_path / "hello"
    path.write_bytes(b"hello\n")
    assert git_blob_of(path) == "ce013625030ba8dba906f756967f9e9ca394464a"
    require_published(DataFile("hello", git_blob="ce013625030ba8dba906f756967f9e9ca394464a"), path)
    require_published(DataFile("hello", size=6, sha256=sha256(b"hello\n")), path)
    path.write_bytes(b"hallo\n")
    with pytest.raises(KgtrecError, match=r"expected git's id ce013625030b\.\.\., found "):
        require_published(DataFile("hello", git_blob="ce013625030ba8dba906f756967f9e9ca394464a"), path)


@pytest.mark.slow
def test_files_put_in_place_by_hand_are_used(data: Path, tmp_path: Path, monkeypatch):
    """As the message asks for where there is no network."""
    from kgtrec.data_sets.get import get

    monkeypatch.setenv("KGTREC_DATA_CACHE", str(tmp_path))
    (tmp_path / "umls").mkdir()
    for split in SPLITS:
        (tmp_path / "umls" / f"{split}.txt").write_bytes((data / f"small/umls/{split}.tsv").read_bytes())
    assert get("umls") == tmp_path / "umls"
    shutil.copytree(data / "kgc-sparsity" / "data", tmp_path / "kgc-sparsity")
    assert len(read_kgc_sparsity(get("kgc-sparsity")).pool) > 0
