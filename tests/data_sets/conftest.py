"""The registry is the real one again after each test."""

from __future__ import annotations

import pytest

from kgtrec.data_sets import registry


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    yield
    monkeypatch.undo()
    registry._read.cache_clear()
