"""An agent for tests: each call does what the next step of a script says. Its file is named by the first argument.

A step: "sh" (run in the tree), "out" and "err" (printed), "exit". The last step is done again when the script is over.
"""

import json
import os
import subprocess
import sys

script = sys.argv[1]
number = int(os.environ.get("GUARD_AGENT_CALL") or 0)
counter = script + ".calls"
if os.path.exists(counter):
    with open(counter) as file:
        number = len(file.read().splitlines())
prompt = sys.stdin.read()
with open(counter, "a") as file:
    file.write(json.dumps(prompt) + "\n")
with open(script) as file:
    steps = json.load(file)
step = steps[min(number, len(steps) - 1)]
if step.get("sh"):
    subprocess.run(["/bin/sh", "-c", step["sh"]], env=os.environ | {"N": str(number)}, stdin=subprocess.DEVNULL)
sys.stdout.write(step.get("out", ""))
sys.stdout.flush()
sys.stderr.write(step.get("err", ""))
sys.exit(step.get("exit", 0))
