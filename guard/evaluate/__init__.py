"""Evaluation: whether a loop does good work, over many runs. It reads journals and steers nothing by itself."""
