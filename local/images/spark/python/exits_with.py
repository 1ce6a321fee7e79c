"""Ends with an exit code of its own: exits_with.py [CODE], 3 by default."""
import sys

code = int(sys.argv[1]) if len(sys.argv) > 1 else 3
print(f"exiting with {code} on purpose", file=sys.stderr)
sys.exit(code)
