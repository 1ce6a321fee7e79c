"""A driver that runs an SQL query with two stages. With the argument kill, it then kills the JVM, which started it."""
import os
import signal
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rows = spark.range(1000).selectExpr("id % 7 AS remainder").groupBy("remainder").count().collect()
print("rows:", len(rows), flush=True)

if sys.argv[1:] == ["kill"]:
    os.kill(os.getppid(), signal.SIGKILL)

spark.stop()
