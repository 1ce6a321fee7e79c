"""Counts the words of a line with a library that the image does not have."""
from pyspark.sql import SparkSession


def count(line):
    import word_counter

    return word_counter.count(line)


spark = SparkSession.builder.getOrCreate()
print(count("to be or not to be"))
