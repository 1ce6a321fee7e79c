package org.apache.spark.examples;

import java.util.Map;
import java.util.TreeMap;

/** Needs no cluster: {@code DriverSubmissionTest SECONDS} prints the environment and Spark's properties, then a line each second. */
public final class DriverSubmissionTest {
  private DriverSubmissionTest() {}

  public static void main(String[] args) throws InterruptedException {
    if (args.length < 1) {
      System.err.println("usage: DriverSubmissionTest SECONDS");
      System.exit(1);
    }
    System.out.println("Environment variables containing SPARK_TEST:");
    for (Map.Entry<String, String> e : new TreeMap<>(System.getenv()).entrySet()) {
      if (e.getKey().contains("SPARK_TEST")) {
        System.out.println(e.getKey() + "=" + e.getValue());
      }
    }
    System.out.println("System properties containing spark.test:");
    for (String name : new TreeMap<>(System.getProperties()).keySet().stream().map(String::valueOf).toList()) {
      if (name.contains("spark.test")) {
        System.out.println(name + "=" + System.getProperty(name));
      }
    }
    int seconds = Integer.parseInt(args[0]);
    for (int i = 1; i <= seconds; i++) {
      System.out.println("Alive for " + i + " out of " + seconds + " seconds");
      Thread.sleep(1000);
    }
  }
}
