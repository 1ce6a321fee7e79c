import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * Runs spark-submit many times in one JVM, because starting a JVM takes ten times as long as a submission. Each run has
 * its own environment, system properties and thread, so that runs do not affect each other. If requested, it also has
 * its own classes. The harness replaces bin/spark-submit except for the work of the shell scripts. The launcher
 * rewrites the command line, and SparkSubmit gets the resulting arguments.
 *
 * <p>Requests arrive on standard input, and responses go to standard output. Both consist of lists of strings. A list
 * is a count, followed by the length in bytes and the UTF-8 text of each string. A request has four lists: the
 * arguments, the environment, the system properties, and further elements of the class path. The environment and the
 * properties alternate names and values. The element own-classes makes the run load its own classes. A response is one
 * list. It is empty, or contains the reason why Spark rejected the request.
 */
public final class Harness {
  private static final String SUBMIT = "org.apache.spark.deploy.SparkSubmit";
  private static final String LAUNCHER = "org.apache.spark.launcher.Main";
  private static final String OWN_CLASSES = "own-classes";

  private final String sparkHome;
  private final Properties initial = (Properties) System.getProperties().clone();
  private ClassLoader shared;

  private Harness(String sparkHome) {
    this.sparkHome = sparkHome;
  }

  public static void main(String[] args) throws Exception {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(System.out);
    System.setIn(InputStream.nullInputStream());
    System.setOut(System.err); // Keep Spark's output out of the responses.
    Harness harness = new Harness(args[0]);
    while (true) {
      List<String> arguments;
      try {
        arguments = read(in);
      } catch (EOFException end) {
        System.exit(0); // Threads of Spark's clients would keep the process running.
        return;
      }
      String refusal = harness.run(arguments, pairs(read(in)), pairs(read(in)), read(in));
      write(out, refusal.isEmpty() ? List.of() : List.of(refusal));
    }
  }

  /** Runs spark-submit once in a new thread, so that thread-local values of earlier runs are gone. */
  private String run(List<String> arguments, String[][] environment, String[][] properties, List<String> classPath) throws Exception {
    setEnvironment(environment);
    System.setProperties((Properties) initial.clone());
    for (String[] property : properties) {
      System.setProperty(property[0], property[1]);
    }
    ClassLoader classes = loader(classPath);
    String[] refusal = {""};
    Thread run = new Thread(() -> {
      try {
        refusal[0] = submit(classes, arguments);
      } catch (Throwable e) {
        refusal[0] = explain(e);
        e.printStackTrace();
      }
    }, "main");
    run.setContextClassLoader(classes);
    run.start();
    run.join();
    return refusal[0];
  }

  private static String submit(ClassLoader classes, List<String> arguments) throws Throwable {
    List<String> command = new ArrayList<>(List.of(SUBMIT));
    command.addAll(arguments);
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    List<String> rewritten = launch(classes, command, errors);
    if (rewritten.contains("--usage-error")) {
      for (String line : errors.toString(StandardCharsets.UTF_8).split("\n")) {
        if (line.startsWith("Error: ")) {
          return line.substring("Error: ".length());
        }
      }
      return "the launcher refused the command line";
    }
    int at = rewritten.indexOf(SUBMIT);
    for (String option : rewritten.subList(0, at)) { // for example from SPARK_SUBMIT_OPTS
      int value = option.indexOf('=');
      if (option.startsWith("-Dspark.") && value > 0) {
        System.setProperty(option.substring(2, value), option.substring(value + 1));
      }
    }
    Class<?> type = classes.loadClass(SUBMIT);
    call(type.getMethod("doSubmit", String[].class), type.getConstructor().newInstance(),
        (Object) rewritten.subList(at + 1, rewritten.size()).toArray(new String[0]));
    return "";
  }

  /** Returns the command that the launcher prints for the scripts. Every word of the output ends with a NUL. */
  private static List<String> launch(ClassLoader classes, List<String> command, ByteArrayOutputStream errors) throws Throwable {
    PrintStream out = System.out;
    PrintStream err = System.err;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
    try {
      Method main = classes.loadClass(LAUNCHER).getMethod("main", String[].class);
      main.setAccessible(true);
      call(main, null, (Object) command.toArray(new String[0]));
    } finally {
      System.setOut(out);
      System.setErr(err);
      err.print(errors.toString(StandardCharsets.UTF_8));
    }
    List<String> words = Arrays.asList(printed.toString(StandardCharsets.UTF_8).split("\0", -1));
    return words.subList(0, words.size() - 1);
  }

  private static void call(Method method, Object on, Object... arguments) throws Throwable {
    try {
      method.invoke(on, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /**
   * Joins the first lines of the messages from the outermost exception to the root cause. It omits messages that the
   * text already contains.
   */
  private static String explain(Throwable e) {
    StringBuilder text = new StringBuilder();
    for (int depth = 0; e != null && depth < 20; e = e.getCause(), depth++) {
      String message = e.getMessage() == null ? e.getClass().getName() : e.getMessage().strip().split("\n", 2)[0].strip();
      if (text.indexOf(message) < 0) {
        text.append(text.length() == 0 ? "" : ": ").append(message);
      }
    }
    return text.toString();
  }

  private ClassLoader loader(List<String> classPath) throws Exception {
    boolean own = classPath.contains(OWN_CLASSES);
    if (!own && shared != null) {
      return shared;
    }
    List<URL> urls = new ArrayList<>();
    for (String directory : classPath) {
      if (directory.startsWith("/")) {
        urls.add(new File(directory + "/").toURI().toURL());
      }
    }
    File[] jars = new File(sparkHome, "jars").listFiles((directory, name) -> name.endsWith(".jar"));
    Arrays.sort(jars);
    for (File jar : jars) {
      urls.add(jar.toURI().toURL());
    }
    ClassLoader made = new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    if (!own) {
      shared = made;
    }
    return made;
  }

  /** Replaces the environment of System.getenv, because Java reads the environment only at startup. */
  @SuppressWarnings("unchecked")
  private static void setEnvironment(String[][] environment) throws Exception {
    Class<?> type = Class.forName("java.lang.ProcessEnvironment");
    Field field = type.getDeclaredField("theEnvironment");
    field.setAccessible(true);
    Map<Object, Object> map = (Map<Object, Object>) field.get(null);
    map.clear();
    Method name = Class.forName("java.lang.ProcessEnvironment$Variable").getMethod("valueOf", String.class);
    Method value = Class.forName("java.lang.ProcessEnvironment$Value").getMethod("valueOf", String.class);
    name.setAccessible(true);
    value.setAccessible(true);
    for (String[] variable : environment) {
      map.put(name.invoke(null, variable[0]), value.invoke(null, variable[1]));
    }
  }

  private static String[][] pairs(List<String> flat) {
    String[][] out = new String[flat.size() / 2][];
    for (int i = 0; i < out.length; i++) {
      out[i] = new String[] {flat.get(2 * i), flat.get(2 * i + 1)};
    }
    return out;
  }

  private static List<String> read(DataInputStream in) throws IOException {
    int count = in.readInt();
    if (count == 0) {
      return Collections.emptyList();
    }
    List<String> texts = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      texts.add(new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8));
    }
    return texts;
  }

  private static void write(DataOutputStream out, List<String> texts) throws IOException {
    out.writeInt(texts.size());
    for (String text : texts) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      out.writeInt(bytes.length);
      out.write(bytes);
    }
    out.flush();
  }
}
