"""Callbacks that show the progress of a long piece of work."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

#: takes how much more is done
Progress = Callable[[int], None]
#: what shows it: description, total and unit to a :data:`Progress`
ShowProgress = Callable[[str, int, str], AbstractContextManager[Progress]]
