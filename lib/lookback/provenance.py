"""Write provenance.json: everything needed to repeat a run."""

from __future__ import annotations

import platform
import subprocess
import sys
from typing import Any

import lookback
from lookback.files import sha256_json, write_json
from lookback.hiding import hide_all
from lookback.machine import one_line, package_version
from lookback.params import RunParams
from lookback.paths import project_root
from lookback.registry import GROUPS, plugins

# fmt: off
PACKAGES = (
    "numpy", "pandas", "pyarrow", "scipy", "statsmodels", "pingouin", "scikit-image", "opencv-python", "av", "pillow", "torch",
    "torchvision", "transformers", "lpips", "open_clip_torch", "insightface", "sam2", "onnxruntime", "dlib-bin", "papermill",
    "plotly", "matplotlib", "seaborn",
)
# fmt: on


def git_revision() -> str:
    """The commit the code is at, with `+changes` when files differ from it; empty outside a checkout."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty=+changes", "--exclude=*"],
            cwd=project_root(),
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return described.stdout.strip()


def package_versions() -> dict[str, str]:
    return {name: package_version(name) or "not installed" for name in PACKAGES}


def provenance(params: RunParams) -> dict[str, Any]:
    """What made a run: code, machine, packages, parameters, and the backends named in its tables."""
    values = hide_all(params.model_dump(mode="json"))
    return {
        "lookback": lookback.__version__,
        "git": git_revision(),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": one_line(),
        "device": params.device,
        "packages": package_versions(),
        "plugins": {point.dist.name: point.dist.version for group in GROUPS for point in plugins(group) if point.dist},
        "parameters": values,
        "parameters_hash": sha256_json(values),
        "backends": _backends(params),
    }


def write_provenance(params: RunParams, stages: dict[str, Any]) -> None:
    """Write the run's provenance with the records of its stages."""
    write_json(params.paths.provenance, {**provenance(params), "stages": stages})


def _backends(params: RunParams) -> list[dict[str, str]]:
    """Every (role, backend, version, weights) that made an artifact of this run."""
    if not (params.paths.tables / "artifacts.parquet").is_file():
        return []
    from lookback.tables import read_table

    artifacts = read_table(params.paths.tables, "artifacts")
    used = artifacts.loc[artifacts["stored"] != "", ["role", "backend", "version", "weights"]].drop_duplicates()
    return used.sort_values(["role", "backend"]).to_dict("records")
