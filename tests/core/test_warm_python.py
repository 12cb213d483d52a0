"""The Python that tests start their programs with (tests/warm_python.py)."""

import subprocess
import sys
from pathlib import Path

from warm_python import WarmPython


def test_it_starts_where_python_lies_in_a_folder_with_a_space(tmp_path: Path):
    """A clone may lie in such a folder. The Python behind the environment here has little to import first."""
    python = tmp_path / "my tools" / "python"
    python.parent.mkdir()
    python.symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    warm = WarmPython(python, tmp_path / "warm")
    try:
        answer = subprocess.run([warm.program, "-c", "import sys; print(sys.argv)", "two words"], capture_output=True, text=True)
    finally:
        warm.close()
    assert answer.stdout == "['-c', 'two words']\n", answer.stderr
