"""A reader of the page that shares no code with what writes it: the format is that of docs/explore.md."""

from __future__ import annotations

import base64
import gzip
import json
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np

_BYTES = {"u8": 1, "u16": 2, "u32": 4}


class Page(HTMLParser):
    """The scripts of a page, by their ids, as a browser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: dict[str, str] = {}
        self._id = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._id = dict(attrs).get("id", "") if tag == "script" else ""

    def handle_data(self, data):
        if self._id:
            self.scripts[self._id] = self.scripts.get(self._id, "") + data

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.scripts["explore"])

    def slice(self, name: str) -> dict[str, Any]:
        return columns_of(gzip.decompress(base64.b64decode(self.scripts[f"slice-{name}"])))


def columns_of(raw: bytes) -> dict[str, Any]:
    """The columns of an unpacked slice, number by number."""
    size = int.from_bytes(raw[:4], "little")
    at, columns = _after(4 + size), {}
    for head in json.loads(raw[4 : 4 + size]):
        n = int(np.prod(head["shape"])) if "shape" in head else head["length"]
        if head["type"] == "text":
            bounds = [int.from_bytes(raw[at + 4 * i : at + 4 * i + 4], "little") for i in range(n + 1)]
            at = _after(at + 4 * (n + 1))
            columns[head["name"]] = [raw[at + a : at + b].decode() for a, b in pairwise(bounds)]
            at = _after(at + bounds[-1])
            continue
        if head["type"] == "f64":
            columns[head["name"]] = np.frombuffer(raw, "<f8", n, at).reshape(head["shape"])
            at = _after(at + 8 * n)
            continue
        levels = np.frombuffer(raw, "<f8", head.get("levels", 0), at)
        at += levels.nbytes
        width = _BYTES[head["type"]]
        whole = []
        for i in range(n):
            places = range(at + width * i, at + width * i + width)
            if "levels" not in head and "from" not in head:
                places = range(at + i, at + i + n * width, n)
            value = sum(raw[place] << 8 * j for j, place in enumerate(places))
            whole.append((value + (whole[-1] if head.get("delta") and whole else 0)) % 256**width)
        at = _after(at + n * width)
        values = np.array(whole, np.int64)
        if "levels" in head:
            values = levels[values]
        elif "from" in head:
            values = (values + head["from"]) / 10.0 ** head["decimals"]
        columns[head["name"]] = values.reshape(head["shape"])
    assert at == len(raw)
    return columns


def _after(place: int) -> int:
    return -(-place // 8) * 8
