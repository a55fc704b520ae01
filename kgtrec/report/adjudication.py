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
        label = [str(task), _on_one_line(question)]
        for nth in range(1, n_verdicts + 1):
            if verdict := shown[f"verdict_{nth}"][place]:
                texts = (shown[f"source_{nth}"][place], shown[f"note_{nth}"][place])
                rows.append([*label, verdict, *map(_on_one_line, texts)])
                label = ["", ""]
    return aligned(rows, len(rows[0]))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
