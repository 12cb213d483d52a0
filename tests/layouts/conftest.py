import shutil

import pytest
from layout_data import BUILDERS


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """Each layout's dataset, built once."""
    return {name: build(tmp_path_factory.mktemp(name) / "data") for name, build in BUILDERS.items()}


@pytest.fixture
def dataset(originals, tmp_path):
    """A private copy of a layout's dataset, to be read or broken."""

    def copy(name):
        return shutil.copytree(originals[name], tmp_path / name, symlinks=True)

    return copy
