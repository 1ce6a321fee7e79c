"""Estimates pi in rounds, until the file /tmp/enough exists in the driver's container."""
import os
import random
import time

from pyspark.sql import SparkSession

POINTS = 20000


def inside(_):
    x, y = random.random(), random.random()
    return x * x + y * y <= 1


spark = SparkSession.builder.getOrCreate()
rounds = found = 0
while not os.path.exists("/tmp/enough"):
    rounds += 1
    found += spark.sparkContext.parallelize(range(POINTS), 2).filter(inside).count()
    if rounds & (rounds - 1) == 0:
        print(f"Pi is roughly {4 * found / (POINTS * rounds):.2f} after {rounds} rounds", flush=True)
    time.sleep(1)
print("Pi is known well enough", flush=True)
spark.stop()
