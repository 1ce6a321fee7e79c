import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.launcher.JavaModuleOptions;

/**
 * Makes a class-data-sharing archive of a Spark image, in the image: {@code ClassArchive [arguments of spark-submit]}.
 *
 * <p>It runs a driver and an executor, by default of SparkPi, and records the classes that they load. Its driver uses a Kubernetes API of this
 * program, which answers the requests of a driver with one executor, and starts the executor as a process. It writes two files to $SPARK_HOME/cds:
 * spark.jsa, the archive for a class path that begins with spark.jar; and spark.jar, an empty jar whose manifest lists the jars of Spark in a fixed
 * order, because the order of {@code jars/*} differs between file systems.
 */
public final class ClassArchive {
  private static final Path HOME = Path.of(System.getenv("SPARK_HOME"));
  private static final Path DIR = HOME.resolve("cds");
  private static final String TEMPORARY = System.getProperty("java.io.tmpdir");
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String DRIVER = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"driver\",\"namespace\":\"default\",\"uid\":\"1\"},"
      + "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}";

  private final List<Process> executors = new ArrayList<>();

  private ClassArchive() {}

  public static void main(String[] args) {
    int code = 0;
    try {
      Files.createDirectories(DIR);
      writeJar();
      new ClassArchive().train(args);
      writeArchive();
    } catch (Exception e) {
      e.printStackTrace();
      code = 1;
    }
    System.exit(code); // The threads of the server would hold the JVM.
  }

  private static void writeArchive() throws IOException, InterruptedException {
    Set<String> classes = new LinkedHashSet<>();
    for (String role : List.of("driver", "executor")) {
      Path list = DIR.resolve(role + ".classes");
      for (String line : Files.readAllLines(list)) {
        if (!line.contains(" source: ")) { // the class of another class loader, which the archive cannot have
          classes.add(line.replaceFirst(" id: .*", ""));
        }
      }
      Files.delete(list);
    }
    Path all = Files.write(DIR.resolve("all.classes"), classes);
    java("-Xshare:dump", "-Xlog:cds=warning", "-Xlog:class+load=off", "-XX:SharedClassListFile=" + all, "-XX:SharedArchiveFile=" + DIR.resolve("spark.jsa"), "-Xmx512m",
        "-cp", DIR.resolve("spark.jar").toString());
    Files.delete(all);
  }

  private static void writeJar() throws IOException {
    Manifest manifest = new Manifest();
    try (Stream<Path> jars = Files.list(HOME.resolve("jars"))) {
      manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
      manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH,
          jars.filter(jar -> jar.toString().endsWith(".jar")).sorted().map(jar -> "../jars/" + jar.getFileName()).collect(Collectors.joining(" ")));
    }
    new JarOutputStream(Files.newOutputStream(DIR.resolve("spark.jar")), manifest).close();
  }

  /** Runs a driver until its end. */
  private void train(String[] args) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();

    // Spark 3.5 does not start without the options that bin/spark-submit adds.
    List<String> line = new ArrayList<>(List.of(JavaModuleOptions.defaultModuleOptions().trim().split("\\s+")));
    line.addAll(List.of("-XX:DumpLoadedClassList=" + DIR.resolve("driver.classes"), "-Xmx512m", "-cp", DIR.resolve("spark.jar").toString(),
        "org.apache.spark.deploy.SparkSubmit", "--master", "k8s://http://127.0.0.1:" + server.getAddress().getPort(), "--deploy-mode", "client"));
    for (String conf : List.of("kubernetes.driver.pod.name=driver", "kubernetes.container.image=x", "driver.host=127.0.0.1", "driver.bindAddress=127.0.0.1",
        "executor.instances=1", "executor.memory=512m", "executor.extraJavaOptions=-XX:DumpLoadedClassList=" + DIR.resolve("executor.classes"))) {
      line.addAll(List.of("--conf", "spark." + conf));
    }
    line.addAll(args.length > 0 ? List.of(args) : List.of("--class", "org.apache.spark.examples.SparkPi", "local://" + HOME + "/examples/jars/spark-examples.jar"));
    java(line.toArray(String[]::new));

    for (Process executor : executors) {
      executor.destroy();
      executor.waitFor();
    }
  }

  /** Runs a JVM until its end. */
  private static void java(String... args) throws IOException, InterruptedException {
    List<String> line = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
    line.addAll(List.of(args));
    ProcessBuilder builder = process(line);
    Process process = builder.start();
    boolean ended = process.waitFor(10, TimeUnit.MINUTES);
    process.destroyForcibly();
    if (!ended || process.exitValue() != 0) {
      throw new IOException((ended ? "exit code " + process.exitValue() : "no end") + " of " + String.join(" ", line));
    }
  }

  /** Returns a process without the image's options of the JVM, because an archive fits only some of them, and for a machine without a name. */
  private static ProcessBuilder process(List<String> line) {
    ProcessBuilder builder = new ProcessBuilder(line).inheritIO();
    builder.environment().remove("JAVA_TOOL_OPTIONS");
    builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
    builder.directory(new File(TEMPORARY)); // An executor copies jars to its working directory.
    return builder;
  }

  /** Answers as Kubernetes would: objects as they were sent, the driver's pod, and lists without an item. */
  private void answer(HttpExchange request) throws IOException {
    byte[] sent = request.getRequestBody().readAllBytes();
    String method = request.getRequestMethod();
    String path = request.getRequestURI().getPath();
    String query = String.valueOf(request.getRequestURI().getQuery());
    String answer = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}";
    if (method.equals("POST") || method.equals("PATCH")) {
      answer = new String(sent, StandardCharsets.UTF_8);
      if (path.endsWith("/pods")) {
        run(JSON.readTree(sent));
      }
    } else if (path.endsWith("/pods/driver")) {
      answer = DRIVER;
    } else if (query.contains("watch=true")) {
      watch(request);
      return;
    } else if (method.equals("GET")) {
      answer = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" + (query.contains("metadata.name=driver") ? DRIVER : "") + "]}";
    }
    byte[] body = answer.getBytes(StandardCharsets.UTF_8);
    request.getResponseHeaders().add("Content-Type", "application/json");
    request.sendResponseHeaders(method.equals("POST") ? 201 : 200, body.length);
    request.getResponseBody().write(body);
    request.close();
  }

  /** Opens a web socket, or else an answer without an end, in which no event follows. */
  private static void watch(HttpExchange request) throws IOException {
    String key = request.getRequestHeaders().getFirst("Sec-WebSocket-Key");
    int code = 200;
    if (key != null) {
      try {
        byte[] hash = MessageDigest.getInstance("SHA-1").digest((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.US_ASCII)); // RFC 6455
        request.getResponseHeaders().add("Sec-WebSocket-Accept", Base64.getEncoder().encodeToString(hash));
      } catch (NoSuchAlgorithmException e) {
        throw new IOException(e);
      }
      request.getResponseHeaders().add("Upgrade", "websocket");
      request.getResponseHeaders().add("Connection", "Upgrade");
      code = 101;
    }
    request.sendResponseHeaders(code, 0);
    request.getResponseBody().flush();
  }

  /** Runs an executor pod as a process: the image's entrypoint with the environment of the pod. */
  private synchronized void run(JsonNode pod) throws IOException {
    if (!executors.isEmpty()) {
      return;
    }
    ProcessBuilder builder = process(List.of("/opt/entrypoint.sh", "executor"));
    for (JsonNode variable : pod.at("/spec/containers/0/env")) {
      builder.environment().put(variable.path("name").asText(), variable.path("value").asText("127.0.0.1"));
    }
    builder.environment().remove("SPARK_CONF_DIR");
    builder.environment().put("SPARK_LOCAL_DIRS", TEMPORARY); // in place of a volume of the pod
    executors.add(builder.start());
  }
}
