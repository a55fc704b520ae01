"""Commands as a shell runs them, in this process."""

from __future__ import annotations

from kgtrec.cli import main


def exit_code(*words: object) -> int:
    """Run a command; its exit code."""
    try:
        main([str(word) for word in words])
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


def kgtrec(*words: object) -> None:
    """Run a command, whose exit is an error of the test."""
    main([str(word) for word in words])


def refusal(capsys, *words: object) -> str:
    """What a command says that ends with exit code 2."""
    capsys.readouterr()
    assert exit_code(*words) == 2
    return capsys.readouterr().err


def printed_by(capsys, *words: object) -> str:
    """What a command prints, which succeeds."""
    capsys.readouterr()
    kgtrec(*words)
    return capsys.readouterr().out


def said_by(capsys, *words: object) -> str:
    """What a command says on standard error, which succeeds."""
    capsys.readouterr()
    kgtrec(*words)
    return capsys.readouterr().err
