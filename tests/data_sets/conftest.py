"""The registry is the real one again after each test."""

from __future__ import annotations

import pytest

from kgtrec.data_sets import download, registry


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    yield
    monkeypatch.undo()
    registry._read.cache_clear()
