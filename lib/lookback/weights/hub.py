"""Download a pinned weight from the model hub or from torchvision's server, only when a run allows it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from lookback.errors import BackendUnavailable
from lookback.scratch import part_folder, sweep
from lookback.weights.lock import Weight


def fetch(entry: Weight, folder: Path) -> None:
    """Put a weight's files into its folder of the cache, all or none; the caller verifies the hashes."""
    if entry.kind == "hub" and entry.revision is None:
        raise BackendUnavailable(f"The weights '{entry.name}' have no pinned revision, and nothing unpinned is downloaded")
    sweep(folder.parent)
    with part_folder(folder) as target:
        try:
            _from_hub(entry, target) if entry.kind == "hub" else _from_torchvision(entry, target)
        except Exception as error:  # requests, huggingface_hub and urllib each raise their own
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise BackendUnavailable(f"Downloading '{entry.name}' from {entry.origin} failed: {reason}") from error
        folder.mkdir(parents=True, exist_ok=True)
        for file in entry.files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(target / file, folder / file)


def _from_hub(entry: Weight, target: Path) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download(entry.source, revision=entry.revision, allow_patterns=list(entry.files), local_dir=target)


def _from_torchvision(entry: Weight, target: Path) -> None:
    from torch.hub import download_url_to_file

    [(file, prefix)] = entry.files.items()
    download_url_to_file(torchvision_weights(entry.source).url, str(target / file), hash_prefix=prefix)


def torchvision_weights(name: str) -> Any:
    """torchvision's own description of weights, by the name in the lock (for example VGG19_Weights.IMAGENET1K_V1)."""
    from torchvision.models import get_weight

    return get_weight(name)
