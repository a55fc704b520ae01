"""What `import kgtrec` offers."""

from __future__ import annotations

from pathlib import Path

import kgtrec


def test_every_public_name_can_be_had():
    for name in kgtrec.__all__:
        assert getattr(kgtrec, name) is not None


def test_no_public_name_is_that_of_a_module():
    """Or it would be the module as soon as somebody has imported it."""
    modules = {path.stem for path in Path(kgtrec.__file__).parent.iterdir()}
    assert not modules & set(kgtrec.__all__)
