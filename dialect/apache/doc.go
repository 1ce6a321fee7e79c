// Package apache holds what the kinds of the API group spark.apache.org have in common: their labels, and the form in which their statuses store times,
// messages and histories. The kinds themselves are the packages below it: application and cluster.
package apache
