"""What the child process runs: MemoBench's released programs, with small networks in the places where they keep their own.

`inputs` names the dataset's folder and the networks' folder; `give` hands values back (see `lookback.parity`).
"""

DRIVER = '''
import importlib.util, json, os, sys, types
from pathlib import Path

import numpy as np
import pandas as pd
import torch

torch.set_num_threads(1)
home = os.getcwd()
os.chdir(inputs["root"])  # the program knows its data by relative paths
networks = Path(inputs["networks"])


def the_program():
    """run_eval.py from its command line to its table, and the table's numbers."""
    import run_eval
    from automated.metrics import camera_controllability, geometry, reference_fidelity, temporal, visual_quality
    import lpips
    from torchvision.models.optical_flow import raft_small
    from transformers import AutoImageProcessor, AutoModel, AutoModelForDepthEstimation

    fidelity = lpips.LPIPS(net="alex", pretrained=False, pnet_rand=True, verbose=False)
    fidelity.load_state_dict(torch.load(networks / "lpips.pth", weights_only=True))
    reference_fidelity._lpips_model = fidelity.eval()
    flow = raft_small(weights=None)
    flow.load_state_dict(torch.load(networks / "raft.pth", weights_only=True))
    temporal._raft, temporal._raft_device = flow.eval(), "cpu"
    encoder = AutoModel.from_pretrained(networks / "dinov2").eval()
    tokens = lambda images: {"x_norm_patchtokens": encoder(pixel_values=images).last_hidden_state[:, 1:]}
    geometry._dino, geometry._dino_device = types.SimpleNamespace(forward_features=tokens), "cpu"
    geometry._depth_model = AutoModelForDepthEstimation.from_pretrained(networks / "depth").eval()
    geometry._depth_processor = AutoImageProcessor.from_pretrained(networks / "depth")
    geometry._depth_device = "cpu"
    colours = types.SimpleNamespace(encode_image=lambda image: image.mean(dim=(2, 3)))
    to_tensor = lambda picture: torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
    weights = torch.tensor(inputs["weights"], dtype=torch.float32)
    visual_quality._aes_model, visual_quality._aes_clip = lambda features: (features @ weights) * 5, colours
    visual_quality._aes_preprocess, visual_quality._aes_device = to_tensor, "cpu"
    visual_quality._iqa_metric, visual_quality._iqa_device = lambda image: image.mean() * 1.2, "cpu"
    visual_quality._iqa_backend = "clipiqa+"
    reward = lambda prompt, pictures: float(np.asarray(pictures[0]).mean() / 64 - 2 + len(prompt) / 100)
    visual_quality._ir_model, visual_quality._ir_device = types.SimpleNamespace(score=reward), "cpu"
    paths = {name.removeprefix("path "): inputs[name] for name in inputs if name.startswith("path ")}
    camera_controllability._estimate_poses_mapanything = lambda frames, wanted, device: paths[place(frames)]
    run_eval.clip_frame_similarity = lambda *pictures, **options: 0.0  # GTRevisitSim is in no table, and its network is large
    options = ["--mode", "both", "--gen_root_syn", inputs["synthetic"], "--gen_root_real", inputs["real"], "--device", "cpu"]
    sys.argv = ["run_eval.py", *options, "--prompt_src_real", inputs["prompts"], "--out_csv", inputs["out"]]
    run_eval.main()
    table = pd.read_csv(inputs["out"], dtype={"id": str}).set_index("id")
    give("clips", np.array(list(table.index)))
    for clip, row in table.iterrows():
        for column in row.index:
            if column not in ("scene", "data_type", "error"):
                give(f"{clip} {column}", float(row[column]))


def place(frames):
    """The clip that a frame reader reads."""
    path = Path(getattr(frames, "frames_dir", "") or frames.video_path)
    return path.parent.name


def the_object_score():
    """compute_ors.py on given frames, with a processor that returns given masks."""
    import compute_ors

    class Processor:
        def set_confidence_threshold(self, threshold):
            self.threshold = threshold

        def set_image(self, image):
            return {"image": np.asarray(image)}

        def set_text_prompt(self, words, state):
            height, width = state["image"].shape[:2]
            shares, scores = inputs["mask shares"], inputs["mask scores"]
            row = int(state["image"][0, 0, 0]) % len(shares)
            masks = torch.zeros(len(shares[row]), 1, height * width, dtype=torch.bool)
            for mask, share in zip(masks, shares[row]):
                mask[0, : int(round(share * height * width))] = True
            return {"masks": masks.view(-1, 1, height, width), "scores": torch.tensor(scores[row])}

    frames = [np.full((100, 200, 3), shade, np.uint8) for shade in inputs["shades"]]
    found = compute_ors.compute_ors_for_clip(Processor(), frames, inputs["r_start"], "a cup", is_bgr_arrays=True)
    give("ors", found["ors"])
    phrases = [compute_ors.extract_subject_phrase(text) or subject for text, subject in inputs["phrase prompts"]]
    give("phrases", np.array(phrases))
    marks = [compute_ors.map_keyframes(*case) for case in inputs["marks"]]
    give("marks", np.array(marks))


def the_answers():
    """The scoring of llm-vqa.py on given answers; its client is never asked."""
    google = types.ModuleType("google")
    google.genai = types.SimpleNamespace(Client=lambda **options: None)
    sys.modules["google"], sys.modules["google.genai"] = google, google.genai
    spec = importlib.util.spec_from_file_location("llm_vqa", Path(inputs["vqa"]) / "llm-vqa.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, (answers, questions) in inputs["answered"].items():
        for dimension, rate in module.compute_scores(answers, questions).items():
            give(f"vqa {name} {dimension}", rate)


for name, part in (("program", the_program), ("object score", the_object_score), ("answers", the_answers)):
    attempt(f"{name} ran", lambda: part() or 1.0)
os.chdir(home)
'''
