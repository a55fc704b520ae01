"""``python -m kgtrec`` is the command ``kgtrec``."""

from kgtrec.cli import run

if __name__ == "__main__":
    run()
