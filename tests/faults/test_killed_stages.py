"""Every stage is killed, meets a full disk and loses a worker; it goes on, and ends with the undisturbed run's files.

All of it happens in one process of its own, which imports the stages once and forks: an import takes longer than any of these
stages. `bench/soak.py` does such things to whole commands for an hour.
"""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
HERE = Path(__file__).resolve()
SCRIPT = """
import os, sys
from importlib import import_module
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
folder = Path(sys.argv[3])
os.environ["LOOKBACK_ROOT"] = str(folder / "project")
import numpy as np
from lookback.pipeline import STAGES
from tiny_run import tiny_params, tiny_project
from soaked_stages import SmallDisk, Soak

beside = ("hypothesis", "matplotlib.pyplot", "pingouin", "plotly.graph_objects", "torch")  # what stages import while they work
for module in (*beside, *(name for stage in STAGES for name in stage.loaded())):
    import_module(module)

tiny_project(folder / "project")
with SmallDisk(folder / "disk") as disk:
    soak = Soak(tiny_params(folder / "project", disk.folder / "run"), disk, np.random.default_rng(0))
    soak.undisturbed()
    soak.disturb(kills=8, worker_kills=2, full_disks=8)
    soak.ended()
    for sentence in soak.sentences:
        print("said", disk.real, sentence)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, warm_python: str) -> list[str]:
    places = [HERE.parent, HERE.parents[2] / "bench", tmp_path_factory.mktemp("soak")]
    done = subprocess.run([warm_python, "-c", SCRIPT, *map(str, places)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout.splitlines()


def test_every_stage_ends_with_the_undisturbed_files_after_a_kill_a_dead_worker_and_a_full_disk(told: list[str]):
    last = next(line for line in told if "files compared" in line)
    counts = {name: int(number) for name, number in (part.split(": ") for part in last.split(", "))}
    compared = counts.pop("files compared")
    assert counts == {"full disks": 8, "worker kills": 2, "kills": 8, "differences": 0, "left behind": 0}, "\n".join(told)
    assert compared > 50


def test_a_full_disk_is_one_sentence_with_the_file_the_room_left_and_what_to_do(told: list[str]):
    sentences = [line.split(maxsplit=2)[1:] for line in told if line.startswith("said")]
    assert len(sentences) == 8
    for real, sentence in sentences:
        if real == "True":
            shape = r"CannotWrite: Cannot write /\S+: No space left on device, \d+\.\d MB free; make room there and start again, .*"
            assert re.fullmatch(shape, sentence), sentence
        else:
            assert sentence.endswith("check the folder's permissions and free space"), sentence
