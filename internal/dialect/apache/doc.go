// Package apache holds the code that the kinds of the API group spark.apache.org share: labels, and the format of
// times, messages and histories in a status. The kinds themselves are in the packages application and cluster below
// this package.
package apache
