"""`examples/plugin` in an environment of its own: lookback lists, validates, scores, judges and reports what it adds, unedited."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import lookback
import pandas as pd
import pytest
import yaml
from lookback.paths import project_root

pytestmark = pytest.mark.long
PLUGIN = project_root() / "examples" / "plugin"
METRICS = {"flipbook.colour_return", "flipbook.left_and_returned"}


class Scratch:
    """A virtual environment that sees lookback and the packages it needs, a project folder, and the plug-in's sample data."""

    def __init__(self, folder: Path):
        self.folder, self.project, self.data = folder, folder / "project", folder / "data"
        for name in ("params", "notebooks"):
            shutil.copytree(project_root() / name, self.project / name)
        self.program, self.first = folder / "env" / "bin" / "python", ""  # packages that come before all others
        self._run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")])
        (self.packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        seen = [Path(lookback.__file__).parents[1], *(sysconfig.get_path(name) for name in ("purelib", "platlib"))]
        (self.packages / "seen.pth").write_text("\n".join(dict.fromkeys(map(str, seen))) + "\n")

    def install(self, source: Path) -> None:
        """Like a user, but without the network; from a copy, as building leaves files behind."""
        copy = shutil.copytree(source, self.folder / source.name)
        offline = ("--isolated", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
        self.python("-m", "pip", "install", *offline, str(copy))

    def python(self, *arguments: str, fails: int = 0, path: Path | None = None) -> str:
        """What Python printed, with its errors where the call must fail."""
        done = self._run([str(self.program), *arguments], fails, path)
        return done.stdout + done.stderr if fails else done.stdout

    def lookback(self, *arguments: str, fails: int = 0, path: Path | None = None) -> str:
        return self.python("-m", "lookback", *arguments, fails=fails, path=path)

    def _run(self, call: list[str], fails: int = 0, path: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        first = os.pathsep.join(str(folder) for folder in (path, self.first) if folder)
        environment |= {"LOOKBACK_ROOT": str(self.project)} | ({"PYTHONPATH": first} if first else {})
        done = subprocess.run(call, env=environment, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == fails, done.stdout[-2000:] + done.stderr[-4000:]
        return done


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory, warm_python: str) -> Scratch:
    made = Scratch(tmp_path_factory.mktemp("flipbook"))
    made.install(PLUGIN)
    made.python("-m", "lookback_flipbook.sample", str(made.data))  # the environment's own Python finds it, too
    made.program, made.first = Path(warm_python), str(made.packages)
    return made


@pytest.fixture(scope="module")
def run(scratch: Scratch) -> Path:
    """The folder of a finished `lookback eval`."""
    scratch.lookback("eval", str(scratch.data), "--output", "run", "--workers", "1", "--vlm-judge", "first-and-last")
    return scratch.folder / "run"


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(run / "tables" / f"{name}.parquet")


def test_what_it_adds_is_listed(scratch: Scratch):
    declared = {entry["name"]: entry for entry in json.loads(scratch.lookback("list-metrics", "--json"))}
    assert {name for name, entry in declared.items() if entry["benchmark"] == "flipbook"} == METRICS
    found = {(row["role"], row["backend"]): row["usable"] for row in json.loads(scratch.lookback("doctor", "--json"))}
    assert found["page_colours", "grid"] and found["judge", "first-and-last"]
    help_text = " ".join(scratch.lookback("eval", "--help").split())
    assert "flipbook, folder" in help_text and "One of first-and-last, geometric" in help_text


def test_its_layout_is_detected_and_its_reader_says_what_is_wrong(scratch: Scratch, tmp_path: Path):
    assert "no violation" in scratch.lookback("validate", str(scratch.data), "--workers", "1")
    broken = shutil.copytree(scratch.data, tmp_path / "broken")
    listed = json.loads((broken / "flipbook.json").read_text())
    del listed["clips"][0]["model"]
    listed["clips"][1]["video"] = "../elsewhere.mp4"
    (broken / "flipbook.json").write_text(json.dumps(listed))
    said = scratch.lookback("validate", str(broken), "--workers", "1", fails=1)
    assert "2 violation(s)" in said
    assert "clips[0].model: is missing" in said and "clips[1].video: the path '../elsewhere.mp4' leaves the dataset" in said


def test_its_backend_and_its_judge_make_its_scores(run: Path):
    artifacts, gated, answers = table(run, "artifacts"), table(run, "gated"), table(run, "judgements")
    assert set(artifacts.loc[artifacts["role"] == "page_colours", "backend"]) == {"grid"}
    assert set(gated["metric"]) == METRICS and gated["value"].notna().all()
    own = answers[answers["task"] == "flipbook_return"]
    assert set(own["judge"]) == {"first-and-last"} and own["verbatim"].str.contains("is away from the first one by").all()
    mean = gated.groupby(["metric", "model_id"])["value"].mean()
    assert mean["flipbook.left_and_returned"].to_dict() == {"forgetful": 0.0, "steady": 1.0, "still": 0.0}
    colour = mean["flipbook.colour_return"]
    assert colour["steady"] > 0.97 and colour["still"] > 0.97 and colour["forgetful"] < 0.7
    summary = json.loads((run / "metrics" / "flipbook.colour_return" / "summary.json").read_text())
    assert set(summary["groups"]) == {"forgetful", "steady", "still"}


def test_its_edited_backend_makes_its_artifacts_anew_and_the_others_stay(scratch: Scratch, run: Path, tmp_path: Path):
    again = shutil.copytree(run, tmp_path / "again")
    (again / "timings" / "extraction.csv").unlink()  # it keeps the rows of earlier calls
    before = table(again, "artifacts").groupby("role")["version"].first()
    backend = scratch.packages / "lookback_flipbook" / "backend.py"
    source = backend.read_text()
    try:
        backend.write_text(source.replace('GridJob(self.settings["cells"])', 'GridJob(self.settings["cells"] + 1)'))
        scratch.lookback("eval", str(scratch.data), "--output", str(again), "--workers", "1")
    finally:
        backend.write_text(source)
    after = table(again, "artifacts").groupby("role")["version"].first()
    assert set(before.index[before != after]) == {"page_colours"}
    made = pd.read_csv(again / "timings" / "extraction.csv")
    assert set(made["role"]) == {"page_colours", "decode"}
    old, new = (table(folder, "items").set_index(["model_id", "clip_id"])["version"] for folder in (run, again))
    assert (old == new).all(), "the metric's own code is the same"


def test_its_code_counts_in_the_stages_that_run_it(scratch: Scratch):
    script = "from lookback.pipeline.dag import STAGES; import json; print(json.dumps({s.name: s.loaded() for s in STAGES}))"
    loaded = {stage: set(modules) for stage, modules in json.loads(scratch.python("-c", script)).items()}
    assert {"lookback_flipbook.backend", "lookback_flipbook.metrics"} <= loaded["extraction"] & loaded["scoring"]
    assert {"lookback_flipbook.judge", "lookback_flipbook.judging", "lookback_flipbook.prompts"} <= loaded["judging"]
    assert "lookback_flipbook.layout" in loaded["curation"] and "lookback_flipbook" in loaded["report"]
    assert "lookback_flipbook.backend" not in loaded["curation"]


def test_a_report_has_a_section_with_its_table(scratch: Scratch):
    values = {
        "output": str(scratch.folder / "reported"),
        "workers": 1,
        "device": "cpu",
        "curation": {"sources": [{"root": str(scratch.data)}]},
        "extraction": {"always": []},
        "scoring": {"resamples": 100, "metrics": sorted(METRICS)},
        "judging": {"judge": "first-and-last"},
        "forensics": {"max_cases": 1},
    }
    (scratch.folder / "flipbook.yaml").write_text(yaml.safe_dump(values))
    scratch.lookback("report", "--run", "flipbook.yaml")
    page = (scratch.folder / "reported" / "report" / "flipbook.html").read_text(encoding="utf-8")
    assert '<main id="flipbook"' in page and "Flipbook: the way back to the first picture" in page
    written = pd.read_csv(scratch.folder / "reported" / "tables" / "report" / "flipbook-1.csv").set_index("model")
    assert written["Left and returned (%)"].astype(float).to_dict() == {"forgetful": 0, "steady": 100, "still": 0}
    provenance = json.loads((scratch.folder / "reported" / "provenance.json").read_text())
    assert provenance["plugins"] == {"lookback-flipbook": "0.1.0"}
    assert "up to date" in scratch.lookback("report", "--run", "flipbook.yaml")


def test_mistyped_names_lead_to_its_names(scratch: Scratch):
    script = """
from lookback.errors import LookbackError
from lookback.extraction.run import check_names
from lookback.params.load import validate
for values in (
    {"curation": {"sources": [{"root": "x", "layout": "flipbok"}]}},
    {"scoring": {"metrics": ["flipbook.colour_retrun"]}},
    {"judging": {"judge": "first-and-lst"}},
    {"audit": {"benchmarks": ["flipboook"]}},
    {"extraction": {"backends": {"page_colours": "gird"}}},
    {"extraction": {"roles": ["page_color"]}},
):
    try:
        check_names(validate({"run": "r", **values}, "test"))
    except LookbackError as error:
        print(str(error).partition("did you mean ")[2])
"""
    wanted = ["flipbook", "flipbook.colour_return", "first-and-last", "flipbook", "page_colours=grid", "page_colours"]
    assert scratch.python("-c", script).splitlines() == [f"'{name}'?" for name in wanted]


@pytest.mark.parametrize("group", ["benchmarks", "metrics", "backends", "layouts", "judges"])
def test_a_plugin_that_cannot_be_imported_is_named_in_one_sentence(scratch: Scratch, tmp_path: Path, group: str):
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "__init__.py").write_text("raise OSError('the page is torn')\n")
    about = tmp_path / "lookback_torn-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lookback-torn\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[lookback.{group}]\nleaf = torn\n")
    sentence = (
        "lookback: The plug-in 'leaf' of the package lookback-torn cannot be loaded (OSError: the page is torn); "
        "mend it or uninstall lookback-torn\n"
    )
    command = {"backends": ["prepare", "--help"], "judges": ["eval", "--help"], "layouts": ["validate", "--help"]}
    assert scratch.lookback(*command.get(group, ["list-metrics"]), fails=1, path=tmp_path) == sentence
