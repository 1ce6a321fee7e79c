# Prints what the driver and an executor read from the files that sparkctl has staged.
import os
import sys

from pyspark import SparkContext, SparkFiles

import greeting


def read(_):
    with open(SparkFiles.get("data.txt")) as data, open(os.path.join(SparkFiles.get("pack"), "inner.txt")) as inner:
        return f"{greeting.text()}, {data.read()}, {inner.read()}"


context = SparkContext()
print("proof: arguments = " + "|".join(sys.argv[1:]))
print("proof: driver = " + read(None))
print("proof: executor = " + context.parallelize([0], 1).map(read).first())
context.stop()
