"""Where other people's packages keep their files while tests run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

# ir_datasets, which ranx imports too, and PyTerrier make folders when they are used: not in the home of whoever tests
for name in ("IR_DATASETS_HOME", "PYTERRIER_HOME"):
    os.environ.setdefault(name, str(Path(tempfile.gettempdir(), f"kgtrec-tests-{name.lower()}")))
