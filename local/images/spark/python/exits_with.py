"""Ends with an exit code of its own: exits_with.py [CODE], 3 by default."""
import atexit
import sys
import time

# Spark's driver ends as soon as Python does, and may not have printed yet what Python said last (PythonRunner).
atexit.register(time.sleep, 1)
code = int(sys.argv[1]) if len(sys.argv) > 1 else 3
print(f"exiting with {code} on purpose", file=sys.stderr)
sys.exit(code)
