"""The measures of a plain folder: what a video shows without request, phases or ground truth."""
