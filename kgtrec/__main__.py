"""``python -m kgtrec`` is the command ``kgtrec``."""

from kgtrec.cli import main

if __name__ == "__main__":
    main()
