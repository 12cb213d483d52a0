"""Rotation averaging: one orientation per frame that agrees best with all measured relative rotations.

Minimises sum w_ij rho(angle(R_ij, R_i^T R_j)) by linear steps in the tangent space (V. Govindu, CVPR 2004; A. Chatterjee,
V. Govindu, ICCV 2013). With world-frame steps R_i <- exp(d_i) R_i each residual is linear in d_j - d_i, so every step is one graph
Laplacian with three right-hand sides. Positions are averaged by the same Laplacian.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix
from scipy.sparse.linalg import splu
from scipy.spatial.transform import Rotation

LOSS_DEG = 0.5  # residuals beyond this lose their weight
ROUNDS = 8


def average_rotations(initial: np.ndarray, edges: np.ndarray, relative: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Orientations (N,3,3) camera-to-world with the first fixed.

    `edges` (E,2) frames i, j; `relative` (E,3,3) = R_i^T R_j; `weights` (E,).
    """
    rotations = initial.copy()
    for _ in range(ROUNDS):
        i, j = edges.T
        predicted = rotations[i] @ relative
        residual = Rotation.from_matrix(predicted @ np.swapaxes(rotations[j], 1, 2)).as_rotvec()
        scale = np.radians(LOSS_DEG)
        robust = weights / (1.0 + (residual**2).sum(axis=1) / scale**2)
        step = solve_laplacian(len(rotations), edges, residual, robust)
        rotations = Rotation.from_rotvec(step).as_matrix() @ rotations
        if np.abs(step).max() < 1e-8:
            break
    return rotations


def solve_laplacian(n: int, edges: np.ndarray, difference: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """x (n,k) with x_0 = 0 that minimises sum_e w_e |x_j - x_i - difference_e|^2 over a connected graph."""
    if n == 1:
        return np.zeros((1, difference.shape[1]))
    rows = np.arange(len(edges))
    signs = np.concatenate([-np.ones(len(edges)), np.ones(len(edges))])
    incidence = coo_matrix((signs, (np.tile(rows, 2), edges.T.ravel())), shape=(len(edges), n)).tocsc()[:, 1:]
    weighted = incidence.multiply(weights[:, None])
    laplacian = csc_matrix(incidence.T @ weighted)
    solution = splu(laplacian).solve(np.asarray(weighted.T @ difference))
    return np.concatenate([np.zeros((1, difference.shape[1])), solution])
