package org.apache.spark.examples;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Counts the words of a text: {@code JavaWordCount FILE}. Prints a line "word: count" for each, in the order of words. */
public final class JavaWordCount {
  private JavaWordCount() {}

  public static void main(String[] args) {
    if (args.length != 1) {
      System.err.println("usage: JavaWordCount FILE");
      System.exit(1);
    }
    SparkSession session = SparkSession.builder().appName("JavaWordCount").getOrCreate();
    JavaRDD<String> lines = JavaSparkContext.fromSparkContext(session.sparkContext()).textFile(args[0]);
    List<Tuple2<String, Integer>> counts =
        lines
            .flatMap(line -> Arrays.asList(line.split(" ")).iterator())
            .mapToPair(word -> new Tuple2<>(word, 1))
            .reduceByKey(Integer::sum)
            .sortByKey()
            .collect();
    for (Tuple2<String, Integer> count : counts) {
      System.out.println(count._1() + ": " + count._2());
    }
    session.stop();
  }
}
