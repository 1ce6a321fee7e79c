"""Starts a Spark session, sleeps and ends well: sleeps.py [SECONDS], 3600 by default."""
import sys
import time

from pyspark.sql import SparkSession

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
spark = SparkSession.builder.appName("sleeps").getOrCreate()
print(f"sleeping for {seconds} seconds", flush=True)
time.sleep(seconds)
spark.stop()
print("slept")
