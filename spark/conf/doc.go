// Package conf contains a Spark configuration, which is an ordered map of text. Its typed reads, its substitution of
// references and its text format are those of Spark.
//
// A value is text until it is read. The raw reads (Get, All, WithPrefix) return the text as it was set. The typed reads
// (String, Int, Bool, Size, Duration, List) work like Spark's ConfigReader: they accept the old names of a key, replace
// "${...}" and parse; their errors name the key. spark.properties always gets the raw text, because the driver
// replaces the references itself.
//
// Sources: org.apache.spark.SparkConf, org.apache.spark.internal.config.{ConfigReader,ConfigBuilder},
// org.apache.spark.network.util.JavaUtils, java.util.Properties.
//
// # Compatibility
//
// The package is part of the library that package spark/submit describes, and follows semantic versioning with the
// module.
package conf
