"""The report of a collection as text: what `kgtrec questions` prints and writes to report.txt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgtrec.data.collection import has_validation
from kgtrec.data.triples import SPLITS

_BAR = 40  # characters of the longest bar
_SIDES = ("head", "tail", "all")


def report_text(report: Mapping[str, Any]) -> str:
    """Return the report of :func:`kgtrec.build_questions`, as aligned lines that end in a newline.

    Parameters
    ----------
    report : mapping
        ``Collection.report``; an empty one (of a collection made by hand) gives one line that says so.

    Returns
    -------
    str
    """
    if not report:
        return "no report: this collection was not made by kgtrec questions\n"
    checks = _alignment(report) if "alignment" in report else _checks(report)
    blocks = (_triples(report), _questions(report), _histogram(report), _categories(report), checks)
    return "\n".join("".join(f"{line.rstrip()}\n" for line in block) for block in blocks)


def _triples(report: Mapping[str, Any]) -> Iterator[str]:
    counts = {"triples read": "triples_read", "triples used": "triples", "known answers": "known"}
    rows = [[label, *(_number(report[key][name]) for name in SPLITS)] for label, key in counts.items()]
    yield from _aligned([["", *SPLITS], *rows])
    yield f"entities {report['entities']:,}, relations {report['relations']:,}"
    if not has_validation(report):
        yield "no validation split"


def _questions(report: Mapping[str, Any]) -> Iterator[str]:
    rows = [["", *_SIDES], ["questions", *(_number(report["questions"][side]) for side in _SIDES)]]
    spread = report["answers_per_question"]
    rows += [
        [f"answers, {name}", *(_number(spread[side][name]) for side in _SIDES)]
        for name in ("min", "median", "mean", "max")
    ]
    yield from _aligned(rows)


def _histogram(report: Mapping[str, Any]) -> Iterator[str]:
    bins = report["histogram"]
    most = max(item["questions"] for item in bins)
    rows = [["answers", "questions", ""]]
    for item in bins:
        span = str(item["to"]) if item["from"] == item["to"] else f"{item['from']}-{item['to']}"
        # every bin that is not empty is visible
        length = -(-_BAR * item["questions"] // most)
        rows.append([span, _number(item["questions"]), "#" * length])
    yield from _aligned(rows, left=(2,))


def _categories(report: Mapping[str, Any]) -> Iterator[str]:
    found = {name: counts for name, counts in report["categories"].items() if name != "none" or counts["relations"]}
    triples = max(1, sum(counts["test_triples"] for counts in found.values()))
    rows = [["category", "relations", "test triples", "share"]]
    for name, counts in found.items():
        share = f"{counts['test_triples'] / triples:.1%}"
        rows.append([name, _number(counts["relations"]), _number(counts["test_triples"]), share])
    yield from _aligned(rows)
    options = report["options"]
    used = [split for split in options["categories_from"] if report["triples_read"][split]]
    yield f"a side is N from a mean of {options['threshold']:g} entities, over {' + '.join(used)}"


def _alignment(report: Mapping[str, Any]) -> Iterator[str]:
    """What is reported instead of the checks in a collection of ``kgtrec align``."""
    about = report["alignment"]
    whom = "entities of the test alignments" if about["candidates"] == "test" else "all entities of a side"
    yield f"entity alignment; candidates are {whom}:"
    yield f"{about['right_candidates']:,} right ones for tail questions (from left to right),"
    yield f"{about['left_candidates']:,} left ones for head questions (from right to left)"
    yield f"repeated test alignments: {report['repeated']['test']:,}, counted once"
    used, read = report["triples"]["train"], about["train_alignments"]
    yield f"train alignments: {read:,}, {used:,} of them between candidates, where they are no wrong answers"


def _checks(report: Mapping[str, Any]) -> Iterator[str]:
    repeated, leaked = report["repeated"], report["leaked"]
    rows = [["check", "found", "policy"]]
    found = ", ".join(f"{repeated[name]:,} {name}" for name in SPLITS)
    rows.append(["repeated triples", found, f"--repeated {repeated['policy']}"])
    found = f"{leaked['test_in_train']:,} in train, {leaked['test_in_valid']:,} in valid"
    rows.append(["test triples leaked", found, f"--leaked {leaked['policy']}"])
    for kind in ("entities", "relations"):
        counts = report[f"unseen_{kind}"]
        found = f"{counts[kind]:,}, in {counts['valid_triples']:,} valid and {counts['test_triples']:,} test triples"
        rows.append([f"{kind} not in train", found, f"--unseen-{kind} {counts['policy']}"])
    yield from _aligned(rows, left=(1, 2))
    if sample := report["sample"]:
        drawn = "given" if sample["seed"] is None else f"seed {sample['seed']}"
        yield (
            f"sample of {sample['triples']:,} of {sample['of']:,} test triples ({drawn}), "
            f"{sample['relations']} of their {sample['relations_of']} relations"
        )
        yield f"KL(sample || full) of the relations: {sample['kl_nats']:.4f} nats, no smoothing"


def _aligned(rows: Sequence[Sequence[str]], left: tuple[int, ...] = ()) -> Iterator[str]:
    """Columns two blanks apart; the first and those in ``left`` to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.ljust(width) if i == 0 or i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
