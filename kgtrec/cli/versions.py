"""What kgtrec --version prints."""

from __future__ import annotations

import platform
from importlib.metadata import version

#: packages that compute, match or store the numbers
_PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "ir-measures", "pytrec-eval-terrier")


def versions() -> dict[str, str]:
    """Return the versions of kgtrec, of Python and of the packages that the numbers depend on; imports none of them."""
    return {
        "kgtrec": version("kgtrec"),
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
