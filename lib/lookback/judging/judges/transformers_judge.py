"""A local vision-language model: any checkpoint that AutoModelForImageTextToText of `transformers` loads."""

from __future__ import annotations

import asyncio
import io
import threading
from bisect import bisect_left
from dataclasses import replace
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

from lookback.backends.base import BackendOptions
from lookback.backends.runtime import torch_device
from lookback.devices import usable_device
from lookback.errors import BackendUnavailable, Reason
from lookback.extras import installed, need, remedy
from lookback.files import sha256_json
from lookback.hiding import hide
from lookback.judging.endpoint import BEFORE_ANSWER
from lookback.judging.judges.base import Judge, JudgeContext, chosen_settings
from lookback.judging.parsing import NO_TOKENS, YES_TOKENS, is_likely
from lookback.judging.question import JudgeError, Question, Reply
from lookback.judging.recording import Identity
from lookback.judging.reply_text import THINK, THOUGHT, parse_yes_no
from lookback.registry import Availability, judge
from lookback.weights import fingerprint


@judge(name="transformers", title="a local vision-language model", looks=True, local_model=True)
class TransformersJudge(Judge):
    """Answers yes/no questions by the scores of the answer's token, all others by generating text; one call at a time.

    The answer's token is the next one. Where the model thinks first, it is the one behind the thought.
    """

    costs = True

    def __init__(self, context: JudgeContext):
        if not context.model:
            raise BackendUnavailable("The transformers judge needs judging.model", "Name a folder or a hub model that is on disk")
        need("torch", "transformers")
        self.params, self.context = context.params, context
        settings: dict[str, object] = {"temperature": self.params.temperature, "seed": context.seed}
        settings |= {"max_tokens": self.params.max_tokens, **chosen_settings(self.params, "video", "chat_template_kwargs")}
        folder = Path(context.model).expanduser()
        self.model, name, version = context.model, context.model, local_commit(context.model)[:16] or "1"
        if folder.is_dir():  # known by its name and content, not by its place: the same checkpoint gives the same answers anywhere
            self.model, name, version = str(folder), folder.name, fingerprint((), folder.absolute()).rpartition(":")[2][:16]
        self.identity = Identity("transformers", f"transformers/{name}", name, version, settings=settings)
        self._lock = threading.Lock()  # one model, one call at a time
        self._loaded: tuple[Any, Any] | None = None

    @staticmethod
    def available() -> Availability:
        if not (installed("torch") and installed("transformers")):
            return Availability(False, "the package 'transformers' is not installed", remedy("transformers"))
        return Availability(False, "no model is named", "set judging.model to a folder or to a hub model that is on disk")

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        return await asyncio.to_thread(self._answer, question, repeat)

    def _answer(self, question: Question, repeat: int) -> Reply:
        import torch

        try:
            with self._lock, torch.inference_mode():
                processor, model = self._load()
                inputs = self._inputs(processor, question).to(model.device)
                prompt = processor.tokenizer.decode(inputs["input_ids"][0])
                begun = THINK if prompt.rstrip().endswith(THINK) else ""  # some chat templates begin the thought
                if question.expects != "yes_no":
                    return self._generation(processor, model, inputs, repeat, begun)[0]
                if not begun and is_likely((scored := self._scores(processor, model, inputs)).logprobs):
                    return scored
                return self._scored_behind(processor, model, inputs, *self._generation(processor, model, inputs, repeat, begun))
        except (RuntimeError, ValueError) as error:  # out of memory, or a prompt that is too long
            raise JudgeError(Reason.BACKEND_FAILED, f"{type(error).__name__}: {hide(str(error))[:300]}") from None

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            import av.logging
            from transformers import AutoModelForImageTextToText, AutoProcessor

            name, offline = self.model, not self.context.allow_download
            try:
                processor = AutoProcessor.from_pretrained(name, local_files_only=offline)
                model = AutoModelForImageTextToText.from_pretrained(name, local_files_only=offline, dtype="auto")
            except (OSError, ValueError) as error:
                message = " ".join(str(error).split())[:300]
                remedy = "Give a folder with the checkpoint, or allow downloads with extraction.allow_download"
                raise BackendUnavailable(f"The judge model {name} cannot be loaded: {message}", remedy) from None
            # torchvision sends FFmpeg's log through Python, where a decoder thread can wait for ever
            av.logging.set_level(None)
            self._loaded = (processor, model.eval().to(self._device()))
        return self._loaded

    def _device(self) -> str:
        return torch_device(BackendOptions(device=usable_device(self.context.device)))

    def _inputs(self, processor: Any, question: Question) -> Any:
        content: list[dict[str, str]] = [{"type": "text", "text": f"{question.system}\n\n{question.text}".strip()}]
        shown = self._video(content, question) if self.params.video and question.is_timed else self._images(content, question)
        chat = [{"role": "user", "content": content}]
        prompt = processor.apply_chat_template(chat, add_generation_prompt=True, **self.params.chat_template_kwargs)
        return processor(text=[prompt], return_tensors="pt", **shown)

    def _images(self, content: list[dict[str, str]], question: Question) -> dict[str, object]:
        from PIL import Image

        for label in question.labels:
            content += [{"type": "text", "text": f"{label}:"}, {"type": "image"}]
        jpegs = self.context.frames.jpegs(question.video, question.frames)
        return {"images": [Image.open(io.BytesIO(jpeg)) for jpeg in jpegs] or None}

    def _video(self, content: list[dict[str, str]], question: Question) -> dict[str, object]:
        """All chosen frames as one video; the processor chooses no frames of its own."""
        content.append({"type": "video"})
        video = self.context.frames.small_video(question.video, question.frames)
        count, (height, width) = len(video.frames), video.frames.shape[1:3]
        facts = {"fps": video.fps, "total_num_frames": count, "duration": count / video.fps, "frames_indices": list(range(count))}
        metadata = {**facts, "height": height, "width": width}
        return {"videos": [video.frames], "videos_kwargs": {"do_sample_frames": False, "video_metadata": [[metadata]]}}

    def _scores(self, processor: Any, model: Any, inputs: Any) -> Reply:
        """The log-probabilities of the allowed yes and no tokens as the next token, where they are one token for this model."""
        scores = model(**inputs).logits[0, -1].float().log_softmax(-1)
        candidates: dict[int, tuple[str, float]] = {}
        for word in (*YES_TOKENS, *NO_TOKENS):
            ids = processor.tokenizer.encode(word, add_special_tokens=False)
            if len(ids) == 1 and ids[0] != processor.tokenizer.unk_token_id:
                candidates.setdefault(ids[0], (word, float(scores[ids[0]])))
        best = max(candidates.values(), key=lambda candidate: candidate[1], default=("", 0.0))[0]
        return Reply(best.strip(), tuple(sorted(candidates.values())), usage={"input_tokens": int(inputs["input_ids"].shape[1])})

    def _scored_behind(self, processor: Any, model: Any, inputs: Any, written: Reply, said: Any) -> Reply:
        """The written reply with the scores at its answer: behind the thought, and behind white space, quotes and markdown.

        Where yes and no are unlikely there, too, the words alone count. Words that are unclear, and a thought that was never ended,
        hold no answer.
        """
        import torch

        # no candidates, rather than None: the words count as stated, nothing is sampled
        written = replace(written, logprobs=())
        pieces = [processor.tokenizer.decode([token]) for token in said.tolist()]
        thought, mark, _ = "".join(pieces).rpartition(THOUGHT)
        if parse_yes_no(written.text) is None:
            return written
        start = bisect_left(list(accumulate(map(len, pieces), initial=0)), len(thought + mark))
        start += sum(1 for _ in takewhile(BEFORE_ANSWER.fullmatch, pieces[start:]))
        shape, before = inputs["input_ids"].shape, said[None, :start]
        further = {"input_ids": before, "attention_mask": torch.ones_like(before)}
        longer = {
            name: torch.cat([value, further.get(name, torch.zeros_like(before)).to(value)], 1) if value.shape == shape else value
            for name, value in inputs.items()
        }
        scored = self._scores(processor, model, longer)
        return replace(written, logprobs=scored.logprobs) if is_likely(scored.logprobs) else written

    def _generation(self, processor: Any, model: Any, inputs: Any, repeat: int, begun: str) -> tuple[Reply, Any]:
        """A written reply and its tokens; `begun` is what the prompt already began."""
        import torch

        torch.manual_seed(int(sha256_json([self.context.seed, repeat])[:8], 16))
        warm = {"temperature": self.params.temperature} if self.params.temperature > 0 else {}
        output = model.generate(**inputs, max_new_tokens=self.params.max_tokens, do_sample=bool(warm), **warm)
        start = inputs["input_ids"].shape[1]
        said = output[0, start:]
        text = processor.tokenizer.decode(said, skip_special_tokens=True)
        ends = model.generation_config.eos_token_id
        ended = int(said[-1]) in (ends if isinstance(ends, list) else [ends])
        usage = {"input_tokens": int(start), "output_tokens": len(said)}
        return Reply(begun + text, truncated=len(said) >= self.params.max_tokens and not ended, usage=usage), said


def local_commit(model: str) -> str:
    """The commit of a hub model's snapshot on this disk, without the network; empty where there is none."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, "config.json")
    except HFValidationError:
        return ""
    return Path(found).parent.name if isinstance(found, str) else ""
