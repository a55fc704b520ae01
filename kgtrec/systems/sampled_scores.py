"""Scores of answers and of candidates sampled for each, as OGB's evaluator takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgtrec.data.sampled_ranks import Draw, SampledRanks
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.numpy_files import archived_arrays, mapped_array
from kgtrec.systems.torch_files import load_tensors

_NEEDED, _OPTIONAL = ("y_pred_pos", "y_pred_neg"), ("n_candidates", "sample")


def read_sampled_scores(
    path: PathLike, *, n_candidates: Any = None, draw: Draw = "without replacement"
) -> SampledRanks:
    """Read the input of ``ogb.linkproppred.Evaluator``, ``{'y_pred_pos': (n,), 'y_pred_neg': (n, m)}``.

    The path leads to an ``.npz`` archive with these arrays, to a folder with ``y_pred_pos.npy`` and
    ``y_pred_neg.npy``, which are mapped, or to a ``.pt`` file of torch with a dict of the tensors. Nothing in it is
    run.

    Parameters
    ----------
    path : path
        An archive or ``.pt`` file may also hold ``n_candidates`` and ``sample``, (n,) each, as for
        :meth:`SampledRanks.of`.
    n_candidates : int, optional
        How many candidates each sample was drawn from, where the file does not say.
    draw : {"without replacement", "with replacement"}

    Returns
    -------
    SampledRanks
        Under the name of the file.

    Raises
    ------
    FormatError
        If the file is missing, damaged or lacks an array, or nothing says how many candidates there are.
    """
    path = Path(path)
    if path.is_dir():
        arrays: dict[str, Any] = {name: mapped_array(path / f"{name}.npy") for name in _NEEDED}
    elif path.suffix.lower() in (".pt", ".pth"):
        what = "a dict of y_pred_pos and y_pred_neg"
        arrays = load_tensors(path, what)
        if not isinstance(arrays, dict) or any(name not in arrays for name in _NEEDED):
            keys = ", ".join(map(str, arrays)) if isinstance(arrays, dict) else type(arrays).__name__
            raise FormatError(f"expected {what}, found {keys}", path)
    else:
        arrays = archived_arrays(path, _NEEDED, _OPTIONAL)
    if (total := arrays.get("n_candidates", n_candidates)) is None:
        raise FormatError(
            "expected the number of candidates that each sample was drawn from, found none; give --candidates-total "
            "(n_candidates=), such as the number of entities, or an array n_candidates beside the scores",
            path,
        )
    positive, negative = (arrays[name] for name in _NEEDED)
    with in_file(path, name=path.stem):
        return SampledRanks.of_scores(
            path.stem, positive, negative, n_candidates=total, draw=draw, sample=arrays.get("sample")
        )
