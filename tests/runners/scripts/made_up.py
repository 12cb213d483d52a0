"""A runner's script without a network: it does what the test asks for."""

import os
import sys
import time

import numpy as np


def load(checkpoint, device, options):
    print("a model that talks while it loads")
    if options.get("fail"):
        raise RuntimeError("no such checkpoint")
    return run


def run(clip):
    wish = clip.facts.get("wish", "mean")
    print("and while it runs")
    if wish == "refuse":
        raise ValueError("this clip is upside down\nsecond line")
    if wish == "hang":
        time.sleep(3600)
    if wish == "die":
        sys.stderr.write("the end of the log\n")
        sys.stderr.flush()
        os._exit(7)
    if wish == "grow":
        held = np.ones(60_000_000)
        time.sleep(3600)
        return {"held": held}
    if wish == "memory":
        raise MemoryError
    clip.progress(1, 2)
    return {"mean": clip.frames.mean(axis=(1, 2, 3)), "process": np.array(os.getpid())}
