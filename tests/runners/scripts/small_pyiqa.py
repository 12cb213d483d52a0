"""pyiqa's own MUSIQ and CLIP-IQA+, small and random, through the real script. `direct_...` is what the networks give alone."""

import importlib.util


def load(checkpoint, device, options):
    import torch
    from pyiqa.archs import clipiqa_arch
    from pyiqa.archs.clip_model import CLIP
    from pyiqa.archs.musiq_arch import MUSIQ

    torch.manual_seed(0)
    clipiqa_arch.load = lambda *_: CLIP(32, 64, (1, 1, 1, 1), 16, None, 77, 49408, 32, 2, 1).float().eval()
    networks = {
        "musiq": MUSIQ(pretrained=False, hidden_size=24, mlp_dim=48, num_heads=2, num_layers=1).eval(),
        "clipiqa": clipiqa_arch.CLIPIQA(model_type="clipiqa+", pretrained=False).eval(),
    }
    spec = importlib.util.spec_from_file_location("script", options["script"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    answer = module.runner(networks.__getitem__, device)

    def run(clip):
        from PIL import Image
        from torchvision.transforms.functional import to_tensor

        found = answer(clip)
        if clip.frames.dtype.name == "uint8":
            with torch.inference_mode():
                for name in list(found):
                    alone = [networks[name](to_tensor(Image.fromarray(frame))[None]) for frame in clip.frames]
                    found[f"direct_{name}"] = torch.cat(alone).reshape(-1).numpy()
        return found

    return run
