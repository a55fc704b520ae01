"""JSON that kgtrec wrote, or that somebody edited since: whatever it holds, one value or one error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading


def json_value(data: bytes, path: PathLike, *, where: str = "", way_out: str = "") -> Any:
    r"""The value that some JSON stands for.

    Parameters
    ----------
    data : bytes
        UTF-8, perhaps with a byte-order mark.
    path : path
        The file that it is from, for errors.
    where : str
        In which part of the file, for errors: "in the metadata".
    way_out : str
        What an error ends in.

    Raises
    ------
    FormatError
        If it is no JSON, no UTF-8, too deeply nested, has a number too long to read, or text that UTF-8 cannot hold.

    Examples
    --------
    >>> json_value(b'{"size": 3}', "x.json")
    {'size': 3}
    >>> json_value(b"[" * 200_000, "x.json")
    Traceback (most recent call last):
    kgtrec.errors.FormatError: x.json: expected JSON, found brackets nested too deeply
    """
    line = None
    try:
        value = json.loads(data.decode("utf-8-sig"))
        json.dumps(value, ensure_ascii=False).encode()  # an escape may stand for half a character
        return value
    except RecursionError:
        found = "brackets nested too deeply"
    except UnicodeDecodeError as error:
        found, line = "something else (not UTF-8)", data[: error.start].count(b"\n") + 1
    except UnicodeEncodeError:
        found = "half a surrogate pair in a text"
    except json.JSONDecodeError as error:
        found, line = f"something else ({error.msg.lower()})", error.lineno
    except ValueError:
        found = "a number too long to read"
    place = f" {where}" if where else ""
    raise FormatError(
        f"expected JSON{place}, found {found}" + (f"; {way_out}" if way_out else ""),
        path=path,
        line=None if where else line,
    )


def read_json(path: PathLike, *, way_out: str = "") -> Any:
    """The value in a JSON file.

    Raises
    ------
    FormatError
        If there is no such file, or as :func:`json_value`.
    """
    with reading(Path(path)) as stream:
        return json_value(stream.read(), path, way_out=way_out)
