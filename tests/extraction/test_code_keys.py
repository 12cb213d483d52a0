"""An artifact is keyed by the code that made it: who edits a backend gets new arrays, and the other backends' stay."""

import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import lookback
import numpy as np
import pytest
from lookback.code import closure, code_hash
from lookback.media import encode
from lookback.paths import project_root
from lookback.registry import BACKENDS

EXTRACT = """
import json, sys
from lookback import stages
from lookback.params.load import validate
data = sys.argv[1]
values = {"run": "r", "workers": 1, "device": "cpu", "curation": {"sources": [{"root": data}]}}
params = validate({**values, "extraction": {"roles": ["quality", "pose"]}}, "test")
stages.curation(params)
tables = stages.extraction(params)
rows = tables["artifacts"].to_dict("records")
print(json.dumps({"version": {row["role"]: row["version"] for row in rows}, "made": sorted(tables["timings"]["role"])}))
"""
UNRELATED = ("report/page.py", "params/stages.py", "pipeline/runner.py", "backends/masks/classical/tracker.py")


class Copy:
    """A copy of the package that may be edited, and a project with one clip."""

    def __init__(self, folder: Path):
        self.package, self.folder = folder / "lib" / "lookback", folder
        shutil.copytree(Path(lookback.__file__).parent, self.package)  # with what was compiled, or each process compiles it anew
        for name in ("params", "notebooks"):
            (folder / "project" / name).mkdir(parents=True)
        shutil.copy(project_root() / "params" / "weights.lock.yaml", folder / "project" / "params")
        frames = np.random.default_rng(0).integers(0, 255, (6, 48, 64, 3), dtype=np.uint8)
        encode(folder / "data" / "model" / "one.mp4", frames, 8)

    def edit(self, *modules: str) -> None:
        for module in modules:
            with (self.package / module).open("a") as source:
                source.write("\n# edited\n")

    def extract(self) -> tuple[dict[str, str], list[str]]:
        """Each role's version, and the roles that were made now."""
        environment = {**os.environ, "PYTHONPATH": str(self.package.parent), "LOOKBACK_ROOT": str(self.folder / "project")}
        call = [sys.executable, "-c", EXTRACT, str(self.folder / "data")]
        done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        told = json.loads(done.stdout.splitlines()[-1])
        return told["version"], [role for role in told["made"] if role != "decode"]


@pytest.mark.long
def test_an_edited_backend_makes_its_artifacts_anew_and_the_other_roles_stay(tmp_path: Path):
    copy = Copy(tmp_path)
    first, made = copy.extract()
    assert made == ["pose", "quality"] and len(set(first.values())) == 2
    # in both rounds also modules that no backend imports: the role that is not made anew shows that they do not count
    copy.edit("backends/quality.py", *UNRELATED)
    second, made = copy.extract()
    assert made == ["quality"]
    assert second["quality"] != first["quality"] and second["pose"] == first["pose"]
    copy.edit("backends/pose/classical/solve.py", *UNRELATED)  # the first is a module that the backend imports
    third, made = copy.extract()
    assert made == ["pose"]
    assert third["pose"] != second["pose"] and third["quality"] == second["quality"]


@pytest.mark.parametrize("spec", BACKENDS, ids=lambda spec: spec.key)
def test_a_backends_code_is_its_own_and_what_it_imports(spec):
    modules = closure((spec.build.__module__, "lookback.extraction.onepass"))
    assert {spec.build.__module__, "lookback.extraction.onepass", "lookback.media.video"} <= modules
    rooms = {module.split(".")[1] for module in modules if module.count(".")}
    assert not rooms & {"report", "pipeline", "stages", "params", "scoring", "judging", "agreement", "stats", "cli"}


def test_the_source_of_a_plug_in_outside_the_package_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plugin = types.ModuleType("my_plugin")
    plugin.__file__ = str(tmp_path / "my_plugin.py")
    monkeypatch.setitem(sys.modules, "my_plugin", plugin)
    hashes = []
    for source in ("import lookback.camera\n", "import lookback.camera\n# edited\n"):
        Path(plugin.__file__).write_text(source)
        hashes.append(code_hash(("my_plugin",)))
        assert "lookback.camera.poses" in closure(("my_plugin",))
    assert hashes[0] != hashes[1]
