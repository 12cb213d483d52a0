"""An artifact is keyed by the code and the libraries that made it: an edited backend makes new arrays, and the others' stay."""

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
from lookback import code
from lookback.code import closure, code_hash, libraries
from lookback.extraction.identity import FEEDING, producer_of
from lookback.media import encode
from lookback.params.load import validate
from lookback.paths import project_root
from lookback.pipeline import freshness, stage_named
from lookback.registry import BACKENDS, METRICS
from lookback.scoring.run import SERVING
from lookback.store import ArtifactStore

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


@pytest.fixture
def upgraded(monkeypatch: pytest.MonkeyPatch):
    """Makes one package look as if another release of it were installed."""

    def upgrade(package: str) -> None:
        known = code.package_version
        monkeypatch.setattr(code, "package_version", lambda name: "99.0" if name == package else known(name))
        forget()

    def forget() -> None:
        code.code_version.cache_clear()
        code._release.cache_clear()

    yield upgrade
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize(
    ("key", "package", "anew"),
    [
        ("quality=sharpness", "numpy", True),
        ("quality=sharpness", "opencv-python", True),
        ("quality=sharpness", "av", True),
        ("pose=classical", "scipy", True),
        ("perceptual=lpips", "lpips", True),
        ("perceptual=lpips", "torch", True),
        ("faces=scrfd-dlib", "dlib-bin", True),
        ("quality=sharpness", "lpips", False),
        ("pose=classical", "tqdm", False),
    ],
)
def test_another_release_of_a_library_that_computes_an_array_misses_the_store(key, package, anew, upgraded, tmp_path: Path):
    spec, params, store = BACKENDS.get(key), validate({"run": "r"}, "test"), ArtifactStore(tmp_path)
    before = producer_of(spec.role, spec, params)
    store.save(before, "input", {"a": np.arange(3)}, {})
    upgraded(package)
    after = producer_of(spec.role, spec, params)
    assert (store.load(after, "input") is None) == anew == (after.version != before.version)


def test_every_library_behind_backends_and_metrics_is_found_by_its_package():
    """An empty release would hide an upgrade; torch's siblings and the other extras are all installed here."""
    made = [(spec.build.__module__, FEEDING) for spec in BACKENDS] + [(spec.score.__module__, SERVING) for spec in METRICS]
    found = {name: release for modules in made for name, release in libraries(modules).items()}
    assert {"numpy", "cv2", "PIL", "av", "scipy", "torch", "torchvision", "lpips", "onnxruntime", "transformers"} <= found.keys()
    assert [name for name, release in found.items() if not release] == []


def test_a_stage_runs_again_with_another_release(upgraded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(freshness, "_external", lambda *_: {})
    params, stage = validate({"run": "r"}, "test"), stage_named("scoring")
    before = freshness.fingerprint(stage, params, freshness.HashCache(tmp_path / "hashes.json"))
    upgraded("opencv-python")
    after = freshness.fingerprint(stage, params, freshness.HashCache(tmp_path / "hashes.json"))
    assert [part for part in before if before[part] != after[part]] == ["libraries"]


def test_a_library_installed_since_took_no_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(freshness, "_external", lambda *_: {})
    params, stage = validate({"run": "r", "output": str(tmp_path)}, "test"), stage_named("scoring")
    hashes = freshness.HashCache(tmp_path / "hashes.json")
    mark = freshness.fingerprint(stage, params, hashes)
    params.paths.stages.mkdir(parents=True)
    fewer = {name: release for name, release in mark["libraries"].items() if name != "transformers"}
    for releases, anew in (
        (mark["libraries"], False),
        (fewer, False),
        ({**fewer, "transformers": "1.0"}, True),
        ({**fewer, "removed_since": "1.0"}, True),
    ):
        written = {"fingerprint": {**mark, "libraries": releases}, "outputs": {}}
        (params.paths.stages / "scoring.json").write_text(json.dumps(written))
        assert (freshness.changed(stage, params, hashes) == "its libraries changed") == anew
