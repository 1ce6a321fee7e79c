"""Ends by an exception that nobody catches: throws.py [MESSAGE]."""
import sys

raise RuntimeError(sys.argv[1] if len(sys.argv) > 1 else "raised on purpose")
