"""Data sets that are made up, and a server of this machine that has their files and can behave badly."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SPLITS = {
    "train.txt": b"ann\tlikes\ttea\nbob\tlikes\ttea\n",
    "valid.txt": b"bob\tlikes\tjam\n",
    "test.txt": b"ann\tlikes\tjam\n",
}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tar_gz(files: Mapping[str, bytes]) -> bytes:
    """An archive of these files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The same as .zip."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return stream.getvalue()


def record(path: str, data: bytes, url: str = "", **more: Any) -> dict[str, Any]:
    """A file as the registry has it."""
    return {"path": path, "size": len(data), "sha256": sha256(data)} | ({"url": url} if url else {}) | more


def registry_text(data_sets: Mapping[str, Mapping[str, Any]]) -> str:
    """A registry of these data sets, each with its files and whatever else is to be said of it."""
    lines = []
    for name, about in data_sets.items():
        options = {"title": name, "layout": "splits", "source": "https://example.org", "citation": "nobody", **about}
        lines.append(f"[{name}]")
        # JSON's texts, numbers and lists are TOML's; its objects are not
        lines += [f"{key} = {json.dumps(value)}" for key, value in options.items() if key not in ("files", "triples")]
        if "triples" in options:
            lines.append(f"triples = {_inline(options['triples'])}")
        for file in options["files"]:
            lines.append(f"[[{name}.files]]")
            for key, value in file.items():
                shown = f"[{', '.join(map(_inline, value))}]" if key == "members" else json.dumps(value)
                lines.append(f"{key} = {shown}")
    return "\n".join(lines) + "\n"


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + " }"


@dataclass
class Server:
    """What a server has, how it behaves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)  # path, with the leading /
    cuts: list[int] = field(default_factory=list)  # after how many bytes each of the next answers breaks off
    statuses: list[int] = field(default_factory=list)  # what the next requests are answered instead
    tells_length: bool = True
    pieces: int = 0  # bytes of each chunk of an answer, if it is sent in chunks
    asked: list[str] = field(default_factory=list)  # path of each request
    url: str = ""

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        """One request."""
        self.asked.append(request.path)
        data = self.files.get(request.path)
        if self.statuses or data is None:
            request.send_response(self.statuses.pop(0) if self.statuses else 404)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        request.protocol_version = "HTTP/1.1" if self.pieces else "HTTP/1.0"
        request.send_response(200)
        if self.pieces:
            request.send_header("Transfer-Encoding", "chunked")
            request.send_header("Connection", "close")
        elif self.tells_length:
            request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        if self.pieces:
            for first in range(0, len(data), self.pieces):
                piece = data[first : first + self.pieces]
                request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            request.wfile.write(b"0\r\n\r\n")
        else:
            request.wfile.write(data[: self.cuts.pop(0) if self.cuts else len(data)])


@contextmanager
def serving(**options: Any) -> Iterator[Server]:
    """A server of this machine, until the block ends."""
    server = Server(**options)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        server.url = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            running.shutdown()
            thread.join()


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a folder."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def install(monkeypatch: Any, folder: Path, data_sets: Mapping[str, Mapping[str, Any]]) -> Path:
    """Make these the data sets that there are, and ``folder/cache`` their cache; gives the cache."""
    from kgtrec.data_sets import registry

    path = folder / "registry.toml"
    path.write_text(registry_text(data_sets))
    monkeypatch.setattr(registry, "_REGISTRY", path)
    registry._read.cache_clear()
    monkeypatch.setenv("KGTREC_DATA_CACHE", str(folder / "cache"))
    monkeypatch.delenv("KGTREC_DATA_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    return folder / "cache"
