"""JSON that kgtrec wrote, or that was edited since: it always gives one value or one error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading

_BREAKS = "\x85\u2028\u2029"  # legal in JSON, but many programs read these as the end of a line


def json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    r"""Return each record as a line of JSON, whose only line breaks are those at the ends of lines.

    Examples
    --------
    >>> json_lines([{"head": "caf\u00e9"}, {"head": "a\u2028b"}]).decode()
    '{"head": "café"}\n{"head": "a\\u2028b"}\n'
    """
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    text = "".join(encode(record) + "\n" for record in records)
    for character in _BREAKS:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


def json_value(
    data: bytes, path: PathLike, *, where: str = "", way_out: str = "", first_line: int | None = None
) -> Any:
    r"""Return the value of some JSON.

    Parameters
    ----------
    data : bytes
        UTF-8, with or without a byte-order mark.
    path : path
        Its file, for errors.
    where : str
        The part of the file, for errors: "in the metadata".
    way_out : str
        The end of an error message.
    first_line : int, optional
        The line of the file that the data begin on, if they are a part of it.

    Raises
    ------
    FormatError
        If it is not JSON, not UTF-8, too deeply nested, or has a number too long to read, text that UTF-8 cannot
        encode, or a key twice in one object.

    Examples
    --------
    >>> json_value(b'{"size": 3}', "x.json")
    {'size': 3}
    >>> json_value(b"[" * 200_000, "x.json")
    Traceback (most recent call last):
    kgtrec.errors.FormatError: x.json: expected JSON, found brackets nested too deeply
    """
    line, before = first_line, (first_line or 1) - 1
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_each_once)
        if b"\\u" in data:  # an escape may encode half a character
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except _RepeatedKeyError as error:
        found = f"the key {error.args[0]!r} twice in one object"
        key = re.escape(json.dumps(*error.args, ensure_ascii=False).encode())
        places = [place.start() for place in re.finditer(key + rb"\s*:", data)]
        line = data.count(b"\n", 0, places[1]) + 1 + before if len(places) == 2 else line
    except RecursionError:
        found = "brackets nested too deeply"
    except UnicodeDecodeError as error:
        found, line = "something else (not UTF-8)", data[: error.start].count(b"\n") + 1 + before
    except UnicodeEncodeError as error:
        found = f"half a surrogate pair in a text, at the end of {error.object[max(0, error.start - 40) : error.end]!r}"
    except json.JSONDecodeError as error:
        found, line = f"something else ({error.msg.lower()})", error.lineno + before
    except ValueError:
        found = "a number too long to read"
    message = f"expected JSON{where and f' {where}'}, found {found}{way_out and f'; {way_out}'}"
    raise FormatError(message, path, line=None if where else line)


class _RepeatedKeyError(Exception):
    """The key."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for place, key in enumerate(keys) if key in keys[:place]))
    return content


def read_json(path: PathLike, *, way_out: str = "") -> Any:
    """Read the value in a JSON file.

    Raises
    ------
    FormatError
        If there is no such file, or as :func:`json_value`.
    """
    with reading(Path(path)) as stream:
        return json_value(stream.read(), path, way_out=way_out)


def read_manifest(folder: PathLike, name: str, what: str, way_out: str, *, again: str = "") -> dict[str, Any]:
    """Read the JSON object in the file that says what a folder is; empty for another value.

    Parameters
    ----------
    folder : path
    name : str
        Name of the file.
    what : str
        What the folder should be, for errors: "a collection".
    way_out : str
        The end of the error message if there is no such file.
    again : str
        That if it is no JSON.

    Raises
    ------
    FormatError
        If there is no such file, or as :func:`json_value`.
    """
    path = Path(folder, name)
    if not path.is_file():
        found = f"no {name} in it" if Path(folder).is_dir() else "a file" if Path(folder).exists() else "nothing"
        raise FormatError(f"expected the folder of {what}, found {found}; {way_out}", path=folder)
    manifest = read_json(path, way_out=again)
    return manifest if isinstance(manifest, dict) else {}
