"""Configurations of studies for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def study_toml(title: str = "T", *, labels: Mapping[str, Mapping[str, Any]] | None = None, **sections: Any) -> str:
    """A configuration with these sections; ``labels``: name of each label set -> its options."""
    tables = [("", {"title": title}), *((f"[{name}]\n", options) for name, options in sections.items())]
    tables[2:2] = [("[[labels]]\n", {"name": name, **options}) for name, options in (labels or {}).items()]
    return "".join(
        head + "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items()) for head, options in tables
    )


ALL = {"all": {"kind": "test"}}


def sample(size: float) -> dict[str, Any]:
    """All test triples, and a sample of them."""
    return {**ALL, "some": {"kind": "sample", "size": size}}


#: judgements of a file beside the configuration
MORE = {"more": {"kind": "qrels", "file": "more.txt"}}
