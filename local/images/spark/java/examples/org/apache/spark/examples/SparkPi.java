package org.apache.spark.examples;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** Estimates pi by throwing points at a square: {@code SparkPi [slices]}, 100000 points a slice. Prints "Pi is roughly ...". */
public final class SparkPi {
  private static final int POINTS = 100_000;

  private SparkPi() {}

  public static void main(String[] args) {
    SparkSession session = SparkSession.builder().appName("Spark Pi").getOrCreate();
    run(session, args);
    session.stop();
  }

  static void run(SparkSession session, String[] args) {
    int slices = args.length > 0 ? Integer.parseInt(args[0]) : 2;
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < slices; i++) {
      numbers.add(i);
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    long inside = context.parallelize(numbers, slices).map(slice -> hits(slice)).reduce(Long::sum);
    System.out.println("Pi is roughly " + 4.0 * inside / ((double) POINTS * slices));
  }

  /** Counts the points of a slice that fall into the circle. The slice is the seed, so that a result can be checked. */
  private static long hits(int slice) {
    java.util.Random random = new java.util.Random(slice);
    long inside = 0;
    for (int i = 0; i < POINTS; i++) {
      double x = random.nextDouble() * 2 - 1;
      double y = random.nextDouble() * 2 - 1;
      if (x * x + y * y <= 1) {
        inside++;
      }
    }
    return inside;
  }
}
