"""FFmpeg's log must not reach Python: decoder threads and the interpreter would wait for each other for ever."""

import subprocess
import sys

import numpy as np
import pytest
from lookback.media import encode
from time_limits import HUNG_S

OPEN_OFTEN = """
import sys
import torchvision  # turns FFmpeg's log into Python calls
from lookback.media import open_video
for _ in range(60):
    with open_video(sys.argv[1]) as reader:
        reader.read([0, 20])
print("done")
"""


@pytest.mark.long
def test_decoding_does_not_hang_after_torchvision_was_imported(tmp_path):
    path = tmp_path / "clip.mp4"
    frames = np.random.default_rng(0).integers(0, 255, (40, 96, 160, 3), dtype=np.uint8)
    encode(path, frames, 24)
    ran = subprocess.run([sys.executable, "-c", OPEN_OFTEN, str(path)], capture_output=True, text=True, timeout=HUNG_S, check=False)
    assert ran.stdout.strip() == "done", ran.stderr
