"""Files that released versions have written are read, and hold the same; a file of a later version is refused."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kgtrec import pool_runs
from kgtrec.cli import main
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.parquet import with_metadata
from kgtrec.formats.versions import FORMATS, require_version
from tests.released.contents import READERS, contents_of
from tests.released.make import make

HERE = Path(__file__).parent
VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / "expected.json.gz").exists())
LARGEST = 300_000  # bytes of a version's examples


def expected_of(version: str) -> dict[str, Any]:
    """What the files held for the version that wrote them."""
    return json.loads(gzip.decompress((HERE / version / "expected.json.gz").read_bytes()))


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version in VERSIONS for name in expected_of(version)]
)
def test_what_a_version_wrote_is_read(version: str, name: str):
    """Questions, ranks, scores, grades, verdicts and all else are what they were."""
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
    assert json.loads(json.dumps(contents_of(HERE / version, name))) == expected_of(version)[name]


@pytest.mark.parametrize("version", VERSIONS)
def test_examples_are_small_and_of_no_machine(version: str):
    """Nothing in them names a folder of the machine that made them."""
    contents = [path.read_bytes() for path in (HERE / version).rglob("*") if path.is_file()]
    assert sum(map(len, contents)) < LARGEST
    homes = [str(place).encode() for place in (Path.home(), HERE.parents[1], "/tmp/", "/home/")]  # noqa: S108
    assert not [home for home in homes for data in contents if home in data]


@pytest.mark.slow
def test_what_this_version_writes_holds_the_same(tmp_path: Path):
    """As the newest release, in the same names."""
    make(tmp_path / "now")
    texts = [
        gzip.decompress((folder / "expected.json.gz").read_bytes())
        for folder in (tmp_path / "now", HERE / VERSIONS[-1])
    ]
    found, before = (json.loads(text, parse_float=lambda value: float(f"{float(value):.10g}")) for text in texts)
    assert found == before


def _in_json(place: str, key: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / place
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: 99}))

    return change


def _in_parquet(place: str, kind: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        table = pq.read_table(folder / place)
        about = json.loads(table.schema.metadata[b"kgtrec"])
        assert about["format"] == kind
        pq.write_table(table.cast(with_metadata(table.schema, about | {"version": 99})), folder / place)

    return change


LATER = {
    "a collection": ("collection", _in_json("collection/manifest.json", "collection_format")),
    "a campaign": ("campaign", _in_json("campaign/campaign.json", "campaign_format")),
    "qrels of a campaign": ("qrels-alone/qrels.txt", _in_json("qrels-alone/report.json", "qrels_format")),
    "a study": ("study", _in_json("study/manifest.json", "study_format")),
    "the origin of a file": ("ranks/rules.run.gz", _in_json("ranks/rules.run.gz.json", "version")),
    "factors": ("factors", _in_json("factors/factors.json", "version")),
    "answer ranks": ("ranks/rules.ranks.parquet", _in_parquet("ranks/rules.ranks.parquet", "answer ranks")),
    "run": ("ranks/random.parquet", _in_parquet("ranks/random.parquet", "run")),
    "qrels": ("qrels.parquet", _in_parquet("qrels.parquet", "qrels")),
}


def test_every_format_with_a_version_is_here():
    """Tables, which pandas reads and kgtrec does not, have one too."""
    assert LATER.keys() == FORMATS.keys() - {"table"}
    about = pq.read_schema(HERE / VERSIONS[-1] / "scores.parquet").metadata[b"kgtrec"]
    assert json.loads(about) == {"version": FORMATS["table"][-1], "format": "table"}


@pytest.mark.parametrize("kind", LATER)
def test_a_file_of_a_later_version_is_refused(tmp_path: Path, kind: str):
    """The error names the version found, those that are read, and the way out."""
    shutil.copytree(HERE / VERSIONS[-1], tmp_path / "later")
    name, change = LATER[kind]
    change(tmp_path / "later")
    with pytest.raises(FormatError) as caught:
        contents_of(tmp_path / "later", name)
    versions = " or ".join(map(str, sorted(set(FORMATS[kind]))))
    told = (
        f"expected {kind} of format version {versions}, found version 99; a later kgtrec wrote it, so upgrade this one"
    )
    assert told in str(caught.value)


def test_an_example_is_of_every_reader():
    """A format that comes later is in the examples of the version that brings it."""
    assert READERS.keys() == expected_of(VERSIONS[-1]).keys()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("collection/manifest.json", '{"collection_format": 99}'),
        ("campaign/campaign.json", '{"campaign_format": 99}'),
        ("qrels-alone/report.json", '{"qrels_format": 99}'),
        ("factors/factors.json", '{"format": "factors", "version": 99}'),
    ],
)
def test_check_finds_a_later_version_whose_other_keys_are_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, text: str
):
    """The version is looked at before anything else in the file."""
    folder = Path(place).parent.name
    shutil.copytree(HERE / VERSIONS[-1] / folder, tmp_path / folder)
    (tmp_path / place).write_text(text)
    with pytest.raises(SystemExit) as caught:
        main(["check", str(tmp_path / folder)])
    assert caught.value.code == 2
    assert "found version 99; a later kgtrec wrote it" in capsys.readouterr().out


def test_a_version_that_is_text_is_shown_as_text():
    """Not as the number that was expected, and without control characters."""
    with pytest.raises(FormatError, match=r"of format version 2, found version '2\\x1b'; make it again"):
        require_version("2\x1b", "a collection", "manifest.json")


def test_a_path_is_no_collection_to_pool_for():
    """As in kgtrec.evaluate."""
    with pytest.raises(KgtrecError, match="expected a collection, found 'C'; kgtrec"):
        pool_runs("C", [])  # type: ignore[arg-type]
