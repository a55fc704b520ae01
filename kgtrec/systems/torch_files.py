"""Files that torch wrote: what is read, and when."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.systems.adapter import ReadOptions
from kgtrec.systems.kinds import Scoring


def torch_of(what: str, packages: str = "torch") -> Any:
    """Import the package torch, which only such models need.

    Parameters
    ----------
    what : str
        What needs it, for the message: "a PyKEEN model".
    packages : str
        What to install, for the message.

    Raises
    ------
    KgtrecError
        If it is not installed.
    """
    try:
        import torch
    except ImportError:
        raise KgtrecError(f"{what} needs torch, which is not installed here: pip install {packages}") from None
    return torch


def require_device(device: Any) -> None:
    """Refuse a device that torch cannot compute on here; None is the processor.

    Raises
    ------
    KgtrecError
        With the kinds of devices that there are.
    """
    if device is None:
        return
    torch = torch_of(f"the device {device}")
    try:
        torch.zeros(1, device=device)
    except Exception as error:  # an AssertionError or a RuntimeError, by what is missing
        there = ["cpu", *["cuda"] * torch.cuda.is_available(), *["mps"] * torch.backends.mps.is_available()]
        why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise KgtrecError(
            f"expected a device that torch finds on this machine ({', '.join(there)}), found {str(device)!r}: {why}"
        ) from None


def torch_scoring(model: Any, score: Callable[..., Any]) -> Scoring:
    """Score in inference mode; ``score`` takes anchors and relations as tensors on the model's device."""
    torch = torch_of("a model")

    def scores(anchor: NDArray[np.int64], relation: NDArray[np.int64]) -> Any:
        where = getattr(model, "device", None) or next(model.parameters()).device
        numbers = (torch.as_tensor(each, dtype=torch.long, device=where) for each in (anchor, relation))
        with torch.inference_mode():
            return score(*numbers)

    return scores


def load_trusted(path: Path, what: str, options: ReadOptions, packages: str = "torch") -> Any:
    """Read a pickle of a whole model, which can run any code, and so only with the user's permission.

    ``packages`` are what to install where torch is missing.

    Raises
    ------
    KgtrecError
        If the user did not give it, torch is not installed, or the device is not there.
    FormatError
        If the file is damaged.
    """
    if not options.trust:
        raise FormatError(
            f"{what} is saved as a pickle, and reading a pickle can run any code that its author put there; if you "
            "made it, or trust who did, say --trust (trust=True in Python)",
            path,
        )
    torch = torch_of(what, packages)
    require_device(options.device)
    try:
        return torch.load(path, map_location=options.device or "cpu", weights_only=False)  # nosec B614 # refused above without --trust
    except ImportError as error:
        raise FormatError(f"{what} needs a package that is not installed here: {error}", path) from None
    except Exception as error:  # whatever a damaged pickle raises
        raise FormatError(f"expected {what}, found a file that torch cannot read: {error}", path) from None


def load_tensors(path: Path, what: str, *, stand_ins: Sequence[str] = ()) -> Any:
    """Read a checkpoint of tensors, numbers, texts, lists and mappings; nothing in it is run.

    Parameters
    ----------
    path : Path
    what : str
        What should be in it, for messages: "a checkpoint of LibKGE".
    stand_ins : sequence of str
        Full names of classes whose attributes are read, without the class: an empty one stands in for it.

    Raises
    ------
    FormatError
        If the file is damaged, or holds anything else.
    KgtrecError
        If torch is not installed.
    """
    torch = torch_of(what)
    if not hasattr(torch.serialization, "safe_globals"):
        raise KgtrecError(f"{what} needs torch 2.6 or later, found {torch.__version__}: pip install --upgrade torch")
    allowed = [(type("StandIn", (), {}), name) for name in stand_ins]
    try:
        with torch.serialization.safe_globals(allowed):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged or other file raises
        raise FormatError(f"expected {what} of tensors and plain values, found {_cause(error)}", path) from None


def _cause(error: Exception) -> str:
    """What torch found, without its advice to run what the file holds."""
    text = str(error)
    if named := re.search(r"GLOBAL (\S+)", text):
        return f"{named[1]}, which reading could run"
    if "weights_only" in text:
        return "values of other kinds"
    return f"a file that torch cannot read: {(text.splitlines() or [type(error).__name__])[0][:200]}"
