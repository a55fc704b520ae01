"""Where other people's packages keep their files while tests run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

# ir_datasets, which ranx imports too, makes its folders when it is imported: not in the home of whoever tests
os.environ.setdefault("IR_DATASETS_HOME", str(Path(tempfile.gettempdir(), "kgtrec-tests-ir-datasets")))
