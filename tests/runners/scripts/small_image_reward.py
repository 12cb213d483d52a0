"""ImageReward's own classes, small and random, saved as the released files and loaded by the real script.

`alone` holds the rewards from the released code's other way: one picture at a time.
"""

import importlib.util
import json
from pathlib import Path


def load(checkpoint, device, options):
    import torch

    spec = importlib.util.spec_from_file_location("script", options["script"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network = module.network()
    from ImageReward.models.BLIP import blip_pretrain
    from ImageReward.models.BLIP.vit import VisionTransformer

    shape = {"img_size": 224, "patch_size": 16, "embed_dim": 64, "depth": 2, "num_heads": 4}
    blip_pretrain.create_vit = lambda *_: (VisionTransformer(**shape), 64)
    folder = Path(checkpoint)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "house", "[DEC]", "[ENC]"]
    (folder / "bert-base-uncased").mkdir(exist_ok=True)
    (folder / "bert-base-uncased" / "vocab.txt").write_text("\n".join(words))
    (folder / "bert-base-uncased" / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    config = {
        "hidden_size": 768,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "vocab_size": len(words),
    }
    config |= {"add_cross_attention": True, "encoder_width": 64, "max_position_embeddings": 64, "type_vocab_size": 2}
    (folder / "med_config.json").write_text(json.dumps(config))
    torch.manual_seed(0)
    with module.contextlib.chdir(folder):
        made = network(med_config=str(folder / "med_config.json"))
    for layer in made.mlp.layers:  # its own start is so small that every reward would be the same
        if hasattr(layer, "weight"):
            torch.nn.init.normal_(layer.weight, std=0.2)
    torch.save(made.state_dict(), folder / "ImageReward.pt")
    torch.manual_seed(1)  # what is loaded counts, and not what a new network starts with
    answer = module.load(checkpoint, device, {})
    made.eval()

    def run(clip):
        from PIL import Image

        alone = [made.score(clip.facts["prompt"], Image.fromarray(frame)) for frame in clip.frames]
        return {**answer(clip), "alone": module.np.array(alone, "float32")}

    return run
