"""Lets its tasks fail in the executors: the job fails after spark.task.maxFailures tries."""
from pyspark.sql import SparkSession


def fail(number):
    raise RuntimeError(f"task {number} failed on purpose")


spark = SparkSession.builder.appName("task_fails").getOrCreate()
spark.sparkContext.parallelize([1, 2], 2).foreach(fail)
