"""A driver that performs the steps that its arguments name, one after the other.

    session   start Spark and wait until the first executor has run a task
    work      run tasks until two executors have run some, however long the second executor takes to start
    idle      wait until Spark has removed all executors
    fill      write 8 MiB to /scratch, and sleep
    sleep     sleep for an hour, which is longer than any test waits
    tick      print a line with a number and the time every second
    told      perform the step that is the content of /opt/told/step
    signal    wait until the driver's pod has the annotation example.dev/signal
    fail      exit with code 1
    end       do nothing; only for told

An unknown step is an error, so that a typing mistake does not look like a success.
"""
import itertools
import json
import os
import ssl
import sys
import time
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"
LIMIT = 150  # seconds


def context():
    from pyspark import SparkContext

    return SparkContext.getOrCreate()


def executor(_):
    """A task that runs for a second. Tasks that wait for so long make Spark request one more executor."""
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


def tick():
    for n in itertools.count():
        print("tick", n, time.time(), flush=True)
        time.sleep(1)


def told():
    with open("/opt/told/step") as f:
        take(f.read().strip())


def own_pod():
    with open(ACCOUNT + "token") as token, open(ACCOUNT + "namespace") as namespace:
        request = urllib.request.Request(
            f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
            f"/api/v1/namespaces/{namespace.read()}/pods/{os.environ['HOSTNAME']}",
            headers={"Authorization": "Bearer " + token.read()},
        )
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=ACCOUNT + "ca.crt")) as answer:
        return json.load(answer)


def signal():
    while "example.dev/signal" not in own_pod()["metadata"].get("annotations", {}):
        time.sleep(0.5)


def fail():
    sys.exit("failing as it was told")


STEPS = {f.__name__: f for f in (session, work, idle, fill, sleep, tick, told, signal, fail)}


def take(step):
    print("step", step, flush=True)
    if step != "end":
        STEPS[step]()


for word in sys.argv[1:]:
    take(word)
