"""A tiny random vision-language model, saved in the real format: the architecture of Qwen2-VL, bytes as vocabulary, untrained."""

from __future__ import annotations

from pathlib import Path

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


def save_tiny_vlm(folder: Path, seed: int = 0) -> Path:
    """Write model, tokenizer and processor. The words yes and no are single tokens, with and without a leading space."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import (
        PreTrainedTokenizerFast,
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLImageProcessor,
        Qwen2VLProcessor,
        Qwen2VLVideoProcessor,
    )

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
