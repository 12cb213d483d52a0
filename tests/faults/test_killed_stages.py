"""kill -9 in the middle of extraction and scoring: the next start goes on, and the tables are the undisturbed run's.

`bench/soak.py` does the same to every stage, many more times.
"""

import subprocess
import sys
from pathlib import Path

BENCH = str(Path(__file__).resolve().parents[2] / "bench")
SCRIPT = """
import os, shutil, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
folder = Path(sys.argv[2])
for name in ("params", "notebooks"):
    (folder / "project" / name).mkdir(parents=True)
os.environ["LOOKBACK_ROOT"] = str(folder / "project")
from curation_scale import write_dataset
from lookback import stages
from lookback.pipeline.dag import BY_NAME
from ray_thousand import parameters
from soak import compare, start

write_dataset(folder / "data", 12, distinct=True)
params = parameters(folder, "local", 1)
stages.curation(params)
shutil.copytree(params.paths.root, folder / "curated")

def finish(stage):
    started = time.monotonic()
    assert os.waitpid(start(BY_NAME[stage], params), 0)[1] == 0
    return time.monotonic() - started

seconds = {stage: finish(stage) for stage in ("extraction", "scoring")}
params.paths.root.rename(folder / "undisturbed")
(folder / "curated").rename(params.paths.root)
kills = 0
for stage, took in seconds.items():
    for share in (0.4, 0.8):
        child = start(BY_NAME[stage], params)
        time.sleep(share * took)
        os.killpg(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    finish(stage)
print("kills", kills, "differences", compare(folder / "undisturbed", params.paths.root))
"""


def test_killed_extraction_and_scoring_go_on_to_the_same_tables(tmp_path: Path):
    call = [sys.executable, "-c", SCRIPT, BENCH, str(tmp_path)]
    done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    words = done.stdout.splitlines()[-1].split(maxsplit=3)
    assert int(words[1]) >= 2, done.stdout
    assert words[3] == "[]", done.stdout
