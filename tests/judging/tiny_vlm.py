"""Tiny random vision-language models in the real format: Qwen2-VL, Qwen3-VL and Qwen3.5, bytes as vocabulary, untrained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] in ['image', 'image_url'] %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part['type'] in ['video', 'video_url'] %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif 'text' in part %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
WORDS = ["Yes", "yes", "YES", "No", "no", "NO"]


def tiny_tokenizer() -> tuple[Any, dict[str, int]]:
    """A tokenizer and its vocabulary. The words yes and no are single tokens, with and without a leading space."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary: dict[str, int] = {token: number for number, token in enumerate([*letters, *SPECIAL])}
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        steps = [(word[:end], word[end]) for end in range(1, len(word))] + [("Ġ", word)]
        for left, right in steps:
            if left + right not in vocabulary:
                vocabulary[left + right] = len(vocabulary)
                merges.append((left, right))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=SPECIAL,
        chat_template=TEMPLATE,
    )
    return fast, vocabulary


def save_tiny_vlm(folder: Path, seed: int = 0) -> Path:
    """Write model, tokenizer and processor."""
    import torch
    from transformers import (
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLImageProcessor,
        Qwen2VLProcessor,
        Qwen2VLVideoProcessor,
    )

    fast, vocabulary = tiny_tokenizer()
    size = {"shortest_edge": 56 * 56, "longest_edge": 112 * 112}
    images = Qwen2VLImageProcessor(size=size)
    processor = Qwen2VLProcessor(images, fast, Qwen2VLVideoProcessor(size=size), chat_template=TEMPLATE)
    ids = {name: vocabulary[f"<|{name}|>"] for name in ("vision_start", "vision_end", "image_pad", "video_pad")}
    text = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    text |= {
        "vocab_size": len(vocabulary),
        "max_position_embeddings": 4096,
        "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0},
    }
    text |= {"bos_token_id": None, "eos_token_id": vocabulary["<|im_end|>"], "pad_token_id": vocabulary["<|endoftext|>"]}
    vision = {
        "depth": 1,
        "embed_dim": 32,
        "hidden_size": 32,
        "num_heads": 4,
        "mlp_ratio": 2,
        "patch_size": 14,
        "spatial_merge_size": 2,
    }
    config = Qwen2VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=ids["image_pad"],
        video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"],
        vision_end_token_id=ids["vision_end"],
    )
    torch.manual_seed(seed)
    model = Qwen2VLForConditionalGeneration(config)
    # an untrained model writes nonsense, so it may only say yes or no; the random weights and the seed decide which
    words, end = [vocabulary[word] for word in WORDS], vocabulary["<|im_end|>"]
    model.generation_config.update(
        do_sample=True,
        eos_token_id=end,
        pad_token_id=vocabulary["<|endoftext|>"],
        suppress_tokens=[token for token in vocabulary.values() if token not in (*words, end)],
        begin_suppress_tokens=[end],
        sequence_bias=[[[word, end], 100.0] for word in words],
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_tiny_qwen3(folder: Path, family: str) -> Path:
    """The models that WRBench asks: `qwen3_vl` (its gate) and `qwen3_5` (its probes)."""
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText, Qwen2VLImageProcessor, Qwen3VLProcessor, Qwen3VLVideoProcessor

    fast, vocabulary = tiny_tokenizer()
    text = {
        "vocab_size": len(vocabulary), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 4096, "bos_token_id": None,
        "eos_token_id": vocabulary["<|im_end|>"], "pad_token_id": vocabulary["<|endoftext|>"],
        "rope_parameters": {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True, "rope_theta": 1e4},
    }  # fmt: skip
    vision = {
        "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 4, "patch_size": 16, "spatial_merge_size": 2,
        "temporal_patch_size": 2, "out_hidden_size": 32, "num_position_embeddings": 16,
    }  # fmt: skip
    if family == "qwen3_vl":
        vision["deepstack_visual_indexes"] = [0]
    else:  # three of four layers have linear attention; all of them turn a quarter of each head
        text |= {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 2}
        text["rope_parameters"] |= {"partial_rotary_factor": 1.0}
    ids = {f"{name}_token_id": vocabulary[f"<|{name}|>"] for name in ("vision_start", "vision_end")}
    ids |= {f"{name}_token_id": vocabulary[f"<|{name}_pad|>"] for name in ("image", "video")}
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, text_config=text, vision_config=vision, **ids)
    AutoModelForImageTextToText.from_config(config).save_pretrained(folder)
    size = {"shortest_edge": 64 * 64, "longest_edge": 128 * 128}
    shape = {"patch_size": 16, "temporal_patch_size": 2, "merge_size": 2, "size": size}
    processor = Qwen3VLProcessor(Qwen2VLImageProcessor(**shape), fast, Qwen3VLVideoProcessor(**shape), chat_template=TEMPLATE)
    processor.save_pretrained(folder)
    return folder
