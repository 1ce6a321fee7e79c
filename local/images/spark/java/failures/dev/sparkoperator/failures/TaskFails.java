package dev.sparkoperator.failures;

import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * Lets its tasks fail in the executors: {@code TaskFails throw} by an exception, which fails the job after spark.task.maxFailures tries, or
 * {@code TaskFails exit} by ending the executor's process with code 7.
 */
public final class TaskFails {
  private TaskFails() {}

  public static void main(String[] args) {
    boolean exit = args.length > 0 && args[0].equals("exit");
    SparkSession session = SparkSession.builder().appName("TaskFails").getOrCreate();
    JavaSparkContext.fromSparkContext(session.sparkContext())
        .parallelize(List.of(1, 2), 2)
        .foreach(
            number -> {
              if (exit) {
                Runtime.getRuntime().halt(7);
              }
              throw new IllegalStateException("task " + number + " failed on purpose");
            });
    session.stop();
  }
}
