package org.apache.spark.examples;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Shuffles pairs by key: {@code GroupByTest [mappers] [pairs] [value size] [reducers]}. Prints the number of distinct keys. */
public final class GroupByTest {
  private GroupByTest() {}

  public static void main(String[] args) {
    int mappers = argument(args, 0, 2);
    int pairs = argument(args, 1, 1000);
    int size = argument(args, 2, 1000);
    int reducers = argument(args, 3, mappers);
    SparkSession session = SparkSession.builder().appName("GroupBy Test").getOrCreate();
    List<Integer> seeds = new ArrayList<>();
    for (int i = 0; i < mappers; i++) {
      seeds.add(i);
    }
    JavaPairRDD<Integer, byte[]> made =
        JavaSparkContext.fromSparkContext(session.sparkContext())
            .parallelize(seeds, mappers)
            .flatMapToPair(
                seed -> {
                  Random random = new Random(seed);
                  List<Tuple2<Integer, byte[]>> list = new ArrayList<>();
                  for (int i = 0; i < pairs; i++) {
                    list.add(new Tuple2<>(random.nextInt(Integer.MAX_VALUE), new byte[size]));
                  }
                  return list.iterator();
                });
    System.out.println(made.groupByKey(reducers).count());
    session.stop();
  }

  private static int argument(String[] args, int index, int otherwise) {
    return args.length > index ? Integer.parseInt(args[index]) : otherwise;
  }
}
