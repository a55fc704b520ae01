"""kgtrec evaluate: what is refused before anything is read."""

from __future__ import annotations

import pytest

from kgtrec.cli import main


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-", "-"], "expected standard input (-) once, found it again; it can be read once"),
        (["q", "-", "-"], "expected standard input (-) once, found it again; it can be read once"),
        (
            ["q", "a/x.run", "b/x.ranks.parquet"],
            "found 'x' twice: a/x.run and b/x.ranks.parquet; if they are the run and",
        ),
        (["q", "x.run", "x.run"], "found 'x' twice: x.run and x.run; rename one of the files"),
    ],
)
def test_one_line_and_exit_code_2(args, message, capsys):
    """Although none of the files exists."""
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", *args])
    out, error = capsys.readouterr()
    assert stopped.value.code == 2
    assert message in error
    assert (out, error.count("\n")) == ("", 1)
