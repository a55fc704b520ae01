"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


class _Namespace(ModuleType):
    """A package that offers names of other modules, also where a module is named after its verb."""

    def __setattr__(self, name: str, value: Any) -> None:
        # importing a.b.c sets c of a.b to the module: where the module is named after its verb, the verb is offered
        if isinstance(value, ModuleType) and name in self.__dict__["_homes"]:
            value = getattr(value, name, value)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_packages"]:
            return import_module(f"{self.__name__}.{name}")
        home = self.__dict__["_homes"].get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"kgtrec.{home}"), name)
        super().__setattr__(name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__dict__["_homes"], *self.__dict__["_packages"]})


def imported(home: str, name: str) -> Any:
    """Import a name of a module, which is named without ``kgtrec.``, now.

    For what is above whoever asks: a result does not import what prints it, but a notebook asks the result.
    """
    return getattr(import_module(f"kgtrec.{home}"), name)


def offer(package: str, homes: Mapping[str, Sequence[str]], packages: Sequence[str] = ()) -> list[str]:
    """Let a package offer names of other modules, each imported when it is first used.

    Type checkers read of them in ``__init__.pyi``, which ``python -m tests.stubs`` writes.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to sequence of str
        Module, without ``kgtrec.``, to the names that are taken from it.
    packages : sequence of str
        Packages within this one that are offered too.

    Returns
    -------
    list of str
        The ``__all__`` of the package.
    """
    module = sys.modules[package]
    module.__dict__["_homes"] = {name: home for home, names in homes.items() for name in names}
    module.__dict__["_packages"] = tuple(packages)
    module.__class__ = _Namespace
    return [*module.__dict__["_homes"], *packages]
