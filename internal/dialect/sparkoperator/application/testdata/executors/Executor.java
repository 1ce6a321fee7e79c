import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.FileReader;
import java.io.Reader;
import java.util.Properties;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext$;
import org.apache.spark.deploy.k8s.KubernetesConf$;
import org.apache.spark.resource.ResourceProfile$;
import org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder;

/**
 * Prints the executor pod that a Spark driver would make: its own code, without a cluster.
 *
 * <p>Usage: java -cp 'SPARK_HOME/jars/*' Executor.java spark.properties template.json; executorpods_test.go calls it.
 */
public final class Executor {
  public static void main(String[] args) throws Exception {
    Properties properties = new Properties();
    try (Reader reader = new FileReader(args[0])) {
      properties.load(reader);
    }
    SparkConf conf = new SparkConf(false);
    properties.stringPropertyNames().forEach(key -> conf.set(key, properties.getProperty(key)));
    conf.set("spark.kubernetes.executor.podTemplateFile", args[1]);
    conf.set("spark.kubernetes.executor.podNamePrefix", "pi");
    // The image's entrypoint sets the address of the driver's pod.
    conf.set("spark.driver.bindAddress", "192.0.2.1");
    // A driver does this when it starts.
    SparkContext$.MODULE$.org$apache$spark$SparkContext$$supplementJavaModuleOptions(conf);
    SparkContext$.MODULE$.org$apache$spark$SparkContext$$supplementJavaIPv6Options(conf);
    Pod driver = new PodBuilder().withNewMetadata().withName("pi-driver").withUid("uid").endMetadata()
        .withNewStatus().withPodIP("10.0.0.1").endStatus().build();
    var executor = KubernetesConf$.MODULE$.createExecutorConf(conf, "1", conf.get("spark.app.id"), scala.Option.apply(driver), 0);
    var security = new SecurityManager(conf, scala.Option.empty(),
        org.apache.spark.internal.config.package$.MODULE$.AUTH_SECRET_FILE_EXECUTOR());
    // It reads the template from its file; nothing listens at this address.
    KubernetesClient client = new KubernetesClientBuilder()
        .withConfig(new io.fabric8.kubernetes.client.ConfigBuilder().withMasterUrl("http://127.0.0.1:1").withNamespace("jobs").build()).build();
    var spec = new KubernetesExecutorBuilder().buildFromFeatures(executor, security, client, ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf));
    Pod pod = new PodBuilder(spec.pod().pod()).editOrNewSpec().addToContainers(spec.pod().container()).endSpec().build();
    System.out.println(Serialization.asJson(pod));
    System.exit(0); // Spark leaves threads behind.
  }
}
