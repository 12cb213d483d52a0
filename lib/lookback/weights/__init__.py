"""Weight files: pinned in `params/weights.lock.yaml`, kept in a cache folder, checked by their sha256.

`python -m lookback.weights` fetches the embedded ones. Other weights are downloaded only with `allow_download`.
"""

from lookback.weights.cache import cache_folder, fingerprint, locate, present
from lookback.weights.embedded import fetch_embedded
from lookback.weights.lock import Weight, read_lock

__all__ = ["Weight", "cache_folder", "fetch_embedded", "fingerprint", "locate", "present", "read_lock"]
