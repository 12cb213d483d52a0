"""The optional packages: which extra of lookback brings each of them, and one sentence where one is missing."""

from __future__ import annotations

import re
from importlib.util import find_spec

from lookback.errors import BackendUnavailable

# module -> the extra to install for it; pyproject.toml declares the packages (tests/core/test_declarations.py compares the two)
_MODULES = {
    "models": "torch torchvision transformers huggingface_hub lpips open_clip insightface onnx onnxruntime dlib timm pip",
    "sam2": "sam2",
    "demo": "skimage",
    "notebooks": "IPython ipykernel ipywidgets jupyterlab nbformat papermill tornado",
    "judges": "openai httpx2",
    "ray": "ray",
    "fast": "numba",
}
OPENCV_REMEDY = (
    "Install it (on Debian and Ubuntu: apt-get install libgl1 libglib2.0-0), or take the OpenCV that needs no screen: "
    'pip uninstall opencv-python, then pip install "opencv-python-headless>=5.0.0.93,<6"'
)
EXTRA_OF = {module: extra for extra, modules in _MODULES.items() for module in modules.split()}


def installed(module: str) -> bool:
    return find_spec(module) is not None


def remedy(module: str) -> str:
    """The command that installs a module of an extra."""
    return f'pip install "lookback[{EXTRA_OF[module]}]"'


def need(*modules: str) -> None:
    """BackendUnavailable where one of the modules is not installed; called before work that imports them."""
    for module in modules:
        if not installed(module):
            raise unavailable(module)


def unavailable(module: str) -> BackendUnavailable:
    return BackendUnavailable(f"This needs the package '{module}', which is not installed", f"Install it with: {remedy(module)}")


def why_not_imported(error: ImportError) -> BackendUnavailable | None:
    """An optional package is not installed, or the system lacks a library that a package needs; None for every other error."""
    name = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError):
        return unavailable(name) if name in EXTRA_OF and not installed(name) else None
    library = re.match(r"(\S+): cannot open shared object file", str(error))
    if library is None:
        return None
    cause = f"The package '{name}' cannot be loaded: this machine has no {library[1]}"
    return BackendUnavailable(cause, OPENCV_REMEDY if name == "cv2" else "Install the package of your system that holds it")
