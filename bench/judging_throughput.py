"""How much of the ideal speed the judging client reaches against a loopback server with a fixed latency.

    python bench/judging_throughput.py [--questions 1000] [--concurrency 16] [--latency 0.2]

Every question shows its own frame of a small clip and is recorded as in a run. Ideal is questions / concurrency x latency; the goal
is to stay within 1.5 times of it. A second pass asks the same questions again: all answers come from the recording.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "judging"))
from chat_server import ChatServer, completion
from lookback.clips import Clip
from lookback.judging.asking import Asker, Budget, Patience
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.judges.base import JudgeContext
from lookback.judging.judges.openai_judge import OpenAIJudge
from lookback.judging.question import Part, Question
from lookback.judging.recording import Recording
from lookback.media import content_hash, encode
from lookback.params.stages import Judging

FRAMES = 8
GOAL = 1.5


def questions(video: Path, n: int) -> list[Question]:
    content = content_hash(video)
    made = []
    for number in range(n):
        clip = Clip(benchmark="wrbench", setting="s", model_id="m", clip_id=f"c{number:05d}", video=str(video))
        part = Part("q", f"Question {number}?")
        frame = (number % FRAMES,)
        made.append(Question(clip, "probe", "yes_no", "", part.text, "v", (part,), clip.video, content, frame, ("Frame",)))
    return made


def measure(n: int, concurrency: int, latency: float, together: int = 1) -> dict[str, float]:
    """Seconds of a first pass and of a second one, their ideal, what the server saw; it answers in rounds of `together`."""
    with tempfile.TemporaryDirectory() as name, ChatServer(_yes, latency_s=latency, together=together) as server:
        folder = Path(name)
        pictures = np.random.default_rng(0).integers(0, 255, (FRAMES, 96, 160, 3), dtype=np.uint8)
        asked = questions(encode(folder / "clip.mp4", pictures, fps=8), n)
        seconds = []
        for _ in range(2):
            params = Judging(judge="openai", model="m", base_url=server.url, concurrency=concurrency)
            encoding = Encoding()
            judge = OpenAIJudge(JudgeContext(params, "m", frames=FrameSource(encoding)))
            with Recording(folder / "judge_cache") as recording:
                asker = Asker(judge, recording, Budget(), Patience(0, 5), encoding=encoding, concurrency=concurrency)
                started = time.perf_counter()
                answers = asker.ask_all(asked)
                seconds.append(time.perf_counter() - started)
            assert all(one.answers[0].answer == "yes" for one in answers)
        ideal = n / concurrency * latency
        counts = {"requests": len(server.requests), "most_at_once": server.most_at_once}
        ratio = seconds[0] / ideal if ideal else 0.0
        return {"ideal_s": ideal, "first_s": seconds[0], "ratio": ratio, "recorded_s": seconds[1], **counts}


def _yes(body: dict, number: int):
    return completion("Yes", [[("Yes", -0.1), ("No", -2.3)]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.2)
    options = parser.parse_args()
    result = measure(options.questions, options.concurrency, options.latency)
    print(json.dumps({name: round(value, 3) for name, value in result.items()}, indent=2))
    print(f"{result['ratio']:.2f} times the ideal (goal: {GOAL}); {'reached' if result['ratio'] <= GOAL else 'MISSED'}")
    sys.exit(result["ratio"] > GOAL)


if __name__ == "__main__":
    main()
