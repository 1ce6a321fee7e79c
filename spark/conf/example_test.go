package conf_test

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// ExampleConf reads values as Spark does. References are replaced, and an error names its key.
func ExampleConf() {
	c := conf.New()
	c.Set("spark.executor.memory", "2g")
	c.Set("spark.driver.memory", "${spark.executor.memory}")
	c.Set("spark.executor.cores", "four")

	memory, err := c.Size("spark.driver.memory", 1024, conf.MiB)
	fmt.Println(memory, err)
	_, err = c.Int("spark.executor.cores", 1)
	fmt.Println(err)
	// Output:
	// 2048 <nil>
	// spark.executor.cores: should be a whole number, but is "four"
}

// ExampleUnmarshalProperties reads a properties file, and writes it as Spark reads it.
func ExampleUnmarshalProperties() {
	c, err := conf.UnmarshalProperties("# defaults\nspark.app.name  My App\nspark.eventLog.enabled=true\n")
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Print(conf.MarshalProperties(c.Sorted()))
	// Output:
	// spark.app.name=My App
	// spark.eventLog.enabled=true
}

// ExampleRedact hides a value in a message if its key looks like one of a secret.
func ExampleRedact() {
	fmt.Println(conf.Redact("spark.hadoop.fs.s3a.secret.key", "abc"))
	fmt.Println(conf.Redact("spark.hadoop.fs.s3a.endpoint", "s3.example.org"))
	// Output:
	// *********(redacted)
	// s3.example.org
}
