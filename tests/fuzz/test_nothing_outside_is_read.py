"""A dataset that names files elsewhere: `..`, absolute paths and links are refused, and the files are never opened."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from curation_scale import write_dataset

WATCHED = """
import sys
outside, opened = sys.argv[1], []
def watch(event, arguments):
    if event == "open" and str(arguments[0]).startswith(outside):
        opened.append(str(arguments[0]))
sys.addaudithook(watch)
from lookback.curation.contract import validate
from lookback.params.stages import Source
for root in sys.argv[2:]:
    for violation in validate(Source(root=root), workers=1):
        print(violation.line)
print("OPENED", opened)
"""
PROBLEMS = {
    "../../../secret/{file}": "leaves the dataset by '..'",
    "{outside}/{file}": "is absolute",
    "outputs/link/{file}": "is a symbolic link out of the dataset",
}


def spoil(model: Path, outside: Path, name: str) -> None:
    """Let the model's video and poses be named as lying outside; the same files do lie there."""
    rows = [json.loads(line) for line in (model / "samples.jsonl").read_text().splitlines()]
    video, poses = rows[0]["media"]["videos"][0], rows[0]["artifacts"]["da3"]
    (model / "outputs" / "link").symlink_to(outside)
    for entry, file in ((video, "video.mp4"), (poses, "poses.npz")):
        (outside / file).write_bytes((model / entry["path"]).read_bytes())
        entry["path"] = name.format(outside=outside, file=file)
    (model / "samples.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_a_path_that_leads_out_is_a_violation_and_is_not_opened(tmp_path: Path):
    outside = tmp_path / "secret"
    outside.mkdir()
    roots = []
    for number, name in enumerate(PROBLEMS):
        roots.append(tmp_path / f"data{number}")
        write_dataset(roots[-1], 2, distinct=True)
        for model in (roots[-1] / "models").iterdir():
            spoil(model, outside, name)
    call = [sys.executable, "-c", WATCHED, str(outside), *map(str, roots)]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert "OPENED []" in done.stdout
    for problem in PROBLEMS.values():
        assert done.stdout.count(problem) >= 2, done.stdout
