"""Networks from a folder as the model hub has it: config.json and model.safetensors, read by `transformers`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookback.errors import BackendUnavailable

LONGEST = 300  # characters of an error of transformers that are shown


def load_pretrained(path: Path, name: str, network: Any, *processors: Any, types: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """The network of the class `network` for inference, and its processors. `name` is that of the model, for messages.

    A folder without a checkpoint, one of another model (`types` are the `model_type` that its config.json may name) and one that
    lacks tensors, which transformers would fill with random numbers, are BackendUnavailable.
    """
    try:
        with quiet_loading():  # it would list every tensor that the network does not need
            model, report = network.from_pretrained(path, local_files_only=True, trust_remote_code=False, output_loading_info=True)
            prepared = [processor.from_pretrained(path, local_files_only=True) for processor in processors]
    except Exception as error:  # transformers, torch and safetensors each raise their own types
        words = " ".join(str(error).split())[:LONGEST]
        raise BackendUnavailable(f"{path} holds no checkpoint of {name} that transformers can load: {words}") from None
    found = model.config.model_type
    if types and found not in types:
        raise BackendUnavailable(f"{path} holds a checkpoint of the type '{found}', not of {name} ({' or '.join(types)})")
    if missing := sorted(report["missing_keys"]):
        raise BackendUnavailable(f"{path} is no whole checkpoint of {name}: it lacks {len(missing)} tensors, first {missing[0]}")
    return model.eval().requires_grad_(False), *prepared


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Without the warnings and progress bars of transformers."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
