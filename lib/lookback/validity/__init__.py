"""How right the verdicts are about real clips: labels against verdicts, cross-validated by scene.

Read the modules in this order: `dataset` (the labelled clips and their labels), `run` (the pipeline over them), `fit` (the models
and their recorded tables), `scores` and `judged` (the arithmetic), `report` and `page` (what `make validity` writes).
"""
