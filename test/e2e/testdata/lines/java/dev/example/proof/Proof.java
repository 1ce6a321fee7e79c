package dev.example.proof;

import dev.example.greeting.Greeting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** Prints what a driver and its executors see of what they were given, one fact a line: "proof: NAME = VALUE". */
public final class Proof {
  private Proof() {}

  public static void main(String[] args) throws Exception {
    JavaSparkContext context = new JavaSparkContext(new SparkConf());
    say("arguments", String.join("|", args));
    say("sum", "" + context.parallelize(List.of(1, 2, 3, 4, 5, 6, 7, 8), 4).reduce(Integer::sum));
    say("user", UserGroupInformation.getCurrentUser().getShortUserName() + ", in Spark " + context.sc().sparkUser());
    say("driver's package", Greeting.to("driver"));
    say("driver's secret", secret());
    say("sidecar", awaited(Path.of("/shared/sidecar")));
    say("executor", String.join(", ", new TreeSet<>(context.parallelize(List.of(1, 2), 2).map(i -> executor(i)).collect())));
    context.stop();
    Files.writeString(Path.of("/shared/done"), "done");
  }

  /** What one task sees. Its claim is a volume of the executor's own: it can be written, and is no part of the container. */
  private static String executor(int task) throws IOException {
    Path scratch = Path.of("/scratch");
    Path file = scratch.resolve("task-" + task);
    Files.writeString(file, "kept");
    boolean mounted = Files.readAllLines(Path.of("/proc/self/mountinfo")).stream().anyMatch(line -> line.contains(" /scratch "));
    return String.join("; ", Greeting.to("executor"), "secret " + secret(), "template " + System.getenv("PROOF_TEMPLATE"),
        "claim " + Files.readString(file) + (mounted ? " mounted" : " not mounted"));
  }

  private static String secret() throws IOException {
    return Files.readString(Path.of("/etc/proof/token")) + " and " + System.getenv("PROOF_TOKEN");
  }

  /** The sidecar starts with the driver, and writes when it does. */
  private static String awaited(Path file) throws IOException, InterruptedException {
    for (long end = System.nanoTime() + 60_000_000_000L; !Files.exists(file) && System.nanoTime() < end; ) {
      Thread.sleep(100);
    }
    return Files.exists(file) ? Files.readString(file).strip() : "none";
  }

  private static void say(String name, String value) {
    System.out.println("proof: " + name + " = " + value);
  }
}
