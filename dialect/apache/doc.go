// Package apache holds what the kinds of the API group spark.apache.org share: labels, and the format of times,
// messages and histories in a status. The packages application and cluster below it are the kinds.
package apache
