"""Prints what a driver and its executors see of what they were given, one fact a line: "proof: NAME = VALUE"."""
import os
import sys
import time

from pyspark import SparkContext
import words

LIMIT = 150  # seconds


def say(name, value):
    print(f"proof: {name} = {value}", flush=True)


def visit(_):
    """Is work: what is left waiting for a second makes Spark ask for one more executor."""
    time.sleep(1)
    return os.environ["SPARK_EXECUTOR_ID"], os.environ.get("PROOF_TEMPLATE")


def executors():
    """Counts them; the driver is one of the block managers."""
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


def until(done):
    end = time.monotonic() + LIMIT
    while not done() and time.monotonic() < end:
        time.sleep(0.2)
    return done()


context = SparkContext()
say("arguments", "|".join(sys.argv[1:]))
visited = set()
end = time.monotonic() + LIMIT
while len(visited) < 2 and time.monotonic() < end:
    visited.update(context.parallelize(range(4), 4).map(visit).collect())
say("executors with work", len(visited))
say("template", sorted({template for _, template in visited}))
counts = context.parallelize(words.TEXT.split(), 2).map(words.pair).reduceByKey(lambda a, b: a + b).collectAsMap()
say("counts", sorted(counts.items()))
say("executors without work", 0 if until(lambda: executors() == 0) else executors())
with open("/shared/sidecar") as f:
    say("sidecar", f.read().strip())
say("user", f"{context.sparkUser()}")
context.stop()
