"""A data set by its name: cache, mirror, by hand, and several programs at once."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kgtrec
from kgtrec.data_sets import cache_folder, get
from kgtrec.data_sets.get import folder_of
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.formats.triples import find_splits, read_triples
from tests.data_sets_by_hand import SPLITS, install, record, serving, sha256, tar_gz, write, zipped

ARCHIVE = tar_gz(SPLITS)
MEMBERS = [record(name, data) for name, data in SPLITS.items()]


def registry(url: str) -> dict[str, dict[str, object]]:
    """One data set in an archive, one of single files in folders, and two that are not confirmed."""
    return {
        "packed": {"files": [record("packed.tar.gz", ARCHIVE, f"{url}/packed.tar.gz", members=MEMBERS)]},
        "plain": {
            "files": [
                record(f"deep/{name}", data, f"{url}/plain/{name}", size=len(data)) for name, data in SPLITS.items()
            ],
            "layout": "labels",
        },
        "by-hand": {
            "files": [{"path": f"{split}.txt", "url": f"{url}/{split}.txt"} for split in ("train", "valid", "test")],
            "unconfirmed": "nobody has seen it",
        },
        "half-known": {
            "files": [
                {
                    "path": "half.tar.gz",
                    "url": f"{url}/half.tar.gz",
                    "git_blob": "0" * 40,
                    "members": [{"path": name} for name in SPLITS],
                }
            ],
            "unconfirmed": "only git has seen it",
        },
    }


@pytest.fixture
def server(monkeypatch, tmp_path):
    files = {"/packed.tar.gz": ARCHIVE, **{f"/plain/{name}": data for name, data in SPLITS.items()}}
    with serving(files=files) as running:
        install(monkeypatch, tmp_path, registry(running.url))
        yield running


@pytest.fixture
def cache(server, tmp_path) -> Path:
    return tmp_path / "cache"


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def refused(name: str, message: str, kind: type[KgtrecError] = KgtrecError) -> None:
    with pytest.raises(kind, match=message):
        get(name)


def offline(monkeypatch, tmp_path: Path) -> str:
    """A registry whose server does not listen; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    install(monkeypatch, tmp_path, registry(url))
    return url


def test_it_is_downloaded_once(server, cache):
    """The folder holds the splits and the archive, which can serve as a mirror; the second time nobody is asked."""
    assert get("packed") == cache / "packed"
    assert contents(cache / "packed") == {**SPLITS, "packed.tar.gz": ARCHIVE}
    assert kgtrec.data_sets.get("PACKED") == cache / "packed"
    assert server.asked == ["/packed.tar.gz"]


def test_files_in_folders(server, cache):
    get("plain")
    assert contents(cache / "plain") == {f"deep/{name}": data for name, data in SPLITS.items()}


def test_what_is_open_to_others_elsewhere_is_so_here(server, cache):
    """Not only to its owner, as temporary files are."""
    before = os.umask(0o022)
    try:
        get("packed")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (cache / "packed").iterdir() if path.name != ".lock"} == {0o644}


def test_a_missing_member_comes_out_of_the_archive_again(server, cache):
    get("packed")
    (cache / "packed" / "valid.txt").unlink()
    get("packed")
    assert contents(cache / "packed") == {**SPLITS, "packed.tar.gz": ARCHIVE}
    assert len(server.asked) == 1


def test_without_its_archive_it_is_complete(server, cache):
    """Put in place by hand, for instance."""
    write(cache / "packed", SPLITS)
    assert get("packed") == cache / "packed"
    assert server.asked == []


@pytest.mark.parametrize("name", ["train.txt", "packed.tar.gz"])
def test_a_changed_file_is_refused_and_stays(server, cache, name):
    """It may be somebody's; and it is never used."""
    write(cache / "packed", {name: b"mine"})
    refused("packed", rf"{name}:.*found 4", FormatError)
    assert (cache / "packed" / name).read_bytes() == b"mine"
    same_size = bytes(len(SPLITS["train.txt"]))
    write(cache / "packed", {"train.txt": same_size})
    refused("packed", r"train\.txt: expected SHA-256 ", FormatError)


def test_a_folder_in_the_place_of_a_file(server, cache):
    (cache / "packed" / "train.txt").mkdir(parents=True)
    refused("packed", r"train\.txt:.*file", FormatError)


def test_a_wrong_checksum(server, cache):
    server.files["/packed.tar.gz"] = bytes(len(ARCHIVE))
    refused("packed", r"packed:.*published")
    assert contents(cache) == {}


def test_no_network(monkeypatch, tmp_path):
    """One line with the URL and the place; put there, the file is taken."""
    url = offline(monkeypatch, tmp_path)
    place = tmp_path / "cache" / "packed" / "packed.tar.gz"
    with pytest.raises(KgtrecError) as told:
        get("packed")
    assert str(told.value) == (
        f"packed: cannot download {url}/packed.tar.gz: no connection; put that file at {place} and run the same "
        "command again, or name a mirror in KGTREC_DATA_MIRROR"
    )
    place.write_bytes(ARCHIVE)
    assert get("packed") == place.parent


def test_a_mirror_by_url(server, cache, monkeypatch):
    """It has the files as the cache does, and nothing else is asked."""
    with serving(files={"/m/packed/packed.tar.gz": ARCHIVE}) as mirror:
        monkeypatch.setenv("KGTREC_DATA_MIRROR", f"{mirror.url}/m/")
        get("packed")
        assert mirror.asked == ["/m/packed/packed.tar.gz"]
    assert server.asked == []


def test_a_mirror_that_is_a_folder(server, cache, monkeypatch, tmp_path):
    """Another cache is one. What is there is checked as if it had been downloaded."""
    write(tmp_path / "mirror", {"packed/packed.tar.gz": ARCHIVE})
    monkeypatch.setenv("KGTREC_DATA_MIRROR", str(tmp_path / "mirror"))
    assert contents(get("packed")) == {**SPLITS, "packed.tar.gz": ARCHIVE}
    refused("plain", r"mirror/plain/deep/train\.txt:.*file")
    write(tmp_path / "mirror", {"plain/deep/train.txt": b"other"})
    refused("plain", r"plain:.*published")
    assert server.asked == []
    assert contents(cache / "plain") == {}


def test_a_mirror_of_another_protocol(server, cache, monkeypatch):
    monkeypatch.setenv("KGTREC_DATA_MIRROR", "ftp://example.org")
    refused("packed", r"KGTREC_DATA_MIRROR:.*https")


def test_nothing_stays_of_a_download_that_was_cut_off(server, cache):
    """The same command tries again."""
    server.cuts = [100]
    refused("packed", r"packed\.tar\.gz:.*connection")
    assert contents(cache) == {}
    assert contents(get("packed")) == {**SPLITS, "packed.tar.gz": ARCHIVE}


@pytest.mark.parametrize(
    ("served", "message"),
    [(b"<html>log in</html>", r"expected [\d,]+ bytes, found 19; nothing"), (bytes(100_000), "found more; nothing")],
)
def test_another_size(server, cache, served, message):
    """Such as the page of a network that wants a password."""
    server.files["/packed.tar.gz"] = served
    refused("packed", message)
    assert contents(cache) == {}


def test_what_is_not_confirmed_is_not_downloaded(server, cache):
    """It says why, and where each file is to be put; nothing is made."""
    with pytest.raises(KgtrecError) as told:
        get("by-hand")
    assert str(told.value) == (
        "by-hand: is not downloaded, since its checksums are not confirmed (nobody has seen it); put "
        + ", ".join(f"{server.url}/{split} at {cache / 'by-hand' / split}" for split in SPLITS)
        + " and run the same command again"
    )
    assert not cache.exists()
    assert server.asked == []


def test_what_is_not_confirmed_is_read_where_it_was_put(server, cache):
    """With a warning, since nothing could be compared."""
    write(cache / "by-hand", SPLITS)
    with pytest.warns(KgtrecWarning, match="published"):
        assert get("by-hand") == cache / "by-hand"


def test_an_archive_of_which_git_knows_the_id(server, cache, monkeypatch, tmp_path):
    """Another one is refused; what comes out of the right one is used without a warning."""
    write(cache / "half-known", {"half.tar.gz": ARCHIVE})
    refused("half-known", r"half\.tar\.gz: expected git's id 000000000000\.\.\., found ", FormatError)
    from kgtrec.data_sets.sums import git_blob_of

    data_sets = registry(server.url)
    data_sets["half-known"]["files"][0]["git_blob"] = git_blob_of(cache / "half-known" / "half.tar.gz")
    install(monkeypatch, tmp_path, data_sets)
    assert contents(get("half-known")) == {**SPLITS, "half.tar.gz": ARCHIVE}
    get("half-known")
    (cache / "half-known" / "half.tar.gz").unlink()
    with pytest.warns(KgtrecWarning, match="only git has seen it"):
        get("half-known")


def test_a_folder_comes_before_a_data_set(server, cache, tmp_path, monkeypatch):
    """One that exists; a path with a folder in it is no name."""
    monkeypatch.chdir(tmp_path)
    assert folder_of("packed") == cache / "packed"
    (tmp_path / "packed").mkdir()
    assert folder_of("packed") == Path("packed")
    assert folder_of("./plain") == Path("plain")
    assert folder_of("some/where") == Path("some/where")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("packd", r"packd:.*found neither"),
        ("zzz", r"zzz:.*found neither"),
        ("plain", r"plain:.*found published labels"),
    ],
)
def test_no_folder_and_no_data_set(server, cache, text, message):
    with pytest.raises(KgtrecError, match=message):
        folder_of(text)
    assert server.asked == []


def test_a_data_set_of_ogb_put_in_place_by_hand(server, tmp_path, monkeypatch):
    """What its archive has under other names is where the readers of splits look for it."""
    split = pickle.dumps({"head": np.array([0]), "relation": np.array([0]), "tail": np.array([1])})
    files = {
        **{f"kg-v2/split/time/{name}.pt": split for name in ("train", "valid", "test")},
        "kg-v2/mapping/nodeidx2entityid.csv.gz": gzip.compress(b"node idx,entity id\n0,Q1\n1,Q2\n"),
        "kg-v2/mapping/reltype2relid.csv.gz": gzip.compress(b"reltype,rel id\n0,P1\n"),
    }
    members = [{"member": name, "path": name.removeprefix("kg-v2/")} for name in files]
    about = {"files": [{"path": "kg.zip", "url": "http://x/kg.zip", "members": members}], "unconfirmed": "unseen"}
    cache = install(monkeypatch, tmp_path, {"kg": {**about, "layout": "ogb"}})
    write(cache / "kg", {"kg.zip": zipped({**files, "kg-v2/raw/edge.csv.gz": b"not needed"})})
    with pytest.warns(KgtrecWarning, match="unseen"):
        train, *_ = find_splits(folder_of("kg"))
    assert list(read_triples(train).entities) == ["Q1", "Q2"]
    assert not (cache / "kg" / "raw").exists()


PROGRAM = """
import sys
from pathlib import Path
from kgtrec.data_sets import registry
registry._REGISTRY = Path(sys.argv[1])
from kgtrec.data_sets import get
from kgtrec.errors import KgtrecError
try:
    print(get("packed"))
except KgtrecError as error:
    print(error)
    sys.exit(2)
"""


def program(tmp_path: Path, before: str = "") -> subprocess.Popen[str]:
    """Another program that asks for the data set."""
    command = [sys.executable, "-c", before + PROGRAM, str(tmp_path / "registry.toml")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_two_programs_at_once(server, cache, tmp_path):
    """Both have it, and one of them has downloaded it."""
    both = [program(tmp_path) for _ in range(2)]
    assert [running.communicate(timeout=60)[0] for running in both] == [f"{cache / 'packed'}\n"] * 2
    assert server.asked == ["/packed.tar.gz"]
    assert contents(cache / "packed") == {**SPLITS, "packed.tar.gz": ARCHIVE}


def test_a_full_disk(server, cache, tmp_path):
    """Here a file may have no more than 100 bytes; with more room the download goes on."""
    pytest.importorskip("resource")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    said, _ = (running := program(tmp_path, limit)).communicate(timeout=60)
    assert running.returncode == 2
    assert said.startswith(
        f"{cache / 'packed'}: cannot write here: File too large; make room, or name another folder in"
    )
    assert contents(get("packed")) == {**SPLITS, "packed.tar.gz": ARCHIVE}


def test_a_cache_that_cannot_be_made(server, cache):
    cache.write_text("a file")
    refused("packed", r"cache/packed:.*room", FormatError)


def test_where_the_cache_is(monkeypatch, tmp_path):
    """The user's cache, unless a variable says otherwise."""
    monkeypatch.delenv("KGTREC_DATA_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder().name == "kgtrec"
    assert tmp_path in cache_folder().parents
    monkeypatch.setenv("KGTREC_DATA_CACHE", "~/data")
    assert cache_folder() == tmp_path / "data"


@pytest.mark.slow
def test_nothing_of_pooch_is_loaded_until_something_is_fetched():
    """Nor of what it needs."""
    code = (
        "import sys, kgtrec.cli.data.list, kgtrec.cli.data.get, kgtrec.cli.questions\n"
        "from kgtrec.data_sets import list_data_sets; list_data_sets().tables()\n"
        "print(sorted({'pooch', 'requests', 'urllib3', 'http.client'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_the_checksum_in_the_registry_of_this_test_is_that_of_the_archive():
    assert registry("")["packed"]["files"][0]["sha256"] == sha256(ARCHIVE)
