"""Ends by an exception that nobody catches: throws.py [MESSAGE]."""
import atexit
import sys
import time

# Spark's driver ends as soon as Python does, and may not have printed yet what Python said last (PythonRunner).
atexit.register(time.sleep, 1)
raise RuntimeError(sys.argv[1] if len(sys.argv) > 1 else "raised on purpose")
