"""ViPE (MIND's camera paths): its own command on the clip's frames. Answers are camera-to-world in pixels of the video."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from pictures import as_pictures


def load(checkpoint, device, options):
    import vipe  # noqa: F401 - fails here, and not in the first clip, where ViPE is not installed

    if not device.startswith("cuda"):
        raise RuntimeError("ViPE runs on CUDA devices alone; set device: cuda")
    return runner(options)


def runner(options):
    def run(clip):
        with as_pictures(clip.frames) as paths, tempfile.TemporaryDirectory() as output:
            command = ["vipe", "infer", "--image-dir", str(Path(paths[0]).parent), "--output", output]
            beside = Path(sys.executable).with_name(command[0])
            ran = subprocess.run([str(beside), *command[1:], "--pipeline", options["pipeline"]], stdout=sys.stderr)
            if ran.returncode:
                raise RuntimeError(f"vipe infer ended with exit {ran.returncode}")
            return read(Path(output))

    return run


def read(output):
    """`pose/<name>.npz` and `intrinsics/<name>.npz` of ViPE's output folder."""
    poses = np.load(only(output / "pose"))
    return {"data": poses["data"], "inds": poses["inds"], "intrinsics": np.load(only(output / "intrinsics"))["data"]}


def only(folder):
    [path] = folder.glob("*.npz")
    return path
