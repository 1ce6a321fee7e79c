"""Keeps texts in the driver until its container has no memory left."""
kept = []
while True:
    kept.append("x" * (1 << 20))
