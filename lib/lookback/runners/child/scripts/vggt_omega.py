"""VGGT-Omega as WRBench runs it: every frame, one forward pass. Answers are world-to-camera, at the resized picture."""

from __future__ import annotations

from pathlib import Path

from pictures import as_pictures


def load(checkpoint, device, options):
    import torch
    from vggt_omega.models import VGGTOmega

    model = VGGTOmega()
    model.load_state_dict(state_of(torch.load(checkpoint_file(checkpoint), map_location="cpu", weights_only=True)), strict=True)
    return runner(model.to(device).eval(), device, options)


def checkpoint_file(checkpoint):
    path = Path(checkpoint)
    return path / "vggt_omega_1b_512.pt" if path.is_dir() else path


def state_of(held):
    """The state dict, which may lie under a name."""
    return next((held[name] for name in ("model", "state_dict", "module") if name in held), held)


def runner(model, device, options):
    import torch
    from vggt_omega.utils.load_fn import load_and_preprocess_images
    from vggt_omega.utils.pose_enc import encoding_to_camera

    def run(clip):
        with as_pictures(clip.frames) as paths:
            images = load_and_preprocess_images(paths, **options).to(device)
        with torch.inference_mode():
            found = model(images)
        extrinsic, intrinsic = encoding_to_camera(found["pose_enc"].float(), images.shape[-2:])
        return {"extrinsic": extrinsic[0].cpu().numpy(), "intrinsic": intrinsic[0].cpu().numpy()}

    return run
