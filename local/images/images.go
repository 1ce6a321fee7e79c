// Package images holds the files of the container images that are not downloaded: sources of the small programs,
// scripts, and lists of downloads with their checksums.
package images

import "embed"

// Files has a directory for each image: pause and probe, with one main.go each, and spark.
//
//go:embed pause/main.go probe/main.go all:spark
var Files embed.FS
