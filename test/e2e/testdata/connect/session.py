"""A session on a Spark Connect server, as its users open one. What it found is printed as JSON.

    session.py [--slow MILLISECONDS] ADDRESS [KEY...]

version  of the server's Spark
conf     the values that the server has for the keys
work     a thousand rows by the pod that counted them: `java_method` is called in the JVM that computes the row, and a container's HOSTNAME is
         its pod's name. Python of one's own would tell the same, and would need the server's Python here.

--slow lets each of forty tasks take so long at least.
"""
import argparse
import json

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

parser = argparse.ArgumentParser()
parser.add_argument("--slow", type=int, default=0)
parser.add_argument("address")
parser.add_argument("keys", nargs="*")
args = parser.parse_args()

spark = SparkSession.builder.remote(args.address).getOrCreate()
rows = spark.range(0, 1000, 1, 40 if args.slow else 8)
if args.slow:
    rows = rows.where(f"id % 25 > 0 or java_method('java.lang.Thread', 'sleep', {args.slow}L) = 'null'")
work = (
    rows.select("id", f.expr("java_method('java.lang.System', 'getenv', 'HOSTNAME')").alias("pod"))
    .groupBy("pod")
    .agg(f.count("id").alias("rows"), f.sum("id").alias("sum"))
    .orderBy("pod")
    .collect()
)
print(json.dumps({
    "version": spark.version,
    "conf": {key: spark.conf.get(key) for key in args.keys},
    "work": [row.asDict() for row in work],
}))
spark.stop()
