package dev.sparkoperator.failures;

import org.apache.spark.sql.SparkSession;

/** Starts a Spark session, sleeps and ends well: {@code Sleeps [seconds]}, 3600 by default. With "bare" as second argument no session. */
public final class Sleeps {
  private Sleeps() {}

  public static void main(String[] args) throws InterruptedException {
    long seconds = args.length > 0 ? Long.parseLong(args[0]) : 3600;
    SparkSession session = args.length > 1 && args[1].equals("bare") ? null : SparkSession.builder().appName("Sleeps").getOrCreate();
    System.out.println("sleeping for " + seconds + " seconds");
    Thread.sleep(seconds * 1000);
    if (session != null) {
      session.stop();
    }
    System.out.println("slept");
  }
}
