"""Network architectures that no dependency brings in the form needed here. They import torch, so backends import them late."""
