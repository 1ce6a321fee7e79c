// Package charts contains the tables of the chart that programs read too.
package charts

import _ "embed"

// PeerValues is the table of values of other operators' charts, in YAML.
//
//go:embed spark-operator/files/peer-values.yaml
var PeerValues []byte

// KnownValues are the values of the chart, in JSON. A value is a list with its default, or an empty list if it has
// none. All other objects contain values.
//
//go:embed spark-operator/files/known-values.json
var KnownValues []byte

// Chart is the description of the chart, in YAML, with the tag of the operator's image (appVersion).
//
//go:embed spark-operator/Chart.yaml
var Chart []byte
