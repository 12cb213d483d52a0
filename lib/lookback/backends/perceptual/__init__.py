"""Perceptual distance (LPIPS) and style (Gram matrices of VGG features)."""
