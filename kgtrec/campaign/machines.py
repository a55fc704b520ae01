"""The verdicts of machines in a campaign: taken in beside those of people, and used only where somebody asks for them.

They are in no agreement between people and in no decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.judgements import CONFLICT, DOUBTED, OPEN, UNDRAWN, UNSURE, VERDICTS, Decisions
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.pool import Pool
from kgtrec.errors import FormatError, counted
from kgtrec.formats.campaign.machines import machine_file, read_machine, read_machine_file, write_machine
from kgtrec.formats.campaign.pools import read_pool
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.locks import campaign_lock

#: states in which a triple with a verdict has it from a machine
NOT_BY_PEOPLE = (OPEN, CONFLICT, DOUBTED, UNDRAWN)


class TakenIn(NamedTuple):
    """What became of the verdicts in files."""

    new: int
    before: int  # stored before, as they are
    corrected: int  # in place of another one
    stored: int  # triples on which the machine has a verdict now


def take_in_machine(folder: PathLike, name: str, paths: Sequence[PathLike], *, correct: bool = False) -> TakenIn:
    """Add the verdicts of files to those of a machine in the folder of a campaign, all of them or none.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    name : str
        Name of the machine: letters of ASCII, digits, dots, dashes and underscores.
    paths : sequence of paths
        JSON Lines, or tables, as :func:`kgtrec.formats.campaign.machines.read_machine_file` takes them.
    correct : bool
        Whether a verdict may take the place of another one of this machine on the triple. One that says the same
        again changes nothing.

    Raises
    ------
    FormatError
        If a file cannot be read, or says something else of a triple than was stored, without ``correct``.
    KgtrecError
        If the name cannot be that of a file.

    Examples
    --------
    See ``kgtrec campaign import --machine``.
    """
    path = machine_file(folder, name)
    with campaign_lock(folder):
        pool = read_pool(folder).pool
        said = read_machine(folder, name, pool) if path.exists() else None
        n_new = n_before = n_corrected = 0
        for source in paths:
            more = read_machine_file(source, pool)
            if said is None:
                said, n_new = more, len(more)
                continue
            _, at, at_more = np.intersect1d(said.triple, more.triple, assume_unique=True, return_indices=True)
            differs = at_more[~_are_same(said.take(at), more.take(at_more))]
            if len(differs) and not correct:
                raise FormatError(_contradiction(name, pool, said, more, differs), source)
            n_new, n_before = n_new + len(more) - len(at), n_before + len(at) - len(differs)
            n_corrected += len(differs)
            said = said.take(~np.isin(said.triple, more.triple)).joined(more)
            said = said.take(np.argsort(said.triple))
        if said is not None:
            write_machine(folder, name, pool, said)
    return TakenIn(n_new, n_before, n_corrected, 0 if said is None else len(said))


def _are_same(one: MachineVerdicts, other: MachineVerdicts) -> NDArray[np.bool_]:
    """Whether two verdicts on each triple are the same in all that they say."""
    same = (one.verdict == other.verdict) & (
        (one.probability == other.probability) | (np.isnan(one.probability) & np.isnan(other.probability))
    )
    for name in ("reason", "model", "prompt"):
        texts = (getattr(said, name).to_pylist() for said in (one, other))
        same &= np.array([text == again for text, again in zip(*texts, strict=True)], np.bool_)
    return same


def _contradiction(
    name: str, pool: Pool, said: MachineVerdicts, more: MachineVerdicts, differs: NDArray[np.intp]
) -> str:
    row = int(differs[0])
    before, now = said.take(said.triple == more.triple[row]), more.take(np.array([row]))
    texts = [f"{VERDICTS[each.verdict[0]]} (probability {each.probability[0]:.4g})" for each in (before, now)]
    return (
        f"expected what {name} said before of {' '.join(pool.triples.labels_at(int(more.triple[row])))}, {texts[0]}, "
        f"found {texts[1]} or another reason, model or prompt, and {counted(len(differs), 'such triple')} in all; "
        "give --correct to replace them, or another name to --machine"
    )


def with_machine(decisions: Decisions, said: MachineVerdicts) -> Decisions:
    """Fill in the Y and N of a machine where people have not settled a triple; what people say always wins.

    The states stay. A triple with a verdict that is still open, or waits for an adjudicator, has it from the machine.
    One that an adjudicator could not decide stays unjudged.

    Parameters
    ----------
    decisions : Decisions
        By people, one per triple of the pool.
    said : MachineVerdicts
        What the machine said of the same pool.

    Examples
    --------
    >>> from kgtrec.data.arrow import labels_of
    >>> texts = labels_of(["", "", ""])
    >>> said = MachineVerdicts(np.arange(3), np.array([0, 1, 2]), np.full(3, np.nan), texts, texts, texts)
    >>> decisions = Decisions(np.array([2, 1, 1]), np.array([1, -1, -1]))  # agreed, open, open
    >>> with_machine(decisions, said).verdict.tolist()
    [1, 1, -1]
    """
    verdict, _ = said.of_pool(len(decisions))
    is_filled = (decisions.verdict < 0) & np.isin(decisions.state, NOT_BY_PEOPLE) & (verdict >= 0) & (verdict != UNSURE)
    return replace(decisions, verdict=np.where(is_filled, verdict, decisions.verdict))


def is_by_machine(decisions: Decisions) -> NDArray[np.bool_]:
    """Find the triples whose verdict :func:`with_machine` has filled in, (n,)."""
    return (decisions.verdict >= 0) & np.isin(decisions.state, NOT_BY_PEOPLE)
