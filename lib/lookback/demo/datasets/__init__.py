"""The demo world written out in the folder layouts of the benchmarks."""

from lookback.demo.datasets.write import dataset_sources, write_datasets

__all__ = ["dataset_sources", "write_datasets"]
