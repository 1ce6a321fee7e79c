package org.apache.spark.examples;

import org.apache.spark.sql.SparkSession;

/** As {@link SparkPi}, under the other name that manifests use. */
public final class JavaSparkPi {
  private JavaSparkPi() {}

  public static void main(String[] args) {
    SparkSession session = SparkSession.builder().appName("JavaSparkPi").getOrCreate();
    SparkPi.run(session, args);
    session.stop();
  }
}
