"""What type checkers read of the packages that import their names lazily.

python -m tests.stubs        # write each __init__.pyi anew
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import kgtrec

PACKAGE = Path(kgtrec.__file__).parent


def stubs() -> dict[Path, str]:
    """By path, what each ``__init__.pyi`` has to hold."""
    found = {}
    for init in sorted(PACKAGE.rglob("__init__.py")):
        name = ".".join(("kgtrec", *init.parent.relative_to(PACKAGE).parts))
        package = import_module(name)
        homes = vars(package).get("_homes")
        if homes is None:
            continue
        by_module: dict[str, list[str]] = {}
        for public, home in homes.items():
            by_module.setdefault(f"kgtrec.{home}", []).append(public)
        by_module |= {name: list(vars(package)["_packages"])} if vars(package)["_packages"] else {}
        lines = [
            f"from {module} import {public} as {public}"
            for module in sorted(by_module)
            for public in sorted(by_module[module])
        ]
        found[init.with_suffix(".pyi")] = "\n".join(lines) + "\n"
    return found


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
