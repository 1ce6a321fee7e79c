import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.concurrent.Executors;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;

/**
 * Starts a SparkContext of a driver on Kubernetes for each setting.
 *
 * <p>Standard input has a line KEY=VALUE for each setting. Standard output has a line for each setting: the reason why the context does not
 * start, or nothing. The contexts use a Kubernetes API of this program, which has no objects.
 */
public final class Contexts {
  public static void main(String[] args) throws Exception {
    PrintStream out = System.out;
    System.setOut(System.err); // Keep Spark's output out of the results.

    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", Contexts::answer);
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();

    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      System.err.println("=== " + line);
      out.println(start(server.getAddress().getPort(), line.substring(0, line.indexOf('=')), line.substring(line.indexOf('=') + 1)));
    }
    out.flush();
    System.exit(0); // The threads of the server would keep the process running.
  }

  private static String start(int port, String key, String value) {
    SparkConf conf = new SparkConf(false).setMaster("k8s://http://127.0.0.1:" + port).setAppName("contexts");
    for (String setting : new String[] {"submit.deployMode=client", "kubernetes.container.image=x", "executor.instances=1", "ui.enabled=false",
        "scheduler.minRegisteredResourcesRatio=0", // A context waits for no executor.
        "driver.host=127.0.0.1", "driver.bindAddress=127.0.0.1"}) {
      conf.set("spark." + setting.split("=")[0], setting.split("=")[1]);
    }
    try {
      new SparkContext(conf.set(key, value)).stop();
      return "";
    } catch (Exception e) {
      e.printStackTrace();
      Throwable cause = e;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      return (cause.getClass().getSimpleName() + ": " + cause.getMessage()).split("\n", 2)[0];
    }
  }

  private static void answer(HttpExchange request) throws IOException {
    byte[] sent = request.getRequestBody().readAllBytes();
    String method = request.getRequestMethod();
    byte[] body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}".getBytes(StandardCharsets.UTF_8);
    if (method.equals("POST") || method.equals("PATCH")) {
      body = sent;
    } else if (String.valueOf(request.getRequestURI().getQuery()).contains("watch=true")) {
      watch(request);
      return;
    } else if (method.equals("GET")) {
      body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}".getBytes(StandardCharsets.UTF_8);
    }
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
}
