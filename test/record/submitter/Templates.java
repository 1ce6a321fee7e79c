import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Reads pod templates as Spark does (KubernetesUtils.loadPodFromTemplate), with the Kubernetes client of a Spark image,
 * and writes the pods as the client sends them to the API server.
 *
 * <p>Standard input is a count, followed by the length in bytes and the UTF-8 text of each template. Standard output has
 * two texts for each template, in the same form without the count: the pod, and the reason why there is none.
 */
public final class Templates {
  public static void main(String[] args) throws Exception {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
    System.setOut(System.err); // Keep the client's output out of the results.
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      for (int count = in.readInt(); count > 0; count--) {
        byte[] template = in.readNBytes(in.readInt());
        String pod = "";
        String error = "";
        try {
          Pod loaded = client.pods().load(new ByteArrayInputStream(template)).item();
          pod = loaded == null ? "" : Serialization.asJson(loaded);
          error = loaded == null ? "there is no pod" : "";
        } catch (Exception | StackOverflowError e) {
          error = explain(e);
        }
        write(out, pod);
        write(out, error);
      }
    }
    out.flush();
    System.exit(0); // Threads of the client would keep the process running.
  }

  /** Returns the class and the first line of the message of the innermost exception. */
  private static String explain(Throwable e) {
    while (e.getCause() != null && e.getCause() != e) {
      e = e.getCause();
    }
    String message = e.getMessage() == null ? "" : ": " + e.getMessage().strip().split("\n", 2)[0].strip();
    return e.getClass().getSimpleName() + message;
  }

  private static void write(DataOutputStream out, String text) throws Exception {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.writeInt(bytes.length);
    out.write(bytes);
  }
}
