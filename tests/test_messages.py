"""What the package says when something is wrong stands in one file."""

from __future__ import annotations

import pytest

from tests.messages import SNAPSHOT, messages, snapshot


@pytest.mark.slow
def test_the_snapshot_holds_every_message():
    """A changed wording shows in tests/messages.txt, so that it is read."""
    assert SNAPSHOT.read_text(encoding="utf-8") == snapshot(), "run: python -m tests.messages"


def test_a_message_is_found_wherever_it_is_made():
    """Raised, returned or given to a check; with its expressions left out, and once."""
    source = '''
def check(path, row):
    """Raise an error that is no message."""
    require(row, lambda at: FormatError(f"expected {at} numbers" + " in a row", path=path))
    warn("a warning of two" if row else "another one")
    raise KgtrecError(f"expected {row!r:>4} numbers in a row") from None
'''
    assert messages(source) == ["expected {} numbers in a row", "a warning of two", "another one"]
