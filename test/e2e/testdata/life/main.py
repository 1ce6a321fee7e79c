"""A driver's life, told beforehand: every argument is a step, taken one after the other.

    session   start Spark and wait until the first executor has done some work
    work      keep two executors busy until both have done some, however long the second takes to come
    idle      wait until Spark has sent all executors away
    fill      write 8 MiB to /scratch, and sleep
    sleep     sleep for as long as anybody has patience
    told      take the step that is the content of /opt/told/step
    fail      end badly
    end       nothing more; for told

A step that nobody knows is an error, so that a typing mistake is not taken for a success.
"""
import os
import sys
import time

LIMIT = 150  # seconds


def context():
    from pyspark import SparkContext

    return SparkContext.getOrCreate()


def executor(_):
    """Is work: what is left waiting for a second makes Spark ask for one more executor."""
    time.sleep(1)
    return os.environ["SPARK_EXECUTOR_ID"]


def until(done, what):
    end = time.monotonic() + LIMIT
    while not done():
        if time.monotonic() > end:
            sys.exit(f"waited {LIMIT} s for {what}")
        time.sleep(0.2)


def session():
    context().parallelize(range(1), 1).map(executor).collect()


def work():
    seen = set()

    def both():
        seen.update(context().parallelize(range(4), 4).map(executor).collect())
        return len(seen) > 1

    until(both, "two executors")


def idle():
    # The driver is one of the block managers.
    until(lambda: context()._jsc.sc().getExecutorMemoryStatus().size() == 1, "no executors")


def fill():
    with open("/scratch/filling", "wb") as f:
        f.write(b"x" * (8 << 20))
    sleep()


def sleep():
    time.sleep(3600)


def told():
    with open("/opt/told/step") as f:
        take(f.read().strip())


def fail():
    sys.exit("failing as it was told")


STEPS = {f.__name__: f for f in (session, work, idle, fill, sleep, told, fail)}


def take(step):
    print("step", step, flush=True)
    if step != "end":
        STEPS[step]()


for word in sys.argv[1:]:
    take(word)
