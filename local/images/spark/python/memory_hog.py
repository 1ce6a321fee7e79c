"""Takes memory until the kernel kills the process for its container's limit: memory_hog.py."""
kept = []
while True:
    kept.append(b"x" * (1 << 20))
