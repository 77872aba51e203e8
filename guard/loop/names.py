"""Names of the files in a loop's directory that others read, too."""

from __future__ import annotations

STATUS = "status.json"
METRICS = "metrics.jsonl"
OUTPUTS = "outputs"
