"""The optional packages: which extra of lookback brings each of them, and one sentence where one is missing."""

from __future__ import annotations

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


def missing_extra(error: Exception) -> BackendUnavailable | None:
    """What a failed import of an optional package means; None for every other error."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return unavailable(name) if name in EXTRA_OF and not installed(name) else None
