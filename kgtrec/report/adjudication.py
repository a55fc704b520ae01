"""What waits for an adjudicator, as text."""

from __future__ import annotations

from kgtrec.data.tasks import Tasks
from kgtrec.report.tables import aligned


def queue_text(tasks: Tasks) -> str:
    """An aligned table: a line for each annotator's verdict on each triple."""
    shown = {name: column.to_pylist() for name, column in tasks.shown.items()}
    n_verdicts = sum(name.startswith("verdict_") for name in shown)
    rows = [["task", "question", "verdict", "source", "note"]]
    for place, (task, question) in enumerate(zip(tasks.task, tasks.question.to_pylist(), strict=True)):
        label = [str(task), _printable(question)]
        for nth in range(1, n_verdicts + 1):
            if verdict := shown[f"verdict_{nth}"][place]:
                texts = (shown[f"source_{nth}"][place], shown[f"note_{nth}"][place])
                rows.append([*label, verdict, *map(_printable, texts)])
                label = ["", ""]
    return aligned(rows, len(rows[0]))


def _printable(text: str) -> str:
    """On one line, and without what a terminal would obey."""
    plain = " ".join(text.split())
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in plain)
